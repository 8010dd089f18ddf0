"""The maximum-spacing objective, clusters that are far from each other, and spanning trees."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._utils.matrices import as_array
from .._utils.options import Part
from .base import Objective, euclidean, squared_distances
from .kmeans import cluster_means


@dataclass(frozen=True)
class Spacing(Part, Objective):
    """Maximum spacing: the least Euclidean distance between rows of different clusters.

    Single linkage maximises it (Laber & Murtinho 2021, section 5). Objectives are minimised, so the
    value is one over the spacing. The cost increase of a tree is then the price of explainability:
    the spacing of the free clustering over that of the tree, minus one. There are no centres; means
    of the clusters are displayed instead. Weights do not matter, except that rows of weight 0 are
    absent. Time grows with the square of the number of rows, memory does not.
    """

    is_sum: ClassVar[bool] = False

    def reference(self, n_clusters, random_state):
        """Return None: `free_labels` gives the free clustering."""

    def prepare(self, X):
        """Return the rows; their minimum spanning tree is computed when it is first needed.

        Raises
        ------
        ValueError
            If squared norms overflow.
        """
        return SpannedRows(super().prepare(X))

    def free_labels(self, data, n_clusters, weight):
        """Return the clusters of single linkage: int array of shape (n,), numbered by first rows.

        The longest edges of the minimum spanning tree are cut. Among edges of equal length, those
        that Prim's algorithm added last are cut. Equal rows stay together, so that there can be
        fewer clusters than `n_clusters`. Rows of weight 0 are in cluster 0.
        """
        labels, present = np.zeros(data.X.shape[0], np.intp), weight > 0
        some = data if present.all() else SpannedRows(data.X[present])
        edges = some.edges
        kept = max(len(edges.squared) - n_clusters + 1, np.count_nonzero(edges.squared == 0))
        labels[present] = edges.some(slice(kept)).components(some.X.shape[0])
        return labels

    def distances(self, data, centers):
        """Return Euclidean distances of rows to the centres: float64 array of shape (n, k)."""
        return euclidean(data.X, centers)

    def update_centers(self, data, labels, weight, centers):
        """Return the means of the clusters; one without weight keeps its row of `centers`."""
        means = cluster_means(data.X, labels, weight, len(centers))
        is_empty = np.bincount(labels, weights=weight, minlength=len(centers)) == 0
        means[is_empty] = centers[is_empty]
        return means

    def value(self, data, labels, weight, centers):
        """Return 1 / spacing: 0 for one cluster, inf if equal rows are in different clusters."""
        squared = self.squared_spacing(data, labels, weight)
        with np.errstate(divide="ignore"):
            return float(1 / np.sqrt(squared))

    def squared_spacing(self, data, labels, weight):
        """Return the squared spacing of a clustering; inf for one cluster.

        Only edges of the minimum spanning tree are compared, because the closest pair of rows of
        different clusters is always one of them.
        """
        present = weight > 0
        if not present.all():
            data, labels = SpannedRows(data.X[present]), labels[present]
        edges = data.edges
        is_between = labels[edges.ends[:, 0]] != labels[edges.ends[:, 1]]
        return np.float64(edges.squared.min(initial=np.inf, where=is_between))


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges of a forest (a graph without cycles) whose nodes are rows.

    Parameters
    ----------
    ends : int64 array of shape (m, 2), rows
    squared : float64 array of shape (m,), squared lengths
    """

    ends: np.ndarray
    squared: np.ndarray

    @classmethod
    def none(cls):
        """Return an empty forest."""
        return cls(np.empty((0, 2), np.int64), np.empty(0))

    def some(self, mask):
        """Return the edges that a mask or a slice selects."""
        return Edges(self.ends[mask], self.squared[mask])

    def joined(self, others):
        """Return a forest with the edges of this forest and of another one."""
        ends, squared = np.vstack([self.ends, others.ends]), np.append(self.squared, others.squared)
        order = np.argsort(squared, kind="stable")
        return Edges(ends[order], squared[order])

    def components(self, n_rows):
        """Return the connected component of each row, numbered in the order of their first rows."""
        pairs = (np.ones(len(self.ends)), (self.ends[:, 0], self.ends[:, 1]))
        graph = sp.csr_matrix(pairs, shape=(n_rows, n_rows))
        _, found = connected_components(graph, directed=False)
        _, first, component = np.unique(found, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[component]


@dataclass(frozen=True, eq=False)
class SpannedRows:
    """Rows with their minimum spanning tree, which is computed when it is first needed.

    The tree is found in O(n^2 d) time (Prim 1957) and in the memory of a copy of the rows.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    """

    X: Any

    @cached_property
    def edges(self):
        """The minimum spanning tree of the n rows: n - 1 edges."""
        return self.join(np.arange(self.X.shape[0]), Edges.none())

    def join(self, rows, forest):
        """Return the minimum spanning tree of some rows, of which some edges are already known.

        Only distances between rows that these edges do not connect are computed.

        Parameters
        ----------
        rows : int64 array of shape (m,)
        forest : Edges between these rows, part of a minimum spanning tree of them

        Returns
        -------
        Edges, m - 1 of them
        """
        place = np.empty(self.X.shape[0], np.int64)
        place[rows] = np.arange(len(rows))
        component = Edges(place[forest.ends], forest.squared).components(len(rows))
        joining = _joining_edges(self.X[rows], component)
        return forest.joined(Edges(rows[joining.ends], joining.squared))


def _joining_edges(X, component):
    """Return the shortest edges that join components of rows to a tree (Prim's algorithm).

    Parameters
    ----------
    X : array or CSR matrix of shape (m, d)
    component : int array of shape (m,), numbers from 0 on

    Returns
    -------
    Edges
        In the order in which they were found, one fewer than components. Ties go to the first row.
    """
    n_edges, rest = component.max(), np.arange(len(component))
    ends, squared = np.empty((n_edges, 2), np.int64), np.empty(n_edges)
    key, near = np.full(len(rest), np.inf), np.zeros(len(rest), np.int64)
    added, others, distances_to = component[0], rest, squared_distances(X)
    for edge in range(n_edges):
        rest = rest[component[rest] != added]  # rows outside of the tree
        if 2 * len(rest) <= len(others):
            others, distances_to = rest, squared_distances(X[rest])
        for member in np.flatnonzero(component == added):
            distances = distances_to(as_array(X[[member]])[0].astype(np.float64))
            nearer = distances < key[others]
            key[others[nearer]], near[others[nearer]] = distances[nearer], member
        best = rest[key[rest].argmin()]
        ends[edge], squared[edge] = (near[best], best), key[best]
        added = component[best]
    return Edges(ends, squared)
