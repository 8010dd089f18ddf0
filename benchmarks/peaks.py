"""Peak memory and seconds of fits with the defaults, in multiples of X, which is not counted.

    python -m benchmarks.peaks
    python -m benchmarks.peaks --only sparse --rows 5000 --columns 2000
    python -m benchmarks.peaks --only oblique-float32 --holders 12
    python -m benchmarks.peaks --only sparse --jobs 2

Every fit has a fresh process (Linux). X is there before, and a small fit of the same kind has
compiled the kernels and loaded the libraries; the free clustering is part of the fit. What counts
is how far the resident memory of the process grows. Dense data are blobs that overlap, sparse ones
rows of some words each out of topics, of norm 1, their bytes those of the CSR matrix. --holders
lists the lines that hold most when numpy's memory is at its largest.
"""

import argparse
import ctypes
import json
import time

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from benchmarks.memory import blobs, largest_holders
from benchmarks.path import peak, reset_peak
from benchmarks.processes import in_new_process
from tao_cluster import DirectForm, TAOClustering

DENSE, SPARSE = (200_000, 50), (50_000, 20_000)
_SMALL = 2000
_WORDS = 100  # of a row
_TOPICS = 20


def words(n_rows, n_columns, seed=0):
    """Rows of words, half of them of a topic's own tenth of all: CSR matrix, float64, norm 1."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(_TOPICS, size=n_rows)
    anywhere = (n_columns * rng.random((n_rows, _WORDS)) ** 2).astype(np.int32)
    tenth = n_columns // 10
    own = (tenth * rng.random((n_rows, _WORDS // 2)) ** 2).astype(np.int32)
    own += (topic[:, None] * 7919 % (n_columns - tenth)).astype(np.int32)
    anywhere[:, : _WORDS // 2] = own
    indptr = np.arange(0, n_rows * _WORDS + 1, _WORDS, dtype=np.int32)
    X = sp.csr_matrix(
        (np.ones(n_rows * _WORDS), anywhere.ravel(), indptr), shape=(n_rows, n_columns)
    )
    X.sum_duplicates()
    return normalize(X, copy=False)


def size_of(X):
    """Bytes of an array or of the arrays of a CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


def dense(dtype):
    """Function of a shape that makes dense data of a type."""
    return lambda *shape: blobs(*shape, n_clusters=8).astype(dtype, copy=False)


# Name to the data, their shape and what is not a default.
CASES = {
    "oblique-float64": (dense(np.float64), DENSE, {}),
    "axis-float64": (dense(np.float64), DENSE, {"split": "axis"}),
    "oblique-float32": (dense(np.float32), DENSE, {}),
    "axis-float32": (dense(np.float32), DENSE, {"split": "axis"}),
    "oblique-sparse": (words, SPARSE, {}),
    "spherical-sparse": (words, SPARSE, {"objective": "spherical"}),
    "axis-sparse": (words, SPARSE, {"split": "axis"}),
}


def measure(name, rows, columns, n_holders, n_jobs=1):
    """Sizes and seconds of one fit, in this process: a dict."""
    make, shape, parameters = CASES[name]
    X = make(rows or shape[0], columns or shape[1])
    model = TAOClustering(random_state=0, n_jobs=n_jobs, **parameters)
    # In proportion, so that a sample finds the small tree, too, where one finds the large one.
    small = X[:_SMALL]
    TAOClustering(
        random_state=0, n_jobs=n_jobs, algorithm=DirectForm(max_rows=_SMALL // 2), **parameters
    ).fit(small)
    del small
    ctypes.CDLL(None).malloc_trim(0)  # what is free already would be used first
    reset_peak()
    before, start = peak(), time.perf_counter()
    model.fit(X)
    found = {
        "seconds": time.perf_counter() - start,
        "bytes": size_of(X),
        "grown": peak() - before,
        "cost": model.cost_increase_,
        "parameters": model.tree_.n_parameters,
        "leaves": model.tree_.n_leaves,
    }
    if n_holders:
        most, found["holders"] = largest_holders(lambda: model.fit(X), n_holders)
        found["holders"].insert(0, f"{most / 1e6:8.1f} MB at the most, of which:")
    return found


def main():
    """Print a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="part of the names of the cases")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--columns", type=int)
    parser.add_argument("--holders", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(**json.loads(options.measure))))
        return
    print(f"{'case':18s}{'X MB':>7s}{'peak / X':>10s}{'seconds':>9s}  cost %  parameters  leaves")
    for name in CASES:
        if options.only not in name:
            continue
        found = in_new_process(
            "benchmarks.peaks",
            name=name,
            rows=options.rows,
            columns=options.columns,
            n_holders=options.holders,
            n_jobs=options.jobs,
        )
        print(
            f"{name:18s}{found['bytes'] / 1e6:7.0f}{found['grown'] / found['bytes']:10.2f}"
            f"{found['seconds']:9.1f}{found['cost']:8.3f}{found['parameters']:12d}"
            f"{found['leaves']:8d}",
            flush=True,
        )
        print(*found.get("holders", ()), sep="\n", end="\n" if options.holders else "", flush=True)


if __name__ == "__main__":
    main()
