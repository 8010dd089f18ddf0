"""Samples of the rows at each test, from which the page draws the distribution at a node."""

import base64
from typing import Any, NamedTuple

import numpy as np

from .._utils.matrices import as_array
from ..export.format import value_text

# Each test has a sample of at most _MOST_ROWS rows. All samples of a page together take about
# _CHARACTERS characters, but each has up to _LEAST_ROWS rows however many tests there are.
_MOST_ROWS, _LEAST_ROWS = 300, 20
_CHARACTERS = 240_000
_BYTES = 10  # of a row: two numbers and a cluster


class _Order(NamedTuple):
    """The rows of a tree in the order of its leaves, so that those of a node are consecutive.

    Parameters
    ----------
    rows : int array of shape (n,)
        Row numbers, from the leftmost leaf to the rightmost one.
    passed : float array of shape (n + 1,)
        Sum of the weights of the first rows.
    starts, ends : int arrays of shape (n_nodes,)
        Position of the first row of each node, and of the first row behind it.
    """

    rows: np.ndarray
    passed: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    @classmethod
    def from_rows(cls, rows):
        """Sort the rows with a positive weight."""
        tree, n = rows.tree, len(rows.leaf_of_row)
        weight = np.ones(n) if rows.weight is None else rows.weight
        used = np.flatnonzero(weight > 0)
        counts = tree.node_counts(rows.leaf_of_row[used]).astype(np.intp)
        starts = np.zeros_like(counts)
        for node in tree.decision_nodes:  # a parent comes before its children
            left, right = tree.children_left[node], tree.children_right[node]
            starts[left], starts[right] = starts[node], starts[node] + counts[left]
        order = used[np.argsort(starts[rows.leaf_of_row[used]], kind="stable")]
        return cls(order, np.append(0.0, np.cumsum(weight[order])), starts, starts + counts)

    def sample(self, node, most):
        """Return positions in `rows` of at most `most` rows of a node: sorted int array.

        They are evenly spaced in the order of the leaves, by weight. A heavy row can occur more
        than once. Without weights, a node with at most `most` rows has all of them.
        """
        start, end = self.starts[node], self.ends[node]
        n = min(most, end - start)
        low, high = self.passed[[start, end]]
        middles = low + (high - low) * (np.arange(n) + 0.5) / max(n, 1)
        found = np.searchsorted(self.passed, middles, side="right") - 1
        return np.clip(found, start, max(start, end - 1))


def samples(reports, rows, columns):
    """Return a sample of the rows at each test of each tree.

    Parameters
    ----------
    reports : list of dict
        Results of :func:`tao_cluster.report.report`.
    rows : list of Rows or None
        One entry per tree.
    columns : dict of list of int
        Features of the levels of each categorical column, by its name.

    Returns
    -------
    list of dict
        For each tree, the samples by node as dicts with these keys:

        - `kind`: "levels" for a test on a categorical column, "scatter" for a test of two
          features, "histogram" for other tests.
        - `n`: the number of rows at the node.
        - `n_left`: how many rows of the sample go left. They come first.
        - `clusters`: the cluster of each row, as base64 text of 16-bit numbers.
        - `axes`: for each compared number, a dict with the smallest value as `low`, the values
          minus `low` as base64 text of 32-bit numbers, and the `ends` of the axis as text, if they
          are dates. For levels, the values are positions in `columns`, and -1 for other levels.
        - `left`: for levels, the positions in `columns` of the levels that go left.
    """
    n_tests = sum(not node["is_leaf"] for facts in reports for node in facts["nodes"])
    most = int(np.clip(_CHARACTERS / (max(n_tests, 1) * _BYTES * 4 / 3), _LEAST_ROWS, _MOST_ROWS))
    return [
        {} if one is None else _of_tree(facts, one, columns, most)
        for facts, one in zip(reports, rows, strict=True)
    ]


def _of_tree(facts, rows, columns, most):
    order, found = _Order.from_rows(rows), {}
    for node in facts["nodes"]:
        if not node["is_leaf"]:
            sample = _at_test(node, rows, order, columns, most)
            if sample is not None:
                found[node["id"]] = sample
    return found


def _at_test(node, rows, order, columns, most):
    """Return the sample of a test; None without rows, or if its values exceed 32-bit numbers."""
    start, end = order.starts[node["id"]], order.ends[node["id"]]
    if start == end:
        return None
    places = order.sample(node["id"], most)
    chosen = order.rows[places]
    kind, names, values, left = _compared(node, rows.X, chosen, columns)
    axes = [_axis(name, one) for name, one in zip(names, values, strict=True)]
    if not axes or None in axes:
        return None
    return {
        "kind": kind,
        "n": int(end - start),
        "n_left": int(np.sum(places < order.ends[node["children"][0]])),
        "clusters": bytes_text(rows.tree.leaf_label[rows.leaf_of_row[chosen]].astype("<u2")),
        "axes": axes,
    } | ({} if left is None else {"left": left})


def _compared(node, X, chosen, columns) -> tuple[str, list, list, Any]:
    """Return the kind of a sample, names and values per axis, and the levels that go left."""

    def values_of(features):
        return np.asarray(as_array(X[chosen][:, features]), dtype=np.float64)

    levels, terms = node["levels"], node["terms"]
    if levels is not None:
        features = columns.get(levels["column"], [])
        is_here = values_of(features) != 0
        codes = np.where(is_here.any(axis=1), is_here.argmax(axis=1), -1.0)
        listed, is_left = set(levels["features"]), levels["is_left"]
        left = [i for i, j in enumerate(features) if (j in listed) == is_left]
        return "levels", [""], [codes], left if is_left else [-1, *left]
    values = values_of([term["feature"] for term in terms])
    names = [term["name"] for term in terms]
    if len(terms) <= 2:
        return "scatter" if len(terms) == 2 else "histogram", names, list(values.T), None
    with np.errstate(over="ignore", invalid="ignore"):
        total = values @ np.array([term["weight"] for term in terms])
    return "histogram", [""], [total], None


def _axis(name, values):
    """Return the values on an axis as a dict; None if 32-bit numbers cannot hold them."""
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore", invalid="ignore"):
        offsets = (values - low).astype("<f4")
    if not (np.isfinite(low) and np.isfinite(offsets).all()):
        return None
    ends = [value_text(name, value) for value in (low, high)]
    return {"low": low, "values": bytes_text(offsets)} | ({"ends": ends} if all(ends) else {})


def bytes_text(array):
    """Return the bytes of an array as base64 text, in the byte order of the array."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
