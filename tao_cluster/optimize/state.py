"""The search over one set of rows: the trees it looks at, what follows from them, its record."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..initial_trees.builders import cart_builders, greedy_builders, small_trees
from ..outofcore.coreset import sample_of_problem
from ..penalties import CostCriterion, LabelCriterion
from ..problem.problem import Problem, smoothed
from ..tree import Tree
from ..tree.routing import kernel_arrays
from .tree_step import Routed, TreeStep

# Trees of one feature are far from the cost of a state where they cost so many times as much beyond
# the free clustering, or, where that is next to nothing, beyond this share of it.
_FAR, _SMALL_EXCESS = 3.0, 0.01


@dataclass(frozen=True, eq=False)
class State:
    """A tree and what follows from it.

    Parameters
    ----------
    tree : Tree
    pruned : Tree, without dead nodes
    leaf_of_row : int array of shape (n,), leaves of the full tree
    centers : float64 array of shape (k, m), optimal for its labels
    inertia : float, the cost of its labels
    """

    tree: Tree
    pruned: Tree
    leaf_of_row: np.ndarray
    centers: np.ndarray
    inertia: float

    @property
    def routed(self):
        """The tree and the leaf of each row."""
        return Routed(self.tree, self.leaf_of_row)

    @property
    def labels(self):
        """The tree's assignment: int array of shape (n,)."""
        return self.tree.leaf_label[self.leaf_of_row]

    def objective(self, lambda_):
        """Cost plus lambda sum_i ||w_i||_1 over the pruned tree (eq. 4)."""
        return self.inertia + lambda_ * np.abs(self.pruned.split_weights).sum()

    def score(self, price):
        """Cost plus a price a parameter of the pruned tree."""
        return self.inertia + price * self.pruned.n_parameters


@dataclass
class History:
    """Records of a fit, one a tree that was looked at.

    Parameters
    ----------
    on_record : callable(record), told of each new one
    """

    on_record: Callable = lambda record: None
    records: list = field(default_factory=list)
    _start: float = field(default_factory=time.perf_counter)

    def add(self, **record):
        """Record a tree."""
        self.records.append({**record, "seconds": time.perf_counter() - self._start})
        self.on_record(self.records[-1])


@dataclass
class Search:
    """What the search for a tree works with.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    step : TreeStep, over the rows of the problem
    history : History
    whole : Search, optional
        Over the rows of which these are noisy copies, too; see :attr:`smoothed`.
    regrowths_in_vain : tuple of a State and a set of (price, most leaves, further leaves)
        Regrowths that are known not to help the state.
    """

    problem: Problem
    settings: Any
    step: TreeStep
    history: History = field(default_factory=History)
    whole: Any = None
    regrowths_in_vain: tuple = (None, frozenset())
    # The (n, k) distances to the last centres, which the pass from there needs again.
    _centers: np.ndarray | None = field(default=None, init=False)
    _distances: np.ndarray | None = field(default=None, init=False)
    _pilot: Any = field(default=None, init=False)
    _starts: list = field(default_factory=list, init=False)  # leaves and depth of initial trees

    @classmethod
    def of(cls, problem, settings, history, whole=None):
        """The search for a tree of a problem."""
        solver = settings.direct_solver.bind(problem.X)
        step = TreeStep(kernel_arrays(problem.X), solver, settings.n_jobs)
        return cls(problem, settings, step, history, whole)

    @cached_property
    def smoothed(self):
        """The search over the rows and noisy copies of them where there are few; else this one.

        The true cost of few rows alone says little of what a weight is worth to others.
        """
        problem = smoothed(self.problem, self.settings.effort.n_copies)
        if problem is self.problem:
            return self
        return Search.of(problem, self.settings, self.history, self)

    def take(self, state, source):
        """The state here of the tree of another search's state; that one if the two are one."""
        return state if source is self else self.evaluate(state.pruned)

    @cached_property
    def exact_step(self):
        """The step that minimises the true cost and a price a parameter, over the same rows."""
        solver = self.settings.exact.bind(self.problem.X)
        return self.step.with_solver(solver, prices_parameters=True)

    @cached_property
    def penalty_step(self):
        """The tree step of the penalty method, which may have a node solver of its own."""
        settings = self.settings
        if settings.solver is settings.direct_solver:
            return self.step
        return self.step.with_solver(settings.solver.bind(self.problem.X))

    def start_from(self, tree):
        """The tree: an initial one, which limits others where the settings leave that open."""
        self._starts.append((tree.n_leaves, tree.max_depth))
        return tree

    def limits(self):
        """Most leaves and depth of a tree; infinite where nothing is known of initial trees."""
        if self.whole is not None:
            return self.whole.limits()
        leaves, depth = np.max(self._starts or [(np.inf, np.inf)], axis=0)
        settings = self.settings
        return (
            leaves if settings.most_leaves is None else settings.most_leaves,
            depth if settings.most_depth is None else settings.most_depth,
        )

    def single_features(self, state):
        """States of axis-aligned trees, which an oblique one is not to lose to.

        Where CART's are far from the cost of a state, so are others, and these are not built.
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
        """The search over a sample where there are many rows, made once.

        Parameters
        ----------
        n_rows : int, of the sample; no sample is made of fewer than twice as many
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
        """The search over a sample whose weights stand for those of all rows.

        For a solver without instance weights, rows without weights stay rows of equal weights.
        """
        is_uniform = not settings.solver.supports_weights
        sample = sample_of_problem(problem, n_rows, random_state, is_uniform=is_uniform)
        return cls.of(sample, settings, history)

    def evaluate(self, tree, leaf_of_row=None):
        """State of a tree; clusters without rows keep their free centres.

        Parameters
        ----------
        tree : Tree
        leaf_of_row : int32 array of shape (n,), the leaf of each row, if that is known
        """
        problem = self.problem
        if leaf_of_row is None:
            leaf_of_row = self.step.leaves_of(tree)
        labels = tree.leaf_label[leaf_of_row]
        centers = problem.objective.update_centers(
            self._data, labels, problem.weight, problem.free.centers
        )
        own = self.distances(centers)[np.arange(len(labels)), labels]
        pruned = tree.prune(tree.node_counts(leaf_of_row))
        return State(tree, pruned, leaf_of_row, centers, float(problem.weight @ own))

    def distances(self, centers):
        """d(x_n, psi_k): float64 array of shape (n, k), kept until others are asked for."""
        if centers is not self._centers:
            self._distances = None  # before the new ones are made
            self._distances = self.problem.objective.distances(self._data, centers)
            self._centers = centers
        return self._distances

    @cached_property
    def _data(self):
        """What the objective has prepared, for our threads if it uses some."""
        data, in_threads = self.problem.data, self.problem.objective.in_threads
        return data if in_threads is None else in_threads(data, self.settings.n_jobs)

    def take_distances(self, centers):
        """The same array for the caller to change: it is no longer kept."""
        distances, self._distances, self._centers = self.distances(centers), None, None
        return distances

    def criterion(self, state):
        """What the tree step minimises in the direct form, at the centres of a state (eq. 4)."""
        return CostCriterion(self.distances(state.centers), self.problem.weight)

    def agreement(self, labels):
        """What the tree step minimises for assignments `labels` (eq. 8)."""
        problem = self.problem
        penalty = self.settings.penalty
        return LabelCriterion(penalty, labels, problem.weight, problem.n_clusters)

    def record(self, stage, state, lambda_, mu=np.inf, mismatch=0.0, kept=True):
        """Record a state.

        Parameters
        ----------
        stage : {"start", "search", "penalty", "direct", "relax", "regrow", "exact", "polish"}
        state : State
        lambda_, mu : float, mu = inf in the direct form
        mismatch : float, weight of the rows whose assignment is not the tree's
        kept : bool, whether it is the best of its stage so far
        """
        self.history.add(
            stage=stage,
            **{"lambda": lambda_},
            mu=mu,
            cost_increase=self.problem.cost_increase(state.inertia),
            leaves=state.pruned.n_leaves,
            non_zeros=state.pruned.n_nonzero,
            mismatch=mismatch,
            kept=kept,
        )
