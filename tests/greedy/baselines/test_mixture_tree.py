"""Trees of Gaussian mixtures against integration and plain searches; the estimator."""

import time
import warnings
from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity

from greedy import MixtureTree


def random_mixture(rng, k=5, d=3):
    """Weights, means with ties, spreads of very different sizes."""
    weights = rng.dirichlet(np.ones(k))
    means = rng.integers(0, 6, (k, d)).astype(float)
    return weights, means, np.exp(rng.normal(-0.5, 1.0, (k, d)))


def value(threshold, weights, mean, spread, is_ratio):
    """What a cut loses, from the definition; the ratio's is minus it."""
    left = mean <= threshold
    if is_ratio:
        return -np.min(np.abs(mean - threshold) / spread)
    wrong = np.where(left, norm.sf(threshold, mean, spread), norm.cdf(threshold, mean, spread))
    return weights @ wrong


def plain_search(weights, means, spreads, is_ratio, n=2_000):
    """Least value over many thresholds between the means."""
    best = np.inf
    for mean, spread in zip(means.T, spreads.T, strict=True):
        inside = np.linspace(mean.min(), mean.max(), n, endpoint=False)
        found = [value(t, weights, mean, spread, is_ratio) for t in inside]
        best = min(best, *found)
    return best


def mixture_of(weights, means, covariances, covariance_type="diag"):
    """A fitted mixture with given parameters."""
    weights, means = np.asarray(weights, float), np.asarray(means, float)
    mixture = GaussianMixture(len(weights), covariance_type=covariance_type)
    mixture.weights_, mixture.means_ = weights / weights.sum(), means
    mixture.covariances_ = np.asarray(covariances, float)
    full = covariance_type in {"full", "tied"}
    inverse = np.linalg.inv(mixture.covariances_) if full else 1 / mixture.covariances_
    mixture.precisions_cholesky_ = np.linalg.cholesky(inverse) if full else np.sqrt(inverse)
    return mixture


def model_of(mixture, criterion="error"):
    """The estimator for a mixture, fitted to the means of the components."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # components may share their mean
        model = MixtureTree(len(mixture.means_), mixture=mixture, criterion=criterion)
        return model.fit(mixture.means_)


def tree_of(weights, means, variances, criterion="error"):
    """Tree of a mixture with the same variance in all directions of a component."""
    return model_of(mixture_of(weights, means, variances, "spherical"), criterion).tree_


@pytest.mark.slow
@pytest.mark.parametrize("is_ratio", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_cut_is_the_best_of_all_thresholds(seed, is_ratio):
    weights, means, spreads = random_mixture(np.random.default_rng(seed))
    model = model_of(mixture_of(weights, means, spreads**2), "ratio" if is_ratio else "error")
    (feature,), threshold = model.tree_.split(0)[0], model.tree_.threshold[0]
    mean, spread = means[:, feature], spreads[:, feature]
    assert mean.min() <= threshold < mean.max()
    found = value(threshold, weights, mean, spread, is_ratio)
    assert found <= plain_search(weights, means, spreads, is_ratio) + 1e-9
    if len(np.unique(means, axis=0)) == len(means):  # the bound is the sum of all errors
        assert model.error_bound_ == pytest.approx(min(1.0, total_error(model, weights, spreads)))


def total_error(model, weights, spreads):
    """Sum of the masses beyond the cuts of a tree, from the definition."""
    tree, means, total = model.tree_, model.mixture_.means_, 0.0
    reached = tree.decision_path(means).toarray().astype(bool)
    for node in tree.decision_nodes:
        (feature,), some = tree.split(node)[0], reached[:, node]
        terms = (weights[some], means[some, feature], spreads[some, feature])
        total += value(tree.threshold[node], *terms, False)
    return total


def test_the_bound_holds_for_draws(rng):
    weights, means, _ = random_mixture(rng, k=4)
    spreads = rng.uniform(0.2, 0.8, means.shape)
    model = model_of(mixture_of(weights, means, spreads**2))
    tree, bound = model.tree_, model.error_bound_
    component = rng.choice(4, 100_000, p=weights)
    rows = rng.normal(means[component], spreads[component])
    assert len(np.unique(tree.leaf_label[tree.leaves])) == tree.n_leaves
    wrong = np.mean(tree.predict(rows) != component)
    assert wrong <= bound + 0.005
    assert bound <= 3 * wrong + 0.005


@pytest.mark.parametrize("kind", ["full", "tied", "spherical"])
def test_covariance_types(kind, rng):
    """Only the variances of the columns count, whatever the type."""
    weights, means, spreads = random_mixture(rng)
    variances = spreads**2
    if kind == "tied":
        variances = np.tile(variances[0], (5, 1))
    if kind == "spherical":
        variances = np.tile(variances[:, :1], (1, 3))
    off_diagonal = 0.1 * variances.min() * (1 - np.eye(3))
    covariances = {
        "full": np.array([np.diag(v) for v in variances]) + off_diagonal,
        "tied": np.diag(variances[0]) + off_diagonal,
        "spherical": variances[:, 0],
    }[kind]
    expected = model_of(mixture_of(weights, means, variances)).tree_
    found = model_of(mixture_of(weights, means, covariances, kind)).tree_
    np.testing.assert_array_equal(found.split_indices, expected.split_indices)
    np.testing.assert_allclose(found.threshold, expected.threshold)


def test_two_components_meet_where_their_densities_do():
    tree = tree_of([0.3, 0.7], [[0.0], [5.0]], [1.0, 4.0])
    t = tree.threshold[0]
    assert 0.3 * norm.pdf(t, 0, 1) == pytest.approx(0.7 * norm.pdf(t, 5, 2), rel=1e-4)
    ratio = tree_of([0.3, 0.7], [[0.0], [5.0]], [1.0, 4.0], "ratio")
    assert ratio.threshold[0] == pytest.approx(5 / 3)  # as many deviations from either


def test_degenerate_mixtures():
    same = tree_of([0.2, 0.5, 0.3], np.zeros((3, 2)), np.ones(3))
    assert (same.n_leaves, same.leaf_label[0]) == (1, 1)
    points = tree_of(np.ones(3) / 3, [[0.0], [1.0], [3.0]], np.full(3, 1e-200))
    assert points.predict(np.array([[0.0], [1.0], [3.0]])).tolist() == [0, 1, 2]
    assert points.threshold[points.decision_nodes].tolist() == [0.5, 2.0]
    near = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    tree = tree_of([0.5, 0.5], near, np.ones(2))
    assert tree.predict(near).tolist() == [0, 1]
    one = tree_of([1.0], [[2.0]], [1.0])
    assert one.n_leaves == 1


def test_ties_go_to_the_lowest_feature():
    means = np.array([[0.0, 0.0, 9.0], [4.0, 4.0, 9.0]])
    assert tree_of(np.ones(2), means, np.ones(2)).used_features.tolist() == [0]
    means[:, 0] = 9.0
    assert tree_of(np.ones(2), means, np.ones(2), "ratio").used_features.tolist() == [1]


def test_rows_do_not_matter(rng):
    """The tree of a fitted mixture is that of its parameters, whatever rows come with it."""
    X = load_wine().data
    mixture = GaussianMixture(3, covariance_type="diag", random_state=0).fit(X)
    tree = MixtureTree(3, mixture=mixture).fit(X[::3]).tree_
    for rows in (X, X[::9], np.tile(X, (50, 1)) + rng.normal(size=(50 * len(X), 13))):
        model = MixtureTree(3, mixture=mixture).fit(rows)
        assert model.tree_ == tree
        assert model.mixture_ is mixture
        agrees = np.mean(model.labels_ == mixture.predict(rows))
        assert model.agreement_ == pytest.approx(agrees)
        np.testing.assert_array_equal(model.free_centers_, mixture.means_)


@pytest.mark.slow
def test_many_components_take_little_time(rng):
    means = rng.normal(size=(100, 64))
    spreads = rng.uniform(0.3, 1, means.shape)
    model_of(mixture_of(np.ones(2), means[:2], spreads[:2]))  # compiles
    start = time.process_time()
    tree = model_of(mixture_of(np.ones(100), means, spreads**2)).tree_
    assert tree.n_leaves == 100
    assert time.process_time() - start < 10


@pytest.mark.slow
def test_fitted_here(rng):
    X = load_iris().data
    model = MixtureTree(3, random_state=0).fit(X)
    mixture = GaussianMixture(3, random_state=0).fit(X)
    unfitted = MixtureTree(3, mixture=GaussianMixture(3), random_state=0).fit(X)
    assert unfitted.tree_ == model.tree_
    assert model.agreement_ > 0.9
    assert model.error_bound_ < 0.1
    assert model.n_iter_ == 2
    ours = np.mean(model.mixture_.predict(X) == mixture.predict(X))
    assert ours > 0.9  # equal rows are merged, so that its start may differ
    for covariance_type in ("tied", "diag", "spherical"):
        other = MixtureTree(3, covariance_type=covariance_type, random_state=0).fit(X)
        assert other.mixture_.covariance_type == covariance_type
        assert other.tree_.n_leaves == 3
    bayesian = MixtureTree(4, mixture=BayesianGaussianMixture(n_components=4), random_state=0).fit(
        X
    )
    assert bayesian.agreement_ > 0.7
    weight = rng.integers(0, 3, len(X))
    weighted = MixtureTree(3, random_state=0).fit(X, sample_weight=weight)
    repeated = MixtureTree(3, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert weighted.tree_ == repeated.tree_
    for n_jobs in (2, -1):
        assert MixtureTree(3, n_jobs=n_jobs, random_state=0).fit(X).tree_ == model.tree_
    assert MixtureTree(3, random_state=0).fit(X.astype(np.float32)).agreement_ > 0.9


def test_an_embedding_and_sparse_rows(blobs):
    X = np.abs(blobs)
    X[X < 3] = 0
    space = TruncatedSVD(2, random_state=0).fit_transform(X)
    dense = MixtureTree(4, random_state=0).fit(X, embedding=space)
    sparse = MixtureTree(4, random_state=0).fit(sp.csr_matrix(X), embedding=space)
    assert sparse.tree_.n_leaves == dense.tree_.n_leaves == 4
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)
    assert dense.agreement_ > 0.95
    with pytest.raises(ValueError, match="sparse X"):
        MixtureTree(4).fit(sp.csr_matrix(X))


def test_small_data():
    assert MixtureTree(1).fit([[1.0, 2.0]]).tree_.n_leaves == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert MixtureTree(3, random_state=0).fit([[1.0, 2.0]] * 5).labels_.max() == 0
    with pytest.raises(ValueError, match="mixture"):
        MixtureTree(1, mixture=KernelDensity()).fit([[1.0], [2.0]])
    X = load_iris().data
    mixture = GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="'diag' applies only if mixture is None"):
        MixtureTree(2, covariance_type="diag", mixture=mixture).fit(X)
    with pytest.raises(ValueError, match="n_clusters=3 components with 4 features"):
        MixtureTree(3, mixture=mixture).fit(X)
    with pytest.raises(ValueError, match="components with 3 features"):
        MixtureTree(2, mixture=mixture, reference=X[[0, 99], :3]).fit(X[:, :3])


def test_a_reference_is_the_free_clustering_of_the_costs():
    X = load_wine().data
    free = KMeans(3, n_init=10, random_state=0).fit(X)
    order = np.array([2, 0, 1])
    own = MixtureTree(3, random_state=0).fit(X)
    assert own.component_labels_.tolist() == [0, 1, 2]
    for reference in (free, free.cluster_centers_, KMeans(3, n_init=10, random_state=0)):
        model = MixtureTree(3, reference=reference, random_state=0).fit(X)
        np.testing.assert_allclose(model.free_inertia_, free.inertia_)
        assert model.inertia_ == pytest.approx(own.inertia_)
        increase = 100 * (model.inertia_ / free.inertia_ - 1)
        assert model.cost_increase_ == pytest.approx(increase)
        assert (model.agreement_, model.error_bound_) == (own.agreement_, own.error_bound_)
        np.testing.assert_array_equal(model.labels_, model.component_labels_[own.labels_])
    centers = free.cluster_centers_
    first, other = (
        MixtureTree(3, reference=some, random_state=0).fit(X) for some in (centers, centers[order])
    )
    np.testing.assert_array_equal(order[other.labels_], first.labels_)
    agree = [
        np.mean(np.array(p)[own.labels_] == first.free_labels_) for p in permutations(range(3))
    ]
    assert np.mean(first.labels_ == first.free_labels_) == max(agree)
    low = X[:, :2]
    model = MixtureTree(3, reference=centers[:, :2], random_state=0).fit(X, embedding=low)
    np.testing.assert_array_equal(model.free_centers_, centers[:, :2])
