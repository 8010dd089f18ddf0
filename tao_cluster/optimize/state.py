"""State of an optimisation: the rows, evaluated trees, and the optimisation history."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..initial_trees.builders import cart_builders, greedy_builders, small_trees
from ..outofcore.coreset import sample_of_problem
from ..penalties import CostCriterion, LabelCriterion
from ..problem.problem import Problem, smoothed
from ..reference import optimal_centers
from ..tree import Tree
from ..tree.leaf_size import without_small_leaves
from ..tree.routing import kernel_arrays
from .tree_step import Routed, TreeStep

# An oblique tree is compared with axis-aligned trees of CART. If their excess cost over the free
# clustering is more than _FAR times that of the oblique tree, no further axis-aligned trees are
# built. The excess of the oblique tree counts as at least this share of the free cost.
_FAR, _SMALL_EXCESS = 3.0, 0.01


@dataclass(frozen=True, eq=False)
class State:
    """A tree with its decision paths, centres and cost.

    Parameters
    ----------
    tree : Tree
    pruned : Tree
        The tree without nodes that no row reaches.
    leaf_of_row : int array of shape (n,)
        Leaf of each row in `tree`.
    centers : float64 array of shape (k, m)
        Optimal centres for the labels of the tree.
    inertia : float
        Cost of the labels of the tree.
    """

    tree: Tree
    pruned: Tree
    leaf_of_row: np.ndarray
    centers: np.ndarray
    inertia: float

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
        return self.inertia + lambda_ * np.abs(self.pruned.split_weights).sum()

    def score(self, price):
        """Return the cost plus `price` per parameter of the pruned tree."""
        return self.inertia + price * self.pruned.n_parameters


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
    _start: float = field(default_factory=time.perf_counter)

    def add(self, **record):
        """Add the record of a tree."""
        self.records.append({**record, "seconds": time.perf_counter() - self._start})
        self.on_record(self.records[-1])


@dataclass
class Search:
    """The data, settings and caches of an optimisation over one set of rows.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    step : TreeStep
        Tree step over the rows of the problem.
    history : History
    whole : Search, optional
        If this search uses noisy copies of rows, the search over the original rows; see
        :attr:`smoothed`.
    regrowths_in_vain : tuple of (State, set of (price, most leaves, further leaves))
        The last state whose regrowth failed, and the arguments with which it failed.
    is_sample : bool
        Whether the rows are a sample, so that records have the costs of the sample.
    """

    problem: Problem
    settings: Any
    step: TreeStep
    history: History = field(default_factory=History)
    whole: Any = None
    regrowths_in_vain: tuple = (None, frozenset())
    is_sample: bool = False
    # The last centres and the distances (n, k) to them, which the next pass needs again.
    _centers: np.ndarray | None = field(default=None, init=False)
    _distances: np.ndarray | None = field(default=None, init=False)
    _pilot: Any = field(default=None, init=False)
    _starts: list = field(
        default_factory=list, init=False
    )  # one pair (number of leaves, depth) per initial tree

    @classmethod
    def of(cls, problem, settings, history, whole=None):
        """Return a search over the rows of a problem, with the node solver of the settings."""
        solver = settings.direct_solver.bind(problem.X)
        view, size = kernel_arrays(problem.X), problem.leaf_size
        step = TreeStep(view, solver, settings.n_jobs, leaf_size=size)
        return cls(problem, settings, step, history, whole)

    @cached_property
    def smoothed(self):
        """Search over the rows and noisy copies of them if there are few rows; else this search.

        With few rows, the training cost is a poor estimate of the benefit of a weight on new rows.
        """
        if self.whole is not None:
            return self
        n_copies, noise = self.settings.effort.n_copies, self.settings.split_kind.noise
        problem = smoothed(self.problem, n_copies, noise)
        if problem is self.problem:
            return self
        return Search.of(problem, self.settings, self.history, self)

    @property
    def original(self):
        """Search over the original rows: this search, unless it uses noisy copies."""
        return self if self.whole is None else self.whole

    def take(self, state, source):
        """Return the state of another search, evaluated on the rows of this search."""
        return state if source is self else self.evaluate(state.pruned)

    @cached_property
    def exact_step(self):
        """Tree step that minimises the cost itself plus a penalty per parameter of the tree."""
        solver = self.settings.exact.bind(self.problem.X)
        return self.step.with_solver(solver, prices_parameters=True)

    @cached_property
    def penalty_step(self):
        """Tree step with the node solver of the penalty method (parameter `node_solver`)."""
        settings = self.settings
        if settings.solver is settings.direct_solver:
            return self.step
        return self.step.with_solver(settings.solver.bind(self.problem.X))

    def start_from(self, tree):
        """Record the size of an initial tree, which may limit later trees, and return the tree."""
        self._starts.append((tree.n_leaves, tree.max_depth))
        return tree

    def limits(self):
        """Return the maximum number of leaves and the maximum depth of trees in this search.

        If the settings have no such limit, it is the maximum over the initial trees.
        """
        if not self._starts and self.whole is not None:
            return self.whole.limits()
        leaves, depth = np.max(self._starts or [(np.inf, np.inf)], axis=0)
        settings = self.settings
        return (
            leaves if settings.most_leaves is None else settings.most_leaves,
            depth if settings.most_depth is None else settings.most_depth,
        )

    def single_features(self, state):
        """Return a list of states of axis-aligned trees, with which an oblique tree competes.

        If the trees of CART cost much more than the tree of `state`, other builders are not tried.
        """
        if self.whole is not None:
            found = self.whole.single_features(self.whole.take(state, self))
            return [self.take(other, self.whole) for other in found]
        free, found = self.problem.free.inertia, self._from_cart
        excess = max(state.inertia - free, _SMALL_EXCESS * free)
        if min(other.inertia for other in found) - free > _FAR * excess:
            return found
        return self._from_builders + found

    @cached_property
    def _from_cart(self):
        return [self.evaluate(tree) for tree in small_trees(self.problem, cart_builders)]

    @cached_property
    def _from_builders(self):
        return [self.evaluate(tree) for tree in small_trees(self.problem, greedy_builders)]

    def pilot(self, n_rows, random_state):
        """Return a search over a sample of the rows, or this search if there are few rows.

        The sample is drawn at the first call, and used again at later calls.

        Parameters
        ----------
        n_rows : int
            Size of the sample. With fewer than twice as many rows, this search is returned.
        random_state : int, RandomState instance or None
        """
        if self._pilot is None:
            self._pilot = self
            if self.problem.n_rows >= 2 * n_rows:
                terms = (self.problem, self.settings, self.history, n_rows, random_state)
                self._pilot = self.of_sample(*terms)
        return self._pilot

    @classmethod
    def of_sample(cls, problem, settings, history, n_rows, random_state):
        """Return the search over a weighted sample of the rows.

        If the solver does not support instance weights, the rows of the sample have equal weights.
        """
        is_uniform = not settings.solver.supports_weights
        sample = sample_of_problem(problem, n_rows, random_state, is_uniform=is_uniform)
        return replace(cls.of(sample, settings, history), is_sample=True)

    def evaluate(self, tree, leaf_of_row=None):
        """Return the state of a tree; clusters without rows keep their free centres.

        Tests that leave fewer rows on a side than the minimum size of leaves are removed first.

        Parameters
        ----------
        tree : Tree
        leaf_of_row : int32 array of shape (n,), optional
            Leaf of each row, if it is known already.
        """
        problem = self.problem
        if leaf_of_row is None:
            leaf_of_row = self.step.leaves_of(tree)
        if problem.leaf_size is not None:
            terms = (self.step.view, problem.leaf_size, self.step.n_jobs)
            rows = np.arange(problem.n_rows)
            tree, leaf_of_row = without_small_leaves(tree, rows, leaf_of_row, *terms)
        labels = tree.leaf_label[leaf_of_row]
        centers = problem.objective.update_centers(
            self._data, labels, problem.weight, problem.free.centers
        )
        own = self.distances(centers)[np.arange(len(labels)), labels]
        pruned = tree.prune(tree.node_counts(leaf_of_row))
        return State(tree, pruned, leaf_of_row, centers, float(problem.weight @ own))

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
        distances, self._distances, self._centers = self.distances(centers), None, None
        return distances

    def criterion(self, state):
        """Return the criterion of the direct form: the clustering cost at the centres of a state.

        It is the loss of equation 4 of the KDD'22 paper.
        """
        return CostCriterion(self.distances(state.centers), self.problem.weight)

    def agreement(self, labels):
        """Return the criterion of the penalty method: disagreement of the tree with `labels`.

        It is the loss of equation 8 of the KDD'22 paper.
        """
        problem = self.problem
        penalty = self.settings.penalty
        return LabelCriterion(penalty, labels, problem.weight, problem.n_clusters)

    def cost_increase(self, state):
        """Return the cost increase of a state of this search in percent, on the original rows."""
        if self.whole is None:
            return self.problem.cost_increase(state.inertia)
        problem = self.whole.problem
        labels = state.labels[: problem.n_rows]  # the copies come after the original rows
        terms = (problem.objective, problem.data, labels, problem.weight, problem.free)
        return problem.cost_increase(optimal_centers(*terms)[1])

    def record(self, stage, state, lambda_, mu=np.inf, mismatch=0.0, kept=True):
        """Add a state to the optimisation history.

        Parameters
        ----------
        stage : str
            One of "start", "search", "direct", "relax", "regrow", "exact", "direct fit", "penalty"
            and "polish".
        state : State
        lambda_, mu : float
            In the direct form, mu is infinite.
        mismatch : float
            Weight of the rows whose assignment differs from the label of their leaf.
        kept : bool
            Whether the state is the best of its stage so far.
        """
        self.history.add(
            stage=stage,
            **{"lambda": lambda_},
            mu=mu,
            cost_increase=self.cost_increase(state),
            leaves=state.pruned.n_leaves,
            non_zeros=state.pruned.n_nonzero,
            mismatch=mismatch,
            kept=kept,
            sampled=self.original.is_sample,
        )
