"""Seconds on the clock of fits with 1, 2, 4 ... threads, and whether their trees are the same.

    python -m benchmarks.cores
    python -m benchmarks.cores --cases letter mnist --threads 1 2 --data DIR

The cases are those of `benchmarks.versions`, without that of a table. The kernels are compiled
first. The numbers of threads take turns, and the least of some repeats is printed. Other work on
the machine should wait.
"""

import os
import time
import warnings
from pathlib import Path

from benchmarks.datasets import DATA_DIR
from benchmarks.evidence.pages.words import markdown
from benchmarks.shared import parser
from benchmarks.versions import CASES
from tao_cluster import TAOClustering

_CASES = ["digits", "letter", "mnist", "letter, 52 axis leaves"]


def main():
    """Print a line for each case."""
    arguments = parser(__doc__)
    known = [name for name, (_, _, parameters) in CASES.items() if parameters is not None]
    arguments.add_argument("--cases", nargs="+", metavar="CASE", choices=known, default=_CASES)
    most = [n for n in (1, 2, 4, 8, 16) if n <= (os.cpu_count() or 1)]
    arguments.add_argument("--threads", nargs="+", type=int, default=most)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the .npz files")
    options = arguments.parse_args()
    lines = []
    for name in options.cases:
        make, k, parameters = CASES[name]
        X = make(options.data)
        terms = parameters | {"random_state": 0}
        models = [TAOClustering(k, n_jobs=n, **terms) for n in options.threads]
        models[0].fit(X[:2000])  # compiles
        seconds = [[elapsed(model, X) for model in models] for _ in range(options.repeats)]
        line = {"case": name}
        for n, each in zip(options.threads, zip(*seconds, strict=True), strict=True):
            line[f"{n} threads, s"] = f"{min(each):.2f}"
        is_same = all(model.tree_ == models[0].tree_ for model in models)
        lines.append(line | {"trees": "equal" if is_same else "DIFFERENT"})
    print(markdown(lines))


def elapsed(model, X):
    """Return the seconds of a fit on the clock."""
    start = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - start


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
