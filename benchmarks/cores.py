"""Seconds on the clock of fits with 1, 2, 4 ... threads, and whether their trees are the same.

    python -m benchmarks.cores
    python -m benchmarks.cores --cases letter mnist --threads 1 2 --data DIR

The cases are those of `benchmarks.versions`, without that of a table. The kernels are compiled
first. The numbers of threads take turns, and the least of some repeats is printed. Other work on
the machine should wait.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

from benchmarks.datasets import DATA_DIR
from benchmarks.versions import CASES
from tao_cluster import TAOClustering

_CASES = ["digits", "letter", "mnist", "letter, 52 axis leaves"]


def main(arguments=None):
    """Print a line for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = [name for name, (_, _, parameters) in CASES.items() if parameters is not None]
    parser.add_argument("--cases", nargs="+", metavar="CASE", choices=known, default=_CASES)
    most = [n for n in (1, 2, 4, 8, 16) if n <= (os.cpu_count() or 1)]
    parser.add_argument("--threads", nargs="+", type=int, default=most)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the .npz files")
    options = parser.parse_args(arguments)
    print(f"{'threads':24s}" + "".join(f"{n:8d}" for n in options.threads), flush=True)
    for name in options.cases:
        make, k, parameters = CASES[name]
        X = make(options.data)
        parameters = parameters | {"random_state": 0}
        models = {n: TAOClustering(k, n_jobs=n, **parameters) for n in options.threads}
        models[options.threads[0]].fit(X[:2000])  # compiles
        seconds = {n: [] for n in models}
        for _ in range(options.repeats):
            for n, model in models.items():
                start = time.perf_counter()
                model.fit(X)
                seconds[n].append(time.perf_counter() - start)
        first = models[options.threads[0]].tree_
        trees = "equal" if all(model.tree_ == first for model in models.values()) else "DIFFERENT"
        times = "".join(f"{min(each):8.2f}" for each in seconds.values())
        print(f"{name:24s}{times}  {trees} trees", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
