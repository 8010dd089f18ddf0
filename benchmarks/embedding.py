"""Clusters of an embedding explained by raw columns: PCA scores of images, explained by pixels.

    python -m benchmarks.embedding mnist --components 10 --lambdas 100 300 1000 3000

The cost is that of the scores, and all trees test pixels. The trees of TAO are those of one path,
and have the seconds of the whole path.
"""

from sklearn.decomposition import PCA

from benchmarks.datasets import DATASETS, load
from benchmarks.shared import parser
from tao_cluster import compare


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("name", choices=DATASETS)
    arguments.add_argument("--components", type=int, default=10)
    arguments.add_argument("--depth", type=int, default=5)
    arguments.add_argument("--lambdas", type=float, nargs="+", help="default: chosen from the data")
    options = arguments.parse_args()
    X, k, _ = load(options.name)
    scores = PCA(options.components, random_state=0).fit_transform(X)
    terms = {"embedding": scores, "depth": options.depth, "lambdas": options.lambdas}
    print(compare(X, k, ["cart", "exkmc", "tao"], budgets=[k, 8 * k], **terms))


if __name__ == "__main__":
    main()
