"""Trees in Graphviz's DOT language."""

import re

from ..report import report
from .format import check_options, condition_text, rows_text


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
