"""`cluster_table`: the mean of each column per cluster."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import infer_dtype, is_numeric_dtype

from .._utils.frames import display_names
from .._utils.matrices import check_rows
from ..columns.names import check_feature_names, printable_names
from ..columns.steps import UnsupportedStepError, split_text_steps
from ..columns.view import RawView, flat_steps, numbers_of, shown, transformed
from ..objectives.base import cluster_sums
from ..problem.inputs import check_sample_weight
from ..report import cluster_names
from ..tree import tree_of

_CATEGORIES = {"string", "boolean", "categorical"}  # columns with one mean per category
_MOST_CATEGORIES = 100


def cluster_table(model, X, *, feature_names=None, sample_weight=None):
    """Return the mean of each column per cluster, beside the mean over all rows.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    X : array-like, sparse matrix or DataFrame of shape (n, n_features)
        Rows, which the tree assigns to clusters; raw rows for a pipeline.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
        Weights of the rows: means are weighted.

    Returns
    -------
    pandas DataFrame
        One line per cluster and the line "all". The column "rows" is the number of rows;
        with weights, "weight" is their sum. The other columns are means in the units of X, also
        for pipelines and ``standardize=True``. The mean of a category, such as "plan is gold",
        is the share of the rows that have it. The means of a cluster without rows are NaN.

        Steps of a pipeline that cannot be expressed in raw columns, such as PCA, do not matter
        here, since the table does not show any test. In this case the means leave out missing
        values. Columns of strings have one mean per category; columns with more than 100
        different strings, and columns of other objects, are left out.

    Raises
    ------
    ValueError
        If X has other columns than the model, or if the weights are negative or all zero.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import cluster_table
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> cluster_table(tree, [[1, 5], [7, 4], [9, 0]], feature_names=["width", "height"])
               rows     width  height
    cluster 0     1  1.000000     5.0
    cluster 1     2  8.000000     2.0
    all           3  5.666667     3.0
    """
    rows, names, tested, model = _columns(model, X, feature_names)
    tree, labels = tree_of(model), cluster_names(model)
    cluster = tree.leaf_label[model.apply(tested)]
    weight = check_sample_weight(sample_weight, rows)
    counts, total = (
        np.bincount(cluster, each, len(labels)) for each in (np.ones(len(cluster)), weight)
    )
    sums, sizes = cluster_sums(rows, cluster, weight, len(labels)), total[:, None]
    is_missing = np.isnan(rows.data if sp.issparse(rows) else rows)
    if is_missing.any():
        sums = cluster_sums(np.where(is_missing, 0.0, rows), cluster, weight, len(labels))
        sizes = cluster_sums((~is_missing).astype(np.float64), cluster, weight, len(labels))
    sums, sizes, counts, total = map(_with_sum, (sums, sizes, counts.astype(int), total))
    means = sums / np.where(sizes > 0, sizes, np.nan)
    columns = {"rows": counts} if sample_weight is None else {"rows": counts, "weight": total}
    index = [*labels, "all"]
    table = pd.DataFrame(means, index=index, columns=list(map(str, names)))
    return pd.concat([pd.DataFrame(columns, index=index), table], axis=1)


def _with_sum(values):
    """Return an array with one more row at its end: the sum of the other rows."""
    return np.concatenate([values, values.sum(axis=0, keepdims=True)])


def _columns(model, X, feature_names):
    """Return what :func:`cluster_table` needs: (numbers, names, tested, model).

    `numbers` is a matrix of the columns whose means are shown, and `names` are their names.
    `tested` are the rows as `model` takes them. If a pipeline is given, the returned `model` is
    its last step.
    """
    try:
        view, names = shown(model, feature_names, X)
    except UnsupportedStepError:
        *steps, (_, last) = flat_steps(model)
        n_text = len(split_text_steps(steps)[0])
        rows = transformed(steps[:n_text], X)
        names = steps[0][1].get_feature_names_out() if n_text else feature_names
        return *_raw_columns(rows, names), transformed(steps, X), last
    rows = check_rows(numbers_of(view, X))
    if isinstance(view, RawView):
        return rows, names, transformed(flat_steps(model)[:-1], X), view.model
    return rows, names, X, view


def _raw_columns(X, names):
    """Return the raw columns as a numeric matrix, and the names of its columns.

    Each category of a categorical column becomes a 0/1 column. Columns that are neither numeric nor
    categorical, and those with too many categories, are left out. A sparse X stays sparse, and its
    columns stay as they are.
    """
    if sp.issparse(X):
        return check_rows(X), check_feature_names(names, X.shape[1])
    table = pd.DataFrame(X).infer_objects()
    names = display_names(X) if names is None else names
    table.columns = list(check_feature_names(names, table.shape[1]))
    is_kept = [
        is_numeric_dtype(column)
        or (infer_dtype(column) in _CATEGORIES and column.nunique() <= _MOST_CATEGORIES)
        for _, column in table.items()
    ]
    numbers = pd.get_dummies(table.loc[:, is_kept], prefix_sep=" is ", dtype=np.float64)
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan), printable_names(numbers.columns)
