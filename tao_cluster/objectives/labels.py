"""The objective of given labels: the weight of the rows that a tree misassigns."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas

from .base import Objective
from .kmeans import KMeans


@dataclass(frozen=True)
class Labels(Objective):
    """Disagreement with given labels: ``fit(X, y)``.

    d(x_n, k) is 0 if y_n is the k-th label, and 1 otherwise; it is 0 for rows without a label
    (noise). The cost is the weight of the rows that the tree assigns to another cluster than
    theirs. The k-th centre is the number k. Tree Alternating Optimization was designed for this
    loss (Carreira-Perpinan & Tavallali, NeurIPS 2018).
    """

    explains_labels: ClassVar[bool] = True
    geometry: ClassVar[KMeans] = KMeans()

    def reference(self, n_clusters, random_state):
        """Return the centres: array of shape (n_clusters, 1)."""
        return np.arange(float(n_clusters))[:, None]

    def prepare(self, X) -> Any:
        """Return the only column of X, the encoded labels, as integers; -1 marks no label."""
        return X[:, 0].astype(np.intp)

    def distances(self, data, centers):
        """Return 1 where a row has another label than the cluster, else 0: array of shape (n, k).

        Rows without a label get 0 for all clusters.
        """
        others = data[:, None] != np.arange(len(centers))
        others[data < 0] = False
        return others.astype(np.float64)

    def update_centers(self, data, labels, weight, centers):
        """Return the centres unchanged: each one is the number of a label."""
        return centers

    def value(self, data, labels, weight, centers):
        """Return the weight of the labelled rows whose cluster differs from their label."""
        return float(weight[(data >= 0) & (data != labels)].sum())


def encode(y, classes=None):
    """Return labels as numbers: the position of each label among the distinct labels.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of any type that can be ordered: numbers, strings, booleans. -1, None and NaN mark
        rows without a label.
    classes : array of shape (k,), optional
        Known labels; other labels get the code k. The default is the sorted labels of y.

    Returns
    -------
    codes : int array of shape (n,), -1 for rows without a label
    classes : array of shape (k,)

    Raises
    ------
    ValueError
        If y is not one-dimensional, or its labels cannot be compared with each other.

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
            "The labels y mix strings with other values, or have another type than the labels of "
            "the fit."
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
            f"Labels must be numbers or strings, which can be compared with each other; {error}."
        ) from error


def _column(y):
    """Return labels as a one-dimensional array; lists become arrays of Python objects."""
    y = np.asarray(y) if hasattr(y, "dtype") else np.array(y, dtype=object)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y must have one label per row, got data of shape {y.shape}.")
    return y
