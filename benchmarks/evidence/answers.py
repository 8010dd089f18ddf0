"""The answers on the first screen of the results; their numbers come from the csv files."""

from dataclasses import dataclass

import numpy as np

from benchmarks.evidence.pages import ablations as ablations_page
from benchmarks.evidence.pages import axis as axis_page
from benchmarks.evidence.pages import costs
from benchmarks.evidence.pages import oblique as oblique_page
from benchmarks.evidence.pages import text as text_page
from benchmarks.evidence.pages.costs import (
    OURS,
    against_all,
    against_best,
    budgets,
    by_split,
    rival_words,
    verdict,
)
from benchmarks.evidence.pages.field import agreement_of, costs_words, median
from benchmarks.evidence.pages.starts import with_starts
from benchmarks.evidence.pages.words import counted, figure, listed, number, out_of, title
from benchmarks.evidence.tables import ablations, axis, field, new_rows, oblique, speed, text

_MAIN = ("parameters", 100)  # the budget that stands for all
_MAIN_WORDS = "100 parameters"
_MOST_UNBEATEN = 3


@dataclass(frozen=True)
class Answer:
    """A question of a reader and its answer.

    Parameters
    ----------
    question : str
    sentences : list of str, Markdown
    """

    question: str
    sentences: list


_NOT_YET = "Not measured yet."


def answers(frames):
    """Return the five answers from the tables that have been measured: list of Answer."""
    found = (
        ("How close to the paper?", _reproduction(frames)),
        ("How good on new rows?", _new_rows(frames)),
        ("How small are the trees?", _sizes(frames)),
        ("How fast?", _times(frames)),
        ("Where does it lose?", _losses(frames)),
    )
    return [Answer(question, sentences or [_NOT_YET]) for question, sentences in found]


def overview_figures(frames):
    """Return the figures of the overview whose tables have been measured, with captions."""
    found = []
    if len(frames[oblique.NAME]):
        found.append(
            figure(
                "fronts",
                "Cost against parameters of oblique trees. A line joins the trees of one seed for "
                "all values of lambda. A star is a tree that the TAO paper prints. Lower and "
                "further left is better. [Details](kdd22-table2.md)",
            )
        )
    name, frame = comparison_of(frames)
    if len(frame):
        prefix = name.replace("-", "_")
        found.append(
            figure(
                f"{prefix}_effects",
                f"{costs.effects_caption(_MAIN_WORDS)} [Details]({name}.md)",
            )
        )
    if len(frames[field.NAME]):
        found.append(
            figure(
                "time_quality",
                "Time against cost of trees with two leaves per cluster, relative to CART. Mean "
                "over data sets; "
                "whiskers are standard errors. Lower and further left is better. "
                "[Details](speed.md)",
            )
        )
    return found


def comparison_of(frames):
    """Return name and rows of the table that shows new rows: data that did not shape the design.

    Without these, it is `new-rows`, or `field`.
    """
    names = [name for name in (new_rows.FRESH, new_rows.NAME) if len(frames[name])]
    name = (names or [field.NAME])[0]
    return name, frames[name]


def _reproduction(frames):
    """How close the trees are to the printed ones of the TAO paper."""
    found = []
    if len(frames[oblique.NAME]):
        rows = with_starts(frames[oblique.NAME])
        dominated = list(oblique_page.dominating(rows, oblique.PATH))
        whole = len(oblique_page.by_all_seeds(dominated))
        if dominated:
            found.append(
                "[Table 2](kdd22-table2.md) of the TAO paper prints oblique trees. For "
                f"{out_of(whole, len(dominated), 'tree')}, every seed finds a tree that is no "
                "larger and costs no more. (The defaults were chosen on these data.)"
            )
        ours = oblique_page.reproduction(frames[oblique.NAME])
        if ours:
            found.append(oblique_page.reproduction_words(ours, new_rows.PUBLISHED))
    if len(frames[axis.NAME]):
        found += axis_page.beside_paper(
            frames[axis.NAME], new_rows.PUBLISHED, "[table 1](kdd22-table1.md)"
        )
    return found


def _new_rows(frames):
    """What trees of a limited size cost on rows that were not fitted."""
    name, frame = comparison_of(frames)
    new = by_split(frame, _MAIN, "cost_new") if len(frame) else []
    ours = [method for method in OURS if method in new] if len(new) else []
    if not ours:
        return []
    n_splits, n_sets = field.split_of(frame).nunique(), frame["data"].nunique()
    is_fresh = name == new_rows.FRESH
    unseen = " that were not used to develop the library" if is_fresh else ""
    found = [
        f"Median costs on new rows of [{counted(n_sets, 'data set')}]({name}.md){unseen} "
        f"({counted(n_splits, 'split')} each, trees of at most {_MAIN_WORDS}): {costs_words(new)}."
    ]
    for method in ours:
        others, worse, better = verdict(*against_all(new, method))
        level = [other for other in others if other not in worse + better]
        text = (
            f"There, {method} is [significantly](comparisons.md#effects-and-significance) better "
            f"than {out_of(len(worse), len(others), 'other method')}."
        )
        if level and len(level) <= _MOST_UNBEATEN:
            text += f" The difference from {listed(level)} is not significant."
        if better and len(better) <= _MOST_UNBEATEN:
            text += f" {listed(better)} {'is' if len(better) == 1 else 'are'} better than {method}."
        found.append(text)
    return found


def _sizes(frames):
    """How many parameters trees need at the cost of other trees."""
    found = []
    if len(frames[oblique.NAME]):
        rows = oblique_page.dominating(with_starts(frames[oblique.NAME]), oblique.PATH)
        ratios = [ratio for row in rows for ratio in oblique_page.ratios_of(row)]
        if ratios:
            found.append(
                f"The [trees of the TAO paper](kdd22-table2.md) have {min(ratios):.1f} to "
                f"{max(ratios):.1f} times as many parameters as trees of ours that cost no more "
                "(range over trees and seeds)."
            )
    if len(frames[text.NAME]):
        found += _documents(frames[text.NAME])
    if len(frames[ablations.NAME]):
        beside = ablations_page.all_beside(frames[ablations.NAME])
        name, nothing = ablations.PUBLISHED, (np.nan, np.nan)
        mean, error = ablations_page.size_of(beside, name) if name in beside else nothing
        if np.isfinite(mean):
            found.append(
                'At equal cost, trees of `algorithm="published"` have '
                f"{ablations_page.ratio_words(mean, error)} [times as many parameters]"
                "(ablations.md) as those of the default."
            )
    return found


def _documents(frame):
    cart, tao = (frame[frame["method"] == name] for name in ("CART", text.PATH))
    pairs = [
        (text_page.smallest(tao, row.cost)["parameters"].mean(), row.parameters)
        for row in cart.sort_values("leaves").itertuples()
    ]
    missed = sum(np.isnan(ours) for ours, _ in pairs)
    pairs = [pair for pair in pairs if np.isfinite(pair[0])]
    if not pairs:
        return []
    rest = f" ({missed} more cost less than all of ours)" if missed else ""
    n_smaller = sum(ours < theirs for ours, theirs in pairs)
    ours, theirs = (listed(f"{size:.0f}" for size in sizes) for sizes in zip(*pairs, strict=True))
    return [
        f"On [documents](kdd22-table3.md), {counted(len(pairs), 'tree')} of CART have {theirs} "
        f"parameters. Oblique trees that cost no more have {ours}, "
        f"which is less for {out_of(n_smaller, len(pairs), 'tree')}{rest}."
    ]


def _times(frames):
    """CPU time of a fit beside k-means, and of axis-aligned trees beside CART."""
    found = []
    if len(frames[speed.NAME]):
        fits = frames[speed.NAME]
        fits = fits[fits["setting"] == "beside k-means"]
        default = fits[fits["method"] == "TAO oblique, defaults"]
        spans = [f"{row.seconds:.1f} s on {title(row.data)}" for row in default.itertuples()]
        ratios = default["seconds"] / default["yardstick"]
        if spans:
            found.append(
                f"CPU time of [a fit](speed.md) with the defaults: {listed(spans)}. This is "
                f"{ratios.min():.1f} to {ratios.max():.0f} times as long as ten starts of k-means."
            )
        single = fits[fits["method"] == "TAO oblique, one lambda, no refits"]
        if len(single):
            least = single["seconds"] / single["yardstick"]
            found.append(
                "With one given lambda and without the final refits, it takes "
                f"{least.min():.1f} to {least.max():.0f} times as long as ten starts of k-means."
            )
    beside = costs.beside(frames[field.NAME], "CART", ("leaves", 2))
    if beside is not None:
        names = [name for name in ("ExShallow", "ExKMC", "TAO axis") if name in beside.index]
        ratios = [f"{name} {beside.loc[name, 'time']:.2g}" for name in names]
        found.append(
            "Times of axis-aligned methods relative to CART, on average over [data sets]"
            f"(field.md): {listed(ratios)}."
        )
    images = frames[field.NAME]
    images = images[images["data"].isin(field.IMAGES) & (images["method"] == "TAO axis")]
    if len(images):
        seconds = images["seconds"]
        found.append(
            f"On {listed(map(title, images['data'].unique()))}, fits of TAO axis take "
            f"{seconds.min():.0f} to {seconds.max():.0f} s."
        )
    return found


def _lost_of_all(frame, method):
    """Count the losses to the best other method on new rows over all sizes: "lost of all"."""
    duels = [against_best(frame, size, method, "cost_new") for size, _ in budgets(method)]
    duels = [each for each in duels if each is not None]
    return f"{sum(each.losses for each in duels)} of {sum(each.total for each in duels)}"


def _least_favourable(frame, method):
    """Name the limit at which a method is significantly better than the fewest others."""
    found = {}
    for budget, words in budgets(method):
        new = by_split(frame, budget, "cost_new")
        if len(new) and method in new:
            others, worse, _ = verdict(*against_all(new, method))
            found[words] = len(worse), len(others)
    words = min(found, key=lambda each: found[each])
    n_worse, n_all = found[words]
    if max(found.values()) == found[words]:
        return ""  # no limit differs from the others
    words = words.replace("numbers", "[numbers](comparisons.md#limits-of-size)")
    return (
        f"{method} does worst at {words}: it is significantly better than {n_worse or 'none'} of "
        f"{n_all} methods."
    )


def _agreement(frame):
    """Name the methods whose clusters agree more with the free clusters than those of TAO."""
    nmi, name = agreement_of(frame, _MAIN), OURS[0]
    shown = {each: round(median(nmi[each]), 2) for each in nmi}
    higher = [each for each in nmi if each not in OURS and shown[each] > shown.get(name, np.inf)]
    if not higher:
        return []
    return [
        f"{listed(f'{each} ({number(shown[each])})' for each in higher)} agree better with k-means "
        f"than {name} ({number(shown[name])}; [NMI](comparisons.md#agreement-with-k-means) at "
        f"{_MAIN_WORDS})."
    ]


def _losses(frames):
    """Where other methods are better."""
    name, frame = comparison_of(frames)
    found, main, all_sizes, least = [], [], [], []
    for method in OURS if len(frame) else ():
        on_new = against_best(frame, _MAIN, method, "cost_new")
        if on_new is None:
            continue
        main.append(
            f"another {rival_words(method)} costs less than {method} on {on_new.losses} of "
            f"{on_new.total} sets"
        )
        all_sizes.append(f"{method} in {_lost_of_all(frame, method)}")
        least.append(_least_favourable(frame, method))
    if main:
        found.append(
            f"On [new rows]({name}.md#summary) with at most {_MAIN_WORDS}, {listed(main)}. "
            "Over all data sets and [limits of size](comparisons.md#limits-of-size), the best "
            f"other method beats {listed(all_sizes)} cases."
        )
        found += [" ".join(filter(None, least))] if any(least) else []
        found += _agreement(frame)
    return found
