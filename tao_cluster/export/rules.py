"""Rules: the conditions under which a row reaches a leaf, one rule a leaf."""

import itertools
from dataclasses import dataclass

import numpy as np

from ..report import names_of, report, tree_of
from .names import rows_text, weighted_sum


@dataclass(frozen=True, eq=False)
class Condition:
    """weights . x[indices] <= threshold (or > threshold where `is_upper` is False)."""

    indices: np.ndarray
    weights: np.ndarray
    threshold: float
    is_upper: bool

    @property
    def sum(self):
        """The weighted sum that is tested, as a key: equal for equal sums."""
        return self.indices.tobytes(), self.weights.tobytes()


def path_conditions(tree, leaf):
    """Conditions from the root to a leaf, without those implied by another.

    Conditions on the same weighted sum in the same direction are merged into the tightest
    one; tests without weights always hold and are left out.

    Parameters
    ----------
    tree : Tree
    leaf : int, node number

    Returns
    -------
    list of Condition, in the order in which the sums first appear on the path
    """
    tightest = {}
    path = tree.path_matrix[[leaf]].indices
    for node, child in itertools.pairwise(path):
        indices, weights = tree.split(node)
        if len(indices) == 0:
            continue
        is_upper = bool(tree.children_left[node] == child)
        condition = Condition(indices, weights, float(tree.threshold[node]), is_upper)
        key = (condition.sum, is_upper)
        known = tightest.get(key)
        if known is None or (condition.threshold < known.threshold) == is_upper:
            tightest[key] = condition
    return list(tightest.values())


def to_rules(tree, feature_names=None, precision=3, *, max_terms=None, X=None, sample_weight=None):
    """One sentence a leaf: "if 2 < a <= 5 and ... then cluster k".

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int, significant digits
    max_terms : int, optional
        Features shown of each weighted sum, those with the largest weights; default all.
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count at each leaf; default those an estimator was fitted to.
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    list of str, leaves in the order of their node numbers

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> tree = Tree.from_splits(
    ...     [1, -1, 3, -1, -1], [2, -1, 4, -1, -1], [([0], [1.0]), None, ([0], [1.0]), None, None],
    ...     [2, 0, 5, 0, 0], [-1, 0, -1, 1, 0], n_features=1)
    >>> for rule in tree.to_rules(["width"], X=[[1], [3], [4], [9]]):
    ...     print(rule)
    if width <= 2 then cluster 0 (1 row, 25.0 %)
    if 2 < width <= 5 then cluster 1 (2 rows, 50.0 %)
    if width > 5 then cluster 0 (1 row, 25.0 %)
    """
    names = names_of(tree, feature_names)
    nodes = report(tree, X, feature_names=names, sample_weight=sample_weight)["nodes"]
    tree = tree_of(tree)
    return [rule_of(tree, nodes[leaf], names, precision, max_terms) for leaf in tree.leaves]


def rule_of(tree, leaf, feature_names, precision=3, max_terms=None):
    """The sentence of one leaf.

    Parameters
    ----------
    tree : Tree
    leaf : dict, the leaf's node of a report
    feature_names : list of str
    precision, max_terms
        As for :func:`to_rules`.

    Returns
    -------
    str
    """
    premise = _premise(path_conditions(tree, leaf["id"]), feature_names, precision, max_terms)
    rows = "" if leaf["count"] is None else f" ({rows_text(leaf['count'], leaf['share'])})"
    return f"{premise} then cluster {leaf['cluster']}{rows}"


def _premise(conditions, names, precision, max_terms):
    """The conditions as people write them, both bounds of one sum together."""
    bounds = {}
    for condition in conditions:
        bounds.setdefault(condition.sum, {})[condition.is_upper] = condition
    texts = []
    for pair in bounds.values():
        first = next(iter(pair.values()))
        text = weighted_sum(first.indices, first.weights, names, precision, max_terms)
        limit = {is_upper: f"{c.threshold:.{precision}g}" for is_upper, c in pair.items()}
        if len(pair) == 2:
            texts.append(f"{limit[False]} < {text} <= {limit[True]}")
        else:
            texts.append(f"{text} {'<=' if first.is_upper else '>'} {limit[first.is_upper]}")
    return f"if {' and '.join(texts)}" if texts else "always"
