"""Trees as indented text, and as one rule per leaf."""

from ..columns.names import levels_of, levels_text
from ..columns.view import shown
from ..report import report
from ..tree import tree_of
from ..tree.conditions import LevelSet, conditions_of_leaves, level_sets
from .format import (
    bounds_text,
    check_options,
    condition_text,
    rows_text,
)

_BAR, _MOST_BARS = "|    ", 30


def to_text(tree, feature_names=None, precision=3, max_terms=None, *, scaled=False):
    """Return the tree as indented text with one line per branch or leaf.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int from 1 to 17, default=3
        Significant digits. The threshold of a test of one feature gets up to three more if these
        make it exact.
    max_terms : int, optional
        Number of features that are shown of each test, those with the largest effects. The
        default is all.
    scaled : bool, default=False
        Show weights times the standard deviation of their feature at the node, so that they are
        comparable between features with different units.

    Returns
    -------
    str

    Notes
    -----
    Features are in the order of decreasing *effect*: |weight| times standard deviation over the
    rows of the node or, if no rows are known, |weight|. Without `scaled`, the numbers are the
    weights of the tree, in the units of the columns. Lines below level 30 show the number of their
    level instead of further bars.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [1.0, -2.0]), None, None],
    ...                         [0.5, 0, 0], [-1, 0, 1], n_features=2)
    >>> print(tree.to_text(["width", "height"]))
    |--- if -2*height + width <= 0.5
    |    |--- cluster 0
    |--- else
    |    |--- cluster 1
    """
    check_options("to_text", precision=precision, max_terms=max_terms, scaled=scaled)
    nodes = report(tree, feature_names=feature_names, scaled=scaled)["nodes"]
    lines = []
    # A stack of (node, the condition to write on the line before it, or None). A left child is put
    # on top of its sibling, so that its subtree is written first.
    todo = [(nodes[0], None)]
    while todo:
        node, condition = todo.pop()
        if condition is not None:
            lines.append(_indent(node["depth"] - 1) + condition)
        if node["is_leaf"]:
            lines.append(f"{_indent(node['depth'])}{node['name']}")
            continue
        left, right = (nodes[child] for child in node["children"])
        todo.append((right, "else"))
        todo.append((left, f"if {condition_text(node, precision, max_terms)}"))
    return "\n".join(lines)


def _indent(depth):
    """Return one bar per level, at most 30 bars; deeper levels are written as a number.

    The length of the text of a very deep tree is therefore proportional to its number of nodes.
    """
    if depth > _MOST_BARS:
        return f"{_BAR * _MOST_BARS}(level {depth}) |--- "
    return _BAR * depth + "|--- "


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
    """Return one rule per leaf: "if 2 < a <= 5 and ... then cluster k".

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int from 1 to 17, default=3
        Significant digits, as for :func:`to_text`.
    max_terms : int, optional
        Number of features that are shown of each weighted sum, those with the largest effects.
        The default is all.
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count at each leaf. The default is the rows that an estimator was fitted to.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X. Rules then show the weight beside the number of rows.
    scaled : bool, default=False
        Show weights times the standard deviation of their feature at the node, so that they are
        comparable between features with different units.

    Returns
    -------
    list of str
        In the order of the node numbers of the leaves.

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
    check_options("to_rules", precision=precision, max_terms=max_terms, scaled=scaled)
    model, names = shown(tree, feature_names, X)
    options = {"feature_names": names, "sample_weight": sample_weight, "scaled": scaled}
    nodes = report(model, X, **options)["nodes"]
    return rules_of(model, names, nodes, tree_of(model).leaves.tolist(), precision, max_terms)


def rules_of(model, names, nodes, leaves, precision=3, max_terms=None):
    """Return the rules of some leaves.

    Parameters
    ----------
    model : Tree, fitted estimator, or RawView of a pipeline
    names : sequence of str
        Printable names of its features.
    nodes : list of dict
        Nodes of its report.
    leaves : sequence of int
        Node numbers of the leaves.
    precision, max_terms
        As for :func:`to_rules`.

    Returns
    -------
    list of str
    """

    def write(pair):
        if isinstance(pair[0], LevelSet):
            listed = [names[j] for j in pair[0].features]
            return levels_text(pair[0].variable, listed, is_listed=pair[0].is_listed)
        tests, sides = [nodes[c.node] for c in pair], [c.is_left for c in pair]
        return bounds_text(tests, sides, precision, max_terms)

    tree = tree_of(model)
    held = premises_of(tree, levels_of(model, names), write, leaves)
    return [_rule(held[leaf], nodes[leaf]) for leaf in leaves]


def premises_of(tree, levels, write, leaves=None, *, are_joined=True):
    """Return the conditions of leaves as texts: dict of list of str, by leaf in increasing order.

    Parameters
    ----------
    tree : Tree
    levels : dict of LevelFeature, by feature; see :func:`.levels_of`
    write : callable(list) -> str
        It writes one LevelSet, or one or two Conditions (a lower and an upper bound) of the same
        feature or weighted sum. Several leaves share conditions; each is written once.
    leaves : sequence of int, optional
        Node numbers of the leaves. The default is all.
    are_joined : bool, default=True
        Whether the two bounds of a feature or sum are written together, instead of one by one.
    """
    known, found, wanted = {}, {}, set(tree.leaves.tolist() if leaves is None else leaves)
    for leaf, conditions in conditions_of_leaves(tree, level_sets(tree, levels)):
        if leaf not in wanted:
            continue
        groups = {}
        for condition in conditions:
            subject = condition.variable if isinstance(condition, LevelSet) else condition.sum
            groups.setdefault(subject if are_joined else condition, []).append(condition)
        keys = [tuple(map(_key, group)) for group in groups.values()]
        for key, group in zip(keys, groups.values(), strict=True):
            if key not in known:
                known[key] = write(group)
        found[leaf] = [known[key] for key in keys]
    return dict(sorted(found.items()))


def _key(condition):
    return condition if isinstance(condition, LevelSet) else (condition.node, condition.is_left)


def _rule(held, leaf):
    """Return the rule of a leaf from its conditions."""
    premise = f"if {' and '.join(held)}" if held else "always"
    rule = f"{premise} then {leaf['name']}"
    if leaf["count"] is None:
        return rule
    return f"{rule} ({rows_text(leaf)})"
