"""Rows and free clustering of a data set: found once, the same in all tables."""

import fcntl
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.model_selection import train_test_split

from benchmarks import datasets
from tao_cluster.objectives import SphericalKMeans

# In single precision, which halves the memory of the fits; the free clustering is in double.
SINGLE = ("mnist", "fashion_mnist")
HELD_OUT = 0.2
STARTS_OF_PAPER = 50  # of the reference clustering in Gabidolla & Carreira-Perpinan (2022)


@dataclass(frozen=True, eq=False)
class Case:
    """Rows, what they are clustered by, and the centres of the free clustering.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    n_clusters, depth : int
    centers : array of shape (n_clusters, d)
    new : rows held out, or None
    """

    X: Any
    n_clusters: int
    depth: int
    centers: np.ndarray
    new: Any = None


@dataclass(frozen=True)
class Workshop:
    """Where data lie and free clusterings are kept.

    Parameters
    ----------
    folder : path or None
        Of the .npz files; see :mod:`benchmarks.datasets`.
    cache : path
        Free clusterings are written there and read again; they follow from the data.
    """

    folder: Path | None
    cache: Path

    def case(
        self,
        name,
        *,
        held_out=False,
        half=None,
        most=None,
        load=None,
        spherical=False,
        seed=0,
        n_init=10,
    ):
        """Data set with its free clustering: the best of `n_init` starts.

        Parameters
        ----------
        name : str, see :func:`benchmarks.datasets.load`
        held_out : bool
            Whether a fifth of the rows is kept from the free clustering and all fits.
        half : int, optional
            Number of a random split. Half of the rows, at most `most`, are then fitted, and as many
            other rows are new.
        most : int, optional
        load : callable of str, default=`rows`
            Returns rows, number of clusters and depth of a data set.
        spherical : bool
            Whether the cost is the cosine distance.
        seed, n_init : int, of the free clustering
        """
        return _case(self, name, held_out, half, most, load, spherical, seed, n_init)

    def rows(self, name):
        """X, number of clusters and depth."""
        return datasets.load(name, folder=self.folder, may_fetch=True)


@functools.lru_cache(maxsize=2)
def _rows(workshop, name, load):
    return workshop.rows(name) if load is None else load(name)


@functools.lru_cache(maxsize=2)
def _case(workshop, name, held_out, half, most, load, spherical, seed, n_init):
    X, k, depth = _rows(workshop, name, load)
    new = None
    if held_out:
        X, new = train_test_split(X, test_size=HELD_OUT, random_state=0)
    if half is not None:
        order, n_rows = np.random.RandomState(half).permutation(X.shape[0]), X.shape[0] // 2
        n_rows = min(n_rows, most or n_rows)
        X, new = X[order[:n_rows]], X[order[n_rows : 2 * n_rows]]
    words = ["spherical"] * spherical + ["held_out"] * held_out
    words += [] if half is None else [f"half{half}of{most}"]
    kind = "-".join([*words, f"{n_init}-{seed}"])
    path = Path(workshop.cache, f"{re.sub(r'[: ]', '_', name)}-{kind}.npy")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may want the same: it waits
        if not path.is_file():
            part = path.with_name(f"part-{path.name}")  # so that half a file never has its name
            np.save(part, _estimator(k, spherical, seed, n_init).fit(X).cluster_centers_)
            part.replace(path)
    if name.partition(":")[0] in SINGLE:
        X, new = (None if rows is None else np.float32(rows) for rows in (X, new))
    return Case(X, k, depth, np.load(path), new)


def _estimator(k, spherical, seed, n_init):
    if spherical:
        return SphericalKMeans(n_init=n_init).reference(k, seed)
    return KMeans(k, n_init=n_init, random_state=seed)
