"""The report: a tree or fitted estimator as one plain dict, behind every readable export."""

import math

import numpy as np

from ._utils.matrices import check_rows
from .columns.names import printable
from .columns.view import numbers_of, shown
from .tree import tree_of
from .tree.conditions import Condition
from .tree.routing import kernel_arrays
from .tree.split_statistics import stds_and_gaps

__all__ = [
    "report",
]

FORMAT = "tao-cluster report"
FORMAT_VERSION = 1

# How far a shown threshold may be from the exact one, as shares of:
_OF_SPREAD = 1e-3
_OF_ROWS = 0.999  # the gap to the next row, which itself is on the other side
_OF_GAP = 0.25  # the gap to the next threshold; below a half, thresholds keep their order


def report(model, X=None, *, feature_names=None, sample_weight=None, scaled=False):
    """What there is to show of a tree, as lists, dicts, numbers and strings.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count. Default: the rows an estimator was fitted to; a Tree has none.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X; weight 2 is the row twice.
    scaled : bool, default=False
        Whether weights are shown times the spread of their feature, as `shown` holds them; then
        they can be compared where features have different units.

    Returns
    -------
    dict
        Ready for JSON; what is not known, or does not apply to a node, is None.

        - `format`, `version`: how to read the rest.
        - `summary`: n_features, n_clusters, n_nodes, n_leaves, depth, n_parameters, n_nonzero,
          features_per_split, used_features (list of `feature`, `name`), count (rows, or their
          weight), and of an estimator cost_increase (percent; None where it is infinite),
          inertia, free_inertia and lambda;
          explains_labels (whether labels were given: cost_increase is then the percentage of rows
          that have another one).
        - `nodes`: one dict a node, in the order of their numbers: id, parent, depth, children
          ([left, right]; empty at a leaf), is_leaf, terms (list of `feature`, `name`,
          `weight`, `spread`, `shown`, largest effects first), threshold, tolerance (how far what
          texts show of it may be from it, in units of the feature or sum), cluster, its name and
          the histogram of a leaf, count and share of the rows that reach it, counted
          ("rows"; "labelled rows" where the fit left out rows without a label).
        - `clusters`: one dict a cluster: cluster, name, leaves, size (rows, or their weight),
          share.

        The *spread* of a feature at a node is its standard deviation over the node's rows, its
        *effect* |weight| times spread. Where no rows are known (a Tree without X, a node that no
        row reaches) spread is None and the effect |weight|. `shown` is the weight as texts and
        pictures give it: itself, or with `scaled` times the spread where that is known.

    Raises
    ------
    ValueError
        If X, `feature_names` or `sample_weight` do not fit, or if `scaled` meets a tree without
        rows.
    TypeError
        If `model` is neither a Tree nor an estimator with one.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.report import report
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [0.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> facts = report(tree, [[0.0], [1.0], [2.0], [3.0]], feature_names=["width"])
    >>> facts["nodes"][0]["terms"], facts["nodes"][0]["threshold"]
    ([{'feature': 0, 'name': 'width', 'weight': 1.0, 'spread': 1.11803399, 'shown': 1.0}], 0.5)
    >>> [(part["cluster"], part["size"], part["share"]) for part in facts["clusters"]]
    [(0, 1.0, 0.25), (1, 3.0, 0.75)]
    """
    model, names = shown(model, feature_names)
    tree = tree_of(model)
    counts, spreads, gaps = _of_rows(model, tree, X, sample_weight)
    labels = cluster_names(model)
    nodes = [
        _node(tree, i, counts, labels) | {"terms": terms_at(tree, i, names, spreads, scaled)}
        for i in range(tree.n_nodes)
    ]
    allowed = _tolerances(tree, nodes, gaps)
    counted = _counted(model) if X is None else "rows"
    nodes = [n | {"tolerance": allowed.get(n["id"]), "counted": counted} for n in nodes]
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "summary": _summary(model, tree, names, len(labels), nodes[0]["count"]),
        "nodes": nodes,
        "clusters": _clusters(nodes, labels),
    }


def check_weight(sample_weight, n_rows):
    """Weights of some rows: float64 array of shape (n_rows,), ones by default.

    Raises
    ------
    ValueError
        If they are not one number a row, of at least 0 and not all 0.
    """
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    if weight.shape != (n_rows,) or not np.all(weight >= 0) or not weight.any():
        raise ValueError(
            f"sample_weight must be {n_rows} numbers, one a row, of at least 0 and not all 0."
        )
    return weight


def cluster_names(model):
    """Names of the clusters: "cluster 0", ..., or the labels that the model explains, printable.

    Parameters
    ----------
    model : Tree, or fitted estimator; one with `classes_` has labels of its own

    Returns
    -------
    list of str
        Also of clusters that no leaf has.
    """
    classes = getattr(model, "classes_", None)
    if classes is not None:
        return [printable(c if isinstance(c, str) else f"class {c}") for c in classes]
    tree, centers = tree_of(model), getattr(model, "cluster_centers_", None)
    histogram = None if tree.leaf_value is None else tree.leaf_value[0]
    sizes = [len(values) for values in (centers, histogram) if values is not None]
    return [f"cluster {k}" for k in range(max(int(tree.leaf_label.max()) + 1, *sizes, 0))]


def terms_at(tree, node, names, spreads=None, scaled=False):
    """Terms of the sum that a node tests, largest effects first; see :func:`report`.

    Parameters
    ----------
    tree : Tree
    node : int
    names : list of str
    spreads : float64 array of shape (n_nonzero,), optional
    scaled : bool

    Returns
    -------
    list of dict, ties to the lowest feature

    Raises
    ------
    ValueError
        If terms are to be scaled by spreads that are not known.
    """
    if scaled and spreads is None:
        raise ValueError(
            "scaled=True multiplies weights by the spread of their feature over rows: give X, or a "
            "fitted estimator."
        )
    indices, weights = tree.split(node)
    here = slice(*tree.split_indptr[node : node + 2])
    spreads = np.full(len(weights), np.nan) if spreads is None else spreads[here]
    with np.errstate(over="ignore"):  # of weights near the largest float: infinite, and first
        effects = weights * np.where(np.isnan(spreads), 1.0, spreads)
    shown = effects if scaled else weights
    return [
        {
            "feature": int(indices[s]),
            "name": names[indices[s]],
            "weight": float(weights[s]),
            "spread": None if np.isnan(spreads[s]) else float(spreads[s]),
            "shown": float(shown[s]),
        }
        for s in np.lexsort((indices, -np.abs(effects)))
    ]


def effect(term):
    """Weight times spread of a term, where that is known, with the sign of the weight."""
    return term["weight"] * (1.0 if term["spread"] is None else term["spread"])


def _counted(model):
    """What the counts of a fit are of: rows, or only those with a label."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "rows"
    given = getattr(model, "free_labels_", classes)
    return "labelled rows" if {*given.tolist()} - {*classes.tolist()} else "rows"


def _of_rows(model, tree, X, sample_weight):
    """Rows, or their weight, that reach each node, spreads and gaps; None without rows."""
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight needs the rows X that it weighs.")
        known = ("node_counts_", "split_stds_", "split_gaps_")
        return tuple(getattr(model, name, None) for name in known)
    leaves = model.apply(X)
    weight = check_weight(sample_weight, len(leaves))
    rows = tree, kernel_arrays(check_rows(numbers_of(model, X))), leaves, weight
    return tree.node_counts(leaves, weight), *stds_and_gaps(*rows)


def _node(tree, i, counts, labels):
    children = [int(tree.children_left[i]), int(tree.children_right[i])]
    is_leaf = children[0] < 0
    value = tree.leaf_value
    return {
        "id": i,
        "parent": int(tree.parent[i]) if i else None,
        "depth": int(tree.depth[i]),
        "children": [] if is_leaf else children,
        "is_leaf": is_leaf,
        "threshold": None if is_leaf else float(tree.threshold[i]),
        "cluster": int(tree.leaf_label[i]) if is_leaf else None,
        "name": labels[tree.leaf_label[i]] if is_leaf else None,
        "histogram": value[i].tolist() if is_leaf and value is not None else None,
        "count": None if counts is None else float(counts[i]),
        "share": None if counts is None else float(counts[i] / counts[0]),
    }


def _summary(model, tree, names, n_clusters, count):
    return {
        "n_features": tree.n_features,
        "n_clusters": n_clusters,
        "n_nodes": tree.n_nodes,
        "n_leaves": tree.n_leaves,
        "depth": tree.max_depth,
        "n_parameters": tree.n_parameters,
        "n_nonzero": tree.n_nonzero,
        "features_per_split": float(tree.features_per_split),
        "used_features": [{"feature": int(j), "name": names[j]} for j in tree.used_features],
        "count": count,
        "cost_increase": _number(model, "cost_increase_"),
        "inertia": _number(model, "inertia_"),
        "free_inertia": _number(model, "free_inertia_"),
        "lambda": _number(model, "best_lambda_"),
        "explains_labels": getattr(model, "classes_", None) is not None,
    }


def _number(model, attribute):
    """An attribute as a float that JSON has; None without it."""
    value = getattr(model, attribute, None)
    return float(value) if value is not None and math.isfinite(value) else None


def _clusters(nodes, labels):
    """The leaves of each cluster, and its rows; None where they are not known."""
    parts = [{"cluster": k, "name": name, "leaves": []} for k, name in enumerate(labels)]
    for node in nodes:
        if node["is_leaf"]:
            parts[node["cluster"]]["leaves"].append(node["id"])
    is_counted = nodes[0]["count"] is not None
    for part in parts:
        for total, of_leaf in (("size", "count"), ("share", "share")):
            values = [nodes[leaf][of_leaf] for leaf in part["leaves"]]
            part[total] = math.fsum(values) if is_counted else None
    return parts


def _tolerances(tree, nodes, gaps=None):
    """The largest errors of shown thresholds.

    Parameters
    ----------
    tree : Tree
    nodes : list of dict, the nodes of its report with their terms and counts
    gaps : float array of shape (n_nodes,), optional
        `split_gaps_` of a fitted estimator.

    Returns
    -------
    dict of float, by node
        In units of the feature, or of the sum of several. Nodes whose threshold may be shown with
        any error, since neither rows nor other thresholds of it are known, have no entry.

    Notes
    -----
    A quarter of the distance to the next threshold of the same feature or sum, and the gap to the
    next row; where that is not known, a thousandth of the spread: of a sum's largest term, or of a
    feature over the number of rows, which is a thousandth of what usually is between neighbouring
    rows.
    """
    conditions = {}
    for node in tree.decision_nodes:
        condition = Condition.from_tree(tree, node)
        if len(condition.indices):
            conditions.setdefault(condition.sum, []).append(condition)
    found = {}
    for group in conditions.values():
        limits = [c.threshold if c.bound is None else c.bound.value for c in group]
        ordered, place = np.unique(limits, return_inverse=True)
        apart = np.diff(ordered, prepend=-np.inf, append=np.inf)
        near = np.minimum(apart[:-1], apart[1:])[place]
        for condition, distance in zip(group, near.tolist(), strict=True):
            errors = [_OF_GAP * distance] if math.isfinite(distance) else []
            gap = math.nan if gaps is None else gaps[condition.node]
            errors += _error_by_rows(nodes[condition.node]) if math.isnan(gap) else [_OF_ROWS * gap]
            if errors:
                found[condition.node] = min(errors)
    return found


def _error_by_rows(node):
    """What the rows of a node allow, in a list; empty where they do not vary or are not known."""
    terms = node["terms"]
    if len(terms) == 1:
        size = (terms[0]["spread"] or 0.0) / max(node["count"] or 1.0, 1.0)
    else:
        size = max(abs(term["weight"]) * (term["spread"] or 0.0) for term in terms)
    return [_OF_SPREAD * size] if size else []
