"""What trees cost, how large they are and how much work they take does not get worse unseen.

Where a change is meant to change trees: python -m benchmarks.guard --write.
"""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from benchmarks import guard
from tao_cluster import DirectForm, TAOClustering

KEPT = guard.kept()
HERE = KEPT.get(guard.platform_key())
# Elsewhere figures are compared with those of the first platform.
BEFORE = HERE or next(iter(KEPT.values()))


@pytest.mark.slow
@pytest.mark.parametrize("case", BEFORE)
def test_figures_are_what_they_were(case):
    try:
        found = guard.measure(case)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert not guard.faults(found, BEFORE[case], is_exact=HERE is not None)


def test_a_worse_figure_is_a_fault():
    before = {"cost": 1.0, "parameters": 100, "steps": 1000}
    assert not guard.faults(before, before, True)
    assert guard.faults(before | {"cost": 1.00001}, before, True)
    assert guard.faults(before | {"cost": 0.99999}, before, True)
    assert not guard.faults(before | {"cost": 1.1, "steps": 1100}, before, False)
    assert len(guard.faults(before | {"cost": 1.3, "steps": 1400}, before, False)) == 2


def work(n_rows, n_columns=10):
    X, _ = make_blobs(n_rows, n_columns, centers=12, cluster_std=4.0, random_state=0)
    solver = guard.Counting()
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
    solver = guard.Counting()
    model = TAOClustering(
        4, lambda_=1.0, depth=3, algorithm=DirectForm(relax=False, n_init=1, node_solver=solver)
    )
    model.set_params(random_state=0).fit(X)
    counts = solver.counts
    assert 0 < counts["fits"] <= 7 * model.n_iter_
    assert counts["steps"] >= counts["fits"] / 2
    assert counts["values"] <= counts["steps"] * X.size
