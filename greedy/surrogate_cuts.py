"""The cut of a leaf that reduces its surrogate cost most (ExKMC), and its sums over the rows.

A label is the number of a reference centre. The surrogate cost of a tree assigns all rows of a leaf
to one label, the one with the least total cost. The saving of a row under another label is the cost
of the row under the leaf's present label minus its cost under the other label; it may be negative.
All costs are quantized (see :mod:`greedy.cuts`).

The edges of a feature are candidate thresholds, taken from the values of some rows. One pass over
the rows sums their savings, per bin between the edges and per label. The sums give the exact saving
of a cut at each edge and upper bounds of the saving of all other cuts.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from tao_cluster._utils.jit import jit
from tao_cluster._utils.matrices import spaced_rows

from .builder_input import KEPT
from .cuts import bin_sums, first_best, quantization_scale, refined_cap, search_intervals

_N_EDGES = 31  # most edges per feature; more edges give tighter bounds, but take more time
_BLOCK = 64  # features per pass over a dense X; their sums fit into the processor's cache
_FEW = 8  # features per pass over a sparse X; usually the search ends after a few


@dataclass(frozen=True, eq=False)
class SurrogateNode:
    """A leaf of m rows that has the label with the smallest cost for its rows.

    `totals` sums the savings over all rows: element i is the sum if all rows get the label
    others[i], the last element is the sum if each row gets its cheapest label.
    """

    rows: np.ndarray  # (m,) int64, the row numbers in X of the rows of the leaf
    label: int  # label with the least total cost; ties go to the lowest label
    others: np.ndarray  # (q,) int64, labels that cost less than `label` for some row
    totals: np.ndarray  # (q + 1,) float64, see above
    most: float  # upper bound of what a cut saves if each of its sides gets one label
    scale: float  # factor by which costs are multiplied before they are rounded
    cap: float  # largest quantized cost of a row


def surrogate_node(points, rows):
    """Return a leaf that gives all its rows the label with the least total cost, as in ExKMC.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array

    Returns
    -------
    SurrogateNode
    """
    weight = points.weight[rows]
    largest_sum = weight @ points.distance_range[rows]
    scale, cap = quantization_scale(largest_sum, len(rows))
    costs, savings = _label_costs(points, rows, scale, cap)
    most = refined_cap(costs.min(), weight, scale)
    if most is not None:
        scale, cap = quantization_scale(largest_sum, len(rows), 2 * most)
        costs, savings = _label_costs(points, rows, scale, cap)
    own, others = int(costs.argmin()), np.flatnonzero(savings)
    return SurrogateNode(
        rows=rows,
        label=own,
        others=others,
        totals=np.append(costs[own] - costs[others], costs[own]),
        most=min(costs[own], np.sort(savings)[-2:].sum()),
        scale=scale,
        cap=cap,
    )


def _label_costs(points, rows, scale, cap):
    """Return the total cost of some rows under each label, and the sums of positive savings.

    The savings are those against the label with the least total cost (ties: the lowest label).
    """
    step = max(1, KEPT // points.distances.shape[1])
    parts = [rows[start : start + step] for start in range(0, len(rows), step)]
    costs = sum(_excess_costs(points, part, scale, cap).sum(axis=0) for part in parts)
    savings = np.zeros(len(costs))
    for part in parts:
        excess = _excess_costs(points, part, scale, cap)
        savings += np.maximum(excess[:, [costs.argmin()]] - excess, 0.0).sum(axis=0)
    return costs, savings


def _excess_costs(points, rows, scale, cap, labels=None):
    """Return the quantized excess costs of some rows under some labels; see `greedy.cuts`."""
    labels = np.arange(points.distances.shape[1]) if labels is None else labels
    costs = np.empty((len(rows), len(labels)))
    terms = (points.distances, points.nearest, points.weight, scale, cap)
    _fill_costs(rows, labels, *terms, costs)
    return costs


@jit
def _fill_costs(rows, labels, distances, nearest, weight, scale, cap, costs):
    for r in range(rows.shape[0]):
        row, least, w = rows[r], nearest[rows[r]], weight[rows[r]]
        for c in range(labels.shape[0]):
            cost = np.rint(np.rint((distances[row, labels[c]] - least) * scale) * w)
            costs[r, c] = cost if cost < cap else cap


def _savings(points, node, places):
    """Return by how much other labels reduce the cost of some rows of a leaf.

    `places` are the positions of the rows in `node.rows`.

    Returns
    -------
    float64 array of shape (len(places), q + 1)
        Columns 0..q-1 are the savings under the q labels in `node.others`. Column q is the saving
        of each row under the label of its nearest centre, whose excess cost is 0.
    """
    labels = np.append(node.others, node.label)
    saved = _excess_costs(points, node.rows[places], node.scale, node.cap, labels)
    saved[:, :-1] *= -1.0
    saved[:, :-1] += saved[:, -1:]
    return saved


def best_surrogate_cut(points, node):
    """Find the cut of a leaf that reduces its surrogate cost most.

    After a cut each side gets its best label (Frost, Moshkovitz & Rashtchian 2020, section 3). The
    pass over the rows takes O(m q) time per feature, for m rows and q labels in `node.others`.

    Parameters
    ----------
    points : BuilderInput
    node : SurrogateNode

    Returns
    -------
    (value, feature, threshold), or None if no cut reduces the surrogate cost
        The value is minus the sum of the savings of both sides, so that lower is better.
    """
    # Only rows that cost less under another label have positive savings. The bound of an interval
    # is tighter if fewer of these rows lie in it, so that their values are good edges.
    rows = node.rows
    misplaced = rows[points.distances[rows, node.label] > points.nearest[rows]]
    n = min(_N_EDGES, len(misplaced), max(7, len(rows) // 16))
    edges = points.distinct_values(misplaced[spaced_rows(len(misplaced), n)])
    bounds = _sparse_bounds(points, node) if sp.issparse(points.X) else None
    return points.best_cut(_Search(points, node, edges, bounds).best_cut)


class _Search:
    """Search for the best cut of one leaf; `bounds` has one bound per feature of a sparse X."""

    def __init__(self, points, node, edges, bounds):
        self._points, self._node, self._edges, self._bounds = points, node, edges, bounds
        self._inverse, n_rows = points.inverse_index(node.rows), len(node.rows)
        self._column = points.kept_column(node.rows)
        self._step = max(1, KEPT // len(node.totals)) if bounds is None else n_rows
        self._kept = _savings(points, node, slice(None)) if n_rows <= self._step else None

    def best_cut(self, lo, hi):
        """Return the best cut over features lo..hi-1; its feature is -1 if no cut saves."""
        features, best, width = np.arange(lo, hi), (0.0, -1, np.inf), _BLOCK
        if self._bounds is not None:  # the largest ones first, so that most are never evaluated
            features = features[self._bounds[lo:hi] > 0]
            features = features[np.argsort(-self._bounds[features], kind="stable")]
            width = _FEW
        keeps = len(features) * (2 * _N_EDGES + 1) * len(self._node.totals) <= KEPT
        bounds, kept = [np.empty((0, _N_EDGES + 1))], []
        for start in range(0, len(features), width):
            some = features[start : start + width]
            if self._bounds is not None and -self._bounds[some[0]] > best[0]:
                break
            edges, sums = self._sums(some)
            found, within = self._cuts_at_edges(some, edges, sums)
            best = min(best, found)
            bounds.append(within)
            if keeps:
                kept.append((edges, sums))

        def search(i, interval, most):
            del most
            block, own = divmod(i, width) if keeps else (0, 0)
            edges, sums = kept[block] if keeps else self._sums(features[i : i + 1])
            return self._cut_between_edges(int(features[i]), interval, edges[own], sums[own])

        return search_intervals(np.concatenate(bounds), features, best, search)

    def _savings_at(self, places):
        is_kept = self._kept is not None
        return self._kept[places] if is_kept else _savings(self._points, self._node, places)

    def _sums(self, features):
        """Return the edges of some features, padded with inf, and the sums of savings per bin.

        Returns
        -------
        edges : float64 array of shape (F, _N_EDGES + 1)
        sums : float64 array of shape (F, 2 * _N_EDGES + 1, q + 1)
            The bins are those of :func:`greedy.cuts.bin_sums` with `marks_edges`.
        """
        values, start = self._edges
        at = start[features][:, None] + np.arange(_N_EDGES + 1)
        exists = at < start[features + 1][:, None]
        exists[:, -1] = False
        edges = np.full(at.shape, np.inf)
        edges[exists] = values[at[exists]]
        rows, sums = self._node.rows, 0.0
        for first in range(0, len(rows), self._step):
            part = slice(first, first + self._step)
            args = (rows[part], self._inverse, features, edges, self._savings_at(part))
            sums = sums + bin_sums(self._points, *args, marks_edges=True)[:, 0]
        return edges, sums

    def _cuts_at_edges(self, features, edges, sums):
        """Return the best cut at an edge of some features, and bounds of the values between edges.

        Returns
        -------
        best : (value, feature, threshold)
        bounds : float64 array of shape (F, _N_EDGES + 1)
        """
        values, bounds = np.empty((2, *sums.shape[:2]))
        _save(sums, np.zeros(sums.shape[2]), self._node.totals, values, bounds)
        at_edges, edges = values[:, 1::2], edges[:, :-1]
        at_edges[edges == np.inf] = np.inf
        where = np.nonzero(at_edges == at_edges.min())
        cuts = zip(features[where[0]].tolist(), edges[where].tolist(), strict=True)
        return (float(at_edges.min()), *min(cuts)), bounds[:, ::2]

    def _cut_between_edges(self, feature, interval, edges, sums):
        """Return the best cut of a feature between edge `interval - 1` and the next one."""
        node, low = self._node, edges[interval - 1] if interval else -np.inf
        values = self._column(feature)
        inside = np.flatnonzero((values > low) & (values < edges[interval]))
        if len(inside) == 0:
            return (np.inf, feature, np.inf)
        inside = inside[np.argsort(values[inside])]  # equal values in any order, as sums are exact
        found = np.empty((1, len(inside)))
        left = sums[: 2 * interval].sum(axis=0)
        _save(self._savings_at(inside)[None], left, node.totals, found, np.empty((1, 0)))
        return first_best(found[0], feature, values[inside])


@jit
def _save(sums, start, totals, values, bounds):
    """Write minus the saving of the cut after each bin to `values`, for each of F features.

    Parameters
    ----------
    sums : float64 array of shape (F, number of bins, q + 1)
        Sums of the savings (see :func:`_savings`) over the rows of each bin, in increasing order.
    start : float64 array of shape (q + 1,), sums over the rows below the first bin
    totals : float64 array of shape (q + 1,), sums over all rows of the leaf
    values : float64 array of shape (F, number of bins)
    bounds : float64 array of the same shape, or without columns
        Output: lower bound of the value of all cuts inside of a bin. A row that may be on either
        side saves at most what it saves under the label best for this row.
    """
    last = start.shape[0] - 1
    left = np.empty(last)
    for f in range(sums.shape[0]):
        for q in range(last):  # a slice assignment takes numba a second to compile
            left[q] = start[q]
        for b in range(sums.shape[1]):
            if bounds.shape[1]:
                at_left = at_right = 0.0
                for q in range(last):
                    at_left = max(at_left, left[q])
                    at_right = max(at_right, totals[q] - left[q] - sums[f, b, q])
                bounds[f, b] = -(at_left + at_right + sums[f, b, last])
            at_left = at_right = 0.0
            for q in range(last):
                left[q] += sums[f, b, q]
                at_left = max(at_left, left[q])
                at_right = max(at_right, totals[q] - left[q])
            values[f, b] = -(at_left + at_right)


def _sparse_bounds(points, node):
    """Return upper bounds of the saving of each feature's cuts, for a sparse X: array (d,).

    All rows with a zero lie on the same side of a cut. The rows on the other side therefore all
    have a stored (non-zero) value of the feature. Their saving is at most the sum of the savings
    under the label that is best for each row. The saving of the side with the zeros, under some
    label, is at most the saving of all rows of the leaf under this label, plus the sum of the
    losses (minus the negative savings) of the rows with a stored value.
    """
    rows, n_labels, totals = node.rows, len(node.others), node.totals[:-1]
    # If one sum of losses per feature and label takes too much memory, one sum per feature is used:
    # that of the largest loss of each row under any label.
    is_merged = points.n_features * (n_labels + 1) > KEPT
    sums, step = 0.0, max(1, KEPT // (n_labels + 1))
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        savings, stored = _savings(points, node, part), points.X[rows[part]]
        losses = np.maximum(-savings[:, :-1], 0.0)
        if is_merged:
            losses = losses.max(axis=1, initial=0.0, keepdims=True)
        is_stored = sp.csr_matrix(
            (np.ones(stored.nnz), stored.indices, stored.indptr), stored.shape
        )
        sums = sums + is_stored.T @ np.hstack([losses, savings[:, -1:]])
    most = totals.max(initial=-np.inf, keepdims=True) if is_merged else totals
    return sums[:, -1] + (most + sums[:, :-1]).max(axis=1, initial=0.0)
