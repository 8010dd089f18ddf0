"""The tables of results in README.md, from the csv files (python -m benchmarks render)."""

import re
from pathlib import Path

from benchmarks.evidence.pages import comparison
from benchmarks.evidence.render import environment, filled
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables import final

README = Path(__file__).parents[2] / "README.md"
_MARKS = "<!-- results: python -m benchmarks render -->", "<!-- end of results -->"


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
    found = comparison.fresh({final.NAME: Results(Path(results, f"{final.NAME}.csv")).frame()})
    return filled(environment().get_template("readme.jinja").render(found)).strip()
