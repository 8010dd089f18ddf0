"""The objective of given labels: the weight of the rows that a tree puts elsewhere."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas

from .base import Objective
from .kmeans import KMeans


@dataclass(frozen=True)
class Labels(Objective):
    """Disagreement with labels that are given: ``fit(X, y)``.

    d(x_n, k) is 1 if y_n is another label than the k-th, and 0 for rows that have none (noise),
    so that the cost is the weight of the rows that the tree puts into a cluster that is not
    theirs. There are no centres to look for: the k-th is the number k. This is what Tree
    Alternating Optimization was made for (Carreira-Perpinan & Tavallali, NeurIPS 2018).
    """

    explains_labels: ClassVar[bool] = True
    geometry: ClassVar[KMeans] = KMeans()

    def reference(self, n_clusters, random_state):
        """The centres themselves: array of shape (n_clusters, 1)."""
        return np.arange(float(n_clusters))[:, None]

    def prepare(self, X) -> Any:
        """Numbers of the labels, from a column of them; below 0 for rows that have none."""
        return X[:, 0].astype(np.intp)

    def distances(self, data, centers):
        """1 for another label, 0 for the row's own: float64 array of shape (n, k)."""
        others = data[:, None] != np.arange(len(centers))
        others[data < 0] = False
        return others.astype(np.float64)

    def update_centers(self, data, labels, weight, centers):
        """The centres as they are."""
        return centers

    def value(self, data, labels, weight, centers):
        """Weight of the rows whose cluster is not their label."""
        return float(weight[(data >= 0) & (data != labels)].sum())


def encode(y, classes=None):
    """Labels as numbers.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any kind that can be ordered: numbers, strings, truth values. -1, None and NaN
        mark rows without one.
    classes : array of shape (k,), optional
        The labels that there are; others become k. Default: those of y, sorted.

    Returns
    -------
    codes : int array of shape (n,), -1 for rows without a label
    classes : array of shape (k,)

    Raises
    ------
    ValueError
        If y is no column, or its labels cannot be compared with each other.

    Examples
    --------
    >>> from tao_cluster.objectives import encode
    >>> codes, classes = encode(["b", None, "a"])
    >>> codes.tolist(), classes.tolist()
    ([1, -1, 0], ['a', 'b'])
    """
    y = _column(y)
    is_known = ~pandas.isna(y)
    if y.dtype.kind in "iufO":
        is_known[is_known] = y[is_known] != -1
    known = y[is_known]
    is_text = {isinstance(value, str) for value in known} if known.dtype == object else set()
    if classes is not None and len(classes) and len(known):
        is_text |= {isinstance(classes[0], str), isinstance(known[0], str)}
    if len(is_text) > 1:
        raise ValueError(
            "The labels y have values of several kinds, texts and others, or other kinds than "
            "those of the fit."
        )
    if known.dtype == object:
        known = np.array(known.tolist())
    if classes is None:
        classes = _sorted(known)
    place = pandas.Index(classes).get_indexer(known)
    codes = np.full(len(y), -1)
    codes[is_known] = np.where(place < 0, len(classes), place)
    return codes, classes


def _sorted(known):
    try:
        return np.unique(known)
    except TypeError as error:
        raise ValueError(
            f"Labels must be numbers or texts, which can be compared with each other; {error}."
        ) from error


def _column(y):
    """Labels as an array of one dimension; lists keep their values as they are."""
    y = np.asarray(y) if hasattr(y, "dtype") else np.array(y, dtype=object)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must be one label a row, got data of shape {y.shape}.")
    return y
