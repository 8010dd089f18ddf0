"""Trees as text, rules, DOT of Graphviz, a DataFrame of nodes, and plain Python values."""

import re

from .._utils.imports import import_optional
from ..columns.names import level_features, levels_text
from ..columns.view import shown
from ..report import report
from ..tree import Tree, tree_of
from ..tree.conditions import LevelSet, conditions_of_leaves, level_sets
from .format import bounds_text, check_options, condition_text, rows_text

_BAR, _MOST_BARS = "|    ", 30
_COLUMNS = ["node", "parent", "depth", "is_leaf", "left", "right", "cluster", "name", "test"]
_COLUMNS += ["features", "weights", "spreads", "threshold", "rows", "count", "share", "histogram"]


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
    held = premises_of(tree, level_features(model, names), write, leaves)
    rules = []
    for leaf in leaves:
        premise = f"if {' and '.join(held[leaf])}" if held[leaf] else "always"
        size = "" if nodes[leaf]["count"] is None else f" ({rows_text(nodes[leaf])})"
        rules.append(f"{premise} then {nodes[leaf]['name']}{size}")
    return rules


def premises_of(tree, levels, write, leaves=None, *, are_joined=True):
    """Return the conditions of leaves as strings: dict of list of str, by leaf in increasing order.

    Parameters
    ----------
    tree : Tree
    levels : dict of LevelFeature, by feature; see :func:`.level_features`
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


# ---------------------------------------------------------------- Graphviz


def to_dot(
    tree,
    feature_names=None,
    precision=3,
    *,
    max_terms=6,
    X=None,
    sample_weight=None,
    scaled=False,
):
    r"""Return the tree in the DOT language, which Graphviz and other programs draw.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int from 1 to 17, default=3
        Significant digits.
    max_terms : int or None, default=6
        Number of features that are shown of each test, those with the largest effects; None for
        all.
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count at each node. The default is the rows that an estimator was fitted to.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X. Nodes then show the weight beside the number of rows.
    scaled : bool, default=False
        Show weights times the standard deviation of their feature at the node, so that they are
        comparable between features with different units.

    Returns
    -------
    str

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_dot
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [2.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> print(to_dot(tree, ['"width"']))
    digraph tree {
      node [shape=box, fontname="sans-serif"];
      edge [fontname="sans-serif"];
      0 [label="\"width\" <= 2.5"];
      1 [label="cluster 0", style=rounded];
      2 [label="cluster 1", style=rounded];
      0 -> 1 [label="yes"];
      0 -> 2 [label="no"];
    }
    """
    check_options("to_dot", precision=precision, max_terms=max_terms, scaled=scaled)
    options = {"feature_names": feature_names, "sample_weight": sample_weight, "scaled": scaled}
    facts = report(tree, X, **options)
    lines = ['  node [shape=box, fontname="sans-serif"];', '  edge [fontname="sans-serif"];']
    lines += [_node_line(node, precision, max_terms) for node in facts["nodes"]]
    for node in facts["nodes"]:
        for child, answer in zip(node["children"], ("yes", "no"), strict=bool(node["children"])):
            lines.append(f'  {node["id"]} -> {child} [label="{answer}"];')
    return "\n".join(["digraph tree {", *lines, "}"])


def _node_line(node, precision, max_terms):
    if node["is_leaf"]:
        label, style = node["name"], ", style=rounded"
    else:
        label, style = condition_text(node, precision, max_terms), ""
    if node["count"] is not None:
        label += f"\n{rows_text(node)}"
    return f'  {node["id"]} [label="{_escaped(label)}"{style}];'


def _escaped(text):
    r"""Escape a text for use inside quotes.

    DOT reads a backslash as the start of an escape such as \N, and decodes HTML entities.
    """
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    for character, escape in (("\\", r"\\"), ('"', r"\""), ("\n", r"\n")):
        text = text.replace(character, escape)
    return text


# ---------------------------------------------------------------- nodes as values


def to_dataframe(
    tree,
    feature_names=None,
    precision=3,
    *,
    max_terms=None,
    X=None,
    sample_weight=None,
    scaled=False,
):
    """Return the nodes of a tree as a table with one line per node.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int from 1 to 17, default=3
        Significant digits in the column `test`.
    max_terms : int, optional
        Number of features that are shown in `test`, those with the largest effects. The default
        is all.
    X : array-like or sparse matrix of shape (n, n_features), optional
        Rows to count at each node. The default is the rows that an estimator was fitted to.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X.
    scaled : bool, default=False
        Show weights in `test` times the standard deviation of their feature at the node.

    Returns
    -------
    pandas.DataFrame
        The index is the node number. The columns are:

        ========================= ============================================================
        column                    value
        ========================= ============================================================
        parent, left, right       node numbers; <NA> if there is no such node
        depth, is_leaf            number of tests above the node; whether it is a leaf
        cluster, name             of a leaf: number and name of its cluster; else <NA> and ""
        test                      condition to go left, as text; "" at a leaf
        features, weights         lists, in the order of the features
        spreads                   standard deviation of each of these features over the rows of
                                  the node, as a list; None if no rows are known
        threshold                 of the test; NaN at a leaf
        rows                      number of rows that reach the node; <NA> if no rows are known
        count, share              sum of their sample weights, and its share of all weight;
                                  without weights, number and share of the rows
        histogram                 shares of the free clusters in a leaf; only if the tree has
                                  histograms
        ========================= ============================================================

    Raises
    ------
    ImportError
        If pandas is not installed.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_dataframe
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [2.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> nodes = to_dataframe(tree, ["width"], X=[[1], [3], [4]])
    >>> nodes["test"][0], nodes["count"].tolist()
    ('width <= 2.5', [3.0, 1.0, 2.0])
    """
    check_options("to_dataframe", precision=precision, max_terms=max_terms, scaled=scaled)
    pandas = import_optional("pandas", "to_dataframe", "pip install pandas")
    options = {"feature_names": feature_names, "sample_weight": sample_weight, "scaled": scaled}
    facts = report(tree, X, **options)
    rows = [_row(node, precision, max_terms) for node in facts["nodes"]]
    frame = pandas.DataFrame(rows, columns=_COLUMNS).set_index("node")
    integers = dict.fromkeys(("parent", "left", "right", "cluster", "rows"), "Int64")
    frame = frame.astype({**integers, "threshold": float, "count": float, "share": float})
    return frame if frame["histogram"].notna().any() else frame.drop(columns="histogram")


def _row(node, precision, max_terms):
    terms = sorted(node["terms"], key=lambda term: term["feature"])
    left, right = node["children"] or (None, None)
    return node | {
        "node": node["id"],
        "left": left,
        "right": right,
        "name": node["name"] or "",
        "test": "" if node["is_leaf"] else condition_text(node, precision, max_terms),
        "features": [term["feature"] for term in terms],
        "weights": [term["weight"] for term in terms],
        "spreads": [term["spread"] for term in terms],
    }


def to_dict(tree):
    """Return the tree as lists and numbers, from which :func:`from_dict` restores it exactly.

    Writing the result as JSON and reading it again changes nothing.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`

    Returns
    -------
    dict
        `format` and `version` identify the layout of the rest.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_dict
    >>> to_dict(Tree.single_leaf(0, 2))["leaf_label"]
    [0]
    """
    return tree_of(shown(tree)[0]).to_dict()


def from_dict(data):
    """Return the tree from the result of :func:`to_dict`.

    Parameters
    ----------
    data : dict

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        If `data` does not describe a tree.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import from_dict, to_dict
    >>> tree = Tree.single_leaf(0, 2)
    >>> from_dict(to_dict(tree)) == tree
    True
    """
    return Tree.from_dict(data)
