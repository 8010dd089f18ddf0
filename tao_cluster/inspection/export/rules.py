"""Rules: one sentence a leaf, of the conditions under which a row reaches it."""

from ...core.tree import tree_of
from ...core.tree.conditions import path_conditions
from ..report import names_of, report
from .names import rows_text, weighted_sum


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
