"""Conclusions on the parts of the method, and on its time."""

import numpy as np

from benchmarks.evidence.conclusions.saying import Saying
from benchmarks.evidence.pages import ablations as page
from benchmarks.evidence.pages.words import counted, listed, title
from benchmarks.evidence.tables import field, oblique

ERRORS = 2  # standard errors that a ratio is to differ from 1 by
_SHOWN = 3
DEAR = 20.0  # CPU seconds of a fit: dear


def ablations(frame):
    """What changes the size at equal cost, on seen rows and on new ones."""
    found = page.all_beside(frame)
    by_kind = {kind: _pooled(found, kind) for kind in ("seen", "new")}
    sets = listed(title(data) for data in frame["data"].unique())
    details = (
        f"**What matters.** Parameters at the costs of the default's trees, over the default's, on "
        f"{sets}; ± is a standard error over seeds. On the rows of the fits "
        f"{_groups(by_kind['seen'])}. At equal cost of new rows {_groups(by_kind['new'])}. Of so "
        "many ratios one or two are beyond two errors by chance."
    )
    partial = [name for name, each in by_kind["seen"].items() if not each.is_whole]
    if partial:
        lines = "; ".join(_partly(name, found[name], by_kind["seen"][name]) for name in partial)
        details += (
            " **No ratio over all of these sets**, seen rows: on some too few of the default's "
            "costs are within the setting's range, for all its trees are dearer, or all cheaper. "
            f"In brackets how many costs are reached: {lines}."
        )
    text = (
        "**What matters.** Trees at equal cost are so many times as large as the default's: "
        f"{_largest(by_kind)}."
    )
    return [Saying(text, details), *_search(found, by_kind)]


def _largest(by_kind):
    """The settings that cost most where they have a ratio on all sets: a text."""
    seen, new = by_kind["seen"], by_kind["new"]
    whole = sorted((n for n, each in seen.items() if each.is_whole), key=lambda n: -seen[n].mean)
    lines = [
        f"{name} {page.with_error(seen[name].mean, seen[name].error)} on the rows of the fits and "
        f"{page.with_error(new[name].mean, new[name].error)} on new ones"
        for name in whole[:_SHOWN]
    ]
    return "; ".join(lines) or "none has a ratio on all sets"


class _Ratio(tuple):
    """Mean, error of its logarithm, whether all data sets have one."""

    mean, error, is_whole = (property(lambda self, i=i: self[i]) for i in range(3))


def _pooled(found, kind):
    ratios = {}
    for name, by_set in found.items():
        each = [getattr(own, kind) for own in by_set.values()]
        is_whole = all(np.isfinite(own.ratio) for own in each)
        if name != page.DEFAULT and not all(own.is_same for own in by_set.values()):
            ratios[name] = _Ratio((*page.pooled(each), is_whole))
    return ratios


def _groups(ratios):
    """Larger, smaller, level and single settings: a text."""
    whole = {name: each for name, each in ratios.items() if each.is_whole}
    single = [_told(name, each) for name, each in whole.items() if np.isnan(each.error)]
    far = {n: e for n, e in whole.items() if abs(np.log(e.mean)) > ERRORS * e.error}
    larger = [_told(n, e) for n, e in sorted(far.items(), key=lambda x: -x[1].mean) if e.mean > 1]
    smaller = [_told(n, e) for n, e in sorted(far.items(), key=lambda x: x[1].mean) if e.mean < 1]
    level = [_told(n, e) for n, e in whole.items() if n not in far and not np.isnan(e.error)]
    parts = [f"larger: {listed(larger) or 'none'}", f"smaller: {listed(smaller) or 'none'}"]
    parts.append(f"within {ERRORS} standard errors of 1: {listed(level) or 'none'}")
    parts += [f"of one or two seeds: {listed(single)}"] if single else []
    return "; ".join(parts)


def _told(name, each):
    return f"{name} {page.with_error(each.mean, each.error)}"


def _partly(name, by_set, ratio):
    """A setting that has a ratio on some data sets, or on none."""
    each = [own.seen for own in by_set.values()]
    total = sum(own.total for own in each)
    parts = [f"{sum(own.reached for own in each)} of {total}"]
    for words in ("dearer", "cheaper"):
        n = sum(getattr(own, words) for own in each)
        parts += [f"{n} {words}"] if n else []
    n_sets = sum(np.isfinite(own.ratio) for own in each)
    told = f"{_told(name, ratio)} on {n_sets} of {len(each)} sets" if n_sets else name
    return f"{told} ({', '.join(parts)})"


def _search(found, by_kind):
    """What the search gains on seen rows and on new ones, which is a question of its own."""
    name = "no search"
    if name not in by_kind["seen"]:
        return []
    seen, new = (by_kind[kind][name] for kind in ("seen", "new"))
    seconds = np.exp(np.mean(np.log([own.seconds for own in found[name].values()])))
    is_clear = abs(np.log(new.mean)) > ERRORS * new.error
    verdict = "that is more" if is_clear else "that is **no gain to be sure of**: not more"
    text = (
        f"**Search.** Without it trees are {page.with_error(seen.mean, seen.error)} times as large "
        f"at equal cost of the rows they were fitted to, and "
        f"{page.with_error(new.mean, new.error)} times at equal cost of new rows: {verdict} than "
        f"{ERRORS} standard errors from 1. It takes {1 - seconds:.0%} of the time of a fit."
    )
    return [Saying(text)]


def time(frame):
    """CPU time beside k-means and beside LIBLINEAR."""
    fits = frame[frame["setting"] == "beside k-means"]
    if fits.empty:
        return []
    times = fits["seconds"] / fits["yardstick"]
    nodes = frame[frame["method"] == "Newton"]
    spans = listed(
        f"{title(data)} {own.min():.1f} to {own.max():.1f}"
        for data, own in times.groupby(fits["data"], sort=False)
    )
    text = (
        "**Time.** CPU time of a fit, from one lambda without search to the dearest defaults, in "
        f"multiples of k-means of ten starts: {spans}."
    )
    if len(nodes):
        gains = nodes["yardstick"] / nodes["seconds"]
        text += (
            f" Our node solver takes 1/{gains.min():.1f} to 1/{gains.max():.0f} of LIBLINEAR's "
            f"time on {counted(len(nodes), 'problem')} from nothing (median "
            f"1/{np.median(gains):.1f})."
        )
    return [Saying(text)]


def dear_fits(of_field, of_oblique):
    """Axis-aligned TAO on images, beside ExKMC: where time is lost."""
    images = of_field[of_field["data"].isin(field.IMAGES)]
    texts = []
    for data, part in images.groupby("data", sort=False):
        own, other = (part[part["method"] == name]["seconds"] for name in ("TAO axis", "ExKMC"))
        if len(own) and len(other):
            texts.append(
                f"{title(data)} {own.min():.0f} to {own.max():.0f} s a fit, "
                f"{own.sum():.0f} s for {counted(len(own), 'size')} where ExKMC takes "
                f"{other.sum():.0f} s"
            )
    paths = of_oblique[
        (of_oblique["method"] == oblique.PATH) & of_oblique["data"].isin(field.IMAGES)
    ]
    sums = paths.groupby(["data", "seed"])["seconds"].sum().groupby("data", sort=False)
    of_paths = [f"{title(d)} {own.min():.0f} to {own.max():.0f} s" for d, own in sums]
    if not texts:
        return []
    text = f"**Where we are slow.** Axis-aligned TAO on images, CPU time: {'; '.join(texts)}."
    if of_paths:
        text += f" A whole path of oblique trees takes on {listed(of_paths)}."
    return [Saying(text)]
