"""The tables of results in README.md, from the csv files (python -m benchmarks render)."""

import re
from pathlib import Path

from benchmarks.evidence.pages import comparison, tao_paper, words
from benchmarks.evidence.render import environment, filled
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import new_rows, oblique

README = Path(__file__).parents[2] / "README.md"
_MARKS = "<!-- results: python -m benchmarks render -->", "<!-- end of results -->"
_SHOWN = (7.90, 5.22, 4.06)  # printed costs: one tree per data set


def write(results):
    """Write the tables into README.md, between its two marks.

    Parameters
    ----------
    results : path, folder of the csv files
    """
    start, end = map(re.escape, _MARKS)
    text = README.read_text(encoding="utf-8")
    own = tables(results)
    README.write_text(
        re.sub(f"({start}).*({end})", lambda m: f"{m[1]}\n{own}\n{m[2]}", text, flags=re.DOTALL),
        encoding="utf-8",
    )


def tables(results):
    """Return the tables as Markdown."""
    names = (oblique.NAME, new_rows.FRESH)
    paper, fresh = (Results(Path(results, f"{name}.csv")).frame() for name in names)
    found = tao_paper.dominating(words.with_starts(paper))
    shown = [each for each in found if each["paper"].cost in _SHOWN]
    template = environment().get_template("readme.jinja")
    return filled(template.render(fresh=comparison.Comparison(fresh), shown=shown)).strip()
