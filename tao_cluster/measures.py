"""Measures of a clustering tree: its cost, its agreement with labels, and its size."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.stats import entropy

from greedy.base import OBJECTIVES
from greedy.bounds import bound_of, own_objective

from ._utils.frames import check_aligned
from ._utils.matrices import check_rows, power_of_two
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
    """Return the mean number of tests on the decision path of a row.

    This is the weighted average depth (WAD) of Laber, Murtinho & Oliveira (2023), eq. 2.

    Parameters
    ----------
    tree : Tree or fitted estimator with `tree_`
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional
        Weights of the rows. The result is then the weighted mean.

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
    return float(np.average(depth, weights=check_weight(sample_weight, X)))


def weighted_average_explanation_size(tree, X, sample_weight=None):
    """Return the mean number of non-redundant conditions on the decision path of a row.

    This is the weighted average explanation size (WAES) of Laber, Murtinho & Oliveira (2023),
    eq. 3. A condition is redundant if a deeper one on the same path bounds the same weighted sum
    in the same direction. An axis-aligned path thus has one condition per feature and direction.

    Parameters
    ----------
    tree, X, sample_weight
        As for :func:`weighted_average_depth`.

    Returns
    -------
    float

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> weighted_average_explanation_size(Tree.single_leaf(0, 2), [[0.0, 0.0], [1.0, 0.0]])
    0.0
    """
    tree = tree_of(tree)
    sizes = explanation_sizes(tree)[tree.apply(X)]
    return float(np.average(sizes, weights=check_weight(sample_weight, X)))


def normalized_mutual_information(labels, reference_labels, sample_weight=None):
    """Return the normalized mutual information (NMI) of two clusterings.

    This is their mutual information divided by the mean of their entropies, as in scikit-learn and
    in Laber, Murtinho & Oliveira (2023), table 2, but with sample weights.

    Parameters
    ----------
    labels, reference_labels : int arrays of shape (n,)
    sample_weight : array of shape (n,), optional
        Weights of the rows; a row of weight 2 counts twice.

    Returns
    -------
    float
        It is 1 for equal partitions, also if both have a single cluster, and 0 for independent
        ones.

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
    r"""Return the adjusted Rand index (ARI) of two clusterings.

    This is the agreement on pairs of rows, corrected for chance (Hubert & Arabie 1985), as in
    scikit-learn, but with sample weights. See the notes.

    Parameters
    ----------
    labels, reference_labels : int arrays of shape (n,)
    sample_weight : array of shape (n,), optional
        Weights of the rows. Only their ratios matter.

    Returns
    -------
    float
        It is 1 for equal partitions and about 0 for independent ones.

    Notes
    -----
    A pair of two different rows i and j has the weight :math:`w_i w_j`. The index is the usual
    one, with the total weight of pairs in the place of their number. The pairs within a group G
    have the total weight

    .. math:: \sum_{i<j \in G} w_i w_j = \tfrac{1}{2} \sum_{i \in G} w_i (W_G - w_i),
              \qquad W_G = \sum_{i \in G} w_i.

    With weights of 1 this is the number of pairs, and the index is scikit-learn's
    ``adjusted_rand_score``. A row of weight m forms no pairs with itself, whereas m equal rows form
    m (m - 1) / 2 pairs that always agree. The index of repeated rows is therefore slightly larger
    than that of weighted rows. The difference vanishes if each row has little of the total weight.

    Examples
    --------
    >>> adjusted_rand_index([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> adjusted_rand_index([0, 0, 1, 1], [0, 0, 0, 1])
    0.0
    """
    check_aligned(labels, reference_labels=reference_labels)
    weight = check_weight(sample_weight, labels)
    weight = weight / power_of_two(weight.max())  # weights of pairs cannot overflow
    one, other = _codes(labels), _codes(reference_labels)
    partitions = _codes(one * len(other) + other), one, other, np.zeros_like(one)
    pairs = np.array([_pair_weight(groups, weight) for groups in partitions])
    in_both, in_one, in_other, total = (pairs / power_of_two(pairs[-1])).tolist()
    only_one, only_other = in_one - in_both, in_other - in_both
    if only_one == only_other == 0:
        return 1.0
    in_none = total - in_one - only_other
    chance = in_one * (only_one + in_none) + in_other * (only_other + in_none)
    return 2 * (in_both * in_none - only_one * only_other) / chance


def accuracy(labels, reference_labels, sample_weight=None, *, matched=False):
    """Return the share of the rows whose label equals the reference label.

    Parameters
    ----------
    labels, reference_labels : arrays of shape (n,)
    sample_weight : array of shape (n,), optional
        Weights of the rows. The result is then a share of all weight.
    matched : bool, default=False
        Match the clusters one-to-one with those of the reference first, so that the share is
        largest. Use it for clusterings that were numbered independently.

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
    check_aligned(labels, reference_labels=reference_labels)
    if matched:
        joint = _joint_weights(labels, reference_labels, sample_weight).toarray()
        pairs = linear_sum_assignment(joint, maximize=True)
        return float(joint[pairs].sum() / joint.sum())
    weight = check_weight(sample_weight, labels)
    return float(np.average(np.asarray(labels) == np.asarray(reference_labels), weights=weight))


def _joint_weights(labels, reference_labels, sample_weight):
    """Return the contingency table of two clusterings in sample weights: CSR matrix."""
    check_aligned(labels, reference_labels=reference_labels)
    weight = check_weight(sample_weight, labels)
    pairs = _codes(labels), _codes(reference_labels)
    return sp.coo_matrix((weight, pairs)).tocsr()  # tocsr() sums the weights of equal pairs


def _codes(labels):
    """Return the labels as integers from 0; NaN and None are labels, too."""
    return pd.factorize(np.asarray(labels), use_na_sentinel=False)[0]


def _pair_weight(groups, weight):
    """Return the total weight of the pairs of different rows in the same group.

    A pair of two rows has the product of their weights. The pairs with the heaviest row of a group
    are summed apart, so that a row with most of the weight does not cause rounding errors.
    """
    order = np.lexsort((weight, groups))
    heaviest = order[np.diff(groups[order], append=-1) != 0]
    lighter = weight.copy()
    lighter[heaviest] = 0.0
    rest = np.bincount(groups, lighter)
    return float(weight[heaviest] @ rest + lighter @ (rest[groups] - lighter) / 2)


def feature_usage(tree, X, sample_weight=None):
    """Return, for each feature, the share of the rows whose decision path tests it.

    Parameters
    ----------
    tree : Tree or fitted estimator with `tree_`
    X : array-like or sparse matrix of shape (n, n_features)
    sample_weight : array of shape (n,), optional
        Weights of the rows. The result is then a share of all weight.

    Returns
    -------
    float64 array of shape (n_features,)
        Its sum is the mean number of features on a decision path.

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
    share = np.bincount(leaves, check_weight(sample_weight, X), tree.n_nodes)
    reached = np.flatnonzero(share)
    on_path = (tree.paths(reached) @ tests) > 0
    return on_path.T @ (share[reached] / share.sum())


# ---------------------------------------------------------------- price of explainability


_PRICES = {**OBJECTIVES, "kcenter": KCenter(), "spacing": Spacing()}


def surrogate_cost(model, X, objective="kmeans", sample_weight=None):
    """Return the cost of the clusters of a tree with the centres of the free clustering.

    The model explains the free clustering, which was computed without a tree.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n, m)
        Rows of the fit; the embedding, if `fit` was given one.
    objective : {"kmeans", "kmedians"}, default="kmeans"
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        In the units of X, also if the fit standardised the columns.

    Raises
    ------
    ValueError
        If X has another shape than the rows of the fit, or if the model explains labels that are
        strings.

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
    """Return the smallest Euclidean distance between two rows with different labels.

    It takes O(n^2 m) time and O(n) memory.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, m)
    labels : array of shape (n,)
    sample_weight : array of shape (n,), optional
        Rows of weight 0 are ignored; other weights have no effect.

    Returns
    -------
    float
        It is inf if all labels are equal.

    Examples
    --------
    >>> spacing([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1])
    7.0
    """
    check_aligned(X, labels=labels)
    weight = check_weight(sample_weight, X)
    X, objective = check_rows(X), Spacing()
    terms = (np.asarray(labels), weight)
    return float(np.sqrt(objective.squared_spacing(objective.prepare(X), *terms)))


def price_of_explainability(model, X, objective=None, sample_weight=None):
    """Return the cost of a tree divided by the cost of the free clustering that it explains.

    Parameters
    ----------
    model : fitted estimator
    X : array-like or sparse matrix of shape (n, m)
        Rows of the fit; the embedding, if `fit` was given one.
    objective : {"kmeans", "kmedians", "kcenter", "spacing"}, optional
        The cost that is compared. The default is the objective of the model.

        - "kmeans", "kmedians": the cost of both clusterings with optimal centres;
        - "kcenter": the largest Euclidean distance of a row to the free centre of its cluster;
        - "spacing": the inverse ratio of the spacings, since a large spacing is better; see
          :func:`spacing`.
    sample_weight : array of shape (n,), optional
        Weights of the rows.

    Returns
    -------
    float
        It is 1 if both cost the same, and inf if only the free clustering has cost 0.

    Raises
    ------
    ValueError
        If X has another shape than the rows of the fit, if the objective is unknown, or if the
        model explains given labels.

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
    """Compare a fitted tree with the free clustering, and with the proven bound of its method.

    Parameters
    ----------
    model, X, objective, sample_weight
        As for :func:`price_of_explainability`.

    Returns
    -------
    dict
        With the keys

        - price: see :func:`price_of_explainability`;
        - surrogate_price: the same ratio with the centres of the free clustering for both, to
          which the proven bounds apply; only for k-means and k-medians;
        - accuracy, accuracy_matched: agreement with the free labels, see :func:`accuracy`;
        - NMI, ARI: agreement with the free labels, see :func:`normalized_mutual_information` and
          :func:`adjusted_rand_index`;
        - bound: the proven bound of the method, a :class:`greedy.bounds.Bound`, or None.

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
    """Return the checked rows of a fit and their weights."""
    labels = labels_of(model)
    if labels.dtype.kind not in "iu":
        raise ValueError(
            "A model that explains given labels has no free clustering to compare costs with."
        )
    rows = check_rows(X)
    expected = len(labels), model.free_centers_.shape[1]
    if rows.shape != expected:
        raise ValueError(
            f"X has the shape {rows.shape}, but the clustered rows of the fit had the shape "
            f"{expected}. Give the rows of the fit, or their embedding if fit was given one."
        )
    return rows, check_weight(sample_weight, X)


def _named(name, objectives):
    if name not in objectives:
        raise ValueError(f"objective must be one of {', '.join(objectives)}; got {name!r}.")
    return objectives[name]


def _costs(objective, model, rows, weight, recentred):
    """Yield two costs: that of the clusters of the tree, and that of the free clusters.

    If `recentred` is true, each clustering has its own optimal centres. Otherwise both have the
    centres of the free clustering.
    """
    data, centers = objective.prepare(rows), model.free_centers_
    for labels in (model.labels_, model.free_labels_):
        own = objective.update_centers(data, labels, weight, centers) if recentred else centers
        yield objective.value(data, labels, weight, own)


def _ratio(above, below):
    """Return `above` divided by `below`; 1 if they are equal, even if both are 0 or infinite."""
    if above == below:
        return 1.0
    return float(above / below) if below > 0 else np.inf
