"""Axis-aligned TAO: exact nodes, descent that is never worse than its start, regrowth."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree, solve
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from greedy import IMM, ExKMC
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.solvers import Axis, is_axis_aligned, upright
from tao_cluster.tree import Split

# Some trees here are so small, or tests so dear, that clusters are lost.
pytestmark = pytest.mark.filterwarnings("ignore:The tree has lost")


@pytest.fixture(scope="module")
def digits(digits):
    return digits[:600]


@pytest.fixture(scope="module")
def digits_reference(digits):
    return KMeans(10, n_init=10, random_state=0).fit(digits)


def loss_of(split, X, goes_right, weight):
    goes_left = (X[:, split.indices] @ split.weights) <= split.threshold
    return weight[goes_left == goes_right].sum()


def best_loss(X, goes_right, weight, strength):
    """Least loss plus strength over all tests, by trying them."""
    losses = [weight[goes_right].sum(), weight[~goes_right].sum()]
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            goes_left = column <= threshold
            wrong = weight[goes_left == goes_right].sum()
            losses += [strength + wrong, strength + weight.sum() - wrong]
    return min(losses)


@pytest.mark.parametrize(
    "form", [np.asarray, sp.csr_matrix, pytest.param(np.float32, marks=pytest.mark.slow)]
)
@settings(deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 40),
    d=st.integers(1, 4),
    strength=st.sampled_from([0.0, 0.5, 3.0]),
    ties=st.booleans(),
)
def test_node_is_solved_exactly(form, seed, n, d, strength, ties):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, d)).astype(float) if ties else rng.normal(size=(n, d))
    X = X.astype(np.float32).astype(float)
    rows = np.sort(rng.choice(n, rng.integers(2, n + 1), replace=False))
    goes_right = rng.random(len(rows)) < 0.5
    goes_right[:2] = [True, False]
    weight = rng.integers(1, 5, len(rows)) * (1.0 if ties else rng.random(len(rows)))
    split = solve(Axis().bind(form(X)), rows, goes_right, weight, strength)
    found = loss_of(split, X[rows], goes_right, weight) + strength * len(split.indices)
    assert found == pytest.approx(best_loss(X[rows], goes_right, weight, strength), abs=1e-9)


def test_ties_go_to_the_lowest_feature_and_threshold():
    X = np.array([[5.0, 0.0, 0.0], [5.0, 0.0, 0.0], [5.0, 1.0, 1.0], [5.0, 2.0, 2.0]])
    goes_right = np.array([False, False, True, True])
    split = solve(Axis().bind(X), np.arange(4), goes_right, np.ones(4), 0.5)
    assert split.same_as(Split(np.array([1], np.int32), np.ones(1), 0.0))
    turned = solve(Axis().bind(X), np.arange(4), ~goes_right, np.ones(4), 0.5)
    assert turned.weights[0] == -1
    assert loss_of(turned, X, ~goes_right, np.ones(4)) == 0
    only = solve(Axis().bind(X), np.arange(4), goes_right, np.ones(4), 0.5, features=np.array([2]))
    assert only.indices.tolist() == [2]


def test_upright_keeps_every_path(rng):
    tree = random_tree(rng, n_nodes=31)
    first = {i: (tree.split(i)[0][:1], np.sign(tree.split(i)[1][:1])) for i in tree.decision_nodes}
    tree = tree.with_splits({i: (split, tree.threshold[i]) for i, split in first.items()})
    assert is_axis_aligned(tree)
    assert np.any(tree.split_weights < 0)
    turned = upright(tree)
    assert np.all(turned.split_weights == 1)
    X = rng.integers(-3, 4, (4000, tree.n_features)).astype(float)  # many on the thresholds
    for data in (X, X.astype(np.float32), rng.normal(size=X.shape)):
        np.testing.assert_array_equal(turned.apply(data), tree.apply(data))


@pytest.mark.slow
@pytest.mark.parametrize("lambda_", [0.0, 10.0])
@pytest.mark.parametrize("algorithm", [DirectForm(copies=0), PenaltyMethod(refine=False)], ids=str)
def test_never_worse_than_its_start(lambda_, algorithm):
    """Without noisy copies, the cost plus lambda per test never rises, and leaves do not either."""
    X, k = StandardScaler().fit_transform(load_wine().data), 3
    for times in (1, 2, 4):
        start = ExKMC(k, max_leaves=times * k, random_state=0).fit(X)
        model = TAOClustering(
            k,
            split="axis",
            init=start.tree_,
            lambda_=lambda_,
            algorithm=algorithm,
            reference=start.free_centers_,
        ).fit(X)
        assert model.tree_.n_leaves <= start.tree_.n_leaves
        before = start.inertia_ + lambda_ * len(start.tree_.decision_nodes)
        after = model.inertia_ + lambda_ * len(model.tree_.decision_nodes)
        assert after <= before * (1 + 1e-12)


@pytest.mark.slow
def test_lambda_is_the_price_of_a_test(digits, digits_reference):
    options = {"split": "axis", "init": ExKMC(max_leaves=40), "reference": digits_reference}
    models = [
        TAOClustering(10, lambda_=lambda_, **options).fit(digits) for lambda_ in (0, 100, 1e3)
    ]
    assert np.all(np.diff([m.tree_.n_leaves for m in models]) < 0)
    assert np.all(np.diff([m.inertia_ for m in models]) > 0)
    one = TAOClustering(10, lambda_=1e9, **options).fit(digits)
    assert one.tree_.n_leaves == 1


@pytest.mark.slow
def test_default_starts_are_exkmc_exshallow_and_cart(digits, digits_reference):
    def default(n_init=4, **parameters):
        algorithm = DirectForm(n_init=n_init, relax=False)
        return TAOClustering(
            10,
            split="axis",
            lambda_=0,
            reference=digits_reference,
            algorithm=algorithm,
            **parameters,
        )

    few = digits[:500]
    tree = ExKMC(max_leaves=32).build(few, None, digits_reference.cluster_centers_, None)
    only = default(init=tree).fit(few)
    assert default(n_init=1).fit(few).tree_ == only.tree_
    model = default().fit(few)
    assert model.cost_increase_ <= only.cost_increase_
    most = default(n_init=20).fit(few)  # there are no more
    assert most.tree_ == model.tree_
    assert most.n_iter_ == model.n_iter_
    assert default(init=IMM()).fit(few).tree_.n_leaves <= 10


@pytest.mark.slow
def test_start_is_measured_where_the_rows_are_clustered(digits):
    """With an embedding or another objective, ExKMC counts what rows cost there."""
    from sklearn.decomposition import PCA

    scores = PCA(5, random_state=0).fit_transform(digits)
    start = ExKMC(8, max_leaves=16, random_state=0).fit(digits, embedding=scores)
    options = {"reference": start.free_centers_, "split": "axis", "init": ExKMC(max_leaves=16)}
    still = {"algorithm": PenaltyMethod(n_mu_steps=0, refine=False), "lambda_": 10}
    model = TAOClustering(8, **options, **still).fit(digits, embedding=scores)
    assert model.inertia_ == pytest.approx(start.inertia_, rel=1e-6)
    better = TAOClustering(8, **options).fit(digits, embedding=scores)
    assert better.cost_increase_ < 0.9 * start.cost_increase_
    by_words = TAOClustering(8, objective="kmedians", split="axis", random_state=0).fit(digits)
    assert by_words.cost_increase_ < 10


@pytest.mark.slow
def test_noisy_copies_lower_the_cost_on_new_rows():
    X, costs = load_breast_cancer().data, {0: [], 3: []}
    for seed in range(4):
        order = np.random.RandomState(seed).permutation(len(X))
        for n_copies, found in costs.items():
            options = {"algorithm": DirectForm(copies=n_copies), "random_state": 0}
            model = TAOClustering(2, split="axis", max_leaves=4, **options).fit(X[order[:284]])
            found.append(model.cost_increase(X[order[284:]]))
    assert np.mean(costs[3]) < 0.5 * np.mean(costs[0])


def test_equal_centres_do_not_keep_it_busy(blobs):
    """Clusters without rows have centres where others do: labels could change for ever."""
    with pytest.warns(ConvergenceWarning, match="Only 3 of 5"):
        model = TAOClustering(5, split="axis", random_state=0).fit(np.repeat(blobs[:3], 10, axis=0))
    assert model.inertia_ == pytest.approx(0, abs=1e-20)
    assert model.n_iter_ < 100


@pytest.mark.slow
def test_the_best_first_tree_can_test_any_of_many_columns():
    """Products of pixels; the ones that differ least between clusters are last."""
    rng, images = np.random.default_rng(4), load_digits().data
    rows = images[rng.permutation(np.arange(5400) % len(images))]
    rows = np.clip(rows + rng.integers(-1, 2, size=rows.shape), 0, 16)
    rows = rows[:, np.argsort(-images.std(axis=0))[:28]]
    first, second = np.triu_indices(28)
    X = np.sqrt(rows[:, first] * rows[:, second]).astype(np.float32)
    free = KMeans(10, n_init=1, random_state=0).fit(X)
    between = np.bincount(free.labels_) @ (free.cluster_centers_ - X.mean(axis=0)) ** 2
    X = X[:, np.argsort(-between / X.var(axis=0), kind="stable")]
    shared = {"reference": KMeans(10, n_init=1, random_state=0).fit(X), "random_state": 0}
    model = TAOClustering(10, split="axis", max_leaves=30, **shared).fit(X)
    assert model.cost_increase_ <= ExKMC(10, max_leaves=30, **shared).fit(X).cost_increase_
