"""The graphs that SpEx cuts: a clique a cluster, or nearest neighbours."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from tao_cluster._utils.matrices import rows_of
from tao_cluster.problem.repeats import content_order, distinct_rows

from ...cuts import GraphNode

_STEPS = 30  # of a random walk


@dataclass(frozen=True, eq=False)
class CliqueGraph:
    """Every cluster is a clique, and clusters are not connected.

    Edges are w_i w_j times a scale of the cluster, and rows have loops. With the scale 1 / W,
    where W is the weight of the cluster, a row's degree is its weight, as nearly in the paper
    (1 / (|C| - 1) without loops, with which the tree would change with the unit of weights).

    Parameters
    ----------
    rows : int64 array of shape (m,), its vertices
    weight : float64 array of shape (n,)
    labels : int64 array of shape (n,)
    scale : float64 array of shape (k,)
    degree : float64 array of shape (n,)
    """

    rows: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    scale: np.ndarray
    degree: np.ndarray

    @classmethod
    def of(cls, points, is_even=True):
        """The graph of the free clustering: all rows of weight 1 have equal degrees, or edges."""
        rows, labels, weight = points.rows, points.labels, points.weight
        mass = np.bincount(labels[rows], weight[rows], len(points.positions))
        scale = 1 / np.where(is_even & (mass > 0), mass, mass.max())
        return cls(rows, weight, labels, scale, weight * (mass * scale)[labels])

    def node(self, order, rows):
        """The node of some rows."""
        inside = np.bincount(self.labels[rows], self.weight[rows], len(self.scale))
        return GraphNode(
            order=order,
            graph=(self.labels, self.scale),
            weight=self.weight,
            degree=self.degree,
            inside=inside,
            inner=float((inside * self.scale) @ inside),
            volume=float(self.degree[rows].sum()),
        )

    def can_be_cut(self, node):
        """Whether cuts of a node may matter: those of one cluster do not."""
        return np.count_nonzero(node.inside) > 1

    def pull(self, rows, goes_right):
        """Where the edges of rows in a node lead to.

        Parameters
        ----------
        rows : int64 array of shape (m,), of the node
        goes_right : bool array of shape (m,)

        Returns
        -------
        float64 array of shape (m,)
            By how much more of its edges within the node lead to the right. If that is so for
            all rows or none, by how much more than of all edges.
        """
        labels, weight = self.labels[rows], self.weight[rows]

        def spread(values):
            sums = np.bincount(labels, weight * values, len(self.scale))
            return weight * (sums * self.scale)[labels]

        pull = spread(goes_right - 0.5)
        if (pull > 0).any() and (pull < 0).any():
            return pull
        degree = spread(np.ones(len(rows)))
        return spread(goes_right - degree @ goes_right / degree.sum())


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
        if some is None:  # in one order, by which ties between neighbours are broken
            some = content_order(X, points.n_jobs)
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
        """See :meth:`CliqueGraph.pull`; here after a random walk along the edges.

        It is the power method for the second eigenvector of the node's graph, from the sides on:
        sides that follow a few rows wear off.
        """
        A = self.adjacency[rows][:, rows]
        degree = np.asarray(A.sum(axis=1)).ravel()
        total = max(degree.sum(), np.finfo(float).tiny)
        values = goes_right.astype(np.float64)
        for _ in range(_STEPS):  # lazy ones, or sides that alternate would never settle
            values -= degree @ values / total
            walked = np.divide(A @ values, degree, out=np.zeros_like(values), where=degree > 0)
            values = (values + walked) / 2
        return A @ (values - degree @ values / total)


def _neighbors(space, n_neighbors):
    """CSR indicator of the neighbours of each row, none of them itself."""
    if n_neighbors < 1:
        return sp.csr_matrix((space.shape[0], space.shape[0]))
    return NearestNeighbors(n_neighbors=n_neighbors).fit(space).kneighbors_graph()
