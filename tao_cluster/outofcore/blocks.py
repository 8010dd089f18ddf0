"""Blocks of rows: the protocol, sums over blocks, errors, and conversion of the user's input.

A fit reads the rows only by :func:`sum_over_blocks`. To add another source of rows, write a class
with the attributes and the method of :class:`Blocks`.
"""

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import scipy.sparse as sp
from joblib import effective_n_jobs

from .._utils.frames import are_default, display_name
from .._utils.imports import progress_bar
from .._utils.matrices import row_size
from .._utils.threads import check_interrupted, one_thread
from .files import ParquetTable, read_npy

# Largest number of values and largest number of rows in a block that is cut from an array or file.
BLOCK_VALUES, MOST_ROWS = 2**22, 2**18
_END = object()


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows. Its values are not checked yet.

    Parameters
    ----------
    number : int
        Position among the blocks, from 0.
    X : array-like or sparse matrix of shape (m, d), or DataFrame
        Features of the rows.
    weight : array-like of shape (m,), optional
        Weights of the rows; None if all weights are 1.
    embedding : array-like or sparse matrix of shape (m, q), optional
        Coordinates in which the rows are clustered; None if they are clustered by X.
    """

    number: int
    X: Any
    weight: Any = None
    embedding: Any = None


@runtime_checkable
class Blocks(Protocol):
    """Protocol of a source of rows in blocks, which returns the same blocks in every pass.

    Parameters
    ----------
    names : list of str, or None
        Names of the columns of X; None if the columns have no names.
    has_embedding : bool
        Whether the blocks have an embedding.
    """

    names: Any
    has_embedding: bool

    def results(self, function: Callable, state: Any) -> Iterator:
        """Yield function(block, state) for each :class:`Block`, in the order of their numbers.

        An implementation may pickle the function and the state, for example to send them to other
        processes. It need not hold all blocks or all results in memory at the same time. BLAS must
        use one thread (``tao_cluster._utils.threads.one_thread``), so that results do not depend on
        the number of threads.

        Raises
        ------
        BlockError
            If a block cannot be read, or if the function fails. The message names the block.
        LostRowsError
            If the rows can no longer be read, for example because the Dask scheduler is gone.
        """


def sum_over_blocks(function, blocks, state=None):
    """Sum function(block, state) over the blocks, in their order.

    Parameters
    ----------
    function : callable (Block, state)
        It returns a number, an array or an object with ``__add__``, such as
        ``tao_cluster.outofcore.statistics.Sums``. Blocks for which it returns None are skipped.
    blocks : Blocks
    state : object
        Second argument of the function, the same for all blocks. It should be small, since it is
        sent to all workers.

    Returns
    -------
    object
        The sum; None if there are no results to add. It does not depend on the number of threads or
        workers. Another partition of the rows into blocks changes only the rounding of sums.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster import outofcore
    >>> blocks = outofcore.blocks_of([np.ones((3, 2)), np.ones((2, 2))])
    >>> outofcore.sum_over_blocks(lambda block, state: block.X.sum(), blocks)
    np.float64(10.0)
    """
    total = None
    # If an error ends the loop, closing the generator stops the work on further blocks.
    with contextlib.closing(found for found in blocks.results(function, state)) as results:
        for number, result in enumerate(results):
            check_interrupted()
            with block_errors(number):
                total = result if total is None else total if result is None else total + result
    return total


class BlockError(ValueError):
    """A block cannot be read, or a function fails for it.

    Parameters
    ----------
    number : int, number of the block, from 0
    cause : Exception, also available as ``__cause__``
    """

    def __init__(self, number, cause):
        super().__init__(f"Block {number}: {_message(cause)}")
        self.number = number

    def __reduce__(self):
        return type(self), (self.number, self.__cause__)


class LostRowsError(RuntimeError):
    """The rows can no longer be read: the Dask scheduler or all of its workers are gone."""


@contextlib.contextmanager
def block_errors(number):
    """Context manager that turns an exception into a BlockError with the number of the block.

    BlockErrors and LostRowsErrors are raised again unchanged.
    """
    try:
        yield
    except (BlockError, LostRowsError):
        raise
    except Exception as error:
        raise BlockError(number, error) from error


def _message(error):
    """Return the message of an exception, with its class unless it is a ValueError."""
    text = str(error) or "no reason given"
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def blocks_of(X, sample_weight=None, embedding=None, n_jobs=1):
    """Split rows into blocks.

    Parameters
    ----------
    X : array, numpy.memmap, sparse matrix, DataFrame, path, iterable, or Blocks
        - An array, a sparse matrix, a DataFrame, or any object with a shape and slices of rows
          (such as an HDF5 data set) is cut into slices, which are read when they are needed.
        - A path is an ``.npy`` file, which is memory-mapped, or a Parquet file or folder. A list of
          paths or a pyarrow Dataset is Parquet, too. :func:`parquet_blocks` selects columns.
        - Any other iterable yields the blocks (arrays, CSR matrices or DataFrames). It must be
          readable more than once: a list, an object whose ``__iter__`` returns a new iterator (not
          a generator), or a callable without arguments that returns an iterator. An object with
          ``reset()`` and ``next(input_data)``, such as XGBoost's DataIter, must call
          ``input_data`` with ``data`` and optionally ``weight``.
    sample_weight : array of shape (n,), iterable of arrays, or str, optional
        Weights of the rows, at least 0: one array for all rows, one array per block, or the name of
        a column of the Parquet files.
    embedding : array, iterable of arrays, or list of str, optional
        Coordinates in which the rows are clustered: one array for all rows, one array per block, or
        the names of columns of the Parquet files.
    n_jobs : int or None, default=1
        Number of threads that work on blocks.

    Returns
    -------
    Blocks

    Raises
    ------
    TypeError
        If X has another type, or can be read only once.
    ValueError
        If the numbers of rows or blocks differ, or if a file cannot be read.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster import outofcore
    >>> blocks = outofcore.blocks_of([np.zeros((3, 2)), np.ones((2, 2))])
    >>> outofcore.sum_over_blocks(lambda block, state: len(block.X), blocks, None)
    5
    """
    parts = (X, sample_weight, embedding)
    if isinstance(X, Blocks) or (hasattr(X, "reset") and hasattr(X, "next")):
        if sample_weight is not None or embedding is not None:
            raise ValueError(
                f"{type(X).__name__} yields its own sample_weight and embedding with the rows: do "
                "not pass them as arguments."
            )
        return X if isinstance(X, Blocks) else _reader_blocks(partial(_data_iter_blocks, X), n_jobs)
    if isinstance(X, str | Path) and Path(X).suffix.lower() == ".npy":
        parts = [read_npy(part, "r") if isinstance(part, str | Path) else part for part in parts]
        return _table_blocks(*parts, n_jobs)
    if isinstance(X, str | Path) or hasattr(X, "get_fragments") or _are_paths(X):
        return parquet_blocks(X, None, sample_weight, embedding, n_jobs)
    if sp.issparse(X) or (hasattr(X, "shape") and hasattr(X, "__getitem__")):
        return _table_blocks(*parts, n_jobs)
    names = ("X", "sample_weight", "embedding")
    openers = [_opener(part, name) for part, name in zip(parts, names, strict=True)]
    return _reader_blocks(partial(_zip_blocks, openers), n_jobs, embedding is not None)


def _are_paths(X):
    return isinstance(X, list | tuple) and any(isinstance(part, str | Path) for part in X)


def _data_iter_blocks(X):
    """Yield the blocks of an object like XGBoost's DataIter."""
    given = []

    def input_data(data, weight=None, **others):
        del others  # a DataIter may pass further arrays, such as labels; fits ignore them
        given.append((data, weight, None))

    X.reset()
    while X.next(input_data):
        yield from given
        given.clear()


def _opener(part, name):
    """Return a function that starts a new iterator over the blocks in `part`.

    If `part` is None, return None. `name` is the name of the argument, for the error message.
    """
    if part is None:
        return None
    if isinstance(part, Iterable) and not isinstance(part, Iterator | str):
        return partial(iter, part)
    if not callable(part) or hasattr(part, "__iter__"):
        raise TypeError(
            f"{name} must be an array, a Parquet file or folder, or an iterable of blocks that can "
            f"be read more than once; got {type(part).__name__}. A generator is read once: pass a "
            "list, or a function that returns a new iterator."
        )
    return lambda: iter(part())


def _zip_blocks(openers):
    """Yield (X, weight or None, embedding or None) of each block.

    Parameters
    ----------
    openers : list of the results of :func:`_opener` for X, the weights and the embedding
    """
    nothing = itertools.repeat(None)
    parts = [nothing if open_ is None else open_() for open_ in openers]
    while True:
        block = [next(part, _END) for part in parts]
        has_ended = {each is _END for each, open_ in zip(block, openers, strict=True) if open_}
        if has_ended == {True}:
            return
        if True in has_ended:
            raise ValueError("sample_weight and embedding must yield as many blocks as X.")
        yield tuple(block)


def _reader_blocks(read, n_jobs, has_embedding=False):
    """Return the blocks that `read()` yields. The first block defines the names of the columns."""
    with block_errors(0):
        first = next(read(), (np.empty((0, 0)),))[0]
        if len(np.shape(first)) != 2:
            raise ValueError(
                f"a block must have rows and columns, but its shape is {np.shape(first)}; if X is "
                "a list of rows, pass np.asarray(X)."
            )
        names = names_of(first)
    return LocalBlocks(read, names, has_embedding, n_jobs)


def _table_blocks(X, sample_weight, embedding, n_jobs):
    """Return blocks that are consecutive slices of the rows of an array, matrix or DataFrame."""
    if len(X.shape) != 2:
        raise ValueError(f"X must have rows and columns; its shape is {tuple(X.shape)}.")
    parts = [part.tocsr() if sp.issparse(part) else part for part in (X, sample_weight, embedding)]
    n_rows = X.shape[0]
    for part, name in zip(parts[1:], ("sample_weight", "embedding"), strict=True):
        if part is not None and np.shape(part)[:1] != (n_rows,):
            raise ValueError(f"{name} has the shape {np.shape(part)}, but X has {n_rows} rows.")
    size = sum(row_size(part) for part in (parts[0], parts[2]) if part is not None)
    step = max(1, min(MOST_ROWS, int(BLOCK_VALUES / max(size, 1))))

    def read():
        for start in range(0, n_rows, step):
            yield tuple(_some(part, slice(start, start + step)) for part in parts)

    return LocalBlocks(read, names_of(X), embedding is not None, n_jobs)


def _some(part, rows):
    """Return the rows `rows` (a slice) of an array, matrix or DataFrame; None if `part` is None."""
    if part is None:
        return None
    return part.iloc[rows] if isinstance(part, pd.DataFrame | pd.Series) else part[rows]


def parquet_blocks(path, columns=None, sample_weight=None, embedding=None, n_jobs=1):
    """Read blocks of rows from Parquet files.

    A block is a part of a large row group, or consists of several small row groups. The blocks
    depend only on the files and their order. At most n_jobs + 2 blocks are in memory at the same
    time.

    Parameters
    ----------
    path : path-like of a file or a folder, list of path-like, or pyarrow Dataset
        The files ``*.parquet`` of a folder and its subfolders are read, sorted by path.
    columns : list of str, optional
        Columns that are the features. Default: all columns except those of `sample_weight` and
        `embedding`. They must hold numbers or booleans. They are read as float32 if numpy promotes
        their types to float32 (for example float32 alone, or with int16), else as float64.
    sample_weight : str, optional
        Column with the weights of the rows.
    embedding : list of str, optional
        Columns with the coordinates in which the rows are clustered. Default: the features.
    n_jobs : int or None, default=1
        Number of threads that work on blocks.

    Returns
    -------
    Blocks

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    ValueError
        If there are no files, if a file is not Parquet, or if a column is missing or not numeric.

    Examples
    --------
    >>> import os, tempfile
    >>> import pandas as pd
    >>> from tao_cluster import outofcore
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.parquet")
    >>> pd.DataFrame({"mass": [3.5, 4.0], "seen": [1, 2]}).to_parquet(path)
    >>> outofcore.parquet_blocks(path, columns=["mass"], sample_weight="seen").names
    ['mass']
    """
    table = ParquetTable.from_files(path, sample_weight, embedding, columns)
    read = partial(table.read, BLOCK_VALUES, MOST_ROWS)
    return LocalBlocks(read, table.X.names, table.embedding is not None, n_jobs)


@dataclass(frozen=True, eq=False)
class LocalBlocks:
    """Blocks that are read by this process, one after the other.

    Parameters
    ----------
    read : callable() -> iterator of tuple (X, weight or None, embedding or None)
        Function that starts a new pass over the rows.
    names : list of str, optional
        Names of the columns. A DataFrame with other columns raises a BlockError.
    has_embedding : bool, default=False
        Whether the blocks have an embedding.
    n_jobs : int or None, default=1
        Number of threads that work on blocks. As in joblib, None is 1 and -1 is the number of
        cores. At most n_jobs + 2 blocks are in memory at the same time.
    """

    read: Callable
    names: Any = None
    has_embedding: bool = False
    n_jobs: int = 1

    def results(self, function, state):
        """Yield function(block, state) for each block; see :meth:`Blocks.results`."""

        def work(block):
            with block_errors(block.number), one_thread():
                return function(block, state)

        n_jobs = effective_n_jobs(self.n_jobs)
        return map(work, self._blocks()) if n_jobs < 2 else self._in_threads(work, n_jobs)

    def _blocks(self):
        """Yield the blocks in order."""
        parts = self.read()
        for number in itertools.count():
            with block_errors(number), one_thread():
                part = next(parts, None)
                if part is None:
                    return
                _check_columns(part[0], self.names)
            yield Block(number, *part)
            del part  # free the memory of this block before the next one is read

    def _in_threads(self, work, n_jobs):
        with ThreadPoolExecutor(n_jobs) as pool:
            waiting = deque()
            try:
                for block in self._blocks():
                    waiting.append(pool.submit(work, block))
                    del block
                    if len(waiting) > n_jobs:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()


def _check_columns(X, names):
    """Raise a ValueError if a DataFrame has other columns than the first block."""
    found = names_of(X)
    if names is not None and found is not None and found != names:
        found, first = (", ".join(map(display_name, each)) for each in (found, names))
        raise ValueError(
            f"its columns are {found}, but those of the first block are {first}: select the same "
            "columns for all blocks."
        )


def names_of(X):
    """Return the names of the columns of a DataFrame.

    Return None for other data, and for the default names of pandas (0, 1, 2, ...).
    """
    names = list(X.columns) if isinstance(X, pd.DataFrame) else []
    if not any(isinstance(name, str) for name in names):
        return None if are_default(map(str, names)) else names
    if not all(isinstance(name, str) for name in names):
        raise TypeError(
            "Either all names of columns must be strings, or none: set X.columns = "
            "X.columns.astype(str)."
        )
    return names


@dataclass(frozen=True, eq=False)
class ProgressBlocks:
    """Blocks with a progress bar for each pass over them; see :class:`Blocks`."""

    blocks: Any

    def __getattr__(self, name):
        """Return an attribute of the wrapped blocks, such as `names`."""
        return getattr(self.blocks, name)

    def results(self, function, state):
        """Yield function(block, state) for each block, and advance the progress bar."""
        name, results = function.__name__.strip("_"), self.blocks.results(function, state)
        yield from progress_bar(results, desc=f"pass: {name}", leave=False, unit=" blocks")
