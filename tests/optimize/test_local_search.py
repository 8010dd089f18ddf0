"""The search over structures of axis-aligned trees: what it reaches, and what it never breaks."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit, rest_in_sweeps
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from greedy import ExGreedy, ExKMC, ExShallow
from tao_cluster import DirectForm, TAOClustering, tao_path

pytestmark = pytest.mark.filterwarnings("ignore:The tree has lost")


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize(
    ("name", "n_leaves", "most"),
    [("iris", 3, 3.653), ("iris", 6, 1e-9), ("wine", 3, 4.608), ("wine", 6, 0.12)],
)
def test_small_data_reach_the_optimum(name, n_leaves, most):
    """Of 3 leaves by brute force. A limit of parameters gets the least cost of the rows alone."""
    X = load_iris().data if name == "iris" else StandardScaler().fit_transform(load_wine().data)
    limit = 3 * n_leaves - 2
    model = TAOClustering(3, split="axis", max_parameters=limit, random_state=0).fit(X)
    assert model.cost_increase_ <= most
    assert model.tree_.n_leaves <= n_leaves


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_leaves", "most"), [(20, 10.5), pytest.param(40, 4.3, marks=pytest.mark.sweep)]
)
def test_digits(digits, digits_reference, n_leaves, most):
    options = {"split": "axis", "max_leaves": n_leaves, "reference": digits_reference}
    model = TAOClustering(10, random_state=0, **options).fit(digits)
    assert model.cost_increase_ <= most
    assert model.tree_.n_leaves == n_leaves
    assert "search" in {record["stage"] for record in model.history_}


@pytest.mark.sweep
def test_digits_with_a_leaf_a_cluster(digits, digits_reference):
    """On average: single seeds end between 15.3 and 16.9 %."""
    options = {"split": "axis", "max_leaves": 10, "reference": digits_reference}
    fits = (TAOClustering(10, random_state=seed, **options).fit(digits) for seed in range(8))
    assert np.mean([model.cost_increase_ for model in fits]) <= 16.4


@pytest.mark.slow
def test_standardised_breast_cancer_with_a_leaf_per_cluster():
    """Without joint passes, these seeds end at 6.1 % on average."""
    X = StandardScaler().fit_transform(load_breast_cancer().data)
    options = {"split": "axis", "max_leaves": 5}
    options["reference"] = KMeans(5, n_init=10, random_state=0).fit(X)
    fits = (TAOClustering(5, random_state=seed, **options).fit(X) for seed in range(4))
    assert np.mean([model.cost_increase_ for model in fits]) <= 6.0


SIZES = [(0, np.asarray, 1), (1, sp.csr_matrix, 8), (2, np.asarray, 0.06), (3, sp.csr_matrix, 1)]
ALL_SIZES = itertools.product(range(4), [np.asarray, sp.csr_matrix], [1, 8, 0.06])


@pytest.mark.spaced(quick=0, slow=3)
@pytest.mark.parametrize(
    ("seed", "form", "min_samples_leaf"),
    [case if case in SIZES else pytest.param(*case, marks=pytest.mark.sweep) for case in ALL_SIZES],
)
def test_never_above_its_starts_and_within_its_limits(seed, form, min_samples_leaf):
    """Also with weights; a limit of parameters keeps the cost of the rows alone."""
    rng = np.random.default_rng(seed)
    X, weight = form(np.round(rng.standard_cauchy(size=(120, 4)), 1)), rng.integers(1, 4, 120)
    n_leaves, options = 4 + seed, {"min_samples_leaf": min_samples_leaf, "random_state": seed}
    reference = KMeans(4, n_init=2, random_state=seed).fit(X, sample_weight=weight)
    options["reference"] = reference.cluster_centers_
    limit = {"max_parameters": 3 * n_leaves - 2}
    model = TAOClustering(4, split="axis", **limit, **options).fit(X, sample_weight=weight)
    assert model.tree_.n_leaves <= n_leaves
    sizes = np.bincount(model.apply(X), weight if min_samples_leaf == 8 else weight / weight.sum())
    if min_samples_leaf != 1:
        assert sizes[model.tree_.leaves].min() >= min_samples_leaf * (1 - 1e-9)
    for start in (ExKMC(4, max_leaves=n_leaves, **options), ExGreedy(4, **options)):
        start.fit(X, sample_weight=weight)
        if start.tree_.n_leaves <= n_leaves and len(sizes):
            assert model.inertia_ <= start.inertia_ * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", rest_in_sweeps(range(3), 0))
def test_regrowth_never_ends_above_its_start(seed):
    """At a penalty per test, which regrowth first lowers to a tenth."""
    X = np.random.default_rng(seed).normal(size=(100, 4))
    start = ExKMC(5, max_leaves=14, random_state=0).fit(X)
    options = {"reference": start.free_centers_, "init": start.tree_, "split": "axis"}
    for lambda_ in (0.0, 5.0, 8.0):
        model = TAOClustering(5, lambda_=lambda_, random_state=0, **options).fit(X)
        stages = {"regrow", "relax"}  # "relax" counts noisy copies of the rows
        records = [r for r in model.history_ if r["stage"] == "regrow"]
        assert stages & {record["stage"] for record in model.history_}
        assert model.tree_.n_leaves <= 14
        strengths = [record["lambda"] for record in records]
        assert set(np.round(strengths, 9)) <= {lambda_, round(0.1 * lambda_, 9)}


@pytest.mark.slow
def test_nothing_but_the_seed_matters(rng):
    X = np.round(rng.normal(size=(90, 3)), 1)
    options = {"split": "axis", "max_leaves": 6, "reference": X[:4], "random_state": 0}
    model = TAOClustering(4, **options).fit(X)
    assert_same_fit(model, TAOClustering(4, n_jobs=3, **options).fit(X))
    weight = rng.integers(0, 3, 90)
    weighted = TAOClustering(4, **options).fit(X, sample_weight=weight)
    repeated = TAOClustering(4, **options).fit(np.repeat(X, weight, axis=0))
    assert weighted.tree_ == repeated.tree_
    for form in (np.float32, np.asfortranarray, sp.csr_matrix):
        other = TAOClustering(4, **options).fit(form(X))
        assert other.cost_increase_ == pytest.approx(model.cost_increase_, abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-3, 7.0])
def test_units_of_the_data_do_not_matter(unit, rng):
    X = rng.integers(0, 50, (100, 4)).astype(float)
    options = {"split": "axis", "max_leaves": 6, "random_state": 0}
    model = TAOClustering(4, reference=X[:4], **options).fit(X)
    other = TAOClustering(4, reference=unit * X[:4], **options).fit(unit * X)
    np.testing.assert_array_equal(model.labels_, other.labels_)


@pytest.mark.slow
def test_no_search_without_relax_and_from_a_given_start_alone(digits, digits_reference):
    options = {"split": "axis", "reference": digits_reference, "max_leaves": 14, "random_state": 0}
    plain = TAOClustering(10, algorithm=DirectForm(relax=False), **options).fit(digits)
    assert not {"search", "regrow"} & {record["stage"] for record in plain.history_}
    start = ExKMC(10, max_leaves=14, reference=digits_reference).fit(digits)
    assert plain.cost_increase_ <= start.cost_increase_
    one = TAOClustering(10, algorithm=DirectForm(relax=False), init="exkmc", **options).fit(digits)
    assert one.cost_increase_ <= start.cost_increase_
    first = TAOClustering(10, algorithm=DirectForm(relax=False, n_init=1), **options).fit(digits)
    assert first.tree_ == one.tree_  # of the starts, ExKMC's comes first
    assert plain.cost_increase_ <= one.cost_increase_


@pytest.mark.slow
def test_a_small_start_grows_to_what_is_allowed(digits, digits_reference):
    options = {"split": "axis", "reference": digits_reference, "random_state": 0}
    start = ExShallow(10, reference=digits_reference).fit(digits[:400])
    model = TAOClustering(10, init=start.tree_, max_leaves=13, **options).fit(digits[:400])
    assert model.tree_.n_leaves == 13
    assert model.cost_increase_ < start.cost_increase_


@pytest.mark.spaced(quick=1)
@pytest.mark.parametrize("objective", ["kmedians", "spherical", "kmedoids", "labels"])
def test_other_objectives(objective, rng):
    X = rng.normal(size=(80, 4))
    y = (X[:, 0] > 0) + 2 * (X[:, 1] > 0.3) if objective == "labels" else None
    options = {"split": "axis", "objective": objective, "random_state": 0, "max_leaves": 6}
    model = TAOClustering(4, algorithm=DirectForm(copies=0), **options).fit(X, y)
    plain = TAOClustering(4, algorithm=DirectForm(relax=False), **options).fit(X, y)
    assert model.inertia_ <= plain.inertia_ * (1 + 1e-12)
    assert model.tree_.n_leaves <= 6


@pytest.mark.slow
def test_an_embedding_is_where_costs_are_counted(digits):
    scores = PCA(4, random_state=0).fit_transform(digits[:500])
    options = {"split": "axis", "max_leaves": 9, "random_state": 0}
    model = TAOClustering(6, **options).fit(digits[:500], embedding=scores)
    plain = TAOClustering(6, algorithm=DirectForm(relax=False), **options).fit(
        digits[:500], embedding=scores
    )
    assert model.cost_increase_ < plain.cost_increase_


@pytest.mark.slow
def test_many_rows_and_columns_are_sampled(rng):
    """The search sees 5000 rows and 256 columns; the result is still better than its start."""
    X = sp.random(6000, 400, 0.02, "csr", random_state=0)
    weight = rng.integers(1, 4, 6000)
    options = {"split": "axis", "max_leaves": 6, "reference": X[:3].toarray(), "random_state": 0}
    model = TAOClustering(3, **options).fit(X, sample_weight=weight)
    plain = TAOClustering(3, algorithm=DirectForm(relax=False), **options)
    plain.fit(X, sample_weight=weight)
    assert model.inertia_ <= plain.inertia_
    assert model.tree_.n_leaves <= 6
    assert_same_fit(model, TAOClustering(3, n_jobs=2, **options).fit(X, sample_weight=weight))


@pytest.mark.parametrize("X", [np.ones((5, 2)), np.zeros((1, 3)), np.repeat([[0.0], [1]], 3, 0)])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.filterwarnings("ignore:Number of distinct", "ignore:Only 1 of 2")
def test_degenerate_data(X, k):
    if k > len(X):
        return
    model = TAOClustering(k, split="axis", max_leaves=4, random_state=0).fit(X)
    assert model.inertia_ == 0 or k == 1
    assert model.tree_.n_leaves <= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_trees_of_a_path_are_not_worse_than_single_fits(seed):
    X = np.random.default_rng(seed).normal(size=(100, 3))
    options = {"split": "axis", "random_state": seed, "reference": X[:4]}
    options["algorithm"] = DirectForm(search="fast")
    for model in tao_path(X, 4, leaves=[4, 9], **options):
        assert model.tree_.n_leaves <= model.max_leaves
