"""The page of the ablations: sizes at equal cost, and times of a fit."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.evidence.pages import ablations
from benchmarks.evidence.pages.equal_cost import compared
from benchmarks.evidence.tables import ablations as ablations_table


def made_ablation(cost, factor, seeds=(0, 1, 2), method="x"):
    """Trees of a setting: parameters are factor * 100 / cost ** 0.5."""
    rows = [
        {
            "data": "iris",
            "method": method,
            "seed": seed,
            "point": each,
            "cost": each * (1 + 0.1 * seed),
            "cost_new": 2 * each,
            "parameters": factor * 100 / (each * (1 + 0.1 * seed)) ** 0.5,
            "seconds": 1.0,
            "clusters": 3,
            "machine": "a",
            "commit": "c",
        }
        for seed in seeds
        for each in cost
    ]
    return pd.DataFrame(rows)


def test_times_of_ablations_are_those_of_a_fit():
    """A setting with other lambdas takes twice as long; a lambda that occurs twice counts once."""
    default = made_ablation((1.0, 2.0, 4.0), 1.0, method="default")
    own = made_ablation((1.0, 1.5, 2.0, 3.0, 4.0), 1.0).assign(seconds=2.0)
    again = own[own["point"] == 2.0].assign(seconds=50.0, parameters=1.0)
    found = ablations.all_beside(pd.concat([default, own, again]))["x"]["iris"]
    assert found.seconds == pytest.approx(2.0)
    assert found.seen.ratio == pytest.approx(1.0, rel=1e-6)


def test_size_at_equal_cost():
    """The ratio of two lines, and no ratio where too few costs are reached."""
    base = made_ablation((1.0, 2.0, 4.0), 1.0)
    found = compared(made_ablation((1.0, 2.0, 5.0), 1.5), base)
    assert found.ratio == pytest.approx(1.5)
    assert found.error == pytest.approx(0, abs=1e-9)
    assert found.counts == "9 of 9"
    costly = compared(made_ablation((3.0, 6.0), 1.5), base)
    assert np.isnan(costly.ratio)
    assert (costly.reached, costly.above, costly.below) == (3, 6, 0)
    cheap = compared(made_ablation((0.1, 0.2), 1.5), base)
    assert (cheap.reached, cheap.above, cheap.below) == (0, 0, 9)


def test_seeds_of_other_machines_are_not_compared():
    base = made_ablation((1.0, 2.0, 4.0), 1.0, method="default")
    other = made_ablation((1.0, 2.0, 4.0), 1.5)
    other.loc[other["seed"] == 2, "machine"] = "b"
    found = ablations.beside(other, base)
    assert (found.seeds, found.apart, found.is_same) == ([0, 1], 1, False)
    assert ablations.beside(base, base).is_same
    text = ablations.section(pd.concat([base, base.assign(method="same"), other]))
    assert "no effect" in text
    assert "2 (+1)" in text


def test_settings_of_the_ablations_are_explained():
    assert set(ablations_table.settings(False)) - {"default"} == set(ablations._MEANINGS)
