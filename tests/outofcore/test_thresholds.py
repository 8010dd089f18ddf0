"""Least-cost thresholds by histograms over blocks, beside those of all rows at once."""

import numpy as np
import pytest

from tao_cluster.outofcore.thresholds import Bracket, Histogram
from tao_cluster.tree import Split


def least(values, steps):
    """Least cost of a threshold that has rows on both sides, and the values next to it."""
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(steps[order])
    at = np.flatnonzero(values[1:] > values[:-1])
    best = at[below[at].argmin()]
    return below[best], values[best], values[best + 1]


def search(values, steps, split, some, n_blocks=3, at_midpoints=True, n_passes=50):
    """The bracket after passes until it is found, and their number."""
    bracket = Bracket.from_values(0, split, some)
    for n in range(1, n_passes + 1):  # noqa: B007
        parts = zip(np.array_split(values, n_blocks), np.array_split(steps, n_blocks), strict=True)
        histogram = Histogram.from_values(np.empty(0), np.empty(0), bracket.edges)
        for part, own in parts:
            histogram = histogram + Histogram.from_values(part, own, bracket.edges)
        bracket = bracket.zoomed(histogram, at_midpoints)
        if bracket.is_found:
            break
    return bracket, n


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", ["noise", "step", "ties", "tails"])
def test_the_threshold_is_the_least_of_all(seed, kind):
    rng = np.random.default_rng(seed)
    n = 5000
    values = rng.standard_cauchy(n) if kind == "tails" else rng.normal(size=n)
    if kind == "ties":
        values = np.round(values, 1)
    steps = rng.normal(size=n)
    if kind != "noise":
        steps += 3 * (values - 0.3)
    cost, low, high = least(values, steps)
    split = Split.from_feature(0, float(rng.normal()))
    for at_midpoints in (True, False):
        bracket, n_passes = search(values, steps, split, values[:200], at_midpoints=at_midpoints)
        assert bracket.is_found
        assert n_passes <= 8
        now = steps[values <= split.threshold].sum()
        assert bracket.cost_now == pytest.approx(now, abs=1e-9 * np.abs(steps).sum())
        found = steps[values <= bracket.best.threshold].sum()
        assert found == pytest.approx(cost, abs=1e-9 * np.abs(steps).sum())
        assert bracket.cost == pytest.approx(found, abs=1e-9 * np.abs(steps).sum())
        assert low <= bracket.best.threshold < high
        assert at_midpoints == (bracket.best.threshold > low)


def test_what_is_not_yet_known_is_told():
    rng = np.random.default_rng(0)
    values, steps = rng.normal(size=20_000), rng.normal(size=20_000)
    cost = least(values, steps)[0]
    bracket, _ = search(values, steps, Split.from_feature(0, 0.0), values[:50], n_passes=1)
    assert not bracket.is_found
    assert cost < bracket.cost
    assert bracket.cost - bracket.gap <= cost


def test_a_threshold_that_is_best_stays_between_its_rows():
    values, steps = np.array([0.0, 1.0, 5.0, 6.0]), np.array([-1.0, -1.0, 1.0, 1.0])
    bracket, _ = search(values, steps, Split.from_feature(0, 4.5), values, n_blocks=1)
    assert bracket.best.threshold == 3.0
    assert bracket.cost == bracket.cost_now == -2.0


@pytest.mark.parametrize("values", [np.zeros(10), np.array([2.0])])
def test_rows_that_no_threshold_parts(values):
    split = Split.from_feature(0, 0.5)
    bracket, n_passes = search(values, np.ones(len(values)), split, values, n_blocks=1)
    assert bracket.is_found
    assert n_passes == 1
    assert bracket.best is split
