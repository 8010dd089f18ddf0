"""Kernel for the cuts of least conductance in a graph of the rows (SpEx)."""

from typing import NamedTuple

import numpy as np

from tao_cluster._utils.jit import chosen_by, jit

from ..order import Order, left_threshold, right_threshold


class GraphNode(NamedTuple):
    """A node as :func:`conductance_cuts` reads it.

    `graph` is (label, scale), where rows of one label are a clique, a_ij = w_i w_j times the scale
    of the label, loops included; or (indptr, indices, data) of the adjacency matrix A.
    """

    order: Order
    graph: tuple
    weight: np.ndarray  # (n,) float64
    degree: np.ndarray  # (n,) float64, row sums of A
    inside: np.ndarray  # (k,) float64, weight of each label in the node; of other graphs (n,) int8:
    # 1 for rows in the node, 0 elsewhere
    inner: float  # sum of A over pairs in the node
    volume: float  # sum of the degrees in the node


def _is_clique(graph):
    return len(graph) == 2


def _move_clique(graph, weight, row, inside, moved):
    label, scale = graph
    own, heft = label[row], weight[row]
    share = heft * scale[own]
    here, there = share * moved[own], share * (inside[own] - moved[own] - heft)
    moved[own] += heft
    return here, there, share * heft


def _move_sparse(graph, weight, row, inside, moved):
    indptr, indices, data = graph
    here = there = 0.0
    for s in range(indptr[row], indptr[row + 1]):
        other, edge = indices[s], data[s]
        if moved[other]:
            here += edge
        elif inside[other] and other != row:
            there += edge
    moved[row] = 1
    return here, there, 0.0


# Move a row; its edges to moved rows, to rows not moved, to itself.
_move = chosen_by(_is_clique, _move_clique, _move_sparse)


def _reset_clique(graph, rows, moved):
    moved[:] = 0


def _reset_sparse(graph, rows, moved):
    for row in rows:
        moved[row] = 0


# Move some rows back.
_reset = chosen_by(_is_clique, _reset_clique, _reset_sparse)


@jit
def _ratio(inner, volume):
    return inner / volume if volume > 0.0 else 0.0


@jit
def conductance_cuts(node, tolerance, lo, hi, kept, threshold):
    """Cut of each of the features lo..hi-1 whose sides keep the largest shares of their edges.

    The sum over both sides of inner edges over volume is 2 minus the sum of their conductances
    in the whole graph.

    Parameters
    ----------
    node : GraphNode
    tolerance : float, by which a cut must be better than one of a lower threshold
    lo, hi : int
    kept, threshold : float64 arrays of shape (d,)
        Filled: that sum, -inf if there is no cut; and the threshold.
    """
    order, moved = node.order, np.zeros_like(node.inside)
    for f in range(lo, hi):
        kept[f], threshold[f] = -np.inf, np.inf
        parts = (order.start[f], order.middle[f], order.start[f + 1])
        for p in range(2):
            inner, volume, rest = 0.0, 0.0, node.inner
            for e in range(parts[p], parts[p + 1]):
                row = order.rows[e]
                here, there, loop = _move(node.graph, node.weight, row, node.inside, moved)
                inner += 2.0 * here + loop
                rest -= 2.0 * there + loop
                volume += node.degree[row]
                place = left_threshold(order, f, e) if p == 0 else right_threshold(order, f, e)
                if np.isnan(place):
                    continue
                found = _ratio(inner, volume) + _ratio(rest, node.volume - volume)
                is_lower = place < threshold[f] and found > kept[f] - tolerance
                if found > kept[f] + tolerance or is_lower:
                    kept[f], threshold[f] = found, place
            _reset(node.graph, order.rows[parts[p] : parts[p + 1]], moved)
