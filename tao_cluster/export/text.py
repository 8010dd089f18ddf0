"""The tree as indented text."""

from ..report import report
from .names import condition_text
from .options import check_options

_BAR, _MOST_BARS = "|    ", 30


def to_text(tree, feature_names=None, precision=3, max_terms=None, *, scaled=False):
    """The tree as indented text, one line a branch or leaf.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int, 1 to 17, significant digits; a bound of one feature gets up to three more
        where these make it exact
    max_terms : int, optional
        Features shown of each test, those with the largest effects; default all.
    scaled : bool, default=False
        Show weights times the spread of their feature at the node, so that they compare.

    Returns
    -------
    str

    Notes
    -----
    Features stand in the order of their *effect*, |weight| times spread over the node's rows, where
    rows are known. The numbers are the tree's weights, in units of the columns, unless `scaled`.
    From the 31st level on a line tells its level as a number, instead of by a bar for each.

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
    todo = [(nodes[0], None)]  # (node, the line above it); depth-first, left first
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
    """Bars for the levels above; of very deep nodes their level as a number instead.

    A line is then no longer than that, and the text of a chain in proportion to its tests.
    """
    if depth > _MOST_BARS:
        return f"{_BAR * _MOST_BARS}(level {depth}) |--- "
    return _BAR * depth + "|--- "
