"""Dask arrays and frames that go together: in blocks of the same rows, of all columns each."""

from functools import singledispatch

import dask.array as da
import dask.dataframe as dd
import numpy as np


def aligned(X, sample_weight=None, embedding=None):
    """X, weights and embedding in blocks of the same rows.

    Parameters
    ----------
    X : dask array of shape (n, d), or DataFrame
    sample_weight : dask array of shape (n,), or Series, optional
    embedding : dask array of shape (n, m), or DataFrame, optional

    Returns
    -------
    tuple of the three, None where there was None; nothing is computed

    Raises
    ------
    TypeError
        If one is no dask collection.
    ValueError
        If they have other rows than X.
    """
    X = by_rows(X, "X", 2)
    return (
        X,
        _beside(X, sample_weight, "sample_weight", 1),
        _beside(X, embedding, "embedding", 2),
    )


@singledispatch
def by_rows(part, name, ndim):
    """A collection in blocks that have all columns.

    Parameters
    ----------
    part : dask array or frame
    name : str, for messages
    ndim : int, that it must have
    """
    del ndim
    raise TypeError(
        f"{name} must be a dask array or a dask DataFrame, got {type(part).__name__}; "
        "tao_cluster.outofcore.fit takes arrays, files and iterables of blocks."
        if name == "X"
        else f"{name} must be a dask array or frame with the rows of X, got {type(part).__name__}; "
        "dask.array.from_array(..., chunks=X.chunks[0]) makes one of an array."
    )


@by_rows.register(da.Array)
def _array_by_rows(part, name, ndim):
    _check_ndim(part, name, ndim)
    is_cut = part.ndim == 2 and part.numblocks[1] > 1
    return part.rechunk({1: -1}) if is_cut else part


@by_rows.register(dd.DataFrame)
@by_rows.register(dd.Series)
def _frame_by_rows(part, name, ndim):
    _check_ndim(part, name, ndim)
    return part


def _check_ndim(part, name, ndim):
    if part.ndim != ndim:
        shape = "(n_samples,)" if ndim == 1 else "rows and columns"
        raise ValueError(f"{name} must have {shape}; it has {part.ndim} dimensions.")


def _lengths(part):
    """Rows of each block, NaN where that is not known."""
    return part.chunks[0] if isinstance(part, da.Array) else (np.nan,) * part.npartitions


def _beside(X, part, name, ndim):
    """A collection in blocks of the rows of X; None for None."""
    if part is None:
        return None
    part = by_rows(part, name, ndim)
    ours, theirs = _lengths(X), _lengths(part)
    is_known = not np.isnan([*ours, *theirs]).any()
    if is_known and sum(ours) != sum(theirs):
        raise ValueError(f"{name} has {sum(theirs)} rows, X has {sum(ours)}.")
    if is_known and ours != theirs:
        return part.rechunk({0: ours})
    if len(ours) != len(theirs):
        raise ValueError(
            f"{name} is cut into {len(theirs)} blocks of rows and X into {len(ours)}; as their "
            "lengths are not known, cut both in the same way."
        )
    return part
