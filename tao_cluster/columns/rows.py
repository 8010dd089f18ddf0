"""Rows of a table, as people hand them over, in the order of the columns of the fit."""

import numpy as np
import scipy.sparse as sp

from .view import RawView, as_frame


def some_rows(model, x, feature_names=None):
    """The row, or the rows, as a table, in the order of the columns of the fit.

    Parameters
    ----------
    model : Tree, fitted estimator, or a pipeline in its raw columns
    x : array-like, sparse matrix, DataFrame; one row also as an array, list, Series or dict
        Values of a Series or dict are taken by name, in whatever order they stand, where the
        model or `feature_names` says what the columns are called.
    feature_names : sequence of str, optional

    Raises
    ------
    ValueError
        If x is neither a row nor a table, has no row, or lacks a column.
    """
    if hasattr(x, "keys") and len(getattr(x, "shape", (1,))) == 1:
        return _named_row(model, x, feature_names)
    rows = x if hasattr(x, "shape") else np.asarray(x, dtype=object)  # maybe texts among numbers
    if len(rows.shape) == 1:
        rows = rows.reshape(1, -1)
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"Expected a row or a table of rows, got data of shape {rows.shape}.")
    return rows.tocsr() if sp.issparse(rows) else rows


def one_row(model, x, feature_names=None):
    """The row as a table of one row; see :func:`some_rows`.

    Raises
    ------
    ValueError
        If x is not one row, or lacks a column.
    """
    row = some_rows(model, x, feature_names)
    if row.shape[0] != 1:
        raise ValueError(f"Expected one row, got data of shape {row.shape}.")
    return row


def _named_row(model, x, feature_names):
    """The values of a Series or dict by the names of the columns, by position without names."""
    sets = [_fit_names(model), feature_names]
    known = [[str(name) for name in names] for names in sets if names is not None]
    values = {str(name): value for name, value in x.items()}
    has_names = any(isinstance(name, str) for name in x.keys())  # noqa: SIM118 (not of a Series)
    if known and has_names:
        lacking = [[name for name in names if name not in values] for names in known]
        if all(lacking):
            raise ValueError(f"The row has no value of {', '.join(map(repr, lacking[0]))}.")
        names = known[lacking.index([])]
        row = [values[name] for name in names]
    else:
        row = list(x.values() if callable(x.values) else x.values)
    if isinstance(model, RawView) and has_names:
        return as_frame([row], model.fit_names or model.raw_names)
    return np.asarray([row], dtype=object)


def _fit_names(model):
    """Names of the columns of the fit; of a pipeline those that it takes, not those it makes."""
    if isinstance(model, RawView):
        return model.raw_names if model.fit_names is None else model.fit_names
    return getattr(model, "feature_names_in_", None)
