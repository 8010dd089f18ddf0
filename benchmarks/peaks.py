"""Peak memory of a fit in addition to X, in multiples of X.

    python -m benchmarks.peaks
    python -m benchmarks.peaks --only sparse --rows 5000 --columns 2000 --jobs 2

All fits are those of TAOClustering with its defaults, apart from the split and the objective. Dense
rows are 200 000 x 50, sparse ones 50 000 x 20 000 with 100 words per row. Each fit has a process of
its own, in which a small fit compiles the kernels first (Linux).
"""

import argparse
import ctypes
import json
import time

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.preprocessing import normalize

from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import in_new_process, parser, peak, reset_peak
from tao_cluster import DirectForm, TAOClustering

_SMALL = 2000  # rows of the fit that compiles
_WORDS, _TOPICS = 100, 20  # words per row


def words(n_rows, n_columns):
    """Rows of words, half of them of a topic's own tenth of all: CSR matrix, float64, norm 1."""
    rng = np.random.default_rng(0)
    topic = rng.integers(_TOPICS, size=n_rows)
    columns = (n_columns * rng.random((n_rows, _WORDS)) ** 2).astype(np.int32)
    tenth = n_columns // 10
    own = (tenth * rng.random((n_rows, _WORDS // 2)) ** 2).astype(np.int32)
    columns[:, : _WORDS // 2] = own + topic[:, None] * 7919 % (n_columns - tenth)
    indptr = np.arange(0, n_rows * _WORDS + 1, _WORDS, dtype=np.int32)
    values = np.ones(n_rows * _WORDS)
    X = sp.csr_matrix((values, columns.ravel(), indptr), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return normalize(X, copy=False)


def dense(dtype):
    """Function of a shape that makes blobs, several per cluster, of a type."""

    def blobs(*shape):
        X, _ = make_blobs(*shape, centers=40, center_box=(-3.5, 3.5), random_state=0)
        return X.astype(dtype, copy=False)

    return blobs


def size_of(X):
    """Bytes of an array or of the arrays of a CSR matrix."""
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes


# Name to the data, their shape and what is not a default.
DENSE, SPARSE = (200_000, 50), (50_000, 20_000)
CASES = {
    "oblique-float64": (dense(np.float64), DENSE, {}),
    "axis-float64": (dense(np.float64), DENSE, {"split": "axis"}),
    "oblique-float32": (dense(np.float32), DENSE, {}),
    "axis-float32": (dense(np.float32), DENSE, {"split": "axis"}),
    "oblique-sparse": (words, SPARSE, {}),
    "spherical-sparse": (words, SPARSE, {"objective": "spherical"}),
    "axis-sparse": (words, SPARSE, {"split": "axis"}),
}


def measure(name, rows=None, columns=None, n_jobs=1):
    """Sizes and seconds of one fit, in this process: a dict."""
    make, shape, parameters = CASES[name]
    X = make(rows or shape[0], columns or shape[1])
    model = TAOClustering(random_state=0, n_jobs=n_jobs, **parameters)
    # The small fit uses a sample, too, so that all kernels are compiled.
    sampled = TAOClustering(**model.get_params(deep=False))
    sampled.set_params(algorithm=DirectForm(max_rows=_SMALL // 2)).fit(X[:_SMALL])
    ctypes.CDLL(None).malloc_trim(0)  # otherwise memory that is free already is used first
    reset_peak()
    before, start = peak(), time.perf_counter()
    model.fit(X)
    return {
        "seconds": time.perf_counter() - start,
        "bytes": size_of(X),
        "grown": peak() - before,
        "cost": model.cost_increase_,
        "parameters": model.tree_.n_parameters,
        "leaves": model.tree_.n_leaves,
    }


def main():
    """Print a line for each case."""
    arguments = parser(__doc__)
    arguments.add_argument("--only", default="", help="part of the names of the cases")
    arguments.add_argument("--rows", type=int)
    arguments.add_argument("--columns", type=int)
    arguments.add_argument("--jobs", type=int, default=1, help="threads")
    arguments.add_argument("--measure", type=json.loads, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.measure:
        print(json.dumps(measure(**options.measure)))
        return
    lines, terms = [], {"rows": options.rows, "columns": options.columns, "n_jobs": options.jobs}
    for name in filter(lambda case: options.only in case, CASES):
        found = in_new_process("benchmarks.peaks", name=name, **terms)
        lines.append(
            {
                "case": name,
                "X, MB": f"{found['bytes'] / 1e6:.0f}",
                "peak / X": f"{found['grown'] / found['bytes']:.2f}",
                "seconds": f"{found['seconds']:.1f}",
                "cost increase, %": f"{found['cost']:.2f}",
                "parameters": found["parameters"],
            }
        )
    print(markdown(lines))


if __name__ == "__main__":
    main()
