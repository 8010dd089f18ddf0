"""Printed bounds and sums hold of the rows of real tables, also far from 0."""

import numpy as np
import pytest
from conftest import rest_in_sweeps
from reading import check_rules, holds
from sklearn.datasets import load_breast_cancer, load_wine

from greedy import ExKMC
from tao_cluster import Tree
from tao_cluster.export import to_rules

pd = pytest.importorskip("pandas", reason="tables with names")


def places(n=300):
    """Latitudes and longitudes of one quarter of a town: all alike to three digits."""
    rng = np.random.default_rng(0)
    return pd.DataFrame([52.5, 13.4] + rng.normal(size=(n, 2)) * 0.0005, columns=["lat", "lon"])


def far_away(n=300):
    values = np.random.default_rng(1).normal(size=(n, 3)) * 30 + 1e4
    return pd.DataFrame(values, columns=["first", "second", "third"])


TABLES = [
    places,
    far_away,
    lambda: load_wine(as_frame=True).data,
    lambda: load_breast_cancer(as_frame=True).data,
]


@pytest.mark.slow
@pytest.mark.parametrize("midpoints", rest_in_sweeps([True, False], True))
@pytest.mark.parametrize("make", TABLES, ids=["places", "far", "wine", "cancer"])
def test_printed_bounds_hold_of_every_row(make, midpoints):
    table = make()
    model = ExKMC(4, max_leaves=9, midpoints=midpoints, random_state=0).fit(table)
    rules = to_rules(model)
    assert len(set(rules)) == model.tree_.n_leaves
    check_rules(rules, table, model.predict(table))


@pytest.mark.parametrize("make", TABLES[:2], ids=["places", "far"])
def test_printed_sums_divide_rows_far_from_0(make):
    table = make()
    tree = Tree.from_splits(
        [1, -1, -1],
        [2, -1, -1],
        [([0, 1], [0.71234567, -0.61234567]), None, None],
        [float(np.median(table.to_numpy()[:, :2] @ [0.71234567, -0.61234567])), 0, 0],
        [-1, 0, 1],
        table.shape[1],
    )
    rules = tree.to_rules(list(table), X=table.to_numpy())
    left = [holds(rules[0][3:].split(" then")[0], row) for _, row in table.iterrows()]
    assert np.mean(left == (tree.predict(table.to_numpy()) == 0)) > 0.97
