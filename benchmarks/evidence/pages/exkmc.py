"""The section of exkmc-fig3: cost ratios against leaves."""

import numpy as np

from benchmarks.evidence.pages.words import markdown, title
from benchmarks.evidence.tables.exkmc import METHODS

TIMES = (1, 2, 4)


def section(frame):
    """The section, Markdown."""
    words = (
        "Cost over that of the k-means that the trees explain (one start a seed), mean over "
        "seeds; at k / 2 k / 4 k leaves the cheapest tree of at most so many. The paper prints no "
        "numbers for this figure. CUBT and CLTree are run on the small sets, as in the paper, "
        "whose runs of them ended after an hour elsewhere. A dash: not run. The "
        "figure leaves out what costs far more than the others, which the table has."
    )
    return "\n\n".join([words, markdown(lines(frame)), "![Cost against leaves](exkmc.svg)"])


def lines(frame):
    """A row a data set, a column a method."""
    found = []
    for data, part in frame.groupby("data", sort=False):
        k = int(part["clusters"].dropna().iloc[0])
        cells = {"data": f"{title(data)}, k = {k}", "seeds": part["seed"].nunique()}
        for method in METHODS:
            own = part[part["method"] == method]
            cells[method] = " / ".join(_at(own, times * k, method) for times in TIMES)
            if method == "IMM":
                cells[method] = _at(own, k, method)
        found.append(cells)
    return found


def _at(part, leaves, method):
    small = part[part["leaves"] <= leaves]
    if small.empty:
        return "-"
    ratios = 1 + small.groupby("seed")["cost"].min() / 100
    return f"{np.mean(ratios):.3f}"
