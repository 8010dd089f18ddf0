"""Measures of a clustering tree: what it costs and how much there is to read."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import entropy

from ..core.tree.conditions import explanation_sizes
from ..problem.reference import cost_increase
from .report import check_weight

__all__ = [
    "adjusted_rand_index",
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
    joint = _joint_weights(labels, reference_labels, sample_weight)
    of_labels, of_reference = (entropy(np.asarray(joint.sum(axis=a)).ravel()) for a in (1, 0))
    mean = (of_labels + of_reference) / 2
    if mean == 0:
        return 1.0
    shared = of_labels + of_reference - entropy(joint.data)
    return float(np.clip(shared / mean, 0.0, 1.0))


def adjusted_rand_index(labels, reference_labels, sample_weight=None):
    """Agreement of two clusterings: pairs of rows on which they agree, beyond chance.

    The index of Hubert & Arabie (1985), as in scikit-learn, with weights: weight 2 is the row
    twice.

    Parameters
    ----------
    labels, reference_labels : int arrays of shape (n,)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float; 1 for the same partition, about 0 for independent ones

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 0, 0, 1])
    0.0
    """
    joint = _joint_weights(labels, reference_labels, sample_weight)
    both = _pairs(joint.data)
    of_labels, of_reference = (_pairs(np.asarray(joint.sum(axis=a))) for a in (1, 0))
    expected = of_labels * of_reference / _pairs(joint.sum()) if joint.sum() > 1 else 0.0
    most = (of_labels + of_reference) / 2
    if most == expected:
        return 1.0
    return float((both - expected) / (most - expected))


def _joint_weights(labels, reference_labels, sample_weight):
    """Weight of the rows of every pair of clusters: CSR, without the pairs that have none."""
    weight = check_weight(sample_weight, len(labels))
    rows, columns = (
        pd.factorize(np.asarray(each), use_na_sentinel=False)[0]
        for each in (labels, reference_labels)
    )
    return sp.coo_matrix((weight, (rows, columns))).tocsr()  # adds up the weights of a pair


def _pairs(weights):
    """Number of pairs within groups of rows of these weights."""
    return float(np.sum(weights * (np.asarray(weights) - 1)) / 2)


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
