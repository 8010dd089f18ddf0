"""`cluster_table`: the mean of each column per cluster."""

import numpy as np
import pandas as pd

from .._utils.matrices import check_rows
from ..columns.view import numbers_of, shown
from ..objectives.base import cluster_sums
from ..problem.inputs import check_sample_weight
from ..report import cluster_names
from ..tree import tree_of


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
    model, names = shown(model, feature_names)
    tree, labels = tree_of(model), cluster_names(model)
    rows = check_rows(numbers_of(model, X))
    cluster = tree.leaf_label[(tree if model is tree else model).apply(X)]
    weight = check_sample_weight(sample_weight, rows)
    sums, k = cluster_sums(rows, cluster, weight, len(labels)), len(labels)
    sums = np.vstack([sums, sums.sum(axis=0)])
    counts, total = np.bincount(cluster, minlength=k), np.bincount(cluster, weight, k)
    counts, total = np.append(counts, len(cluster)), np.append(total, total.sum())
    means = sums / np.where(total > 0, total, np.nan)[:, None]
    sizes = {"rows": counts} if sample_weight is None else {"rows": counts, "weight": total}
    index = [*labels, "all"]
    columns = pd.DataFrame(means, index=index, columns=list(map(str, names)))
    return pd.concat([pd.DataFrame(sizes, index=index), columns], axis=1)
