"""Where a path goes: grid, warm starts, beyond its ends, between two lambdas; choice by a goal."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import make_search
from sklearn.exceptions import ConvergenceWarning
from tao_cluster.optimize.direct_form import descend
from tao_cluster.optimize.path import MaxCostIncrease, MaxParameters, lambda_grid

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, knee, tao_path
from tao_cluster.objectives import KMeans
from tao_cluster.optimize import path
from tao_cluster.problem.problem import Problem


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
    with pytest.warns(UserWarning, match="best one costs 1 %"):
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


def never_far(found):
    return SimpleNamespace(n_parameters=0, n_leaves=5), np.inf


def look_for(goal, estimate=None):
    """Lambdas in the order of the search."""

    def measure(found):
        lambda_ = getattr(found, "lambda_", found)
        return SimpleNamespace(n_parameters=1000 / lambda_, n_leaves=5), lambda_

    settings = SimpleNamespace(max_leaves=None)
    search = SimpleNamespace(problem=None, settings=settings, start_from=lambda tree: tree)
    search.original = search
    found = path.search_path(search, goal, estimate or never_far, measure, 0)
    return [lambda_ for lambda_, _, _ in found]


@pytest.mark.parametrize("crossing", [1.1, 7.0, 70.0, 150.0, 2000.0, 0.3, 0.011])
@pytest.mark.parametrize("kind", [MaxParameters, MaxCostIncrease])
def test_bisection_ends_close_to_the_goal(world, crossing, kind):
    goal = kind(1000 / crossing if kind is MaxParameters else crossing)
    found = np.array(look_for(goal))
    low, high = found[found < crossing].max(), found[found > crossing].min()
    ratio = {True: GRID[1] / GRID[0], False: 3.0 if crossing > 100 else 9.0}[1 < crossing < 100]
    assert high / low == pytest.approx(ratio ** (1 / 4))
    assert np.all(np.isin(GRID[crossing > GRID], found))
    # It does not go on; but where the first tree costs too much, it looks at all of the grid.
    is_all = kind is MaxCostIncrease and crossing < GRID[0]
    assert np.all(np.isin(GRID, found)) or not is_all
    assert np.count_nonzero(found > crossing) <= (len(GRID) if is_all else 1) + 3 + 2
    assert len(np.unique(found)) == len(found)


@pytest.mark.parametrize("crossing", [7.0, 70.0, 0.3])
@pytest.mark.parametrize("kind", [MaxParameters, MaxCostIncrease])
@pytest.mark.parametrize("error", [1.0, 1e-3], ids=["right", "wrong"])
def test_trees_far_from_the_limit_are_not_measured(world, crossing, kind, error):
    goal = kind(1000 / crossing if kind is MaxParameters else crossing)

    def estimate(found):  # if it is wrong, all trees seem to be large and cheap
        seen = found.lambda_ * error
        return SimpleNamespace(n_parameters=1000 / seen, n_leaves=5), seen

    found, everywhere = np.array(look_for(goal, estimate)), np.array(look_for(goal))
    for side in (np.less, np.greater):  # the trees on both sides of the limit are there
        near = everywhere[side(everywhere, crossing)]
        nearest = near[np.abs(np.log(near / crossing)).argmin()]
        assert error < 1 or nearest in found
    assert found.min() < crossing < found.max()
    if error == 1 and crossing > 1:
        assert len(found) < len(everywhere)


def test_each_tree_comes_from_the_one_before(world):
    found = look_for(MaxCostIncrease(11.0))
    on_grid = [lambda_ for lambda_ in found if np.isclose(lambda_, GRID).any()]
    assert [world[lambda_] for lambda_ in on_grid] == ["start", *on_grid[:-1]]
    for lambda_ in found[len(on_grid) :]:  # of the bisection: the large tree below
        before = found[: found.index(lambda_)]
        assert world[lambda_] == max(other for other in before if other < min(lambda_, 11.0))


def test_a_path_goes_on_from_the_descent_not_from_its_refit(rng):
    X = rng.normal(size=(150, 4))
    search = make_search(X, 5, algorithm=DirectForm(n_init=2), depth=3)
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
    np.testing.assert_allclose(grid(X, uneven), grid(X[half], weight[half]), rtol=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_grid_of_weighted_rows_is_that_of_repeated_ones(rng, form):
    X, weight = rng.normal(size=(80, 3)), rng.integers(1, 9, 80)
    X[weight > 6] *= 3.0
    repeated = make_search(form(np.repeat(X, weight, axis=0)), 4, reference=X[:4])
    weighted = make_search(form(X), 4, reference=X[:4], weight=weight.astype(float))
    grids = [path.lambda_grid(search.problem) for search in (weighted, repeated)]
    np.testing.assert_allclose(*grids)


@pytest.fixture(scope="module")
def models_along(digits, digits_reference):
    return tao_path(digits, 10, depth=5, reference=digits_reference, random_state=0)


@pytest.mark.slow
def test_a_path_goes_from_free_to_small(models_along, digits):
    costs = [model.cost_increase_ for model in models_along]
    sizes = [model.tree_.n_parameters for model in models_along]
    assert len(models_along) == 10
    assert costs[0] < 0.5
    assert sizes[-1] < 60
    assert np.all(np.diff([model.lambda_ for model in models_along]) > 0)
    assert np.corrcoef(np.log(sizes), np.arange(10))[0, 1] < -0.95
    for model in models_along[::4]:
        np.testing.assert_array_equal(model.predict(digits), model.labels_)
        assert model.best_lambda_ == model.lambda_
        assert model.free_inertia_ == models_along[0].free_inertia_
        assert len(model.history_) == model.n_iter_
    lengths = [model.n_iter_ for model in models_along]
    assert np.all(np.diff(lengths) > 0)


@pytest.mark.slow
def test_a_path_is_as_good_as_single_fits(models_along, digits, digits_reference):
    """At the same lambda, in cost times size, on average over the path."""
    ratios = []
    for model in models_along[2:8:3]:
        alone = TAOClustering(
            10, lambda_=model.lambda_, reference=digits_reference, random_state=0
        ).fit(digits)
        ratios.append(
            (1 + model.cost_increase_)
            * model.tree_.n_parameters
            / ((1 + alone.cost_increase_) * alone.tree_.n_parameters)
        )
    assert np.mean(ratios) < 1.25


@pytest.mark.slow
def test_same_path_for_any_number_of_threads(digits):
    options = {"lambdas": [3.0, 0.5], "algorithm": DirectForm(n_init=2), "random_state": 0}
    one, two = (tao_path(digits, 10, n_jobs=j, **options) for j in (1, 2))
    assert [model.lambda_ for model in one] == [0.5, 3.0]
    for a, b in zip(one, two, strict=True):
        assert a.tree_ == b.tree_
        assert a.inertia_ == b.inertia_


def test_grid_goes_with_rows_and_scale(digits):
    def grid(X, each=1.0):
        weight = np.full(len(X), each)
        return lambda_grid(Problem.from_rows(X, X, weight, KMeans(), X[:10], 10, 0))

    plain = grid(digits)
    np.testing.assert_allclose(grid(digits, 2.0), 2 * plain)
    np.testing.assert_allclose(grid(np.vstack([digits, digits])), 2 * plain)
    np.testing.assert_allclose(grid(3 * digits), 27 * plain)
    np.testing.assert_allclose(plain[1:] / plain[:-1], (plain[-1] / plain[0]) ** (1 / 9))


@pytest.mark.sweep
@pytest.mark.filterwarnings("ignore:A tree of at most 2 leaves")
def test_goals(digits, digits_reference):
    options = {"reference": digits_reference, "random_state": 0, "algorithm": DirectForm(n_init=2)}
    small = TAOClustering(10, max_parameters=60, **options).fit(digits)
    assert 45 <= small.tree_.n_parameters <= 60
    cheap = TAOClustering(10, max_cost_increase=1.0, **options).fit(digits)
    assert 0.5 < cheap.cost_increase_ <= 1.0
    assert small.best_lambda_ > cheap.best_lambda_ > 0
    assert small.lambda_ == "auto"  # as given
    for size in (30, 4, 1):  # beyond the grid
        with pytest.warns(UserWarning, match="lost"):
            tiny = TAOClustering(10, max_parameters=size, **options).fit(digits)
        assert size / 2 <= tiny.tree_.n_parameters <= size
    with pytest.warns(UserWarning, match="No tree within max_cost_increase=0 was"):
        TAOClustering(3, max_cost_increase=0.0, depth=1, random_state=0).fit(digits)
    with pytest.raises(ValueError, match="A path has no goal"):
        tao_path(digits, 10, max_parameters=60)
    with pytest.raises(ValueError, match="not both"):
        TAOClustering(10, max_parameters=60, max_cost_increase=1, **options).fit(digits)


def test_knee_chooses():
    models = [fake(0.1, 400), fake(0.2, 100), fake(2.0, 80), fake(8.0, 20)]
    assert knee(models) is models[1]
    assert knee(models, max_parameters=90) is models[2]
    assert knee(models, max_cost_increase=3) is models[2]
    assert knee(models, max_cost_increase=0.15) is models[0]
    with pytest.warns(UserWarning, match="smallest has 20"):
        assert knee(models, max_parameters=10) is models[3]
    with pytest.warns(UserWarning, match="best one costs 0.1 %"):
        assert knee(models, max_cost_increase=0.01) is models[0]
    assert knee(models[:1]) is models[0]
    with pytest.raises(ValueError, match="no models"):
        knee([])
    assert knee([fake(0.0, 100), fake(np.inf, 50)]).cost_increase_ == 0


def test_no_cost_at_all_can_be_asked_for(blobs):
    model = TAOClustering(4, max_cost_increase=0, depth=3, random_state=0).fit(blobs)
    assert model.cost_increase_ <= 1e-9
    assert model.tree_.n_parameters <= 13


@pytest.mark.slow
def test_models_share_nothing_that_can_be_changed(digits, digits_reference):
    a, b = tao_path(
        digits, 10, [1.0, 10.0], algorithm=DirectForm(n_init=1), reference=digits_reference
    )
    before = digits_reference.cluster_centers_.copy()
    a.free_centers_ *= 0
    a.history_[0]["stage"] = "changed"
    np.testing.assert_array_equal(b.free_centers_, before)
    np.testing.assert_array_equal(digits_reference.cluster_centers_, before)
    assert b.history_[0]["stage"] == "start"


@pytest.mark.parametrize("lambdas", [[], [1.0, -1.0], [0.0], [np.nan], "abc", 0.0])
def test_bad_lambdas(digits, lambdas):
    with pytest.raises(ValueError):  # noqa: PT011
        tao_path(digits, 10, lambdas)


def test_a_path_needs_weights(digits):
    with pytest.raises(ValueError, match="A path needs"):
        tao_path(digits, 10, algorithm=PenaltyMethod(node_solver="liblinear", refine=False))


@pytest.mark.parametrize("X", [np.zeros((5, 3)), np.arange(6.0)[:, None], np.ones((1, 2))])
def test_degenerate_paths(X):
    with np.errstate(all="raise"):
        models = tao_path(X, 1, depth=2)
    assert len(models) == 10
    assert all(model.tree_.n_leaves == 1 for model in models)
    assert TAOClustering(1, max_parameters=1).fit(X).tree_.n_leaves == 1


@pytest.mark.slow
def test_an_interrupted_path_keeps_its_models(digits, monkeypatch):
    plain, calls = KMeans.update_centers, []

    def update_centers(self, *args):
        calls.append(1)
        if len(calls) == 60:
            raise KeyboardInterrupt
        return plain(self, *args)

    monkeypatch.setattr(KMeans, "update_centers", update_centers)
    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        models = tao_path(digits, 10, random_state=0)
    assert 0 < len(models) < 10
    np.testing.assert_array_equal(models[-1].predict(digits), models[-1].labels_)


@pytest.mark.slow
def test_weights_and_embeddings(digits, rng):
    weight = rng.uniform(0.5, 2, len(digits))
    weight[::5] = 0
    embedding = digits @ rng.normal(size=(64, 6))
    models = tao_path(
        digits,
        5,
        [1.0, 10.0],
        algorithm=DirectForm(n_init=2),
        sample_weight=weight,
        embedding=embedding,
        random_state=0,
    )
    for model in models:
        assert model.cluster_centers_.shape == (5, 6)
        assert len(model.labels_) == len(digits)
