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
from benchmarks.evidence.tables.ablations import PENALTIES, PUBLISHED

DEFAULT = "default"
_LARGER = 1.05  # times as large: what the first paragraph names


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
        own["seconds"].mean() / base["seconds"].mean() if seeds else np.nan,
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
    # The lists of lambdas of a setting may share some.
    frame = frame.drop_duplicates(["data", "method", "seed", "point"])
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
        f"One setting of the default is changed at a time. All trees are fitted to 80 % of the "
        f"rows of {sets}, at three values of lambda. *Size* compares trees of equal cost: it is "
        "the number of parameters with the changed setting, divided by that of the default. 1.10 "
        "means 10 % more. *Size, new rows* is the same ratio, with costs measured on the 20 % of "
        "the rows that were not fitted. *Time* is the ratio of CPU seconds. [How a tree is found]"
        "(../guide/problem.md#how-a-tree-is-found) describes the parts that are changed:"
    )
    method = (
        "How sizes are compared: for the default and for each setting, a line is fitted to "
        "log(parameters) against log(cost) of the trees of all seeds. The distance between the two "
        "lines, averaged over the costs of the default's trees, gives the ratio of the sizes. A "
        "data set is used only if at least two thirds of the default's costs lie between the "
        "smallest and the largest cost of the setting (column *reached* of the folded tables). "
        "Only seeds whose default ran on the same machine are used, because another processor "
        "rounds sums differently, which can lead to another tree."
    )
    parts = [
        _answer(found),
        search_words(found),
        "## Settings",
        words,
        _meanings(found),
        "## Sizes and times",
        _summary(found),
        method + _other_commits(frame),
    ]
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


# Setting: what it changes.
_MEANINGS = {
    "one start": "one initial tree instead of four",
    "16 starts": "16 initial trees instead of four",
    "no refits, tuning or search": "the fit ends after the passes with the L1 penalty (*tuning* "
    "are the refits to the true cost)",
    "search of four rounds": 'four rounds, `search="fast"`',
    "thorough search": 'thirty rounds, `search="thorough"`',
    "no noisy copies": "fits use the rows alone (data of more than 10 000 rows never have copies)",
    "no tuning to the true cost": "no refits that change weights one at a time to lower the cost "
    "itself",
    "no reweighting": "no refits that penalise small weights more",
    "refits with all of lambda": "the last refit has the full lambda instead of 3 % of it",
    "tests of standardised columns": "the columns that are tested have standard deviation 1; "
    "clusters and costs are still those of the original columns",
    "published": '`algorithm="published"`, with up to six lambdas',
    "0/1 loss": "the paper's equation 8 with the 0/1 loss as the penalty, at a tenth of lambda",
    "0/1 loss, then all of ours": "the paper's equation 8 with the 0/1 loss, then all later steps "
    "of the default",
    "squared penalty": "the paper's equation 8 with the squared error as the penalty",
}


def _meanings(found):
    """Say what each setting changes: a list."""
    return "\n".join(f"- *{name}*: {_MEANINGS[name]}" for name in found if name in _MEANINGS)


def _answer(found):
    """Say which changes of the default make trees larger: a paragraph."""
    found = {
        name: by_set
        for name, by_set in found.items()
        if name not in (DEFAULT, PUBLISHED, *PENALTIES)
    }
    ratios = {name: size_of(found, name)[0] for name in found}
    larger = sorted(_larger(found, "seen"), key=ratios.get, reverse=True)
    parts = [f"{ratios[name]:.2f} times as large with *{name}*" for name in larger]
    rest = [mean for name, mean in ratios.items() if name not in larger and np.isfinite(mean)]
    text = f"**Result.** At equal cost, trees are {listed(parts)}." if parts else ""
    if rest:
        text += (
            f" With each of the {len(rest)} other changes of the default, they are {min(rest):.2f} "
            f"to {max(rest):.2f} times as large. (These counts are without the algorithm of the "
            f"paper and its variants: {listed(f'*{name}*' for name in (PUBLISHED, *PENALTIES))}.)"
        )
    missed = {
        name: sum(np.isnan(own.seen.ratio) for own in by_set.values())
        for name, by_set in found.items()
    }
    short = [
        f"*{name}* on {len(found[name]) - n} of {len(found[name])} data sets"
        for name, n in missed.items()
        if n
    ]
    if short:
        text += (
            " For some settings, sizes can be compared on a part of the data only, because costs "
            f"differ too much on the others: {listed(short)}."
        )
    new = [f"{size_of(found, name, 'new')[0]:.2f} with *{name}*" for name in _larger(found, "new")]
    if new:
        text += (
            f" With costs measured on new rows, the ratios above {_LARGER} that are also more than "
            f"two standard errors above 1 are {listed(new)}."
        )
    return text.strip()


def _larger(found, kind):
    """Return the settings whose trees are larger by more than two standard errors: list of str."""
    sizes = {name: size_of(found, name, kind) for name in found}
    return [
        name for name, (mean, error) in sizes.items() if mean > _LARGER and np.log(mean) > 2 * error
    ]


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
    if not np.isfinite(new[1]):
        return ""
    is_clear = abs(np.log(new[0])) > 2 * new[1]
    verdict = "is larger" if is_clear else "is **not** larger"
    return (
        "The *search over structures*, which can change the shape of a tree, is not part of a "
        "default fit without a limit. With four rounds of it, the size at equal cost is "
        f"{ratio_words(*seen)} times that of the default with costs of fitted rows, and "
        f"{ratio_words(*new)} times with costs of new rows. The latter difference {verdict} than "
        f"two standard errors. A fit takes {times:.1f} times as long."
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
        "The table shows geometric means over the data sets. ± is the standard error over seeds; "
        'it does not cover the choice of the data sets or of the split. "1 of 4 sets" means that '
        "sizes could be compared on one data set only, and a dash that they could on none."
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
