"""Clusters of an embedding explained by raw columns: PCA scores of images, explained by pixels.

    python -m benchmarks.embedding mnist --components 10 --lambdas 100 300 1000 3000

The cost is that of the scores, and all trees test pixels. The trees of TAO are those of one path,
and have the seconds of the whole path.
"""

import argparse

from sklearn.decomposition import PCA

from benchmarks.datasets import DATASETS, load
from tao_cluster import compare


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
    found = compare(
        X,
        k,
        ["cart", "exkmc", "tao"],
        budgets=[k, 8 * k],
        embedding=scores,
        depth=options.depth,
        lambdas=options.lambdas,
    )
    print(found)


if __name__ == "__main__":
    main()
