"""Data with more features than rows: whole fits and one node problem, beside LIBLINEAR.

    python -m benchmarks.wide
    python -m benchmarks.wide 100x2000 300x2000 --lambdas 10 1 0.1

Five Gaussian clusters (make_blobs). First line of a size and lambda: CPU seconds and the growth
of the peak memory in MB of the default fit at depth 3, and of the penalty method on LIBLINEAR
without refinement. Then the problem at a root (clusters 0 and 1 against the others): seconds and
objective of Newton from nothing and of LIBLINEAR at two tolerances, and Newton's certified gap.
One thread, kernels compiled before; each fit runs in a process of its own, so that its peak is
its own.
"""

import argparse
import multiprocessing
import resource
import time

import numpy as np
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from benchmarks.node_solver import objective, timed
from tao_cluster import PenaltyMethod, TAOClustering
from tao_cluster.solvers import Liblinear, Newton

_SIZES = ["100x2000", "300x2000", "100x5000", "12x5000", "100x20000"]
_WAYS = {
    "default": {},
    "liblinear": {"algorithm": PenaltyMethod(node_solver="liblinear", refine=False)},
}


def blobs(size):
    """Five clusters of a size such as "100x2000", and the cluster of each row."""
    n, d = map(int, size.split("x"))
    return make_blobs(n, d, centers=5, random_state=0)


def measured_fit(size, lambda_, options, queue):
    """Put CPU seconds, growth of the peak memory (MB) and cost increase (%) into the queue."""
    X, _ = blobs(size)
    small, _ = blobs("60x80")
    with threadpool_limits(limits=1):
        TAOClustering(5, depth=3, lambda_=0.1, random_state=0, **options).fit(small)  # compiles
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.process_time()
        model = TAOClustering(5, depth=3, lambda_=lambda_, random_state=0, **options).fit(X)
        seconds = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    queue.put((seconds, grown, model.cost_increase_))


def fit_in_process(*arguments):
    """Result of :func:`measured_fit` in a new process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measured_fit, args=(*arguments, queue))
    process.start()
    result = queue.get()
    process.join()
    return result


def print_node(size, strength):
    """Seconds and objective of each solver on one problem."""
    X, labels = blobs(size)
    rows, weight, goes_right = np.arange(len(X)), np.ones(len(X)), labels < 2
    problem = (rows, goes_right, weight, strength)
    cells = []
    with threadpool_limits(limits=1):
        for solver in (Newton(), Liblinear(1e-3), Liblinear(1e-4)):
            bound = solver.bind(X)
            timed(bound, *problem)
            split, seconds = timed(bound, *problem)
            cells.append(f"{seconds:8.4f} s {objective(split, X, goes_right, strength):11.6g}")
    print(f"{'':10s} node {strength:8g}  " + "   ".join(cells), flush=True)


def main():
    """Print the lines of every size and lambda."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", default=_SIZES)
    parser.add_argument("--lambdas", type=float, nargs="+", default=[10.0])
    parser.add_argument("--node-only", action="store_true")
    options = parser.parse_args()
    print("fit: default | penalty method on LIBLINEAR;  node: Newton | LIBLINEAR 1e-3 | 1e-4")
    for size in options.sizes:
        for lambda_ in options.lambdas:
            if not options.node_only:
                cells = [fit_in_process(size, lambda_, way) for way in _WAYS.values()]
                form = "{:8.2f} s {:7.1f} MB {:+8.2f} %"
                line = " | ".join(form.format(*cell) for cell in cells)
                print(f"{size:10s} lambda {lambda_:6g}  {line}", flush=True)
            for share in (1.0, 0.1, 1e-3):
                print_node(size, lambda_ * share)


if __name__ == "__main__":
    main()
