"""Explanations: why one row is in its cluster, and what defines a cluster."""

import itertools
from dataclasses import asdict, dataclass

import numpy as np
import scipy.sparse as sp

from ..core.routing import kernel_view, project
from ..core.tree import tree_of
from .export.names import rows_text
from .export.rules import rule_of
from .report import names_of, report, sorted_terms

_PRECISION = 3
_MAX_TERMS = 8  # of a line of text


@dataclass(frozen=True)
class Contribution:
    """The term weight * value of a feature in a weighted sum."""

    feature: int
    name: str
    weight: float
    value: float

    @property
    def product(self):
        """What the feature adds to the sum."""
        return self.weight * self.value

    def __str__(self):
        factor = {1.0: "", -1.0: "-"}.get(self.weight, f"{_short(self.weight)}*")
        return f"{factor}{self.name} ({_short(self.product)})"


@dataclass(frozen=True)
class PathTest:
    """One test on the path of a row.

    Parameters
    ----------
    node : int
    contributions : tuple of Contribution, largest products first
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
        present = [term for term in self.contributions if term.product]
        terms = [str(term) for term in present[:_MAX_TERMS]]
        if len(present) > _MAX_TERMS:
            terms.append(f"{len(present) - _MAX_TERMS} more")
        compare = "<=" if self.side == "left" else ">"
        left = f"{' + '.join(terms)} = {_short(self.total)}" if terms else "0"
        return f"{left} {compare} {_short(self.threshold)} -> {self.side}"


@dataclass(frozen=True)
class Explanation:
    """The path of one row: its tests, from the root, and the leaf it ends in.

    Parameters
    ----------
    tests : tuple of PathTest
    leaf : int, node number
    cluster : int
    """

    tests: tuple[PathTest, ...]
    leaf: int
    cluster: int

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
        }

    def __str__(self):
        return "\n".join([*map(str, self.tests), f"cluster {self.cluster} (leaf {self.leaf})"])


def explain(model, x, feature_names=None):
    """Why one row is in its cluster: its path, with what each feature adds to each test.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    x : array-like of shape (n_features,) or (1, n_features)
        One row: array, list, sparse row, pandas Series or DataFrame of one row.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...

    Returns
    -------
    Explanation
        Its text has one line a test; features that add nothing are left out there.

    Raises
    ------
    ValueError
        If x is not one row of the features that the tree expects.

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
    tree, names = tree_of(model), names_of(model, feature_names)
    row = _one_row(x)
    # An estimator compares the names of columns with those of fit; a bare array has none.
    leaf = int((model if hasattr(row, "columns") else tree).apply(row)[0])
    values = row if sp.issparse(row) else np.asarray(row, dtype=np.float64)
    view = kernel_view(values)
    path = tree.path_matrix[[leaf]].indices
    tests = tuple(
        _test(tree, int(node), values, view, names) for node, _ in itertools.pairwise(path)
    )
    return Explanation(tests, leaf, int(tree.leaf_label[leaf]))


def _one_row(x):
    """The row as a table of one row."""
    if hasattr(x, "to_frame"):
        return x.to_frame().T
    row = x if hasattr(x, "shape") else np.asarray(x)
    if len(row.shape) == 1:
        row = row.reshape(1, -1)
    if len(row.shape) != 2 or row.shape[0] != 1:
        raise ValueError(f"An explanation is of one row, got data of shape {row.shape}.")
    return row.tocsr() if sp.issparse(row) else row


def _test(tree, node, values, view, names):
    indices, weights = tree.split(node)
    total = project(view, np.zeros(1, dtype=np.int64), indices, weights)[0]
    terms = [
        Contribution(**term, value=float(values[0, term["feature"]]))
        for term in sorted_terms(indices, weights, names)
    ]
    terms.sort(key=lambda term: -abs(term.product))  # stable: then by weight, then by feature
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
        values in between.
    """

    feature: int
    name: str
    direction: float
    strength: float


@dataclass(frozen=True)
class ClusterProfile:
    """What defines a cluster.

    Parameters
    ----------
    cluster : int
    leaves : tuple of int, node numbers
    rules : tuple of str, one a leaf
    features : tuple of FeatureRole, largest strength first
    count, share : float
        Rows, or their weight, in the cluster, and their share of all; None if no rows are known.
    """

    cluster: int
    leaves: tuple[int, ...]
    rules: tuple[str, ...]
    features: tuple[FeatureRole, ...]
    count: float | None
    share: float | None

    def to_dict(self):
        """Plain Python values, ready for JSON."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def __str__(self):
        rows = "" if self.count is None else f" ({rows_text(self.count, self.share)})"
        roles = [f"{role.name} {role.direction:+.2f}" for role in self.features[:_MAX_TERMS]]
        hidden = len(self.features) - len(roles)
        roles += [f"{hidden} more"] if hidden else []
        lines = [f"cluster {self.cluster}{rows}", *(f"  {rule}" for rule in self.rules)]
        return "\n".join([*lines, f"  features: {', '.join(roles) or 'none'}"])


def cluster_profile(model, k, X=None, *, feature_names=None, sample_weight=None):
    """What defines a cluster: its leaves, their rules, and the features that lead to it.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    k : int, the cluster
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count; default those an estimator was fitted to.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    sample_weight : array-like of shape (n,), optional

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
    the path to l, of ``share_l * side_il * w_ij / ||w_i||_1``: side is +1 where the path turns
    right (to large w.x) and -1 where it turns left, and share_l is the share of the cluster's rows
    in l, or one over the number of leaves if no rows are known. Each test counts alike whatever
    the scale of its weights, which says nothing; features should have comparable scales.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import cluster_profile
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [1.0, -3.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> print(cluster_profile(tree, 1, [[7, 0], [1, 0]], feature_names=["width", "height"]))
    cluster 1 (1 row, 50.0 %)
      if -3*height + width > 2 then cluster 1 (1 row, 50.0 %)
      features: height -0.75, width +0.25
    """
    names = names_of(model, feature_names)
    facts = report(model, X, feature_names=names, sample_weight=sample_weight)
    clusters = facts["clusters"]
    if k not in range(len(clusters)):
        raise ValueError(f"The clusters are 0..{len(clusters) - 1}, got {k!r}.")
    part, tree, nodes = clusters[int(k)], tree_of(model), facts["nodes"]
    return ClusterProfile(
        part["cluster"],
        tuple(part["leaves"]),
        tuple(rule_of(tree, nodes[leaf], names) for leaf in part["leaves"]),
        _roles(nodes, part, names),
        part["size"],
        part["share"],
    )


def _roles(nodes, part, names):
    """The features on the paths to the leaves of a cluster."""
    direction, strength = {}, {}
    for leaf in part["leaves"]:
        # Without rows in the whole cluster there are no shares either.
        share = nodes[leaf]["count"] / part["size"] if part["size"] else 1 / len(part["leaves"])
        for node, side in _turns(nodes, leaf):
            norm = sum(abs(term["weight"]) for term in node["terms"])
            for term in node["terms"]:
                j, amount = term["feature"], share * side * term["weight"] / norm
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


def _short(number):
    return f"{number:.{_PRECISION}g}"
