"""The first step of a pipeline for raw tables: it reads the cells of each column."""

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import display_names
from .._utils.warnings import listed
from .readers import Date, Level


class TableReader(TransformerMixin, BaseEstimator):
    """Turn the raw columns of a table into columns of floats and of categories.

    :func:`tao_cluster.table_pipeline` chooses the readers. All other columns of the table are
    ignored.

    Parameters
    ----------
    readers : dict
        For each raw column that is used, its name and a :class:`.readers.Reader`, or a tuple of
        readers if the column becomes several ones, such as a date and its month.
    decisions : DataFrame, optional
        What was decided about each column of the raw table; for information.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Names of the raw columns that are used. Tables of new rows need no others.
    n_features_in_ : int
        Number of these columns.
    n_missing_ : dict of int
        Number of missing values in each of these columns, in the table of the fit.

    Examples
    --------
    >>> import pandas as pd
    >>> from tao_cluster.columns import TableReader
    >>> from tao_cluster.columns.readers import Date, Written
    >>> table = pd.DataFrame({"weight": ["70 kg", "65.5 kg"], "born": ["2001-05-31", "2001-06-02"]})
    >>> readers = {"weight": Written(suffix="kg"), "born": Date(first="2001-05-31")}
    >>> TableReader(readers).fit_transform(table)
       weight  born
    0    70.0   0.0
    1    65.5   2.0
    """

    def __init__(self, readers, decisions=None):
        self.readers = readers
        self.decisions = decisions

    def fit(self, X, y=None):
        """Read the table once, and count the missing values of each column.

        Parameters
        ----------
        X : DataFrame of shape (n, m)
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X is not a DataFrame, lacks a column, or has a cell that cannot be read.
        """
        names = list(self.readers)
        first = self._read(self._selected(X, names), only_first=True)
        self.feature_names_in_ = np.array([*names, None], dtype=object)[:-1]
        self.n_features_in_ = len(names)
        self.n_missing_ = {name: int(first[name].isna().sum()) for name in names}
        return self

    def transform(self, X):
        """Return the table of the columns that were read.

        Parameters
        ----------
        X : DataFrame of shape (n, m)
            Columns are found by name; their order does not matter.

        Returns
        -------
        DataFrame of shape (n, n_out)
            Numbers are float64. Categories are objects. Missing values are NaN.
        """
        check_is_fitted(self)
        table = self._read(self._selected(X, list(self.feature_names_in_)))
        for name in self._without_gaps():
            n_missing = int(table[name].isna().sum())
            if n_missing:
                raise ValueError(
                    f"column {name!r} has {n_missing} missing values, but had none in the table of "
                    f"the fit, so that no value to fill in is known. Leave out these rows, or fill "
                    f"them, for example with X[{name!r}].fillna(...)."
                )
        return table

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that `transform` returns: ndarray of str."""
        check_is_fitted(self)
        return np.array([name for name, _, _ in self.outputs()], dtype=object)

    def outputs(self):
        """Return (name, raw column, reader) of each column that `transform` returns: list."""
        return [
            (output_name(name, reader), name, reader)
            for name, readers in self.readers.items()
            for reader in _as_tuple(readers)
        ]

    def usable_rows(self, X):
        """Return which rows can be clustered: bool array of shape (n,).

        A row cannot be clustered if a number is missing in a column that had no missing values in
        the table of the fit, since no value to fill in was learned.
        """
        table = self._read(self._selected(X, list(self.feature_names_in_)))
        return table[self._without_gaps()].notna().all(axis=1).to_numpy()

    def _without_gaps(self):
        """Return the names of the numeric columns that had no missing values in the fit: list."""
        return [
            name
            for name, column, reader in self.outputs()
            if not isinstance(reader, Level) and self.n_missing_[column] == 0
        ]

    def _selected(self, X, names):
        """Return these columns of X under their names as strings."""
        if not hasattr(X, "iloc") or X.ndim != 2:
            remedy = " One row is df.iloc[[0]]." if hasattr(X, "iloc") else ""
            raise ValueError(
                f"Expected a pandas DataFrame with the columns {listed(names)}, got a "
                f"{type(X).__name__}.{remedy}"
            )
        own = display_names(X)
        lacking = [name for name in names if name not in own]
        if lacking:
            raise ValueError(f"The table has no column {listed(lacking)}.")
        table = X.iloc[:, [own.index(name) for name in names]]
        return table if list(table.columns) == names else table.set_axis(names, axis=1)

    def _read(self, table, *, only_first=False):
        columns = {}
        for name, readers in self.readers.items():
            for reader in _as_tuple(readers)[: 1 if only_first else None]:
                columns[output_name(name, reader)] = reader.read(table[name])
        return pd.DataFrame(columns, index=table.index)


def output_name(column, reader):
    """Return the name of the column that a reader makes of a raw column."""
    part = reader.part if isinstance(reader, Date) else None
    return column if part is None else f"{column} {part}"


def _as_tuple(readers):
    return readers if isinstance(readers, tuple) else (readers,)
