"""The maximum-spacing objective, clusters that are far from each other, and spanning trees."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._utils.jit import by_layout, jit
from ..tree.routing import kernel_view
from .base import Objective, check_norms, euclidean
from .kmeans import cluster_means

_CHUNK = 32  # columns after which a distance that is too large already is given up


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


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges of a forest, shortest first, ties in the order in which they were found.

    Parameters
    ----------
    ends : int64 array of shape (m, 2), rows
    squared : float64 array of shape (m,), squared lengths
    """

    ends: np.ndarray
    squared: np.ndarray

    @classmethod
    def none(cls):
        """No edges."""
        return cls(np.empty((0, 2), np.int64), np.empty(0))

    def some(self, mask):
        """Edges of a mask, or the first ones, of a slice."""
        return Edges(self.ends[mask], self.squared[mask])

    def joined(self, others):
        """These edges and others."""
        ends, squared = np.vstack([self.ends, others.ends]), np.append(self.squared, others.squared)
        order = np.argsort(squared, kind="stable")
        return Edges(ends[order], squared[order])

    def components(self, n_rows):
        """Component of each of n rows that the edges make, numbered by their first rows."""
        pairs = (np.ones(len(self.ends)), (self.ends[:, 0], self.ends[:, 1]))
        graph = sp.csr_matrix(pairs, shape=(n_rows, n_rows))
        _, found = connected_components(graph, directed=False)
        _, first, component = np.unique(found, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[component]


@dataclass(frozen=True, eq=False)
class SpannedRows:
    """Rows with their minimum spanning tree, which is made when it is first asked for.

    The tree is found in O(n^2 d) time and O(n) memory beside the rows (Prim 1957), of which
    dense ones that are not contiguous are copied.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    """

    X: Any

    @cached_property
    def edges(self):
        """The minimum spanning tree: n - 1 edges."""
        return self.join(np.arange(self.X.shape[0]), Edges.none())

    def join(self, rows, forest):
        """The minimum spanning tree of some rows, of which a forest is known.

        Distances are measured between rows of different trees of the forest alone.

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
        local = Edges(place[forest.ends], forest.squared)
        component = local.components(len(rows))
        members = np.argsort(component, kind="stable")
        first = np.searchsorted(component[members], np.arange(component.max() + 2))
        groups, room = (component, members, first), np.empty(self.X.shape[1])
        ends, squared = joining_edges(self._view, self._norms, rows, groups, room)
        order = np.argsort(squared, kind="stable")
        return forest.joined(Edges(rows[ends[order]], squared[order]))

    @cached_property
    def _view(self):
        if sp.issparse(self.X):
            return kernel_view(self.X)
        return np.ascontiguousarray(self.X)

    @cached_property
    def _norms(self):
        """Squared norms of sparse rows, summed as the products of two rows are."""
        if not sp.issparse(self.X):
            return np.empty(0)
        X = self.X.astype(np.float64)
        return X.multiply(X) @ np.ones(X.shape[1])


def _load_dense(X, row, scratch):
    for f in range(scratch.shape[0]):
        scratch[f] = X[row, f]


def _load_csr(X, row, scratch):
    data, indices, indptr = X
    scratch[:] = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        scratch[indices[s]] = data[s]


# Put a row into the scratch memory.
_load = by_layout(_load_dense, _load_csr)


def _distance_dense(X, norms, row, scratch, other, most):
    a = b = c = d = 0.0  # four sums side by side, which the processor adds at once
    n, f = scratch.shape[0], 0
    while f + 4 <= n:
        stop = f + min(_CHUNK, (n - f) // 4 * 4)
        while f < stop:
            a += (scratch[f] - X[other, f]) ** 2
            b += (scratch[f + 1] - X[other, f + 1]) ** 2
            c += (scratch[f + 2] - X[other, f + 2]) ** 2
            d += (scratch[f + 3] - X[other, f + 3]) ** 2
            f += 4
        if (a + b) + (c + d) >= most:
            return most
    for g in range(f, n):
        a += (scratch[g] - X[other, g]) ** 2
    return (a + b) + (c + d)


def _distance_csr(X, norms, row, scratch, other, most):
    data, indices, indptr = X
    product = 0.0
    for s in range(indptr[other], indptr[other + 1]):
        product += np.float64(data[s]) * scratch[indices[s]]
    return max(norms[row] + norms[other] - 2.0 * product, 0.0)


# Squared distance of a loaded row to another, or something that is `most` or more.
_distance = by_layout(_distance_dense, _distance_csr)


@jit
def joining_edges(X, norms, rows, groups, scratch):
    """Edges of least length that join components of rows to a tree: Prim's algorithm.

    Parameters
    ----------
    X : C-contiguous array of shape (n, d), or (data, indices, indptr) of a CSR matrix
    norms : float64 array, squared norms of the rows of a CSR matrix
    rows : int64 array of shape (m,)
    groups : int64 arrays
        Component of each of the rows, numbers from 0 on; positions in `rows` by component; and
        where those of each component begin, and the last ones end.
    scratch : float64 array of shape (d,), what is in it does not matter

    Returns
    -------
    ends : int64 array of shape (components - 1, 2), positions in `rows`
    squared : float64 array of shape (components - 1,)
        Squared distances; ties to the row that comes first.
    """
    component, members, first = groups
    m, n_components = rows.shape[0], first.shape[0] - 1
    ends, squared = np.empty((n_components - 1, 2), np.int64), np.empty(n_components - 1)
    key, near = np.full(m, np.inf), np.zeros(m, np.int64)
    rest, n_rest = np.arange(m), m
    added = component[0]
    for edge in range(n_components - 1):
        n_kept = 0
        for i in range(n_rest):  # the rows that are not in the tree yet
            if component[rest[i]] != added:
                rest[n_kept] = rest[i]
                n_kept += 1
        n_rest = n_kept
        for member in members[first[added] : first[added + 1]]:
            _load(X, rows[member], scratch)
            for i in range(n_rest):
                v = rest[i]
                distance = _distance(X, norms, rows[member], scratch, rows[v], key[v])
                if distance < key[v]:
                    key[v], near[v] = distance, member
        best = rest[0]
        for i in range(1, n_rest):
            if key[rest[i]] < key[best]:
                best = rest[i]
        ends[edge, 0], ends[edge, 1], squared[edge] = near[best], best, key[best]
        added = component[best]
    return ends, squared
