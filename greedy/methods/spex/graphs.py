"""The graphs that SpEx cuts: a clique a cluster, or nearest neighbours."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from tao_cluster.core.matrices import rows_of
from tao_cluster.core.repeats import distinct_rows
from tao_cluster.core.threads import one_thread

from ...cuts import GraphNode


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """Every cluster is a clique, and clusters are not connected.

    Edges are w_i w_j / W, where W is the weight of the cluster, and rows have loops, so that a
    row's degree is its weight. In the paper they are 1 / (|C| - 1) without loops, which is
    nearly the same; but then the tree would change with the unit of the weights.

    Parameters
    ----------
    rows : int64 array of shape (m,), its vertices
    weight : float64 array of shape (n,)
    labels : int64 array of shape (n,)
    mass : float64 array of shape (k,), weight of the clusters
    """

    rows: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, points):
        """The graph of the free clustering."""
        rows, labels, weight = points.rows, points.labels, points.weight
        mass = np.bincount(labels[rows], weight[rows], len(points.positions))
        return cls(rows, weight, labels, mass)

    def node(self, order, rows):
        """The node of some rows."""
        inside = np.bincount(self.labels[rows], self.weight[rows], len(self.mass))
        share = np.divide(inside, self.mass, out=np.zeros_like(inside), where=self.mass > 0)
        return GraphNode(
            order=order,
            graph=(self.labels, self.mass),
            weight=self.weight,
            degree=self.weight,
            inside=inside,
            inner=float(share @ inside),
            volume=float(inside.sum()),
        )

    def can_be_cut(self, node):
        """Whether cuts of a node may matter: those of one cluster do not."""
        return np.count_nonzero(node.inside) > 1

    def pull(self, rows, goes_right):
        """By how much each row's edges to the right outweigh those to the left: (m,) float64."""
        labels, weight = self.labels[rows], self.weight[rows]
        signed = np.bincount(labels, np.where(goes_right, weight, -weight), len(self.mass))
        return weight * (signed / np.where(self.mass > 0, self.mass, 1.0))[labels]


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """Rows are connected if one is among the nearest neighbours of the other.

    Parameters
    ----------
    rows : int64 array of shape (m,), its vertices, one for all rows that are equal
    weight : float64 array of shape (n,), that of these
    adjacency : CSR matrix of shape (n, n), w_i w_j for connected rows
    degree : float64 array of shape (n,)
    """

    rows: np.ndarray
    weight: np.ndarray
    adjacency: sp.csr_matrix
    degree: np.ndarray

    @classmethod
    def of(cls, points, n_neighbors):
        """The graph of the distinct rows, by Euclidean distances where they are clustered."""
        rows, weight = points.rows, points.weight[points.rows]
        X, space = rows_of(points.X, points.space, rows)
        if points.space is points.X:
            space = X
        some, weight, _ = distinct_rows(X, space, weight, points.n_jobs)
        if some is not None:
            rows, space = rows[some], space[some]
        n = len(points.weight)
        heft = np.zeros(n)
        heft[rows] = weight
        pairs = _neighbors(space, min(n_neighbors, len(rows) - 1)).tocoo()
        a, b = rows[pairs.row], rows[pairs.col]
        directed = sp.csr_matrix((np.ones(len(a)), (a, b)), (n, n))
        adjacency = directed.maximum(directed.T).tocsr()
        adjacency.sort_indices()
        adjacency.data = heft[adjacency.indices] * np.repeat(heft, np.diff(adjacency.indptr))
        return cls(rows, heft, adjacency, np.asarray(adjacency.sum(axis=1)).ravel())

    def node(self, order, rows):
        """The node of some rows."""
        inside = np.zeros(len(self.weight), np.int8)
        inside[rows] = 1
        A = self.adjacency
        return GraphNode(
            order=order,
            graph=(A.indptr, A.indices, A.data),
            weight=self.weight,
            degree=self.degree,
            inside=inside,
            inner=float((A[rows] @ inside.astype(np.float64)).sum()),
            volume=float(self.degree[rows].sum()),
        )

    def can_be_cut(self, node):
        """Every node may be cut."""
        del node
        return True

    def pull(self, rows, goes_right):
        """See :meth:`CliqueGraph.pull`."""
        signed = np.zeros(len(self.weight))
        signed[rows] = np.where(goes_right, 1.0, -1.0)
        return self.adjacency[rows] @ signed


def _neighbors(space, n_neighbors):
    """CSR indicator of the neighbours of each row, none of them itself."""
    if n_neighbors < 1:
        return sp.csr_matrix((space.shape[0], space.shape[0]))
    with one_thread():
        return NearestNeighbors(n_neighbors=n_neighbors).fit(space).kneighbors_graph()
