"""Changes of cells in a raw row."""

import numpy as np
import pandas as pd
import scipy.sparse as sp


def with_cells(row, cells):
    """Return a copy of a row with new values in some columns.

    Parameters
    ----------
    row : array, CSR matrix or DataFrame of shape (1, n)
    cells : dict of values by position of the column

    Returns
    -------
    row of the same type
        A dense array has the dtype float64 if all values are numbers, else object.
    """
    if hasattr(row, "iloc"):
        changed = row.astype(object)
        for column, value in cells.items():
            changed.iloc[0, column] = _as_in_column(value, row.dtypes.iloc[column])
        return inferred(changed, row.dtypes)
    is_sparse = sp.issparse(row)
    changed = row.astype(np.float64).tolil() if is_sparse else np.array(row, dtype=object)
    for column, value in cells.items():
        changed[0, column] = value
    if is_sparse:
        return changed.tocsr()
    return as_rows(changed)


def as_rows(rows):
    """Return rows as an array: of floats if they have only numbers, else of objects."""
    rows = np.asarray(rows, dtype=object)
    is_number = all(isinstance(value, int | float | np.number) for value in rows.ravel().tolist())
    return rows.astype(np.float64) if is_number else rows


def inferred(table, dtypes):
    """Return a table with the types of its cells. Missing cells of type object keep that type.

    They may be strings, and scikit-learn cannot compare strings with missing values of type float.
    """
    kept = [
        name
        for name, dtype, is_missing in zip(table, dtypes, table.isna().all(), strict=True)
        if is_missing and dtype.kind == "O"
    ]
    try:
        found = table.infer_objects()
    except UnicodeEncodeError:  # the strings of pandas cannot hold half of a surrogate pair
        texts = table.map(lambda cell: isinstance(cell, str)).any()
        found = pd.concat([table.loc[:, ~texts].infer_objects(), table.loc[:, texts]], axis=1)
        found = found[table.columns]
    return found.astype(dict.fromkeys(kept, object))


def _as_in_column(value, dtype):
    """Return a value in the type of a column: an integer, a truth value, a date, or as it is."""
    if dtype.kind == "M":
        moment = pd.Timestamp(value)
        zone = getattr(dtype, "tz", None)
        return moment if zone is None else moment.tz_convert(zone)
    return dtype.type(value) if dtype.kind in "iub" and value == int(value) else value
