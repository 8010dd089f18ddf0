"""What differs between trees of oblique and of axis-aligned tests."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

from .initial_trees import initial_tree
from .node_solvers import Axis, Newton, NodeSolver, is_axis_aligned, upright
from .refinement import DirectForm
from .regrowth import ExactForm
from .trimming import at_values, trim


class SplitKind(Protocol):
    """A kind of tests.

    `solver`: what node_solver="auto" is. `form`: its direct form. `samples_rows`: whether initial
    trees may be compared on a sample.
    """

    solver: NodeSolver
    form: type
    samples_rows: bool

    def initial_tree(self, init, depth, n_clusters):
        """Builder that an `init` parameter stands for."""

    def check_start(self, tree):
        """ValueError if a tree cannot be the initial one."""

    def tidy(self, tree, step, share):
        """The tree as users get it; no row of the fit moves."""


@dataclass(frozen=True)
class Oblique:
    """Tests of weighted sums."""

    solver: ClassVar[NodeSolver] = Newton()
    form: ClassVar[type] = DirectForm
    samples_rows: ClassVar[bool] = True

    def initial_tree(self, init, depth, n_clusters):
        """See :class:`SplitKind`."""
        del n_clusters
        return initial_tree(init, depth)

    def check_start(self, tree):
        """Any tree will do."""

    def tidy(self, tree, step, share):
        """Small weights that decide no row are removed."""
        return trim(tree, step.view, share, step.n_jobs)


@dataclass(frozen=True)
class AxisAligned:
    """Tests of single features: "auto" starts from ExKMC with as many leaves as `depth` allows."""

    solver: ClassVar[NodeSolver] = Axis()
    form: ClassVar[type] = ExactForm
    samples_rows: ClassVar[bool] = False  # its result is never worse than its start on all rows

    def initial_tree(self, init, depth, n_clusters):
        """See :class:`SplitKind`."""
        if isinstance(init, str) and init == "auto":
            from greedy import ExKMC  # it builds on this package

            return ExKMC(max_leaves=max(n_clusters, 2**depth))
        return initial_tree(init, depth)

    def check_start(self, tree):
        """Only an axis-aligned tree will do."""
        if not is_axis_aligned(tree):
            raise ValueError(
                "split='axis' starts from a tree that tests single features, with weight 1: use "
                "init='auto', 'imm', 'exkmc', 'exgreedy', 'exshallow' or such a Tree."
            )

    def tidy(self, tree, step, share):
        """Every test is x_j <= a value of a row."""
        del share
        return at_values(upright(tree), step.view, step.n_jobs)


SPLITS = {"oblique": Oblique(), "axis": AxisAligned()}
