"""L1-regularised logistic regression by proximal Newton steps on working sets of features.

The solver minimises, over weights w and a bias b,

    F = sum_n c_n log(1 + exp(-y_n m_n)) + sum_j p_j |w_j|,    m_n = w.x_n + b,

with signs y_n, weights c_n of rows and penalties p_j. Let r_n and h_n be the first and the second
derivative of the loss of row n by its margin m_n. A step of Newton's method in b alone would be
-s = -sum r / sum h. The bias is eliminated from the second-order model of F at (w, b):

    g_j = sum_n (r_n - s h_n) x_nj,    H = sum_n h_n (x_n - a)(x_n - a)',    a = sum h x / sum h,
    d = argmin g.d + d.H d / 2 + sum_j p_j |w_j + d_j|,

and the margins change by d.(x_n - a) - s times the length of the step. The numbers
u_n = q |r_n - s h_n| / c_n are a feasible point of the dual problem if |s| < 1, for any q <= 1 with
q |g_j| <= p_j. The duality gap is F minus the sum of c_n times the entropy of u_n.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import as_array, canonical_csr, ranges, row_size
from .._utils.options import Part
from ..tree import Split
from .base import NodeSolver, Status
from .newton_descent import descend
from .newton_kernels import deviations, unsigned_arrays

# Without a penalty, the loss has no minimum if a test separates the rows without errors. Each
# column therefore has a least penalty. It is the share `_MIN_PRICE` of the penalty above which all
# weights are zero, computed for the median column. Columns can have different units, so it is
# clipped to between the shares `_OWN_SHARES` of the same penalty computed for the column itself.
_MIN_PRICE = 1e-6
_OWN_SHARES = 1e-7, 1e-3

_MAX_STEPS = 400
_MAX_SINGLE = 40  # after this many steps in single precision, double precision is used
_UNIT_BITS = 960  # units of columns are 2 ** -960 to 2 ** 960, so that quotients are finite
_CONSTANT = 1e-12  # columns that vary less than this share of their mean are constant
# Bound of the rounding error of a value of at most 1.5, in single precision.
_ERROR = 1.5 * 2.0**-24
_SPARSE_SHARE = 0.5  # an array with a smaller share of non-zeros is stored as a sparse matrix
_DENSE_PART = 0.1  # columns of sparse rows become an array if more than this share is non-zero
_MOST_GATHERED = 0.25  # sparse rows of a node are copied if they are at most this share of all
_BLOCK_ROWS = 512  # number of rows that are converted at a time


@dataclass(frozen=True)
class Newton(Part, NodeSolver):
    """Proximal Newton solver with working sets, warm starts and instance weights.

    The method is newGLMNET (Yuan, Ho & Lin 2012) on a working set of features: those with a weight
    and the worst violators of the optimality conditions. Coordinate descent minimises the
    second-order model of the loss over it, with the free threshold eliminated. It uses a Gram
    matrix, or columns of X if there are many sparse features. When the working set is solved, the
    gradient of all features is computed, and further features join.

    Two approximations save time. They are safe because each step is judged by the exact objective.
    First, the curvature is summed over a sample of the rows. Second, a model that predicts well is
    corrected (BFGS) instead of rebuilt. If steps are too long, the next model has a larger
    curvature for misclassified rows (Jaakkola & Jordan 2000).

    Parameters
    ----------
    tol : float, default=0.001
        Relative duality gap: the objective exceeds its minimum by at most this share. If 400 steps
        are not enough, the status reports the gap that was reached.

    Notes
    -----
    *Warm starts.* A warm start with a small enough gap is returned unchanged. It is replaced by
    zero if its objective is larger than that of zero weights, if it has more weights than rows, or
    if it has more than 200 weights far from the optimum.

    *Tiny strengths.* The loss of separable rows has no minimum without a penalty. The strength for
    a column is therefore at least about a millionth of the strength above which all weights are
    zero, computed for the median column. This lower bound is clipped to 1e-7 to 1e-3 times the
    strength computed for the column itself. The duality gap is that of the problem with the raised
    strengths.

    *Precision.* X is stored in single precision, shifted and scaled. Sums use double precision. If
    rounding of X could hide an error of the size of the gap, or if 40 steps are not enough, the
    node is solved with X itself. The duality gap includes a bound of the rounding errors. A float32
    array has no such errors and is used itself.

    *Memory.* X is stored by its non-zeros if more than half of its values are zero, and otherwise
    as an array: 4 or 8 bytes per stored value. The rows of a node are copied if X is sparse and
    they are at most a quarter of all rows, or if only some features are allowed. They are also
    copied for double precision if X is not stored by rows, or read-only. A float32 array that is
    stored by rows and not read-only is not copied.
    """

    tol: float = 1e-3
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Compute the mean and the scale of each column; see :class:`BoundSolver`."""
        X = sp.csr_matrix(canonical_csr(X)) if sp.issparse(X) else X
        n_filled = np.count_nonzero(X.data if sp.issparse(X) else X)
        if n_filled >= _SPARSE_SHARE * X.shape[0] * X.shape[1]:
            X = as_array(X)
        elif not sp.issparse(X):
            X = sp.csr_matrix(X)
        low, high = ranges(X)
        origin = np.zeros(X.shape[1])
        if not sp.issparse(X):
            # Means are rounded, so that data near the origin are not shifted and keep their digits.
            mean = X.mean(axis=0, dtype=np.float64)
            step = np.exp2(np.ceil(np.log2(np.maximum(high - low, 1e-15 * np.abs(mean) + 1e-300))))
            origin = np.round(4 * mean / step) * (step / 4)
        reach = np.maximum(high - origin, origin - low)
        varies = reach > _CONSTANT * np.abs(origin)
        bits = np.log2(reach, out=np.zeros_like(reach), where=varies)
        unit = np.exp2(np.clip(np.round(bits), -_UNIT_BITS, _UNIT_BITS))
        scale = np.where(varies, 1.0 / unit, 0.0)
        if not sp.issparse(X) and X.dtype == np.float32:
            forms = [(_Form(np.require(X, None, "CW"), origin, scale), 0.0)]
        else:
            single = _Form(_single(X, origin, scale), np.zeros_like(origin), np.ones_like(scale))
            forms = [(single, _ERROR), (_Form(X, origin, scale), 0.0)]
        return _BoundNewton(self.tol, forms, origin, scale)


def _single(X, origin, scale):
    """Return X minus `origin`, times `scale`, in single precision; `origin` is 0 if X is sparse."""
    if sp.issparse(X):
        data = (X.data * scale[X.indices]).astype(np.float32)
        return sp.csr_matrix((data, X.indices, X.indptr), X.shape)
    values = np.empty(X.shape, np.float32)
    for start in range(0, X.shape[0], _BLOCK_ROWS):
        part = slice(start, start + _BLOCK_ROWS)
        values[part] = (X[part] - origin) * scale
    return values


@dataclass(frozen=True, eq=False)
class _BoundNewton:
    """The solver with the data of one fit.

    Parameters
    ----------
    tol : float
    forms : list of (_Form, float)
        The forms of X with which a node is solved, one after the other until one converges, and the
        bound of the rounding error of a value of each. The first one may be X minus `origin`, times
        `scale`, as a float32 array or CSR matrix.
    origin : float64 array of shape (d,)
        The mean of each column; 0 if X is sparse.
    scale : float64 array of shape (d,)
        Factor of each column, after the subtraction of its origin: 1 over a power of two near its
        largest absolute value, and 0 for a constant column.
    """

    tol: float
    forms: list
    origin: np.ndarray
    scale: np.ndarray

    def solve(self, problem):
        """Solve one node to the relative duality gap `tol`; see :class:`BoundSolver`."""
        features, at = problem.features, np.require(problem.rows, np.int64, "CW")
        every = slice(None) if features is None else np.asarray(features, np.int64)
        origin, scale = self.origin[every], self.scale[every]
        weight = np.require(problem.weight, np.float64, "CW")
        labels = np.where(problem.goes_right, 1.0, -1.0), weight
        factors = 1.0 if problem.factors is None else problem.factors
        price, varies = problem.strength * factors * scale, scale > 0
        w, bias, is_complete, warm_start = np.zeros(len(scale)), None, False, problem.warm_start
        if warm_start is not None:
            full = np.zeros(len(self.origin))
            full[warm_start.indices] = warm_start.weights
            w = full[every]
            is_complete = np.count_nonzero(full) == np.count_nonzero(w)
            bias = float(w @ origin) - warm_start.threshold
            w = np.divide(w, scale, out=np.zeros_like(w), where=varies)
        n_steps, has_moved = 0, False
        for form, error in self.forms:
            rows, values_per_row = form.node_rows(at, None if features is None else every)
            raised = np.maximum(_at_least(price, rows, problem.goes_right, weight, scale), 1e-300)
            least = float(raised.min(initial=np.inf, where=varies))
            most = min(_MAX_SINGLE, _MAX_STEPS) if error else _MAX_STEPS
            terms = (rows, values_per_row, error, labels, raised, least, w, bias, self.tol, most)
            bias, moved, is_converged, gap, steps = descend(*terms)
            n_steps, has_moved = n_steps + steps, has_moved or moved
            if is_converged:
                break
        status = Status(is_converged, gap, n_steps)
        if is_complete and not has_moved:
            return warm_start, status
        w *= scale
        used = np.flatnonzero(w)
        threshold = float(w @ origin - bias)
        indices = used if features is None else every[used]
        return Split(indices.astype(np.int32), w[used], threshold), status


class _Form(NamedTuple):
    """X, the origin that is to be subtracted from its columns, and the scale of the columns."""

    X: Any
    origin: np.ndarray
    scale: np.ndarray

    def node_rows(self, rows, features):
        """Return `rows` and `row_size` of :func:`.newton_descent.descend`.

        If `features` is None, all features are kept, and sparse rows are copied if they are few.
        Types and layouts of the arrays do not vary, because a kernel is compiled for each of them.
        """
        X, origin, scale = self
        is_sparse, n, m = sp.issparse(X), X.shape[0], len(rows)
        if features is not None:
            origin, scale = origin[features], scale[features]
            X = X[rows][:, features] if is_sparse else X[np.ix_(rows, features)]
            if is_sparse and X.nnz >= _DENSE_PART * m * len(features):
                X = X.toarray()
        elif is_sparse and m <= _MOST_GATHERED * n:
            X = X[rows]
        elif not is_sparse and not (X.flags.c_contiguous and X.flags.writeable):
            X = np.require(X[rows], None, "CW")
        rows = rows if X is self.X else np.arange(m)
        return (unsigned_arrays(X), rows, origin, scale), row_size(X)


def _at_least(price, rows, goes_right, weight, scale):
    """Return the penalties, each at least a small share of the one that makes all weights 0."""
    varies, share = scale > 0, float(weight @ goes_right) / weight.sum()
    if np.all(price[varies] >= 3 * _MIN_PRICE * weight.sum() * share * (1 - share)):
        return price  # the bounds below would raise no penalty, and need three passes over X
    residual = weight * np.where(goes_right, 1 - share, share)
    # Mean deviations are used, because a single distant row would dominate the largest value.
    gradient, size = deviations(*rows, np.where(goes_right, -residual, residual), residual)
    filled = varies & (size > 0)
    if not filled.any():
        return price
    size *= np.max(np.abs(gradient[filled]) / size[filled])
    # The median of the penalties is taken in the units of X, not in those of scaled columns.
    typical = np.median(size[filled] / scale[filled]) * scale
    lowest, highest = _OWN_SHARES
    return np.maximum(price, np.clip(_MIN_PRICE * typical, lowest * size, highest * size))
