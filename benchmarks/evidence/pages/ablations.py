"""The section of ablations: every setting beside the defaults, in size, new cost and time."""

from dataclasses import dataclass

import numpy as np

from benchmarks.evidence.pages.equal_cost import Comparison, compared
from benchmarks.evidence.pages.words import counted, listed, markdown, number, title

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
    """The section, Markdown."""
    found = all_beside(frame)
    words = (
        "One setting changed at a time, on 80 % of the rows, at three lambdas. *Size* is the "
        "number of parameters at the costs of the default's trees, over the default's: the mean "
        "distance of two lines, of log parameters over log cost, each fitted to the trees of all "
        "seeds of a setting. *Reached* tells how many of the default's costs lie within the range "
        "of the setting's; for the others all its trees are dearer, or all cheaper. Where fewer "
        "than two thirds are reached there is no ratio, since those that are would be no fair "
        "sample. *Size, new rows* is the same at equal cost of the other 20 % of the rows. *Time* "
        "is CPU seconds over the default's. A seed counts if the default was run on the "
        "same machine: on another one sums are added up in another order, and the search finds "
        "other trees."
    )
    parts = [words + _other_commits(frame), "### Over the data sets", *_summary(frame, found)]
    for data, part in frame.groupby("data", sort=False):
        default = part[part["method"] == DEFAULT]
        if default.empty:
            continue
        k = f"{default['clusters'].iloc[0]:.0f}"
        n = counted(default["seed"].nunique(), "seed")
        parts.append(f"### {title(data)}, k = {k}, {n} of the default")
        rows = [
            _line(method, own, found[method][data])
            for method, own in part.groupby("method", sort=False)
        ]
        parts.append(markdown(rows))
    return "\n\n".join(parts)


def _other_commits(frame):
    """Which settings were run at another commit than the default of their data set and seed."""
    key = ["data", "seed"]
    default = frame[frame["method"] == DEFAULT].groupby(key)["commit"].first().rename("default's")
    both = frame.join(default, on=key)
    other = both[both["commit"] != both["default's"]].dropna(subset=["default's"])
    methods = list(other["method"].unique())
    if not methods:
        return ""
    return f" Run at another commit than the default of the same set and seed: {listed(methods)}."


def _summary(frame, found):
    rows = []
    for method, by_set in found.items():
        each = list(by_set.values())
        seeds = sorted({len(own.seeds) for own in each})
        cells = {"setting": method, "data sets": str(len(each))}
        cells["seeds"] = " to ".join(dict.fromkeys(map(str, (seeds[0], seeds[-1]))))
        for words, kind in (("size", "seen"), ("size, new rows", "new")):
            comparisons = [getattr(own, kind) for own in each]
            n_sets = sum(np.isfinite(own.ratio) for own in comparisons)
            cells[words] = with_error(*pooled(comparisons))
            cells[words] += f", {n_sets} of {len(each)} sets" if 0 < n_sets < len(each) else ""
            reached = sum(own.reached for own in comparisons)
            cells[f"reached{words.removeprefix('size')}"] = (
                f"{reached} of {sum(own.total for own in comparisons)}"
            )
        cells["time"] = number(float(np.exp(np.mean(np.log([own.seconds for own in each])))))
        cells["no effect on"] = listed(title(d) for d, own in by_set.items() if own.is_same)
        rows.append(cells if method != DEFAULT else cells | {"no effect on": ""})
    words = (
        f"Geometric means over {listed(title(data) for data in frame['data'].unique())}, ± their "
        'standard error over seeds (none with one seed). "3 of 4 sets": on another one too few '
        "costs are reached; a dash: on all."
    )
    return [words, markdown(rows)]


def with_error(mean, error):
    """A ratio and its standard error, which is small, so that it is as large in the ratio."""
    if np.isnan(mean):
        return "-"
    return number(mean) + ("" if np.isnan(error) else f" ± {mean * error:.2f}")


def _line(method, part, own):
    """A line of a data set's table; means over lambdas are of all seeds that there are."""
    is_default = method == DEFAULT
    apart = f" ({own.apart} more on another machine)" if own.apart else ""
    return {
        "setting": method,
        "seeds": f"{len(own.seeds)}{apart}",
        "size": "no effect" if own.is_same and not is_default else number(own.seen.ratio),
        "reached": own.seen.counts,
        "size, new rows": number(own.new.ratio),
        "reached ": own.new.counts,
        "time": number(own.seconds),
        "cost %": " / ".join(number(value) for value in _by_lambda(part, "cost")),
        "new rows %": " / ".join(number(value) for value in _by_lambda(part, "cost_new")),
        "parameters": " / ".join(number(value, 0) for value in _by_lambda(part, "parameters")),
    }


def _by_lambda(part, column):
    return part.groupby(part["point"].astype(float))[column].mean()
