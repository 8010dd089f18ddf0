"""The seam: rows in blocks, wherever they lie, and sums over them of what a function makes of each.

All that a fit asks of rows that memory does not hold is asked by :func:`sum_over_blocks`. Another
engine takes part by a class of one method, :meth:`Blocks.results`.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from .._utils.threads import check_interrupted


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
        ``tao_cluster.outofcore.sums.Sums``; None adds nothing.
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
    with contextlib.closing(_results(blocks, function, state)) as results:
        for result in results:
            check_interrupted()
            if total is None or result is None:
                total = result if total is None else total
            else:
                total = total + result
    return total


def _results(blocks, function, state):
    """The results of an engine, which can be closed: then what it still does is in vain."""
    yield from blocks.results(function, state)
