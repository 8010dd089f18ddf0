"""Properties of every estimator with settings, rows and weights that are drawn at random.

The number of a draw is its seed. The quick run tries a few draws, the slow run has one draw per
estimator and further settings of TAOClustering, and sweeps try all.
"""

import functools
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import ESTIMATORS
from sklearn.base import clone

import greedy
import tao_cluster
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.measures import adjusted_rand_index

QUICK, N_SLOW, N_IN_SWEEPS = (7, 18, 21, 24), 28, 200
PACKAGES = tuple(str(Path(package.__file__).parent) for package in (greedy, tao_cluster))

# ---------------------------------------------------------------- draws

# DIVCLUST grows as CUBT does.
GREEDY = [cls for name, cls in ESTIMATORS.items() if name not in ("TAOClustering", "DIVCLUST")]
# The costs of these estimators are distances, which do not depend on weights.
WEIGHTLESS = greedy.ExKCenter, greedy.ExSingleLink
SHARED = {"standardize": True, "min_samples_leaf": [2, 5, 0.05], "n_jobs": 2}
TAO = {
    "split": "axis",
    "objective": ["spherical", "kmedians"],
    "max_leaves": [4, 7],
    "depth": [2, 3],
    "init": ["imm", "exkmc"],
}
GOALS = [
    {"max_parameters": 9},
    {"max_parameters": 25},
    {"max_cost_increase": 8.0},
    {"max_parameters": 9, "validation": 0.2},
    {"max_cost_increase": 8.0, "validation": 0.2},
    {"validation": 0.2},
    {"lambda_": 0.5},
    {"lambda_": 5.0},
]
DIRECT = [
    DirectForm(n_init=1),
    DirectForm(n_init=2, search="none"),
    DirectForm(n_init=1, relax=False, search="none"),
    DirectForm(n_init=1, search="none", max_features_per_test=2),
    DirectForm(n_init=1, search="none", max_rows=40),
]
PENALTY = [PenaltyMethod(n_mu_steps=5), PenaltyMethod(n_mu_steps=5, penalty="squared")]


@dataclass(frozen=True)
class Draw:
    """An unfitted estimator, and the arguments of its `fit`."""

    model: Any
    rows: dict

    @property
    def weight(self):
        """Weights of the rows: ones if `fit` gets none."""
        return self.rows.get("sample_weight", np.ones(self.rows["X"].shape[0]))

    def fit(self, rows=None, **changed):
        """Fit a copy of the estimator with some settings changed; return it and the warnings."""
        model = clone(self.model).set_params(**changed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(**(self.rows if rows is None else rows))
        return model, [str(each.message) for each in caught]


@functools.cache
def draw(seed):
    """Draw an estimator with settings that it supports, and rows; the first draws are greedy."""
    rng = np.random.default_rng(seed)
    is_greedy = seed < len(GREEDY) or rng.random() < 0.2
    model = GREEDY[seed % len(GREEDY)]() if is_greedy else TAOClustering()
    k, names = int(rng.integers(1, 6)), model.get_params()
    settings = {name: v for name, v in some(rng, SHARED).items() if name in names}
    if not is_greedy:
        settings |= some(rng, TAO) | GOALS[rng.integers(len(GOALS))]
        if "max_leaves" in settings:
            settings["max_leaves"] = max(settings["max_leaves"], k)
        if "validation" in settings and not {"max_parameters", "max_cost_increase"} & set(settings):
            settings = {n: v for n, v in settings.items() if n not in ("max_leaves", "init")}
        methods = PENALTY if "lambda_" in settings and rng.random() < 0.3 else DIRECT
        settings["algorithm"] = methods[rng.integers(len(methods))]
    elif "max_leaves" in names:
        settings["max_leaves"] = k + int(rng.integers(4))
    rows = drawn_rows(rng, k)
    centers = rows["X"][:k].copy()
    centers[-1] = centers[0]
    explains_labels = not is_greedy and "objective" not in settings and rng.random() < 0.15
    if explains_labels:
        settings |= {"objective": "labels", "init": "auto"}
        rows["y"] = np.array(["a", "b", "c"])[rng.integers(3, size=len(rows["X"]))]
    if isinstance(model, greedy.MixtureTree):
        rows.pop("sample_weight", None)  # scikit-learn's mixtures take no weights
    takes_sparse = model.__class__ is not greedy.MixtureTree and "standardize" not in settings
    if rng.random() < 0.2 and takes_sparse and settings.get("objective") != "kmedians":
        rows["X"] = sp.csr_matrix(rows["X"])
    if rng.random() < 0.15 and not explains_labels:
        settings["reference"] = centers  # two are equal, so that a cluster has no rows
    return Draw(model.set_params(n_clusters=k, random_state=0, **settings), rows)


def some(rng, settings):
    """Draw a value for about a third of the settings."""
    drawn = {name: rng.choice(np.atleast_1d(np.array(v, object))) for name, v in settings.items()}
    return {name: value for name, value in drawn.items() if rng.random() < 0.3}


def drawn_rows(rng, k):
    """Draw rows around k centres, of which some are equal, and perhaps weights."""
    n, d = int(rng.integers(50, 120)), int(rng.integers(2, 6))
    X = rng.normal(size=(n, d)) + rng.integers(-2, 3, size=(k, d))[rng.integers(k, size=n)]
    X = np.round(8 * X) / 8 + 0.0625  # squares are exact, and no value is 0
    X[: n // 5] = X[n // 5 : 2 * (n // 5)]
    rows = {"X": X.astype(np.float32 if rng.random() < 0.3 else np.float64)}
    weights = [None, None, rng.integers(0, 4, size=n).astype(float), rng.exponential(size=n)]
    weight = weights[rng.integers(4)]
    return rows if weight is None else rows | {"sample_weight": weight}


@functools.cache
def fitted(seed):
    """The fitted estimator of a draw, and its warnings."""
    return draw(seed).fit()


def every_draw(quick=QUICK, n_in_sweeps=N_IN_SWEEPS):
    """Parametrise a test by draws: quick, slow and, beyond these, in sweeps."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in {*range(N_SLOW)} - {*quick}]
    rest = [pytest.param(seed, marks=pytest.mark.sweep) for seed in range(N_SLOW, n_in_sweeps)]
    return pytest.mark.parametrize("seed", [*quick, *slow, *rest])


# ---------------------------------------------------------------- the fitted tree


@every_draw()
def test_attributes_describe_the_tree(seed):
    (model, _), given = fitted(seed), draw(seed)
    X, weight, tree = given.rows["X"], given.weight, model.tree_
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    leaves = model.apply(X)
    assert set(leaves) <= set(tree.leaves)
    np.testing.assert_array_equal(tree.leaf_label[leaves], tree.predict(X))
    np.testing.assert_allclose(tree.node_counts(leaves, weight), model.node_counts_, rtol=1e-9)
    visits = tree.decision_path(X).toarray()
    np.testing.assert_allclose(weight @ visits, model.node_counts_, rtol=1e-9)
    for node in tree.decision_nodes:
        left, right = tree.children_left[node], tree.children_right[node]
        np.testing.assert_array_equal(visits[:, left] + visits[:, right], visits[:, node])
    new = {name: array for name, array in given.rows.items() if name != "X"}
    assert -model.score(X, **new) == pytest.approx(model.inertia_, rel=1e-6, abs=1e-9)
    found = model.cost_increase(X, **new)
    assert found == pytest.approx(model.cost_increase_, rel=1e-5, abs=1e-5)
    if "y" not in new:
        distances = model.transform(X)
        assert distances.shape == (X.shape[0], len(model.cluster_centers_))
        assert (distances >= 0).all()


@every_draw()
def test_limits_hold_or_one_warning_says_why_not(seed):
    model, messages = fitted(seed)
    settings, tree = model.get_params(), model.tree_
    cost = getattr(model, "validation_cost_increase_", model.cost_increase_)
    sizes = {"max_leaves": tree.n_leaves, "max_parameters": tree.n_parameters}
    sizes["max_cost_increase"] = cost - 1e-6
    for name, size in sizes.items():
        if settings.get(name) is not None and size > settings[name]:
            assert len([each for each in messages if f"{name}={settings[name]:g}" in each]) == 1
    most = getattr(settings.get("algorithm"), "max_features_per_test", None)
    assert most is None or np.diff(tree.split_indptr).max() <= most
    if settings.get("split") == "axis":
        assert np.diff(tree.split_indptr).max() <= 1


@every_draw()
def test_leaves_are_large_enough(seed):
    (model, _), given = fitted(seed), draw(seed)
    least = given.model.get_params().get("min_samples_leaf", 1)
    tree = model.tree_
    if tree.n_leaves > 1 and isinstance(least, float):
        assert model.node_counts_[tree.leaves].min() >= least * model.node_counts_[0] * (1 - 1e-9)
    elif tree.n_leaves > 1:
        assert model.node_rows_[tree.leaves].min() >= least


# ---------------------------------------------------------------- equivalent fits


@every_draw()
def test_the_same_fit_has_the_same_tree_for_any_number_of_threads(seed):
    model, _ = fitted(seed)
    if "n_jobs" in model.get_params():
        again, _ = draw(seed).fit(n_jobs=1 if model.n_jobs == 2 else 2)
        assert again.tree_ == model.tree_
        assert again.inertia_ == model.inertia_


@every_draw()
def test_a_power_of_two_of_all_weights_changes_no_bit(seed):
    (model, _), factor = fitted(seed), 2.0 ** (-37 if seed % 2 else 30)
    again = weighted(draw(seed), factor)
    assert again.tree_ == model.tree_
    assert again.inertia_ == model.inertia_ * (1 if isinstance(model, WEIGHTLESS) else factor)
    assert again.cost_increase_ == model.cost_increase_


@every_draw(n_in_sweeps=150)
def test_other_factors_of_weights_change_no_cluster(seed):
    """Such a factor rounds, but no tie may depend on that."""
    (model, _), given = fitted(seed), draw(seed)
    factor = 1 / 150 if seed % 2 else 3.7e9
    again = weighted(given, factor)
    # Rounding may exchange the numbers of clusters whose reference centres are equal.
    assert adjusted_rand_index(again.labels_, model.labels_) == pytest.approx(1)
    # Standardised columns of float32 are rounded to float32.
    precision = 1e-9 if given.rows["X"].dtype == np.float64 else 1e-6
    factor = 1 if isinstance(model, WEIGHTLESS) else factor
    assert again.inertia_ == pytest.approx(factor * model.inertia_, rel=precision)
    found = again.cost_increase_
    assert found == pytest.approx(model.cost_increase_, rel=1e-6, abs=100 * precision)


def weighted(given, factor):
    """Fit a draw with all weights, and all parameters in their unit, multiplied by a factor."""
    settings = given.model.get_params()
    units = {name: settings.get(name, "auto") for name in ("lambda_", "min_size")}
    changed = {name: factor * value for name, value in units.items() if value != "auto"}
    return given.fit(given.rows | {"sample_weight": factor * given.weight}, **changed)[0]


@every_draw()
def test_a_row_of_weight_two_is_the_row_twice(seed):
    given = draw(seed)
    weight = given.weight
    is_integer = np.array_equal(weight, np.round(weight))
    if not is_integer or given.model.get_params().get("validation") is not None:
        weight = np.arange(len(weight)) % 3.0 + 1.0
    repeats = np.repeat(np.arange(len(weight)), weight.astype(int))
    once = {name: array for name, array in given.rows.items() if name != "sample_weight"}
    changed = {"min_samples_leaf": 1} if "min_samples_leaf" in given.model.get_params() else {}
    one, _ = given.fit(once | {"sample_weight": weight}, **changed)
    many, _ = given.fit({name: array[repeats] for name, array in once.items()}, **changed)
    assert many.tree_ == one.tree_
    assert many.inertia_ == pytest.approx(one.inertia_, rel=1e-9)


# ---------------------------------------------------------------- strange weights


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("heaviest", [1e10, 1e14, 1e16])
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_one_heavy_row_does_not_spoil_the_tree(split, heaviest):
    """It attracts a centre, and the other rows decide about the tree."""
    X, weight = np.random.default_rng(3).normal(size=(90, 3)), np.ones(90)
    weight[3] = heaviest
    model, _ = Draw(TAOClustering(3, split=split, random_state=0), {}).fit(
        {"X": X, "sample_weight": weight}
    )
    start, _ = Draw(greedy.IMM(3, random_state=0), {}).fit({"X": X, "sample_weight": weight})
    assert model.cost_increase_ <= start.cost_increase_ + 1e-6


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("power", [-100, 66])
def test_a_scale_beyond_single_precision_is_named(make, power):
    X = np.random.default_rng(0).normal(size=(90, 3)) * 2.0**power
    greedy.ExKMC(3, random_state=0).fit(make(X))
    with pytest.raises(ValueError, match="flow float32; rescale the data"):
        greedy.ExKMC(3).fit(make(X.astype(np.float32)))


# ---------------------------------------------------------------- other units and columns


def oblique(unit, **options):
    """E has the square of the unit and ||w||_1 its inverse, so that lambda has the cube."""
    return TAOClustering(3, lambda_=unit**3, depth=2, random_state=0, **options)


METHODS = {
    name: lambda unit, cls=ESTIMATORS[name], **options: cls(3, random_state=0, **options)
    for name in ("IMM", "ExKMC", "ExGreedy", "ExShallow", "DPTree", "Kauri", "CART")
}
METHODS |= {
    "oblique": oblique,
    "axis": lambda unit, **options: TAOClustering(
        3, split="axis", depth=2, random_state=0, **options
    ),
    "penalty": lambda unit, **options: oblique(unit, algorithm="penalty", **options),
}


@pytest.mark.spaced(quick=3, slow=7)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_units_origins_and_orders_of_columns_change_no_cluster(name):
    """Multiples of 1/8, whose sums and squares are exact. One column parts the clusters: no ties.

    Weights of oblique tests are found to a tolerance; their columns are not compared.
    """
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.integers(-40, 41, (15, 4)) / 8
        X[:, 0] += 32 * np.repeat(range(3), 5)
        order, shift = rng.permutation(4), 8.0 * rng.integers(-1000, 1000)
        plain = METHODS[name](1.0, reference=X[::5]).fit(X)
        assert plain.inertia_ <= ((X - X.mean(axis=0)) ** 2).sum()
        permuted = METHODS[name](1.0, reference=X[::5, order]).fit(X[:, order])
        others = [permuted, METHODS[name](1.0, reference=X[::5] + shift).fit(X + shift)]
        others += [
            METHODS[name](unit, reference=X[::5] * unit).fit(X * unit)
            for unit in (2.0**-40, 2.0**40)
        ]
        for other in others:
            np.testing.assert_array_equal(other.labels_, plain.labels_)
            np.testing.assert_array_equal(other.free_labels_, plain.free_labels_)
            assert other.tree_.n_parameters == plain.tree_.n_parameters
        if np.diff(plain.tree_.split_indptr).max() == 1:
            np.testing.assert_array_equal(
                order[permuted.tree_.split_indices], plain.tree_.split_indices
            )


# ---------------------------------------------------------------- Ctrl-C


class CtrlC:
    """Profiler that counts the calls of functions of both packages, and interrupts one of them."""

    def __init__(self, at=0):
        self.at, self.n_calls = at, 0

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)

    def __call__(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            self.n_calls += 1
            if self.n_calls == self.at:
                signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("python_hears_ctrl_c")
@every_draw(QUICK[::2], n_in_sweeps=100)
@pytest.mark.parametrize("share", [pytest.param(0.2, marks=pytest.mark.sweep), 0.8])
def test_an_interrupt_ends_a_fit_at_its_best_tree(seed, share):
    given, X = draw(seed), draw(seed).rows["X"]
    model = clone(given.model)
    with warnings.catch_warnings(), CtrlC() as whole:
        warnings.simplefilter("ignore")
        model.fit(**given.rows)
    before, at = model.tree_, int(share * whole.n_calls)
    with warnings.catch_warnings(record=True) as caught, CtrlC(at) as pressed:
        warnings.simplefilter("always")
        try:
            model.fit(**given.rows)
        except KeyboardInterrupt:
            assert model.tree_ is before
            if share > 0.5 and isinstance(model, TAOClustering):
                assert before.n_leaves == 1 or whole.n_calls < 2000  # else there is a tree by now
        else:
            assert sum("Interrupted" in str(each.message) for each in caught) == 1
            assert model.tree_ is not before
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # The attributes of a tree take some calls per leaf.
    most = 1000 + 50 * model.tree_.n_leaves + 0.05 * whole.n_calls
    assert pressed.n_calls - at <= most
