"""Leaves joined to as many clusters as are asked for, by the conductance of their unions."""

import numpy as np
import scipy.sparse as sp


def joined(graph, leaves, n_clusters):
    """Clusters of leaves: pairs of least conductance are joined until there are few enough.

    The pair is joined whose union lowers the sum of conductances most, ties to the first.

    Parameters
    ----------
    graph : NeighborGraph
    leaves : list of int64 arrays, the rows of each leaf
    n_clusters : int

    Returns
    -------
    int64 array of shape (number of leaves,), in 0..n_clusters-1
    """
    sizes = [len(rows) for rows in leaves]
    group = np.repeat(np.arange(len(leaves)), sizes)
    member = sp.csr_matrix(
        (np.ones(len(group)), (group, np.concatenate(leaves))), (len(leaves), len(graph.weight))
    )
    edges = (member @ graph.adjacency @ member.T).toarray()
    volume = member @ graph.degree
    cluster, alive = np.arange(len(leaves)), list(range(len(leaves)))
    while len(alive) > n_clusters:
        some = np.array(alive)
        inner, size = edges[np.ix_(some, some)], volume[some]
        own = np.divide(np.diag(inner), size, out=np.zeros(len(some)), where=size > 0)
        union = np.diag(inner)[:, None] + np.diag(inner) + 2 * inner
        both = size[:, None] + size
        kept = np.divide(union, both, out=np.zeros_like(union), where=both > 0)
        saved = np.round(kept - own[:, None] - own, 10)
        saved[np.tril_indices(len(some))] = -np.inf
        i, j = np.unravel_index(saved.argmax(), saved.shape)
        a, b = some[i], some[j]
        cluster[cluster == b] = a
        edges[a] += edges[b]
        edges[:, a] += edges[:, b]
        volume[a] += volume[b]
        alive.remove(b)
    return np.unique(cluster, return_inverse=True)[1]
