"""What differs between trees of oblique and of axis-aligned tests."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..initial_trees.builders import axis_aligned, in_turn, max_leaves_at
from ..initial_trees.cart import Cart
from ..solvers import Axis, Newton, NodeSolver, is_axis_aligned, upright
from .local_search import better_start, regrow
from .oblique_search import improvements, is_better, price_of_parameters, refit, tuned
from .trimming import at_midpoints, at_values, trim

__all__ = [
    "AxisAligned",
    "Oblique",
    "SplitKind",
]


class SplitKind(Protocol):
    """A kind of tests.

    `name`: the parameter `split` that stands for it. `solver`: what node_solver="auto" is.
    `samples_rows`: whether initial trees may be compared on a sample, and trees of very many rows
    found on one. `midpoints`: whether thresholds lie halfway between rows, not at the lower one.
    `n_passes`: the most at a lambda. `lambda_without_goal`: what lambda_="auto" is,
    None for the knee of a path. `prices_weights`: whether lambda is a price of weights, not of
    tests. `depth_limits_leaves`: whether default initial trees have at most 2 ** depth leaves.
    """

    name: str
    solver: NodeSolver
    samples_rows: bool
    midpoints: bool
    n_passes: int
    lambda_without_goal: float | None
    prices_weights: bool
    depth_limits_leaves: bool

    def default_start(self, depth, n_clusters, max_leaves, objective):
        """Builder that init="auto" stands for."""

    def check_start(self, tree):
        """ValueError if a tree cannot be the initial one."""

    def better_start(self, search, state, trees, lambda_, random_state):
        """State to descend from where relax=True, given the best of the initial trees."""

    def refit(self, search, state, lambda_):
        """State that a descent ends with where relax=True, but for passes on the true cost."""

    def optimize_exact(self, search, state):
        """State after passes on the true cost, where the kind has them."""

    def local_search(self, search, state, lambda_, goal, effort, rivals, random_state):
        """Yield better states, in as many rounds as the settings say."""

    def postprocess(self, tree, leaf_of_row, step, share):
        """The tree as users get it; no row of the fit moves to another leaf."""


@dataclass(frozen=True)
class Oblique:
    """Tests of weighted sums."""

    name: ClassVar[str] = "oblique"
    solver: ClassVar[NodeSolver] = Newton()
    samples_rows: ClassVar[bool] = True
    midpoints: ClassVar[bool] = True
    n_passes: ClassVar[int] = 3
    lambda_without_goal: ClassVar[None] = None
    prices_weights: ClassVar[bool] = True
    depth_limits_leaves: ClassVar[bool] = True

    def default_start(self, depth, n_clusters, max_leaves, objective):
        """Trees of the centres and of the rows in turn, and of given labels."""
        cart = (
            [Cart(max_leaves or max_leaves_at(depth), depth)] if objective.explains_labels else []
        )
        return in_turn(depth, cart)

    def check_start(self, tree):
        """Any tree will do."""

    def better_start(self, search, state, trees, lambda_, random_state):
        """The best of the initial trees."""
        return state

    def refit(self, search, state, lambda_):
        """Nodes are refitted on the features that they have."""
        return refit(search, state, lambda_)

    def optimize_exact(self, search, state):
        """Tests are changed, and get fewer features, for the true cost."""
        there = search.smoothed
        found = there.take(state, search)
        found = tuned(there, found, price_of_parameters(there.problem, found))
        return search.take(found, there)

    def local_search(self, search, state, lambda_, goal, effort, rivals, random_state):
        """A search over structure goes on from the state."""
        there = search.smoothed
        start = there.take(state, search)
        price = price_of_parameters(there.problem, start)
        criterion = goal.criterion(search.problem, price)
        share = start.inertia / state.inertia if state.inertia > 0 else 1.0
        terms = (criterion.over(share), effort, rivals, random_state)
        found = improvements(there, start, lambda_, *terms)
        for other in (search.take(other, there) for other in found):
            if criterion.value(other) < np.inf:
                state = other
                yield state
        # What holds for copies, too, is still not to lose to an axis-aligned tree on the rows.
        for other in [] if there is search else search.single_features(state):
            is_larger = other.pruned.n_parameters > state.pruned.n_parameters
            is_larger |= other.pruned.n_leaves > search.limits()[0]
            if not is_larger and is_better(criterion, other, state):
                state = other
                yield state

    def postprocess(self, tree, leaf_of_row, step, share):
        """Small weights that decide no row are removed; one feature has weight 1 or -1."""
        tree = trim(tree, leaf_of_row, step.view, share, step.n_jobs)
        return at_midpoints(tree, leaf_of_row, step.view, step.n_jobs)


@dataclass(frozen=True)
class AxisAligned:
    """Tests of single features: "auto" starts from ExKMC with as many leaves as `depth` allows.

    Parameters
    ----------
    midpoints : bool, default=True
        Whether the thresholds of the result lie halfway between the values of the rows on their
        two sides. Else they are values of rows, as in the paper.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.optimize.split_kinds import AxisAligned
    >>> X = load_iris().data
    >>> for midpoints in (True, False):
    ...     kind = AxisAligned(midpoints=midpoints)
    ...     model = TAOClustering(2, lambda_=1, depth=1, split=kind, random_state=0).fit(X)
    ...     print(model.tree_.to_rules()[0])
    if x2 <= 3.4 then cluster 1
    if x2 <= 3.3 then cluster 1
    """

    midpoints: bool = True

    name: ClassVar[str] = "axis"
    solver: ClassVar[NodeSolver] = Axis()
    samples_rows: ClassVar[bool] = False  # its result is never worse than its start on all rows
    n_passes: ClassVar[int] = 100  # until nothing changes
    lambda_without_goal: ClassVar[float] = 0.0  # a price would only take back what leaves save
    prices_weights: ClassVar[bool] = False
    depth_limits_leaves: ClassVar[bool] = False

    def default_start(self, depth, n_clusters, max_leaves, objective):
        """ExKMC, ExShallow and CART in turn; CART for given labels.

        They have `max_leaves`, by default 2 ** depth leaves.
        """
        if objective.explains_labels:
            return Cart(max_leaves or max_leaves_at(depth))
        return axis_aligned(max_leaves or max(n_clusters, max_leaves_at(depth)), n_clusters)

    def check_start(self, tree):
        """Only an axis-aligned tree will do."""
        if not is_axis_aligned(tree):
            raise ValueError(
                "split='axis' starts from a tree that tests single features, with weight 1: use "
                "init='auto', 'imm', 'exkmc', 'exgreedy', 'exshallow' or such a Tree."
            )

    def better_start(self, search, state, trees, lambda_, random_state):
        """The best of the initial trees, or what a search from all of them finds."""
        return better_start(search, state, trees, lambda_, random_state)

    def refit(self, search, state, lambda_):
        """Leaves are regrown, if the solver can."""
        return regrow(search, state, lambda_) if search.settings.solver.can_expand else state

    def optimize_exact(self, search, state):
        """Every pass was on the true cost."""
        return state

    def local_search(self, search, state, lambda_, goal, effort, rivals, random_state):
        """The search over structure has been, from the initial trees."""
        return iter(())

    def postprocess(self, tree, leaf_of_row, step, share):
        """Every test is x_j <= a midpoint, or a value, of rows."""
        place = at_midpoints if self.midpoints else at_values
        return place(upright(tree), leaf_of_row, step.view, step.n_jobs)


SPLIT_KINDS = {kind.name: kind for kind in (Oblique(), AxisAligned())}
