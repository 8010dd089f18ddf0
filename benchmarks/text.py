"""Spherical k-means of documents explained by words: oblique trees beside CART (table 3).

    python -m benchmarks.text --lambdas 0.02 0.05 0.1 0.2 --show 0.1

--show prints one tree with the words of most weight at each node.
"""

import argparse
import resource
import time

import numpy as np

from benchmarks.datasets import load_text
from tao_cluster import tao_path
from tao_cluster.inspection.cart import cart_tree
from tao_cluster.inspection.comparison import Row, format_table, measure_tree
from tao_cluster.problem.objectives import SphericalKMeans
from tao_cluster.problem.reference import free_clustering


def main():
    """Print the table and, if asked for, a tree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", default="newsgroups_a1")
    parser.add_argument("--n-clusters", type=int, default=20)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--lambdas", type=float, nargs="+", default=[0.02, 0.05, 0.1, 0.2])
    parser.add_argument("--cart", type=int, nargs="+", default=[20, 64, 256], metavar="LEAVES")
    parser.add_argument("--n-init", type=int, default=10, help="of the free clustering")
    parser.add_argument("--show", type=float, metavar="LAMBDA")
    parser.add_argument("--words", type=int, default=8, help="a node, in the tree that is shown")
    options = parser.parse_args()

    X, vocabulary = load_text(options.name)
    k = options.n_clusters
    objective = SphericalKMeans(n_init=options.n_init)
    start = time.perf_counter()
    data = objective.prepare(X)
    free = free_clustering(None, objective, X, data, k, np.ones(X.shape[0]), 0)
    rows = [Row("spherical k-means", 0.0, *(None,) * 4, time.perf_counter() - start)]
    for n_leaves in options.cart:
        start = time.perf_counter()
        tree = cart_tree(X, free.labels, n_leaves)
        seconds = time.perf_counter() - start
        rows.append(measure_tree(f"CART, {n_leaves} leaves", tree, X, objective, free, seconds))
    start = time.perf_counter()
    models = tao_path(
        X,
        k,
        options.lambdas,
        options.depth,
        objective=objective,
        reference=free.centers,
        random_state=0,
    )
    seconds = (time.perf_counter() - start) / len(models)  # a path's share
    for model in models:
        name = f"TAO, lambda={model.lambda_:g}"
        rows.append(measure_tree(name, model.tree_, X, objective, free, seconds))
    print(f"{options.name} {X.shape}, {X.nnz} non-zeros, k={k}, depth={options.depth}")
    print(format_table(rows))
    for model in models:
        if model.lambda_ == options.show:
            print(model.tree_.to_text(vocabulary, precision=2, max_terms=options.words))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
