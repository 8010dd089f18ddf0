"""docs/results: a page per csv file, an overview, and figures (python -m benchmarks render)."""

from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.evidence.answers import answers, overview_figures
from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.pages import costs
from benchmarks.evidence.pages.coverage import (
    commit_warning,
    coverage,
    cpu_seconds,
    provenance,
    state_words,
)
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables.plan import Plan
from benchmarks.figures import FIGURES, draw

_FORMAT = "svg"
# Nothing here is HTML: the pages are Markdown.
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701
)


def render(folder, is_quick=False):
    """Write index.md, a page per table and the figures beside the csv files of a folder.

    Parameters
    ----------
    folder : path
    is_quick : bool, whether they are of quick runs

    Returns
    -------
    path of index.md
    """
    for name in FIGURES:
        draw(name, folder, folder, _FORMAT)
    for name, page in pages(folder, is_quick).items():
        Path(folder, name).write_text(page, encoding="utf-8")
    return Path(folder, "index.md")


def pages(folder, is_quick=False):
    """Return the text of each page: dict of file name to str."""
    frames = {name: Results(Path(folder, f"{name}.csv")).frame() for name in TABLES}
    measured = [table for table in TABLES.values() if len(frames[table.name])]
    found = {}
    for table in measured:
        frame = frames[table.name]
        found[f"{table.name}.md"] = _TEMPLATES.get_template("page.md.jinja").render(
            table=table,
            warning=commit_warning(frame),
            text=table.section(frame),
            coverage=coverage(frame, table.runs(Plan(quick=is_quick))),
            provenance=provenance(frame),
        )
    found["comparisons.md"] = _TEMPLATES.get_template("comparisons.md.jinja").render(
        offset=f"{costs.OFFSET:g} %",
        least=f"{costs.LEAST:g} %",
        example=f"{np.log((5 + costs.OFFSET) / (2 + costs.OFFSET)):.1f}",
        significant=costs.SIGNIFICANT,
    )
    hours = sum(map(cpu_seconds, frames.values())) / 3600
    found["index.md"] = _TEMPLATES.get_template("index.md.jinja").render(
        answers=answers(frames),
        figures=overview_figures(frames),
        state=state_words({t.title: frames[t.name] for t in measured}) if measured else "",
        pages=measured,
        missing=[name for name, frame in frames.items() if frame.empty],
        hours=f"{hours:.1f}",
        quick=is_quick,
    )
    return found
