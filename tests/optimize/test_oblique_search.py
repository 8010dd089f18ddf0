"""Passes on the true cost, selection criteria, and the search over oblique trees."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_search
from sklearn.datasets import load_digits, load_wine
from tao_cluster.optimize.oblique_search import (
    grown,
    improvements,
    optimize_exact,
    penalty_per_parameter,
    prune_stepwise,
)
from tao_cluster.optimize.path import Criterion

from greedy import ExShallow
from tao_cluster import DirectForm, TAOClustering, tao_path
from tao_cluster.initial_trees.builders import Bisecting, cart_builders, small_trees
from tao_cluster.optimize.settings import EFFORTS, Effort

DIGITS = load_digits().data[:600] / 16


def start_of(X=DIGITS, k=10, depth=4, **parameters):
    search = make_search(X, k, **parameters)
    problem = search.problem
    free, rng = problem.free, np.random.RandomState(0)
    tree = Bisecting(depth).build(problem.X, free.labels, free.centers, problem.weight, rng)
    state = search.evaluate(tree)
    return search, search.evaluate(
        *search.step.one_pass(state.routed, search.criterion(state), 0.5, False)
    )


def test_subtree_parameters_are_what_pruning_frees():
    _, state = start_of()
    tree = state.pruned
    assert tree.subtree_parameters[0] == tree.n_parameters
    for node, goes_left in itertools.product(tree.decision_nodes, (True, False)):
        constant = (((), ()), 1.0 if goes_left else -1.0)
        lost = (tree.children_right if goes_left else tree.children_left)[node]
        own = len(tree.split(node)[0]) + 1
        smaller = tree.with_splits({node: constant})
        # Dead nodes go; leaves of one label that meet there would go, too.
        freed = tree.n_parameters - smaller.prune().n_parameters
        assert freed >= own + tree.subtree_parameters[lost]


def test_the_history_has_costs_of_the_rows_without_copies():
    search, state = start_of()
    many = search.smoothed
    other = many.evaluate(state.pruned)
    many.record("exact", other, 1.0)
    cost = search.problem.cost_increase(state.inertia)
    assert search.history.records[-1]["cost_increase"] == pytest.approx(cost, rel=1e-9)
    assert many.problem.cost_increase(other.inertia) != pytest.approx(cost, rel=0.01)


@pytest.mark.parametrize("share", [0.1, 1.0, 10.0])
def test_passes_never_raise_the_score(share):
    search, state = start_of()
    price = share * penalty_per_parameter(search.problem, state)
    for n_passes in (1, 2, 4):
        found = optimize_exact(search, state, price, n_passes)
        assert found.score(price) <= state.score(price)
        assert found.score(price) == pytest.approx(
            found.inertia + price * found.pruned.n_parameters
        )
        assert search.evaluate(found.tree).inertia == found.inertia


def test_the_price_is_positive_also_where_a_tree_costs_nothing_more():
    X = np.repeat(np.eye(4), 5, axis=0)
    search = make_search(X, 4)
    state = search.evaluate(small_trees(search.problem, cart_builders)[0])
    assert state.inertia == 0
    assert penalty_per_parameter(search.problem, state) > 0


def test_builders_take_part_where_trees_of_one_feature_come_near():
    search, state = start_of()
    cart = [search.evaluate(tree) for tree in small_trees(search.problem, cart_builders)]
    good = replace(state, inertia=search.problem.free.inertia)
    assert [one.tree for one in search.single_features(good)] == [one.tree for one in cart]
    some = search.single_features(cart[0])
    assert len(some) == 5
    assert [other.tree for other in some[-2:]] == [one.tree for one in cart]


def test_taking_back_goes_down_to_one_leaf():
    search, state = start_of()
    states = list(prune_stepwise(search, state, penalty_per_parameter(search.problem, state)))
    sizes = [other.pruned.n_parameters for other in states]
    assert sizes[0] <= state.pruned.n_parameters
    assert sizes[-1] < 0.2 * sizes[0]
    # Prices grow by small steps: a size is hit closely.
    assert np.diff(sizes[: len(sizes) // 2]).min() > -0.4 * sizes[0]


def test_limits_are_reached_or_worth_nothing():
    search, state = start_of()
    price = penalty_per_parameter(search.problem, state)
    size, cost = state.pruned.n_parameters, state.inertia
    found = Criterion(price, most_parameters=size // 2).reached(search, state)
    assert found.pruned.n_parameters <= size // 2
    assert Criterion(price, most_parameters=size // 2).value(state) == np.inf
    assert Criterion(price, most_parameters=size).reached(search, state) is state
    within = Criterion(price, most_cost=1.02 * cost)
    found = within.reached(search, state)
    assert found.inertia <= 1.02 * cost
    assert within.value(found) < within.value(state)
    assert Criterion(price, most_cost=0.5 * cost).value(state) == np.inf
    assert Criterion(price).reached(search, state) is state
    assert Criterion(price).value(state) == state.score(price)


def test_criteria_over_a_sample():
    assert Criterion(2.0).over(0.5) == Criterion(1.0)
    assert Criterion(2.0, 30).over(0.5) == Criterion(1.0, 30)
    assert Criterion(2.0, most_cost=10.0).over(0.5) == Criterion(1.0, most_cost=5.0)


@pytest.mark.slow
@pytest.mark.parametrize("pilot_rows", [10_000, 290])
def test_each_state_of_the_search_is_better_than_the_one_before(pilot_rows, monkeypatch):
    monkeypatch.setattr("tao_cluster.optimize.oblique_search._PILOT_ROWS", pilot_rows)
    search, state = start_of()
    criterion = Criterion(penalty_per_parameter(search.problem, state))
    effort = Effort(8, 8, np.inf, 1, 0)
    found = list(improvements(search, state, 1.0, criterion, effort, (), 0))
    scores = [criterion.value(other) for other in (state, *found)]
    assert len(scores) > 1
    assert np.all(np.diff(scores) < 0)
    search, state = start_of()
    again = list(improvements(search, state, 1.0, criterion, effort, (), 0))
    assert [other.tree for other in found] == [other.tree for other in again]


def test_grown_leaves_are_where_another_label_saves_and_cost_nothing():
    search, state = start_of(depth=2)
    tree = grown(search, state, 3, 9, 0.1, np.random.RandomState(0))
    assert state.pruned.n_leaves < tree.n_leaves <= state.pruned.n_leaves + 3
    assert search.evaluate(tree).inertia < state.inertia
    assert grown(search, state, 3, 0, 0.1, np.random.RandomState(0)) is state.pruned
    assert grown(search, state, 0, 9, 0.1, np.random.RandomState(0)) is state.pruned


def test_rounds_are_bounded_by_values():
    fast = EFFORTS["fast"]
    assert fast.n_rounds_over(1000) == fast.n_rounds > 0
    assert fast.n_rounds_over(fast.most_values + 1) == 0
    assert fast.n_rounds_over(0) == fast.n_rounds
    thorough = EFFORTS["thorough"]  # without a bound
    assert thorough.n_rounds_over(10**12) == thorough.n_rounds
    assert EFFORTS["thorough"].n_rounds_over(1e12) == EFFORTS["thorough"].n_rounds


def fit(X=DIGITS, **parameters):
    parameters = {"depth": 4, "random_state": 0} | parameters
    return TAOClustering(10, **parameters).fit(X)


@pytest.mark.slow
def test_more_search_is_better_at_the_same_lambda():
    def trade(**options):
        """Cost and size of trees, as a mean over seeds."""
        models = [
            fit(lambda_=8.0, algorithm=DirectForm(n_init=2, **options), random_state=seed)
            for seed in range(3)
        ]
        trades = [np.log(m.cost_increase_) + 2 * np.log(m.tree_.n_parameters) for m in models]
        return np.mean(trades), {record["stage"] for m in models for record in m.history_}

    (thorough, _), (fast, stages), (none, others), (plain, _) = (
        trade(search="thorough"),
        trade(search="fast"),
        trade(search="none"),
        trade(relax=False),
    )
    assert thorough < fast < none < plain
    assert "search" in stages - others


@pytest.mark.slow
@pytest.mark.parametrize("X", [DIGITS, sp.csr_matrix(DIGITS), DIGITS.astype(np.float32)])
def test_the_tree_does_not_depend_on_threads(X):
    first, second = (fit(X, lambda_=1.0, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert first.tree_ == second.tree_
    assert first.cost_increase_ == second.cost_increase_


@pytest.mark.slow
def test_goals_are_met_closely():
    size = fit(max_parameters=80)
    assert 72 <= size.tree_.n_parameters <= 80
    cost = fit(max_cost_increase=1.5)
    assert cost.cost_increase_ <= 1.5 + 1e-9
    assert cost.cost_increase_ > 1.0  # what may be spent is spent


@pytest.mark.slow
def test_a_path_is_searched_where_that_is_asked_for():
    X = load_wine().data
    common = {"lambdas": [1.0, 10.0, 100.0], "standardize": True, "random_state": 0}
    fast, thorough = (
        tao_path(X, 3, depth=3, algorithm=DirectForm(search=search), **common)
        for search in ("fast", "thorough")
    )
    rounds = [
        sum(record["stage"] == "search" for record in models[-1].history_)
        for models in (fast, thorough)
    ]
    assert rounds[0] < len(fast) * 30 <= rounds[1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["lognormal", "cauchy"])
def test_never_worse_than_one_feature_where_tails_are_heavy(kind):
    """An axis-aligned test is an oblique one with one weight."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        shape = (800, 5)
        X = (
            rng.lognormal(sigma=3, size=shape)
            if kind == "lognormal"
            else rng.standard_cauchy(shape)
        )
        axis = ExShallow(8, random_state=0).fit(X)
        model = TAOClustering(
            8, max_parameters=axis.tree_.n_parameters, reference=axis.free_centers_, random_state=0
        ).fit(X)
        assert model.tree_.n_parameters <= axis.tree_.n_parameters
        assert model.cost_increase_ <= axis.cost_increase_ + 1e-9
