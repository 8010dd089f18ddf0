"""The invariants of a tree: what its arrays must satisfy, with a sentence where they do not."""

from numbers import Integral

import numpy as np


def check_n_features(n_features):
    """ValueError if it is no whole number of at least 1; True and "7" are none."""
    is_whole = isinstance(n_features, Integral) and not isinstance(n_features, bool)
    if not is_whole or n_features < 1:
        raise ValueError(f"n_features must be a whole number of at least 1, got {n_features!r}.")


def check_nodes(tree):
    """ValueError if the node arrays are no tree, or leaves have no label."""
    n = tree.children_left.size
    per_node = (tree.children_left, tree.children_right, tree.threshold, tree.leaf_label)
    if n == 0 or any(array.shape != (n,) for array in per_node):
        raise ValueError("A tree needs at least one node and node arrays of equal length.")
    if min(array.min() for array in (*per_node[:2], tree.leaf_label)) < -1:
        raise ValueError("Children and labels must be at least 0, or -1 for none.")
    parents = np.arange(n)
    leaf = tree.children_left < 0
    inner = parents[~leaf]
    children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    if not (
        np.array_equal(leaf, tree.children_right < 0)
        and np.array_equal(np.sort(children), parents[1:])
        and np.all(children > np.concatenate([inner, inner]))
    ):
        raise ValueError("Every node but the root must be one child of an earlier node.")
    if np.any((tree.leaf_label < 0) == leaf) or np.any(tree.threshold[leaf]):
        raise ValueError("Leaves must have a label of at least 0 and threshold 0, others -1.")
    if tree.leaf_value is not None:
        _check_histograms(tree.leaf_value, n)


def _check_histograms(leaf_value, n_nodes):
    if leaf_value.ndim != 2 or len(leaf_value) != n_nodes or leaf_value.shape[1] == 0:
        raise ValueError("leaf_value must have one row a node and one column a cluster.")
    if not np.all(np.isfinite(leaf_value)):
        raise ValueError("leaf_value must be finite.")


def check_splits(tree):
    """ValueError if the splits are no CSR structure over the nodes, or have weights of 0."""
    leaf = tree.children_left < 0
    counts = np.diff(tree.split_indptr)
    nnz = tree.split_indices.size
    if (
        tree.split_indices.shape != (nnz,)
        or tree.split_indptr.shape != (len(leaf) + 1,)
        or tree.split_indptr[0] != 0
        or tree.split_indptr[-1] != nnz
        or np.any(counts < 0)
        or np.any(counts[leaf])
        or tree.split_weights.shape != (nnz,)
    ):
        raise ValueError("The splits must be a CSR structure with empty rows at leaves.")
    if not (np.all(np.isfinite(tree.split_weights)) and np.all(np.isfinite(tree.threshold))):
        raise ValueError("Weights and thresholds must be finite.")
    if not np.all(tree.split_weights):
        raise ValueError("Weights that are stored must not be zero.")
    if nnz == 0:
        return
    if tree.split_indices.min() < 0 or tree.split_indices.max() >= tree.n_features:
        raise ValueError(f"Split features must lie in 0..{tree.n_features - 1}.")
    within_node = np.ones(nnz, dtype=bool)
    within_node[tree.split_indptr[:-1][counts > 0]] = False
    if np.any(np.diff(tree.split_indices, prepend=-1)[within_node] <= 0):
        raise ValueError("Features must increase within a split, without repeats.")
