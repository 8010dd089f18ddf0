"""The binary problem at a decision node, what a solver of it promises, and what can work."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.sparse import issparse

from .._utils.options import name_of
from ..problem.repeats import as_repeats
from ..tree import Split

# What whole-number weights may stand for, where a solver has to repeat rows.
MAX_REPEATED_ROWS = 10_000_000


@dataclass(frozen=True, eq=False)
class NodeProblem:
    """Minimise strength ||w||_1 + sum_n c_n log(1 + exp(-y_n (w.x_n - t))) over w, t (eq. 9).

    Parameters
    ----------
    rows : int64 array of shape (m,), rows of X that the sum runs over
    goes_right : bool array of shape (m,), y_n = +1 where it is True and -1 elsewhere
    weight : float64 array of shape (m,), c_n > 0
    strength : float >= 0
    warm_start : Split, optional
        Where to start; it does not change the minimum.
    features : int array of shape (k,), increasing, at least one; optional
        Columns that may get a weight; None stands for all. The warm start's weights on others are
        dropped.
    factors : float64 array of shape (k,), positive; optional
        The strength for features[j] is strength * factors[j].
    freed : tuple of two int, optional
        Parameters of the left and of the right subtree. Where it is given, the strength is a price
        of parameters: of a test's weights, its threshold and its leaf, and of what a test without
        features frees of the subtree that it sends nothing to.
    """

    rows: np.ndarray
    goes_right: np.ndarray
    weight: np.ndarray
    strength: float
    warm_start: Split | None = None
    features: np.ndarray | None = None
    factors: np.ndarray | None = None
    freed: tuple[int, int] | None = None

    def price(self, split):
        """What a test costs beside its loss."""
        if self.freed is None:
            return self.strength * np.abs(split.weights).sum()
        if len(split.indices):
            return self.strength * (len(split.indices) + 2)
        return -self.strength * self.freed[1 if split.threshold >= 0 else 0]

    def loss(self, goes_left):
        """Weight of the rows that a decision for each sends to the wrong side (0/1 loss)."""
        return float(self.weight[goes_left == self.goes_right].sum())


@dataclass(frozen=True)
class Status:
    """How a solver ended.

    Parameters
    ----------
    converged : bool
        Whether it reached the accuracy that it promises.
    gap : float
        Upper bound of (objective - least objective) / objective; NaN if the solver has none.
    steps : int, 0 where nothing had to be done
    """

    converged: bool = True
    gap: float = 0.0
    steps: int = 0


class BoundSolver(Protocol):
    """A node solver that holds the data of one fit in the form it works on."""

    def solve(self, problem: NodeProblem) -> tuple[Split, Status]:
        """Solve one node. Both classes are present: the caller sees to that.

        A solver bounds the norm of w on separable rows where the strength is 0 or nearly so.
        """


@runtime_checkable
class NodeSolver(Protocol):
    """Settings of a solver of the surrogate problem at a decision node (eq. 9).

    `supports_weights`: instance weights other than whole numbers. `supports_sparse`: CSR
    input. `deterministic`: same call, same result. `split`: the kind of its tests, "oblique" or
    "axis". `is_exact`: it minimises the 0/1 loss plus the strength a test, so that an update of a
    node can be judged by them. `can_expand`: its bound solver has `expand`, as Axis's has.
    """

    supports_weights: bool
    supports_sparse: bool
    deterministic: bool
    split: str = "oblique"
    is_exact: bool = False
    can_expand: bool = False

    def bind(self, X: Any) -> BoundSolver:
        """Convert X to the solver's own form, once a fit."""


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

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.solvers import Newton, check_supported
    >>> from tao_cluster.penalties import ZeroOne
    >>> check_supported(Newton(), np.zeros((2, 3)), np.ones(2), ZeroOne())
    """
    name = name_of(solver)
    if issparse(X) and not solver.supports_sparse:
        raise ValueError(f"{name} takes no sparse X; use node_solver='liblinear'.")
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
