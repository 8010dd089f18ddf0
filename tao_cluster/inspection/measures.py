"""Measures of a clustering tree: what it costs and how much there is to read."""

import numpy as np
import scipy.sparse as sp
from scipy.stats import entropy

from ..core.tree.conditions import explanation_sizes
from ..problem.reference import cost_increase
from .report import check_weight

__all__ = [
    "cost_increase",
    "feature_usage",
    "normalized_mutual_information",
    "weighted_average_depth",
    "weighted_average_explanation_size",
]


def weighted_average_depth(tree, X, sample_weight=None):
    """Mean number of tests on a row's path (WAD; Laber, Murtinho & Oliveira 2023, eq. 2).

    Parameters
    ----------
    tree : Tree
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float
    """
    depth = tree.depth[tree.apply(X)]
    return float(np.average(depth, weights=check_weight(sample_weight, len(depth))))


def weighted_average_explanation_size(tree, X, sample_weight=None):
    """Mean number of non-redundant conditions on a row's path (WAES; same paper, eq. 3).

    A condition is redundant if a deeper one on the same path bounds the same weighted sum in
    the same direction; for axis-aligned trees that leaves distinct (feature, direction) pairs.

    Parameters and return value as in :func:`weighted_average_depth`.
    """
    sizes = explanation_sizes(tree)[tree.apply(X)]
    return float(np.average(sizes, weights=check_weight(sample_weight, len(sizes))))


def normalized_mutual_information(labels, reference_labels, sample_weight=None):
    """Agreement of two clusterings: mutual information over the mean of their entropies.

    The NMI of Laber, Murtinho & Oliveira (2023), table 2, and of scikit-learn, with weights.

    Parameters
    ----------
    labels, reference_labels : int arrays of shape (n,)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float; 1 for the same partition, also if both have one cluster; 0 for independent ones

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    weight = check_weight(sample_weight, len(labels))
    rows = np.unique(labels, return_inverse=True)[1]
    columns = np.unique(reference_labels, return_inverse=True)[1]
    joint = sp.coo_matrix((weight, (rows, columns))).tocsr()  # adds up the weights of a pair
    of_labels, of_reference = (entropy(np.asarray(joint.sum(axis=a)).ravel()) for a in (1, 0))
    mean = (of_labels + of_reference) / 2
    if mean == 0:
        return 1.0
    shared = of_labels + of_reference - entropy(joint.data)
    return float(np.clip(shared / mean, 0.0, 1.0))


def feature_usage(tree, X, sample_weight=None):
    """Share of the rows whose path tests a feature.

    Parameters
    ----------
    tree : Tree
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float64 array of shape (n_features,); its sum is the mean number of features on a path
    """
    tests = sp.csr_matrix(
        (np.ones(tree.n_nonzero), tree.split_indices, tree.split_indptr),
        shape=(tree.n_nodes, tree.n_features),
    )
    on_path = (tree.path_matrix @ tests) > 0
    leaves = tree.apply(X)
    share = np.bincount(leaves, check_weight(sample_weight, len(leaves)), tree.n_nodes)
    return on_path.T @ (share / share.sum())
