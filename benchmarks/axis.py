"""Axis-aligned trees of equal size: the setting of table 1 of the KDD'22 paper.

    python -m benchmarks.axis fifa19 adult letter

For k, 2k and 4k leaves: CART fitted to the labels of KMeans(k, n_init=10, random_state=0), ExKMC,
axis-aligned TAO from it as the paper describes (penalty method; lambda = 0, since any price prunes
most tests while mu is small), and with its defaults here.
"saved" is the part of ExKMC's excess over the free clustering that is gone.
"""

import argparse
import time

from sklearn.cluster import KMeans as FreeKMeans

from benchmarks.datasets import DATASETS, load
from greedy import ExKMC
from tao_cluster import TAOClustering
from tao_cluster.inspection.cart import cart_tree
from tao_cluster.inspection.comparison import measure_tree
from tao_cluster.problem.objectives import KMeans
from tao_cluster.problem.reference import FreeClustering

PUBLISHED = {"algorithm": "penalty", "refine": False, "lambda_": 0.0}


def rows(X, k, n_leaves, reference, lambda_):
    """Yield (method, cost increase, tree, seconds) for trees of at most so many leaves."""
    start = time.perf_counter()
    tree = cart_tree(X, reference.labels_, n_leaves)
    seconds = time.perf_counter() - start
    free = FreeClustering(reference.labels_, reference.cluster_centers_, reference.inertia_)
    cart = measure_tree("CART", tree, X, KMeans(), free, seconds)
    yield cart.method, cart.cost_increase, tree, seconds
    base = ExKMC(max_leaves=n_leaves)
    tao = {"split": "axis", "init": base, "lambda_": lambda_}
    for name, model in (
        ("ExKMC", ExKMC(k, max_leaves=n_leaves)),
        ("TAO, paper", TAOClustering(k, **{**tao, **PUBLISHED})),
        ("TAO", TAOClustering(k, **tao)),
    ):
        start = time.perf_counter()
        model.set_params(reference=reference).fit(X)
        yield name, model.cost_increase_, model.tree_, time.perf_counter() - start


def main():
    """Print the table of each data set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", choices=DATASETS, nargs="+")
    parser.add_argument("--lambda", dest="lambda_", type=float, default=TAOClustering().lambda_)
    options = parser.parse_args()
    for name in options.names:
        X, k, _ = load(name)
        reference = FreeKMeans(k, n_init=10, random_state=0).fit(X)
        TAOClustering(2, split="axis").fit(X[:50])  # kernels are compiled before the clock starts
        print(f"{name} {X.shape}, k={k}\nmethod       cost %  leaves  depth   saved  seconds")
        for n_leaves in (k, 2 * k, 4 * k):
            base = None
            for method, cost, tree, seconds in rows(X, k, n_leaves, reference, options.lambda_):
                saved = f"{100 * (1 - cost / base):.1f} %" if base else "-"
                print(
                    f"{method:12s} {cost:6.3f} {tree.n_leaves:7d} {tree.max_depth:6d} "
                    f"{saved:>7s} {seconds:8.2f}",
                    flush=True,
                )
                base = cost if method == "ExKMC" else base


if __name__ == "__main__":
    main()
