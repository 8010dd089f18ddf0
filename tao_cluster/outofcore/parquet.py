"""Row groups of Parquet files, one read at a time."""

import numpy as np

from ..core.optional import need


def row_groups(path, weight=None, embedding=None, columns=None):
    """What reads the row groups of a file or a folder of Parquet.

    Parameters
    ----------
    path : path-like, or Dataset of pyarrow
    weight : str, optional
        Column with the weights of the rows.
    embedding : list of str, optional
        Columns in which the rows are clustered; no features.
    columns : list of str, optional
        Features; default all others.

    Returns
    -------
    names : list of str, the features
    read : callable() -> iterator of tuple (X, weight or None, embedding or None), of arrays

    Raises
    ------
    ValueError
        If a column is missing or does not hold numbers.
    """
    raise NotImplementedError((np, need, path, weight, embedding, columns))
