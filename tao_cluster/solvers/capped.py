"""Bound solver whose tests have at most a given number of features."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import spaced_rows, variances
from ..tree import Split
from ..tree.routing import ReducedSets, kernel_arrays, project
from .base import BoundSolver, NodeProblem
from .exact import Candidate, Rows
from .thresholds import best_threshold

_SAMPLED_ROWS = 4000  # number of sampled rows of a node from which standard deviations are computed


def bind(solver, X, max_features=None):
    """Bind a node solver to X; with `max_features`, no test has more features.

    Parameters
    ----------
    solver : NodeSolver
    X : array or CSR matrix
    max_features : int >= 1, optional
        None stands for any number of features.

    Returns
    -------
    BoundSolver
    """
    bound = solver.bind(X)
    return bound if max_features is None else Capped(bound, X, kernel_arrays(X), max_features)


@dataclass(frozen=True)
class Capped:
    """Bound solver that removes features from the tests of another solver (backward elimination).

    If a test has more features than allowed, half of them are removed and the node is solved again
    on the others, until few enough are left. The features with the largest effects are kept. The
    effect of a feature is its absolute weight times its standard deviation at the node. Bivariate
    trees (Kairgeldin & Carreira-Perpiñán, KDD 2024) have tests of two features.

    Parameters
    ----------
    solver : BoundSolver
    X : array or CSR matrix
    view : result of ``tao_cluster.tree.routing.kernel_arrays`` for X
    max_features : int >= 1
    """

    solver: BoundSolver
    X: Any
    view: Any
    max_features: int

    def solve(self, problem):
        """Solve one node with at most `max_features` features; see :class:`BoundSolver`.

        If features were removed, the threshold minimises the weighted 0/1 loss.
        """
        problem = replace(problem, max_features=self.max_features)
        split, status = self.solver.solve(problem)
        if len(split.indices) <= self.max_features:
            return split, status
        while len(split.indices) > self.max_features:
            most = max(self.max_features, len(split.indices) // 2)
            best = self._best_features(problem, split, most)
            problem = _on_features(replace(problem, warm_start=split), split.indices[best])
            split, status = self.solver.solve(problem)
        values = project(self.view, problem.rows, split.indices, split.weights)
        steps = np.where(problem.goes_right, problem.weight, -problem.weight)
        threshold, _ = best_threshold(values, steps, split.threshold)
        return replace(split, threshold=threshold), status

    def reduced(self, tree, leaf_of_row, weight):
        """Return a tree with fewer features in the tests that have more features than allowed.

        The remaining weights and the threshold of such a test are fitted to the sides on which it
        has its rows.

        Parameters
        ----------
        tree : Tree
            Each of its nodes has rows.
        leaf_of_row : int array of shape (n,), the leaf of each row
        weight : float64 array of shape (n,), positive

        Returns
        -------
        Tree
        """
        updates, rows_of = {}, ReducedSets(tree, leaf_of_row)
        for node in itertools.chain.from_iterable(rows_of.levels()):
            split = Split.from_tree(tree, node)
            if len(split.indices) > self.max_features:
                rows = rows_of[node]
                values = project(self.view, rows, split.indices, split.weights)
                problem = NodeProblem(rows, values > split.threshold, weight[rows], 0.0)
                best = self._best_features(problem, split, self.max_features)
                start = Split(split.indices[best], split.weights[best], split.threshold)
                candidate = Candidate.from_split(Rows.from_problem(self.X, problem), start)
                found = candidate.improved(price=0.0).split
                updates[node] = ((found.indices, found.weights), found.threshold)
        return tree.with_splits(updates)

    def _best_features(self, problem, split, most):
        """Return the positions, increasing, of the features of a test with the largest effects."""
        at = spaced_rows(len(problem.rows), _SAMPLED_ROWS)
        rows = problem.rows[at]
        if sp.issparse(self.X):
            some = self.X[rows][:, split.indices]
        else:
            some = self.X[np.ix_(rows, split.indices)]
        effects = np.abs(split.weights) * np.sqrt(variances(some, problem.weight[at]))
        return np.sort(np.argsort(-effects, kind="stable")[:most])


def _on_features(problem, features):
    """Return a NodeProblem in which only some of the features may get a weight."""
    factors = problem.factors
    if factors is not None:
        factors = factors[np.isin(problem.features, features)]
    return replace(problem, features=features, factors=factors)
