"""The columns that the tests of a tree read, copied out of sparse rows for many passes."""

import numpy as np

from ...solvers.sparse_parts import FewColumns


class ColumnsOfTests:
    """Rows of X for passes that ask for the columns of tests, again and again.

    Of sparse rows a copy of these columns is kept where they are few. A value that is not stored
    adds nothing to a sum, so sums are the same to the last bit.

    Parameters
    ----------
    view : result of :func:`tao_cluster.tree.routing.kernel_view`
    """

    def __init__(self, view):
        self._view, self._columns = view, None
        self._is_copied, self._copy = None, None

    def expect(self, tree):
        """Be told of the tree whose columns passes will ask for; not while threads ask."""
        if not isinstance(self._view, tuple) or self._has(tree.split_indices):
            return
        if self._columns is None:
            self._columns = FewColumns(self._view, tree.n_features)
            self._is_copied = np.zeros(tree.n_features, dtype=bool)
        is_wanted = np.zeros_like(self._is_copied)
        is_wanted[tree.split_indices] = True
        self._copy = None  # before there is a new one
        # What was asked for before may be so again.
        for choice in (is_wanted | self._is_copied, is_wanted):
            self._is_copied, self._copy = choice, self._columns.copied(choice)
            if self._copy is not None:
                break

    def of(self, features):
        """What a pass over some columns is to read, until others are expected.

        Parameters
        ----------
        features : int array

        Returns
        -------
        As a result of :func:`tao_cluster.tree.routing.kernel_view`
        """
        return self._copy if self._has(features) else self._view

    def _has(self, features):
        return self._copy is not None and bool(self._is_copied[features].all())
