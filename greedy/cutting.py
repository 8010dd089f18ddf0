"""Cuts for axis-aligned TAO: the best one for two classes, and those that expand a tree."""

import math
import threading
from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse

from tao_cluster._utils.matrices import canonical_csr
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_view

from .cuts import binary_cut, code_dense, code_stored, saved_by_columns, saved_by_rows
from .exkmc import CutSurrogate
from .growth import Cut, grow
from .nodes import binary_node
from .points import Points, columns_of, nearest_two

_MOST = 2.0**53  # no sum of prices is as large
_MOST_BY_ROWS = 0.5  # share of all rows, from which on it is cheaper to read the columns


@dataclass(frozen=True)
class BinaryCut(Cut):
    """A cut and whether the rows with small values belong to the right."""

    is_flipped: bool


class Cutter:
    """Search of cuts over the columns of X.

    Parameters
    ----------
    X : array, CSR or CSC matrix of shape (n, d)
        Sparse X is copied once into columns, unless it is stored so; then its indices are sorted.

    Notes
    -----
    Memory: the first search for a cut of two classes makes a byte of every value (of sparse X,
    every stored one, and up to 16 bytes more where a word has few values), which stays.
    """

    def __init__(self, X):
        self._X = canonical_csr(X) if issparse(X) and X.format != "csc" else X
        self._columns = columns_of(self._X)
        self._codes, self._lock = None, threading.Lock()

    def best(self, rows, goes_right, weight, price=0.0):
        """The cut that parts two classes with the least weight on the wrong sides.

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
        n_rows = self._X.shape[0] if issparse(self._X) else 0
        node = binary_node(rows, goes_right, weight, n_rows)
        least = math.floor(min(price * node.scale, _MOST))  # prices are whole numbers
        columns, codes, stored = self._columns, self._coded(), self._stored(node)
        value, feature, threshold, is_flipped = binary_cut(columns, codes, node, stored, least)
        if feature < 0:
            return None
        return BinaryCut(feature, threshold, -value / node.scale - price, is_flipped)

    def _stored(self, node):
        """What the stored values of each column can save a node; empty for an array."""
        n_rows, n_features = self._X.shape
        if not issparse(self._X):
            return np.empty(0, np.int64)
        if self._X.format == "csr" and len(node.rows) < _MOST_BY_ROWS * n_rows:
            return saved_by_rows(kernel_view(self._X), node, n_features)
        return saved_by_columns(self._columns, node, n_features)

    def _coded(self):
        with self._lock:  # the nodes of one depth are searched by several threads
            if self._codes is None:
                is_sparse = issparse(self._X)
                args = (self._columns, self._X.shape) if is_sparse else (self._X,)
                self._codes = (code_stored if is_sparse else code_dense)(*args)
            return self._codes

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
