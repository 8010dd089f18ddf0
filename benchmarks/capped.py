"""Cost of oblique trees whose tests have at most 1, 2 or 3 features, at equal parameters.

    python -m benchmarks.capped wine:10,20,40 breast_cancer:10,20,40 --seeds 5
    python -m benchmarks.capped digits:40,60 avila/3000:40

prints a table row per data set and limit of parameters. A cell has the mean cost increase over the
seeds in percent with its standard error, and in brackets the mean parameters and leaves of the
trees. All fits make the four rounds of ``search="fast"``. "avila/3000" is 3000 rows of
avila. With `--without-cart`, the trees with a cap do not start from a tree of CART; this shows what
CART contributes.
"""

import argparse
from unittest import mock

import numpy as np

from benchmarks.datasets import load
from benchmarks.evidence.pages.words import averaged, markdown
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.optimize import settings

CAPS = (1, 2, 3, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="+", metavar="NAME:SIZES", help="such as digits:40,60,100")
    parser.add_argument("--seeds", type=int, default=5, help="number of seeds")
    parser.add_argument("--caps", type=int, nargs="*", default=CAPS, metavar="N")
    parser.add_argument("--without-cart", action="store_true")
    options = parser.parse_args()
    heads = [f"{cap} feature{'s' * (cap > 1)}" if cap else "no cap" for cap in options.caps]
    lines = []
    for given in options.names:
        name, _, sizes = given.partition(":")
        X, k, _ = load(name.replace("/", ":"))
        for size in map(int, sizes.split(",")):
            with mock.patch.object(settings, "_start", start_of(options.without_cart)):
                cells = [cell(X, k, size, cap, options.seeds) for cap in options.caps]
            data = f"{name.split('/')[0].replace('_', ' ')}, {size}"
            lines.append({"data, parameters": data, **dict(zip(heads, cells, strict=True))})
    print(markdown(lines))


def start_of(without_cart):
    """Return the function that builds initial trees, with a cap or as if there were none."""
    default = settings._start
    if not without_cart:
        return default
    return lambda parameters, kind, objective, is_capped, max_leaves: default(
        parameters, kind, objective, False, max_leaves
    )


def cell(X, k, size, cap, n_seeds):
    """Mean and standard error of the cost increase, mean parameters and leaves, with a cap."""
    found = []
    for seed in range(n_seeds):
        # Trees with a cap need more leaves, and only the search adds leaves.
        algorithm = DirectForm(max_features_per_test=cap, search="fast")
        model = TAOClustering(k, max_parameters=size, algorithm=algorithm, random_state=seed).fit(X)
        found.append((model.cost_increase_, model.tree_.n_parameters, model.tree_.n_leaves))
    costs, parameters, leaves = np.array(found).T
    return f"{averaged(costs)} ({parameters.mean():.0f}, {leaves.mean():.0f})"


if __name__ == "__main__":
    main()
