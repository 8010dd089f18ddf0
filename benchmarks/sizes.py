"""Sizes of trees: how much the size that the default chooses varies with the seed.

    python -m benchmarks.sizes
    python -m benchmarks.sizes wine digits --seeds 3

Half of the rows, at most 2000, are fitted with several seeds, and at most 2000 others are new.
Printed are the smallest and the largest number of parameters, their ratio, and the mean costs in
percent above the free clustering. The last lines are the geometric mean and the largest of the
ratios.
"""

import warnings

import numpy as np

from benchmarks.datasets import load
from benchmarks.evidence.pages.words import averaged, markdown, title
from benchmarks.shared import halves, parser
from tao_cluster import TAOClustering

# Data sets, and numbers of clusters where that of `benchmarks.datasets` is 2 or 3, or not chosen.
SETS = dict.fromkeys(("iris", "digits", "anuran", "mice", "fifa19", "avila", "letter"))
SETS |= {"wine": 4, "breast_cancer": 5, "bodies": 5, "concrete": 6, "olive": 5, "cells": 6}
SETS["college"] = 5


def main():
    """Print the table, and the means of the ratios."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", default=SETS)
    arguments.add_argument("--seeds", type=int, default=5)
    options = arguments.parse_args()
    lines, ratios = [], {"oblique": [], "axis": []}
    for name in options.names:
        X, k, _ = load(name, may_fetch=True)
        ((X, new),) = halves(X, 1, most=2000)
        for split, of_split in ratios.items():
            model = TAOClustering(SETS.get(name) or k, split=split)
            found = [
                measured(model.set_params(random_state=s), X, new) for s in range(options.seeds)
            ]
            sizes, fitted, unseen = np.transpose(found)
            of_split.append(sizes.max() / sizes.min())
            lines.append(
                {
                    "data": f"{title(name)}, {split}",
                    "parameters": f"{sizes.min():.0f} to {sizes.max():.0f}",
                    "ratio": f"{of_split[-1]:.2f}",
                    "fitted rows, %": averaged(fitted),
                    "new rows, %": averaged(unseen),
                }
            )
    print(markdown(lines))
    for split, each in ratios.items():
        mean = np.exp(np.mean(np.log(each)))
        print(f"\n{split}: geometric mean of the ratios {mean:.2f}, largest {max(each):.2f}")


def measured(model, X, new):
    """Fit, and return the number of parameters and the costs on fitted and new rows."""
    model.fit(X)
    return model.tree_.n_parameters, model.cost_increase_, model.cost_increase(new)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
