"""Convert trees to a pandas DataFrame of nodes, and to plain Python values and back."""

from .._utils.imports import import_optional
from ..columns.view import shown
from ..report import report
from ..tree import Tree, tree_of
from .format import check_options, condition_text

_COLUMNS = ["node", "parent", "depth", "is_leaf", "left", "right", "cluster", "name", "test"]
_COLUMNS += ["features", "weights", "spreads", "threshold", "rows", "count", "share", "histogram"]


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
