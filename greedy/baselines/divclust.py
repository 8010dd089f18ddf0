"""DIVCLUS-T: divisive clustering by single columns, one tree for every number of clusters."""

from dataclasses import dataclass

import numpy as np

from ..base import GreedyTree
from ..growth import grown
from .cubt import CutDeviance
from .leaf_clusters import matched_labels


@dataclass(kw_only=True, eq=False, repr=False)
class DIVCLUST(GreedyTree):
    """DIVCLUS-T: divide one cluster after the other by a test of a single column.

    Use it as a baseline of nested clusterings: the tree with k clusters is a part of the tree with
    k + 1 clusters. The tree forms its own clusters, without the free clustering. The reference
    only gives the cluster numbers and the cost to compare with.

    Each step divides the cluster whose best test ``x[feature] <= threshold`` reduces the inertia
    most (Chavent, Lechevallier & Briant 2007, doi:10.1016/j.csda.2007.03.013). The inertia is the
    sum of squared distances to the means of the clusters. Every leaf is a cluster. At the end,
    each cluster gets the number of the reference cluster with which it agrees best.

    The nodes of `tree_` are numbered in the order of the divisions: division j, from 1, makes the
    nodes 2 j - 1 and 2 j, and `history_[j - 1]` names its node, feature and threshold. So the
    first 2 k - 1 nodes are the tree with k clusters. If `fit` gets an embedding, the tree still
    clusters X.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters. If X has fewer distinct rows, or `min_samples_leaf` forbids further
        divisions, some clusters have no rows.
    reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The attributes and errors are also those of :class:`IMM`; the cost is
        that of k-means. The R package divclust of the authors standardises the columns, as
        ``standardize=True`` does.

    Warns
    -----
    InterruptedWarning
        If a KeyboardInterrupt stops the growth. The tree keeps the divisions made until then.

    Notes
    -----
    A division takes O(m d log m + m d^2) for a cluster of m rows, and each cluster is examined
    once. The paper also defines tests of sets of categories, which this class does not have.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import DIVCLUST
    >>> model = DIVCLUST(3, random_state=0).fit(load_iris().data)
    >>> [(record["node"], record["feature"]) for record in model.history_]
    [(0, 2), (2, 2)]
    """

    uses_distances = False  # the costs are computed from the rows of X
    sees_centers = False

    def _grow(self, points, random_state):
        n_clusters, rule = len(points.centers), CutDeviance(points, 0, 0)
        growth, leaves = grown(rule, rule.leaf(points.rows), n_clusters, is_kept=True)
        rows_of = {node: leaf.rows for node, leaf in leaves.items()}
        for node, label in matched_labels(points, rows_of, np.arange(len(leaves))).items():
            growth.label[node] = label
        return growth
