"""Cost of oblique trees whose tests have at most 1, 2 or 3 features, at equal parameters.

    python -m benchmarks.capped wine:10,20,40 breast_cancer:10,20,40 --seeds 5
    python -m benchmarks.capped digits:40,60 avila/3000:40

The table has one row per data set and limit of parameters. A cell has the mean cost increase over
the seeds in percent with its standard error, and in brackets the mean parameters and leaves of the
trees. All fits make the four rounds of ``search="fast"``. "avila/3000" is 3000 rows of avila.
"""

import numpy as np

from benchmarks.datasets import load
from benchmarks.evidence.pages.words import averaged, markdown
from benchmarks.shared import parser
from tao_cluster import DirectForm, TAOClustering

CAPS = {"1 feature": 1, "2 features": 2, "3 features": 3, "no cap": None}


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="+", metavar="NAME:SIZES", help="as digits:40,60,100")
    arguments.add_argument("--seeds", type=int, default=5, help="number of seeds")
    options = arguments.parse_args()
    lines = []
    for given in options.names:
        name, _, sizes = given.partition(":")
        X, k, _ = load(name.replace("/", ":"))
        for size in map(int, sizes.split(",")):
            data = f"{name.split('/')[0].replace('_', ' ')}, {size}"
            cells = {head: cell(X, k, size, cap, options.seeds) for head, cap in CAPS.items()}
            lines.append({"data, parameters": data, **cells})
    print(markdown(lines))


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
