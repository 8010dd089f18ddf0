"""The tables of figures in README.md, from the csv files (python -m benchmarks render)."""

import re
from pathlib import Path

from benchmarks.datasets import load
from benchmarks.evidence.pages import oblique as oblique_page
from benchmarks.evidence.pages.costs import OURS, by_split, means
from benchmarks.evidence.pages.starts import with_starts
from benchmarks.evidence.pages.words import averaged, counted, markdown, number, title, with_error
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import field, oblique

README = Path(__file__).parents[2] / "README.md"
_MARKS = "<!-- results: python -m benchmarks render -->", "<!-- end of results -->"
_DATA, _BUDGETS = "digits", (("parameters", 30), ("parameters", 100))
_METHODS = (*OURS, "ExKMC", "ExShallow", "CART")


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
        name: Results(Path(results, f"{name}.csv")).frame() for name in (oblique.NAME, field.NAME)
    }
    return "\n\n".join([_paper(frames[oblique.NAME]), _digits(frames[field.NAME])])


def _paper(frame):
    """Oblique trees beside those of the paper."""
    found = list(oblique_page.dominating(with_starts(frame), oblique.PATH))
    n_seeds = max(each["n_seeds"] for each in found)
    words = (
        "Table 2 of the KDD 2022 paper has nine oblique trees. For each of them, the first table "
        "has our smallest tree that costs no more, from a path along lambda. Costs are increases "
        "over k-means in percent; parameters are weights, thresholds and leaves; NMI is the "
        "agreement of our clusters with those of k-means (1: equal). Ours are means ± standard "
        "errors of "
        f"{counted(n_seeds, 'seed')} (`python -m benchmarks {oblique.NAME}`). These data were also "
        "used to choose the defaults."
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


def _digits(frame):
    """Methods on the digits, on fitted and new rows."""
    part = frame[frame["data"] == _DATA]
    n_splits = field.split_of(part).nunique()
    shape = part.iloc[0]
    words = (
        f"The second table has methods on {title(_DATA)} with {shape['clusters']:.0f} clusters, "
        "and at most 30 or 100 parameters (axis-aligned trees: 10 or 34 leaves; ExShallow always "
        "has ten). Costs are means ± standard errors "
        f"of {counted(n_splits, 'split')} into {shape['rows']:.0f} fitted and "
        f"{len(load(_DATA)[0]) - shape['rows']:.0f} new rows (`python -m benchmarks {field.NAME}`)."
    )
    lines = []
    for method in _METHODS:
        cells = {"method": method}
        for budget in _BUDGETS:
            for kind, column in (("fitted", "cost"), ("new", "cost_new")):
                mean, error = means(by_split(part, budget, column))
                cells[f"{budget[1]}: {kind}"] = with_error(
                    mean.loc[_DATA, method], error.loc[_DATA, method]
                )
        lines.append(cells)
    return f"{words}\n\n{markdown(lines)}"
