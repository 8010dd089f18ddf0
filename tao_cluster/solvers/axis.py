"""The exact node solver of axis-aligned trees: enumeration of the cuts of every feature."""

from dataclasses import dataclass, replace

import numpy as np

from greedy.cutting import Cutter

from ..tree import Split
from .base import NodeSolver, Status


@dataclass(frozen=True)
class Axis(NodeSolver):
    """The best test of one feature, or none (KDD'22 paper, section 8).

    Over all features, thresholds and the two ways round, the loss of a node plus the strength,
    which is the price of using a feature at all, is least. Thresholds are values of rows.
    A test whose large values go to the left has weight -1; see :func:`upright`.

    Notes
    -----
    Memory: a byte for each value of X; a sparse X once more, by columns, and up to 17 bytes for
    each stored value; about 100 bytes a row for each node in work.
    """

    supports_weights = True
    supports_sparse = True
    deterministic = True
    split = "axis"
    is_exact = True
    can_expand = True

    def bind(self, X):
        """Columns of X; see :class:`BoundSolver`."""
        return _BoundAxis(Cutter(X))


@dataclass(frozen=True)
class _BoundAxis:
    """Exact cuts of the rows of a fit.

    Parameters
    ----------
    cutter : Cutter
    """

    cutter: Cutter

    def solve(self, problem):
        """See :class:`BoundSolver`; minimises the 0/1 loss itself, not the logistic one.

        Raises
        ------
        ValueError
            If features are given: an exact cut has nothing to be refitted.
        """
        if problem.features is not None:
            raise ValueError("Axis looks at all features and takes no choice of them.")
        weight, goes_right = problem.weight, problem.goes_right
        cut = self.cutter.best(np.asarray(problem.rows), goes_right, weight, problem.strength)
        if cut is None:
            return Split.constant(weight @ ~goes_right >= weight @ goes_right), Status()
        if not cut.is_flipped:
            return Split.of_feature(cut.feature, cut.threshold), Status()
        # x > t is x >= the next number, and so -x <= minus that.
        threshold = -float(np.nextafter(cut.threshold, np.inf))
        return Split(np.array([cut.feature], np.int32), np.array([-1.0]), threshold), Status()

    def expand(self, tree, leaf_of_row, distances, weight, max_leaves, price, n_jobs):
        """The tree with more leaves; see :meth:`greedy.cutting.Cutter.expand`."""
        return self.cutter.expand(tree, leaf_of_row, distances, weight, max_leaves, price, n_jobs)


def upright(tree):
    """The same tree with tests of weight -1 turned round, so that every test is x_j <= t.

    Parameters
    ----------
    tree : Tree, axis-aligned

    Returns
    -------
    Tree; every row reaches the leaf it reached

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.solvers import upright
    >>> tree = Tree.from_splits(
    ...     [1, -1, -1], [2, -1, -1], [([0], [-1.0]), None, None], [-0.5, 0, 0], [-1, 0, 1], 1
    ... )
    >>> upright(tree).predict([[0.2], [0.7]]).tolist() == tree.predict([[0.2], [0.7]]).tolist()
    True
    """
    turned = np.zeros(tree.n_nodes, dtype=bool)
    turned[np.diff(tree.split_indptr) > 0] = tree.split_weights < 0
    left, right = tree.children_left, tree.children_right
    return replace(
        tree,
        children_left=np.where(turned, right, left),
        children_right=np.where(turned, left, right),
        split_weights=np.abs(tree.split_weights),
        # -x > t, what went right, is x < -t.
        threshold=np.where(turned, np.nextafter(-tree.threshold, -np.inf), tree.threshold),
    )


def is_axis_aligned(tree):
    """Whether every test of a tree has one feature, of weight 1, or none.

    Examples
    --------
    >>> from tao_cluster import bisector_tree
    >>> from tao_cluster.solvers import is_axis_aligned
    >>> is_axis_aligned(bisector_tree([[0.0, 0.0], [1.0, 1.0]]))
    False
    """
    return bool(np.all(np.diff(tree.split_indptr) <= 1) and np.all(np.abs(tree.split_weights) == 1))
