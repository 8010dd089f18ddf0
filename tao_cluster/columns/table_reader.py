"""The first step of a pipeline for raw tables: it reads the cells of each column."""

import contextlib
import functools
import inspect
import math

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import as_pandas, display_names
from .._utils.warnings import listed
from .dates import Date
from .readers import Level


class TableReader(TransformerMixin, BaseEstimator):
    """Turn the raw columns of a table into columns of floats and of categories.

    :func:`tao_cluster.table_pipeline` writes the schema. All columns of the table that the schema
    does not use are ignored.

    Parameters
    ----------
    schema : Schema
        What each column is, and how its cells are read.

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
    >>> from tao_cluster import Schema
    >>> from tao_cluster.columns import TableReader
    >>> table = pd.DataFrame({"weight": ["70 kg", "65.5 kg"], "born": ["2001-05-31", "2001-06-02"]})
    >>> schema = Schema.from_dict({"columns": {
    ...     "weight": {"kind": "number", "suffix": "kg"},
    ...     "born": {"kind": "date", "first": "2001-05-31"},
    ... }})
    >>> TableReader(schema).fit_transform(table)
       weight  born
    0    70.0   0.0
    1    65.5   2.0
    """

    def __init__(self, schema):
        self.schema = schema

    @property
    def readers(self):
        """The readers of the columns that are used: dict, by column."""
        return self.schema.readers

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
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Read the table, count its missing values, and return the table of what was read.

        See :meth:`fit` and :meth:`transform`.
        """
        vars(self).pop("_levels", None)  # those of an earlier fit
        table = self._read(X)
        # The columns that are read from one raw column have the same missing values.
        n_missing = {column: int(table[name].isna().sum()) for name, column, _ in self.outputs()}
        levels = {
            name: table[name].dropna().unique().tolist()
            for name, _, reader in self.outputs()
            if isinstance(reader, Level)
        }
        self.set_learned(n_missing, levels)
        return table

    def set_learned(self, n_missing, levels):
        """Set the fitted attributes from the missing values and the levels of each column.

        Parameters
        ----------
        n_missing : dict of int, by raw column
        levels : dict of lists, by raw column of categories
        """
        self.feature_names_in_ = np.array([*self.readers, None], dtype=object)[:-1]
        self.n_features_in_ = len(self.readers)
        self.n_missing_ = n_missing
        self._levels = levels

    def transform(self, X, only=None):
        """Return the table of the columns that were read.

        Parameters
        ----------
        X : DataFrame of shape (n, m)
            Columns are found by name; their order does not matter.
        only : collection of str, optional
            Read only these raw columns. The others may be absent, or have missing and wrong cells;
            in the result, their numbers are 0 and their categories some level. A tree that does
            not test them assigns the rows all the same.

        Returns
        -------
        DataFrame of shape (n, n_out)
            Numbers are float64. Categories are objects. Missing values are NaN.
        """
        check_is_fitted(self)
        table = self._read(X, only)
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
            for reader in (readers if isinstance(readers, tuple) else (readers,))
        ]

    def usable_rows(self, X, only=None):
        """Return which rows can be clustered: bool array of shape (n,).

        A row cannot be clustered if a number is missing in a column that had no missing values in
        the table of the fit, since no value to fill in was learned. See :meth:`transform` for
        `only`.
        """
        table = self._read(X, only)
        return table[self._without_gaps()].notna().all(axis=1).to_numpy()

    def _without_gaps(self):
        """Return the names of the numeric columns that had no missing values in the fit: list."""
        return [
            name
            for name, column, reader in self.outputs()
            if not isinstance(reader, Level) and self.n_missing_[column] == 0
        ]

    def checked(self, X):
        """Return X as a pandas DataFrame; raise a ValueError if it is no table."""
        X = as_pandas(X)
        if hasattr(X, "iloc") and X.ndim == 2:
            return X
        remedy = " One row is df.iloc[[0]]." if hasattr(X, "iloc") else ""
        raise ValueError(
            f"Expected a pandas DataFrame with the columns {listed([*self.readers])}, got a "
            f"{type(X).__name__}.{remedy}"
        )

    def _selected(self, X, names):
        """Return the raw columns of X that are read, under their names as strings."""
        X = self.checked(X)
        own = display_names(X)
        lacking = [name for name in names if name not in own]
        if lacking:
            raise ValueError(f"there is no column {listed(lacking)}, which the model uses.")
        table = X.iloc[:, [own.index(name) for name in names]]
        return table if list(table.columns) == names else table.set_axis(names, axis=1)

    def _read(self, X, only=None):
        """Return the table of the columns that are read; gaps in new places are not checked."""
        known = getattr(self, "_known", None)
        if known is not None and known[0] is X:
            return known[1]
        names = [name for name in self.readers if only is None or name in only]
        table = self._selected(X, names)
        columns, levels = {}, getattr(self, "_levels", {})
        for name, column, reader in self.outputs():
            own = levels.get(name, ())
            if column not in names:  # a level stands in for the cells that are not read
                is_level = isinstance(reader, Level)
                cell, kind = (next(iter(own), math.nan), object) if is_level else (0.0, np.float64)
                columns[name] = pd.Series(cell, index=table.index, dtype=kind)
                continue
            columns[name] = reader.read(table[column])
            if own and reader.form == "text":
                _check_types(table[column], columns[name], own)
        return pd.DataFrame(columns, index=table.index)


def _check_types(column, read, levels):
    """Raise a ValueError if a cell of a column of strings is no string, and no level of the fit.

    The level "08015" is the number 8015 in a table whose column was read as numbers.
    """
    if isinstance(column.dtype, pd.StringDtype):
        return
    is_text = np.fromiter((isinstance(cell, str) for cell in column), bool, len(column))
    wrong = ~is_text & read.notna().to_numpy() & ~read.isin(levels).to_numpy()
    if wrong.any():
        raise ValueError(
            f"column {column.name!r} has values of the type {column.dtype}, such as "
            f"{column[wrong].iloc[0]!r}, but strings such as {levels[0]!r} in the table of the "
            "fit; read the column as it was read there, for example with "
            f"dtype={{{column.name!r}: str}}."
        )


@contextlib.contextmanager
def reading_once(model, X):
    """Context manager in which a pipeline reads and encodes X, a raw table, only once.

    The table must not change meanwhile.
    """
    reader = model.steps[0][1] if isinstance(model, Pipeline) else None
    if not isinstance(reader, TableReader) or not hasattr(X, "columns"):
        yield
        return
    before = getattr(reader, "_known", None)
    reader._known = X, reader._read(X), []
    try:
        yield
    finally:
        reader._known = before


def encoded_once(reader, table, encode):
    """Return encode(), or its result for the same table that `reading_once` has read before."""
    _, known, encoded = getattr(reader, "_known", None) or (None, None, None)
    if known is None or known is not table:
        return encode()
    encoded += [] if encoded else [encode()]
    return encoded[0]


def reads_once(function):
    """Decorate a function of a model and of rows X so that a pipeline reads a raw table once."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(*values, **options):
        given = signature.bind(*values, **options).arguments
        with reading_once(next(iter(given.values())), given.get("X")):
            return function(*values, **options)

    return run


def output_name(column, reader):
    """Return the name of the column that a reader makes of a raw column."""
    part = reader.part if isinstance(reader, Date) else None
    return column if part is None else f"{column} {part}"
