"""L1-regularised logistic regression by proximal Newton steps on working sets of features."""

from dataclasses import dataclass, replace

import numpy as np

from ...tree import Split
from ..base import NodeSolver
from .descent import Descent
from .storage import Storage


@dataclass(frozen=True)
class Newton(NodeSolver):
    """Proximal Newton with working sets, warm starts and instance weights.

    newGLMNET (Yuan, Ho & Lin 2012) on the features that matter. At every step all features are
    priced; those with a weight and those that violate optimality form the working set, and
    coordinate descent minimises the second-order model of the loss over it, with the free
    threshold eliminated: on a Gram matrix, or on columns where there are many sparse features.
    Three things keep a step as cheap as a pass over the rows or two, since steps are judged by
    the objective itself: the model sums a sample of the rows, it is corrected (BFGS) instead of
    built anew while it serves, and it is minimised roughly. Where steps prove too long, rows
    on the wrong side count with a secant of their loss (Jaakkola & Jordan 2000).

    Parameters
    ----------
    tol : float, default=0.001
        Largest duality gap, relative to the objective: the objective of the result exceeds the
        least possible by no more than this share, unless 400 steps do not get there: then the
        status says so, with the gap that was reached.

    Notes
    -----
    A warm start whose gap is small enough is returned as it is; one with more weights than rows,
    or with weights for most of many features and far from the optimum, is left for none. Without
    a penalty separable rows have no optimum: a strength below about a millionth of that above
    which no feature would have a weight is raised to that, by the median column, within shares of
    1e-7 and 1e-3 of a column's own. The gap is that of the problem with strengths so raised.

    Memory: X by rows in single precision, shifted by about the mean of each column and over a
    power of two near its reach, once a fit (data with more than half zeros as sparse, 6 or 8
    bytes a non-zero); of sparse data, a copy of the node's rows a thread where these are at most
    a quarter of all, and in refits one of the tree's features where these have at most an eighth
    of all values; for a refit the node's features, as an array where more than a tenth of their
    values are not 0; about 100 bytes a row. Sums are in double precision. Where single precision
    could hide an error of the size of the gap, or gets nowhere (columns that nearly equal each
    other, rows far from all others), the node's rows in double precision for as long as the node
    takes.
    """

    tol: float = 1e-3
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Store X by rows; see :class:`BoundSolver`."""
        return _BoundNewton(self.tol, Storage.of(X))


@dataclass(frozen=True, eq=False)
class _BoundNewton:
    """X by rows in single precision, and in any where that is not enough."""

    tol: float
    storage: Storage

    def narrowed(self, features):
        """See :class:`NarrowableSolver`; of sparse X where that pays."""
        return replace(self, storage=self.storage.narrowed(features))

    def solve(self, problem):
        """See :class:`BoundSolver`."""
        rows = np.asarray(problem.rows, dtype=np.int64)
        features, warm_start = problem.features, problem.warm_start
        if features is not None:
            features = np.asarray(features, dtype=np.int64)
        self.storage.check_kept(features)
        start, is_complete = self._start(warm_start, features)
        if features is None:
            storage, at = self.storage, rows
        else:
            storage, at = self.storage.block(rows, features), np.arange(len(rows))
        descent = _descent(storage, at, problem)
        descent.start(*start)
        status, moved = descent.run(self.tol)
        if not status.converged:
            if moved:
                start = descent.solution()
            n_steps, storage = status.steps, self.storage.precise(rows, features)
            descent = _descent(storage, np.arange(len(rows)), problem)
            descent.start(*start)
            status, moved_again = descent.run(self.tol)
            status, moved = replace(status, steps=status.steps + n_steps), moved or moved_again
        if warm_start is not None and not moved and is_complete:
            return warm_start, status
        w, bias = descent.solution()
        w = w / storage.unit
        used = np.flatnonzero(w)
        indices = used if features is None else features[used]
        threshold = float(w @ storage.origin - bias)
        return Split(indices.astype(np.int32), w[used], threshold), status

    def _start(self, warm_start, features):
        """Weights over units and bias of a warm start, and whether it uses these features only."""
        storage = self.storage
        w, bias = np.zeros(len(storage.origin)), None
        if warm_start is None:
            return (w if features is None else w[features], bias), True
        w[warm_start.indices] = warm_start.weights
        kept = slice(None) if features is None else features
        is_complete = np.count_nonzero(w) == np.count_nonzero(w[kept])
        w = w[kept]
        bias = w @ storage.origin[kept] - warm_start.threshold
        return (w * storage.unit[kept], bias), is_complete


def _descent(storage, rows, problem):
    factors = 1.0 if problem.factors is None else problem.factors
    price = problem.strength * factors / storage.unit
    return Descent(storage, rows, problem.goes_right, problem.weight, price)
