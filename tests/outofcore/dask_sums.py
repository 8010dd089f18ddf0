"""Functions of blocks that tests of dask ask clusters for; workers import them from here."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def dense(part):
    return part.toarray() if sp.issparse(part) else np.asarray(part)


def sums(block, state):
    """Weighted sums of the columns of X, and of the embedding, times a number."""
    X = dense(block.X)
    weight = np.ones(len(X)) if block.weight is None else np.asarray(block.weight)
    embedding = np.zeros((len(X), 0)) if block.embedding is None else dense(block.embedding)
    return state * (weight @ np.hstack([X, embedding]))


def slow_sums(block, state):
    time.sleep(0.02)
    return sums(block, state)


def die_once(marker):
    """Kill the process, as the system does that is out of memory, unless the marker is there."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def dying(block, number):
    """The sums; every worker dies at one of the blocks."""
    if block.number == number:
        os.kill(os.getpid(), signal.SIGKILL)
    return slow_sums(block, 1.0)


def failing(block, number):
    """The sums; at one of the blocks an error."""
    if block.number == number:
        raise KeyError("no such row")
    return sums(block, 1.0)


def busy(block, folder):
    """The sums, slowly; each block leaves a file."""
    (Path(folder) / str(block.number)).touch()
    time.sleep(0.1)
    return sums(block, 1.0)
