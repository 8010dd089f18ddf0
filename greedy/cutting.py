"""Cuts for axis-aligned TAO: the best one for two classes, and those that expand a tree."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from tao_cluster.routing import canonical_csr

from .growth import Cut, Growth, grow
from .points import Points, columns_of, nearest_two
from .rules import CutSurrogate


@dataclass(frozen=True)
class BinaryCut(Cut):
    """A cut and whether the rows with small values belong to the right."""

    is_flipped: bool


class Cutter:
    """Search of cuts over the columns of X.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Sparse X is copied once into columns.
    """

    def __init__(self, X):
        self._X = canonical_csr(X) if issparse(X) else X
        self._columns = columns_of(self._X)

    def best(self, rows, goes_right, weight, price=0.0):
        """The cut that parts two classes with the least weight on the wrong sides.

        A side is a label of ExKMC, under which a row "costs" its weight on the wrong side and
        nothing on the right one; so the search is ExKMC's.

        Parameters
        ----------
        rows : int64 array of shape (m,)
        goes_right : bool array of shape (m,), the class of each
        weight : float64 array of shape (m,), positive
        price : float, of a cut

        Returns
        -------
        BinaryCut or None if no cut saves more than its price over the better of the two constant
        tests. Among equally good ones the lowest feature, then the lowest threshold, which is
        a value of a row.
        """
        costs = np.zeros((self._X.shape[0], 2))
        costs[rows, np.where(goes_right, 0, 1)] = weight
        points = self._points(rows, costs, np.ones(len(costs)))
        rule = CutSurrogate(points, price)
        leaf = rule.leaf(rows)
        cut = rule.search(leaf) if rule.promise(leaf) > 0 else None
        if cut is None:
            return None
        on_left = points.goes_left(rows, cut.feature, cut.threshold)
        wrong = weight[on_left == goes_right].sum()
        return BinaryCut(cut.feature, cut.threshold, cut.gain, bool(2 * wrong > weight.sum()))

    def expand(self, tree, leaf_of_row, distances, weight, max_leaves, price=0.0, n_jobs=1):
        """The tree with more leaves, cut where that saves most (ExKMC's expansion).

        Parameters
        ----------
        tree : Tree, axis-aligned, each test with weight 1
        leaf_of_row : int array of shape (n,)
        distances : float64 array of shape (n, k), what a row costs under each label
        weight : float64 array of shape (n,), positive
        max_leaves : int
        price : float, that a cut must save
        n_jobs : int, threads; the result is the same for any number

        Returns
        -------
        Tree; the same object if no cut pays
        """
        points = self._points(np.arange(len(weight)), distances, weight, n_jobs)
        rule = CutSurrogate(points, price)
        growth = Growth.of(tree)
        leaves = {
            int(leaf): rule.leaf(rows)
            for leaf in tree.leaves
            if len(rows := np.flatnonzero(leaf_of_row == leaf))
        }
        grow(growth, leaves, rule, max_leaves)
        return tree if growth.n_leaves == tree.n_leaves else growth.to_tree(tree.n_features)

    def _points(self, rows, distances, weight, n_jobs=1):
        """Rows and what each label costs them; there are no centres in the space of X."""
        n, k = distances.shape
        labels, _, nearest, _, spread = nearest_two(distances, np.arange(n), np.arange(k))
        return Points(
            X=self._X,
            columns=self._columns,
            rows=rows,
            weight=weight,
            positions=np.zeros((k, 0)),
            distances=distances,
            labels=labels,
            nearest=nearest,
            spread=spread,
            n_jobs=n_jobs,
        )
