"""DIVCLUS-T: the divisions are the best ones, in their order, and trees are nested."""

import numpy as np
import pytest
import scipy.sparse as sp
from building import built
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from greedy import DIVCLUST, Kauri


def inertia(X, weight):
    if not weight.any():
        return 0.0
    return float(weight @ ((X - np.average(X, axis=0, weights=weight)) ** 2).sum(axis=1))


def best_gain(X, weight, least):
    """The largest decrease in inertia by a test of one column, by trying all of them."""
    counted = weight > 0
    X, weight = X[counted], weight[counted]
    gains = [0.0]
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            left = column <= threshold
            if min(left.sum(), (~left).sum()) >= least:
                parts = sum(inertia(X[side], weight[side]) for side in (left, ~left))
                gains.append(inertia(X, weight) - parts)
    return max(gains)


@st.composite
def tables(draw):
    """Few rows, with ties and repeats or without, and weights."""
    n, d = draw(st.integers(2, 14)), draw(st.integers(1, 3))
    values = st.integers(-3, 3) if draw(st.booleans()) else st.floats(-4, 4, width=16)
    X = draw(hnp.arrays(np.float64, (n, d), elements=values))
    return X, draw(hnp.arrays(np.float64, n, elements=st.integers(0, 3)).filter(np.any))


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(tables(), st.integers(1, 6), st.integers(1, 3), st.booleans())
def test_every_division_is_the_best_one(table, k, least, is_sparse):
    X, weight = table
    form = sp.csr_matrix(X) if is_sparse else X
    tree = built(DIVCLUST, form, X[[0] * k], sample_weight=weight, min_samples_leaf=least)
    assert tree.n_leaves <= k
    rows, rounding = {0: np.full(len(X), True)}, 1e-9 * inertia(X, weight)

    def saved(node, *parts):
        costs = [inertia(X[rows[i]], weight[rows[i]]) for i in (node, *parts)]
        return costs[0] - sum(costs[1:])

    def most():
        return max(best_gain(X[part], weight[part], least) for part in leaves.values())

    leaves = dict(rows)
    for step in range(1, tree.n_leaves):
        node, parts = tree.parent[2 * step], (2 * step - 1, 2 * step)
        assert tree.parent[2 * step - 1] == node
        goes_left = X[:, tree.split(node)[0][0]] <= tree.threshold[node]
        rows.update(zip(parts, (rows[node] & goes_left, rows[node] & ~goes_left), strict=True))
        assert saved(node, *parts) == pytest.approx(most(), abs=rounding)
        del leaves[node]
        leaves.update({part: rows[part] for part in parts})
    assert tree.n_leaves == k or most() <= 1e-9 + rounding


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_trees_are_nested_and_those_of_kauri_with_one_leaf_per_cluster(form, digits, rng):
    X, weight = form(digits[:300]), rng.integers(0, 4, 300).astype(float)
    largest = DIVCLUST(9, reference=digits[:9]).fit(X, sample_weight=weight)
    order = [record["node"] for record in largest.history_]
    for k in range(2, 10):
        model, kauri = (
            method(k, reference=digits[:k]).fit(X, sample_weight=weight)
            for method in (DIVCLUST, Kauri)
        )
        tree, nodes = model.tree_, np.arange(2 * k - 1)
        assert [record["node"] for record in model.history_] == order[: k - 1]
        np.testing.assert_array_equal(tree.parent, largest.tree_.parent[nodes])
        for node in order[: k - 1]:
            assert tree.split(node)[0] == largest.tree_.split(node)[0]
            assert tree.threshold[node] == largest.tree_.threshold[node]
        # Numbers of clusters can differ, where two assignments agree equally with the reference.
        assert tree.with_leaves(kauri.tree_.leaf_label) == kauri.tree_
        assert len(set(model.labels_)) == tree.n_leaves == k
