"""The node fits of a whole TAO run, recorded and fitted again by Newton and LIBLINEAR.

    python -m benchmarks.replay letter
    python -m benchmarks.replay mnist --every 5

The run uses Newton. CPU seconds, one thread, conversion of X not counted; Newton gets the warm
starts of the run, in its order. "gap" is the largest relative duality gap of Newton's results,
computed here in double precision from the data themselves. With `--every`, LIBLINEAR fits only
every so many problems, and its seconds are those times that number.
"""

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.special import expit, xlogy
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load
from tao_cluster import PenaltyMethod, TAOClustering
from tao_cluster.solvers import Liblinear, Newton


@dataclass(frozen=True)
class Recorder:
    """A node solver that keeps every problem of another one."""

    solver: object
    calls: list = field(default_factory=list)
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        return _BoundRecorder(self.solver.bind(X), self.calls)


class _BoundRecorder:
    def __init__(self, bound, calls):
        self._bound, self._calls = bound, calls

    def solve(self, problem):
        self._calls.append(problem)
        return self._bound.solve(problem)


def relative_gap(X, split, problem):
    """Certified relative suboptimality of a split: scaled residuals at the best bias."""
    rows, goes_right = problem.rows, problem.goes_right
    weight, strength = problem.weight, problem.strength
    sign = np.where(goes_right, 1.0, -1.0)
    margin = X[rows][:, split.indices] @ split.weights
    penalty = strength * np.abs(split.weights).sum()
    objective = weight @ np.logaddexp(0, -sign * (margin - split.threshold)) + penalty

    def slope(bias):
        return weight @ (expit(margin + bias) - goes_right)

    reach = np.abs(margin).max() + 800
    bias = brentq(slope, -reach, reach, xtol=1e-13, rtol=1e-15)
    share = expit(-sign * (margin + bias))
    gradient = np.abs(X[rows].T @ (weight * sign * share)).max()
    share *= min(1.0, strength / gradient)
    dual = -weight @ (xlogy(share, share) + xlogy(1 - share, 1 - share))
    return (objective - dual) / objective


def replay(solver, calls):
    """Results of all calls and the CPU seconds that they took."""
    start = time.process_time()
    splits = [solver.solve(problem)[0] for problem in calls]
    return splits, time.process_time() - start


def main():
    """Record a run, fit its problems again and print one line a solver."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--lambda", type=float, default=10.0, dest="lambda_")
    parser.add_argument("--mu-steps", type=int, default=15)
    parser.add_argument("--every", type=int, default=1)
    options = parser.parse_args()
    X, k, depth = load(options.name)
    recorder = Recorder(Newton())
    with threadpool_limits(limits=1):
        TAOClustering(
            k,
            lambda_=options.lambda_,
            depth=depth,
            algorithm=PenaltyMethod(
                n_mu_steps=options.mu_steps, n_init=1, node_solver=recorder, refine=False
            ),
            random_state=0,
        ).fit(X)
        calls = recorder.calls
        rows = np.mean([len(problem.rows) for problem in calls])
        print(f"{options.name} {X.shape}: {len(calls)} fits of {rows:.0f} rows on average")
        splits, seconds = replay(Newton().bind(X), calls)
        data = sp.csr_matrix(X)
        gap = max(
            relative_gap(data, split, problem) for split, problem in zip(splits, calls, strict=True)
        )
        print(f"Newton             {seconds:8.2f} s   gap {gap:.1e}", flush=True)
        for eps in (1e-2, 1e-4):
            _, other = replay(Liblinear(eps).bind(X), calls[:: options.every])
            other *= len(calls) / len(calls[:: options.every])
            print(f"LIBLINEAR {eps:<8g} {other:8.2f} s   {other / seconds:.1f} times", flush=True)


if __name__ == "__main__":
    main()
