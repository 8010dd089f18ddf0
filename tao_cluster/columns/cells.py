"""Rows in which some values are others, of whatever kind the row is."""

import numpy as np
import scipy.sparse as sp


def with_cells(row, cells):
    """A copy of a row in which some columns have other values.

    Parameters
    ----------
    row : array, CSR matrix or DataFrame of shape (1, n)
    cells : dict of values by position of the column

    Returns
    -------
    the same kind of row; float64 where it holds numbers only
    """
    if hasattr(row, "iloc"):
        changed = row.astype(object)
        for column, value in cells.items():
            changed.iloc[0, column] = value
        return changed.infer_objects()
    if sp.issparse(row):
        changed = row.astype(np.float64).tolil()
        for column, value in cells.items():
            changed[0, column] = value
        return changed.tocsr()
    changed = np.array(row, dtype=object)
    for column, value in cells.items():
        changed[0, column] = value
    is_number = all(isinstance(value, int | float | np.number) for value in changed[0].tolist())
    return changed.astype(np.float64) if is_number else changed
