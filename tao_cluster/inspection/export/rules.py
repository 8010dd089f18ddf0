"""Rules: one sentence a leaf, of the conditions under which a row reaches it."""

from ...core.tree import tree_of
from ...core.tree.conditions import conditions_of_leaves, path_conditions
from ..columns import shown
from ..report import report
from .names import bounds_text, rows_text, sum_text, threshold_text, without_implied


def to_rules(
    tree,
    feature_names=None,
    precision=3,
    *,
    max_terms=None,
    X=None,
    sample_weight=None,
    scaled=False,
):
    """One sentence a leaf: "if 2 < a <= 5 and ... then cluster k".

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int, significant digits, as for :func:`to_text`
    max_terms : int, optional
        Features shown of each weighted sum, those with the largest effects; default all.
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count at each leaf; default those an estimator was fitted to.
    sample_weight : array-like of shape (n,), optional
    scaled : bool, default=False
        Show weights times the spread of their feature at the node, so that they compare.

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
    tree, names = shown(tree, feature_names)
    options = {"feature_names": names, "sample_weight": sample_weight, "scaled": scaled}
    nodes = report(tree, X, **options)["nodes"]
    tree = tree_of(tree)
    rules = {
        leaf: _rule(conditions, nodes, leaf, precision, max_terms)
        for leaf, conditions in conditions_of_leaves(tree)
    }
    return [rules[leaf] for leaf in sorted(rules)]


def rule_of(tree, nodes, leaf, precision=3, max_terms=None):
    """The sentence of one leaf.

    Parameters
    ----------
    tree : Tree
    nodes : list of dict, the nodes of its report
    leaf : int, node number
    precision, max_terms
        As for :func:`to_rules`.

    Returns
    -------
    str
    """
    return _rule(path_conditions(tree, leaf), nodes, leaf, precision, max_terms)


def _rule(conditions, nodes, leaf, precision, max_terms):
    """The sentence of a leaf that is reached under these conditions."""
    premise = _premise(conditions, nodes, precision, max_terms)
    leaf = nodes[leaf]
    rows = (
        ""
        if leaf["count"] is None
        else f" ({rows_text(leaf['count'], leaf['share'], leaf['counted'])})"
    )
    return f"{premise} then {leaf['name']}{rows}"


def _premise(conditions, nodes, precision, max_terms):
    """The conditions as people write them, both bounds of a feature or sum together."""
    pairs = {}
    for condition in conditions:
        pairs.setdefault(condition.sum, []).append(condition)
    names, texts = [], []
    for pair in pairs.values():
        terms = nodes[pair[0].node]["terms"]
        is_single = len(terms) == 1
        names.append(terms[0]["name"] if is_single else None)
        if is_single:
            tolerances = [nodes[c.node]["tolerance"] for c in pair]
            texts.append(bounds_text(names[-1], [c.bound for c in pair], precision, tolerances))
        else:
            texts.append(_sum_text(pair, nodes, precision, max_terms))
    texts = without_implied(names, texts)
    return f"if {' and '.join(texts)}" if texts else "always"


def _sum_text(pair, nodes, precision, max_terms):
    """One or both limits of a weighted sum."""
    total = sum_text(nodes[pair[0].node], precision, max_terms)
    limit = {c.is_left: threshold_text(nodes[c.node], precision) for c in pair}
    if len(pair) == 2:
        return f"{limit[False]} < {total} <= {limit[True]}"
    return f"{total} {'<=' if pair[0].is_left else '>'} {limit[pair[0].is_left]}"
