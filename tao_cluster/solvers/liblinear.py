"""LIBLINEAR's L1-regularised logistic regression, the reference node solver."""

import ctypes
import math
import sys
import threading
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from liblinear import liblinear as _library
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from .._utils.matrices import power_of_two, variances
from .._utils.options import Part
from ..tree import Split
from .base import NodeSolver, Status, repeats_of

# LIBLINEAR draws random numbers from rand() of the C library, which all threads of a process share.
# Results are reproducible only if one training runs at a time, and each starts from the same seed.
_ONE_AT_A_TIME = threading.Lock()
_C_RUNTIME = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)

# Without a penalty, the loss has no minimum if a test separates the rows without errors. The
# strength is therefore at least this share of the mean weight of the rows, for columns with a
# standard deviation of 1.
_MIN_STRENGTH = 1e-4

# All columns of X are divided by one scale: the largest standard deviation of a column, but at most
# this multiple of the median one, so that a single column with large values does not determine it.
_MOST_MEDIANS = 100.0

# Before version 1.8, scikit-learn names the penalty instead of the share of its l1 part.
_IS_NAMED = LogisticRegression().get_params().get("penalty") == "l2"
_L1_PENALTY = {"penalty": "l1"} if _IS_NAMED else {"l1_ratio": 1.0}


@dataclass(frozen=True)
class Liblinear(Part, NodeSolver):
    """L1-regularised logistic regression by liblinear-official (`-s 6 -B 1 -R`).

    This is the solver of the KDD'22 paper and the reference for ours. The threshold is not
    penalised. LIBLINEAR has no instance weights and no warm start. Integer weights are passed as
    repeated rows (repeated pointers, without copies of X). Other weights raise a ValueError.

    Parameters
    ----------
    tol : float, default=0.001
        The option `-e` of LIBLINEAR. Training stops when the violation of the optimality
        conditions is at most `tol` times the share of the smaller class times the violation at
        w = 0. With LIBLINEAR's own default of 0.01, training takes half the time and the cost is
        the same, but about a fifth more weights are non-zero (digits, depth 5).

    Notes
    -----
    A strength below 1e-4 s times the mean weight of the rows is raised to this value. Here s is the
    largest standard deviation of a column, but at most 100 times the median one.

    LIBLINEAR's form of X takes 16 bytes per non-zero value and 32 per row, and is made once per
    fit. Training on m rows takes about twice the memory of these rows.
    """

    tol: float = 1e-3
    supports_weights = False
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Convert X (dense or CSR, without NaN) once; see :class:`BoundSolver`."""
        return _BoundLiblinear(self.tol, X)


class _BoundLiblinear:
    """The solver with the data of one fit: LIBLINEAR's copy of the rows, and pointers to them."""

    def __init__(self, tol, X):
        self._tol, self._X = tol, X
        self._origin, spread = _origin_and_spread(X)
        # LIBLINEAR adds 1e-12 to every curvature, which must be small relative to the data.
        self._unit = power_of_two(float(spread))
        # The converter of LIBLINEAR takes a csr_matrix, or a dense array row by row.
        matrix = sp.csr_matrix(X - self._origin if self._origin.any() else X)
        matrix.data = matrix.data / self._unit
        self._problem = _library.problem(np.zeros(matrix.shape[0]), matrix, bias=1)
        self._bias_index = matrix.shape[1]
        rows = self._problem.rowptr[:-1] * ctypes.sizeof(_library.feature_node)
        self._pointers = (rows + self._problem.x_space.ctypes.data).astype(np.uint64)

    def solve(self, problem):
        """Solve one node with LIBLINEAR; see :class:`BoundSolver`.

        The warm start is not used. If `problem.features` is given, these columns are copied.

        Raises
        ------
        ValueError
            If the weights are not multiples of one number, or represent too many repeated rows.
        """
        if problem.features is not None:
            return self._solve_on_features(problem)
        rows, goes_right, weight = problem.rows, problem.goes_right, problem.weight
        scale = weight[0]
        if np.any(weight != scale):
            repeats, scale = repeats_of(weight)
            rows, goes_right = np.repeat(rows, repeats), np.repeat(goes_right, repeats)
        strength = max(problem.strength / self._unit, _MIN_STRENGTH * weight.mean())
        return self._train(rows, goes_right, float(scale / strength)), Status(gap=math.nan)

    def _solve_on_features(self, problem):
        rows, features, factors = problem.rows, problem.features, problem.factors
        # LIBLINEAR has one strength for all columns. Division of a column by its factor is
        # equivalent to a penalty that is larger by this factor.
        scale = 1.0 / factors if factors is not None else np.ones(len(features))
        part = _BoundLiblinear(self._tol, self._X[rows][:, features] @ sp.diags(scale))
        everything = replace(problem, rows=np.arange(len(rows)), features=None, factors=None)
        split, status = part.solve(everything)
        chosen = np.asarray(features)[split.indices].astype(np.int32)
        return Split(chosen, split.weights * scale[split.indices], split.threshold), status

    def _train(self, rows, goes_right, cost):
        target = np.where(goes_right, 1.0, -1.0)
        pointers = self._pointers[rows]
        problem = _library.problem.__new__(_library.problem)
        problem.l, problem.n, problem.bias = len(rows), self._bias_index + 1, 1.0
        problem.y = target.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        problem.x = ctypes.cast(
            pointers.ctypes.data, ctypes.POINTER(ctypes.POINTER(_library.feature_node))
        )
        with _ONE_AT_A_TIME:
            parameter = _library.parameter(f"-s 6 -B 1 -R -q -e {float(self._tol)!r} -c {cost!r}")
            model = _trained(problem, parameter)
        w = np.ctypeslib.as_array(model.w, shape=(self._bias_index + 1,)).copy()
        # Rows that go right have target +1, so a row goes right if w.(x - origin) + b > 0.
        weights = w[:-1] / self._unit
        return Split.from_dense(weights, weights @ self._origin - w[-1])


@dataclass(frozen=True)
class WeightedLiblinear(Part, NodeSolver):
    """L1-regularised logistic regression with instance weights by scikit-learn's LIBLINEAR.

    The copy of LIBLINEAR in scikit-learn has instance weights, unlike the original. It penalises
    the threshold: the constant feature of value `bias` has a penalised weight, too.

    Parameters
    ----------
    tol : float, default=0.0001
        The option `tol` of scikit-learn's LogisticRegression.
    bias : float, default=1.0
        Its option `intercept_scaling`. A large value makes the penalty of the threshold small.
    """

    tol: float = 1e-4
    bias: float = 1.0
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Keep the rows (dense or CSR, without NaN); see :class:`BoundSolver`."""
        return _BoundWeighted(self, X)


class _BoundWeighted(NamedTuple):
    """The solver with the data of one fit."""

    solver: WeightedLiblinear
    X: Any

    def solve(self, problem):
        """Solve one node; the warm start is not used. See :class:`BoundSolver`."""
        X, scale = self.X[problem.rows], 1.0
        columns = np.arange(X.shape[1]) if problem.features is None else problem.features
        if problem.features is not None:
            scale = 1.0 if problem.factors is None else 1.0 / problem.factors
            X = X[:, columns] @ sp.diags(np.broadcast_to(scale, len(columns)))
        strength = max(problem.strength, _MIN_STRENGTH * problem.weight.mean())
        model = LogisticRegression(
            **_L1_PENALTY,
            solver="liblinear",
            C=1.0 / strength,
            tol=self.solver.tol,
            intercept_scaling=self.solver.bias,
            random_state=0,
        )
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, problem.goes_right, sample_weight=problem.weight)
        found = Split.from_dense(model.coef_[0] * scale, -float(model.intercept_[0]))
        chosen = np.asarray(columns)[found.indices].astype(np.int32)
        return Split(chosen, found.weights, found.threshold), Status(gap=math.nan)


def _trained(problem, parameter):
    """Train LIBLINEAR from a fixed seed and return its model.

    The memory of the model is freed together with the Python object.
    """
    _C_RUNTIME.srand(1)
    return _library.toPyModel(_library.liblinear.train(problem, parameter))


def _origin_and_spread(X):
    """Return the shift of each column and the common scale of the columns, for numerical stability.

    The scale is about the largest standard deviation of a column. A shift does not change the
    solution, because the threshold is not penalised. Without a shift, coordinate descent makes no
    progress on data far from 0. Columns with zeros in more than a tenth of the rows are not
    shifted, because the zeros, which take no memory, would become non-zero.
    """
    spread = np.sqrt(variances(X))
    if spread.any():
        spread = min(spread.max(), _MOST_MEDIANS * np.median(spread[spread > 0]))
    else:
        spread = 0.0
    if sp.issparse(X):
        return np.zeros(X.shape[1]), spread
    mean = X.mean(axis=0, dtype=np.float64)
    filled = np.count_nonzero(X, axis=0) >= 0.9 * X.shape[0]
    return np.where(filled, mean, 0.0), spread
