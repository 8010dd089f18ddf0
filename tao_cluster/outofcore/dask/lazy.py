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
    X, empty = by_rows(X, "X", 2), _result_without_rows(model, method, np.empty((1, X.shape[1])))
    shape = {"chunks": (X.chunks[0], empty.shape[1:])} if empty.ndim == 2 else {"drop_axis": 1}
    return X.map_blocks(
        _of_rows, dask.delayed(model), method, empty, dtype=empty.dtype, meta=empty, **shape
    )


@lazily.register(dd.DataFrame)
def _of_frame(X, model, method):
    names = [str(name) for name in X.columns]
    empty = _result_without_rows(model, method, pd.DataFrame(np.zeros((1, len(names))), None, names))
    meta = _beside_index(empty, X._meta.index[:0], model)
    return X.map_partitions(_of_partition, dask.delayed(model), method, empty, meta=meta)


def _result_without_rows(model, method, row):
    """What the method gives for no rows: array of shape (0,) or (0, k).

    It may be asked of rows in the space of the centres, which an embedding is.
    """
    n_columns, is_transform = row.shape[1], method == "transform"
    if is_transform and n_columns == model.cluster_centers_.shape[1] != model.n_features_in_:
        row = np.zeros((1, n_columns))
    return getattr(model, method)(row if hasattr(row, "columns") else np.zeros_like(row))[:0]


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
