"""What a node solver promises, and the check that a combination can work."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ..repeats import as_repeats

# What whole-number weights may stand for, where a solver has to repeat rows.
MAX_REPEATED_ROWS = 10_000_000

_BLOCK_ROWS = 512


@dataclass(frozen=True, eq=False)
class Split:
    """A hyperplane test: left iff sum_j weights_j x_{indices_j} <= threshold.

    Parameters
    ----------
    indices : int32 array, increasing features with a non-zero weight
    weights : float64 array of the same length
    threshold : float
    """

    indices: np.ndarray
    weights: np.ndarray
    threshold: float

    @classmethod
    def constant(cls, goes_left):
        """The test without features that sends every row to one side."""
        return cls(np.empty(0, np.int32), np.empty(0), 1.0 if goes_left else -1.0)

    @classmethod
    def from_dense(cls, weights, threshold):
        """Split of a weight vector of shape (d,); exact zeros are dropped."""
        indices = np.flatnonzero(weights).astype(np.int32)
        return cls(indices, np.asarray(weights, dtype=np.float64)[indices], float(threshold))

    def same_as(self, other):
        """Whether the other split has exactly the same numbers."""
        return (
            self.threshold == other.threshold
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.weights, other.weights)
        )


@runtime_checkable
class BoundSolver(Protocol):
    """A node solver that holds the data of one fit in the form it works on."""

    def fit(
        self,
        rows: np.ndarray,
        goes_right: np.ndarray,
        weight: np.ndarray,
        strength: float,
        warm_start: Split | None,
        features: np.ndarray | None = None,
        factors: np.ndarray | None = None,
    ) -> Split:
        """Minimise strength ||w||_1 + sum_n c_n log(1 + exp(-y_n (w.x_n - t))) over w, t.

        The sum runs over `rows`, y_n = +1 where `goes_right` and -1 elsewhere, c_n = `weight`
        > 0. Both classes are present: the caller sees to that. A solver bounds the norm of w
        on separable rows where the strength is 0 or nearly so.

        Only `features`, increasing column numbers, at least one, may get a weight; None stands
        for all. The warm start's weights on others are dropped. With `factors`, positive, one
        for each of `features`, the strength for feature j is strength * factors_j.
        """


@runtime_checkable
class NodeSolver(Protocol):
    """Settings of a solver of the surrogate problem at a decision node (eq. 9).

    `supports_weights`: instance weights other than whole numbers. `supports_sparse`: CSR
    input. `deterministic`: same call, same result. A solver whose tests have one feature each
    says so by an attribute ``split = "axis"``.
    """

    supports_weights: bool
    supports_sparse: bool
    deterministic: bool

    def bind(self, X: Any) -> BoundSolver:
        """Convert X to the solver's own form, once a fit."""


def variances(X):
    """Variance of each column: float array of shape (d,)."""
    if issparse(X):
        return mean_variance_axis(X, axis=0)[1]
    mean, squares = X.mean(axis=0, dtype=np.float64), np.zeros(X.shape[1])
    for start in range(0, len(X), _BLOCK_ROWS):  # X.var() would take a copy of X
        squares += ((X[start : start + _BLOCK_ROWS] - mean) ** 2).sum(axis=0)
    return squares / len(X)


def largest_spread(X):
    """Largest standard deviation of a column."""
    return float(np.sqrt(variances(X).max()))


def power_of_two(size):
    """Power of two near a size, by which one divides without rounding; 1 for 0."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0


def check_supported(solver, X, weight, penalty):
    """Fail at once if a solver cannot work on these data.

    Parameters
    ----------
    solver : NodeSolver
    X : array or sparse matrix
    weight : float array of shape (n,), positive instance weights
    penalty : Penalty

    Raises
    ------
    ValueError
        With a sentence that names what to use.
    """
    name = type(solver).__name__
    if issparse(X) and not solver.supports_sparse:
        raise ValueError(f"{name} takes no sparse X; use node_solver='liblinear'.")
    if solver.supports_weights:
        return
    if not penalty.is_binary:
        raise ValueError(
            f"{name} has no instance weights, which {type(penalty).__name__} needs; use "
            "penalty='zero-one' or node_solver='newton'."
        )
    if not np.all(weight == weight[0]):
        repeats_of(weight)


def repeats_of(weight):
    """Weights as numbers of repeated rows, for a solver that has none.

    Returns
    -------
    repeats : int64 array
    unit : float, weight = unit * repeats

    Raises
    ------
    ValueError
        If the weights are not multiples of one number, or stand for too many rows.
    """
    found = as_repeats(weight)
    if found is None:
        raise ValueError(
            "The node solver has no instance weights: sample_weight must be whole numbers (which "
            "it takes as repeated rows) or multiples of one number; node_solver='newton' takes any."
        )
    n_repeated = found[0].sum()
    if n_repeated > MAX_REPEATED_ROWS:
        raise ValueError(
            f"sample_weight stands for {n_repeated} repeated rows; a node solver "
            f"without instance weights takes at most {MAX_REPEATED_ROWS}."
        )
    return found
