"""Dask collections as blocks: one task a block, on a cluster or in threads of this process."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dask
import dask.threaded
from dask.system import CPU_COUNT
from distributed import Client, futures_of

from ..outofcore.blocks import Block, LocalBlocks
from .cluster import Pass, Work
from .graph import Plan
from .rows import aligned

# What dask calls computing in the thread that asks.
_ONE_THREAD = {"sync", "synchronous", "single-threaded"}


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
    def _plan(self):
        return Plan.of(self.collections)

    def results(self, function, state):
        """See :class:`.blocks.Blocks`."""
        if self.client is not None:
            return Pass(self.client, self._plan, Work(function, state), self.patience).results()
        scheduler, n_threads = dask.config.get("scheduler", None), dask.config.get("num_workers", 0)
        n_jobs = 1 if scheduler in _ONE_THREAD else n_threads or CPU_COUNT
        return LocalBlocks(self._read, n_jobs=n_jobs).results(_made, Work(function, state))

    def _read(self):
        """Yield blocks that are not made yet, with the values that several of them need."""
        plan, values = self._plan, {}
        for number, recipe in enumerate(plan.recipes):
            missing = [key for key in recipe.outer if key not in values]
            if missing:
                made = dask.threaded.get(plan.closure(missing), missing)
                values.update(zip(missing, made, strict=True))
            yield (recipe, [values[key] for key in recipe.outer]), None, None
            for key in recipe.outer:
                if plan.last_use[key] == number:
                    del values[key]


def _made(block, work):
    """The result for a block that is made now."""
    recipe, outer = block.X
    return work(Block(block.number, *recipe.make(outer)))


def dask_blocks(X, sample_weight=None, embedding=None, *, client=None, patience=60.0):
    """Dask collections as blocks, for :func:`tao_cluster.outofcore.fit` and sums of your own.

    Chunks of rows, or partitions, are the blocks. They are made anew at every pass over them, and
    forgotten; those of persisted collections are used where they lie.

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
    collections = aligned(X, sample_weight, embedding)
    names = list(getattr(X, "columns", []))
    names = names if names and all(isinstance(name, str) for name in names) else None
    return DaskBlocks(collections, names, client_of(collections, client), patience)


def client_of(collections, client=None):
    """The client that works on collections: the given one, that of persisted ones, the current."""
    if client is None:
        futures = futures_of([part for part in collections if part is not None])
        client = futures[0].client if futures else _current_client()
    if client is not None and client.asynchronous:
        raise TypeError("The client must be a synchronous one: Client(..., asynchronous=False).")
    return client


def _current_client():
    try:
        return Client.current()
    except ValueError:
        return None
