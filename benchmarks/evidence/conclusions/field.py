"""Conclusions on all methods and all data sets."""

from benchmarks.evidence.conclusions.saying import Saying
from benchmarks.evidence.pages import field as page
from benchmarks.evidence.pages.words import counted, listed

_ONCE = "one split, one seed"
_MAIN = ("leaves", 2)  # the budget that stands for all: 2 k leaves


def wins(frame):
    """On how many data sets each TAO method costs least, apart from ties, at every budget."""
    texts, main = [], ""
    for budget, words in page.budgets():
        found = {name: page.beside_best(frame, budget, name) for name in page.OURS}
        if budget == _MAIN:
            both = [f"{name} {on[0]} and {on[1]}" for name, on in found.items() if on]
            main = f" At {words}, on seen rows and on new ones: {listed(both)}." if both else ""
        parts = [
            f"{name} {pair[0]}{_none(page.without_tree(frame, budget, name))}"
            for name, pair in found.items()
            if pair
        ]
        if parts:
            texts.append(f"{words}: {' and '.join(parts)}")
    return [
        Saying(
            "**The field.** Wins / ties / losses over data sets against the cheapest of all other "
            f"methods, TAO axis against those of single features ({_ONCE}).{main}",
            f"**The field, seen rows**, at all budgets. {'; '.join(texts)}.",
        )
    ]


def _none(sets):
    return f" (a loss on {listed(sets)}, for no run has a tree of that size)" if sets else ""


def losses(frame):
    """The same on new rows, where we lose most."""
    texts, sums = [], {name: [0, 0] for name in page.OURS}
    for budget, words in page.budgets():
        found = {name: page.beside_best(frame, budget, name) for name in page.OURS}
        for name, pair in found.items():
            if pair:
                sums[name] = [n + each.losses for n, each in zip(sums[name], pair, strict=True)]
        parts = [f"{name} {pair[1]}" for name, pair in found.items() if pair]
        if parts:
            texts.append(f"{words}: {' and '.join(parts)}")
    totals = [
        f"{name} {seen} on seen rows and {new} on new ones" for name, (seen, new) in sums.items()
    ]
    return [
        Saying(
            f"**Where we lose.** Losses over all budgets: {listed(totals)}. The best of the others "
            "is chosen with hindsight, and is another one from set to set. A search that finds "
            "cheaper trees for the rows it sees need not find cheaper ones for others, most of all "
            "where rows are few.",
            f"**The field, new rows**, at all budgets (wins / ties / losses). {'; '.join(texts)}.",
        )
    ]


def significance(frame):
    """Which methods a TAO method differs from by more than chance over data sets."""
    texts, main = [], []
    for name in page.OURS:
        for column, kind in (("cost", "seen rows"), ("cost_new", "new rows")):
            parts = [
                _significant(frame, budget, words, name, column)
                for budget, words in page.budgets()
                if budget in (_MAIN, ("parameters", 100))
            ]
            texts.append(f"{name}, {kind}: {'; '.join(filter(None, parts))}")
            found = page.duels_of(frame, _MAIN, name, column)
            if found:
                main.append(f"{name} {len(_cheaper(found))} of {len(found)} on {kind}")
    return [
        Saying(
            "**What is significant.** Other methods that are dearer at 2 k leaves by more than "
            f"chance: {listed(main) or 'none'} (Wilcoxon's signed-rank test over data sets, "
            f"{_ONCE}, Holm's correction, p < {page.SIGNIFICANT}); where a method has five or six "
            "data sets, hardly any difference could be significant.",
            f"**What is significant**, two of six budgets, the others are below. "
            f"{'. '.join(texts)}.",
        )
    ]


def _cheaper(found):
    """Methods that are dearer by more than chance, of what `duels_of` gives."""
    return [o for o, (d, p) in found.items() if p < page.SIGNIFICANT and d.wins > d.losses]


def _significant(frame, budget, words, name, column):
    found = page.duels_of(frame, budget, name, column)
    if not found:
        return ""
    cheaper = _cheaper(found)
    dearer = [o for o, (d, p) in found.items() if p < page.SIGNIFICANT and d.wins < d.losses]
    level = [o for o in found if o not in cheaper + dearer]
    parts = [f"at {words} cheaper than {len(cheaper)} of {counted(len(found), 'method')}"]
    parts += [f"dearer than {listed(dearer)}"] if dearer else []
    if len(level) > len(found) / 2:
        parts[0] += f" ({listed(cheaper)})" if cheaper else ""
        return ", ".join([*parts, "not to be told from the others"])
    parts += [f"not to be told from {listed(level)}"] if level else []
    return ", ".join(parts)
