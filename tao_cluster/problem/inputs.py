"""The arguments of `fit`: checked once, and merged into distinct rows with a weight."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from ..core.matrices import check_rows, rows_of
from ..core.repeats import distinct_rows
from .reference import nearest_center

# Of all rows together: costs are weights times squares, and must not overflow.
_LARGEST_WEIGHT = 1e100


def check_embedding(embedding, n_rows=None):
    """The rows of an embedding, as many as X has; see :func:`tao_cluster.core.matrices.check_rows`.

    Raises
    ------
    ValueError
        If there is another number of rows, or values are not finite.
    """
    rows = check_rows(embedding, "embedding")
    if n_rows is not None and rows.shape[0] != n_rows:
        raise ValueError(f"embedding has {rows.shape[0]} rows, X has {n_rows}.")
    return rows


def check_sample_weight(sample_weight, X):
    """Weights of some rows: float64 array of shape (n,), at least 0; ones by default."""
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What `fit` was given, checked.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    space : array or CSR matrix of shape (n, m), the embedding, or X, the same object
    weight : float64 array of shape (n,)
    present : bool array of shape (n,), the rows of positive weight
    has_embedding : bool, whether one was given
    """

    X: Any
    space: Any
    weight: np.ndarray
    present: np.ndarray
    has_embedding: bool

    @classmethod
    def of(cls, X, sample_weight, embedding, n_clusters, estimator):
        """Check the arguments of a fit.

        Raises
        ------
        ValueError
            If the data have NaN or infinite values or fewer rows than clusters, or the weights
            are negative, all zero or too large.
        """
        X = check_rows(X, "X", estimator)
        space = X if embedding is None else check_embedding(embedding, X.shape[0])
        weight = check_sample_weight(sample_weight, X)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry.")
        if not weight.sum() < _LARGEST_WEIGHT:
            raise ValueError(f"sample_weight must sum to less than {_LARGEST_WEIGHT:g}.")
        present = weight > 0
        if present.sum() < n_clusters:
            raise ValueError(
                f"n_samples={present.sum()} should be >= n_clusters={n_clusters}"
                f"{'' if present.all() else ' (rows of weight 0 are not counted)'}."
            )
        return cls(X, space, weight, present, embedding is not None)

    def merge(self, n_jobs):
        """The distinct rows of positive weight; those given where they are all that."""
        X, space, weight = self.X, self.space, self.weight
        if not self.present.all():
            X, space = rows_of(X, space, self.present)
            weight = weight[self.present]
        rows, weight, group = distinct_rows(X, space, weight, n_jobs)
        if rows is not None:
            X, space = rows_of(X, space, rows)
        row_of_input = None
        if X is not self.X:
            row_of_input = np.full(len(self.present), -1)
            row_of_input[self.present] = np.arange(len(weight)) if group is None else group
        return MergedRows(X, space, weight, row_of_input)


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows, the weight of each, and which of them stands for each row of the input.

    Parameters
    ----------
    X, space : arrays or CSR matrices
        Where some rows of the input are equal or weigh other than 1, each is there once, in the
        order of :func:`tao_cluster.core.repeats.distinct_rows`.
    weight : float64 array, positive
    row_of_input : int array of shape (n,), -1 for weight 0; None if they are the same rows
    """

    X: Any
    space: Any
    weight: np.ndarray
    row_of_input: np.ndarray | None

    def expand(self, values, absent, of_absent):
        """Values of the rows of the input, from those of the distinct rows.

        Parameters
        ----------
        values : array, one a distinct row
        absent : int array, rows of the input of weight 0
        of_absent : callable(absent) -> values of these
        """
        if self.row_of_input is None:
            return values
        expanded = values[self.row_of_input]
        if len(absent):
            expanded[absent] = of_absent(absent)
        return expanded


def free_labels_of(problem, rows):
    """Nearest free centre of some further rows; -1 for all if the objective refuses them."""
    try:
        data = problem.objective.prepare(rows)
    except ValueError:
        return -1
    return nearest_center(problem.objective, data, problem.free.centers)
