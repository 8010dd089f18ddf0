"""Explanations: why one row is in its cluster, and what defines a cluster."""

import itertools
import math
from dataclasses import asdict, dataclass

import numpy as np
import scipy.sparse as sp

from ..core.routing import kernel_view, project
from ..core.tree import tree_of
from ..core.tree.conditions import Bound
from .columns import numbers_of, one_row, shown
from .export.names import fact_text, factor_name, factor_of, rows_text
from .export.numbers import decimals_of, number_text, rounded, summands, told_apart
from .export.rules import rule_of
from .report import cluster_names, effect, report, spreads_of, terms_at

_PRECISION = 3
_MAX_TERMS = 8  # of a line of text
_NO_DIRECTION = 0.05  # share of its strength below which a feature leads neither up nor down


@dataclass(frozen=True)
class Contribution:
    """The term weight * value of a feature in a weighted sum.

    Parameters
    ----------
    feature : int
    name : str
    weight : float
    spread : float
        Of the feature over the rows of the node; None if these are not known.
    shown : float
        The weight as the text gives it: itself, or times the spread where `scaled` asks for that.
    value : float
    """

    feature: int
    name: str
    weight: float
    spread: float | None
    shown: float
    value: float

    @property
    def product(self):
        """What the feature adds to the sum."""
        return self.weight * self.value

    def __str__(self):
        factor = {1.0: "", -1.0: "-"}.get(self.shown, f"{number_text(self.shown, _PRECISION)}*")
        return f"{factor}{factor_of(self.name, self.shown, self.weight)}"


@dataclass(frozen=True)
class PathTest:
    """One test on the path of a row.

    Parameters
    ----------
    node : int
    contributions : tuple of Contribution, largest products first, those of 0 by effect
    total : float
        The weighted sum, by the order of summation that routing uses.
    threshold : float
    """

    node: int
    contributions: tuple[Contribution, ...]
    total: float
    threshold: float

    @property
    def margin(self):
        """Weighted sum minus threshold: at most 0 to the left, above 0 to the right."""
        return self.total - self.threshold

    @property
    def side(self):
        """The side the row takes, "left" or "right"."""
        return "left" if self.total <= self.threshold else "right"

    def __str__(self):
        text = self._of_one_feature() if len(self.contributions) == 1 else self._of_a_sum()
        return f"{text} -> {self.side}"

    def _of_one_feature(self):
        """The value, and the bound that it meets."""
        (term,) = self.contributions
        bound = Bound.of_test(term.feature, term.weight, self.threshold, self.side == "left")
        fact = fact_text(term.name, bound)
        if fact and term.value in (0.0, 1.0):
            return fact
        value, limit = told_apart(term.value, bound.value, bound.sign, _PRECISION)
        return f"{factor_name(term.name)} = {value} {bound.sign} {limit}"

    def _of_a_sum(self):
        """The terms, with one number for those that are not shown, their sum and the threshold."""
        compare = "<=" if self.side == "left" else ">"
        shown, hidden = self.contributions[:_MAX_TERMS], self.contributions[_MAX_TERMS:]
        largest = max((abs(term.product) for term in shown), default=0.0)
        decimals = decimals_of(self.total, self.threshold, largest, compare, _PRECISION)
        names, products = [str(term) for term in shown], [term.product for term in shown]
        if hidden:
            rest = math.fsum(term.product for term in hidden)
            names.append(f"{len(hidden)} more")
            products.append(rest)
        texts, total = summands(products, self.total, decimals)
        terms = [f"{name} ({text})" for name, text in zip(names, texts, strict=True)]
        left = f"{' + '.join(terms)} = {total}" if terms else total
        return f"{left} {compare} {rounded(self.threshold, decimals)}"


@dataclass(frozen=True)
class Explanation:
    """The path of one row: its tests, from the root, and the leaf it ends in.

    Parameters
    ----------
    tests : tuple of PathTest
    leaf : int, node number
    cluster : int
    name : str, of the cluster
    """

    tests: tuple[PathTest, ...]
    leaf: int
    cluster: int
    name: str

    def to_dict(self):
        """Plain Python values, ready for JSON; with product, margin and side."""
        return {
            "tests": [
                {
                    **asdict(test),
                    "contributions": [
                        {**asdict(term), "product": term.product} for term in test.contributions
                    ],
                    "margin": test.margin,
                    "side": test.side,
                }
                for test in self.tests
            ],
            "leaf": self.leaf,
            "cluster": self.cluster,
            "name": self.name,
        }

    def __str__(self):
        return "\n".join([*map(str, self.tests), f"{self.name} (leaf {self.leaf})"])


def explain(model, x, feature_names=None, *, scaled=False):
    """Why one row is in its cluster: its path, with what each feature adds to each test.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    x : array-like of shape (n_features,) or (1, n_features)
        One row: array, list, sparse row, pandas Series or DataFrame of one row, dict of the values
        by column: those of a Series or dict are taken by their names, in whatever order they
        stand, where the names of the columns are known. Of a pipeline a raw row.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...

    scaled : bool, default=False
        Show weights times the spread of their feature at the node; products stay what they are.

    Returns
    -------
    Explanation
        Its text has one line a test: the features with what each adds to the sum, up to eight of
        them, and what the others add. One that adds 0 is a reason too, the absence of a word say,
        and follows those that add something, by its effect (|weight| times spread). The numbers of
        a line have the same decimals and add up as they are shown; where rounding alone would
        not do it, some are off by less than one unit of the last decimal.

    Raises
    ------
    ValueError
        If x is not one row of the features that the tree expects, lacks a named one, or if
        `scaled` meets a bare tree.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import explain
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [0.5, -2.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> why = explain(tree, [7.0, 0.25], ["width", "height"])
    >>> print(why)
    0.5*width (3.5) + -2*height (-0.5) = 3 > 2 -> right
    cluster 1 (leaf 2)
    >>> why.tests[0].margin
    1.0
    """
    model, names = shown(model, feature_names)
    tree, raw = tree_of(model), one_row(model, x, feature_names)
    row = numbers_of(model, raw)
    # An estimator compares the names of columns with those of fit; a bare array has none.
    leaf = int((model.apply(raw) if hasattr(raw, "columns") else tree.apply(row))[0])
    values = row if sp.issparse(row) else np.asarray(row, dtype=np.float64)
    view = kernel_view(values)
    path = tree.path_matrix[[leaf]].indices
    nodes = [int(node) for node, _ in itertools.pairwise(path)]
    terms = [terms_at(tree, node, names, spreads_of(model), scaled) for node in nodes]
    tests = tuple(
        _test(tree, node, values, view, of_node) for node, of_node in zip(nodes, terms, strict=True)
    )
    label = int(tree.leaf_label[leaf])
    return Explanation(tests, leaf, label, cluster_names(model, label + 1)[label])


def _test(tree, node, values, view, terms):
    total = project(view, np.zeros(1, dtype=np.int64), *tree.split(node))[0]
    terms = [Contribution(**term, value=float(values[0, term["feature"]])) for term in terms]
    terms.sort(key=lambda term: -abs(term.product))  # stable: then by effect, then by feature
    return PathTest(node, tuple(terms), float(total), float(tree.threshold[node]))


@dataclass(frozen=True)
class FeatureRole:
    """The part of a feature in the tests that lead to a cluster.

    Parameters
    ----------
    feature : int
    name : str
    direction : float
        Above 0 if large values lead to the cluster, below 0 if small ones do.
    strength : float
        The same sum over absolute values; larger than ``abs(direction)`` where the cluster takes
        values in between, which the text shows by ±.
    """

    feature: int
    name: str
    direction: float
    strength: float

    def __str__(self):
        if abs(self.direction) < _NO_DIRECTION * self.strength:
            return f"{self.name} ±{self.strength:.2f}"
        return f"{self.name} {self.direction:+.2f}"


@dataclass(frozen=True)
class ClusterProfile:
    """What defines a cluster.

    Parameters
    ----------
    cluster : int
    name : str
    leaves : tuple of int, node numbers
    rules : tuple of str, one a leaf
    features : tuple of FeatureRole, largest strength first
    count, share : float
        Rows, or their weight, in the cluster, and their share of all; None if no rows are known.
    counted : str, "rows" or "labelled rows"
    """

    cluster: int
    name: str
    leaves: tuple[int, ...]
    rules: tuple[str, ...]
    features: tuple[FeatureRole, ...]
    count: float | None
    share: float | None
    counted: str = "rows"

    def to_dict(self):
        """Plain Python values, ready for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def __str__(self):
        rows = "" if self.count is None else f" ({rows_text(self.count, self.share, self.counted)})"
        roles = [str(role) for role in self.features[:_MAX_TERMS]]
        hidden = len(self.features) - len(roles)
        roles += [f"{hidden} more"] if hidden else []
        lines = [f"{self.name}{rows}", *(f"  {rule}" for rule in self.rules)]
        return "\n".join([*lines, f"  features: {', '.join(roles) or 'none'}"])


def cluster_profile(
    model, k, X=None, *, feature_names=None, sample_weight=None, max_terms=_MAX_TERMS
):
    """What defines a cluster: its leaves, their rules, and the features that lead to it.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    k : int, the cluster; the label itself, number or string, of a model that explains labels
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count; default those an estimator was fitted to.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional
    max_terms : int, optional
        Features shown of each weighted sum, those with the largest effects; None for all.

    Returns
    -------
    ClusterProfile

    Raises
    ------
    ValueError
        If there is no cluster k.

    Notes
    -----
    The direction of feature j is the sum over the leaves l of the cluster, and over the tests i on
    the path to l, of ``share_l * side_il * w_ij s_ij / sum_j |w_ij| s_ij``: side is +1 where the
    path turns right (to large w.x) and -1 where it turns left, share_l is the share of the
    cluster's rows in l, and s_ij is the spread of feature j over the rows of node i, so that a
    feature's part does not depend on its unit. If no rows are known, share_l is one over the
    number of leaves and s_ij is 1.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import cluster_profile
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [1.0, -3.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> print(cluster_profile(tree, 1, [[7, 0], [1, 2]], feature_names=["width", "height"]))
    cluster 1 (1 row, 50.0 %)
      if width - 3*height > 2 then cluster 1 (1 row, 50.0 %)
      features: width +0.50, height -0.50
    """
    model, names = shown(model, feature_names)
    facts = report(model, X, feature_names=names, sample_weight=sample_weight)
    part, tree, nodes = _cluster(model, k, facts["clusters"]), tree_of(model), facts["nodes"]
    return ClusterProfile(
        part["cluster"],
        part["name"],
        tuple(part["leaves"]),
        tuple(rule_of(tree, nodes, leaf, max_terms=max_terms) for leaf in part["leaves"]),
        _roles(nodes, part, names),
        part["size"],
        part["share"],
        nodes[0]["counted"],
    )


def _cluster(model, k, clusters):
    """The cluster of a number, or of a label where the model explains labels."""
    classes = getattr(model, "classes_", None)
    labels = list(range(len(clusters)) if classes is None else np.asarray(classes).tolist())
    if k not in labels:
        said = f"clusters are 0..{len(labels) - 1}" if classes is None else f"labels are {labels}"
        raise ValueError(f"The {said}, got {k!r}.")
    return clusters[labels.index(k)]


def _roles(nodes, part, names):
    """The features on the paths to the leaves of a cluster."""
    direction, strength = {}, {}
    for leaf in part["leaves"]:
        # Without rows in the whole cluster there are no shares either.
        share = nodes[leaf]["count"] / part["size"] if part["size"] else 1 / len(part["leaves"])
        for node, side in _turns(nodes, leaf):
            effects = [effect(term) for term in node["terms"]]
            if not any(effects):  # no feature varies, over one row say
                effects = [term["weight"] for term in node["terms"]]
            norm = sum(map(abs, effects))
            for term, size in zip(node["terms"], effects, strict=True):
                j, amount = term["feature"], share * side * size / norm
                direction[j] = direction.get(j, 0.0) + amount
                strength[j] = strength.get(j, 0.0) + abs(amount)
    order = sorted((j for j in strength if strength[j]), key=lambda j: (-strength[j], j))
    return tuple(FeatureRole(j, names[j], direction[j], strength[j]) for j in order)


def _turns(nodes, leaf):
    """(test, +1 for right or -1 for left) on the way from a leaf to the root."""
    child = nodes[leaf]
    while child["parent"] is not None:
        node = nodes[child["parent"]]
        yield node, 1 if node["children"][1] == child["id"] else -1
        child = node
