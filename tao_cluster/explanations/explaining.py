"""`explain`: why rows are in their clusters."""

from functools import cache

from ..columns import shown, some_rows
from ..inspection.rows import ways
from ..report import cluster_names, n_clusters_of, spreads_of, terms_at
from ..tree import tree_of
from .batch import Explanations
from .path import Contribution, Explanation, PathTest


def explain(model, x, feature_names=None, *, scaled=False):
    """Why rows are in their clusters: their paths, with what each feature adds to each test.

    Parameters
    ----------
    model : Tree, or fitted estimator with `tree_`
    x : array-like of shape (n_features,) or (n, n_features)
        One row: array, list, sparse row, pandas Series or DataFrame of one row, dict of the values
        by column: those of a Series or dict are taken by their names, in whatever order they
        stand, where the names of the columns are known. Of a pipeline a raw row. Or several rows:
        array, list of lists, sparse matrix, DataFrame.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...

    scaled : bool, default=False
        Show weights times the spread of their feature at the node; products stay what they are.

    Returns
    -------
    Explanation, or Explanations of several rows
        Its text has one line a test: the features with what each adds to the sum, up to eight of
        them, and what the others add. One that adds 0 is a reason too, the absence of a word say,
        and follows those that add something, by its effect (|weight| times spread). The numbers of
        a line have the same decimals and add up as they are shown; where rounding alone would
        not do it, some are off by less than one unit of the last decimal.

    Raises
    ------
    ValueError
        If x is not one or more rows of the features that the tree expects, lacks a named one, or if
        `scaled` meets a bare tree.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import explain
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [0.5, -2.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> why = explain(tree, [7.0, 0.25], ["width", "height"])
    >>> print(why)
    0.5*width (3.5) + -2*height (-0.5) = 3 > 2 -> right
    cluster 1 (leaf 2)
    >>> why.tests[0].margin
    1.0
    """
    model, names = shown(model, feature_names)
    tree, table = tree_of(model), some_rows(model, x, feature_names)
    spreads = spreads_of(model)
    terms = cache(lambda node: terms_at(tree, node, names, spreads, scaled))
    labels = cluster_names(model, n_clusters_of(model))
    found = [_explanation(tree, way, terms, labels) for way in ways(model, table)]
    if len(found) == 1:
        return found[0]
    return Explanations(found, getattr(table, "index", None))


def _explanation(tree, way, terms, labels):
    tests = tuple(_test(tree, node, way, terms(node)) for node in way.totals)
    label = int(tree.leaf_label[way.leaf])
    return Explanation(tests, way.leaf, label, labels[label])


def _test(tree, node, way, terms):
    terms = [Contribution(**term, value=float(way.values[0, term["feature"]])) for term in terms]
    terms.sort(key=lambda term: -abs(term.product))  # stable: then by effect, then by feature
    return PathTest(node, tuple(terms), way.totals[node], float(tree.threshold[node]))
