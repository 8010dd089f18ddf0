"""The node solver on the true cost: 0/1 loss plus a price a parameter, by coordinate descent."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...tree import Split
from ...tree.routing import kernel_view, project
from ..base import NodeSolver, Status
from .cuts import SingleFeatures
from .kernels import least_sum
from .moves import Candidate, Rows

# Rows of a node of which a sample proposes a test, improves its weights; all of them give the
# threshold and judge.
_FEW_ROWS, _MANY_ROWS = 4000, 16_000


@dataclass(frozen=True)
class Exact(NodeSolver):
    """Descent on the 0/1 loss plus a price a parameter, from the test that is there.

    Logistic loss only stands for what a tree minimises. As a function of one weight, the others
    fixed, the true loss is piecewise constant with a breakpoint a row, so its least value is found
    by sorting them. At a node compete: the test that is there, with weights changed, removed,
    added and exchanged one at a time; the best cut of one feature, with the same; and the constant
    tests, which free the parameters of a subtree. The method is ours.

    Parameters
    ----------
    n_candidates : int, default=16
        Features looked at when one is added: those along which a smoothed loss falls fastest.

    Notes
    -----
    Where a node has many rows, a sample of them proposes a test, and all of them improve and judge
    it. Memory: a copy of rows of at most 5e6 values of X, and a byte for each of these; 8 bytes for
    each row of a node and weight of its test.
    """

    n_candidates: int = 16
    supports_weights = True
    supports_sparse = True
    deterministic = True
    is_exact = True

    def bind(self, X):
        """See :class:`BoundSolver`."""
        return BoundExact(self.n_candidates, X, kernel_view(X), SingleFeatures.of(X))


@dataclass(frozen=True)
class BoundExact:
    """The rows of a fit.

    Parameters
    ----------
    n_candidates : int
    X : array or CSR matrix
    view : result of ``tao_cluster.tree.routing.kernel_view``
    cuts : SingleFeatures
    """

    n_candidates: int
    X: Any
    view: Any
    cuts: SingleFeatures

    def solve(self, problem):
        """See :class:`BoundSolver`; `strength` is the price of a parameter.

        Ties go to the constant tests, then to the test that is there.
        """
        rows = Rows.of(self.X, problem)
        found = [(rows.constant_loss(side) + problem.price(side), side) for side in _SIDES]
        old, cut = problem.warm_start, self.cuts.best(problem)
        if len(old.indices):
            found.append(self._descended(rows, problem, old))
        least = min(score for score, _ in found)
        if cut is not None and self._loss(rows, cut) + problem.price(cut) < least - rows.noise:
            found.append(self._descended(rows, problem, cut))
        scores, tests = zip(*found, strict=True)
        return tests[rows.least(np.array(scores))], Status()

    def _loss(self, rows, split):
        values = project(self.view, rows.numbers, split.indices, split.weights)
        return rows.steps[values <= split.threshold].sum()

    def _descended(self, rows, problem, split):
        """Score and test that descent from a test ends with."""
        found, price, n_rows = split, problem.strength, len(rows.numbers)
        if n_rows > 2 * _FEW_ROWS:
            some, share = rows.sample(_FEW_ROWS)
            found = Candidate.of(some, found).descended(price * share, self.n_candidates).split
            many, share = rows.sample(min(n_rows, _MANY_ROWS))
            found = Candidate.of(many, found).improved(price * share, n_sweeps=1).split
        else:
            found = Candidate.of(rows, found).descended(price, self.n_candidates).split
        if n_rows > _MANY_ROWS:
            found = self._at_best_threshold(rows, found)
        return self._loss(rows, found) + problem.price(found), found  # as routing sees it

    def _at_best_threshold(self, rows, split):
        values = project(self.view, rows.numbers, split.indices, split.weights)
        least, low, high = least_sum(values, rows.steps)
        if not least < rows.steps[values <= split.threshold].sum() - rows.noise:
            return split
        return replace(split, threshold=0.5 * low + 0.5 * high)


_SIDES = (Split.constant(goes_left=False), Split.constant(goes_left=True))
