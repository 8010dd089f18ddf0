"""Cost, size and work of some fits stay within limits, on every platform.

`benchmarks.snapshot` compares exact results, on one platform. Work is counted, not timed: fits of
nodes, steps of the node solver, and the values of X that these steps look at.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs

from greedy import ExGreedy, ExKMC, ExShallow
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.solvers import Newton


@dataclass(frozen=True)
class Counting:
    """Our node solver, which counts its work."""

    counts: dict = field(default_factory=lambda: {"fits": 0, "steps": 0, "values": 0})
    supports_weights = supports_sparse = deterministic = True

    def bind(self, X):
        return _Bound(Newton().bind(X), self.counts, X.shape[1])


class _Bound:
    def __init__(self, bound, counts, n_columns):
        self._bound, self._counts, self._n_columns = bound, counts, n_columns

    def solve(self, problem):
        split, status = self._bound.solve(problem)
        n = self._n_columns if problem.features is None else len(problem.features)
        self._counts["fits"] += 1
        self._counts["steps"] += status.steps
        self._counts["values"] += status.steps * n * len(problem.rows)
        return split, status


# The limits are 15 % above the figures of one platform for costs and sizes, and 25 % for work.
OBLIQUE = {"depth": 5, "random_state": 0}
CASES = {
    "oblique, knee": (
        lambda: TAOClustering(10, algorithm=DirectForm(node_solver=Counting()), **OBLIQUE),
        {"cost": 2.1, "parameters": 77, "fits": 480, "steps": 2130, "values": 142e6},
    ),
    "oblique, lambda 3": (
        lambda: TAOClustering(
            10, lambda_=3.0, algorithm=DirectForm(node_solver=Counting()), **OBLIQUE
        ),
        {"cost": 1.15, "parameters": 93, "fits": 350, "steps": 1590, "values": 88e6},
    ),
    "axis, 20 leaves": (
        lambda: TAOClustering(10, split="axis", max_leaves=20, random_state=0),
        {"cost": 9.9, "parameters": 58, "passes": 16},
    ),
    "ExGreedy": (lambda: ExGreedy(10), {"cost": 24.4}),
    "ExShallow": (lambda: ExShallow(10), {"cost": 21.8}),
    "ExKMC, 20 leaves": (lambda: ExKMC(10, max_leaves=20), {"cost": 17.1}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_fits_of_digits_stay_within_limits(case):
    make, limits = CASES[case]
    X, model = load_digits().data / 16, make()
    model.set_params(reference=KMeans(10, n_init=10, random_state=0).fit(X)).fit(X)
    found = {"cost": model.cost_increase_, "parameters": model.tree_.n_parameters}
    if "passes" in limits:
        found["passes"] = model.n_iter_
    if "steps" in limits:
        found |= model.algorithm.node_solver.counts
    assert {name: found[name] for name in limits if found[name] > limits[name]} == {}


def work(n_rows, n_columns=10):
    X, _ = make_blobs(n_rows, n_columns, centers=12, cluster_std=4.0, random_state=0)
    solver = Counting()
    model = TAOClustering(
        6, lambda_=n_rows / 200, depth=4, algorithm=DirectForm(node_solver=solver), random_state=0
    )
    model.fit(X)
    return solver.counts


@pytest.mark.slow
def test_work_grows_with_the_values_of_x():
    """Four times the rows: about as many fits and steps, four times the values looked at."""
    few, many = work(600), work(2400)
    assert many["fits"] <= 1.6 * few["fits"]
    assert many["steps"] <= 1.8 * few["steps"]
    assert many["values"] <= 7 * few["values"]


def test_counts_are_those_of_a_fit():
    """Without a search there are few passes, each of at most as many fits as tests."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    solver = Counting()
    model = TAOClustering(
        4, lambda_=1.0, depth=3, algorithm=DirectForm(relax=False, n_init=1, node_solver=solver)
    )
    model.set_params(random_state=0).fit(X)
    counts = solver.counts
    assert 0 < counts["fits"] <= 7 * model.n_iter_
    assert counts["steps"] >= counts["fits"] / 2
    assert counts["values"] <= counts["steps"] * X.size
