"""The section of field: cost at equal size, on the rows of the fits and on new ones; who wins."""

import numpy as np
import pandas as pd

from benchmarks.evidence.pages.ranks import duel, holm, levelled, ranking
from benchmarks.evidence.pages.words import counted, listed, markdown, number, title
from benchmarks.evidence.tables.field import DEEPER, PARAMETERS, PATHS, PEER, TIMES

OURS = ("TAO oblique", "TAO axis")
OTHER_OBLIQUE = "SpEx oblique"
FEWEST_SETS = 5  # for a ranking
SIGNIFICANT = 0.05


def budgets():
    """(budget, what to call it) of all comparisons."""
    for times in TIMES:
        yield ("leaves", times), "k leaves" if times == 1 else f"{times} k leaves"
    for size in PARAMETERS:
        yield ("parameters", size), f"{size} parameters"


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
    """DataFrame of costs, a row a data set, a column a method; NaN where there is no such tree."""
    order = frame["method"].unique()
    sets = frame["data"].unique()
    found = at(frame, budget)[column].unstack("method")
    return found.reindex(index=sets, columns=[name for name in order if name in found])


def contest(frame, budget, column="cost"):
    """Costs of a budget for rankings: infinite where a method was run and has no such tree.

    Data sets on which less than half of the methods have one are left out: where k leaves alone
    have more parameters than the budget, only trees that give up clusters are small enough.
    """
    found = costs(frame, budget, column)
    was_run = frame.groupby(["data", "method"]).size().unstack("method").notna()
    was_run = was_run.reindex(index=found.index, columns=found.columns, fill_value=False)
    enough = found.notna().sum(axis=1) >= was_run.sum(axis=1) / 2
    return found.where(found.notna() | ~was_run, np.inf)[enough]


def fields(table):
    """Tables to rank: methods that were run on at least so many of the sets, on what all have.

    The first has the methods of all sets; each further one takes in methods that have fewer.
    """
    n_sets = table.notna().sum()
    for n in sorted(set(n_sets), reverse=True):
        whole = table.loc[:, n_sets >= n].dropna()
        if len(whole) >= FEWEST_SETS and whole.shape[1] > 2:
            yield whole


def main_field(frame, budget, column="cost"):
    """The table with the most data sets; None if there is nothing to rank."""
    return next(fields(contest(frame, budget, column)), None)


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
        "they cost at the tree's centres, over the nearest free centre. Costs are negative where "
        "the tree's clusters are cheaper than the free clustering, and on new rows where its "
        "centres suit them better. `CART` is scikit-learn's. "
        f"`{PEER}` is the published program, run in the same process on small sets; it ignores the "
        "free clustering and makes its own; its thresholds lie on the last value to the left, not "
        "half-way to the next, so that new rows just above go the other way (iris). Oblique trees "
        "test several columns at a node, which is why they are compared at equal parameters as "
        "well. **One split into seen and new rows, one seed**; of the smallest sets 30 to 120 rows "
        "are new, whose costs say little. Mixtures take no sparse rows; CLTree and oblique SpEx "
        "are left out on large and sparse sets, whatever takes long on images there; no oblique "
        "run asks for a size on images, where the path has no tree of 30 parameters. "
        + saturation(frame),
        "![Cost against parameters](field_fronts.svg)",
        "The same against leaves, and on new rows (costs below 0.01 %, negative ones among them, "
        "are drawn at 0.01 %; further methods are in the tables alone):",
        "![Cost against leaves](field_fronts_leaves.svg)",
        "![Cost on new rows against parameters](field_fronts_new.svg)",
        "### Both TAO methods beside the best of the others",
        "Wins / ties / losses over data sets against the cheapest tree of all other methods, which "
        "is another one's from set to set; TAO of single features against methods of single "
        "features.",
        markdown(_beside_best(frame)),
    ]
    for budget, words in budgets():
        parts += [f"### At {words}", *_comparison(frame, budget, words)]
    return "\n\n".join(parts)


def saturation(frame):
    """Where paths of the default depth end, on sets that have deeper ones as well."""
    paths = frame[(frame["method"] == "TAO oblique") & frame["data"].isin(DEEPER)]
    texts = []
    for data, part in paths.groupby("data", sort=False):
        largest = [part[part["setting"] == name].nlargest(1, "parameters") for name in PATHS]
        if all(map(len, largest)):
            at_end = [f"{p.parameters.iloc[0]:.0f} ({number(p.cost.iloc[0])} %)" for p in largest]
            texts.append(f"{title(data)} at {at_end[0]} and {at_end[1]}")
    if not texts:
        return ""
    return (
        "Paths of oblique trees end where lambda is too small to matter. Where that is well before "
        "300 parameters, with costs far above zero, a path a level deeper counts as well, as a "
        "user would ask for who wants more: they end in parameters and cost on "
        f"{listed(texts)}."
    )


def best_rival(table, name):
    """Costs of the cheapest of the other methods that a TAO method is compared with."""
    rivals = [other for other in table if other not in OURS]
    rivals = [other for other in rivals if name != "TAO axis" or other != OTHER_OBLIQUE]
    return table[rivals].min(axis=1)


def beside_best(frame, budget, name):
    """Duels of a TAO method with the best of the others, on seen and on new rows; or None."""
    tables = [contest(frame, budget, column) for column in ("cost", "cost_new")]
    if name not in tables[0]:
        return None
    return tuple(duel(table[name], best_rival(table, name)) for table in tables)


def without_tree(frame, budget, name):
    """Titles of the data sets on which a method was run, and has no tree that is small enough."""
    table = contest(frame, budget)
    return [title(data) for data in table.index[np.isinf(table[name])]] if name in table else []


def _beside_best(frame):
    lines = []
    for budget, words in budgets():
        cells = {"budget": words}
        for name in OURS:
            found = beside_best(frame, budget, name)
            for kind, own in zip(("seen rows", "new rows"), found or ("-", "-"), strict=True):
                cells[f"{name}, {kind}"] = str(own)
        lines.append(cells)
    return lines


def _comparison(frame, budget, words):
    seen, new = costs(frame, budget), costs(frame, budget, "cost_new")
    if seen.empty:
        return ["*Nothing of this has been measured yet.*"]
    parts = ["Percent over k-means, seen rows / new rows:", markdown(_lines(seen, new))]
    table = contest(frame, budget)
    away = [title(data) for data in seen.index if data not in table.index]
    if away:
        parts.append(
            f"Not ranked: {listed(away)}, where fewer than half of the methods have a tree of "
            "that size."
        )
    parts += _rankings(frame, budget, words)
    parts += [
        _lost(seen),
        "Wins / ties / losses of the TAO methods against each other one, and p of Wilcoxon's "
        "signed-rank test after Holm's correction for all lines of a column; the costs behind all "
        "other pairs are in `field.csv`:",
        markdown(_duels(frame, budget)),
    ]
    if budget[0] == "leaves":
        wad, waes = costs(frame, budget, "wad"), costs(frame, budget, "waes")
        name = "WAD / WAES: mean number of tests a row meets, and of conditions that explain it"
        parts.append(_folded(name, _lines(wad, waes)))
    return parts


def _rankings(frame, budget, words):
    """Average ranks over the most sets, then with methods that have fewer; on new rows."""
    table, new = contest(frame, budget), contest(frame, budget, "cost_new")
    found = list(fields(table))
    if not found:
        return [f"No ranking: fewer than {FEWEST_SETS} data sets have several methods in common."]
    picture = f"field_{budget[0]}_{budget[1]}.svg"
    parts = []
    for i, whole in enumerate(found):
        out = [
            f"{name} ({counted(int(table[name].notna().sum()), 'set')})"
            for name in table
            if name not in whole
        ]
        text = (
            f"Average ranks over the {counted(len(whole), 'data set')} that have all of "
            f"{counted(whole.shape[1], 'method')}: {_ranks(ranking(whole))}."
        )
        n_none = int(np.isinf(whole).to_numpy().sum())
        if n_none:
            text += f" {counted(n_none, 'time')} a method has no tree of that size: it is last."
        text += f" Left out, having fewer sets: {listed(out)}." if out else ""
        text += f" On new rows: {_ranks(ranking(new.loc[whole.index, whole.columns]))}."
        parts.append(text)
        if i == 0:
            parts.append(f"![Average ranks at {words}]({picture})")
    return parts


def _folded(summary, rows):
    """A table that a reader opens."""
    return f"<details><summary>{summary}</summary>\n\n{markdown(rows)}\n\n</details>"


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


def duels_of(frame, budget, name, column="cost"):
    """Duels of a method with each other one, and their p values after Holm's correction."""
    table = contest(frame, budget, column)
    if name not in table:
        return {}
    found = {other: duel(table[name], table[other]) for other in table if other != name}
    corrected = holm([each.p_value for each in found.values()])
    return {other: (each, p) for (other, each), p in zip(found.items(), corrected, strict=True)}


def _duels(frame, budget):
    columns = {
        f"{name}, {kind}": duels_of(frame, budget, name, column)
        for name in OURS
        for kind, column in (("seen", "cost"), ("new", "cost_new"))
    }
    rivals = list(dict.fromkeys(other for found in columns.values() for other in found))
    lines = []
    for other in rivals:
        cells = {"against": other}
        for head, found in columns.items():
            each, p_value = found.get(other, ("", np.nan))
            cells[head] = str(each)
            cells[f"p{' ' * len(cells)}"] = "" if np.isnan(p_value) else f"{p_value:.2g}"
        lines.append(cells)
    return lines


def _lost(seen):
    """Where another method is cheaper than the cheaper of ours."""
    ours = seen.reindex(columns=list(OURS)).min(axis=1)
    others = seen.drop(columns=list(OURS), errors="ignore")
    texts = []
    for data in seen.index[seen.notna().any(axis=1)]:
        if pd.isna(ours[data]) or others.loc[data].isna().all():
            continue
        best = others.loc[data].idxmin()
        if levelled(others.loc[data, best]) < levelled(ours[data]):
            texts.append(
                f"{title(data)} ({best} {number(others.loc[data, best])}, ours "
                f"{number(ours[data])})"
            )
    if not texts:
        return "No method is cheaper than the better of the two TAO methods on any data set."
    return f"A method is cheaper than both TAO methods on {listed(texts)}."
