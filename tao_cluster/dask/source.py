"""Dask collections as blocks: aligned chunks of rows, with one delayed task per block."""

import contextlib
import uuid
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from distributed import Client, futures_of

from .._utils.frames import are_default
from .._utils.threads import one_thread
from ..outofcore.blocks import Block
from .runner import results_in_threads, results_on_cluster


def dask_blocks(X, sample_weight=None, embedding=None, *, client=None, patience=60.0):
    """Dask collections as blocks, for :func:`tao_cluster.outofcore.fit` and sums of your own.

    Chunks of rows, or partitions, are the blocks. They are made anew at every pass over them, and
    forgotten; those of persisted collections are used where they lie. What all blocks need, as
    ``X.mean(axis=0)``, is made in each pass; compute it first if all rows do not fit into the
    memory of the workers, which may keep the chunks that it was made of.

    Parameters
    ----------
    X : dask array of shape (n, d), of dense or CSR chunks, or dask DataFrame
    sample_weight : dask array of shape (n,), or Series, optional
    embedding : dask array of shape (n, m), or DataFrame, optional
    client : distributed.Client, optional
        Default the current one; if there is none, threads of this process work.
    patience : float, default=60
        Seconds that a pass waits for a worker when there is none.

    Returns
    -------
    DaskBlocks

    Raises
    ------
    TypeError
        If these are no dask collections, or the client is an asynchronous one.
    ValueError
        If they have different rows, or blocks of different rows that cannot be aligned.

    Examples
    --------
    >>> import dask.array as da
    >>> from tao_cluster import outofcore
    >>> from tao_cluster.dask import dask_blocks
    >>> blocks = dask_blocks(da.ones((6, 2), chunks=(3, 2)))
    >>> int(outofcore.sum_over_blocks(lambda block, state: len(block.X), blocks))
    6
    """
    X = by_rows(X, "X", 2)
    weight = _beside(X, sample_weight, "sample_weight", 1)
    collections = (X, weight, _beside(X, embedding, "embedding", 2))
    names = list(getattr(X, "columns", []))
    is_string = {isinstance(name, str) for name in names}
    names = None if len(is_string) != 1 or are_default(map(str, names)) else names
    return DaskBlocks(collections, names, _client_of(collections, client), patience)


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """The blocks of dask collections; see :class:`.blocks.Blocks`.

    Parameters
    ----------
    collections : tuple of X, weights or None, embedding or None, with as many blocks
    names : list of str, optional
    client : distributed.Client, optional
        Whose cluster works; without one threads of this process do, as many as dask would take.
    patience : float
        Seconds that a pass waits for a worker when there is none.
    """

    collections: tuple = field(repr=False)
    names: Any = None
    client: Any = None
    patience: float = 60.0

    @property
    def has_embedding(self):
        """Whether blocks have an embedding."""
        return self.collections[2] is not None

    @cached_property
    def _parts(self):
        """X, weights and embedding of each block, as delayed objects or None."""
        present = iter(_optimised([part for part in self.collections if part is not None]))
        columns = [None if part is None else next(present) for part in self.collections]
        n_blocks = len(columns[0])
        columns = [[None] * n_blocks if column is None else column for column in columns]
        return list(zip(*columns, strict=True))

    def results(self, function, state):
        """See :class:`.blocks.Blocks`."""
        work = dask.delayed(partial(_call, function, state), traverse=False)
        name = f"{getattr(function, '__name__', 'work').strip('_')}-{uuid.uuid4().hex}"
        tasks = [
            _work_on(number, *parts, work, dask_key_name=f"{name}-{number}")
            for number, parts in enumerate(self._parts)
        ]
        if self.client is None:
            return results_in_threads(tasks)
        return results_on_cluster(self.client, tasks, self.patience)


def _optimised(collections):
    """The delayed blocks of each collection; what several arrays need is made once.

    Frames go one by one: of several `dask.optimize` returns wrong ones (dask 2026.8).
    """
    arrays = [part for part in collections if isinstance(part, da.Array)]
    arrays = iter(dask.optimize(*arrays))
    for part in collections:
        if isinstance(part, da.Array):
            yield next(arrays).to_delayed(optimize_graph=False).ravel().tolist()
        else:
            yield part.to_delayed()


def _call(function, state, block):
    return function(block, state)


@partial(dask.delayed, pure=False)
def _work_on(number, X, weight, embedding, work):
    with one_thread():
        return work(Block(number, X, weight, embedding))


def _client_of(collections, client):
    """The client that works on collections: the given one, that of persisted ones, the current."""
    if client is None:
        futures = futures_of([part for part in collections if part is not None])
        with contextlib.suppress(ValueError):  # there is none
            client = futures[0].client if futures else Client.current()
    if client is not None and client.asynchronous:
        raise TypeError("The client must be a synchronous one: Client(..., asynchronous=False).")
    return client


def by_rows(part, name, ndim):
    """A collection in blocks that have all columns.

    Parameters
    ----------
    part : dask array or frame
    name : str, for messages
    ndim : int, that it must have
    """
    if not isinstance(part, da.Array | dd.DataFrame | dd.Series):
        raise TypeError(
            f"{name} must be a dask array or DataFrame, got {type(part).__name__}. "
            "dask.array.from_array(..., chunks=X.chunks[0]) makes one of an array; "
            "tao_cluster.outofcore.fit takes arrays, files and iterables of blocks."
        )
    if part.ndim != ndim:
        shape = "(n_samples,)" if ndim == 1 else "rows and columns"
        raise ValueError(f"{name} must have {shape}; it has {part.ndim} dimensions.")
    is_cut = isinstance(part, da.Array) and ndim == 2 and part.numblocks[1] > 1
    return part.rechunk({1: -1}) if is_cut else part


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
