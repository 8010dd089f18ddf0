"""Rows in blocks, wherever they lie: the protocol, sums over blocks, errors, and what users pass.

Whatever a fit asks of rows that memory does not hold is asked by :func:`sum_over_blocks`. Another
engine takes part by a class of one method, :meth:`Blocks.results`.
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
from tqdm.auto import tqdm

from .._utils.frames import are_default, display_name
from .._utils.matrices import row_size
from .._utils.threads import check_interrupted, one_thread
from .files import ParquetTable, read_npy

# Stored values of a block that is cut from an array or a file, and rows at most.
BLOCK_VALUES, MOST_ROWS = 2**22, 2**18
_END = object()


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
        held at a time. BLAS is to use one thread
        (``tao_cluster._utils.threads.one_thread``), lest the last bits of a
        result depend on how many there are.

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
        Numbers, arrays, or objects with ``__add__``, as
        ``tao_cluster.outofcore.statistics.Sums``; None adds nothing.
    blocks : Blocks
    state : object, small; the same for all blocks

    Returns
    -------
    The sum; None if there are no blocks. It does not depend on who worked when, and on how rows
    are cut into blocks only by the rounding of sums.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster import outofcore
    >>> blocks = outofcore.blocks_of([np.ones((3, 2)), np.ones((2, 2))])
    >>> outofcore.sum_over_blocks(lambda block, state: block.X.sum(), blocks)
    np.float64(10.0)
    """
    total = None
    # Closing the generator stops the engine.
    with contextlib.closing(found for found in blocks.results(function, state)) as results:
        for number, result in enumerate(results):
            check_interrupted()
            with block_errors(number):
                total = result if total is None else total if result is None else total + result
    return total


class BlockError(ValueError):
    """A block could not be made or worked on; the cause is its ``__cause__``.

    Parameters
    ----------
    number : int, of the block, from 0
    cause : Exception
    """

    def __init__(self, number, cause):
        super().__init__(f"Block {number}: {_sentence(cause)}")
        self.number = number

    def __reduce__(self):
        return type(self), (self.number, self.__cause__)


class LostRowsError(RuntimeError):
    """There is nobody left who could read the rows, such as a scheduler or its workers."""


@contextlib.contextmanager
def block_errors(number):
    """Context in which an exception becomes one that names the block."""
    try:
        yield
    except (BlockError, LostRowsError):
        raise
    except Exception as error:
        raise BlockError(number, error) from error


def _sentence(error):
    """What an exception says, with its class where that is not a ValueError."""
    text = str(error) or "no reason given"
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"


def blocks_of(X, sample_weight=None, embedding=None, n_jobs=1):
    """Rows as blocks.

    Parameters
    ----------
    X : array, numpy.memmap, sparse matrix, DataFrame, path, iterable, or Blocks already
        - An array, sparse matrix or frame, or what else has a shape and gives slices of rows (such
          as a data set of HDF5), is cut into slices, which are read when they are asked for.
        - A path is that of a file ``.npy``, which is mapped into memory, or of Parquet, a file or a
          folder. A list of paths, or a Dataset of pyarrow, is Parquet, too. To choose columns see
          :func:`parquet_blocks`.
        - Another iterable gives blocks (arrays, CSR matrices, frames) and can be read again: a
          list, or an object whose ``__iter__`` starts anew, not a generator; or a callable without
          arguments that returns an iterator. An object with ``reset()`` and ``next(input_data)``,
          as XGBoost's DataIter, hands over ``data`` and, if it likes, ``weight``.
    sample_weight : array of shape (n,), or iterable of such beside the blocks, or str, optional
        Weights of the rows, at least 0; of Parquet the name of a column.
    embedding : array, or iterable beside the blocks, or list of str, optional
        Where rows are clustered; of Parquet the names of its columns.
    n_jobs : int or None, threads that work on blocks

    Returns
    -------
    Blocks

    Raises
    ------
    TypeError
        If X is none of these, or can be read only once.
    ValueError
        If parts do not go with each other, or a file cannot be read.

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
                "Blocks, and an object with reset and next, must have sample_weight and embedding "
                "with the rows; none can be given beside."
            )
        return X if isinstance(X, Blocks) else _of_reader(partial(_handed_over, X), n_jobs)
    if isinstance(X, str | Path) and Path(X).suffix.lower() == ".npy":
        parts = [read_npy(part, "r") if isinstance(part, str | Path) else part for part in parts]
        return _of_table(*parts, n_jobs)
    if isinstance(X, str | Path) or hasattr(X, "get_fragments") or _are_paths(X):
        return parquet_blocks(X, None, sample_weight, embedding, n_jobs)
    if sp.issparse(X) or (hasattr(X, "shape") and hasattr(X, "__getitem__")):
        return _of_table(*parts, n_jobs)
    names = ("X", "sample_weight", "embedding")
    openers = [_opener(part, name) for part, name in zip(parts, names, strict=True)]
    return _of_reader(partial(_side_by_side, openers), n_jobs, embedding is not None)


def _are_paths(X):
    return isinstance(X, list | tuple) and any(isinstance(part, str | Path) for part in X)


def _handed_over(X):
    """Yield what an object like XGBoost's DataIter hands over."""
    given = []

    def input_data(data, weight=None, **others):
        del others  # labels, say
        given.append((data, weight, None))

    X.reset()
    while X.next(input_data):
        yield from given
        given.clear()


def _opener(part, name):
    """What gives a new iterator over blocks; None for None."""
    if part is None:
        return None
    if isinstance(part, Iterable) and not isinstance(part, Iterator | str):
        return partial(iter, part)
    if not callable(part) or hasattr(part, "__iter__"):
        raise TypeError(
            f"{name} must be an array, a file or folder of Parquet, or an iterable of blocks that "
            f"can be read again (a list, an object with __iter__, a function that returns an "
            f"iterator); got {type(part).__name__}."
        )
    return lambda: iter(part())


def _side_by_side(openers):
    """Yield blocks of X, with those of what is beside it."""
    nothing = itertools.repeat(None)
    parts = [nothing if open_ is None else open_() for open_ in openers]
    while True:
        block = [next(part, _END) for part in parts]
        has_ended = {each is _END for each, open_ in zip(block, openers, strict=True) if open_}
        if has_ended == {True}:
            return
        if True in has_ended:
            raise ValueError("sample_weight and embedding must have as many blocks as X.")
        yield tuple(block)


def _of_reader(read, n_jobs, has_embedding=False):
    """Blocks of what a function reads; a look at the first finds the names of the columns."""
    with block_errors(0):
        first = next(read(), (np.empty((0, 0)),))[0]
        if len(np.shape(first)) != 2:
            raise ValueError(
                f"expected a block of rows and columns, got the shape {np.shape(first)}; rows of "
                "numbers are to be one array, np.asarray(X)."
            )
        names = names_of(first)
    return LocalBlocks(read, names, has_embedding, n_jobs)


def _of_table(X, sample_weight, embedding, n_jobs):
    """Slices of a table."""
    if len(X.shape) != 2:
        raise ValueError(f"X must have rows and columns; its shape is {X.shape}.")
    parts = [part.tocsr() if sp.issparse(part) else part for part in (X, sample_weight, embedding)]
    n_rows = X.shape[0]
    for part, name in zip(parts[1:], ("sample_weight", "embedding"), strict=True):
        if part is not None and np.shape(part)[:1] != (n_rows,):
            raise ValueError(f"{name} has the shape {np.shape(part)}, X has {n_rows} rows.")
    size = sum(row_size(part) for part in (parts[0], parts[2]) if part is not None)
    step = max(1, min(MOST_ROWS, int(BLOCK_VALUES / max(size, 1))))

    def read():
        for start in range(0, n_rows, step):
            yield tuple(_some(part, slice(start, start + step)) for part in parts)

    return LocalBlocks(read, names_of(X), embedding is not None, n_jobs)


def _some(part, rows):
    """Some rows; None of None."""
    if part is None:
        return None
    return part.iloc[rows] if isinstance(part, pd.DataFrame | pd.Series) else part[rows]


def parquet_blocks(path, columns=None, sample_weight=None, embedding=None, n_jobs=1):
    """Blocks of Parquet files, of columns that are chosen.

    Blocks are pieces of large row groups, or several small ones; besides a block, little of a file
    is in memory. They follow from the files and their order alone.

    Parameters
    ----------
    path : path-like of a file or a folder, list of such, or Dataset of pyarrow
        Of a folder the files ``*.parquet`` are read, and those of folders below it, sorted by path.
    columns : list of str, optional
        Features; default all columns that are not named below. They hold numbers or truth values,
        and become float32 if that holds all of their types, else float64.
    sample_weight : str, optional
        Column with the weights of the rows.
    embedding : list of str, optional
        Columns in which the rows are clustered.
    n_jobs : int or None, threads that work on blocks

    Returns
    -------
    Blocks

    Raises
    ------
    ImportError
        Without pyarrow.
    ValueError
        If there are no files, one is not Parquet, or a column is missing or holds no numbers.

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
    """Blocks that this process reads, one after the other.

    Parameters
    ----------
    read : callable() -> iterator of tuple (X, weight or None, embedding or None)
    names : list of str, optional
        Those of the columns; frames with others are refused.
    has_embedding : bool
    n_jobs : int or None, threads that work on blocks, as joblib counts them; so many blocks, and
        two more, are held at a time
    """

    read: Callable
    names: Any = None
    has_embedding: bool = False
    n_jobs: int = 1

    def results(self, function, state):
        """See :class:`Blocks`."""

        def work(block):
            with block_errors(block.number), one_thread():
                return function(block, state)

        n_jobs = effective_n_jobs(self.n_jobs)
        return map(work, self._blocks()) if n_jobs < 2 else self._in_threads(work, n_jobs)

    def _blocks(self):
        """Yield the blocks."""
        parts = self.read()
        for number in itertools.count():
            with block_errors(number), one_thread():
                part = next(parts, None)
                if part is None:
                    return
                _check_columns(part[0], self.names)
            yield Block(number, *part)
            del part  # before the next one is read

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
    """ValueError if a frame has other columns than those before it."""
    found = names_of(X)
    if names is not None and found is not None and found != names:
        raise ValueError(
            f"its columns are {', '.join(map(display_name, found))}; those of the first are "
            f"{', '.join(map(display_name, names))}."
        )


def names_of(X):
    """Return the names of the columns of a frame, None for other data and for default names."""
    names = list(X.columns) if isinstance(X, pd.DataFrame) else []
    if not any(isinstance(name, str) for name in names):
        return None if are_default(map(str, names)) else names
    if not all(isinstance(name, str) for name in names):
        raise TypeError("Names of columns must all be strings, or none: X.columns.astype(str).")
    return names


@dataclass(frozen=True, eq=False)
class ProgressBlocks:
    """Blocks with a progress bar for each pass over them; see :class:`Blocks`."""

    blocks: Any

    def __getattr__(self, name):
        """Return what the blocks have: their names and whether they have an embedding."""
        return getattr(self.blocks, name)

    def results(self, function, state):
        """Yield the result for each block."""
        name, found = function.__name__.strip("_"), self.blocks.results(function, state)
        yield from tqdm(found, f"pass: {name}", leave=False, unit=" blocks")
