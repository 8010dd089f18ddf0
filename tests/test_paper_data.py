"""The data sets of the KDD 2022 paper, whole: minutes each (pytest -m slow)."""

import time

import pytest
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.datasets import DATA_DIR, load
from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.free import Workshop
from benchmarks.evidence.runs import Results, execute
from benchmarks.evidence.tables.plan import Plan
from benchmarks.shared import free_clustering
from tao_cluster import DirectForm, TAOClustering, compare, tao_path

pytestmark = pytest.mark.sweep


def measured(folder, table, name, *methods):
    """Rows of a table of the evidence: those of a data set and some methods, one seed."""
    if not (DATA_DIR / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in {DATA_DIR}")
    runs = [r for r in TABLES[table](Plan(1)) if r.data == name and r.method in methods]
    execute(runs, folder, Workshop(DATA_DIR, folder / "cache"))
    return Results(folder / f"{table}.csv").frame()


def paper_data(name):
    """Rows of a data set, its number of clusters, k-means and the seconds of the latter."""
    if not (DATA_DIR / f"{name}.npz").is_file():
        pytest.skip(f"{name}.npz is not in {DATA_DIR}")
    X, k, _ = load(name)
    start = time.perf_counter()
    with threadpool_limits(2):
        reference = free_clustering(X, k)
    return X, k, reference, time.perf_counter() - start


def run_published(name, depth, lambda_, seed):
    """Cost and parameters of the published algorithm."""
    X, k, reference, _ = paper_data(name)
    options = {"depth": depth, "lambda_": lambda_, "random_state": seed}
    model = TAOClustering(k, algorithm="published", reference=reference, **options).fit(X)
    return model.cost_increase_, model.tree_.n_parameters


def run_path(name, **options):
    """(cost, parameters) of each tree of a path; its time in multiples of that of k-means."""
    X, k, reference, seconds = paper_data(name)
    tao_path(X[:: len(X) // 200], 2, [1.0], depth=2, random_state=0)  # compiles
    start = time.perf_counter()
    models = tao_path(X, k, reference=reference, n_jobs=2, random_state=0, **options)
    multiple = (time.perf_counter() - start) / seconds
    return [(model.cost_increase_, model.tree_.n_parameters) for model in models], multiple


def on_front(trees, cost, parameters):
    return any(c <= cost and p <= parameters for c, p in trees)


def test_path_of_mnist():
    """Half of the parameters of the KDD'22 table at each of its costs, and more."""
    lambdas = (30, 70, 150, 300, 600, 1200, 2400, 5000)
    trees, multiple = run_path("mnist", depth=5, lambdas=lambdas)
    for cost, parameters in ((7.9, 99), (1.7, 320), (1.5, 376), (1.2, 560), (0.94, 686)):
        assert on_front(trees, cost, parameters)
    assert multiple <= 2


def test_path_of_fashion_mnist():
    trees, _ = run_path("fashion_mnist", depth=5)
    for cost, parameters in ((5.22, 226), (1.74, 412), (1.7, 500)):
        assert on_front(trees, cost, parameters)


def test_path_of_letter():
    trees, _ = run_path("letter", depth=7, algorithm=DirectForm(n_init=10))
    for cost, parameters in ((9.94, 261), (3.9, 420)):
        assert on_front(trees, cost, parameters)


def test_letter():
    """A plain implementation of the paper: 5.59 % with 444 weights; the paper: 4.06 % with 516.

    Seeds differ much, see docs/results: one of two is to be good.
    """
    assert on_front([run_published("letter", 6, 0.3, seed) for seed in (0, 1)], 6.5, 600)


@pytest.mark.parametrize(
    ("lambda_", "depth", "cost"), [(0.1, 5, 8.5), (1.0, 6, 2.9), (5.0, 6, 4.5)]
)
def test_mean_of_letter_over_seeds(lambda_, depth, cost):
    trees = [run_published("letter", depth, lambda_, seed) for seed in range(5)]
    assert sum(tree[0] for tree in trees) / len(trees) <= cost


def test_mnist():
    """The paper, from other lambdas: 1.50 % with 753 parameters, 0.94 % with 1372."""
    assert on_front([run_published("mnist", 4, 10, 0)], 1.5, 1372)


def test_text(tmp_path):
    """Spherical k-means of newsgroups: a few words a node beat CART with 1024 leaves."""
    found = measured(tmp_path, "kdd22-table3", "newsgroups_a1", "CART", "TAO, path")
    cart = found[found["method"] == "CART"].set_index("leaves")["cost"]
    trees = found[found["method"] == "TAO, path"]
    assert cart[1024] < cart[256] < cart[64] < cart[20]
    assert (trees[trees["features"] < 15]["cost"] < cart[1024]).any()


def test_pixels_explain_principal_components():
    X, k, _, _ = paper_data("mnist")
    scores = PCA(10, random_state=0).fit_transform(X)
    terms = {"embedding": scores, "depth": 5, "lambdas": [300]}
    cost = compare(X, k, ["exkmc", "tao"], budgets=[8 * k], **terms).table["cost_increase"]
    assert cost["TAO oblique, lambda=300"] < 5 < cost["ExKMC, 80 leaves"]


@pytest.mark.parametrize("name", ["fifa19", "adult", "letter"])
def test_axis_aligned(name, tmp_path):
    """Never worse than ExKMC; at least a tenth of its excess is gone where there is some."""
    found = measured(tmp_path, "kdd22-table1", name, "ExKMC", "TAO")
    exkmc, tao = (found[found["method"] == method] for method in ("ExKMC", "TAO"))
    assert len(exkmc) == len(tao) == 3
    saved = []
    for before, after in zip(exkmc.itertuples(), tao.itertuples(), strict=True):
        assert after.cost <= before.cost
        assert after.leaves <= before.leaves
        saved.append(1 - after.cost / before.cost)
    assert sum(share >= 0.1 for share in saved) >= 2
