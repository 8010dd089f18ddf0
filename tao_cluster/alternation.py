"""The mu loop: clustering steps and tree steps in turn, until they agree (KDD'22 paper, fig. 2)."""

import itertools
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .measures import cost_increase
from .objectives import Objective
from .penalties import Penalty
from .reference import FreeClustering, optimal_centers
from .schedules import Geometric, smallest_effective_mu
from .tree import Tree
from .tree_step import LabelCriterion


@dataclass(frozen=True, eq=False)
class Problem:
    """What stays fixed during a fit.

    Parameters
    ----------
    objective, penalty : Objective, Penalty
    data : result of ``objective.prepare``
    weight : float64 array of shape (n,)
    free : FreeClustering
    lambda_ : float
    """

    objective: Objective
    penalty: Penalty
    data: Any
    weight: np.ndarray
    free: FreeClustering
    lambda_: float

    @property
    def n_clusters(self):
        """Number of clusters."""
        return len(self.free.centers)

    def criterion(self, labels):
        """What the tree step minimises for assignments `labels`."""
        return LabelCriterion(self.penalty, labels, self.weight, self.n_clusters)


@dataclass(frozen=True)
class Schedule:
    """How long to optimise: the mu values and the iterations at each.

    Parameters
    ----------
    mu : Geometric
    init_tao_iter, tao_iter : int
        Most passes over the tree in the direct fit and at each mu.
    max_iter : int
        Most iterations of the clustering step at each mu.
    tol : float
        The clustering step also ends when its objective falls by no more than this share.
    """

    mu: Geometric
    init_tao_iter: int
    tao_iter: int
    max_iter: int
    tol: float


@dataclass(frozen=True, eq=False)
class State:
    """A tree and what follows from it.

    `pruned` is the tree without dead nodes, `leaf_of_row` (n,) the leaves of the full tree,
    `labels` (n,) its assignment, `centers` optimal for it, `inertia` their cost, `objective` =
    inertia + lambda sum_i ||w_i||_1 over the pruned tree (eq. 4).
    """

    tree: Tree
    pruned: Tree
    leaf_of_row: np.ndarray
    labels: np.ndarray
    centers: np.ndarray
    inertia: float
    objective: float


def evaluate(problem, step, tree):
    """State of a tree; clusters without rows keep their free centres."""
    leaf_of_row = tree.route(step.view, n_jobs=step.n_jobs)
    labels = tree.leaf_label[leaf_of_row]
    pruned = tree.prune(tree.node_counts(leaf_of_row))
    centers, inertia = optimal_centers(
        problem.objective, problem.data, labels, problem.weight, problem.free
    )
    penalty = problem.lambda_ * np.abs(pruned.split_weights).sum()
    return State(tree, pruned, leaf_of_row, labels, centers, inertia, inertia + penalty)


def direct_fit(problem, step, trees, schedule, distances):
    """The tree that predicts the free assignment: the start of the path (fig. 2, section 9.1).

    Every initial tree gets `tao_iter` passes that accept all updates; the one with the least
    objective (4) gets the rest of the `init_tao_iter` passes. A short fit tells good initial
    trees from bad ones about as well as a whole run does, at a small part of its price.

    The paper gives no strength for this fit. Here it is lambda over the mean price of a
    mismatch, by how much the second nearest centre is farther away than the nearest; so the
    fit neither collapses, as it would at lambda / mu_0, nor ignores lambda.

    Parameters
    ----------
    problem, step : Problem, TreeStep
    trees : iterable of Tree, initial trees
    schedule : Schedule
    distances : float array of shape (n, k), to the free centres

    Returns
    -------
    State
    """
    strength = problem.lambda_ / _mean_mismatch_price(distances, problem.weight)
    criterion = problem.criterion(problem.free.labels)
    n_free = min(schedule.tao_iter, schedule.init_tao_iter)
    starts = (
        evaluate(problem, step, step.run_freely(tree, criterion, strength, n_free))
        for tree in trees
    )
    best = min(starts, key=lambda state: state.objective)
    tree = step.run(best.tree, criterion, strength, schedule.init_tao_iter - n_free)
    return best if tree is best.tree else evaluate(problem, step, tree)


def _mean_mismatch_price(distances, weight):
    """Mean of d to the second nearest centre minus d to the nearest; inf if that is 0."""
    if distances.shape[1] < 2:
        return np.inf
    nearest = np.partition(distances, 1, axis=1)[:, :2]
    return weight @ (nearest[:, 1] - nearest[:, 0]) / weight.sum() or np.inf


def clustering_step(problem, labels, centers, penalty_matrix, mu, max_iter, tol):
    """Minimise E(Z, psi) + mu P(Z, T(X)) over Z and psi at fixed mu and tree (eq. 7).

    Parameters
    ----------
    labels, centers : arrays of shape (n,) and (k, m), where to start
    penalty_matrix : float array of shape (n, k), P(e_k, T(x_n))
    mu : float
    max_iter : int
    tol : float

    Returns
    -------
    labels, centers : arrays of shape (n,) and (k, m)
    values : list of float, the objective after each assignment; it never rises
    """
    objective, data, weight = problem.objective, problem.data, problem.weight
    values = []
    for _ in range(max_iter):
        total = objective.distances(data, centers)
        total += mu * penalty_matrix
        assigned = total.argmin(axis=1)
        values.append(float(weight @ total[np.arange(len(total)), assigned]))
        unchanged = np.array_equal(assigned, labels)
        small = len(values) > 1 and values[-2] - values[-1] <= tol * abs(values[-2])
        labels = assigned
        if unchanged and len(values) > 1:
            break
        centers = objective.update_centers(data, labels, weight, centers)
        if small:
            break
    return labels, centers, values


def alternate(problem, step, trees, schedule, on_step=lambda record: None):
    """Follow the path of eq. (6) along mu from the direct fit of a tree to Z = T(X).

    Parameters
    ----------
    problem : Problem
    step : TreeStep
    trees : iterable of Tree
        Initial trees, of which one is followed; its structure stays until the final pruning.
    schedule : Schedule
    on_step : callable(record)
        Called after each mu with the record appended to the history.

    Returns
    -------
    state : State
        The tree with the least objective (4) on the path, the direct fit included. Mostly that
        is the last one; where mu_0 is small against the prices of most rows, the path can
        collapse the tree and lose clusters that do not come back.
    history : list of dict
        mu, cost_increase (percent), mismatch (weight of rows with z_n != T(x_n)), leaves and
        non_zeros (of the pruned tree), seconds (since the start); one a value of mu.

    Warns
    -----
    ConvergenceWarning
        After a KeyboardInterrupt, which is not raised again: the path ends there.
    """
    start = time.perf_counter()
    history = []
    trees = iter(trees)
    first = next(trees)
    best = state = evaluate(problem, step, first)
    try:
        labels, centers = problem.free.labels, problem.free.centers
        distances = problem.objective.distances(problem.data, centers)
        best = state = direct_fit(
            problem, step, itertools.chain([first], trees), schedule, distances
        )
        mu_start = smallest_effective_mu(distances, labels, _penalty_matrix(problem, state))
        del distances
        for mu in schedule.mu.values(mu_start) if mu_start else ():
            labels, centers, _ = clustering_step(
                problem,
                labels,
                centers,
                _penalty_matrix(problem, state),
                mu,
                schedule.max_iter,
                schedule.tol,
            )
            criterion = problem.criterion(labels)
            tree = step.run(state.tree, criterion, problem.lambda_ / mu, schedule.tao_iter)
            unchanged = tree is state.tree
            if not unchanged:
                state = evaluate(problem, step, tree)
                best = min(state, best, key=lambda s: s.objective)  # ties: the later one
            history.append(_record(problem, state, labels, mu, start))
            on_step(history[-1])
            if unchanged and history[-1]["mismatch"] == 0:
                break
    except KeyboardInterrupt:
        warnings.warn(
            f"Interrupted after {len(history)} values of mu; the best tree so far is kept.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return best, history


def _penalty_matrix(problem, state):
    return problem.penalty.table(state.tree, problem.n_clusters)[state.leaf_of_row]


def _record(problem, state, labels, mu, start):
    return {
        "mu": mu,
        "cost_increase": cost_increase(state.inertia, problem.free.inertia),
        "mismatch": float(problem.weight[labels != state.labels].sum()),
        "leaves": state.pruned.n_leaves,
        "non_zeros": state.pruned.n_nonzero,
        "seconds": time.perf_counter() - start,
    }
