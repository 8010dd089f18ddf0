"""The seam: rows in blocks, wherever they lie, and sums over them of what a function makes of each.

All that a fit asks of rows that memory does not hold is asked by :func:`sum_over_blocks`. Another
engine takes part by a class of one method, :meth:`Blocks.results`.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ..core.matrices import row_size
from ..core.threads import one_thread
from .failures import naming
from .parquet import row_groups

# Stored values of a block that is cut from an array, and rows at most.
_BLOCK_VALUES, _MOST_ROWS = 2**22, 2**18


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, as they come: nothing is checked yet.

    Parameters
    ----------
    number : int, from 0
    X : array-like or sparse matrix of shape (m, d), or DataFrame
    weight : array-like of shape (m,), optional
    embedding : array-like or sparse matrix of shape (m, q), optional
    """

    number: int
    X: Any
    weight: Any = None
    embedding: Any = None


@runtime_checkable
class Blocks(Protocol):
    """Rows in blocks that can be read again and again, the same every time.

    `names`: names of the columns, or None. `has_embedding`: whether blocks have one.
    """

    names: Any
    has_embedding: bool

    def results(self, function: Callable, state: Any) -> Iterator:
        """Yield function(block, state) for each :class:`Block`, in the order of their numbers.

        The function and the state can be pickled. Only some blocks, and some results, need to be
        held at a time. BLAS is to use one thread (:func:`.core.threads.one_thread`), lest the last
        bits of a result depend on how many there are.

        Raises
        ------
        BlockError
            If a block cannot be made or worked on; it names the block.
        LostRowsError
            If there is nobody left who could.
        """


def sum_over_blocks(function, blocks, state=None):
    """Sum of function(block, state) over the blocks, in their order.

    Parameters
    ----------
    function : callable(Block, state) -> object that can be added to others like it
        Numbers, arrays, or objects with ``__add__``, as :class:`.sums.Sums`; None adds nothing.
    blocks : Blocks
    state : object, small; the same for all blocks

    Returns
    -------
    The sum; None if there are no blocks. It does not depend on who worked when, and on how rows
    are cut into blocks only by the rounding of sums.
    """
    total = None
    for result in blocks.results(function, state):
        if total is None or result is None:
            total = result if total is None else total
        else:
            total = total + result
    return total


@dataclass(frozen=True, eq=False)
class LocalBlocks:
    """Blocks that this process reads, one after the other.

    Parameters
    ----------
    read : callable() -> iterator of tuple (X, weight or None, embedding or None)
    names : sequence of str, optional
    has_embedding : bool
    n_jobs : int, threads that work on blocks; so many, and one more, are held at a time
    """

    read: Callable
    names: Any = None
    has_embedding: bool = False
    n_jobs: int = 1

    def results(self, function, state):
        """See :class:`Blocks`."""
        with one_thread():
            if self.n_jobs < 2:
                for block in self._blocks():
                    with naming(block.number):
                        result = function(block, state)
                    del block  # before the next one is read
                    yield result
            else:
                yield from self._in_threads(function, state)

    def _blocks(self):
        """Yield the blocks."""
        parts = self.read()
        for number in itertools.count():
            with naming(number):
                part = next(parts, None)
            if part is None:
                return
            yield Block(number, *part)

    def _in_threads(self, function, state):
        def work(block):
            with naming(block.number):
                return function(block, state)

        with ThreadPoolExecutor(self.n_jobs) as pool:
            waiting = deque()
            try:
                for block in self._blocks():
                    waiting.append(pool.submit(work, block))
                    del block
                    if len(waiting) > self.n_jobs:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


@singledispatch
def blocks_of(X, sample_weight=None, embedding=None, n_jobs=1):
    """Rows as blocks.

    Parameters
    ----------
    X : array, numpy.memmap, sparse matrix, DataFrame, path, iterable, or Blocks already
        Arrays are cut into slices, which are read when they are asked for. A path is a Parquet
        file or a folder of such; blocks are its row groups. Other iterables give blocks (arrays,
        CSR matrices, frames) and can be read again: a list, or an object whose ``__iter__`` starts
        anew, not a generator; or a callable without arguments that returns an iterator.
    sample_weight : array of shape (n,), or iterable of such beside the blocks, or str, optional
        Weights of the rows, at least 0; of a Parquet file the name of a column.
    embedding : array, or iterable beside the blocks, or list of str, optional
        Where rows are clustered; of a Parquet file the names of its columns.
    n_jobs : int, threads that work on blocks

    Returns
    -------
    Blocks

    Raises
    ------
    TypeError
        If X is none of these, or can be read only once.
    """
    if isinstance(X, Blocks):
        return X
    beside = [
        _opener(part, name)
        for part, name in zip((X, sample_weight, embedding), _NAMES, strict=True)
    ]

    def read():
        parts = [itertools.repeat(None) if open_ is None else open_() for open_ in beside]
        for X_block in parts[0]:
            others = tuple(next(part, _MISSING) for part in parts[1:])
            if any(other is _MISSING for other in others):
                raise ValueError("sample_weight and embedding must have as many blocks as X.")
            yield X_block, *others

    return LocalBlocks(read, _names_of_first(beside[0]), embedding is not None, n_jobs)


_NAMES, _MISSING = ("X", "sample_weight", "embedding"), object()


def _opener(part, name):
    """What gives a new iterator over blocks; None for None."""
    if part is None:
        return None
    open_ = part if callable(part) and not hasattr(part, "__iter__") else None
    if open_ is None and isinstance(part, Iterable) and not isinstance(part, Iterator | str):
        return lambda: iter(part)
    if open_ is None:
        raise TypeError(
            f"{name} must be an array, a file or folder of Parquet, or an iterable of blocks that "
            f"can be read again (a list, an object with __iter__, a function that returns an "
            f"iterator); got {type(part).__name__}."
        )
    return lambda: iter(open_())


def _names_of_first(open_):
    """Names of the columns of the first block; None if it has none."""
    with naming(0):
        first = next(open_(), None)
    return list(first.columns) if isinstance(first, pd.DataFrame) else None


@blocks_of.register(np.ndarray)
@blocks_of.register(sp.spmatrix)
@blocks_of.register(sp.sparray)
@blocks_of.register(pd.DataFrame)
def _of_table(X, sample_weight=None, embedding=None, n_jobs=1):
    """Slices of a table."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; its shape is {X.shape}.")
    X = X.tocsr() if sp.issparse(X) else X
    embedding = embedding.tocsr() if sp.issparse(embedding) else embedding
    for part, name in ((sample_weight, "sample_weight"), (embedding, "embedding")):
        if part is not None and np.shape(part)[:1] != X.shape[:1]:
            raise ValueError(f"{name} has the shape {np.shape(part)}, X has {X.shape[0]} rows.")
    step = max(1, min(_MOST_ROWS, int(_BLOCK_VALUES / max(row_size(X), 1))))

    def some(part, rows):
        if part is None:
            return None
        return part.iloc[rows] if isinstance(part, pd.DataFrame | pd.Series) else part[rows]

    def read():
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            yield tuple(some(part, rows) for part in (X, sample_weight, embedding))

    names = list(X.columns) if isinstance(X, pd.DataFrame) else None
    return LocalBlocks(read, names, embedding is not None, n_jobs)


@blocks_of.register(str)
@blocks_of.register(Path)
def _of_path(X, sample_weight=None, embedding=None, n_jobs=1):
    """Row groups of a file or folder of Parquet."""
    names, read = row_groups(X, sample_weight, embedding)
    return LocalBlocks(read, names, embedding is not None, n_jobs)
