"""Read the partitions into 1, 2, ..., K clusters from a given dendrogram."""

import contextlib
from numbers import Integral

import numpy as np
from scipy.cluster.hierarchy import is_valid_linkage

__all__ = ["levels_of"]


def levels_of(reference, n_rows, n_clusters):
    """Return the nested partitions of a dendrogram into 1, 2, ..., `n_clusters` clusters.

    Clusters keep their numbers from level to level. When a cluster is divided, the part with more
    rows keeps its number. The other part gets the first free number, which is k - 1 at the level
    of k clusters. If both parts have equally many rows, the part with the lowest row keeps the
    number.

    Parameters
    ----------
    reference : array-like of shape (n_rows - 1, 4), or fitted estimator
        One of these dendrograms:

        - A linkage matrix of SciPy. The last merges are undone first, in the order of the matrix.
        - A fitted AgglomerativeClustering of scikit-learn, with any `n_clusters` or
          `distance_threshold`. The levels are its clusters for each `n_clusters`.
        - A fitted BisectingKMeans of scikit-learn. The levels are the clusters after each division.
        - A fitted HDBSCAN of the package hdbscan, its `condensed_tree_`, or the data frame of
          ``condensed_tree_.to_pandas()``. Clusters are divided in the order of `lambda_val`.
    n_rows : int
        Number of rows of the data, to check that the dendrogram belongs to them.
    n_clusters : int
        Largest number of clusters K, at most the number of clusters of the dendrogram.

    Returns
    -------
    int32 array of shape (n_clusters, n_rows)
        Entry (k - 1, i) is the cluster of row i at the level of k clusters, from 0 to k - 1. In a
        condensed tree, rows that leave a cluster before it is divided have no cluster (-1) at
        the levels after the division.

    Raises
    ------
    ValueError
        If the dendrogram cannot be read, has another number of rows or fewer clusters, or if
        `n_clusters` is not a positive integer.

    Examples
    --------
    >>> from scipy.cluster.hierarchy import linkage
    >>> from tao_cluster.dendrograms import levels_of
    >>> levels_of(linkage([[0.0], [1.0], [5.0], [7.0], [10.0]], "ward"), 5, 3)
    array([[0, 0, 0, 0, 0],
           [1, 1, 0, 0, 0],
           [1, 1, 0, 0, 2]], dtype=int32)
    """
    leaves, divisions = _divisions(reference)
    most = len(divisions) + 1
    if len(leaves) != n_rows:
        raise ValueError(
            f"The dendrogram has {len(leaves)} rows, but the data have {n_rows}. Give the "
            "dendrogram of the same rows, in the same order."
        )
    if not isinstance(n_clusters, Integral) or not 1 <= n_clusters <= most:
        raise ValueError(
            f"n_clusters={n_clusters!r} must be an integer from 1 to {most}, the number of "
            "clusters that the dendrogram has."
        )
    parent = np.arange(max(divisions.max(initial=0), leaves.max()) + 1)
    parent[divisions[:, 1:]] = divisions[:, :1]
    divisions = divisions[: n_clusters - 1]
    parent[divisions] = divisions  # the nodes where the way up from a leaf ends
    while (parent[parent] != parent).any():
        parent = parent[parent]  # each step doubles the number of edges that are skipped
    leaves = parent[leaves]

    rows = {node: np.flatnonzero(leaves == node) for node in divisions.ravel()}
    for node, left, right in divisions[::-1]:
        rows[node] = np.concatenate([rows[node], rows[left], rows[right]])
    levels = np.zeros((n_clusters, n_rows), dtype=np.int32)
    for k, (node, *children) in enumerate(divisions, 1):
        parts = [np.sort(rows[child]) for child in children]
        if min(map(len, parts)) == 0:
            raise ValueError(
                f"Division {k} of the dendrogram leaves a cluster without rows; use n_clusters={k}."
            )
        larger, smaller = sorted(parts, key=lambda part: (-len(part), part[0]))
        levels[k] = levels[k - 1]
        levels[k, rows[node]] = -1
        levels[k, larger], levels[k, smaller] = levels[k - 1, larger], k
    return levels


def _divisions(reference):
    """Return the node of each row, and the divisions in order: rows of (node, part, part)."""
    name = type(reference).__name__
    if hasattr(reference, "children_"):
        return _of_merges(np.asarray(reference.children_), reference.n_leaves_, name)
    if hasattr(reference, "_bisecting_tree"):
        return _of_bisections(reference)
    table = getattr(reference, "condensed_tree_", reference)
    forms = (getattr(table, name, None) for name in ("to_records", "to_numpy"))
    table = next((form() for form in forms if form is not None), table)
    if "lambda_val" in (getattr(getattr(table, "dtype", None), "names", None) or ()):
        return _of_condensed(table)
    with contextlib.suppress(TypeError, ValueError):  # of values that are not numbers
        matrix = np.asarray(reference, dtype=np.float64)
        if is_valid_linkage(matrix):
            return _of_merges(matrix[:, :2].astype(np.int64), len(matrix) + 1, name)
    raise ValueError(
        f"No dendrogram can be read from the {name}. Give a linkage matrix of SciPy, of shape "
        "(n_rows - 1, 4), a fitted AgglomerativeClustering or BisectingKMeans, or a fitted HDBSCAN "
        "of the package hdbscan. The HDBSCAN of scikit-learn stores no tree."
    )


def _of_merges(pairs, n_rows, name):
    if len(pairs) != n_rows - 1:
        raise ValueError(
            f"The {name} stopped after {len(pairs)} of {n_rows - 1} merges; fit it with "
            "compute_full_tree=True."
        )
    nodes = np.arange(n_rows, n_rows + len(pairs))
    return np.arange(n_rows), np.column_stack([nodes, pairs])[::-1]


def _of_bisections(model):
    # The tree is private in scikit-learn. Its public alternative, one fit per number of clusters
    # with the same seed, needs the rows and their weights, and K times as long.
    front, nodes, divisions = [model._bisecting_tree], [0], []
    while len(front) < len(model.cluster_centers_):
        # As in `fit`, the cluster with the highest score is divided next.
        i = max(range(len(front)), key=lambda i: front[i].score)
        parts = [2 * len(divisions) + 1, 2 * len(divisions) + 2]
        divisions.append((nodes[i], *parts))
        front[i : i + 1] = front[i].left, front[i].right
        nodes[i : i + 1] = parts
    return np.array(nodes)[model.labels_], np.array(divisions, dtype=np.int64).reshape(-1, 3)


def _of_condensed(table):
    parent, child, value = (np.asarray(table[name]) for name in ("parent", "child", "lambda_val"))
    root = parent.min()  # nodes below the root are rows
    leaves = np.empty(root, dtype=np.int64)
    leaves[child[child < root]] = parent[child < root]
    # The two parts of a cluster have the same lambda and larger numbers than the cluster.
    order = np.lexsort((child, parent, value))
    order = order[child[order] >= root]
    return leaves, np.column_stack([parent[order][::2], child[order].reshape(-1, 2)]).astype(int)
