"""The CART baseline: scikit-learn's decision tree fitted to cluster labels, converted to a Tree."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from .._utils.matrices import as_array, spaced_rows
from .._utils.options import Part
from ..tree import Split, Tree
from ..tree.growth import grow_breadth_first

__all__ = ["Cart", "cart_tree", "from_sklearn"]

_N_CUTS, _MOST_ROWS, _MOST_COLUMNS = 16, 3000, 12  # of first tests that are tried
_LIMITS = ("min_samples_leaf", "min_weight_fraction_leaf")  # names for a number and a share

# scikit-learn's trees convert X to float32 and treat values that differ by less than 1e-7 as equal.
# Columns whose largest absolute value is above _LARGEST or below _SMALL are therefore rescaled.
_LARGEST, _SMALL = np.finfo(np.float32).max, 0.125


def cart_tree(X, labels, max_leaf_nodes, sample_weight=None, random_state=0, **options):
    """Fit an axis-aligned tree that predicts given labels.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    labels : int array of shape (n,)
    max_leaf_nodes : int >= 2
        Values above the number of rows have no further effect; the same holds for `max_depth`.
    sample_weight : array of shape (n,), optional
    random_state, **options
        The other parameters of ``cart_trees``.

    Returns
    -------
    Tree

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster.initial_trees.cart import cart_tree
    >>> cart_tree(np.array([[0.0], [1.0], [8.0]]), [0, 0, 1], max_leaf_nodes=2).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    return cart_trees(X, labels, [max_leaf_nodes], sample_weight, random_state, **options)[0]


def cart_trees(
    X,
    labels,
    sizes,
    sample_weight=None,
    random_state=0,
    max_depth=None,
    min_samples_leaf=1,
):
    """Return the trees of :func:`cart_tree` for several numbers of leaves: list of Tree.

    scikit-learn splits the best leaf first and numbers the nodes in this order. Therefore, smaller
    trees are the first nodes of the largest one, which is the only one that is fitted.

    Parameters
    ----------
    sizes : list of int >= 1, maximum numbers of leaves
    X, labels, sample_weight
        As for :func:`cart_tree`.
    random_state : int
        Breaks ties between equally good splits.
    max_depth : int, optional
    min_samples_leaf : int or float
        Minimum number of rows of X in a leaf or, if it is a float, minimum share of their weight.
    """
    n_rows = X.shape[0]
    cart = DecisionTreeClassifier(
        # scikit-learn allocates memory for this many leaves in advance.
        max_leaf_nodes=max(2, min(max(sizes), n_rows)),
        max_depth=None if max_depth is None else min(max_depth, n_rows),
        random_state=random_state,
        **{_LIMITS[isinstance(min_samples_leaf, float)]: min_samples_leaf},
    )
    X, power = _in_float32(X)
    cart.fit(X, labels, sample_weight=sample_weight)
    return [_rescaled(from_sklearn(cart, 2 * size - 1), power) for size in sizes]


def rooted_cart_tree(problem, limits, depth):
    """Return the best of several trees whose first test is given, with CART trees on both sides.

    CART chooses its first test without regard to those below it, which loses much if the depth is
    limited or the column of the first test is given. First tests are cuts at quantiles of some
    columns. The tree with the largest weight of rows in leaves of their own free cluster is chosen.

    Parameters
    ----------
    problem : Problem
    limits : SplitLimits
    depth : int, optional, the maximum depth of the tree

    Returns
    -------
    Tree, or None if all columns are constant
    """
    X, labels, weight = problem.X, problem.free.labels, problem.weight
    n_leaves = problem.n_clusters
    rows = spaced_rows(len(labels), _MOST_ROWS)
    X, labels, weight = X[rows], labels[rows], weight[rows]
    columns = limits.first_columns
    if limits.first is None:
        forest = cart_tree(X, labels, 4 * n_leaves, weight)
        columns = forest.used_features[:_MOST_COLUMNS]
    best, most = None, -1.0
    for j in columns.tolist():
        values = as_array(X[:, [j]])[:, 0]
        cuts = np.quantile(values, np.arange(1, _N_CUTS) / _N_CUTS, method="inverted_cdf")
        for threshold in np.unique(cuts[cuts < values.max()]).tolist():
            sides, hits = [], 0.0
            for side in map(np.flatnonzero, (values <= threshold, values > threshold)):
                own = (X[side], labels[side])
                largest = np.bincount(own[1], weight[side]).argmax()
                below = Tree.single_leaf(largest, X.shape[1])
                if depth is None or depth > 1:
                    options = {"max_depth": depth and depth - 1}
                    below = cart_tree(*own, max(2, n_leaves), weight[side], **options)
                hits += weight[side][below.predict(own[0]) == own[1]].sum()
                sides.append(below)
            if hits > most:
                best, most = (Split.from_feature(j, threshold), *sides), hits
    return None if best is None else _joined(*best)


def _joined(split, *sides):
    """Return the tree with a first test and two subtrees, which are Trees."""

    def part(item):
        if item is None:
            return (split, *((side, 0) for side in sides))
        tree, node = item
        if tree.children_left[node] < 0:
            return tree.leaf_label[node]
        children = tree.children_left[node], tree.children_right[node]
        return (Split.from_tree(tree, node), *((tree, child) for child in children))

    return grow_breadth_first(None, part, sides[0].n_features)


def _rescaled(tree, power):
    """Return the tree for columns before :func:`_in_float32` divided them."""
    tests = {node: tree.split(node) for node in tree.decision_nodes if power.any()}
    return tree.with_splits(
        {
            node: (split, float(np.ldexp(tree.threshold[node], power[split[0][0]])))
            for node, split in tests.items()
        }
    )


def _in_float32(X):
    """Rescale columns whose largest absolute value is too large or too small for float32.

    Return X and the exponents e: column j has been divided by 2 ** e[j].
    """
    is_sparse = sp.issparse(X)
    if is_sparse and _SMALL <= max(X.data.max(initial=0), -X.data.min(initial=0)) <= _LARGEST:
        # Converted to float32 here, so that scikit-learn's copy in CSC form takes less memory. The
        # minima and maxima of columns, below, would need such a copy, too.
        parts = (X.data.astype(np.float32, copy=False), X.indices, X.indptr)
        return sp.csr_matrix(parts, shape=X.shape), np.zeros(X.shape[1], int)
    most = np.maximum(_dense(X.max(axis=0)), -_dense(X.min(axis=0)))
    is_odd = (most > _LARGEST) | ((most < _SMALL) & (most > 0))
    power = np.where(is_odd, np.frexp(most)[1], 0)
    if not power.any():
        return X, power
    scale = np.ldexp(1.0, -power)
    return (X @ sp.diags(scale)).tocsr() if is_sparse else X * scale, power


def _dense(row):
    return row.toarray().ravel() if sp.issparse(row) else row


def from_sklearn(classifier, n_nodes=None):
    """Convert a fitted scikit-learn DecisionTreeClassifier whose classes are cluster numbers.

    scikit-learn rounds X to float32 before it compares it with a threshold. This tree compares X as
    it is. Rows closer to a threshold than that rounding may take the other side.

    Parameters
    ----------
    classifier : DecisionTreeClassifier
    n_nodes : int, optional
        Number of nodes, of which the first ones are used; by default all nodes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from tao_cluster.initial_trees.cart import from_sklearn
    >>> iris = load_iris()
    >>> cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(iris.data, iris.target)
    >>> from_sklearn(cart).n_leaves
    3
    """
    cart, part = classifier.tree_, slice(n_nodes)
    left, features = cart.children_left[part], cart.feature[part]
    is_leaf = (left < 0) | (left >= len(left))
    majority = classifier.classes_[cart.value[part, 0].argmax(axis=1)]
    return Tree.from_splits(
        np.where(is_leaf, -1, left),
        np.where(is_leaf, -1, cart.children_right[part]),
        [None if leaf else ([j], [1.0]) for leaf, j in zip(is_leaf, features, strict=True)],
        np.where(is_leaf, 0.0, cart.threshold[part]),
        np.where(is_leaf, majority, -1),
        classifier.n_features_in_,
    )


@dataclass(frozen=True)
class Cart(Part):
    """Builder of the CART tree of the labels, a good start if the tree explains given labels.

    Parameters
    ----------
    max_leaves : int
    depth : int, optional
        Largest number of levels of tests.
    min_samples_leaf : int or float
        As for :func:`cart_tree`.
    """

    max_leaves: int
    depth: int | None = None
    min_samples_leaf: int | float = 1
    deterministic: ClassVar[bool] = True
    n_distinct_trees: ClassVar[int] = 1
    uses_distances: ClassVar[bool] = False
    in_raw_units: ClassVar[bool] = False

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        if self.max_leaves < 2 or self.depth == 0:
            return Tree.single_leaf(np.bincount(labels, sample_weight).argmax(), X.shape[1])
        options = {"max_depth": self.depth, "min_samples_leaf": self.min_samples_leaf}
        return cart_tree(X, labels, self.max_leaves, sample_weight, **options)
