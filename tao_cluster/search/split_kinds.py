"""What differs between trees of oblique and of axis-aligned tests."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from ..solvers import Axis, Newton, NodeSolver, is_axis_aligned, upright
from .descent.refits import refit
from .descent.regrowth import regrow
from .starts.named import exkmc, in_turn
from .step.trimming import at_values, trim


class SplitKind(Protocol):
    """A kind of tests.

    `name`: the parameter `split` that stands for it. `solver`: what node_solver="auto" is.
    `samples_rows`: whether initial trees may be compared on a sample. `n_passes`: the most at a
    lambda.
    """

    name: str
    solver: NodeSolver
    samples_rows: bool
    n_passes: int

    def default_start(self, depth, n_clusters):
        """Builder that init="auto" stands for."""

    def check_start(self, tree):
        """ValueError if a tree cannot be the initial one."""

    def finish(self, search, state, lambda_):
        """State that a descent ends with where relax=True."""

    def tidy(self, tree, step, share):
        """The tree as users get it; no row of the fit moves."""


@dataclass(frozen=True)
class Oblique:
    """Tests of weighted sums."""

    name: ClassVar[str] = "oblique"
    solver: ClassVar[NodeSolver] = Newton()
    samples_rows: ClassVar[bool] = True
    n_passes: ClassVar[int] = 3

    def default_start(self, depth, n_clusters):
        """Trees of the centres and of the rows in turn."""
        del n_clusters
        return in_turn(depth)

    def check_start(self, tree):
        """Any tree will do."""

    def finish(self, search, state, lambda_):
        """Nodes are refitted on the features that they have."""
        return refit(search, state, lambda_)

    def tidy(self, tree, step, share):
        """Small weights that decide no row are removed."""
        return trim(tree, step.view, share, step.n_jobs)


@dataclass(frozen=True)
class AxisAligned:
    """Tests of single features: "auto" starts from ExKMC with as many leaves as `depth` allows."""

    name: ClassVar[str] = "axis"
    solver: ClassVar[NodeSolver] = Axis()
    samples_rows: ClassVar[bool] = False  # its result is never worse than its start on all rows
    n_passes: ClassVar[int] = 100  # until nothing changes

    def default_start(self, depth, n_clusters):
        """ExKMC with 2 ** depth leaves."""
        return exkmc(max(n_clusters, 2**depth))

    def check_start(self, tree):
        """Only an axis-aligned tree will do."""
        if not is_axis_aligned(tree):
            raise ValueError(
                "split='axis' starts from a tree that tests single features, with weight 1: use "
                "init='auto', 'imm', 'exkmc', 'exgreedy', 'exshallow' or such a Tree."
            )

    def finish(self, search, state, lambda_):
        """Leaves are regrown, if the solver can."""
        return regrow(search, state, lambda_) if search.settings.solver.can_expand else state

    def tidy(self, tree, step, share):
        """Every test is x_j <= a value of a row."""
        del share
        return at_values(upright(tree), step.view, step.n_jobs)


SPLIT_KINDS = {kind.name: kind for kind in (Oblique(), AxisAligned())}
