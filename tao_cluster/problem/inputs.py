"""The arguments of `fit`: checked once, and merged into distinct rows with a weight."""

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, _get_feature_names

from .._utils.frames import check_container, column_names
from .._utils.matrices import check_kind, check_rows, rows_of, stored_by_rows
from ..objectives.labels import encode
from ..reference import nearest_center
from .repeats import distinct_rows

# Of all rows together: costs are weights times squares, and must not overflow.
LARGEST_WEIGHT = 1e100

# Of a row that counts: sums of what is smaller lose their digits, or are 0.
LEAST_WEIGHT = 1e-200


def check_names(X, what="X"):
    """Check that X is a table whose column names can be stored at the end of a fit.

    Raises
    ------
    ValueError
        If X is no table, or two columns have the same name.
    TypeError
        If some names are strings and others are not.
    """
    check_container(X, what)
    names = column_names(X) or ()
    duplicate = next((name for name, count in Counter(names).items() if count > 1), None)
    if duplicate is not None:
        raise ValueError(
            f"{what} has several columns of the name {duplicate!r}; rename all but one."
        )
    _get_feature_names(X)


def check_embedding(embedding, n_rows=None):
    """Check an embedding: as many rows as X, and what ``check_rows`` asks of rows.

    Raises
    ------
    ValueError
        If there is another number of rows, or values are not finite.
    """
    check_names(embedding, "embedding")
    rows = check_rows(embedding, "embedding")
    if n_rows is not None and rows.shape[0] != n_rows:
        raise ValueError(f"embedding has {rows.shape[0]} rows, X has {n_rows}.")
    return rows


def check_sample_weight(sample_weight, X, least=LEAST_WEIGHT):
    """Weights of some rows: float64 array of shape (n,), at least 0; ones by default.

    `least` is what positive ones may not be below.

    Raises
    ------
    ValueError
        If some are negative, not finite, or positive but next to nothing.
    """
    check_kind(sample_weight, "sample_weight")
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    check_least_weight(weight, least)
    return weight


def check_least_weight(weight, least=LEAST_WEIGHT):
    """ValueError if sums of some positive weights would lose their digits."""
    if weight.min(initial=1.0, where=weight > 0) < least:
        raise ValueError(
            f"sample_weight has positive entries below {least:g}, whose sums underflow; "
            "rescale the weights, or set these to 0."
        )


def label_column(y, n_rows, classes=None):
    """Numbers of labels as a column; see :func:`.objectives.labels.encode`.

    Returns
    -------
    float64 array of shape (n_rows, 1), -1 without a label
    array of shape (k,), the labels that there are, or the given ones

    Raises
    ------
    ValueError
        If y is missing or has another number of rows.
    """
    check_kind(y, "y", "strings", has_strings=True)
    if y is None:
        raise ValueError('objective="labels" explains labels: give them as y, one a row.')
    codes, classes = encode(y, classes)
    if len(codes) != n_rows:
        raise ValueError(f"y has {len(codes)} labels, X has {n_rows} rows.")
    return codes[:, None].astype(np.float64), classes


def fitting_weight(sample_weight, X):
    """Weights of the rows of a fit, of which some are positive."""
    weight = check_sample_weight(sample_weight, X)
    if not weight.any():
        raise ValueError("sample_weight must have at least one positive entry.")
    if not weight.sum() < LARGEST_WEIGHT:
        raise ValueError(f"sample_weight must sum to less than {LARGEST_WEIGHT:g}.")
    return weight


@dataclass(frozen=True, eq=False)
class Inputs:
    """What `fit` was given, checked.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    space : array or CSR matrix of shape (n, m), the embedding, or X, the same object
    weight : float64 array of shape (n,)
    present : bool array of shape (n,), the rows of positive weight
    n_clusters : int
    has_embedding : bool, whether one was given
    classes : array of shape (n_clusters,), optional
        The labels that are to be explained; then the space is the column of their numbers.
    """

    X: Any
    space: Any
    weight: np.ndarray
    present: np.ndarray
    n_clusters: int
    has_embedding: bool = False
    classes: np.ndarray | None = None

    @classmethod
    def of(cls, X, sample_weight, embedding, n_clusters, estimator):
        """Check the arguments of a fit.

        Raises
        ------
        ValueError
            If the data have NaN or infinite values or fewer rows than clusters, or the weights
            are negative, all zero or too large.
        """
        X, weight = _rows_and_weight(X, sample_weight, estimator)
        space = X
        if embedding is not None:
            space = stored_by_rows(check_embedding(embedding, X.shape[0]))
        present = weight > 0
        if present.sum() < n_clusters:
            raise ValueError(
                f"n_samples={present.sum()} should be >= n_clusters={n_clusters}"
                f"{'' if present.all() else ' (rows of weight 0 are not counted)'}."
            )
        return cls(X, space, weight, present, n_clusters, embedding is not None)

    @classmethod
    def of_labels(cls, X, y, sample_weight, estimator):
        """Check the arguments of a fit to labels; rows without a label count as absent.

        Raises
        ------
        ValueError
            As `of`, or if y is missing, has another number of rows or no label at all.
        """
        X, weight = _rows_and_weight(X, sample_weight, estimator)
        column, classes = label_column(y, X.shape[0])
        present = (weight > 0) & (column[:, 0] >= 0)
        if not present.any():
            raise ValueError("y has no labels: every row of positive weight is noise.")
        used = np.unique(column[present, 0].astype(np.intp))
        if len(used) < len(classes):  # others are of rows of weight 0
            column, classes = label_column(y, X.shape[0], classes[used])
        return cls(X, column, weight, present, len(classes), classes=classes)

    def merge(self, n_jobs, in_spreads=False):
        """The distinct rows of positive weight; those given where they are all that.

        With `in_spreads`, in an order that is the same in all units of the columns of X.
        """
        X, space, weight = self.X, self.space, self.weight
        if not self.present.all():
            X, space = rows_of(X, space, self.present)
            weight = weight[self.present]
        rows, weight, group = distinct_rows(X, space, weight, n_jobs, in_spreads)
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
        order of :func:`tao_cluster.problem.repeats.distinct_rows`.
    weight : float64 array, positive
    row_of_input : int array of shape (n,), -1 for weight 0; None if they are the same rows
    """

    X: Any
    space: Any
    weight: np.ndarray
    row_of_input: np.ndarray | None

    def held_out(self, validation, n_clusters, random_state):
        """The distinct rows on which a choice between trees is made.

        Parameters
        ----------
        validation : None, float or array
            A share of the distinct rows, drawn at random; or rows of the input, by number or as
            a mask: all that are equal to one of them are held out.
        n_clusters : int
        random_state : int, RandomState instance or None

        Returns
        -------
        bool array, or None

        Raises
        ------
        ValueError
            If no row would be held out, or fewer left than clusters.
        """
        if validation is None:
            return None
        n_rows = len(self.weight)
        mask = np.zeros(n_rows, dtype=bool)
        if isinstance(validation, Real):
            n_held_out = round(validation * n_rows)
            rng = check_random_state(random_state)
            mask[rng.choice(n_rows, n_held_out, replace=False)] = True
        else:
            n_input = n_rows if self.row_of_input is None else len(self.row_of_input)
            rows = _row_numbers(validation, n_input)
            rows = rows if self.row_of_input is None else self.row_of_input[rows]
            mask[rows[rows >= 0]] = True
        if not mask.any() or n_rows - mask.sum() < n_clusters:
            raise ValueError(
                f"validation holds out {mask.sum()} of {n_rows} distinct rows; some must be held "
                f"out and at least {n_clusters} be left, one a cluster."
            )
        return mask

    def of_input(self, values):
        """Values of the rows of the input, from those of the distinct rows: any for absent rows."""
        return values if self.row_of_input is None else values[self.row_of_input]


def _rows_and_weight(X, sample_weight, estimator):
    X = stored_by_rows(check_rows(X, estimator=estimator))
    return X, fitting_weight(sample_weight, X)


def _row_numbers(rows, n_rows):
    """Numbers of rows, of numbers or a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    is_number = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not is_number or not np.all((rows >= -n_rows) & (rows < n_rows)):
        raise ValueError(
            f"validation must be a share, numbers of rows in 0..{n_rows - 1}, or a mask of "
            f"{n_rows} truth values."
        )
    return rows % n_rows


def free_labels_of(problem, rows):
    """Nearest free centre of some further rows; -1 for all if the objective refuses them.

    Labels are what they are, -1 where the tree explains none such.
    """
    if problem.objective.explains_labels:
        labels = rows[:, 0].astype(np.intp)
        return np.where(labels < problem.n_clusters, labels, -1)
    try:
        data = problem.objective.prepare(rows)
    except ValueError:
        return -1
    return nearest_center(problem.objective, data, problem.free.centers)
