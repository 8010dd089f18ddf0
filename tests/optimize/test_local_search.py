"""The search over structures of axis-aligned trees: what it reaches, and what it never breaks."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import assert_same_fit
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from greedy import ExGreedy, ExKMC, ExShallow
from tao_cluster import DirectForm, TAOClustering

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


SIZES = [(0, np.asarray, 1), (1, sp.csr_matrix, 8), (2, np.asarray, 0.06), (3, sp.csr_matrix, 1)]


@pytest.mark.spaced(quick=0, slow=3)
@pytest.mark.parametrize(("seed", "form", "min_samples_leaf"), SIZES)
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
