"""The demonstration: scikit-learn's digits clustered, explained and compared."""

import time

import numpy as np
from sklearn.cluster import KMeans as FreeKMeans
from sklearn.datasets import load_digits

import greedy

from ..estimator import TAOClustering
from ..inspection.cart import cart_tree
from ..inspection.comparison import Row, format_table, measure_tree
from ..problem.objectives import KMeans
from ..problem.reference import FreeClustering, free_clustering

N_CLUSTERS = 10
LAMBDAS = (0.3, 2.0, 8.0)  # the last one is drawn
PUBLISHED = {
    "algorithm": "penalty",
    "refine": False,
    "node_solver": "liblinear",
    "init": "bisecting",
    "n_init": 1,
    "trim": 0,
}
IMAGE_SHAPE = (8, 8)


def run_demo(out="tao_digits.png"):
    """Compare methods on digits, print one table and draw the sparsest oblique tree.

    Parameters
    ----------
    out : path of the picture
    """
    X = load_digits().data / 16
    _compile(X[:100])

    print(f"digits: {len(X)} images of 8x8 pixels in [0, 1], {N_CLUSTERS} clusters")
    start = time.perf_counter()
    reference = FreeKMeans(N_CLUSTERS, n_init=10, random_state=0).fit(X)
    rows = [Row("free k-means", 0.0, *(None,) * 4, time.perf_counter() - start)]
    objective = KMeans()
    free = free_clustering(
        reference, objective, X, objective.prepare(X), N_CLUSTERS, np.ones(len(X)), 0
    )
    for name, build in _axis_aligned(X, free).items():
        start = time.perf_counter()
        tree = build()
        seconds = time.perf_counter() - start
        rows.append(measure_tree(name, tree, X, objective, free, seconds))
    settings = [("TAO as published, lambda=0.3", {"lambda_": 0.3, **PUBLISHED})]
    settings += [(f"TAO oblique, lambda={value:g}", {"lambda_": value}) for value in LAMBDAS]
    for name, options in settings:
        start = time.perf_counter()
        model = TAOClustering(
            N_CLUSTERS, depth=5, reference=reference, random_state=0, **options
        ).fit(X)
        seconds = time.perf_counter() - start
        rows.append(measure_tree(name, model.tree_, X, objective, free, seconds))
    print(format_table(rows))

    title = (
        f"digits, lambda={model.lambda_:g}: cost {model.cost_increase_:.2f} % above k-means with "
        f"{model.tree_.n_leaves} leaves and {model.tree_.n_nonzero} weights"
    )
    model.plot(X=X, image_shape=IMAGE_SHAPE, title=title).figure.savefig(out)
    print(f"\nThe last tree is drawn in {out}")


def _axis_aligned(X, free):
    """Name to the function without arguments that builds a tree with tests of one feature."""
    k, centers = len(free.centers), free.centers
    return {
        f"CART, {k} leaves": lambda: cart_tree(X, free.labels, k),
        f"CART, {4 * k} leaves": lambda: cart_tree(X, free.labels, 4 * k),
        "IMM": lambda: greedy.build_imm(X, centers),
        "ExGreedy": lambda: greedy.build_exgreedy(X, centers),
        "ExShallow": lambda: greedy.build_exshallow(X, centers),
        f"ExKMC, {4 * k} leaves": lambda: greedy.build_exkmc(X, centers, max_leaves=4 * k),
    }


def _compile(X):
    """Run everything once on a few rows, so that seconds are those of the methods."""
    model = TAOClustering(2, depth=1, random_state=0).fit(X)
    free = FreeClustering(model.free_labels_, model.free_centers_, model.free_inertia_)
    for build in _axis_aligned(X, free).values():
        build()
