"""The pages of field and new-rows: costs of all methods at equal size, on fitted and new rows."""

import numpy as np

from benchmarks.evidence.pages.costs import (
    FEWEST_SETS,
    OURS,
    SIGNIFICANT,
    against_all,
    against_best,
    better_than,
    budgets,
    by_split,
    fields,
    means,
    rivals,
)
from benchmarks.evidence.pages.ranks import ranking
from benchmarks.evidence.pages.words import (
    counted,
    figure,
    folded,
    listed,
    markdown,
    number,
    title,
    with_error,
)
from benchmarks.evidence.tables.field import NAME, split_of
from benchmarks.evidence.tables.new_rows import NAME as NEW_ROWS
from benchmarks.evidence.tables.new_rows import PUBLISHED, PUBLISHED_LAMBDAS
from benchmarks.evidence.tables.peers import PEERS

SHOWN = (("leaves", 2), ("parameters", 100))  # the budgets whose costs are shown per data set


def field_section(frame):
    """Return the page of field as Markdown."""
    n_splits = split_of(frame).nunique()
    rows = "two thirds of the rows are fitted, and one third is new"
    if n_splits == 1:
        rows = "a fixed part of the rows is fitted, and the others are new"
    peers = [name for name in PEERS if name in set(frame["method"])]
    words = f"{counted(n_splits, 'random split')} per data set: {rows}."
    if peers:
        words += (
            f" {listed(peers)} {'is a program' if len(peers) == 1 else 'are programs'} of other "
            "authors, run in the same process on small data sets."
        )
    if "gemclus Kauri" in peers:
        words += (
            " The thresholds of gemclus Kauri are values of fitted rows instead of midpoints. New "
            "rows just above a threshold can therefore reach a leaf far from them, which explains "
            "its costs on new rows of iris."
        )
    return _section(frame, NAME, words)


def new_rows_section(frame):
    """Return the page of new-rows as Markdown."""
    words = (
        f"Small samples: {counted(split_of(frame).nunique(), 'random split')} per data set. Half "
        "of the rows, at most 800, are fitted, and as many other rows are new."
    )
    if PUBLISHED in set(frame["method"]):
        words += (
            f" {PUBLISHED} is our interpretation of the paper's algorithm with "
            f"{len(PUBLISHED_LAMBDAS)} values of lambda from {PUBLISHED_LAMBDAS[0]:g} to "
            f"{PUBLISHED_LAMBDAS[-1]:g}; its tree is chosen on the fitted rows, too."
        )
    return _section(frame, NEW_ROWS, words)


def _section(frame, name, words):
    sets = frame["data"].unique()
    prefix = name.replace("-", "_")
    parts = [
        f"{words} The data sets are {listed(map(title, sets))}. All methods explain the same free "
        "clustering of the fitted rows (k-means, best of ten starts). *Fitted* and *new* are "
        "costs in percent over the nearest free centres, on the fitted and on the new rows. For "
        "each method and budget, the tree of least cost *on the fitted rows* counts.",
        "The table shows the median cost over the data sets, and wins / ties / losses of the mean "
        "costs on new rows against the best other method of each data set. This method is chosen "
        "after the costs on new rows are known, which favours it. TAO axis is compared with "
        "axis-aligned methods.",
        markdown(_summary(frame)),
        "*Parameters* are weights, thresholds and leaves, as in the TAO paper. *Numbers* also "
        "count the column of each weight, so that a test of m > 1 columns has 2 m + 1 numbers and "
        "a test of an axis-aligned tree has 2. This count is the least favourable one for oblique "
        "trees, whose fits were not told of it.",
        figure(
            f"{prefix}_effects",
            "How much more the other methods cost than oblique TAO at 100 parameters. The value "
            "is the mean over data sets of log((cost + 1 %) / (cost of oblique TAO + 1 %)); "
            "whiskers are standard errors. Right of 0 is in favour of oblique TAO.",
        ),
    ]
    for budget, text in budgets():
        if budget in SHOWN:
            parts += _budget(frame, budget, text, prefix)
    rest = [_methods(frame, budget, text) for budget, text in budgets() if budget not in SHOWN]
    if prefix == NAME:
        caption = (
            "The figure of each data set has the cost within 30, 100 and 300 parameters. "
            "Whiskers are standard errors over splits; costs below 0.01 % are drawn at 0.01 %."
        )
        parts += ["## Costs against parameters", figure("field_fronts_new", f"New rows. {caption}")]
        parts.append(figure("field_fronts", f"Fitted rows. {caption}"))
    parts += ["## Other budgets", *rest, "## All costs", *_all_costs(frame)]
    return "\n\n".join(parts)


def _summary(frame):
    lines = []
    for budget, text in budgets():
        cells = {"budget": text}
        for name in OURS:
            tables = [by_split(frame, budget, column) for column in ("cost", "cost_new")]
            if name in tables[0]:
                cells[f"{name}: fitted"], cells[f"{name}: new"] = (
                    number(median(table[name])) for table in tables
                )
                cells[f"{name} against the best"] = str(
                    against_best(frame, budget, name, "cost_new")
                )
        lines.append(cells)
    return lines


def median(costs):
    """Return the median over data sets of the mean over splits."""
    return float(costs.groupby(level="data").mean().median())


def _budget(frame, budget, text, prefix):
    """Return the parts of a budget: costs per data set, then a line per method."""
    parts = [f"## At {text}"]
    table = by_split(frame, budget)
    if table.empty:
        return [*parts, "No method has trees of this size on these data."]
    parts += [
        "Cost on new rows, with standard errors over splits. *Best other* is the other method of "
        "least cost on the fitted rows, so that it is chosen without the new rows.",
        markdown(_costs(frame, budget, "cost_new")),
        folded("Cost on the fitted rows", markdown(_costs(frame, budget, "cost"))),
        _methods(frame, budget, text),
    ]
    if prefix == NAME and next(fields(means(table)[0]), None) is not None:
        caption = (
            f"Average ranks on the fitted rows at {text}. A bar joins methods whose ranks differ "
            "by less than the critical difference of Nemenyi's test."
        )
        parts.append(figure("{}_{}_{}".format(prefix, *budget), caption))
    return parts


def _costs(frame, budget, column):
    """Return one row per data set; the best other method is chosen on the fitted rows."""
    fitted = means(by_split(frame, budget, "cost"))[0]
    mean, error = means(by_split(frame, budget, column))
    lines = []
    for data in mean.index:
        cells = {"data": title(data)}
        for name in (*OURS, "CART", "ExKMC"):
            if name in mean:
                cells[name] = _cell(mean, error, data, name)
        others = fitted.loc[data, rivals(fitted, "TAO oblique")].dropna()
        if len(others) and np.isfinite(others.min()):
            best = others.idxmin()
            cells["best other"] = f"{_cell(mean, error, data, best)} ({best})"
        lines.append(cells)
    return lines


def _cell(mean, error, data, method):
    value = mean.loc[data, method]
    return with_error(value, error.loc[data, method]) if np.isfinite(value) else "-"


def _methods(frame, budget, text):
    """Return a folded table with one row per method: mean ranks and effects on new rows."""
    table, new = by_split(frame, budget), by_split(frame, budget, "cost_new")
    if table.empty:
        return folded(f"All methods at {text}", "No method has trees of this size.")
    ranks = _ranks(means(table)[0]), _ranks(means(new)[0])
    effects = {name: against_all(new, name) for name in OURS if name in new}
    lines = []
    for method in new:
        n_sets = int(np.isfinite(means(new)[0][method]).sum())
        cells = {"method": method, "sets": str(n_sets)}
        for words, found in zip(("fitted", "new"), ranks, strict=True):
            cells[f"rank, {words}"] = number(found.get(method, np.nan), 1)
        for name, (found, p_values) in effects.items():
            cells[f"{name} against it"] = _effect_words(found.get(method), p_values.get(method))
        lines.append(cells)
    words = (
        "*Against it* is the effect on new rows: the mean over data sets of log((cost of TAO + "
        "1 %) / (cost of the method + 1 %)) ± its standard error, then wins : losses over data "
        "sets and splits. Negative effects are in favour of TAO. A star marks p < "
        f"{SIGNIFICANT} (Wilcoxon's signed-rank test over data sets, Holm's correction for the "
        "methods of this table). The scalings of the same data count as one data set, and a cost "
        "below -0.9 % counts as -0.9 %. *Sets* are those on which the method has a tree of this "
        "size; on the others it has the last rank and no effect."
    )
    beaten = []
    for name in effects:
        better, all_others = better_than(new, name)
        beaten.append(f"{name} beats {len(better)} of {len(all_others)} methods")
    return folded(f"All methods at {text}: {listed(beaten)}", f"{words}\n\n{markdown(lines)}")


def _effect_words(each, p_value):
    if each is None or np.isnan(each.mean):
        return "-"
    star = "*" if p_value < SIGNIFICANT else ""
    return f"{with_error(each.mean, each.error)} ({each.wins} : {each.losses}){star}"


def _ranks(table):
    """Average ranks over the data sets that all methods of all data sets have: a dict."""
    whole = next(fields(table), None)
    if whole is None or len(whole) < FEWEST_SETS:
        return {}
    return ranking(whole).ranks.to_dict()


def _all_costs(frame):
    """Return one folded table per data set."""
    tables = {
        (text, words): means(by_split(frame, budget, column))
        for budget, text in budgets()
        if budget in SHOWN
        for words, column in (("fitted", "cost"), ("new", "cost_new"))
    }
    parts = []
    for data, part in frame.groupby("data", sort=False):
        lines = []
        for method in part["method"].unique():
            cells = {"method": method}
            for (text, words), (mean, error) in tables.items():
                is_there = data in mean.index and method in mean
                cell = _cell(mean, error, data, method) if is_there else "-"
                cells[f"{text}: {words}"] = cell
            lines.append(cells)
        shape = part.iloc[0]
        summary = (
            f"{title(data)}: {shape['rows']:.0f} fitted rows, {shape['columns']:.0f} columns, "
            f"k = {shape['clusters']:.0f}"
        )
        parts.append(folded(summary, markdown(lines)))
    return parts
