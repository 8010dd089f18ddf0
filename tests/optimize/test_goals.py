"""Where a path goes: grid, warm starts, beyond its ends, between two lambdas; choice by a goal."""

from types import SimpleNamespace

import numpy as np
import pytest
from conftest import make_search

from tao_cluster import knee
from tao_cluster.optimize import path
from tao_cluster.optimize.direct_form import descend
from tao_cluster.optimize.path import MaxCostIncrease, MaxParameters


def fake(cost, size):
    tree = SimpleNamespace(n_parameters=size, n_clusters=3)
    return SimpleNamespace(cost_increase_=cost, tree_=tree)


# ---------------------------------------------------------------- goals


@pytest.mark.parametrize(
    ("goal", "is_met"),
    [
        (MaxParameters(20), lambda cost, size: size <= 20),
        (MaxCostIncrease(2.0), lambda cost, size: not cost <= 2.0),
    ],
)
def test_small_is_what_a_larger_lambda_makes_smaller_still(goal, is_met):
    for cost, size in ((1.0, 30), (2.0, 20), (3.0, 10), (2.0 + 1e-12, 19)):
        expected = is_met(round(cost, 9), size)
        assert goal.is_small(cost, SimpleNamespace(n_parameters=size)) == expected


def test_ties_of_a_goal():
    """Equal costs: the smaller tree. Equal sizes: the cheaper one. Both: the first."""
    models = [fake(1.0, 30), fake(1.0, 20), fake(2.0, 20), fake(1.0, 20), fake(3.0, 9)]
    assert knee(models, max_parameters=40) is models[1]
    assert knee(models[::-1], max_parameters=40) is models[3]
    assert knee(models[:4], max_cost_increase=2.5) is models[1]
    assert knee(models[3::-1], max_cost_increase=2.5) is models[3]
    assert knee(models[2::-1], max_cost_increase=2.5) is models[1]
    with pytest.warns(UserWarning, match="smallest has 20"):
        assert knee([models[2], *models[:2]], max_parameters=10) is models[1]
    with pytest.warns(UserWarning, match="best costs 1 %"):
        assert knee(models, max_cost_increase=0.5) is models[1]


def test_least_cost_within_a_size_and_least_size_within_a_cost():
    models = [fake(0.5, 90), fake(1.0, 60), fake(2.0, 50), fake(4.0, 20)]
    for limit, best in ((100, 0), (60, 1), (59, 2), (20, 3)):
        assert knee(models, max_parameters=limit) is models[best]
    for limit, best in ((0.5, 0), (1.9, 1), (2.0, 2), (9.0, 3)):
        assert knee(models, max_cost_increase=limit) is models[best]
    assert knee([fake(1e-10, 5), fake(0.0, 9)], max_cost_increase=0).tree_.n_parameters == 5


def test_knee_is_the_nearest_corner_of_logarithms():
    rng = np.random.default_rng(0)
    for _ in range(20):
        costs, sizes = rng.lognormal(0, 2, 7), rng.permutation(np.geomspace(9, 900, 7)).astype(int)
        y, x = np.log(1 + costs), np.log(sizes)
        corner = (x - x.min()) / (x.max() - x.min()) + (y - y.min()) / (y.max() - y.min())
        models = [fake(*pair) for pair in zip(costs, sizes, strict=True)]
        corner[(y > np.log(4)) & (y.min() <= np.log(4))] = np.inf  # at most 3 %, if there are such
        assert knee(models) is models[corner.argmin()]


# ---------------------------------------------------------------- the search along lambda

GRID = np.geomspace(1.0, 100.0, 10)


@pytest.fixture
def world(monkeypatch):
    """Trees have 1000 / lambda parameters and cost lambda percent; notes who comes from whom."""
    comes_from = {}

    def point(search, state, lambda_):
        comes_from[float(lambda_)] = state
        return SimpleNamespace(lambda_=float(lambda_), state=float(lambda_), result=float(lambda_))

    monkeypatch.setattr(path, "_point", point)
    monkeypatch.setattr(path, "lambda_grid", lambda problem: GRID)
    monkeypatch.setattr(path, "initial_trees", lambda *args: [])
    monkeypatch.setattr(path, "starts", lambda search, trees, lambda_, seed: ["start"])
    return comes_from


def look_for(goal):
    """Lambdas in the order of the search."""

    def measure(found):
        lambda_ = getattr(found, "lambda_", found)
        return SimpleNamespace(n_parameters=1000 / lambda_, n_leaves=5), lambda_

    settings = SimpleNamespace(max_leaves=None)
    search = SimpleNamespace(problem=None, settings=settings, start_from=lambda tree: tree)
    return [lambda_ for lambda_, _, _ in path.search_path(search, goal, measure, 0)]


@pytest.mark.parametrize("crossing", [1.1, 7.0, 70.0, 150.0, 2000.0, 0.3, 0.011])
@pytest.mark.parametrize("kind", [MaxParameters, MaxCostIncrease])
def test_bisection_ends_close_to_the_goal(world, crossing, kind):
    goal = kind(1000 / crossing if kind is MaxParameters else crossing)
    found = np.array(look_for(goal))
    low, high = found[found < crossing].max(), found[found > crossing].min()
    ratio = {True: GRID[1] / GRID[0], False: 3.0 if crossing > 100 else 9.0}[1 < crossing < 100]
    assert high / low == pytest.approx(ratio ** (1 / 8))
    assert np.all(np.isin(GRID[crossing > GRID], found))
    # It does not go on; but where the first tree costs too much, it looks at all of the grid.
    is_all = kind is MaxCostIncrease and crossing < GRID[0]
    assert np.all(np.isin(GRID, found)) or not is_all
    assert np.count_nonzero(found > crossing) <= (len(GRID) if is_all else 1) + 3 + 3
    assert len(np.unique(found)) == len(found)


def test_each_tree_comes_from_the_one_before(world):
    found = look_for(MaxCostIncrease(11.0))
    on_grid = [lambda_ for lambda_ in found if np.isclose(lambda_, GRID).any()]
    assert [world[lambda_] for lambda_ in on_grid] == ["start", *on_grid[:-1]]
    for lambda_ in found[len(on_grid) :]:  # of the bisection: the large tree below
        before = found[: found.index(lambda_)]
        assert world[lambda_] == max(other for other in before if other < min(lambda_, 11.0))


def test_a_path_goes_on_from_the_descent_not_from_its_refit(rng):
    X = rng.normal(size=(150, 4))
    search = make_search(X, 5, n_init=2, depth=3)
    first, second = path.follow_path(search, [0.3, 3.0], 0)
    assert first.result.tree != first.state.tree
    assert second.state.tree == descend(search, first.state, 3.0).tree
    assert second.state.tree != descend(search, first.result, 3.0).tree


# ---------------------------------------------------------------- the grid


def test_grid_has_the_units_of_lambda(rng):
    X, weight = rng.normal(size=(80, 3)), rng.uniform(0.5, 2, 80)

    def grid(X, weight):
        return path.lambda_grid(make_search(X, 4, reference=X[:4], weight=weight).problem)

    plain = grid(X, weight)
    np.testing.assert_allclose(grid(4 * X, weight), 64 * plain)  # a cost over a weight
    np.testing.assert_allclose(grid(X, 3 * weight), 3 * plain)
    uneven = np.where(np.arange(80) < 40, weight, 1e-9)
    half = np.unique(np.r_[:40, :4])
    np.testing.assert_allclose(
        grid(X, uneven)[0] / np.sqrt(X.var(axis=0).mean()),
        grid(X[half], weight[half])[0] / np.sqrt(X[half].var(axis=0).mean()),
        rtol=1e-6,
    )
