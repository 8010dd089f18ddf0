"""Dask collections as blocks: aligned chunks of rows, and one delayed task per block.

The tasks are computed on a cluster or in threads, and their results come in order.
"""

import contextlib
import time
import uuid
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.system import CPU_COUNT
from distributed import CancelledError, Client, KilledWorker, futures_of, wait
from distributed.scheduler import NoValidWorkerError, NoWorkerError

from .._utils.frames import are_default
from .._utils.threads import check_interrupted, one_thread
from ..outofcore.blocks import Block, BlockError, LostRowsError, block_errors


def dask_blocks(X, sample_weight=None, embedding=None, *, client=None, patience=60.0):
    """Use Dask collections as blocks for :func:`tao_cluster.outofcore.fit` and `sum_over_blocks`.

    Each chunk of rows, or partition, is a block. Blocks are computed again in every pass; those of
    persisted collections stay on their workers. A dependency of all blocks, such as
    ``X.mean(axis=0)``, is also computed in each pass, and workers may keep all chunks in memory for
    it. Compute it before the fit if the rows do not fit into the memory of the workers.

    Parameters
    ----------
    X : Dask array of shape (n, d) with dense or CSR chunks, or Dask DataFrame
    sample_weight : Dask array of shape (n,), or Dask Series, optional
    embedding : Dask array of shape (n, m), or Dask DataFrame, optional
    client : distributed.Client, optional
        Default: the current client; if there is none, threads of this process do the work.
    patience : float, default=60
        Seconds that a pass waits for a worker if there is none.

    Returns
    -------
    DaskBlocks

    Raises
    ------
    TypeError
        If the arguments are not Dask collections, or if the client is asynchronous.
    ValueError
        If the collections have different numbers of rows, or blocks that cannot be aligned.

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
    weight = _aligned(X, sample_weight, "sample_weight", 1)
    collections = (X, weight, _aligned(X, embedding, "embedding", 2))
    names = list(getattr(X, "columns", []))
    is_string = {isinstance(name, str) for name in names}
    names = None if len(is_string) != 1 or are_default(map(str, names)) else names
    return DaskBlocks(collections, names, _client_of(collections, client), patience)


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """The blocks of Dask collections; see :class:`tao_cluster.outofcore.Blocks`.

    Parameters
    ----------
    collections : tuple of X, weights or None, embedding or None, with aligned blocks
    names : list of str, optional
        Names of the columns.
    client : distributed.Client, optional
        Without a client, threads of this process do the work; Dask's settings define their number.
    patience : float
        Seconds that a pass waits for a worker if there is none.
    """

    collections: tuple = field(repr=False)
    names: Any = None
    client: Any = None
    patience: float = 60.0

    @property
    def has_embedding(self):
        """Whether the blocks have an embedding."""
        return self.collections[2] is not None

    @cached_property
    def _parts(self):
        """X, weights and embedding of each block: list of tuples of Delayed or None."""
        present = iter(_optimised([part for part in self.collections if part is not None]))
        columns = [None if part is None else next(present) for part in self.collections]
        n_blocks = len(columns[0])
        columns = [[None] * n_blocks if column is None else column for column in columns]
        return list(zip(*columns, strict=True))

    def results(self, function, state):
        """Yield function(block, state) per block; see `tao_cluster.outofcore.Blocks.results`."""
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
    """Yield the delayed blocks of each collection; common dependencies of arrays are shared.

    DataFrames are optimised one by one, since `dask.optimize` mixes up several (dask 2026.8).
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
    """Return the given client, or that of persisted collections, or the current one, or None."""
    if client is None:
        futures = futures_of([part for part in collections if part is not None])
        with contextlib.suppress(ValueError):  # there is no current client
            client = futures[0].client if futures else Client.current()
    if client is not None and client.asynchronous:
        raise TypeError("The client is asynchronous: pass Client(..., asynchronous=False).")
    return client


def by_rows(part, name, ndim):
    """Check a collection and return it in blocks that have all columns.

    Parameters
    ----------
    part : Dask array, DataFrame or Series
    name : str, name of the argument, for messages
    ndim : int, expected number of dimensions
    """
    if not isinstance(part, da.Array | dd.DataFrame | dd.Series):
        is_pandas = isinstance(part, pd.DataFrame | pd.Series)
        maker = "dataframe.from_pandas({}, npartitions=8)" if is_pandas else "array.from_array({})"
        raise TypeError(
            f"{name} must be a Dask array or DataFrame; got {type(part).__name__}. Convert it with "
            f"dask.{maker.format(name)}, or use tao_cluster.outofcore.fit, which takes arrays, "
            "files and iterables of blocks."
        )
    if part.ndim != ndim:
        shape = "(n_samples,)" if ndim == 1 else "rows and columns"
        raise ValueError(f"{name} must have {shape}; it has {part.ndim} dimensions.")
    is_cut = isinstance(part, da.Array) and ndim == 2 and part.numblocks[1] > 1
    return part.rechunk({1: -1}) if is_cut else part


def _lengths(part):
    """Return the number of rows of each block; NaN for blocks of unknown length."""
    return part.chunks[0] if isinstance(part, da.Array) else (np.nan,) * part.npartitions


def _aligned(X, part, name, ndim):
    """Return a collection in the same blocks of rows as X; None if `part` is None."""
    if part is None:
        return None
    part = by_rows(part, name, ndim)
    ours, theirs = _lengths(X), _lengths(part)
    is_known = not np.isnan([*ours, *theirs]).any()
    if is_known and sum(ours) != sum(theirs):
        raise ValueError(f"{name} has {sum(theirs)} rows, but X has {sum(ours)}.")
    if is_known and ours != theirs:
        return part.rechunk({0: ours})
    if len(ours) != len(theirs):
        raise ValueError(
            f"{name} has {len(theirs)} blocks of rows and X has {len(ours)}, and their lengths are "
            "not known: repartition both in the same way, or call compute_chunk_sizes() on arrays."
        )
    return part


# Seconds between two checks whether there are workers (_LOOK), and seconds after which a request to
# the scheduler fails (_ANSWER).
_LOOK, _ANSWER = 1.0, 30.0

# _ONE_THREAD has the names of Dask's schedulers that compute in the calling thread.
# _TASKS_PER_THREAD tasks per thread are computed together: a dependency that several of them share
# is then computed once.
_ONE_THREAD, _TASKS_PER_THREAD = ("sync", "synchronous", "single-threaded"), 8


def results_in_threads(tasks):
    """Yield the results of delayed tasks, one per block, computed by threads of this process.

    Raises
    ------
    BlockError
        If a task fails. The message names the block.
    """
    scheduler = dask.config.get("scheduler", None)
    scheduler = scheduler if scheduler in _ONE_THREAD else "threads"
    step = _TASKS_PER_THREAD * (dask.config.get("num_workers", None) or CPU_COUNT)
    for start in range(0, len(tasks), step):
        some = tasks[start : start + step]
        try:
            results = dask.compute(*some, scheduler=scheduler)
        except Exception:  # compute blocks one by one, so that the error can name the block
            results = _one_by_one(some, start, scheduler)
        yield from results


def _one_by_one(tasks, start, scheduler):
    for number, task in enumerate(tasks, start):
        with block_errors(number):
            (result,) = dask.compute(task, scheduler=scheduler)
        yield result


def results_on_cluster(client, tasks, patience):
    """Yield the results of delayed tasks, one per block, computed by the workers of a cluster.

    All tasks are submitted at once. The scheduler repeats tasks whose worker died.

    Parameters
    ----------
    client : distributed.Client
    tasks : list of Delayed
    patience : float
        Seconds to wait for a worker if there is none.

    Raises
    ------
    BlockError
        If a task fails or kills its workers. The message names the block.
    LostRowsError
        If the scheduler is lost, or if there are no workers for longer than `patience`.
    """
    try:
        # The argument `state` of the tasks may take several megabytes. Dask would warn about it.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
            futures = client.compute(tasks)
    except Exception as error:
        if isinstance(error, OSError) or client.status == "closed":
            raise LostRowsError(
                f"The Dask scheduler cannot be reached ({error}): start a cluster and pass its "
                "client."
            ) from error
        raise
    try:
        for number, future in enumerate(futures):
            _wait(client, number, future, patience)
            yield _result(number, future)
            future.release()
    finally:
        for future in futures:  # if an error is raised, its traceback refers to the futures
            with contextlib.suppress(Exception):
                future.release()


def _wait(client, number, future, patience):
    """Wait for a future; raise LostRowsError if no worker accepts tasks for `patience` seconds."""
    last_seen = time.monotonic()
    while future.status == "pending":
        check_interrupted()
        with contextlib.suppress(TimeoutError, CancelledError, OSError):
            wait([future], timeout=_LOOK)
            return
        if _has_workers(client):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen >= patience:
            raise LostRowsError(
                f"Block {number} cannot be computed: for {patience:g} s no worker accepted tasks. "
                "There are no workers, their memory is full, or the scheduler does not answer. "
                "Start workers, use smaller chunks, or increase patience."
            )


def _has_workers(client):
    """Return whether at least one worker accepts tasks. Paused workers accept none."""
    try:
        count = client.sync(client.scheduler.ncores_running, callback_timeout=_ANSWER)
    except Exception:
        return False
    return sum(count.values()) > 0


def _result(number, future):
    """Return the result of a finished future; raise a BlockError or a LostRowsError."""
    try:
        return future.result()
    except KilledWorker as error:
        cause = MemoryError(
            f"{error.allowed_failures + 1} workers died while they computed it, or another block "
            "at the same time. It probably needs more memory than they have: use smaller chunks, "
            "workers with more memory, or fewer threads per worker."
        )
        raise BlockError(number, cause) from error
    except Exception as error:
        # Either the task failed, or its result or the rows that it needs are lost.
        if future.status == "error" and not isinstance(error, NoValidWorkerError | NoWorkerError):
            raise BlockError(number, error) from error
        raise LostRowsError(
            f"Block {number} cannot be read: the cluster lost its task or result "
            f"({getattr(error, 'reason', error)}). Rows that were scattered or persisted without "
            "their sources are lost with their worker, and everything is lost with the scheduler: "
            "load the rows again and fit again."
        ) from error
