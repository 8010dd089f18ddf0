"""Node solvers on one binary problem: clusters of k-means, half of them against the others.

    python -m benchmarks.node_solver mnist --rows 60000 15000
    python -m benchmarks.node_solver newsgroups_a1 --strengths 10 1 0.1
    python -m benchmarks.node_solver letter --strengths 10 1 0.1

CPU seconds, one thread, conversion of X not counted: cold, after 2 % of the labels flipped and
after a change of the strength by 10 % (LIBLINEAR always starts cold). "excess" is the share by
which the objective exceeds LIBLINEAR's at eps 1e-6. Newton stops at a certified gap of 1e-3.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load
from benchmarks.shared import free_clustering, parser
from tao_cluster.solvers import Liblinear, Newton, NodeProblem


def problem(name):
    """X and whether a row belongs to the first half of the clusters of k-means."""
    X, k, _ = load(name)
    return X, free_clustering(X, k, n_init=1).labels_ < k / 2


def objective(split, X, goes_right, strength):
    """Value of the problem that the solvers minimise."""
    margin = X[:, split.indices] @ split.weights - split.threshold
    loss = np.logaddexp(0, -np.where(goes_right, 1.0, -1.0) * margin).sum()
    return loss + strength * np.abs(split.weights).sum()


def timed(solver, *arguments):
    """Result of a fit and its CPU seconds."""
    start = time.process_time()
    split, _ = solver.solve(NodeProblem(*arguments))
    return split, time.process_time() - start


def main():
    """Print one line a size and strength."""
    arguments = parser(__doc__)
    arguments.add_argument("name")
    arguments.add_argument("--rows", type=int, nargs="+", default=[None])
    arguments.add_argument("--strengths", type=float, nargs="+", default=[1000, 100, 10, 1])
    arguments.add_argument("--eps", type=float, default=1e-3, help="of LIBLINEAR")
    options = arguments.parse_args()
    X, goes_right = problem(options.name)
    rng = np.random.default_rng(0)
    print(f"{options.name} {X.shape}; Newton / LIBLINEAR at eps {options.eps:g}")
    print("  rows strength  non-zeros     excess          cold        flipped       strength")
    with threadpool_limits(limits=1):
        newton, coarse, fine = (
            solver.bind(X) for solver in (Newton(), Liblinear(options.eps), Liblinear(1e-6))
        )
        every = np.arange(X.shape[0])
        timed(newton, every, goes_right, np.ones(len(every)), options.strengths[0])  # compiles
        for n in options.rows:
            n_rows = X.shape[0] if n is None else n
            rows, weight, target = np.arange(n_rows), np.ones(n_rows), goes_right[:n_rows]
            flipped = target ^ (rng.random(n_rows) < 0.02)
            for strength in options.strengths:
                best, _ = timed(fine, rows, target, weight, strength)
                least = objective(best, X[:n_rows], target, strength)
                cells = []
                for solver in (newton, coarse):
                    split, cold = timed(solver, rows, target, weight, strength, None)
                    _, flip = timed(solver, rows, flipped, weight, strength, split)
                    _, moved = timed(solver, rows, target, weight, 1.1 * strength, split)
                    excess = objective(split, X[:n_rows], target, strength) / least - 1
                    cells.append((len(split.indices), excess, cold, flip, moved))
                formats = ("d", ".0e", ".3f", ".3f", ".3f")
                pairs = (f"{a:{f}} / {b:{f}}" for f, a, b in zip(formats, *cells, strict=True))
                line = " ".join(f"{pair:>14s}" for pair in pairs)
                print(f"{n_rows:6d} {strength:8g} {line}", flush=True)


if __name__ == "__main__":
    main()
