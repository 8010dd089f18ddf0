"""Rows of a comparison: those that are fitted, and those held out."""

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing


def hold_out(validation, n_rows, random_state):
    """Rows to fit and rows held out: arrays of their numbers, None for all and for none."""
    if validation is None:
        return None, None
    if np.ndim(validation) == 0:
        if not 0 < validation < 1:
            raise ValueError(
                f"validation={validation} must be a share between 0 and 1, positions of rows, or a "
                "mask of them."
            )
        parts = train_test_split(np.arange(n_rows), test_size=validation, random_state=random_state)
        return tuple(map(np.sort, parts))
    is_held = np.zeros(n_rows, dtype=bool)
    try:
        is_held[np.asarray(validation)] = True
    except IndexError as error:
        raise ValueError(
            f"validation must be a share, positions of rows of X, or a mask of {n_rows} booleans: "
            f"{error}."
        ) from error
    if is_held.all() or not is_held.any():
        raise ValueError(f"validation holds out {is_held.sum()} of {n_rows} rows.")
    return np.flatnonzero(~is_held), np.flatnonzero(is_held)


def rows_of(arrays, rows):
    """Some rows of each array, or what is None as it is."""
    if rows is None:
        return arrays
    return {
        name: None if array is None else _safe_indexing(array, rows)
        for name, array in arrays.items()
    }
