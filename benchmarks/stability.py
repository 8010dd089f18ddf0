"""How much trees vary between bootstrap resamples of the rows, and between seeds.

    python -m benchmarks.stability wine digits --n 20

prints a table with one line per data set and model: the mean agreement of pairs of refits
(adjusted Rand index, ARI), the mean cost on the rows of a resample and on the rows that it leaves
out, and the range of leaves and parameters of the trees of resamples.
"""

from benchmarks.datasets import load
from benchmarks.evidence.pages.words import markdown, number
from benchmarks.shared import parser
from greedy import ExShallow
from tao_cluster import TAOClustering, stability

# data: leaves of the axis-aligned trees of TAO
LEAVES = {"wine": 4, "digits": 20}


def models(k, n_leaves):
    """Name to unfitted estimator."""
    return {
        "TAO oblique": TAOClustering(k),
        f"TAO axis, {n_leaves} leaves": TAOClustering(k, split="axis", max_leaves=n_leaves),
        "ExShallow": ExShallow(k),
    }


def main():
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="+", choices=LEAVES)
    arguments.add_argument("--n", type=int, default=20, help="number of resamples, and of seeds")
    options = arguments.parse_args()
    lines = []
    for name in options.names:
        X, k, _ = load(name)
        for title, model in models(k, LEAVES[name]).items():
            found = stability(model, X, n=options.n, random_state=0)
            lines.append({"data": name, "model": title, **figures(found)})
    print(markdown(lines))


def figures(found):
    """Return the columns of a line."""
    resamples = found.table[found.table["kind"] == "resample"]
    return {
        "ARI of resamples": number(found.pairs["resample"]),
        "ARI of seeds": number(found.pairs["seed"]),
        "cost, %": number(resamples["cost_increase"].mean(), 1),
        "cost on left-out rows, %": number(resamples["cost_increase_new"].mean(), 1),
        "leaves": ranged(resamples["leaves"]),
        "parameters": ranged(resamples["parameters"]),
    }


def ranged(sizes):
    """Return smallest and largest size."""
    low, high = int(sizes.min()), int(sizes.max())
    return str(low) if low == high else f"{low} to {high}"


if __name__ == "__main__":
    main()
