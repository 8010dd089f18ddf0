"""The page of kdd22-table1: axis-aligned trees of equal size."""

import numpy as np

from benchmarks.evidence.pages.cart import cart_words
from benchmarks.evidence.pages.oblique import REACHED
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


def section(frame):
    """Return the page as Markdown."""
    frame = with_starts(frame)
    papers = published(NAME)
    means = means_by_row(frame)
    n_seeds = frame.loc[frame["method"] == TAO, "seed"].nunique()
    parts = [
        " ".join(
            filter(
                None,
                (
                    "**Result.**",
                    _order(means, TAO, "ExKMC"),
                    _improved(frame),
                    _reproduced(frame),
                    _apart_words(frame, papers),
                ),
            )
        ),
        "The table shows the cost increases, in percent, of trees with the same number of leaves. "
        "The number in brackets is that of the paper. The paper does not print all of them, and it "
        "has no rows for letter.",
        '- *TAO axis* is `TAOClustering(split="axis")`, our axis-aligned search. Its costs are '
        f"means over {counted(n_seeds, 'seed')} ± standard errors. The other methods have no "
        "random part.\n"
        '- *Published* is `algorithm="published"`, our interpretation of the paper\'s algorithm. '
        f"The number in brackets is the cost of TAO in the paper. {_beside_its_start(means)}\n"
        "- *CART* is scikit-learn's decision tree with its default settings. "
        f"{_order(means, 'ExKMC', 'CART')}\n"
        "- A cost can be negative, because k-means finds only a local optimum. "
        f"{starts_words(frame)}",
        markdown(_lines(frame, papers, MAIN)),
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
            printed = in_paper(papers, data, method, leaves)
            cells[words] = cost if printed is None else f"{cost} ({number(printed)})"
        lines.append(cells)
    return lines


def in_paper(papers, data, method, leaves):
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
        printed = in_paper(papers, data, PUBLISHED, leaves)
        if printed is not None:
            found.append((_row_name(data, leaves), float(part["cost"].mean()), printed))
    return found


def _reproduced(frame):
    """Say how many of the printed costs of TAO the published algorithm reproduces."""
    found = beside_printed(frame, PUBLISHED)
    if not found:
        return ""
    narrow, wide = (len(_near(found, most)) for most in REACHED)
    return (
        'The costs of `algorithm="published"` differ from the printed costs of TAO by at most '
        f"{percent(REACHED[0])} in {narrow} of {counted(len(found), 'row')}, and by at most "
        f"{percent(REACHED[1])} in {wide}."
    )


def _near(found, most):
    """Return those of :func:`beside_printed` whose costs differ by at most this share."""
    return [
        (row, ours, printed)
        for row, ours, printed in found
        if abs(ours - printed) <= max(most * printed, LEVEL)
    ]


def _apart(frame, papers):
    """Return the data sets on which our ExKMC differs from that of the paper by more than 10 %."""
    apart = []
    for data, part in frame[frame["method"] == "ExKMC"].groupby("data"):
        pairs = [
            (row.cost, in_paper(papers, data, row.method, row.point)) for row in part.itertuples()
        ]
        off = [abs(cost / printed - 1) for cost, printed in pairs if printed is not None]
        if off and min(off) > REACHED[0]:
            apart.append(title(data))
    return apart


def _apart_words(frame, papers):
    """Say on which data sets even ExKMC has other costs than in the paper."""
    apart = _apart(frame, papers)
    if not apart:
        return ""
    return (
        f"However, comparisons with the printed costs of {listed(apart)} say little. The costs of "
        "ExKMC, which has no random part, also differ from the printed ones by more than "
        f"{percent(REACHED[0])}. The paper therefore probably had other data or another free "
        "clustering."
    )


def _beside_its_start(means):
    """Compare the published algorithm with the tree of ExKMC from which it starts."""
    found = [costs for costs in means.values() if {PUBLISHED, "ExKMC"} <= set(costs.index)]
    if not found:
        return ""
    shown = np.round([[costs[PUBLISHED], costs["ExKMC"]] for costs in found], 2)
    equal, more = (shown[:, 0] == shown[:, 1]).sum(), (shown[:, 0] > shown[:, 1]).sum()
    return (
        "The algorithm starts from the tree of ExKMC and returns the last tree along mu, not the "
        f"best one. This tree costs as much as that of ExKMC in {equal} of {len(found)} rows, and "
        f"more in {more}."
    )


def beside_paper(frame, name, table):
    """Say how the costs of the published algorithm are related to the printed ones.

    Parameters
    ----------
    frame : DataFrame, rows of the file
    name, table : str, what the algorithm and the table are called

    Returns
    -------
    list of str, one sentence or none
    """
    frame = with_starts(frame)
    found = beside_printed(frame, PUBLISHED)
    if not found:
        return []
    text = (
        f"Of the axis-aligned trees in {table}, {name} reproduces the costs of "
        f"{len(_near(found, REACHED[-1]))} of {len(found)} within {percent(REACHED[-1])}."
    )
    apart = _apart(frame, published(NAME))
    if apart:
        text += (
            " The paper probably had other data or free clusters, because our costs of ExKMC on "
            f"{listed(apart)} also differ."
        )
    return [text]


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
    if not rows:
        return ""
    text = (
        f"{MAIN[low]} costs no more than {MAIN[high]} in {len(rows) - len(failed)} of "
        f"{counted(len(rows), 'row')}"
    )
    if low == TAO and high == "ExKMC" and not failed:
        text += ", because the tree of ExKMC is one of its initial trees"
    return text + (f"; it costs more on {listed(failed)}." if failed else ".")
