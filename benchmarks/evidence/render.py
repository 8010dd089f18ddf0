"""docs/results: what the .csv files say, as a page with figures (python -m benchmarks render)."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmarks.evidence.catalogue import TABLES
from benchmarks.evidence.conclusions import conclusions
from benchmarks.evidence.pages.coverage import coverage, cpu_seconds, provenance
from benchmarks.evidence.runs import Results
from benchmarks.evidence.tables.plan import Plan
from benchmarks.figures import FIGURES, draw

_FORMAT = "svg"
# Nothing here is HTML: the page is Markdown.
_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701
)


def render(folder, is_quick=False):
    """Write index.md and its figures beside the .csv files of a folder.

    Parameters
    ----------
    folder : path
    is_quick : bool, whether they are of quick runs

    Returns
    -------
    path of index.md
    """
    frames = {name: Results(Path(folder, f"{name}.csv")).frame() for name in TABLES}
    for name in FIGURES:
        draw(name, folder, folder, _FORMAT)
    sections = [
        {
            "name": table.name,
            "title": table.title,
            "coverage": coverage(frames[table.name], table.runs(Plan(quick=is_quick))),
            "provenance": provenance(frames[table.name]),
            "text": table.section(frames[table.name]),
        }
        for table in TABLES.values()
        if len(frames[table.name])
    ]
    missing = [name for name, frame in frames.items() if frame.empty]
    hours = sum(cpu_seconds(name, frame) for name, frame in frames.items()) / 3600
    page = _TEMPLATES.get_template("index.md.jinja").render(
        sections=sections,
        missing=missing,
        conclusions=conclusions(frames),
        hours=f"{hours:.1f}",
        quick=is_quick,
    )
    path = Path(folder, "index.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path
