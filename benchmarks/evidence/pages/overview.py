"""The first page of the results: one table of the main methods, and the claims with numbers."""

from benchmarks.evidence.pages import ablations, comparison, tao_paper
from benchmarks.evidence.pages.comparison import OVERVIEW, ROWS
from benchmarks.evidence.pages.words import markdown, number, ratio


def numbers(frames):
    """Return the numbers of the page."""
    found = comparison.fresh(frames) | comparison.known(frames)
    paper = tao_paper.numbers(frames)
    size = ablations.numbers(frames)["found"][ablations.PUBLISHED]["seen"]
    return found | {"paper": paper, "published_size": size}


def overview(found, rows=ROWS):
    """Return the table of the main methods of a Comparison, as Markdown."""
    return markdown([_line(found, method) for method in rows])


def _line(found, method):
    cells = {"method": method}
    for limit in OVERVIEW:
        cells[found.head(limit)] = number(found.median(method, limit))
    cells["NMI"] = number(found.median(method, kind="nmi"))
    return cells | {"time": ratio(found.time(method)[0])}
