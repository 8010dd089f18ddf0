"""The two kinds of splits, oblique and axis-aligned, and what a fit does differently for them."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ..initial_trees.builders import axis_aligned, in_turn, max_leaves_at
from ..initial_trees.cart import Cart
from ..problem.problem import Noise
from ..solvers import Axis, Newton, NodeSolver, is_axis_aligned, upright
from .direct_form import descend
from .local_search import better_start, regrow
from .oblique_search import improvements, is_better, optimize_exact, penalty_per_parameter, refit
from .trimming import at_midpoints, at_values, at_widest_margins, trim

__all__ = [
    "AxisAligned",
    "Oblique",
    "SplitKind",
]


class SplitKind(Protocol):
    """Base class of the kinds of splits: all that a fit does differently for them.

    Attributes
    ----------
    name : str
        The value of the parameter `split` of the estimator: "oblique" or "axis".
    solver : NodeSolver
        The default node solver.
    samples_rows : bool
        Whether initial trees may be compared on a sample of the rows, and whether a sample finds
        the tree by default if there are very many rows.
    midpoints : bool
        Whether thresholds are halfway between values of rows. Otherwise they are the lower value.
    n_passes : int
        Maximum number of passes over the tree at each lambda.
    prices_weights : bool
        True if lambda is a penalty on weights and paths follow lambda. False if lambda is a penalty
        per test and paths follow the number of leaves.
    depth_limits_leaves : bool
        Whether default initial trees have at most 2 ** depth leaves.
    noise : Noise
        The noise of copies of the rows, if there are few rows.
    finds_with_copies : bool
        Whether all passes of the direct form count these copies. Otherwise only those of
        `optimize_exact` and `generalize` do.
    """

    name: str
    solver: NodeSolver
    samples_rows: bool
    midpoints: bool
    n_passes: int
    prices_weights: bool
    depth_limits_leaves: bool
    noise: Noise
    finds_with_copies: bool

    def default_start(self, depth, n_clusters, max_leaves, objective, is_capped=False):
        """Return the builder of initial trees for init="auto"."""

    def check_start(self, tree):
        """Raise a ValueError if a tree cannot be an initial tree."""

    def better_start(self, search, state, trees, lambda_, random_state):
        """Return the state from which passes start, given the best of the initial trees."""

    def refit(self, search, state, lambda_, is_rough=False):
        """Return the state after refits of its nodes; `is_rough` asks for one quick pass."""

    def optimize_exact(self, search, state):
        """Return the state after passes that minimise the clustering cost itself."""

    def local_search(self, search, state, lambda_, goal, effort, rivals, random_state):
        """Yield better states from a search over structures."""

    def generalize(self, search, state, lambda_):
        """Return the chosen state after passes that also count noisy copies of the rows."""

    def postprocess(self, tree, leaf_of_row, step, weight, share):
        """Return a simplified tree in which every row of the fit stays in its leaf.

        An oblique tree loses its negligible weights: those whose effect is below `share` of the
        largest effect at the node. An axis-aligned tree gets new thresholds: midpoints between
        neighbouring values of the rows, or the lower of the two values. Tests of one feature move
        to the feature that divides the rows alike with the widest margin. `step` gives access to
        the rows of the fit, and `weight` has their weights.
        """


@dataclass(frozen=True)
class Oblique:
    """Splits by weighted sums of features."""

    name: ClassVar[str] = "oblique"
    solver: ClassVar[NodeSolver] = Newton()
    samples_rows: ClassVar[bool] = True
    midpoints: ClassVar[bool] = True
    n_passes: ClassVar[int] = 3
    prices_weights: ClassVar[bool] = True
    depth_limits_leaves: ClassVar[bool] = True
    noise: ClassVar[Noise] = Noise(0.7, 0.1)
    finds_with_copies: ClassVar[bool] = True

    def default_start(self, depth, n_clusters, max_leaves, objective, is_capped=False):
        """Return a builder that alternates between several methods, which use centres or rows.

        CART is one of these methods if the objective explains given labels, or if the number of
        features per test is capped: other trees lose more when their tests lose features.
        """
        has_cart = objective.explains_labels or is_capped
        cart = [Cart(max_leaves or max_leaves_at(depth), depth)] if has_cart else []
        return in_turn(depth, cart)

    def check_start(self, tree):
        """Accept any tree as an initial tree."""

    def better_start(self, search, state, trees, lambda_, random_state):
        """Return the best of the initial trees."""
        return state

    def refit(self, search, state, lambda_, is_rough=False):
        """Return the state after each node is refitted on the features that it has."""
        return refit(search, state, lambda_, is_rough)

    def optimize_exact(self, search, state):
        """Return the state after passes that change tests and remove features.

        They minimise the clustering cost itself plus a penalty per parameter.
        """
        there = search.smoothed
        found = there.take(state, search)
        found = optimize_exact(there, found, penalty_per_parameter(there.problem, found))
        return search.take(found, there)

    def local_search(self, search, state, lambda_, goal, effort, rivals, random_state):
        """Yield better and better states from a search that grows, perturbs and prunes the tree.

        They are states of the original rows, without noisy copies.
        """
        there, rows = search.smoothed, search.original
        start, state = there.take(state, search), rows.take(state, search)
        price = penalty_per_parameter(there.problem, start)
        criterion = goal.criterion(rows.problem, price)
        share = start.inertia / state.inertia if state.inertia > 0 else 1.0
        terms = (criterion.over(share), effort, rivals, random_state)
        found = improvements(there, start, lambda_, *terms)
        for other in (rows.take(other, there) for other in found):
            if criterion.value(other) < np.inf:
                state = other
                yield state
        # The search may have used noisy copies of the rows. On the original rows, the result must
        # be at least as good as axis-aligned trees.
        for other in [] if there is rows else rows.single_features(state):
            is_larger = other.pruned.n_parameters > state.pruned.n_parameters
            is_larger |= other.pruned.n_leaves > search.limits()[0]
            if not is_larger and is_better(criterion, other, state):
                state = other
                yield state

    def generalize(self, search, state, lambda_):
        """Return the state unchanged: :meth:`optimize_exact` has counted the copies."""
        return state

    def postprocess(self, tree, leaf_of_row, step, weight, share):
        """Remove weights so small that every row stays in its leaf.

        In tests of one feature, the weight becomes 1 or -1.
        """
        tree = trim(tree, leaf_of_row, step.view, share, step.n_jobs)
        tree = at_widest_margins(tree, leaf_of_row, step.view, weight, step.n_jobs)
        return at_midpoints(tree, leaf_of_row, step.view, step.n_jobs)


@dataclass(frozen=True)
class AxisAligned:
    """Splits by single features, ``x_j <= threshold``.

    Parameters
    ----------
    midpoints : bool, default=True
        Place thresholds halfway between the values of rows on both sides. With False they are
        values of rows, as in the KDD'22 paper.

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
    samples_rows: ClassVar[bool] = False  # the search is never worse than its start on all rows
    n_passes: ClassVar[int] = 100  # until nothing changes
    prices_weights: ClassVar[bool] = False
    depth_limits_leaves: ClassVar[bool] = False
    noise: ClassVar[Noise] = Noise(0.5, 0.3)
    finds_with_copies: ClassVar[bool] = False

    def default_start(self, depth, n_clusters, max_leaves, objective, is_capped=False):
        """Return a builder that alternates between ExKMC, ExShallow and CART.

        For given labels, it is CART alone.

        ExKMC and CART have at most `max_leaves` leaves; ExShallow has one leaf per cluster.
        """
        if objective.explains_labels:
            return Cart(max_leaves or max_leaves_at(depth))
        return axis_aligned(max_leaves or max(n_clusters, max_leaves_at(depth)), n_clusters)

    def check_start(self, tree):
        """Raise a ValueError if a tree is not axis-aligned."""
        if not is_axis_aligned(tree):
            raise ValueError(
                "split='axis' starts from a tree that tests single features, with weight 1: use "
                "init='auto', 'imm', 'exkmc', 'exgreedy', 'exshallow' or such a Tree."
            )

    def better_start(self, search, state, trees, lambda_, random_state):
        """Return the result of a search from all initial trees, or the best one if it is better."""
        return better_start(search, state, trees, lambda_, random_state)

    def refit(self, search, state, lambda_, is_rough=False):
        """Return the state after regrowth of leaves, if the node solver can expand trees."""
        return regrow(search, state, lambda_) if search.settings.solver.can_expand else state

    def optimize_exact(self, search, state):
        """Return the state as it is, because passes over axis-aligned trees need no surrogate loss.

        They minimise the clustering cost itself.
        """
        return state

    def local_search(self, search, state, lambda_, goal, effort, rivals, random_state):
        """Yield nothing, because `better_start` has already searched over the structures."""
        return iter(())

    def generalize(self, search, state, lambda_):
        """Return the state after passes and regrowth on the rows and noisy copies of them."""
        there = search.smoothed
        if there is search or not search.settings.relax or not search.settings.solver.can_expand:
            return state
        found = descend(there, there.evaluate(state.pruned), lambda_, stage="relax")
        found = regrow(there, found, lambda_, state.pruned.n_leaves)
        return search.take(found, there)

    def postprocess(self, tree, leaf_of_row, step, weight, share):
        """Move each threshold to a midpoint between values of rows, or to the lower value."""
        place = at_midpoints if self.midpoints else at_values
        tree = at_widest_margins(upright(tree), leaf_of_row, step.view, weight, step.n_jobs)
        return place(tree, leaf_of_row, step.view, step.n_jobs)


SPLIT_KINDS = {kind.name: kind for kind in (Oblique(), AxisAligned())}
