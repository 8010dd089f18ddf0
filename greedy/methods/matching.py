"""Numbers for clusters that were found without the free ones: the best agreement with those."""

import numpy as np
from scipy.optimize import linear_sum_assignment


def matched_numbers(labels, free_labels, n_clusters, weight=None):
    """The free cluster's number for each cluster that was found by itself.

    One-to-one, so that as much weight as possible has its free label (Hungarian method).

    Parameters
    ----------
    labels : int array of shape (n,), in 0..n_clusters-1
    free_labels : int array of shape (n,), in 0..n_clusters-1
    n_clusters : int
    weight : array of shape (n,), optional

    Returns
    -------
    int64 array of shape (n_clusters,), a permutation

    Raises
    ------
    ValueError
        If some label is not among 0..n_clusters-1.

    Examples
    --------
    >>> matched_numbers([0, 0, 1, 2], [2, 2, 0, 1], 3).tolist()
    [2, 0, 1]
    """
    labels, free_labels = np.asarray(labels), np.asarray(free_labels)
    for each in (labels, free_labels):
        if len(each) and not 0 <= each.min() <= each.max() < n_clusters:
            raise ValueError(f"Labels to be matched must lie in 0..{n_clusters - 1}.")
    pairs = labels * np.int64(n_clusters) + free_labels
    overlap = np.bincount(pairs, weight, n_clusters**2).reshape(n_clusters, n_clusters)
    return linear_sum_assignment(overlap, maximize=True)[1].astype(np.int64)


def renumbered(tree, numbers):
    """The tree with other numbers of its clusters.

    Parameters
    ----------
    tree : Tree
    numbers : int array of shape (n_clusters,), the new number of each

    Returns
    -------
    Tree
    """
    return tree.with_leaves(np.where(tree.leaf_label < 0, -1, numbers[tree.leaf_label]))
