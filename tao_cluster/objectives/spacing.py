"""The maximum-spacing objective: clusters that are far from each other."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .balls import check_norms, euclidean
from .base import Objective
from .kmeans import cluster_means
from .spanning import SpannedRows


@dataclass(frozen=True)
class Spacing(Objective):
    """Maximum spacing: the least Euclidean distance between rows of different clusters.

    Single linkage makes it largest (Laber & Murtinho 2021, section 5). The value, which is to be
    small as that of every objective, is one over the spacing: then the cost increase of a tree
    is the price of explainability, the free spacing over that of the tree, minus one. There are
    no centres; the means of clusters are shown for them. Weights do not matter, but that rows of
    weight 0 are absent. Time grows with the square of the number of rows, memory does not.
    """

    centers_are_means: ClassVar[bool] = False
    is_sum: ClassVar[bool] = False

    def reference(self, n_clusters, random_state):
        """None: the free clustering is that of `free_labels`."""
        del n_clusters, random_state

    def prepare(self, X):
        """X and, once it is asked for, its minimum spanning tree.

        Raises
        ------
        ValueError
            If squared norms overflow.
        """
        check_norms(X)
        return SpannedRows(X)

    def free_labels(self, data, n_clusters, weight):
        """Clusters of single linkage: int array of shape (n,), numbered by their first rows.

        The longest edges of the minimum spanning tree are cut; of equal ones, those that the
        walk from the first row met last. Rows that coincide stay together, so that there may be
        fewer clusters; rows of weight 0 are in cluster 0.
        """
        labels, present = np.zeros(data.X.shape[0], np.intp), weight > 0
        some = data if present.all() else SpannedRows(data.X[present])
        edges = some.edges
        kept = max(len(edges.squared) - n_clusters + 1, np.count_nonzero(edges.squared == 0))
        labels[present] = edges.some(slice(kept)).components(some.X.shape[0])
        return labels

    def distances(self, data, centers):
        """Euclidean distances to the means, float64 array of shape (n, k)."""
        return euclidean(data.X, centers)

    def update_centers(self, data, labels, weight, centers):
        """Means of the clusters; one without weight keeps its row of `centers`."""
        means = cluster_means(data.X, labels, weight, len(centers))
        is_empty = np.bincount(labels, weights=weight, minlength=len(centers)) == 0
        means[is_empty] = centers[is_empty]
        return means

    def value(self, data, labels, weight, centers):
        """One over the spacing: 0 for one cluster, inf where clusters touch."""
        del centers
        squared = self.squared_spacing(data, labels, weight)
        with np.errstate(divide="ignore"):
            return float(1 / np.sqrt(squared))

    def squared_spacing(self, data, labels, weight):
        """Squared spacing of a clustering: float, inf for one cluster.

        The shortest pair of rows between two sides is an edge of the minimum spanning tree.
        """
        present = weight > 0
        if not present.all():
            data, labels = SpannedRows(data.X[present]), labels[present]
        edges = data.edges
        is_between = labels[edges.ends[:, 0]] != labels[edges.ends[:, 1]]
        return np.float64(edges.squared.min(initial=np.inf, where=is_between))

    def as_distance(self, dissimilarities):
        """The distance as it is."""
        return dissimilarities
