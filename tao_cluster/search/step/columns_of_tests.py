"""The columns that the tests of a tree read, copied out of sparse rows for many passes."""

import numpy as np

from ...core.routing import n_rows
from ...solvers.sparse_parts import FewColumns


class ColumnsOfTests:
    """Rows of X for passes that ask for the columns of tests, again and again.

    Of sparse rows a copy of these columns is kept where they are few. A value that is not stored
    adds nothing to a sum, so sums are the same to the last bit. As a copy costs a pass, it is made
    when as many rows as there are were read without one.

    Parameters
    ----------
    view : result of :func:`tao_cluster.core.routing.kernel_view`
    """

    def __init__(self, view):
        self._view, self._columns = view, None
        self._copy, self._is_copied = None, None
        self._n_read = 0

    def expect(self, features, n_columns, n_more=0):
        """Be told of the columns that passes will ask for; not while threads ask.

        Parameters
        ----------
        features : int array, in any order
        n_columns : int, of X
        n_more : int, rows that these passes will read in any case
        """
        if not isinstance(self._view, tuple) or self._has(features):
            return
        if self._n_read + n_more < n_rows(self._view):
            return
        self._n_read = 0
        if self._columns is None:
            self._columns = FewColumns(self._view, n_columns)
        is_wanted = np.zeros(n_columns, dtype=bool)
        is_wanted[features] = True
        choices = [is_wanted]
        if self._is_copied is not None:  # what was asked for before may be so again
            choices.insert(0, is_wanted | self._is_copied)
        self._copy = None  # before there is a new one
        for choice in choices:
            self._copy, self._is_copied = self._columns.copied(choice), choice
            if self._copy is not None:
                break

    def of(self, features, n_asked=0):
        """What a pass over some columns is to read, until others are expected.

        Parameters
        ----------
        features : int array
        n_asked : int, rows that it reads

        Returns
        -------
        As a result of :func:`tao_cluster.core.routing.kernel_view`
        """
        if self._has(features):
            return self._copy
        self._n_read += n_asked  # threads may lose some: it only tells when a copy is worth it
        return self._view

    def _has(self, features):
        return self._copy is not None and bool(self._is_copied[features].all())
