"""The mu loop: clustering steps and tree steps in turn, until they agree (KDD'22 paper, fig. 2)."""

from dataclasses import dataclass

import numpy as np

from .problem import evaluate
from .schedules import Geometric, smallest_effective_mu


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


def direct_fit(problem, step, trees, lambda_, schedule):
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
    lambda_ : float
    schedule : Schedule

    Returns
    -------
    State
    """
    distances = problem.objective.distances(problem.data, problem.free.centers)
    price = problem.weight @ mismatch_prices(distances) / problem.weight.sum()
    del distances
    strength = lambda_ / (price or np.inf)
    criterion = problem.agreement(problem.free.labels)
    n_free = min(schedule.tao_iter, schedule.init_tao_iter)
    starts = (
        evaluate(problem, step, step.run_freely(tree, criterion, strength, n_free))
        for tree in trees
    )
    best = min(starts, key=lambda state: state.objective(lambda_))
    tree = step.run(best.tree, criterion, strength, schedule.init_tao_iter - n_free)
    return best if tree is best.tree else evaluate(problem, step, tree)


def mismatch_prices(distances):
    """Distance d to the second nearest centre minus that to the nearest: float64 array (n,).

    All 0 if there is one centre only.
    """
    if distances.shape[1] < 2:
        return np.zeros(len(distances))
    nearest = np.partition(distances, 1, axis=1)[:, :2]
    return nearest[:, 1] - nearest[:, 0]


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


def alternate(problem, step, state, lambda_, schedule, history):
    """Follow the path of eq. (6) along mu from a direct fit until Z = T(X).

    Parameters
    ----------
    problem : Problem
    step : TreeStep
    state : State
        Where the path starts; the structure of its tree stays.
    lambda_ : float
    schedule : Schedule
    history : History
        Gets a record a value of mu.

    Yields
    ------
    State
        After each mu the tree with the least objective (4) so far, the start included. In the end
        that is mostly the last one; where mu_0 is small against the prices of most rows, the
        path can collapse the tree and lose clusters that do not come back.
    """
    best = state
    labels, centers = problem.free.labels, problem.free.centers
    distances = problem.objective.distances(problem.data, centers)
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
        tree = step.run(state.tree, problem.agreement(labels), lambda_ / mu, schedule.tao_iter)
        unchanged = tree is state.tree
        if not unchanged:
            state = evaluate(problem, step, tree)
            best = min(state, best, key=lambda s: s.objective(lambda_))  # ties: the later one
        mismatch = float(problem.weight[labels != state.labels].sum())
        history.add("penalty", problem, state, lambda_, mu, mismatch, kept=best is state)
        yield best
        if unchanged and mismatch == 0:
            break


def _penalty_matrix(problem, state):
    return problem.penalty.table(state.tree, problem.n_clusters)[state.leaf_of_row]
