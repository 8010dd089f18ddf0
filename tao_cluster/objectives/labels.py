"""The objective of given labels: the weight of the rows that a tree misassigns."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas
from sklearn.utils._param_validation import StrOptions

from .._utils.frames import columns_of
from .._utils.matrices import check_kind
from .._utils.options import Part
from .base import Objective
from .kmeans import KMeans

_LABELS = (bool, int, float, str, np.bool_, np.integer, np.floating)
_AS_LIST = ("to_pylist", "to_list", "tolist")  # of Arrow; of Series; of arrays of pandas
_OBJECTS = "OT"  # kinds of arrays of Python objects, and of strings of any length


@dataclass(frozen=True)
class Labels(Part, Objective):
    """Disagreement with given labels: ``fit(X, y)``.

    d(x_n, k) is 0 if y_n is the k-th label, and 1 otherwise; it is 0 for rows without a label
    (noise). The cost is the weight of the rows that the tree assigns to another cluster than
    theirs. The k-th centre is the number k. Tree Alternating Optimization was designed for this
    loss (Carreira-Perpinan & Tavallali, NeurIPS 2018).

    Parameters
    ----------
    noise : {"leave", "explain"}, default="leave"
        What the label -1 means, with which DBSCAN and HDBSCAN mark noise. "leave": the row has no
        label, and the fit leaves it out. "explain": noise is a class of its own, which is shown as
        "noise", and `predict` returns -1 for it. None and NaN always mark rows without a label.
        The fitted attribute `n_noise_` is the number of rows left out because of the label -1.

    Examples
    --------
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.objectives import Labels
    >>> X, y = [[0.0], [1.0], [5.0], [6.0], [90.0], [95.0]], [0, 0, 1, 1, -1, -1]
    >>> TAOClustering(objective=Labels(noise="explain")).fit(X, y).predict([[99.0]]).tolist()
    [-1]
    """

    noise: str = "leave"
    _constraints: ClassVar[dict] = {"noise": [StrOptions({"leave", "explain"})]}
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


def encode(y, classes=None, name="y", has_noise=False):
    """Return labels as numbers: the position of each label among the distinct labels.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: booleans, integers, floats or strings, in any container. -1 and missing values of
        any kind (None, NaN, NA, null) mark rows without a label.
    classes : array of shape (k,), optional
        Known labels; other labels get the code k. The default is the sorted labels of y.
    name : str
        Name of the labels in error messages.
    has_noise : bool, default=False
        Whether -1 is a label as well. It also is if it is one of `classes`.

    Returns
    -------
    codes : int array of shape (n,), -1 for rows without a label
    classes : array of shape (k,)

    Raises
    ------
    ValueError
        If y is not one-dimensional, has labels of another type, or mixes strings with other
        labels.

    Examples
    --------
    >>> from tao_cluster.objectives import encode
    >>> codes, classes = encode(["b", None, "a"])
    >>> codes.tolist(), classes.tolist()
    ([1, -1, 0], ['a', 'b'])
    """
    check_kind(y, name, "strings", has_strings=True)
    y = _column(y, name)
    is_known, is_noise = _known(y)
    has_noise |= classes is not None and classes.dtype.kind in "if" and bool((classes == -1).any())
    if not has_noise:
        is_known &= ~is_noise
    known = _plain(y[is_known], name)
    if classes is None:
        classes = np.unique(known)
    elif len(known) and len(classes) and (known.dtype.kind == "U") != (classes.dtype.kind == "U"):
        raise ValueError(f"{name} has labels of another type than the labels of the fit.")
    codes = np.full(len(y), -1)
    place = np.minimum(np.searchsorted(classes, known), max(len(classes) - 1, 0))
    is_found = classes[place] == known if len(classes) else np.zeros(len(known), dtype=bool)
    codes[is_known] = np.where(is_found, place, len(classes))
    return codes, classes


def noise_rows(y):
    """Return where labels are -1, which can mean noise: bool array of shape (n,)."""
    return _known(_column(y, "y"))[1]


def _known(y):
    """Return where an array of labels has labels, -1 included, and where these are -1."""
    # pandas before 3 cannot look for missing values in records, which raise later
    is_known = np.full(len(y), True) if y.dtype.kind == "V" else ~pandas.isna(y)
    is_noise = np.zeros(len(y), bool)
    if y.dtype.kind in "iufO":
        is_noise[is_known] = y[is_known] == -1
    return is_known, is_noise


def _column(y, name):
    """Return labels as a one-dimensional array, of Python objects if y has no dtype of numpy."""
    columns = columns_of(y)
    if columns is not None:
        columns = list(columns)
        y = columns[0] if len(columns) == 1 else y
    if isinstance(getattr(y, "dtype", None), np.dtype):
        values = np.asarray(y)
    else:  # a conversion by numpy would turn integers with missing values to floats
        as_list = next((how for how in _AS_LIST if hasattr(y, how)), None)
        values = np.array(y if as_list is None else getattr(y, as_list)(), dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have one label per row, got data of shape {values.shape}; join several "
            "columns, or the parts of tuples, to one string per row."
        )
    return values


def _plain(known, name):
    """Return labels as an array of bool, integers, floats or strings; big integers stay objects."""
    if known.dtype.kind in _OBJECTS:
        types = set(map(type, known.tolist()))
        others = [each for each in types if not issubclass(each, _LABELS)]
        if others:
            raise ValueError(
                f"{name} has labels of type {others[0].__name__}; convert them to strings, for "
                "example with y.astype(str) or [str(label) for label in y]."
            )
        if len({issubclass(each, str) for each in types}) > 1:
            raise ValueError(
                f"{name} has labels that mix strings with other values; convert all of them to "
                "strings, for example with [str(label) for label in y]."
            )
        known = np.array(known.tolist())
    is_long = known.dtype.kind == "f" and known.dtype.itemsize > 8
    if is_long or known.dtype.kind not in "biufUO":
        raise ValueError(
            f"{name} has labels of type {known.dtype}; convert them, for example with y.astype("
            f"{'float' if is_long else 'str'})."
        )
    return known
