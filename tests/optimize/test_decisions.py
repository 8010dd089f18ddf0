"""Kept decisions: routing through them is routing."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from tao_cluster.optimize.step import decisions
from tao_cluster.optimize.step.decisions import Decisions

from tao_cluster.tree.routing import kernel_view


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_routing_through_changes_of_a_tree(seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes=15)
    X = rng.normal(size=(60, tree.n_features))
    view = kernel_view(X)
    kept = Decisions(view)
    for _ in range(6):
        node = int(rng.integers(tree.n_nodes))
        rows = np.flatnonzero(rng.random(60) < 0.5)
        np.testing.assert_array_equal(
            kept.leaves_of(tree, rows, node), tree.route(view, rows, node)
        )
        np.testing.assert_array_equal(kept.leaves_of(tree), tree.route(view))
        changed = rng.choice(tree.decision_nodes)
        split, threshold = tree.split(changed), float(tree.threshold[changed])
        what = rng.integers(3)
        if what == 0:
            threshold = float(rng.normal())
        elif what == 1:
            split = (split[0], rng.normal(size=len(split[0])))
        else:
            split = (np.arange(tree.n_features), rng.normal(size=tree.n_features))
        tree = tree.with_splits({changed: (split, threshold)})
    other = random_tree(rng, n_nodes=9)  # another structure
    np.testing.assert_array_equal(kept.leaves_of(other), other.route(view))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_what_is_known_of_a_test_holds_in_other_trees(rng, monkeypatch, form):
    X, carried = form(rng.normal(size=(60, 6))), []
    tree = random_tree(rng, n_nodes=31)
    kept = Decisions(kernel_view(X))
    known = decisions._carry
    monkeypatch.setattr(decisions, "_carry", lambda *terms: carried.append(1) or known(*terms))
    kept.leaves_of(tree)
    for _ in range(6):
        constant = (np.zeros(0, np.int32), np.zeros(0)), 0.0
        tree = tree.with_splits({tree.decision_nodes[-1]: constant}).prune()
        np.testing.assert_array_equal(kept.leaves_of(tree), tree.apply(X))
    assert carried or form is np.asarray


def test_of_too_many_decisions_those_near_the_root_are_kept(rng, monkeypatch):
    monkeypatch.setattr(decisions, "_MOST_BYTES", 100)
    monkeypatch.setattr(decisions, "_BYTES_A_ROW", 2)
    tree = random_tree(rng, n_nodes=31)
    X = rng.normal(size=(60, tree.n_features))
    kept = Decisions(kernel_view(X))
    for _ in range(3):
        np.testing.assert_array_equal(kept.leaves_of(tree), tree.apply(X))
        assert kept._sides.shape == (60, 2)
        split = (np.arange(tree.n_features), rng.normal(size=tree.n_features))
        tree = tree.with_splits(dict.fromkeys(rng.choice(tree.decision_nodes, 4), (split, 0.0)))
