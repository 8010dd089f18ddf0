"""The tables of figures in README.md, from the csv files (python -m benchmarks render)."""

import re
from pathlib import Path

from benchmarks.evidence.pages import oblique as oblique_page
from benchmarks.evidence.pages.costs import OURS, by_split
from benchmarks.evidence.pages.field import median
from benchmarks.evidence.pages.starts import with_starts
from benchmarks.evidence.pages.words import averaged, counted, markdown, number, title
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import new_rows, oblique
from benchmarks.evidence.tables.field import split_of

README = Path(__file__).parents[2] / "README.md"
_MARKS = "<!-- results: python -m benchmarks render -->", "<!-- end of results -->"
_BUDGETS = (("parameters", 30), ("parameters", 100))
_METHODS = (*OURS, "TAO published", "SpEx oblique", "ExKMC", "ExShallow", "CART")


def write(results):
    """Write the tables into README.md, between its two marks.

    Parameters
    ----------
    results : path, folder of the csv files
    """
    start, end = map(re.escape, _MARKS)
    text = README.read_text(encoding="utf-8")
    README.write_text(
        re.sub(
            f"({start}).*({end})", lambda m: f"{m[1]}\n{tables(results)}\n{m[2]}", text, flags=re.S
        ),
        encoding="utf-8",
    )


def tables(results):
    """Return the tables as Markdown."""
    frames = {
        name: Results(Path(results, f"{name}.csv")).frame()
        for name in (oblique.NAME, new_rows.FRESH)
    }
    return "\n\n".join([_paper(frames[oblique.NAME]), _fresh(frames[new_rows.FRESH])])


def _paper(frame):
    """Oblique trees beside those of the paper."""
    found = list(oblique_page.dominating(with_starts(frame), oblique.PATH))
    n_seeds = max(each["n_seeds"] for each in found)
    words = (
        "Table 2 of the KDD 2022 paper lists nine oblique trees. For each of them, the first "
        "table below also shows our smallest tree that costs no more. Costs are increases over "
        "k-means in percent. Parameters are weights, thresholds and leaves. NMI is the agreement "
        "of our clusters with those of k-means (1: equal). Our numbers are means ± standard "
        f"errors of {counted(n_seeds, 'seed')} (`python -m benchmarks {oblique.NAME}`). These "
        "data were also used to choose the defaults."
    )
    lines = [
        {
            "data": title(each["data"]),
            "paper: cost": number(each["paper"].cost),
            "paper: parameters": f"{each['paper'].parameters:.0f}",
            "ours: cost": averaged([tree["cost"] for tree in each["trees"]]),
            "ours: parameters": averaged([tree["parameters"] for tree in each["trees"]], 0),
            "NMI": oblique_page.agreement(each["trees"]),
        }
        for each in found
    ]
    return f"{words}\n\n{markdown(lines)}"


def _fresh(frame):
    """Median costs of methods on fresh data, on fitted and on new rows."""
    n_splits, n_sets = split_of(frame).nunique(), frame["data"].nunique()
    words = (
        "The second table compares trees with at most 30 or 100 parameters (10 or 34 leaves if "
        f"axis-aligned), on fitted and on new rows. Costs are medians over {n_sets} data sets that "
        "were not used to develop the library, each with "
        f"{frame['clusters'].iloc[0]:.0f} clusters and {counted(n_splits, 'split')} (`python -m "
        f'benchmarks {new_rows.FRESH}`). TAO published (`algorithm="published"`) cannot '
        "search for a size and has only ten values of lambda. ExShallow always has one leaf per "
        "cluster. A dash: no tree of this size on most data."
    )
    tables = {
        f"{budget[1]}: {kind}": by_split(frame, budget, column)
        for budget in _BUDGETS
        for kind, column in (("fitted", "cost"), ("new", "cost_new"))
    }
    lines = [
        {"method": method} | {head: number(median(table[method])) for head, table in tables.items()}
        for method in _METHODS
    ]
    return f"{words}\n\n{markdown(lines)}"
