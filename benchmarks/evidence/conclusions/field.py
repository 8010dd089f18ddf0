"""Conclusions on all methods and all data sets."""

from benchmarks.evidence.pages import field as page
from benchmarks.evidence.pages.words import counted, listed

_ONCE = "one split, one seed"


def wins(frame):
    """On how many data sets each TAO method costs least, apart from ties, at every budget."""
    texts = []
    for budget, words in page.budgets():
        found = {name: page.beside_best(frame, budget, name) for name in page.OURS}
        parts = [
            f"{name} {pair[0]}{_none(page.without_tree(frame, budget, name))}"
            for name, pair in found.items()
            if pair
        ]
        if parts:
            texts.append(f"{words}: {' and '.join(parts)}")
    return [
        "**The field, seen rows** (wins / ties / losses over data sets against the cheapest of all "
        "other methods, TAO of single features against those of single features; "
        f"{_ONCE}). {'; '.join(texts)}."
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
        "**Where we lose.** The same on rows that no fit has seen (wins / ties / losses; the best "
        "of the others is chosen with hindsight, and is another one from set to set). "
        f"{'; '.join(texts)}. Losses over all budgets: {listed(totals)}. A search that finds "
        "cheaper trees for the rows it sees need not find cheaper ones for others, most of all "
        "where rows are few."
    ]


def significance(frame):
    """Which methods a TAO method differs from by more than chance over data sets."""
    texts = []
    for name in page.OURS:
        for column, kind in (("cost", "seen rows"), ("cost_new", "new rows")):
            parts = [
                _significant(frame, budget, words, name, column)
                for budget, words in page.budgets()
                if budget in (("leaves", 2), ("parameters", 100))
            ]
            texts.append(f"{name}, {kind}: {'; '.join(filter(None, parts))}")
    return [
        f"**What is significant** (Wilcoxon's signed-rank test over data sets, {_ONCE}, Holm's "
        f"correction, p < {page.SIGNIFICANT}; two of six budgets, the others are below). "
        f"{'. '.join(texts)}. Where a method has five or six data sets, hardly any "
        "difference could be."
    ]


def _significant(frame, budget, words, name, column):
    found = page.duels_of(frame, budget, name, column)
    if not found:
        return ""
    cheaper = [o for o, (d, p) in found.items() if p < page.SIGNIFICANT and d.wins > d.losses]
    dearer = [o for o, (d, p) in found.items() if p < page.SIGNIFICANT and d.wins < d.losses]
    level = [o for o in found if o not in cheaper + dearer]
    parts = [f"at {words} cheaper than {len(cheaper)} of {counted(len(found), 'method')}"]
    parts += [f"dearer than {listed(dearer)}"] if dearer else []
    if len(level) > len(found) / 2:
        parts[0] += f" ({listed(cheaper)})" if cheaper else ""
        return ", ".join([*parts, "not to be told from the others"])
    parts += [f"not to be told from {listed(level)}"] if level else []
    return ", ".join(parts)
