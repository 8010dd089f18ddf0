"""The page of ablations: every setting beside the defaults, in size, new cost and time."""

from dataclasses import dataclass

import numpy as np

from benchmarks.evidence.pages.equal_cost import Comparison, compared
from benchmarks.evidence.pages.words import (
    counted,
    folded,
    listed,
    markdown,
    number,
    title,
    with_error,
)

DEFAULT = "default"


@dataclass(frozen=True)
class Beside:
    """A setting on a data set beside the default.

    Parameters
    ----------
    seeds : list of int, that the default has on the same machine
    apart : int, how many seeds are left out since the default ran on another machine
    seen, new : Comparison, by the cost of the rows of the fit and of new ones
    seconds : float, over the default's
    is_same : bool, whether all trees are the default's
    """

    seeds: list
    apart: int
    seen: Comparison
    new: Comparison
    seconds: float
    is_same: bool


def beside(part, default):
    """Compare the rows of a setting on a data set with the default's, seed by seed."""
    both = sorted(set(part["seed"]) & set(default["seed"]))
    pairs = {s: (part[part["seed"] == s], default[default["seed"] == s]) for s in both}
    # Sums are added up in another order on another processor: trees and times differ.
    seeds = [s for s, pair in pairs.items() if _machines(pair[0]) == _machines(pair[1])]
    own, base = (each[each["seed"].isin(seeds)] for each in (part, default))
    return Beside(
        seeds,
        len(both) - len(seeds),
        *(compared(own, base, column) if seeds else None for column in ("cost", "cost_new")),
        own["seconds"].sum() / base["seconds"].sum() if seeds else np.nan,
        bool(seeds) and all(_are_same(*pairs[s]) for s in seeds),
    )


def _machines(part):
    return set(part["machine"])


def _are_same(own, base):
    figures = [part[["cost", "parameters"]].to_numpy(dtype=float) for part in (own, base)]
    return figures[0].shape == figures[1].shape and np.allclose(*figures, rtol=1e-9, atol=1e-9)


def all_beside(frame):
    """Beside of every setting and data set that has a default: dict of dicts, by setting."""
    found = {}
    for data, part in frame.groupby("data", sort=False):
        default = part[part["method"] == DEFAULT]
        for method, own in part.groupby("method", sort=False) if len(default) else ():
            found.setdefault(method, {})[data] = beside(own, default)
    return found


def pooled(comparisons):
    """Geometric mean over the data sets that have a ratio, the standard error of its logarithm.

    The error is that of seeds; data sets are these few, not drawn.
    """
    whole = [each for each in comparisons if np.isfinite(each.ratio)]
    if not whole:
        return np.nan, np.nan
    errors = [each.error for each in whole]
    mean = np.exp(np.mean(np.log([each.ratio for each in whole])))
    return float(mean), float(np.sqrt(np.sum(np.square(errors))) / len(whole))


def section(frame):
    """Return the page as Markdown."""
    found = all_beside(frame)
    sets = listed(title(data) for data in frame["data"].unique())
    words = (
        f"One setting is changed at a time, on 80 % of the rows of {sets}, at three lambdas. "
        "*Size* is the number of parameters at the costs of the default's trees, over the "
        "default's: above 1 the setting makes trees larger. *Size, new rows* is the same at equal "
        "cost of the other 20 % of the rows. *Time* is CPU seconds over the default's."
    )
    method = (
        "A line of log parameters over log cost is fitted to the trees of all seeds of a setting. "
        "The size is the mean distance of two lines. *Reached* counts the costs of the default "
        "within the range of the setting's costs. There is no size if fewer than two thirds are "
        "reached, because these would not be a fair sample. A seed counts if the default was run "
        "on the same machine: another processor adds up sums in another order, and the search "
        "then finds other trees."
    )
    parts = [words, search_words(found), _summary(found), method + _other_commits(frame)]
    for data, part in frame.groupby("data", sort=False):
        default = part[part["method"] == DEFAULT]
        if default.empty:
            continue
        rows = [
            _line(method, own, found[method][data])
            for method, own in part.groupby("method", sort=False)
        ]
        k = f"{default['clusters'].iloc[0]:.0f}"
        n = counted(default["seed"].nunique(), "seed")
        parts.append(folded(f"{title(data)}, k = {k}, {n} of the default", markdown(rows)))
    return "\n\n".join(parts)


def _other_commits(frame):
    """Say which settings were run at another commit than the default of their data and seed."""
    key = ["data", "seed"]
    default = frame[frame["method"] == DEFAULT].groupby(key)["commit"].first().rename("default's")
    both = frame.join(default, on=key)
    other = both[both["commit"] != both["default's"]].dropna(subset=["default's"])
    methods = list(other["method"].unique())
    if not methods:
        return ""
    return f" Settings that were run at another commit than the default: {listed(methods)}."


def size_of(found, method, kind="seen"):
    """Return the geometric mean of a setting's size over data sets, and its relative error."""
    return pooled([getattr(own, kind) for own in found[method].values()])


def search_words(found):
    """Say what rounds of the search change on fitted and on new rows, and what they take."""
    name = "search of four rounds"
    if name not in found:
        return ""
    seen, new = (size_of(found, name, kind) for kind in ("seen", "new"))
    times = np.exp(np.mean(np.log([own.seconds for own in found[name].values()])))
    is_gain = np.log(new[0]) < -2 * new[1]
    verdict = "This is a gain of more" if is_gain else "This is **no certain gain**: it is not more"
    return (
        f"*Search.* With four rounds of it, trees are {ratio_words(*seen)} times as large at equal "
        f"cost of the fitted rows, and {ratio_words(*new)} times at equal cost of new rows. "
        f"{verdict} than two standard errors on new rows. A fit takes {times:.1f} times as long."
    )


def _summary(found):
    rows = []
    for method, by_set in found.items():
        each = list(by_set.values())
        cells = {"setting": method}
        is_same = all(own.is_same for own in each) and method != DEFAULT
        for words, kind in (("size", "seen"), ("size, new rows", "new")):
            n_sets = sum(np.isfinite(getattr(own, kind).ratio) for own in each)
            cells[words] = "no effect" if is_same else ratio_words(*size_of(found, method, kind))
            cells[words] += f" ({n_sets} of {len(each)} sets)" if 0 < n_sets < len(each) else ""
        cells["time"] = number(float(np.exp(np.mean(np.log([own.seconds for own in each])))))
        seeds = sorted({len(own.seeds) for own in each})
        cells["seeds"] = " to ".join(dict.fromkeys(map(str, (seeds[0], seeds[-1]))))
        rows.append(cells)
    words = (
        "Geometric means over the data sets; ± is the standard error over seeds. A dash: too few "
        "costs are reached on all data sets."
    )
    return f"{words}\n\n{markdown(rows)}"


def ratio_words(mean, error):
    """A ratio and its standard error; `error` is that of the logarithm and small."""
    return with_error(mean, mean * error)


def _line(method, part, own):
    """A line of a data set's table; means over lambdas are of all seeds that there are."""
    is_default = method == DEFAULT
    return {
        "setting": method,
        "size": "no effect" if own.is_same and not is_default else number(own.seen.ratio),
        "reached": f"{own.seen.reached} of {own.seen.total}",
        "size, new rows": number(own.new.ratio),
        "time": number(own.seconds),
        "cost %": " / ".join(number(value) for value in _by_lambda(part, "cost")),
        "seeds": f"{len(own.seeds)}" + (f" (+{own.apart})" if own.apart else ""),
    }


def _by_lambda(part, column):
    return part.groupby(part["point"].astype(float))[column].mean()
