"""The report: a tree or fitted estimator as one plain dict, behind every readable export."""

import math

import numpy as np

from ..core.tree import tree_of

FORMAT = "tao-cluster report"
FORMAT_VERSION = 1


def report(model, X=None, *, feature_names=None, sample_weight=None):
    """What there is to show of a tree, as lists, dicts, numbers and strings.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count. Default: the rows an estimator was fitted to; a Tree has none.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X; weight 2 is the row twice.

    Returns
    -------
    dict
        Ready for JSON; what is not known, or does not apply to a node, is None.

        - `format`, `version`: how to read the rest.
        - `summary`: n_features, n_clusters, n_nodes, n_leaves, depth, n_parameters, n_nonzero,
          features_per_split, used_features (list of `feature`, `name`), count (rows, or their
          weight), and of an estimator cost_increase (percent; None where it is infinite),
          inertia, free_inertia and lambda.
        - `nodes`: one dict a node, in the order of their numbers: id, parent, depth, children
          ([left, right]; empty at a leaf), is_leaf, terms (list of `feature`, `name`,
          `weight`, largest weights first), threshold, cluster and histogram of a leaf, count and
          share of the rows that reach it.
        - `clusters`: one dict a cluster: cluster, leaves, size (rows, or their weight), share.

    Raises
    ------
    ValueError
        If X, `feature_names` or `sample_weight` do not fit.
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
    ([{'feature': 0, 'name': 'width', 'weight': 1.0}], 0.5)
    >>> [(part["cluster"], part["size"], part["share"]) for part in facts["clusters"]]
    [(0, 1.0, 0.25), (1, 3.0, 0.75)]
    """
    tree = tree_of(model)
    names = names_of(model, feature_names)
    counts = _node_counts(model, tree, X, sample_weight)
    nodes = [_node(tree, i, names, counts) for i in range(tree.n_nodes)]
    n_clusters = _n_clusters(model, tree)
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "summary": _summary(model, tree, names, n_clusters, nodes[0]["count"]),
        "nodes": nodes,
        "clusters": _clusters(nodes, n_clusters),
    }


def names_of(model, feature_names=None):
    """Feature names as given, else those seen in fit, else x0, x1, ...: list of str."""
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    return check_feature_names(feature_names, tree_of(model).n_features)


def check_feature_names(feature_names, n_features):
    """List of names; x0, x1, ... by default.

    Raises
    ------
    ValueError
        If the number of names is not `n_features`.
    """
    if feature_names is None:
        return [f"x{j}" for j in range(n_features)]
    names = [str(name) for name in feature_names]
    if len(names) != n_features:
        raise ValueError(f"Got {len(names)} feature names for {n_features} features.")
    return names


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


def sorted_terms(indices, weights, names):
    """Terms of a weighted sum, largest weights first: list of {feature, name, weight}."""
    order = np.lexsort((indices, -np.abs(weights)))
    return [
        {"feature": int(indices[s]), "name": names[indices[s]], "weight": float(weights[s])}
        for s in order
    ]


def _node_counts(model, tree, X, sample_weight):
    """Rows, or their weight, that reach each node; None if no rows are known."""
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight needs the rows X that it weighs.")
        return getattr(model, "node_counts_", None)
    leaves = model.apply(X)
    return tree.node_counts(leaves, check_weight(sample_weight, len(leaves)))


def _node(tree, i, names, counts):
    children = [int(tree.children_left[i]), int(tree.children_right[i])]
    is_leaf = children[0] < 0
    value = tree.leaf_value
    return {
        "id": i,
        "parent": int(tree.parent[i]) if i else None,
        "depth": int(tree.depth[i]),
        "children": [] if is_leaf else children,
        "is_leaf": is_leaf,
        "terms": sorted_terms(*tree.split(i), names),
        "threshold": None if is_leaf else float(tree.threshold[i]),
        "cluster": int(tree.leaf_label[i]) if is_leaf else None,
        "histogram": value[i].tolist() if is_leaf and value is not None else None,
        "count": None if counts is None else float(counts[i]),
        "share": None if counts is None else float(counts[i] / counts[0]),
    }


def _n_clusters(model, tree):
    """Clusters there are, also those that no leaf has."""
    value, centers = tree.leaf_value, getattr(model, "cluster_centers_", ())
    return max(int(tree.leaf_label.max()) + 1, len(centers), 0 if value is None else len(value[0]))


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
    }


def _number(model, attribute):
    """An attribute as a float that JSON has; None without it."""
    value = getattr(model, attribute, None)
    return float(value) if value is not None and math.isfinite(value) else None


def _clusters(nodes, n_clusters):
    parts = []
    for k in range(n_clusters):
        leaves = [node for node in nodes if node["cluster"] == k]
        is_counted = nodes[0]["count"] is not None
        parts.append(
            {
                "cluster": k,
                "leaves": [leaf["id"] for leaf in leaves],
                "size": math.fsum(leaf["count"] for leaf in leaves) if is_counted else None,
                "share": math.fsum(leaf["share"] for leaf in leaves) if is_counted else None,
            }
        )
    return parts
