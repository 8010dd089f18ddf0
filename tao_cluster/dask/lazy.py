"""What a fitted estimator says of rows in dask collections, computed when it is asked for."""

from functools import singledispatch

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd

from .rows import by_rows


@singledispatch
def lazily(X, model, method):
    """Result of a method of a fitted estimator for rows: lazy for dask, plain for plain rows.

    Parameters
    ----------
    X : dask array or DataFrame, lazily; or what the method takes, at once
    model : fitted estimator
    method : str, "predict", "apply" or "transform"
    """
    return getattr(model, method)(X)


@lazily.register(da.Array)
def _of_array(X, model, method):
    X = by_rows(X, "X", 2)
    empty = _result_without_rows(np.ones((1, X.shape[1])), model, method)
    shape = {"chunks": (X.chunks[0], empty.shape[1:])} if empty.ndim == 2 else {"drop_axis": 1}
    return X.map_blocks(
        _of_rows, dask.delayed(model), method, empty, dtype=empty.dtype, meta=empty, **shape
    )


@lazily.register(dd.DataFrame)
def _of_frame(X, model, method):
    row = pd.DataFrame(np.ones((1, len(X.columns))), columns=X.columns)
    empty = _result_without_rows(row, model, method)
    meta = _beside_index(empty, X._meta.index[:0], model)
    return X.map_partitions(_of_partition, dask.delayed(model), method, empty, meta=meta)


def _result_without_rows(row, model, method):
    """What the method gives for no rows, by that for one: array of shape (0,) or (0, k)."""
    return getattr(model, method)(row)[:0]


def _of_rows(X, model, method, empty):
    """The result for one block; estimators refuse those without rows, which filters leave."""
    return getattr(model, method)(X) if X.shape[0] else empty


def _of_partition(X, model, method, empty):
    return _beside_index(_of_rows(X, model, method, empty), X.index, model)


def _beside_index(result, index, model):
    """The result with the index of the rows."""
    if result.ndim == 1:
        return pd.Series(result, index)
    return pd.DataFrame(result, index, model.get_feature_names_out())
