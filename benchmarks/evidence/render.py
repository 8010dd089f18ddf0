"""docs/results: pages, figures and small csv files (python -m benchmarks render)."""

import re
import textwrap
from functools import partial
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.pages import (
    ablations,
    comparison,
    costs,
    other_papers,
    overview,
    speed,
    tao_paper,
    words,
)
from benchmarks.evidence.provenance import Provenance, stamp
from benchmarks.evidence.runs import Results, keys
from benchmarks.evidence.tables import laber, peers
from benchmarks.evidence.tables.plan import Plan
from benchmarks.figures import FIGURES, draw

_WRAPPED = partial(textwrap.fill, break_long_words=False, break_on_hyphens=False)
_COMPARED = ("fresh-data", "known-data")
_PAPER = ("kdd22-table2", "kdd22-table1", "kdd22-table3", "kdd22-readings")
_OTHERS = (laber.NAME_21, laber.NAME_23, laber.NAME_23_SEARCH, "exkmc-fig3")
# Name of a page and of its template: the tables that it needs, and a function of their rows that
# returns what the template inserts.
PAGES = {
    "index": (_COMPARED[:1], overview.numbers),
    "fresh-data": (_COMPARED[:1], comparison.fresh),
    "known-data": (_COMPARED[1:], comparison.known_data),
    "tao-paper": (_PAPER, tao_paper.numbers),
    "other-papers": (_OTHERS, other_papers.numbers),
    "ablations": (("ablations",), ablations.numbers),
    "speed": (("speed",), speed.numbers),
}


class FalseSentenceError(ValueError):
    """A sentence of a template contradicts the measurements."""


class StaleResultsError(ValueError):
    """Rows were measured with other fits than those of this code."""


def check(condition, caller):
    """Return the sentence of a call block of a template, or raise if its condition is false."""
    if not condition:
        raise FalseSentenceError(f"the measurements contradict: {caller().strip()}")
    return caller()


def render(folder):
    """Write the pages, figures and small csv files whose tables are in a folder.

    Parameters
    ----------
    folder : path
    """
    measured = Provenance(folder).read()
    for name, (_, *tables) in FIGURES.items():
        if set(tables) <= set(measured):
            draw(name, folder, folder)
    write_costs(folder)
    for name, page in pages(folder).items():
        Path(folder, name).write_text(page, encoding="utf-8")


def write_costs(folder):
    """Write the costs of all methods per data set and limit, for each comparison in a folder."""
    frames = frames_of(folder)
    for name in _COMPARED:
        if name in frames:
            found = comparison.Comparison(frames[name])
            found.costs().to_csv(Path(folder, f"{name}-costs.csv"))


def pages(folder):
    """Return the text of each page whose tables are in a folder: dict of file name to str."""
    frames, templates, origins = frames_of(folder), environment(), Provenance(folder).read()
    stale = [name for name, frame in frames.items() if set(frame["stamp"]) != {stamp()}]
    if stale:
        raise StaleResultsError(f"measure again, because fits have changed: {', '.join(stale)}")
    hours = sum(each["cpu_seconds"] for each in origins.values()) / 3600
    found = {}
    for page, (tables, numbers) in PAGES.items():
        if set(tables) <= set(frames):
            sources = [_source(name, frames[name], origins.get(name, {})) for name in tables]
            values = {"sources": sources, "hours": hours} | numbers(frames)
            template = templates.get_template(f"{page}.md.jinja")
            found[f"{page}.md"] = filled(template.render(values))
    return found


def filled(page):
    """Return a page whose paragraphs and list items have lines of up to 128 characters."""
    blocks = re.split(r"\n{2,}", page.strip())
    for i, block in enumerate(blocks):
        if block[0] not in "|#!<" and "```" not in block:
            items = [" ".join(item.split()) for item in re.split(r"\n(?=- )", block)]
            indents = ["  " if item.startswith("- ") else "" for item in items]
            lines = [
                _WRAPPED(item, 128, subsequent_indent=each)
                for item, each in zip(items, indents, strict=True)
            ]
            blocks[i] = "\n".join(lines)
    return "\n\n".join(blocks) + "\n"


def frames_of(folder):
    """Return the rows of the tables that are there and whose origin is known."""
    measured = Provenance(folder).read()
    frames = {name: Results(Path(folder, f"{name}.csv")).frame() for name in measured}
    return {name: frame for name, frame in frames.items() if len(frame)}


def environment():
    """Return the templates with the modules of the pages and `check`."""
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - the pages are Markdown
    )
    modules = (words, costs, comparison, overview, tao_paper, other_papers, ablations, speed, peers)
    found.globals |= {module.__name__.rpartition(".")[2]: module for module in modules}
    found.globals["check"] = check
    filters = ("number", "listed", "title", "ratio")
    found.filters |= {name: getattr(words, name) for name in filters}
    return found


def _source(name, frame, origin):
    """Return where the rows of a csv file come from: a dict of str."""
    planned, there = {run.key for run in TABLES[name](Plan())}, keys(frame)
    return {
        "name": name,
        "runs": "all" if planned <= there else f"{len(planned & there)} of {len(planned)}",
        "minutes": words.number(origin.get("cpu_seconds", 0) / 60, 0),
        **{key: origin.get(key, "unknown") for key in ("date", "commit", "machine")},
    }
