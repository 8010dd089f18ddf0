"""The state of a tree over some rows, the evaluation of trees, and the descent over passes.

A *descent* alternates passes of Tree Alternating Optimization over the tree with updates of the
centres. The direct form, the penalty method and the searches over structures all use it.
"""

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._utils.matrices import row_size
from .._utils.threads import map_in_threads
from ..initial_trees.builders import (
    greedy_builders,
    initial_trees,
    small_cart_trees,
    small_trees,
)
from ..initial_trees.cart import rooted_cart_tree
from ..outofcore.coreset import sample_of_problem
from ..penalties import CostCriterion, LabelCriterion
from ..problem.copies import with_noisy_copies
from ..problem.problem import Problem
from ..reference import optimal_centers
from ..solvers import capped
from ..tree import Tree
from ..tree.leaf_size import without_small_leaves
from ..tree.routing import kernel_arrays
from ..tree.shape import kept_nodes
from .limits import pruned_to, within_limits
from .tree_step import Routed, TreeStep

# A fit optimises the tree at these shares of its lambda, one after the other.
APPROACH = (0.1, 1.0)
_START_PASSES = 3  # passes over each initial tree before the trees are compared
# Initial trees are compared on a sample of this size if there are at least twice as many rows.
_START_ROWS = 5000
LEAST_PROGRESS = 1e-9  # smaller relative decreases of an objective are rounding errors
_MIN_VALUES = 2**16  # with fewer values of X, threads wait for each other longer than they compute
_PATIENCE = 2  # a descent ends after this many passes without a better tree

# An oblique tree is compared with axis-aligned trees of CART. If their excess cost over the free
# clustering is more than _FAR times that of the oblique tree, no further axis-aligned trees are
# built. The excess of the oblique tree counts as at least this share of the free cost.
_FAR, _SMALL_EXCESS = 3.0, 0.01


@dataclass(frozen=True, eq=False)
class State:
    """A tree with its decision paths, centres and cost.

    Sizes are those of `pruned`, the tree without nodes that no row reaches.

    Parameters
    ----------
    tree : Tree
    leaf_of_row : int array of shape (n,)
        Leaf of each row in `tree`.
    centers : float64 array of shape (k, m)
        Optimal centres for the labels of the tree.
    inertia : float
        Cost of the labels of the tree.
    """

    tree: Tree
    leaf_of_row: np.ndarray
    centers: np.ndarray
    inertia: float

    @cached_property
    def pruned(self):
        """The tree without nodes that no row reaches."""
        return self.tree.prune(self._counts)

    @cached_property
    def _counts(self):
        return self.tree.node_counts(self.leaf_of_row)

    @cached_property
    def _kept(self):
        """Nodes of `tree` that `pruned` has, in the order of `pruned`.

        The sizes below come from these nodes, because most states need no pruned Tree.
        """
        return kept_nodes(self.tree, self._counts)[0]

    @property
    def n_leaves(self):
        """Number of leaves of the pruned tree."""
        return (len(self._kept) + 1) // 2

    @property
    def n_nonzero(self):
        """Number of weights of the pruned tree."""
        return int(np.diff(self.tree.split_indptr)[self._kept].sum())

    @property
    def n_parameters(self):
        """Number of parameters of the pruned tree: weights, thresholds and leaves."""
        return self.n_nonzero + len(self._kept)

    @property
    def n_clusters(self):
        """Number of distinct clusters of the leaves of the pruned tree."""
        labels = self.tree.leaf_label[self._kept]
        return len(np.unique(labels[labels >= 0]))

    @property
    def routed(self):
        """The tree and the leaf that each row reaches, as a pair."""
        return Routed(self.tree, self.leaf_of_row)

    @property
    def labels(self):
        """Labels that the tree predicts: int array of shape (n,)."""
        return self.tree.leaf_label[self.leaf_of_row]

    def objective(self, lambda_):
        """Return the cost plus lambda sum_i ||w_i||_1 of the pruned tree (eq. 4)."""
        is_kept = np.zeros(self.tree.n_nodes, bool)
        is_kept[self._kept] = True
        weights = self.tree.split_weights[np.repeat(is_kept, np.diff(self.tree.split_indptr))]
        return self.inertia + lambda_ * np.abs(weights).sum()

    def score(self, price):
        """Return the cost plus `price` per parameter of the pruned tree."""
        return self.inertia + price * self.n_parameters


@dataclass
class History:
    """Optimisation history of a fit: one record per evaluated tree.

    Parameters
    ----------
    on_record : callable(record)
        It is called with each new record.
    """

    on_record: Callable = lambda record: None
    records: list = field(default_factory=list)
    last_kept: tuple | None = None  # (state, lambda) of the last tree that was kept
    _start: float = field(default_factory=time.perf_counter)

    @classmethod
    def with_callback(cls, on_record=None):
        """Return an empty history; `on_record` may be None."""
        return cls() if on_record is None else cls(on_record)

    def add(self, **record):
        """Add the record of a tree."""
        now = time.perf_counter() - self._start
        self.records.append({**record, "seconds": record.get("seconds", now)})
        self.on_record(self.records[-1])

    def extend(self, other):
        """Add the records of another history, which began while this one was kept."""
        later = other._start - self._start
        for record in other.records:
            self.add(**record | {"seconds": record["seconds"] + later})
        self.last_kept = other.last_kept or self.last_kept


@dataclass
class Evaluator:
    """Evaluates trees over one set of rows, and holds the node solvers that are bound to them.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    step : TreeStep
        Tree step over the rows of the problem.
    history : History
    copied_from : Evaluator, optional
        If the rows include noisy copies, the evaluator over the original rows.
    is_sample : bool
        Whether the rows are a sample, so that records have the costs of the sample.
    """

    problem: Problem
    settings: Any
    step: TreeStep
    history: History
    copied_from: Any = None
    is_sample: bool = False
    # The last centres and the distances (n, k) to them, which the next pass needs again.
    _centers: np.ndarray | None = field(default=None, init=False)
    _distances: np.ndarray | None = field(default=None, init=False)
    _pilots: dict = field(default_factory=dict, init=False)  # samples of the rows by their size
    start_sizes: list = field(default_factory=list, init=False)  # (leaves, depth) of each start

    # An evaluator refers to itself by a property, because otherwise its distances would stay in
    # memory after the fit.
    @property
    def original(self):
        """The evaluator over the rows without noisy copies; itself if there are none."""
        return self.copied_from or self

    @classmethod
    def over(cls, problem, settings, history, solves=True, **further):
        """Return an evaluator over the rows of a problem, with the node solver of the settings.

        With ``solves=False`` it has no node solver, so that it can only find leaves and costs.
        """
        solver = None
        if solves:
            solver = capped.bind(settings.direct_solver, problem.X, settings.limits.max_features)
        view, size = kernel_arrays(problem.X), problem.leaf_size
        terms = {"leaf_size": size, "limits": problem.limits}
        step = TreeStep(view, solver, settings.n_jobs, **terms)
        return cls(problem, settings, step, history, **further)

    @classmethod
    def over_sample(cls, problem, settings, history, n_rows, random_state):
        """Return an evaluator over a weighted sample of the rows of a problem.

        If the solver does not support instance weights, the rows of the sample have equal weights.
        """
        is_uniform = not settings.solver.supports_weights
        sample = sample_of_problem(problem, n_rows, random_state, is_uniform=is_uniform)
        return cls.over(sample, settings, history, is_sample=True)

    @property
    def with_copies(self):
        """Evaluator over the rows and noisy copies of them if there are few rows; else itself.

        With few rows, the training cost is a poor estimate of the benefit of a weight on new rows.
        """
        return self._copies or self

    @cached_property
    def _copies(self):
        settings = self.settings
        if self.copied_from is not None:
            return None
        problem = with_noisy_copies(self.problem, settings.n_copies, settings.split_kind.noise)
        if problem is self.problem:
            return None
        terms = (problem, settings, self.history)
        return self.over(*terms, copied_from=self, is_sample=self.is_sample)

    def take(self, state, source):
        """Return the state of another evaluator, evaluated on the rows of this one."""
        return state if source is self else self.evaluate(state.pruned)

    def in_threads(self, function, items, is_exact=False):
        """Return ``function(evaluator, item)`` for each item: list, the same for any `n_jobs`.

        With several threads, each item gets an evaluator of its own over the same rows, so that
        caches are not shared. The records of the history are in the order of the items.

        Parameters
        ----------
        function : callable(Evaluator, item)
        items : iterable
        is_exact : bool, default=False
            Whether the calls make exact passes, whose solver is then bound to the rows only once.
        """
        items, n_jobs = list(items), self.settings.n_jobs
        n_values = self.problem.n_rows * row_size(self.problem.X)
        if min(n_jobs, len(items)) < 2 or n_values < _MIN_VALUES:
            found = []
            for item in items:
                self.step.forget()
                found.append(function(self, item))
            return found
        forks = [self._fork(max(1, n_jobs // len(items)), is_exact) for _ in items]
        calls = list(zip(forks, items, strict=True))
        found = map_in_threads(lambda call: function(*call), calls, n_jobs)
        for fork in forks:
            self.history.extend(fork.history)
            self.step.unsolved.update(fork.step.unsolved)
        self.step.forget()
        return found

    def _fork(self, n_jobs, is_exact):
        fork = replace(self, step=self.step.fork(n_jobs), history=History())
        if is_exact:
            fork.exact_step = self.exact_step.fork(n_jobs)
        return fork

    @cached_property
    def exact_step(self):
        """Tree step that minimises the cost itself plus a penalty per parameter of the tree."""
        return self.step.with_solver(self._bound(self.settings.exact), prices_parameters=True)

    @cached_property
    def penalty_step(self):
        """Tree step with the node solver of the penalty method (parameter `node_solver`)."""
        settings = self.settings
        if settings.solver is settings.direct_solver:
            return self.step
        return self.step.with_solver(self._bound(settings.solver))

    def _bound(self, solver):
        """Return a node solver bound to the rows, with the limit of features of the settings."""
        return capped.bind(solver, self.problem.X, self.settings.limits.max_features)

    def start_from(self, tree):
        """Record the size of an initial tree, which may limit later trees, and return the tree.

        Its tests are reduced to at most `max_features` features.
        """
        self.start_sizes.append((tree.n_leaves, tree.max_depth))
        most = self.settings.limits.max_features
        if most is None or np.diff(tree.split_indptr).max() <= most:
            return tree
        tree = tree.prune(tree.node_counts(self.step.leaves_of(tree)))
        return self.step.solver.reduced(tree, self.step.leaves_of(tree), self.problem.weight)

    def single_features(self, state):
        """Return a list of states of axis-aligned trees, with which an oblique tree competes.

        If the trees of CART cost much more than the tree of `state`, other builders are not tried.
        Trees that are deeper than the user allows do not compete.
        """
        if self.original is not self:
            found = self.original.single_features(self.original.take(state, self))
            return [self.take(other, self.original) for other in found]
        free, found = self.problem.free.inertia, self._from_cart
        excess = max(state.inertia - free, _SMALL_EXCESS * free)
        if min(other.inertia for other in found) - free <= _FAR * excess:
            found = self._from_builders + found
        return [other for other in found if not self.settings.limits.forbids_depth_of(other.tree)]

    @cached_property
    def _from_cart(self):
        return [self.evaluate(tree) for tree in small_cart_trees(self.problem)]

    @cached_property
    def _from_builders(self):
        return [self.evaluate(tree) for tree in small_trees(self.problem, greedy_builders)]

    def pilot(self, n_rows, random_state):
        """Return an evaluator over a sample of the rows, or this one if there are few rows.

        The sample of each size is drawn at the first call, and used again at later calls.

        Parameters
        ----------
        n_rows : int
            Size of the sample. With fewer than twice as many rows, this evaluator is returned.
        random_state : int, RandomState instance or None
        """
        if n_rows not in self._pilots:
            sample = self.sampled(n_rows, random_state)
            self._pilots[n_rows] = None if sample is self else sample
        return self._pilots[n_rows] or self

    def sampled(self, n_rows, random_state):
        """Return an evaluator over a new sample of the rows, or this one; see :meth:`pilot`."""
        if self.problem.n_rows < 2 * n_rows:
            return self
        terms = (self.problem, self.settings, self.history, n_rows, random_state)
        sample = self.over_sample(*terms)
        sample.start_sizes = self.start_sizes  # as of all initial trees
        return sample

    def evaluate(self, tree, leaf_of_row=None):
        """Return the state of a tree; clusters without rows keep their free centres.

        Tests that break limits, such as the minimum size of leaves, are removed or changed first.

        Parameters
        ----------
        tree : Tree
        leaf_of_row : int32 array of shape (n,), optional
            Leaf of each row, if it is known already.
        """
        problem, step = self.problem, self.step
        leaf_of_row = step.leaves_of(tree) if leaf_of_row is None else leaf_of_row
        if problem.leaf_size is not None:
            terms = (step.view, problem.leaf_size, step.n_jobs)
            rows = np.arange(problem.n_rows)
            tree, leaf_of_row = without_small_leaves(tree, rows, leaf_of_row, *terms)
        tree, leaf_of_row = within_limits(self, tree, leaf_of_row)
        labels = tree.leaf_label[leaf_of_row]
        centers = problem.objective.update_centers(
            self._data, labels, problem.weight, problem.free.centers
        )
        own = self.distances(centers)[np.arange(len(labels)), labels]
        return State(tree, leaf_of_row, centers, float(problem.weight @ own))

    def distances(self, centers):
        """Return d(x_n, psi_k): float64 array of shape (n, k), cached until the centres change."""
        if centers is not self._centers:
            self._distances = None  # frees the memory for the new distances
            self._distances = self.problem.objective.distances(self._data, centers)
            self._centers = centers
        return self._distances

    @cached_property
    def _data(self):
        """Prepared data of the objective, for `n_jobs` threads if it supports threads."""
        data, in_threads = self.problem.data, self.problem.objective.in_threads
        return data if in_threads is None else in_threads(data, self.settings.n_jobs)

    def take_distances(self, centers):
        """Return :meth:`distances` and remove them from the cache, so that they may be modified."""
        distances = self.distances(centers)
        self.release()
        return distances

    def release(self):
        """Remove the distances from the cache, which take 8 bytes per row and cluster."""
        self._distances = self._centers = None

    def criterion(self, state):
        """Return the criterion of the direct form: the clustering cost at the centres of a state.

        It is the loss of equation 4 of the KDD'22 paper.
        """
        return CostCriterion(self.distances(state.centers), self.problem.weight)

    def agreement(self, labels):
        """Return the criterion of the penalty method: disagreement of the tree with `labels`.

        It is the loss of equation 8 of the KDD'22 paper.
        """
        problem, penalty = self.problem, self.settings.penalty
        return LabelCriterion(penalty, labels, problem.weight, problem.n_clusters)

    def cost_increase(self, state):
        """Return the cost increase of a state of these rows in percent, on the original rows."""
        problem = self.original.problem
        if problem is self.problem:
            return problem.cost_increase(state.inertia)
        labels = state.labels[: problem.n_rows]  # the copies come after the original rows
        terms = (problem.objective, problem.data, labels, problem.weight, problem.free)
        return problem.cost_increase(optimal_centers(*terms)[1])

    def record(self, stage, state, lambda_, mu=np.inf, mismatch=0.0, kept=True):
        """Add a state to the optimisation history.

        Parameters
        ----------
        stage : str
            One of "start", "search", "direct", "relax", "regrow", "exact", "direct fit", "penalty"
            and "sets".
        state : State
        lambda_, mu : float
            In the direct form, mu is infinite.
        mismatch : float
            Weight of the rows whose assignment differs from the label of their leaf.
        kept : bool
            Whether the state is the best of its stage so far.
        """
        if kept:
            self.history.last_kept = state, lambda_
        self.history.add(
            stage=stage,
            **{"lambda": lambda_},
            mu=mu,
            cost_increase=self.cost_increase(state),
            leaves=state.n_leaves,
            non_zeros=state.n_nonzero,
            mismatch=mismatch,
            kept=kept,
            sampled=self.is_sample,
        )


def is_less(value, other):
    """Return whether a number is less than another one by more than a rounding error."""
    return value + LEAST_PROGRESS * abs(value) < other


def least(states, key):
    """Return the state with the least `key(state)`: the first one of those that are about equal."""
    states = iter(states)
    best = next(states)
    for state in states:
        best = state if is_less(key(state), key(best)) else best
    return best


def descend(
    search,
    state,
    lambda_,
    *,
    stage="direct",
    n_passes=None,
    step=None,
    price=None,
    keeps_start=True,
):
    """Run passes of Tree Alternating Optimization, and update the centres after each pass.

    With an exact node solver, an update of a node is accepted only if it lowers the loss plus the
    penalty of the node. With other solvers all updates are accepted: the cost does not depend on
    the scale of w but ||w||_1 does, so their sum cannot judge an update. The result is the tree
    with the least cost + price * sum_i ||w_i||_1. With `keeps_start`, the result is thus never
    worse than the start.

    Parameters
    ----------
    search : Evaluator
    state : State
        The start.
    lambda_ : float
    stage : str
        Name of the stage in the history.
    n_passes : int, optional
        Maximum number of passes; the default depends on the kind of splits.
    step : TreeStep, optional
        By default the step of the evaluator.
    price : float, default=lambda_
        Factor of sum_i ||w_i||_1 in the comparison of trees. 0 compares costs alone.
    keeps_start : bool, default=True
        Whether `state` itself can be the result. It should be False for initial trees, because the
        scale of their weights is arbitrary. With an exact node solver, `state` can always be the
        result.

    Returns
    -------
    State
    """
    settings, step = search.settings, step or search.step
    price = lambda_ if price is None else price
    is_judged = settings.direct_solver.is_exact
    best, waited = state if keeps_start or is_judged else None, 0
    for _ in range(n_passes or settings.split_kind.n_passes):
        found = step.one_pass(state.routed, search.criterion(state), lambda_, is_judged)
        if found.tree is state.tree:
            break
        state = search.evaluate(*found)
        is_better = best is None or is_less(state.objective(price), best.objective(price))
        search.record(stage, state, lambda_, kept=is_better)
        best, waited = (state, 0) if is_better else (best, waited + 1)
        if waited == _PATIENCE:  # labels can alternate for ever among equal centres
            break
    return state if best is None else best


def approach(search, state, lambda_):
    """Descend at a tenth of lambda and then at lambda, and return the resulting state.

    Clusters that a tree loses at a large lambda do not return.
    """
    for share in APPROACH:
        state = descend(search, state, share * lambda_)
    return state


def starting_trees(search, random_state):
    """Yield the initial trees of a fit, pruned to the maximum number of leaves of the settings."""
    most_leaves = search.settings.limits.max_leaves
    trees = initial_trees(search.problem, search.settings, random_state)
    limits, init = search.problem.limits, search.settings.parameters["init"]
    is_shallow = (
        limits is not None
        and limits.max_depth is not None
        and limits.max_depth <= search.settings.parameters["depth"]
    )
    has_root = is_shallow or (limits is not None and limits.first is not None)
    if has_root and isinstance(init, str) and init == "auto":
        shallow = int(search.problem.n_clusters - 1).bit_length() + 1
        depths = {limits.max_depth, min(shallow, limits.max_depth or shallow)}
        found = (rooted_cart_tree(search.problem, limits, each) for each in sorted(depths, key=str))
        trees = itertools.chain(trees, found)
    trees = filter(None, trees)
    for tree in trees if limits is None else (search.evaluate(tree).tree for tree in trees):
        is_large = most_leaves is not None and tree.n_leaves > most_leaves
        yield search.start_from(
            pruned_to(search, search.evaluate(tree), most_leaves) if is_large else tree
        )


def best_start(search, trees, lambda_, random_state):
    """Return the initial tree that has the least objective (4) after a few passes.

    Noisy copies of rows are left out of these passes. If there are many rows, the trees are
    compared on a sample of the rows.

    Parameters
    ----------
    search : Evaluator
    trees : iterable of Tree
    lambda_ : float
    random_state : int, RandomState instance or None

    Returns
    -------
    State
    """
    rows = search
    if search.settings.split_kind.samples_rows:
        rows = search.sampled(_START_ROWS, random_state)
    rows = search.original if rows is search else rows
    options = {"stage": "start", "n_passes": _START_PASSES, "keeps_start": False}

    def descended(rows, tree):
        return descend(rows, rows.evaluate(tree), lambda_, **options)

    states = rows.in_threads(descended, trees)
    best = least(states, key=lambda state: state.objective(lambda_))
    search.history.last_kept = best, lambda_  # no pass may have changed it, and so recorded it
    # Leaves that only other rows reach are kept, so the tree is not pruned for these rows.
    return best if rows is search else search.evaluate(best.tree)
