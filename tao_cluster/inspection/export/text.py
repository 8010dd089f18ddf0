"""The tree as indented text."""

from ..report import report
from .names import condition_text


def to_text(tree, feature_names=None, precision=3, max_terms=None):
    """The tree as indented text, one line a branch or leaf.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    precision : int, significant digits of weights and thresholds
    max_terms : int, optional
        Features shown of each test, those with the largest weights; default all.

    Returns
    -------
    str

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
    nodes = report(tree, feature_names=feature_names)["nodes"]
    lines = []
    todo = [(nodes[0], None)]  # (node, the line above it); depth-first, left first
    while todo:
        node, condition = todo.pop()
        if condition is not None:
            lines.append(_indent(node["depth"] - 1) + condition)
        if node["is_leaf"]:
            lines.append(f"{_indent(node['depth'])}cluster {node['cluster']}")
            continue
        left, right = (nodes[child] for child in node["children"])
        todo.append((right, "else"))
        todo.append((left, f"if {condition_text(node, precision, max_terms)}"))
    return "\n".join(lines)


def _indent(depth):
    return "|    " * depth + "|--- "
