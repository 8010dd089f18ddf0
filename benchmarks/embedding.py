"""Clusters of an embedding explained by raw columns: PCA scores of images, explained by pixels.

    python -m benchmarks.embedding mnist --components 10 --lambdas 100 300 1000 3000

Cost is measured among the scores; every tree tests the pixels.
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans as FreeKMeans
from sklearn.decomposition import PCA

from benchmarks.datasets import DATASETS, load
from greedy import ExKMC
from tao_cluster import tao_path
from tao_cluster.inspection.cart import cart_tree
from tao_cluster.inspection.comparison import Row, format_table, measure_tree
from tao_cluster.problem.objectives import KMeans
from tao_cluster.problem.reference import free_clustering


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATASETS)
    parser.add_argument("--components", type=int, default=10)
    parser.add_argument("--depth", type=int, default=5)
    parser.add_argument("--lambdas", type=float, nargs="+", help="default: chosen from the data")
    options = parser.parse_args()

    X, k, _ = load(options.name)
    scores = PCA(options.components, random_state=0).fit_transform(X)
    start = time.perf_counter()
    reference = FreeKMeans(k, n_init=10, random_state=0).fit(scores)
    rows = [Row("k-means of the scores", 0.0, *(None,) * 4, time.perf_counter() - start)]
    objective = KMeans()
    data = objective.prepare(scores)
    free = free_clustering(reference, objective, scores, data, k, np.ones(len(X)), 0)

    def add(name, tree, seconds):
        rows.append(measure_tree(name, tree, X, objective, free, seconds, embedding=scores))

    for n_leaves in (k, 8 * k):
        start = time.perf_counter()
        tree = cart_tree(X, free.labels, n_leaves)
        add(f"CART, {n_leaves} leaves", tree, time.perf_counter() - start)
        start = time.perf_counter()
        model = ExKMC(k, max_leaves=n_leaves, reference=reference).fit(X, embedding=scores)
        add(f"ExKMC, {n_leaves} leaves", model.tree_, time.perf_counter() - start)
    start = time.perf_counter()
    models = tao_path(
        X,
        k,
        options.lambdas,
        options.depth,
        embedding=scores,
        reference=reference,
        random_state=0,
    )
    seconds = (time.perf_counter() - start) / len(models)  # a path's share
    for model in models:
        add(f"TAO, lambda={model.lambda_:.4g}", model.tree_, seconds)
    print(f"{options.name} {X.shape} explains {scores.shape} of its PCA, k={k}")
    print(format_table(rows))


if __name__ == "__main__":
    main()
