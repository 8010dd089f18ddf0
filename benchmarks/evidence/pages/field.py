"""The section of field: cost at equal size, on the rows of the fits and on new ones; who wins."""

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.ranks import LEVEL, duels, ranking
from benchmarks.evidence.pages.words import counted, listed, markdown, number, title
from benchmarks.evidence.tables.field import PARAMETERS, PEER, TIMES

OURS = ("TAO oblique", "TAO axis")


def at(frame, budget):
    """The cheapest tree of each method and data set within a budget: figures by (data, method).

    Parameters
    ----------
    budget : tuple of ("leaves", multiple of k) or ("parameters", number)
    """
    kind, size = budget
    limit = size * frame["clusters"] if kind == "leaves" else size
    small = frame[frame[kind] <= limit].sort_values("cost", kind="stable")
    return small.groupby(["data", "method"], sort=False).first()


def costs(frame, budget, column="cost"):
    """DataFrame of costs, a row a data set, a column a method."""
    order = frame["method"].unique()
    sets = frame["data"].unique()
    found = at(frame, budget)[column].unstack("method")
    return found.reindex(index=sets, columns=[name for name in order if name in found])


def budgets():
    """(budget, what to call it) of all comparisons."""
    for times in TIMES:
        yield ("leaves", times), "k leaves" if times == 1 else f"{times} k leaves"
    for size in PARAMETERS:
        yield ("parameters", size), f"{size} parameters"


def section(frame):
    """The section, Markdown."""
    sets = frame.drop_duplicates("data")
    described = [
        f"{title(row.data)} ({row.rows:.0f} x {row.columns:.0f}, k = {row.clusters:.0f})"
        for row in sets.itertuples()
    ]
    parts = [
        f"{counted(len(sets), 'data set')}: {listed(described)}; the rows that are counted are the "
        "80 % that all fits see. One k-means (best of ten starts) of these rows is explained by "
        "all methods. Of each method the cheapest tree within a budget counts; new rows cost what "
        "they cost at the tree's centres, over the nearest free centre. `CART` is scikit-learn's, "
        f"`{PEER}` the published program, run in the same process on small sets; it ignores the "
        "free clustering and makes its own. Oblique trees test several columns at a node, "
        "which is why they are compared at equal parameters as well. There is one split into seen "
        "and new rows; of the smallest sets 30 to 120 rows are new, whose costs say little.",
    ]
    parts += [
        "![Cost against parameters](field_fronts.svg)",
        "The same against leaves, and on new rows:",
        "![Cost against leaves](field_fronts_leaves.svg)",
        "![Cost on new rows against parameters](field_fronts_new.svg)",
    ]
    for budget, words in budgets():
        parts += [f"### At {words}", *_comparison(frame, budget, words)]
    return "\n\n".join(parts)


def _comparison(frame, budget, words):
    seen, new = costs(frame, budget), costs(frame, budget, "cost_new")
    if seen.empty:
        return ["*Nothing of this has been measured yet.*"]
    found = ranking(complete(seen))
    picture = f"field_{budget[0]}_{budget[1]}.svg"
    parts = [
        "Percent over k-means, seen rows / new rows:",
        markdown(_lines(seen, new)),
        f"Average ranks over the {counted(found.n_sets, 'data set')} that have all of "
        f"{counted(len(found.ranks), 'method')}: {_ranks(found)}.",
        f"![Average ranks at {words}]({picture})",
        "On new rows: " + _ranks(ranking(complete(new))) + ".",
        _lost(seen),
        _folded("Wins / ties / losses of the row against the column, seen rows", _duels(seen)),
        _folded("The same on new rows", _duels(new)),
    ]
    if budget[0] == "leaves":
        wad, waes = costs(frame, budget, "wad"), costs(frame, budget, "waes")
        name = "WAD / WAES: mean number of tests a row meets, and of conditions that explain it"
        parts.append(_folded(name, _lines(wad, waes)))
    return parts


def _folded(summary, rows):
    """A table that a reader opens."""
    return f"<details><summary>{summary}</summary>\n\n{markdown(rows)}\n\n</details>"


def complete(table):
    """The methods that nearly all data sets have: the sets that have them all are ranked."""
    here = table.notna()
    most = here.any(axis=1).sum()
    return table.loc[here.any(axis=1), here.sum() >= 0.9 * most]


def _ranks(found):
    ranks = ", ".join(f"{name} {rank:.1f}" for name, rank in found.ranks.items())
    p_value = "" if np.isnan(found.p_value) else f"; Friedman p = {found.p_value:.1g}"
    return f"{ranks} (critical difference {found.difference:.1f}{p_value})"


def _lines(seen, new):
    return [
        {"method": method}
        | {
            title(data): "-"
            if pd.isna(seen.loc[data, method])
            else f"{number(seen.loc[data, method])} / {number(new.loc[data, method])}"
            for data in seen.index
        }
        for method in seen.columns
        if seen[method].notna().any()
    ]


def _duels(seen):
    table = duels(seen)
    return [{"": name} | table.loc[name].to_dict() for name in table.index]


def _lost(seen):
    """Where another method is cheaper than the cheaper of ours."""
    ours = seen.reindex(columns=list(OURS)).min(axis=1)
    others = seen.drop(columns=list(OURS), errors="ignore")
    texts = []
    for data in seen.index[seen.notna().any(axis=1)]:
        if pd.isna(ours[data]) or others.loc[data].isna().all():
            continue
        best = others.loc[data].idxmin()
        if others.loc[data, best] < ours[data] - LEVEL:
            texts.append(
                f"{title(data)} ({best} {number(others.loc[data, best])}, ours "
                f"{number(ours[data])})"
            )
    if not texts:
        return "No method is cheaper than the better of the two TAO methods on any data set."
    return f"A method is cheaper than both TAO methods on {listed(texts)}."
