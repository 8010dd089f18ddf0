"""Blocks that this process reads, one after the other, with threads that work on them."""

import itertools
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pandas as pd
from joblib import effective_n_jobs

from ..._utils.threads import one_thread
from ..blocks import Block
from ..failures import naming


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
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs < 2:
            for block in self._blocks():
                with naming(block.number), one_thread():
                    result = function(block, state)
                del block  # before the next one is read
                yield result
        else:
            yield from self._in_threads(function, state, n_jobs)

    def _blocks(self):
        """Yield the blocks."""
        parts = self.read()
        for number in itertools.count():
            with naming(number), one_thread():
                part = next(parts, None)
                if part is None:
                    return
                _check_columns(part[0], self.names)
            yield Block(number, *part)
            del part  # before the next one is read

    def _in_threads(self, function, state, n_jobs):
        def work(block):
            with naming(block.number), one_thread():
                return function(block, state)

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
        raise ValueError(f"its columns are {_told(found)}; those of the first are {_told(names)}.")


def _told(names):
    return ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def names_of(X):
    """Names of the columns of a frame, if they are strings, as scikit-learn takes them."""
    names = list(X.columns) if isinstance(X, pd.DataFrame) else []
    if not any(isinstance(name, str) for name in names):
        return None
    if not all(isinstance(name, str) for name in names):
        raise TypeError("Names of columns must all be strings, or none: X.columns.astype(str).")
    return names
