"""The problem at a decision node, the protocol of its solvers, and checks of what they support."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import issparse

from .._utils.options import name_of
from ..problem.repeats import as_repeats
from ..tree import Split

# A solver without instance weights is trained on rows repeated by their integer weights. This is
# the maximum number of rows after repetition.
MAX_REPEATED_ROWS = 10_000_000


@dataclass(frozen=True, eq=False)
class NodeProblem:
    """Minimise strength ||w||_1 + sum_n c_n log(1 + exp(-y_n (w.x_n - t))) over w and t (eq. 9).

    This is equation 9 of the KDD'22 paper: a weighted logistic loss with an l1 penalty. The result
    is a test that sends a row x to the left if w.x <= t.

    Parameters
    ----------
    rows : int64 array of shape (m,)
        Rows of X in the sum.
    goes_right : bool array of shape (m,)
        y_n is +1 if it is True, and -1 otherwise.
    weight : float64 array of shape (m,), c_n > 0
    strength : float >= 0
    warm_start : Split, optional
        The test from which the solver starts. It does not change the minimum.
    features : int array of shape (k,), increasing, at least one; optional
        Columns that may get a weight; None stands for all. Weights of the warm start on other
        columns are dropped.
    factors : float64 array of shape (k,), positive; optional
        The strength for features[j] is strength * factors[j].
    freed : tuple of two int, optional
        Numbers of parameters of the left and of the right subtree. If given, `strength` is the
        penalty per parameter. A test has one parameter per weight, one for its threshold and one
        for the leaf that it adds. A test without features removes the subtree that no row
        reaches; its penalty is minus `strength` times the parameters of that subtree.
    limit : tuple of (LeafSize, int64 array), optional
        The minimum size of leaves, and all rows that reach the node, also those that are not in the
        sum. The caller rejects a test that leaves too few of these rows on a side. A solver may use
        the limit to find a test that is not rejected.
    max_features : int >= 1, optional
        The number of features that the test should have at most. A solver may ignore it, because
        ``tao_cluster.solvers.capped.Capped`` reduces its tests.
    """

    rows: np.ndarray
    goes_right: np.ndarray
    weight: np.ndarray
    strength: float
    warm_start: Split | None = None
    features: np.ndarray | None = None
    factors: np.ndarray | None = None
    freed: tuple[int, int] | None = None
    limit: tuple | None = None
    max_features: int | None = None

    def price(self, split):
        """Return the penalty of a test: strength * ||w||_1, or strength times its parameters."""
        if self.freed is None:
            return self.strength * np.abs(split.weights).sum()
        if len(split.indices):
            return self.strength * (len(split.indices) + 2)
        return -self.strength * self.freed[1 if split.threshold >= 0 else 0]

    def loss(self, goes_left):
        """Return the total weight of the rows that are sent to the wrong side (0/1 loss).

        `goes_left` is True for the rows that a test sends to the left.
        """
        return float(self.weight[goes_left == self.goes_right].sum())


@dataclass(frozen=True)
class Status:
    """The accuracy that a node solver reached.

    Parameters
    ----------
    converged : bool
        Whether the solver reached its tolerance.
    gap : float
        Upper bound of (objective - minimum) / objective; NaN if the solver computes none.
    steps : int
        Number of iterations; 0 if the warm start was good enough.
    """

    converged: bool = True
    gap: float = 0.0
    steps: int = 0


class BoundSolver(Protocol):
    """A node solver together with the data of one fit, converted to the format of the solver."""

    def solve(self, problem: NodeProblem) -> tuple[Split, Status]:
        """Return the test of one node and the accuracy that the solver reached.

        The caller ensures that some rows belong to the left and some to the right. If a test
        separates them without errors and the strength is 0 or tiny, the logistic loss has no
        minimum. The solver must then bound the norm of w itself.
        """


@runtime_checkable
class NodeSolver(Protocol):
    """A solver of the problem at a decision node, before it is bound to the data of a fit.

    Attributes
    ----------
    supports_weights : bool
        Whether instance weights can be any positive numbers. Otherwise they must be integers.
    supports_sparse : bool
        Whether X may be a CSR matrix.
    deterministic : bool
        Whether the same call gives the same result.
    split : {"oblique", "axis"}
        The kind of the tests: of several features ("oblique") or of one ("axis").
    is_exact : bool
        Whether the solver minimises the 0/1 loss plus a penalty, instead of the logistic loss.
        Updates of nodes can then be judged by this value.
    """

    supports_weights: bool
    supports_sparse: bool
    deterministic: bool
    split: str = "oblique"
    is_exact: bool = False

    def bind(self, X: Any) -> BoundSolver:
        """Return a BoundSolver for X; the conversion of X for the solver is done once per fit."""


def check_supported(solver, X, weight, penalty):
    """Raise a ValueError before a fit if a solver does not support X, the weights or the penalty.

    Parameters
    ----------
    solver : NodeSolver
    X : array or sparse matrix
    weight : float array of shape (n,), positive instance weights
    penalty : Penalty

    Raises
    ------
    ValueError
        The message names what to use instead.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.solvers import Newton, check_supported
    >>> from tao_cluster.penalties import ZeroOne
    >>> check_supported(Newton(), np.zeros((2, 3)), np.ones(2), ZeroOne())
    """
    name = name_of(solver)
    if issparse(X) and not solver.supports_sparse:
        raise ValueError(f"{name} does not support sparse X; use node_solver='liblinear'.")
    if solver.supports_weights:
        return
    if not penalty.is_binary:
        raise ValueError(
            f"{name} has no instance weights, which {name_of(penalty)} needs; use "
            "penalty='zero-one' or node_solver='newton'."
        )
    if not np.all(weight == weight[0]):
        repeats_of(weight)


def repeats_of(weight):
    """Return weights as numbers of repetitions of rows, for a solver without instance weights.

    Returns
    -------
    repeats : int64 array
    unit : float, with weight = unit * repeats

    Raises
    ------
    ValueError
        If the weights are not multiples of one number, or represent too many rows.
    """
    found = as_repeats(weight)
    if found is None:
        raise ValueError(
            "The node solver has no instance weights: sample_weight must be integers (which stand "
            "for repeated rows) or multiples of one number; node_solver='newton' takes any weights."
        )
    n_repeated = found[0].sum()
    if n_repeated > MAX_REPEATED_ROWS:
        raise ValueError(
            f"sample_weight stands for {n_repeated} repeated rows; a node solver "
            f"without instance weights takes at most {MAX_REPEATED_ROWS}."
        )
    return found
