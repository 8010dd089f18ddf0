"""The page of kdd22-table1: axis-aligned trees of equal size."""

import numpy as np

from benchmarks.evidence.pages.cart import cart_words
from benchmarks.evidence.pages.starts import starts_words, with_starts
from benchmarks.evidence.pages.words import (
    averaged,
    counted,
    folded,
    listed,
    markdown,
    number,
    percent,
    published,
    title,
)
from benchmarks.evidence.tables.axis import NAME, NO_SEARCH, PUBLISHED, TAO
from benchmarks.evidence.tables.cart import VARIANTS

MAIN = {TAO: "TAO axis", "ExKMC": "ExKMC", "CART": "CART", PUBLISHED: "published"}
OTHERS = {NO_SEARCH: "TAO axis, no search", "ExGreedy": "ExGreedy", "ExShallow": "ExShallow"}
OTHERS |= dict(zip(VARIANTS, VARIANTS, strict=True))
OF_PAPER = {"CART": "CART", "ExGreedy": "ExGreedy", "ExKMC": "ExKMC", PUBLISHED: "TAO"}
LEVEL = 5e-3  # percent: two digits do not show less
REACHED = (0.10, 0.15)  # relative differences in cost that count as reached


def section(frame):
    """Return the page as Markdown."""
    frame = with_starts(frame)
    papers = published(NAME)
    means = means_by_row(frame)
    n_seeds = frame.loc[frame["method"] == TAO, "seed"].nunique()
    parts = [
        "The table has the cost increase, in percent, of trees with the same number of leaves. In "
        "brackets is the number in the paper, if it prints one; it has no rows for letter.",
        '- *TAO axis* is `TAOClustering(split="axis")`, our axis-aligned search. Its costs are '
        f"means of {counted(n_seeds, 'seed')} ± standard errors. The other methods have no "
        "random part.\n"
        '- *Published*, if it was run, is `algorithm="published"`, our interpretation of the '
        "paper's algorithm, which starts from the tree of ExKMC. The number of the paper's TAO is "
        "beside it.\n"
        f"{_apart_words(frame, papers)}"
        "- A cost can be negative, because the free clustering is the best of several starts of "
        f"k-means and not the optimum. {starts_words(frame)}",
        markdown(_lines(frame, papers, MAIN)),
        " ".join(_order(means, *pair) for pair in ((TAO, "ExKMC"), ("ExKMC", "CART"))),
        _reproduced(frame),
        _beside_its_start(means),
        _improved(frame),
        folded(
            "More methods",
            "*TAO axis, no search* is TAO axis without its local search: the best of its initial "
            f"trees after passes over the nodes.\n\n{markdown(_lines(frame, papers, OTHERS))}",
        ),
        cart_words(frame, papers[papers["method"] == "CART"]),
    ]
    return "\n\n".join(filter(None, parts))


def _lines(frame, papers, methods):
    lines = []
    methods = {name: words for name, words in methods.items() if (frame["method"] == name).any()}
    for (data, leaves), part in frame.groupby(["data", "point"], sort=False):
        cells = {"data": title(data), "leaves": f"{float(leaves):.0f}"}
        for method, words in methods.items():
            cost = averaged(part.loc[part["method"] == method, "cost"])
            printed = _in_paper(papers, data, method, leaves)
            cells[words] = cost if printed is None else f"{cost} ({number(printed)})"
        lines.append(cells)
    return lines


def _in_paper(papers, data, method, leaves):
    """Return the printed cost; the pruned trees of the paper have up to three leaves fewer."""
    same = papers[(papers["data"] == data) & (papers["method"] == OF_PAPER.get(method))]
    same = same[same["leaves"].between(float(leaves) - 3, float(leaves))]
    return None if same.empty else float(same["cost"].iloc[0])


def beside_printed(frame, method):
    """Return (row, cost of a method, printed cost of TAO) of each row that was run."""
    papers, own = published(NAME), with_starts(frame)
    own = own[own["method"] == method]
    found = []
    for (data, leaves), part in own.groupby(["data", "point"], sort=False):
        printed = _in_paper(papers, data, PUBLISHED, leaves)
        if printed is not None:
            found.append((_row_name(data, leaves), float(part["cost"].mean()), printed))
    return found


def _reproduced(frame):
    """Say how many of the printed costs of TAO the published algorithm reproduces."""
    found = beside_printed(frame, PUBLISHED)
    if not found:
        return ""
    off = np.array([abs(ours - printed) / max(printed, LEVEL) for _, ours, printed in found])
    level = np.array([abs(ours - printed) < LEVEL for _, ours, printed in found])
    counts = listed(f"{((off <= most) | level).sum()} within {percent(most)}" for most in REACHED)
    return f"**Of {len(found)} printed costs, the published algorithm reproduces {counts}.**"


def _apart_words(frame, papers):
    """Name the data sets on which our ExKMC differs from the paper's by more than 10 %."""
    apart = []
    for data, part in frame[frame["method"] == "ExKMC"].groupby("data"):
        pairs = [
            (row.cost, _in_paper(papers, data, row.method, row.point)) for row in part.itertuples()
        ]
        off = [abs(cost / printed - 1) for cost, printed in pairs if printed is not None]
        if off and min(off) > REACHED[0]:
            apart.append(title(data))
    if not apart:
        return ""
    return (
        f"- On {listed(apart)}, all costs of ExKMC differ from the printed ones by more than "
        f"{percent(REACHED[0])}, so the data or the free clustering of the paper are probably "
        "not ours.\n"
    )


def _beside_its_start(means):
    """Compare the published algorithm with the tree of ExKMC from which it starts."""
    found = [costs for costs in means.values() if {PUBLISHED, "ExKMC"} <= set(costs.index)]
    if not found:
        return ""
    shown = np.round([[costs[PUBLISHED], costs["ExKMC"]] for costs in found], 2)
    equal, more = (shown[:, 0] == shown[:, 1]).sum(), (shown[:, 0] > shown[:, 1]).sum()
    return (
        "The published algorithm starts from the tree of ExKMC and returns the last tree along mu, "
        f"not the best one. It costs as much as ExKMC in {equal} of {len(found)} rows, and more in "
        f"{more}."
    )


def _improved(frame):
    """Say in how many rows TAO axis costs no more than the printed tree of TAO."""
    found = beside_printed(frame, TAO)
    if not found:
        return ""
    worse = [row for row, ours, printed in found if ours > printed + LEVEL]
    text = (
        f"TAO axis costs no more than the printed tree of TAO in {len(found) - len(worse)} of "
        f"{counted(len(found), 'row')}."
    )
    return text + (f" It costs more on {listed(worse)}." if worse else "")


def _row_name(data, leaves):
    return f"{title(data)} with {float(leaves):.0f} leaves"


def means_by_row(frame):
    """Mean costs of the methods: dict of a row's name to a Series."""
    return {
        _row_name(data, leaves): part.groupby("method")["cost"].mean()
        for (data, leaves), part in frame.groupby(["data", "point"], sort=False)
    }


def comparison(means, low, high):
    """Return the rows that have two methods, and those of them in which the first costs more."""
    both = {row: costs for row, costs in means.items() if {low, high} <= set(costs.index)}
    return list(both), [row for row, costs in both.items() if costs[low] > costs[high] + LEVEL]


def _order(means, low, high):
    """Say in how many rows one method costs no more than another."""
    rows, failed = comparison(means, low, high)
    text = (
        f"**{MAIN[low]} costs no more than {MAIN[high]} in {len(rows) - len(failed)} of "
        f"{len(rows)} rows.**"
    )
    if low == TAO and high == "ExKMC":
        text += " The tree of ExKMC is one of its initial trees."
    return text + (f" It costs more on {listed(failed)}." if failed else "")
