"""Spherical k-means of documents explained by words: oblique trees beside CART (table 3).

    python -m benchmarks.text --lambdas 0.02 0.05 0.1 0.2 --show 0.1

--show prints one tree with the words of most weight at each node.
"""

import argparse
import resource

from benchmarks.datasets import load_text
from tao_cluster import compare
from tao_cluster.problem.objectives import SphericalKMeans


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
    print(f"{options.name} {X.shape}, {X.nnz} non-zeros, k={k}, depth={options.depth}")
    found = compare(
        X,
        k,
        ["cart", "tao"],
        budgets=options.cart,
        objective=SphericalKMeans(n_init=options.n_init),
        depth=options.depth,
        lambdas=options.lambdas,
    )
    print(found)
    for model in found.models.values():
        if getattr(model, "lambda_", None) == options.show is not None:
            print(model.tree_.to_text(vocabulary, precision=2, max_terms=options.words))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
