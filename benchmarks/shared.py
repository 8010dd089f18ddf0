"""What several measurements share: arguments, halves of the rows, free clusterings, memory."""

import argparse
import ctypes
import re
from pathlib import Path

from sklearn.cluster import KMeans

from tao_cluster.comparison.study import half_splits


def parser(doc):
    """Return a parser of the command line, whose help is the docstring of a module."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def halves(X, n_splits):
    """Yield fitted rows and new rows of random halves."""
    for fitted, new in half_splits(X.shape[0], n_splits):
        yield X[fitted], X[new]


def free_clustering(X, k, seed=0, n_init=10):
    """Return k-means of the rows, fitted."""
    return KMeans(k, n_init=n_init, random_state=seed).fit(X)


def start_memory():
    """Return the memory of the process, bytes; its peak starts anew (Linux)."""
    ctypes.CDLL(None).malloc_trim(0)  # otherwise memory that is free already is used first
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    """Return the largest memory of the process since the last reset, bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
