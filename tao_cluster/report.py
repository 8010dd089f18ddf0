"""A tree or fitted estimator as one plain dict, from which all readable exports are made."""

import math
from collections import Counter
from decimal import Decimal

import numpy as np
from sklearn.utils.validation import _num_samples

from ._utils.frames import check_aligned
from ._utils.matrices import check_kind, check_rows, ranges
from ._utils.warnings import listed
from .columns.names import level_features, printable
from .columns.view import numbers_of, shown
from .tree import tree_of
from .tree.conditions import Condition, level_sets
from .tree.routing import kernel_arrays
from .tree.split_statistics import split_densities, stds_and_sides

__all__ = ["name_clusters", "report"]

FORMAT = "tao-cluster report"
FORMAT_VERSION = 1

# Displays round a threshold by at most this share of the distance to the next threshold; less than
# 0.5 keeps their order.
_OF_GAP = 0.25
# Attributes of a fitted model with what is known of its rows.
_KNOWN = ("split_stds_", "split_sides_", "_column_range")
MOST_DECIMALS = 6  # values with more decimals count as continuous


def report(model, X=None, *, feature_names=None, sample_weight=None, scaled=False):
    """Return all facts about a tree that displays show, as dicts, lists, numbers and strings.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count. The default is the rows that an estimator was fitted to; a Tree has none.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X. A row of weight 2 counts twice, a row of weight 0 not at all.
    scaled : bool, default=False
        Multiply the weights in `shown` by the standard deviation of their feature at the node, so
        that they are comparable between features with different units.

    Returns
    -------
    dict
        It can be written as JSON. A value that is unknown, or does not apply to a node, is None.

        - `format`, `version`: name and version of this format.
        - `summary`: n_features, n_clusters, n_nodes, n_leaves, depth, n_parameters, n_nonzero,
          features_per_split, used_features (list of dicts with `feature` and `name`), and rows,
          weight and count as for a node. For an estimator also cost_increase (percent; None if it
          is infinite), inertia, free_inertia, lambda, and noise (number of rows that were left out
          because their label is -1). If `explains_labels` is true, the estimator was fitted to
          given labels, and cost_increase is the percentage of the weight of the rows with another
          label.
        - `nodes`: one dict per node, in the order of the node numbers, as in the table below.
        - `clusters`: one dict per cluster with cluster (its number; -1 for "no segment", the last),
          name, leaves (node numbers), size (as `count` of a node), rows, weight, share and counted.

        ============ ========================================================================
        key          value at a node
        ============ ========================================================================
        id, parent   node numbers; the root has no parent
        depth        number of tests above the node
        children     [left, right], empty at a leaf
        is_leaf      bool
        terms        list of dicts with `feature`, `name`, `weight`, `spread` and `shown`, in the
                     order of decreasing effect
        threshold    of the test
        levels       of a test that sends some levels of a categorical column to one side, and all
                     other levels to the other side: dict with `column`, the `names` and `features`
                     of the listed levels, and `is_left`, whether the listed levels go left
        between      [low, high], between which a number may be shown for the threshold, so that
                     all rows stay on their side; in units of the feature or of the sum
        decimals     number of decimals of the values of the feature, of a test of one feature
        ranges       [smallest, largest] value of the feature of each term
        density      how dense the rows are at the threshold, as a share of the lower of the peaks
                     on its sides: at most 0.5 in a gap, near 1 in a crowd
        cluster      number of the cluster of a leaf
        name         name of the cluster
        histogram    shares of the free clusters in a leaf
        rows         number of rows that reach the node
        weight       sum of their sample weights; None if all rows have weight 1
        count        `weight`, or `rows` if there are no sample weights
        share        `count` as a share of that of the root
        counted      "rows", or "labelled rows" if rows without a label were left out of the fit
        ============ ========================================================================

        The `spread` of a feature at a node is its standard deviation over the rows of the node.
        The *effect* of a term is |weight| times spread. If no rows are known (a Tree without X, or
        a node that no row reaches), spread is None and the effect is |weight|. `shown` is the
        weight that displays print: the weight itself or, with `scaled`, the weight times spread.

    Raises
    ------
    ValueError
        If X, `feature_names` or `sample_weight` do not fit the tree, or if `scaled` is true and no
        rows are known.
    TypeError
        If `model` is neither a Tree nor a fitted estimator with one.

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
    model, names = shown(model, feature_names, X)
    tree = tree_of(model)
    sizes, spreads, sides, observed, densities = _of_rows(model, tree, X, sample_weight)
    labels = list(zip(cluster_numbers(model), cluster_names(model), strict=True))
    is_weighted = sizes is not None and not np.array_equal(*sizes[:2])
    nodes = [
        _node(tree, i, labels)
        | _size_at(sizes, i, is_weighted)
        | {"terms": terms_at(tree, i, names, spreads, scaled)}
        for i in range(tree.n_nodes)
    ]
    decimals = decimals_of_columns(model, tree)
    limits = intervals(tree, sides, decimals)
    sets = level_sets(tree, level_features(model, names))
    for node in nodes:
        i, terms = node["id"], node["terms"]
        node["between"] = [float(end) if math.isfinite(end) else None for end in limits[i]]
        node["decimals"] = decimals.get(terms[0]["feature"]) if len(terms) == 1 else None
        node["ranges"] = _ranges(terms, observed)
        is_known = densities is not None and not np.isnan(densities[i])
        node["density"] = float(densities[i]) if is_known else None
        node["levels"] = _listed(sets[i], names) if i in sets else None
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "summary": _summary(model, tree, names, len(labels), nodes[0]),
        "nodes": nodes,
        "clusters": _clusters(nodes, labels),
    }


def check_weight(sample_weight, X):
    """Return checked weights of the rows of X: float64 array of shape (n,), ones by default.

    Raises
    ------
    ValueError
        If there is not one number per row in the order of X, if one is negative, or if all are 0.
    """
    check_kind(sample_weight, "sample_weight")
    check_aligned(X, sample_weight=sample_weight)
    n_rows = _num_samples(X)
    weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight, np.float64)
    is_valid = weight.shape == (n_rows,) and np.all((weight >= 0) & (weight < np.inf))
    if not is_valid or not weight.any():
        raise ValueError(
            f"sample_weight must be {n_rows} finite numbers, one per row, none negative and not "
            "all 0."
        )
    return weight


def cluster_names(model):
    """Return the names of the clusters for displays.

    Parameters
    ----------
    model : Tree or fitted estimator
        Names that :func:`name_clusters` has not set are "cluster 0", ... or, if the estimator has
        `classes_`, the labels that it explains: strings as they are, and "class 3" for a number.

    Returns
    -------
    list of str
        One printable name per cluster, also for clusters without a leaf.
    """
    return [printable(name) for name in _names(model)]


def _names(model):
    """Return the names of the clusters as they were given, which may not be printable."""
    given = getattr(model, "cluster_names_", None)
    return given or [
        label if isinstance(label, str) else _default_name(model, label) for label in _labels(model)
    ]


def _default_name(model, label):
    """Return the name of a cluster or label that is no string."""
    explains_labels = getattr(model, "classes_", None) is not None
    if label == -1:  # as of DBSCAN and HDBSCAN; trimmed rows have no cluster
        return "noise" if explains_labels else "no segment"
    return f"class {label}" if explains_labels else f"cluster {label}"


def _labels(model):
    """Return what `predict` returns for each cluster: numbers, -1, or explained labels; list."""
    classes = getattr(model, "classes_", None)
    return cluster_numbers(model) if classes is None else list(classes)


def cluster_numbers(model):
    """Return the public number of each cluster: 0, 1, ..., and -1 for rows without a cluster."""
    tree, centers = tree_of(model), getattr(model, "cluster_centers_", None)
    if hasattr(model, "trimmed_share_"):
        return [*range(len(centers)), -1]
    histogram = None if tree.leaf_value is None else tree.leaf_value[0]
    known = [getattr(model, "classes_", None), centers, histogram]
    sizes = [len(values) for values in known if values is not None]
    return list(range(max(int(tree.leaf_label.max()) + 1, *sizes, 0)))


def cluster_values(model, *, names=True):
    """Return what exports to other programs write for each cluster: list.

    Parameters
    ----------
    model : Tree or fitted estimator
    names : bool, default=True
        Whether the clusters of a model that :func:`name_clusters` has named are written by name.
        Otherwise, and without names, they are numbers or the labels that the model explains.
    """
    return _names(model) if names and hasattr(model, "cluster_names_") else _labels(model)


def name_clusters(model, names):
    """Name the clusters, so that all displays and exports show the names.

    The names are stored in the attribute `cluster_names_`, also in saved files. `predict` and ONNX
    models still return numbers or, if the model explains labels, the labels. A new fit removes the
    names, because it may number the clusters in another way.

    Parameters
    ----------
    model : fitted estimator
    names : dict or list of str
        A dict has one name per cluster to be named, for example ``{0: "Loyal", 3: "At risk"}``.
        Its keys are the numbers of clusters or, if the model explains labels, the labels, also as
        strings, as in JSON. Other clusters keep the name that they have. A list names all
        clusters, in the order of their numbers or of `classes_`.

    Returns
    -------
    model

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If there is no such cluster, if a list has another length than the number of clusters, or
        if a name is empty, not a string, or the name of two clusters. The model keeps the names
        that it has.

    Examples
    --------
    >>> from greedy import IMM
    >>> model = IMM(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> large = int(model.predict([[9.0]])[0])
    >>> print(model.name_clusters({large: "Large"}).to_rules()[1])
    if x0 > 4 then Large (2 rows, 50.0 %)
    """
    tree_of(model)  # raises NotFittedError if the model is not fitted
    model.cluster_names_ = checked_names(names, _labels(model), _names(model))
    return model


def checked_names(names, labels, current):
    """Return the names of all clusters, with some new ones: list of str.

    Parameters
    ----------
    names : dict or list of str, the new names; see :func:`name_clusters`
    labels : list, the numbers of the clusters or the labels that a model explains
    current : list of str, the names that the clusters have

    Raises
    ------
    ValueError
        If the names are not allowed.
    """
    if hasattr(names, "keys"):
        known, texts = [*labels], {str(label): label for label in labels}
        names = {key if key in known else texts.get(key, key): name for key, name in names.items()}
        unknown = [key for key in names if key not in known]
        if unknown:
            raise ValueError(
                f"There is no cluster {listed(map(repr, unknown), quote=False)} to be named; the "
                f"clusters are {listed(known, quote=False, most=20)}."
            )
        names = [names.get(label, name) for label, name in zip(labels, current, strict=True)]
    elif not isinstance(names, list | tuple | np.ndarray):
        raise ValueError(
            f'Names must be a dict such as {{0: "Loyal"}} or a list, got {names!r:.80}.'
        )
    if -1 in labels and len(names) == len(labels) - 1:  # those of the clusters alone
        names = np.insert(
            np.array(names, dtype=object), labels.index(-1), current[labels.index(-1)]
        )
    if len(names) != len(labels):
        raise ValueError(
            f"Got {len(names)} names for {len(labels)} clusters; a dict can name some of them."
        )
    wrong = [name for name in names if not isinstance(name, str) or not name.strip()]
    if wrong:
        raise ValueError(f"Names of clusters must be strings that are not empty, got {wrong[0]!r}.")
    times = Counter(" ".join(printable(name).split()) for name in names)
    twice = [name for name, count in times.items() if count > 1]
    if twice:
        raise ValueError(
            f"Two clusters would have the name {listed(twice)}; give each cluster its own name."
        )
    return list(map(str, names))


def position_of(model, k):
    """Return the number of cluster k: a number, a label that the model explains, or a name.

    Raises
    ------
    ValueError
        If there is no such cluster.
    """
    if np.ndim(k) > 0:
        raise ValueError(f"k must be a cluster, not a {type(k).__name__}: give rows as X=... or x.")
    labels, names = np.asarray(_labels(model)).tolist(), cluster_names(model)
    for known in (labels, names, [*map(str, labels)]):
        if k in known:
            return known.index(k)
    said = f"labels are {labels}"
    if labels == list(range(len(labels))) and not hasattr(model, "classes_"):
        said = f"clusters are 0..{len(labels) - 1}"
    said += f", or {listed(names, most=20)}" if hasattr(model, "cluster_names_") else ""
    raise ValueError(f"The {said}, got {k!r}.")


def terms_at(tree, node, names, spreads=None, scaled=False):
    """Return the terms of the weighted sum of a node; see :func:`report`.

    Parameters
    ----------
    tree : Tree
    node : int
        Node number.
    names : list of str
        Names of all features.
    spreads : float64 array of shape (n_nonzero,), optional
        Standard deviations, in the order of ``tree.split_weights``.
    scaled : bool, default=False
        Whether `shown` is the weight times the standard deviation.

    Returns
    -------
    list of dict
        In the order of decreasing effect; terms of equal effect are in the order of the features.

    Raises
    ------
    ValueError
        If `scaled` is true and no standard deviations are given.
    """
    if scaled and spreads is None:
        raise ValueError(
            "scaled=True multiplies weights by the standard deviation of their feature: give rows "
            "as X, or a fitted estimator."
        )
    indices, weights = tree.split(node)
    here = slice(*tree.split_indptr[node : node + 2])
    spreads = np.full(len(weights), np.nan) if spreads is None else spreads[here]
    with np.errstate(over="ignore"):  # an effect that overflows is infinite and comes first
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


def _listed(levels, names):
    """Return the levels that a test sends to the left as a dict; see :func:`report`."""
    return {
        "column": levels.variable,
        "features": list(levels.features),
        "names": [names[j] for j in levels.features],
        "is_left": levels.is_listed,
    }


def effect(term):
    """Return the weight of a term times its standard deviation, with the sign of the weight.

    If no rows are known, return the weight alone.
    """
    return term["weight"] * (1.0 if term["spread"] is None else term["spread"])


def _counted(model):
    """Return "labelled rows" if the fit left out rows without a label, else "rows"."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return "rows"
    given = getattr(model, "free_labels_", classes)
    return "labelled rows" if {*given.tolist()} - {*classes.tolist()} else "rows"


def _size_at(sizes, node, is_weighted):
    """Return the row counts of a node as keys and values of its dict in a report.

    The sizes are the numbers of the rows that reach each node, the sums of their weights, and
    "rows" or "labelled rows"; or None.
    """
    if sizes is None:
        return dict.fromkeys(("rows", "weight", "count", "share")) | {"counted": "rows"}
    rows, weights, counted = sizes
    return {
        "rows": int(rows[node]),
        "weight": float(weights[node]) if is_weighted else None,
        "count": float(weights[node]),
        "share": float(weights[node] / weights[0]),
        "counted": counted,
    }


def _of_rows(model, tree, X, sample_weight):
    """Return node sizes, and what is known of the rows of each test.

    The results are the sizes, the standard deviations of the tested features, the values next to
    the thresholds, the ranges of all features, and the densities at the thresholds. Each is None if
    no rows are known.
    """
    if X is None:
        if sample_weight is not None:
            raise ValueError("sample_weight needs the rows X that it belongs to.")
        weights = getattr(model, "node_counts_", None)
        sizes = None
        if weights is not None:
            sizes = getattr(model, "node_rows_", weights), weights, _counted(model)
        known = (getattr(model, name, None) for name in _KNOWN)
        return sizes, *known, getattr(model, "split_densities_", None)
    leaves = model.apply(X)
    weight = check_weight(sample_weight, X)
    n_rows = tree.node_counts(leaves[weight > 0])
    X = check_rows(numbers_of(model, X))
    terms = (tree, kernel_arrays(X), leaves, weight)
    (stds, sides), densities = stds_and_sides(*terms), split_densities(*terms)
    observed = np.array(ranges(X))
    # The rows of the fit count as well, so that the digits of a test separate them, too.
    _, fitted, fitted_range = (getattr(model, name, None) for name in _KNOWN)
    if fitted is not None:
        low, high = np.fmax(sides[:, 0], fitted[:, 0]), np.fmin(sides[:, 1], fitted[:, 1])
        sides = np.column_stack([low, high])
    if fitted_range is not None:
        low, high = np.fmin(observed[0], fitted_range[0]), np.fmax(observed[1], fitted_range[1])
        observed = np.array([low, high])
    sizes = n_rows, tree.node_counts(leaves, weight), "rows"
    return sizes, stds, sides, observed, densities


def _node(tree, i, labels):
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
        "cluster": labels[tree.leaf_label[i]][0] if is_leaf else None,
        "name": labels[tree.leaf_label[i]][1] if is_leaf else None,
        "histogram": value[i].tolist() if is_leaf and value is not None else None,
    }


def _summary(model, tree, names, n_clusters, root):
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
        "count": root["count"],
        "rows": root["rows"],
        "weight": root["weight"],
        "cost_increase": _number(model, "cost_increase_"),
        "inertia": _number(model, "inertia_"),
        "free_inertia": _number(model, "free_inertia_"),
        "lambda": _number(model, "best_lambda_"),
        "noise": getattr(model, "n_noise_", 0),
        "explains_labels": getattr(model, "classes_", None) is not None,
    }


def _number(model, attribute):
    """Return an attribute of a model as a float, or None if it is missing or not finite.

    JSON has no infinite numbers.
    """
    value = getattr(model, attribute, None)
    return float(value) if value is not None and math.isfinite(value) else None


def _clusters(nodes, labels):
    """Return one dict per cluster with its leaves and row counts; see :func:`report`."""
    parts = [{"cluster": k, "name": name, "leaves": []} for k, name in labels]
    for node in nodes:
        if node["is_leaf"]:
            parts[node["cluster"]]["leaves"].append(node["id"])  # that of -1 is the last
    root = nodes[0]
    for part in parts:
        for total, key in (("size", "count"), ("weight", "weight"), ("share", "share")):
            values = [nodes[leaf][key] for leaf in part["leaves"]]
            part[total] = None if root[key] is None else math.fsum(values)
        values = [nodes[leaf]["rows"] for leaf in part["leaves"]]
        part |= {"rows": None if root["rows"] is None else sum(values), "counted": root["counted"]}
    return parts


def intervals(tree, sides=None, decimals=None):
    """Return the intervals in which the threshold of each test may be shown.

    Parameters
    ----------
    tree : Tree
    sides : float array of shape (n_nodes, 2), optional
        `split_sides_` of a fitted estimator.
    decimals : dict of int, optional, of :func:`decimals_of_columns`

    Returns
    -------
    float64 array of shape (n_nodes, 2)
        An interval ends at the nearest rows or, if that is nearer, at a quarter of the distance to
        the next threshold of the same feature or sum, or one unit of the last decimal of the
        feature if that is larger. Its ends are infinite if neither is known. They are in units of
        the feature of a test of one feature, and of the sum of other tests.
    """
    found = np.full((tree.n_nodes, 2), np.nan) if sides is None else np.array(sides, np.float64)
    found = np.where(np.isnan(found), [-np.inf, np.inf], found)
    conditions = {}
    for node in tree.decision_nodes:
        condition = Condition.from_tree(tree, node)
        if len(condition.indices):
            conditions.setdefault(condition.sum, []).append(condition)
    for group in conditions.values():
        limits = [c.threshold if c.bound is None else c.bound.value for c in group]
        ordered, place = np.unique(limits, return_inverse=True)
        apart = np.diff(ordered, prepend=-np.inf, append=np.inf)
        n_decimals = (decimals or {}).get(group[0].sum)
        unit = 0.0 if n_decimals is None else 10.0**-n_decimals
        near = np.maximum(_OF_GAP * np.minimum(apart[:-1], apart[1:])[place], unit)
        for condition, limit, distance in zip(group, limits, near.tolist(), strict=True):
            low, high = found[condition.node]
            found[condition.node] = max(low, limit - distance), min(high, limit + distance)
    return found


def decimals_of_columns(model, tree):
    """Return the number of decimals of the fitted values of tested features, as far as known.

    Parameters
    ----------
    model : Tree, fitted estimator, or RawView of a pipeline
    tree : Tree

    Returns
    -------
    dict of int, by feature
        The largest number of decimals of the known values of the feature: 2 for prices, and 0 for
        integers. A feature has no entry if it is more than `MOST_DECIMALS`.
    """
    _, sides, observed = (getattr(model, name, None) for name in _KNOWN)
    if sides is None or observed is None:
        return {}
    values = {}
    for node in np.flatnonzero(np.diff(tree.split_indptr) == 1):
        j = int(tree.split(node)[0][0])
        values.setdefault(j, observed[:, j].tolist()).extend(sides[node].tolist())
    counts = {j: max(map(n_decimals, known)) for j, known in values.items()}
    return {j: n for j, n in counts.items() if n <= MOST_DECIMALS}


def n_decimals(value):
    """Return the number of decimals of a float: 2 for 2.45, 0 for 3.0; 99 for an unknown value."""
    if not math.isfinite(value):
        return 0 if math.isnan(value) else 99
    return max(0, -Decimal(f"{value:.14g}").normalize().as_tuple().exponent)


def _ranges(terms, observed):
    """Return the pair (smallest, largest value) of the feature of each term; None if unknown."""
    if observed is None:
        return [None] * len(terms)
    pairs = observed[:, [term["feature"] for term in terms]].T
    return [pair if math.isfinite(pair[0] - pair[1]) else None for pair in pairs.tolist()]
