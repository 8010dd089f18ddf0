"""The compact data of a page: trees, pictures of their nodes, and samples of the rows."""

import base64
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._utils.matrices import as_array, ranges, spaced_rows
from ..columns.names import Abbreviation, by_column, level_features, printable
from ..export.digits import threshold_text
from ..export.format import (
    condition_parts,
    count_text,
    cut_text,
    factor_name,
    typeset,
    value_text,
)
from ..inspection.palette import SIGNED_STOPS, cluster_color, hex_color, readable, text_color
from ..inspection.rows import picture_kind

_MOST_AT_LEAF = 12  # maximum number of words or bars shown per leaf
# Rows whose decision path the page can show: from _LEAST_ROWS to _MOST_ROWS evenly spaced rows, as
# many as fit into about _ROW_CHARACTERS characters, and the first row of each leaf.
_MOST_ROWS, _LEAST_ROWS = 1000, 20
_ROW_CHARACTERS = 130_000
# Each test has a sample of at most _MOST_SAMPLED rows. All samples of a page together take about
# _CHARACTERS characters, but each has up to _LEAST_ROWS rows however many tests there are.
_MOST_SAMPLED, _CHARACTERS = 300, 240_000
_BYTES = 10  # of a sampled row: two numbers and a cluster
_NARROW = 200  # a page includes all features if there are at most this many
_LEVELS = 256  # number of distinct values that one byte can represent
_SUMMARY: tuple[str, ...] = ("n_leaves", "depth", "n_parameters", "features_per_split")
_SUMMARY += ("cost_increase", "explains_labels", "noise", "lambda")


def packed(reports, trees, names, rows, *, image_shape=None, scaled=False):
    """Return the data of a page as dicts, lists, numbers and strings, ready for JSON.

    Pages of images, and pages of at most 200 features, include all features. Other pages include
    only the features that a test uses or a leaf shows, and renumber these features. Weights,
    thresholds and values of rows are exact. Numbers that are only displayed are rounded.

    Parameters
    ----------
    reports : list of dict
        Results of :func:`tao_cluster.report.report`.
    trees : list of Tree
    names : list of str
        Names of all features.
    rows : list of Rows or None
        One entry per tree, over the same X; None without X.
    image_shape : (height, width), optional
    scaled : bool, default=False

    Returns
    -------
    dict
    """
    first = rows[0]
    kind = picture_kind(trees[0], first, image_shape, names)
    tops = [{} if one is None else _tops(kind, one, names) for one in rows]
    carried = _carried(kind, trees, tops, len(names))
    place = {feature: here for here, feature in enumerate(carried.tolist())}
    levels = {j: level for j, level in level_features(trees[0], names).items() if j in place}
    columns = by_column(levels)
    drawn = samples(reports, rows, {name: [*features] for name, features in columns.items()})
    models = [_model(*parts, place) for parts in zip(reports, rows, tops, drawn, strict=True)]
    shown = [factor_name(names[j]) for j in carried]
    abbreviation = Abbreviation.from_names(shown)
    is_all = len(carried) == len(names)
    return {
        "kind": kind,
        "scaled": scaled,
        "models": models,
        "n_features": len(names),
        "features": None if is_all else carried.tolist(),
        "names": shown,
        "abbreviation": {"prefix": abbreviation.prefix, "note": abbreviation.note},
        "categories": [
            {
                "name": printable(name),
                "features": [place[j] for j in features],
                "levels": [names[j].level for j in features],
                "ones": [*features.values()],
            }
            for name, features in columns.items()
        ],
        "image_shape": None if image_shape is None else [int(side) for side in image_shape],
        "limits": None if first is None or kind != "image" else list(first.limits),
        "colors": SIGNED_STOPS,
        "classes": [] if first is None else first.class_names,
        "rows": None if first is None else _rows(rows, carried),
    }


def _carried(kind, trees, tops, n_features):
    """Return the features that the page includes, in increasing order."""
    if kind == "image" or n_features <= _NARROW:
        return np.arange(n_features)
    used = [tree.used_features for tree in trees]
    shown = [top["of"] for leaves in tops for top in leaves.values()]
    return np.unique(np.concatenate([*used, *shown]).astype(np.int64))


# ---------------------------------------------------------------- trees


def _model(facts, rows, tops, drawn, place):
    """Return the nodes, the clusters with their colours, and the summary of a tree as a dict."""
    nodes = [_node(node, place, rows, tops) for node in facts["nodes"]]
    for node, sample in drawn.items():
        nodes[node]["sample"] = sample
    clusters = []
    for part in facts["clusters"]:
        color = cluster_color(part["cluster"], part["name"])
        shades = {
            "color": hex_color(color),
            "ink": text_color(color),
            "line": hex_color(readable(color)),
        }
        clusters.append({"name": part["name"], **shades})
    is_weighted = facts["summary"]["weight"] is not None
    summary = {key: facts["summary"].get(key) for key in _SUMMARY}
    return {"summary": summary, "nodes": nodes, "clusters": clusters, "is_weighted": is_weighted}


def _node(node, place, rows, tops):
    size = None if node["rows"] is None else count_text(node)
    known = {"count": node["count"], "share": _short(node["share"]), "size": size}
    if not node["is_leaf"]:
        return known | _test(node, place)
    known |= {"cluster": node["cluster"], "histogram": _shorts(node["histogram"])}
    if rows is not None and rows.classes is not None:
        known["classes"] = _shorts(rows.class_shares(node["id"]))
    top = tops.get(node["id"])
    if top is not None:
        known["top"] = top | {"of": [place[j] for j in top["of"].tolist()]} if "of" in top else top
    return known


def _test(node, place):
    """Return a test: its terms as lists, in the order of decreasing effect, and its text."""
    terms, place_of_cut, written, cut = node["terms"], cut_text(node), None, None
    spreads = [term["spread"] for term in terms]
    if place_of_cut is not None:
        share = f"{100 * node['density']:.0f} % as dense there as at the lower peak beside it"
        cut = f"The cut lies {place_of_cut}: the rows are {share}."
    if node["levels"] is not None or len(terms) == 1:  # conditions of both sides
        left, right = (condition_parts(node, 3, is_left=side) for side in (True, False))
        written = {"left": " ".join(left), "right": " ".join(right), "lines": list(left)}
    return {
        "children": node["children"],
        "threshold": node["threshold"],
        "limit": typeset(threshold_text(node, 3)),
        "features": [place[term["feature"]] for term in terms],
        "weights": bytes_text(np.array([term["weight"] for term in terms], "<f8")),
        "spreads": None if None in spreads else _shorts(spreads),
        "test": written,
        "cut": cut,
    }


def _short(value):
    """Round a number that is only displayed to four digits; None stays None."""
    return None if value is None else float(f"{value:.4g}")


def _shorts(values):
    return None if values is None else [_short(value) for value in values]


# ---------------------------------------------------------------- leaves


def _tops(kind, rows, names):
    """Return the summary of the mean of each leaf that has rows, by node number."""
    tree = rows.tree
    leaves = [int(leaf) for leaf in tree.leaves if rows.counts[leaf] > 0]
    shown = {leaf: _top(kind, rows, leaf, names) for leaf in leaves}
    vars(rows).pop("means", None)  # cached means of many trees could fill the memory
    return shown


def _top(kind, rows, leaf, names):
    """Return what the page shows of the mean row of a leaf, as a dict.

    For the kind "image", these are the pixels. For "words", these are the features with the largest
    means. Otherwise, these are the features whose means differ most from those of all rows, with
    the text of both means, and with names where these differ from those in sums.
    """
    if kind == "image":  # one byte per pixel, from the smallest to the largest value of X
        low, high = rows.limits
        scale = 255 / (high - low) if high > low else 0.0
        return {"image": bytes_text(np.round((rows.means[leaf] - low) * scale).astype(np.uint8))}
    if kind == "words":
        most, means = rows.words(leaf, _MOST_AT_LEAF)
        return {"of": most, "values": _shorts(means)}
    found = rows.differences(leaf, _MOST_AT_LEAF, names)
    written = [
        None if each.name == factor_name(names[each.feature]) else each.name for each in found
    ]
    return {
        "of": np.array([each.feature for each in found]),
        "values": _shorts(each.deviation for each in found),
        "texts": [each.text for each in found],
    } | ({"names": written} if any(written) else {})


# ---------------------------------------------------------------- rows


def _rows(rows, carried):
    """Return some rows: evenly spaced ones, and the first row of every leaf of every tree.

    If the rows are dense and have at most 256 distinct values, they are stored as one byte per
    feature. Otherwise only their non-zero values are stored.
    """
    X = rows[0].X
    n = X.shape[0]
    firsts = [np.unique(one.leaf_of_row, return_index=True)[1] for one in rows]
    some = X[spaced_rows(n, _LEAST_ROWS)][:, carried]
    levels = np.unique(some.data if sp.issparse(some) else some)
    cost = _cost(some, len(levels))
    most = int(np.clip(_ROW_CHARACTERS / cost, _LEAST_ROWS, _MOST_ROWS))
    chosen = np.unique(np.concatenate([spaced_rows(n, most), *firsts]))
    classes = None if rows[0].classes is None else rows[0].classes[chosen].tolist()
    return {
        "ids": chosen.tolist(),
        "n_rows": n,
        "classes": classes,
        "ranges": [side[carried].tolist() for side in ranges(X)],
    } | _values(X[chosen][:, carried])


def _cost(X, n_levels):
    """Return the approximate number of characters that a row of X takes in the page."""
    if not sp.issparse(X) and n_levels <= _LEVELS // 2:
        return 4 / 3 * X.shape[1] + 20
    n_values = X.nnz if sp.issparse(X) else np.count_nonzero(X)
    return 16 * n_values / X.shape[0] + 40


def _values(X):
    if not sp.issparse(X):
        levels, codes = np.unique(X, return_inverse=True)
        if len(levels) <= _LEVELS:
            codes = codes.reshape(X.shape).astype(np.uint8)
            return {"levels": levels.astype(float).tolist(), "codes": bytes_text(codes)}
    values = []
    for i in range(X.shape[0]):
        row = X[i].toarray()[0] if sp.issparse(X) else X[i]
        used = np.flatnonzero(row)
        values.append([used.tolist(), bytes_text(row[used].astype("<f8"))])
    return {"values": values}


# ---------------------------------------------------------------- samples of the rows at tests


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
    most = int(
        np.clip(_CHARACTERS / (max(n_tests, 1) * _BYTES * 4 / 3), _LEAST_ROWS, _MOST_SAMPLED)
    )
    found = []
    for facts, one in zip(reports, rows, strict=True):
        order = None if one is None else _Order.from_rows(one)
        tests = [node for node in facts["nodes"] if order is not None and not node["is_leaf"]]
        drawn = {node["id"]: _at_test(node, one, order, columns, most) for node in tests}
        found.append({node: sample for node, sample in drawn.items() if sample is not None})
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
