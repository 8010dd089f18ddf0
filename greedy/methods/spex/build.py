"""SpEx as a function, and the labels of its leaves."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from tao_cluster._utils.threads import one_thread
from tao_cluster.tree.growth import Growth

from ...growth import grow, tell_interrupted
from ...points import Points
from ..matching import matched_numbers
from ..start import SHARED, finish
from .graphs import CliqueGraph, NeighborGraph
from .join import joined
from .rule import CutConductance

GRAPHS = {"clique", "unit-clique", "knn"}


@validate_params(
    {
        **SHARED,
        "graph": [StrOptions(GRAPHS)],
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "hyperplanes": [None, callable],
        "price": [Interval(Real, 0, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
@one_thread()
def build_spex(
    X,
    centers,
    *,
    graph="clique",
    max_leaves=None,
    n_neighbors=20,
    hyperplanes=None,
    price=0.0,
    sample_weight=None,
    embedding=None,
    labels=None,
    midpoints=True,
    n_jobs=None,
):
    """SpEx: cuts of least conductance in a graph of the rows.

    Argov & Wagner (2025), arXiv 2511.00885, algorithm 1. A set S of rows has the conductance
    cut(S) / vol(S), the share of its edges that leave it. The sum over the leaves is to be
    small: a leaf is cut where the sum of its halves' conductances is least, and of all leaves
    the one is cut where that adds least.

    Parameters
    ----------
    graph : {"clique", "unit-clique", "knn"}, default="clique"
        "clique": every cluster of `labels` is a clique; any clustering will do, its centres do
        not matter. A leaf has the label of most of its weight, leaves of one label are not cut.
        Edges are 1 over the size of the cluster, as in the paper; with "unit-clique" they are 1,
        as in the authors' program, where large clusters count more.
        "knn": a row is connected with its nearest neighbours and those whose neighbour it is;
        no clustering is needed. More than k leaves are joined to k clusters where that lowers
        the sum of conductances most (not in the paper); clusters are numbered as the free
        ones that they share most weight with.
    max_leaves : int, default k
    n_neighbors : int, default=20
        The paper's number. Only used by "knn".
    hyperplanes : callable(rows, goes_right, weight) -> iterable of Split, optional
        Makes the tree oblique (not in the paper): tests of several features that part some rows
        as told, but for little weight. The best test is taken, with the threshold of least
        conductance, if that pays for its weights. :class:`SpEx` has one.
    price : float, default=0
        What conductance must fall by for each further weight of such a test.
    X, centers, sample_weight, embedding, labels, midpoints, n_jobs
        As in :func:`build_imm`, like the return value and the errors.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the growth; the tree has the leaves made until then.

    Notes
    -----
    A level takes O(n d), with "knn" times the number of neighbours, after one sort of every
    feature. Equal rows are one vertex of "knn", with their weight together.

    Examples
    --------
    >>> from greedy import build_spex
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> build_spex(X, centers=[[0.5], [8.5]]).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, labels, n_jobs)
    growth = grow_spex(points, graph, max_leaves, n_neighbors, hyperplanes, price)
    return finish(growth, points, midpoints, sees_centers=False)


def grow_spex(points, graph="clique", max_leaves=None, n_neighbors=20, hyperplanes=None, price=0.0):
    """Growth of :func:`build_spex`, for Points and the same options."""
    n_clusters = len(points.positions)
    is_clique = graph != "knn"
    if is_clique:
        graph = CliqueGraph.of(points, is_even=graph == "clique")
    else:
        graph = NeighborGraph.of(points, n_neighbors)
    rule = CutConductance(points, graph, hyperplanes, price)
    growth, root = Growth(), rule.root()
    leaves = {growth.add(): root}
    max_leaves = n_clusters if max_leaves is None else max_leaves
    try:
        grow(growth, leaves, rule, max_leaves)
    except KeyboardInterrupt:
        tell_interrupted(growth, max_leaves)
    nodes = sorted(leaves)
    rows = [leaves[node].rows for node in nodes]
    labels = _majority(points, rows) if is_clique else _joined(points, graph, rows)
    for node, label in zip(nodes, labels, strict=True):
        growth.label[node] = int(label)
    return growth


def _majority(points, leaves):
    """The label of most weight of each leaf, ties to the lowest."""
    k = len(points.positions)
    return [np.bincount(points.labels[rows], points.weight[rows], k).argmax() for rows in leaves]


def _joined(points, graph, leaves):
    """Clusters of leaves, numbered as the free ones that they agree with best."""
    k = len(points.positions)
    cluster = joined(graph, leaves, k)
    rows = np.concatenate(leaves)
    labels = np.repeat(cluster, [len(some) for some in leaves])
    return matched_numbers(labels, points.labels[rows], k, graph.weight[rows])[cluster]
