"""Checks of the arguments of `fit`, and the merging of equal rows into one weighted row."""

from collections import Counter
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import _get_feature_names

from .._utils.frames import check_container, column_names
from .._utils.matrices import check_rows, check_weights, rows_of, stored_by_rows
from ..objectives.labels import encode, noise_rows
from ..reference import nearest_center
from .repeats import distinct_rows

# Upper bound of the sum of all sample weights. Costs are weights times squares of values, which
# must not overflow.
LARGEST_WEIGHT = 1e100

# Lower bound of a positive sample weight. Sums of smaller weights lose digits or underflow to 0.
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


def check_embedding(embedding):
    """Return an embedding as an array or CSR matrix of finite floats.

    Raises
    ------
    ValueError
        If the embedding is not a table, or has values that are not finite numbers.
    """
    first = embedding[:1] if isinstance(embedding, list | tuple) else embedding
    shape = getattr(first, "shape", np.shape(first) if first is not embedding else ())
    if len(shape) == 1:
        raise ValueError(
            f"embedding is one-dimensional, with {len(embedding)} entries; it must be a table of "
            "coordinates. If these are labels, use TAOClustering(objective='labels') and "
            "fit(X, labels)."
        )
    check_names(embedding, "embedding")
    return check_rows(embedding, "embedding")


def check_sample_weight(sample_weight, X, least=LEAST_WEIGHT):
    """Return the sample weights of the rows of X as a float64 array of shape (n,); ones for None.

    Raises
    ------
    ValueError
        If a weight is negative or not finite, or if a positive weight is below `least`.
    """
    weight = check_weights(sample_weight, X)
    check_least_weight(weight, least)
    return weight


def check_least_weight(weight, least=LEAST_WEIGHT):
    """Raise a ValueError if a positive weight is so small that sums of weights lose digits."""
    if weight.min(initial=1.0, where=weight > 0) < least:
        raise ValueError(
            f"sample_weight has positive entries below {least:g}, whose sums underflow; "
            "rescale the weights, or set these to 0."
        )


def label_column(y, classes=None, has_noise=False):
    """Encode labels as a column of numbers, and return it with the distinct labels.

    Returns
    -------
    column : float64 array of shape (n, 1)
        The position of each label in `classes`, -1 for rows without a label.
    classes : array of shape (k,)
        The distinct labels, or the given classes.

    Raises
    ------
    ValueError
        If y is None, or has labels of another type than the given classes.
    """
    if y is None:
        raise ValueError('objective="labels" explains labels: give them as y, one per row.')
    codes, classes = encode(y, classes, has_noise=has_noise)
    return codes[:, None].astype(np.float64), classes


def fitting_weight(sample_weight, X):
    """Return the checked weights of the rows of a fit: float64 array of shape (n,).

    At least one weight must be positive, and their sum must be less than 1e100.
    """
    weight = check_sample_weight(sample_weight, X)
    if not weight.any():
        raise ValueError("sample_weight must have at least one positive entry.")
    if not weight.sum() < LARGEST_WEIGHT:
        raise ValueError(f"sample_weight must sum to less than {LARGEST_WEIGHT:g}.")
    return weight


@dataclass(frozen=True, eq=False)
class Inputs:
    """The checked arguments of `fit`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows that the tree tests.
    space : array or CSR matrix of shape (n, m)
        The rows in the clustering space: the embedding, the column of encoded labels, or the same
        object as X.
    weight : float64 array of shape (n,)
    present : bool array of shape (n,)
        Whether a row takes part in the fit: it has a positive weight and, if the tree explains
        given labels, a label.
    n_clusters : int
    has_embedding : bool
    classes : array of shape (n_clusters,), optional
        The labels to explain. `space` is then a column with the number of each row's label.
    embedder : fitted transformer, optional
        It computes the embedding from X if the parameter `reference` is a pipeline.
    n_noise : int
        Number of rows of positive weight that are left out because their label is -1.
    """

    X: Any
    space: Any
    weight: np.ndarray
    present: np.ndarray
    n_clusters: int
    has_embedding: bool = False
    classes: np.ndarray | None = None
    embedder: Any = None
    n_noise: int = 0

    @classmethod
    def from_arguments(cls, X, sample_weight, embedding, n_clusters, estimator):
        """Check the arguments of a fit, and return them as Inputs.

        Raises
        ------
        ValueError
            If values are not finite numbers, if there are fewer rows than clusters, or if the
            weights are negative, all zero or too large.
        """
        X, weight = _rows_and_weight(X, sample_weight, estimator)
        space = X
        if embedding is not None:
            space = stored_by_rows(check_embedding(embedding))
        present = weight > 0
        if present.sum() < n_clusters:
            raise ValueError(
                f"n_samples={present.sum()} should be >= n_clusters={n_clusters}"
                f"{'' if present.all() else ' (rows of weight 0 are not counted)'}."
            )
        return cls(X, space, weight, present, n_clusters, embedding is not None)

    @classmethod
    def from_labels(cls, X, y, sample_weight, estimator, has_noise=False):
        """Check the arguments of a fit that explains given labels; unlabelled rows are left out.

        With `has_noise`, -1 is a label as well; see :func:`.labels.encode`.

        Raises
        ------
        ValueError
            As `from_arguments`; also if y is None or has no labels.
        """
        X, weight = _rows_and_weight(X, sample_weight, estimator)
        column, classes = label_column(y, has_noise=has_noise)
        present = (weight > 0) & (column[:, 0] >= 0)
        if not present.any():
            raise ValueError("y has no labels: every row of positive weight is noise.")
        used = np.unique(column[present, 0].astype(np.intp))
        if len(used) < len(classes):  # some labels occur only in rows of weight 0
            column, classes = label_column(y, classes[used])
        n_noise = 0 if has_noise else int(noise_rows(y)[weight > 0].sum())
        return cls(X, column, weight, present, len(classes), classes=classes, n_noise=n_noise)

    def merge(self, unit_free=False):
        """Return the distinct rows of positive weight, with summed weights, as MergedRows.

        With `unit_free`, the order of the rows does not depend on the units of the columns of X.
        """
        X, space, weight = self.X, self.space, self.weight
        present = np.flatnonzero(self.present)
        if len(present) < len(weight):
            X, space = rows_of(X, space, present)
            weight = weight[present]
        rows, weight, group = distinct_rows(X, space, weight, unit_free)
        row_of_input = np.full(len(self.present), -1)
        row_of_input[present] = group
        return MergedRows(*rows_of(X, space, rows), weight, row_of_input)


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows, their weights, and the map from the rows of the input to them.

    Parameters
    ----------
    X, space : arrays or CSR matrices with m rows
        Each distinct row of the input occurs once, in an order that depends only on the values; see
        :func:`tao_cluster.problem.repeats.distinct_rows`.
    weight : float64 array of shape (m,), positive
        The total weight of the rows of the input that are equal to each distinct row.
    row_of_input : int array of shape (n,)
        Number of the distinct row that equals each row of the input. It is -1 for rows that do not
        take part in the fit.
    """

    X: Any
    space: Any
    weight: np.ndarray
    row_of_input: np.ndarray

    @property
    def counts(self):
        """Number of rows of the input that are equal to each distinct row: int array (m,)."""
        present = self.row_of_input[self.row_of_input >= 0]
        return np.bincount(present, minlength=len(self.weight))

    def held_out(self, validation, n_clusters, random_state):
        """Return, per distinct row, whether it is held out to choose between trees.

        Parameters
        ----------
        validation : None, float or array
            A share of the distinct rows, which are drawn at random; or rows of the input, as row
            numbers or as a mask. All rows that are equal to one of these are held out, too.
        n_clusters : int
        random_state : int, RandomState instance or None

        Returns
        -------
        bool array of shape (m,), or None if `validation` is None

        Raises
        ------
        ValueError
            If no row would be held out, or if fewer rows than clusters would remain.
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
            rows = self.row_of_input[_row_numbers(validation, len(self.row_of_input))]
            mask[rows[rows >= 0]] = True
        if not mask.any() or n_rows - mask.sum() < n_clusters:
            raise ValueError(
                f"validation holds out {mask.sum()} of {n_rows} distinct rows; it must hold out "
                f"at least one and leave at least {n_clusters}, one per cluster."
            )
        return mask

    def expand(self, values):
        """Return values per row of the input from values per distinct row.

        Rows that did not take part in the fit (of weight 0 or without a label) get an arbitrary
        value.
        """
        return values[self.row_of_input]


def _rows_and_weight(X, sample_weight, estimator):
    X = stored_by_rows(check_rows(X, estimator=estimator))
    return X, fitting_weight(sample_weight, X)


def _row_numbers(rows, n_rows):
    """Convert row numbers (possibly negative) or a bool mask to row numbers of at least 0."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    is_number = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not is_number or not np.all((rows >= -n_rows) & (rows < n_rows)):
        raise ValueError(
            f"validation must be a share, row numbers in 0..{n_rows - 1}, or a mask of "
            f"{n_rows} booleans."
        )
    return rows % n_rows


def free_labels_of(problem, rows):
    """Return the nearest free centre of rows that did not take part in the fit.

    The result is -1 if the objective does not support the rows. If labels are explained, it is
    the encoded label of each row, or -1 for labels that the tree does not know.
    """
    if problem.objective.explains_labels:
        labels = rows[:, 0].astype(np.intp)
        return np.where(labels < problem.n_clusters, labels, -1)
    try:
        data = problem.objective.prepare(rows)
    except ValueError:
        return -1
    return nearest_center(problem.objective, data, problem.free.centers)
