"""Measures of a clustering tree: what it costs and how much there is to read."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy

from greedy.base import OBJECTIVES
from greedy.bounds import bound_of, own_objective

from ._utils.matrices import check_rows
from .objectives import KCenter, Spacing
from .reference import cost_increase
from .report import check_weight
from .tree import labels_of, tree_of
from .tree.conditions import explanation_sizes

__all__ = [
    "accuracy",
    "adjusted_rand_index",
    "cost_increase",
    "explainability",
    "feature_usage",
    "normalized_mutual_information",
    "price_of_explainability",
    "spacing",
    "surrogate_cost",
    "weighted_average_depth",
    "weighted_average_explanation_size",
]


def weighted_average_depth(tree, X, sample_weight=None):
    """Mean number of tests on a row's path (WAD; Laber, Murtinho & Oliveira 2023, eq. 2).

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> tree = Tree.from_splits(
    ...     [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 2
    ... )
    >>> weighted_average_depth(tree, [[0.0, 0.0], [1.0, 0.0]])
    1.0
    """
    tree = tree_of(tree)
    depth = tree.depth[tree.apply(X)]
    return float(np.average(depth, weights=check_weight(sample_weight, len(depth))))


def weighted_average_explanation_size(tree, X, sample_weight=None):
    """Mean number of non-redundant conditions on a row's path (WAES; same paper, eq. 3).

    A condition is redundant if a deeper one on the same path bounds the same weighted sum in
    the same direction; for axis-aligned trees that leaves distinct (feature, direction) pairs.

    Parameters and return value as in :func:`weighted_average_depth`.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> weighted_average_explanation_size(Tree.single_leaf(0, 2), [[0.0, 0.0], [1.0, 0.0]])
    0.0
    """
    tree = tree_of(tree)
    sizes = explanation_sizes(tree)[tree.apply(X)]
    return float(np.average(sizes, weights=check_weight(sample_weight, len(sizes))))


def normalized_mutual_information(labels, reference_labels, sample_weight=None):
    """Agreement of two clusterings: mutual information over the mean of their entropies.

    The NMI of Laber, Murtinho & Oliveira (2023), table 2, and of scikit-learn, with weights.

    Parameters
    ----------
    labels, reference_labels : int arrays of shape (n,)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float; 1 for the same partition, also if both have one cluster; 0 for independent ones

    Examples
    --------
    >>> normalized_mutual_information([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    joint = _joint_weights(labels, reference_labels, sample_weight)
    of_labels, of_reference = (entropy(np.asarray(joint.sum(axis=a)).ravel()) for a in (1, 0))
    mean = (of_labels + of_reference) / 2
    if mean == 0:
        return 1.0
    shared = of_labels + of_reference - entropy(joint.data)
    return float(np.clip(shared / mean, 0.0, 1.0))


def adjusted_rand_index(labels, reference_labels, sample_weight=None):
    """Agreement of two clusterings: pairs of rows on which they agree, beyond chance.

    The index of Hubert & Arabie (1985), as in scikit-learn, with weights: weight 2 is the row
    twice.

    Parameters
    ----------
    labels, reference_labels : int arrays of shape (n,)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float; 1 for the same partition, about 0 for independent ones

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 0, 0, 1])
    0.0
    """
    joint = _joint_weights(labels, reference_labels, sample_weight)
    both = _pairs(joint.data)
    of_labels, of_reference = (_pairs(np.asarray(joint.sum(axis=a))) for a in (1, 0))
    expected = of_labels * of_reference / _pairs(joint.sum()) if joint.sum() > 1 else 0.0
    most = (of_labels + of_reference) / 2
    if most == expected:
        return 1.0
    return float((both - expected) / (most - expected))


def accuracy(labels, reference_labels, sample_weight=None, *, matched=False):
    """Share of the rows, or of their weight, that have their reference label.

    Parameters
    ----------
    labels, reference_labels : arrays of shape (n,)
    sample_weight : array of shape (n,), optional
    matched : bool, default=False
        Renumber the clusters first, one-to-one, so that the share is largest: for clusters that
        were found and numbered apart from the reference's.

    Returns
    -------
    float from 0 to 1

    Examples
    --------
    >>> accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.25
    >>> accuracy([0, 0, 1, 1], [1, 1, 0, 1], matched=True)
    0.75
    """
    if matched:
        joint = _joint_weights(labels, reference_labels, sample_weight).toarray()
        pairs = linear_sum_assignment(joint, maximize=True)
        return float(joint[pairs].sum() / joint.sum())
    weight = check_weight(sample_weight, len(labels))
    return float(np.average(np.asarray(labels) == np.asarray(reference_labels), weights=weight))


def _joint_weights(labels, reference_labels, sample_weight):
    """Weight of the rows of every pair of clusters: CSR, without the pairs that have none."""
    weight = check_weight(sample_weight, len(labels))
    rows, columns = (
        pd.factorize(np.asarray(each), use_na_sentinel=False)[0]
        for each in (labels, reference_labels)
    )
    return sp.coo_matrix((weight, (rows, columns))).tocsr()  # adds up the weights of a pair


def _pairs(weights):
    """Number of pairs within groups of rows of these weights."""
    return float(np.sum(weights * (np.asarray(weights) - 1)) / 2)


def feature_usage(tree, X, sample_weight=None):
    """Share of the rows whose path tests a feature.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float64 array of shape (n_features,); its sum is the mean number of features on a path

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> tree = Tree.from_splits(
    ...     [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 2
    ... )
    >>> feature_usage(tree, [[0.0, 0.0], [1.0, 0.0]])
    array([1., 0.])
    """
    tree = tree_of(tree)
    tests = sp.csr_matrix(
        (np.ones(tree.n_nonzero), tree.split_indices, tree.split_indptr),
        shape=(tree.n_nodes, tree.n_features),
    )
    leaves = tree.apply(X)
    share = np.bincount(leaves, check_weight(sample_weight, len(leaves)), tree.n_nodes)
    reached = np.flatnonzero(share)
    on_path = (tree.paths(reached) @ tests) > 0
    return on_path.T @ (share[reached] / share.sum())


# ---------------------------------------------------------------- price of explainability


_PRICES = {**OBJECTIVES, "kcenter": KCenter(), "spacing": Spacing()}


def surrogate_cost(model, X, objective="kmeans", sample_weight=None):
    """Cost of a fitted tree's clusters with the centres of the free clustering.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n, m)
        The rows of the fit, where they are clustered: the embedding, if `fit` was given one.
    objective : {"kmeans", "kmedians"}, default="kmeans"
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float, in the units of X, whatever the fit has standardised

    Examples
    --------
    >>> from greedy import IMM
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> surrogate_cost(IMM(2, random_state=0).fit(X), X)
    1.0
    """
    rows, weight = _rows_of(model, X, sample_weight)
    return next(_costs(_named(objective, OBJECTIVES), model, rows, weight, recentred=False))


def spacing(X, labels, sample_weight=None):
    """Least Euclidean distance of two rows with different labels; inf if there are none.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, m)
    labels : array of shape (n,)
    sample_weight : array of shape (n,), optional
        Rows of weight 0 are absent.

    Returns
    -------
    float; takes O(n^2 m) time and O(n) memory

    Examples
    --------
    >>> spacing([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1])
    7.0
    """
    X, objective = check_rows(X), Spacing()
    terms = (np.asarray(labels), check_weight(sample_weight, X.shape[0]))
    return float(np.sqrt(objective.squared_spacing(objective.prepare(X), *terms)))


def price_of_explainability(model, X, objective=None, sample_weight=None):
    """How many times worse a fitted tree's clustering is than the free clustering it explains.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n, m)
        The rows of the fit, where they are clustered: the embedding, if `fit` was given one.
    objective : {"kmeans", "kmedians", "kcenter", "spacing"}, default the model's own
        The cost of both clusterings with optimal centres; for "kcenter" the largest Euclidean
        distance to the reference's centre of the cluster; for "spacing", which is to be large,
        that of the free clustering over that of the tree's (see :func:`spacing`).
    sample_weight : array of shape (n,), optional

    Returns
    -------
    float; 1 where nothing is lost, inf where the free clustering alone costs nothing

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import IMM
    >>> X = load_iris().data
    >>> round(price_of_explainability(IMM(3, random_state=0).fit(X), X), 3)
    1.037
    """
    rows, weight = _rows_of(model, X, sample_weight)
    objective = own_objective(model) if objective is None else objective
    found = _named(objective, _PRICES)
    return _ratio(*_costs(found, model, rows, weight, recentred=found.is_sum))


def explainability(model, X, objective=None, sample_weight=None):
    """What a fitted tree loses of the free clustering, and what is proven of its method.

    Parameters
    ----------
    model, X, objective, sample_weight
        As for :func:`price_of_explainability`.

    Returns
    -------
    dict
        price; surrogate_price (with the reference's centres; k-means and k-medians only), to which
        proven bounds apply; accuracy (share of the rows with their free label), accuracy_matched
        (after renumbering), NMI and ARI with the free labels; bound, a
        :class:`greedy.bounds.Bound` or None.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import IMM
    >>> X = load_iris().data
    >>> found = explainability(IMM(3, random_state=0).fit(X), X)
    >>> found["surrogate_price"] <= found["bound"].value
    True
    """
    objective = own_objective(model) if objective is None else objective
    found = {"price": price_of_explainability(model, X, objective, sample_weight)}
    pair = labels_of(model), model.free_labels_, sample_weight
    if objective in OBJECTIVES:
        terms = (model, *_rows_of(model, X, sample_weight))
        found["surrogate_price"] = _ratio(*_costs(OBJECTIVES[objective], *terms, recentred=False))
    return found | {
        "accuracy": accuracy(*pair),
        "accuracy_matched": accuracy(*pair, matched=True),
        "NMI": normalized_mutual_information(*pair),
        "ARI": adjusted_rand_index(*pair),
        "bound": bound_of(model, objective),
    }


def _rows_of(model, X, sample_weight):
    """The rows of a fit, checked, and their weights."""
    labels = labels_of(model)
    if labels.dtype.kind not in "iu":
        raise ValueError("Labels that are given have no price: they have no free clustering.")
    rows = check_rows(X)
    expected = len(labels), model.free_centers_.shape[1]
    if rows.shape != expected:
        raise ValueError(
            f"X has the shape {rows.shape}, the rows that the model was fitted to had {expected} "
            "where they are clustered."
        )
    return rows, check_weight(sample_weight, rows.shape[0])


def _named(name, objectives):
    if name not in objectives:
        raise ValueError(f"objective must be one of {', '.join(objectives)}; got {name!r}.")
    return objectives[name]


def _costs(objective, model, rows, weight, recentred):
    """Yield the cost of the tree's clusters, then of the free ones.

    With the centres of the free clustering, or with optimal ones instead.
    """
    data, centers = objective.prepare(rows), model.free_centers_
    for labels in (model.labels_, model.free_labels_):
        own = objective.update_centers(data, labels, weight, centers) if recentred else centers
        yield objective.value(data, labels, weight, own)


def _ratio(above, below):
    """Ratio of two costs, 1 if they are equal, 0 and infinity, too."""
    if above == below:
        return 1.0
    return float(above / below) if below > 0 else np.inf
