"""The tree as plain Python values, and back, as functions."""

from ..columns import shown
from ..tree import Tree, tree_of


def to_dict(tree):
    """Lists and numbers that give the tree back bit by bit, also through JSON.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`

    Returns
    -------
    dict; `format` and `version` say how to read the rest

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_dict
    >>> to_dict(Tree.single_leaf(0, 2))["leaf_label"]
    [0]
    """
    return tree_of(shown(tree)[0]).to_dict()


def from_dict(data):
    """Tree from the result of :func:`to_dict`; ValueError for anything else.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import from_dict, to_dict
    >>> tree = Tree.single_leaf(0, 2)
    >>> from_dict(to_dict(tree)) == tree
    True
    """
    return Tree.from_dict(data)
