"""The tree as indented text."""

from .names import check_feature_names, weighted_sum


def to_text(tree, feature_names=None, precision=3, max_terms=None):
    """The tree as indented text, one line a branch or leaf.

    Parameters
    ----------
    tree : Tree
    feature_names : sequence of str of length n_features, optional
        Default x0, x1, ...
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
    names = check_feature_names(feature_names, tree.n_features)
    lines = []
    todo = [(0, None)]  # (node, the line above it); depth-first, left first
    while todo:
        node, condition = todo.pop()
        depth = tree.depth[node]
        if condition is not None:
            lines.append(_indent(depth - 1) + condition)
        if tree.children_left[node] < 0:
            lines.append(f"{_indent(depth)}cluster {tree.leaf_label[node]}")
            continue
        left = weighted_sum(*tree.split(node), names, precision, max_terms)
        todo.append((tree.children_right[node], "else"))
        todo.append(
            (tree.children_left[node], f"if {left} <= {tree.threshold[node]:.{precision}g}")
        )
    return "\n".join(lines)


def _indent(depth):
    return "|    " * depth + "|--- "
