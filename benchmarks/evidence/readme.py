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
        "For each oblique tree in table 2 of the KDD 2022 paper, the table has our tree with the "
        "fewest parameters that costs no more: cost increase in percent and number of parameters "
        "(weights, thresholds and leaves). NMI is the agreement with the clusters of k-means (1: "
        f"equal). Ours are means ± standard errors of {counted(n_seeds, 'seed')} (`python -m "
        f"benchmarks {oblique.NAME}`):"
    )
    lines = [
        {
            "data": title(each["data"]),
            "the paper's TAO": f"{number(each['paper'].cost)} %, {each['paper'].parameters:.0f}",
            "TAO oblique: cost %": averaged([tree["cost"] for tree in each["trees"]]),
            "parameters": averaged([tree["parameters"] for tree in each["trees"]], 0),
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
        f"Methods on {title(_DATA)} with {shape['clusters']:.0f} clusters, with at most 30 or 100 "
        "parameters (axis-aligned trees: 10 or 34 leaves): cost increases in percent, means ± "
        f"standard errors of {counted(n_splits, 'split')} into {shape['rows']:.0f} fitted and "
        f"{len(load(_DATA)[0]) - shape['rows']:.0f} new rows (`python -m benchmarks "
        f"{field.NAME}`). ExShallow always has ten leaves:"
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
