"""The results in README.md, paper.md and docs/index.md (python -m benchmarks render)."""

from pathlib import Path

from benchmarks.evidence.pages import overview
from benchmarks.evidence.render import environment, filled, frames_of

ROOT = Path(__file__).parents[2]
# File: the template of what stands between its two marks, and the path from it to the pages.
FILES = {
    "README.md": ("readme.jinja", "docs/"),
    "paper.md": ("paper.jinja", "docs/"),
    "docs/index.md": ("readme.jinja", ""),
}
_MARKS = "<!-- results: python -m benchmarks render -->", "<!-- end of results -->"


def write(results):
    """Write the results into the files, between the two marks of each.

    Parameters
    ----------
    results : path, folder of the csv files
    """
    for name, own in texts(results).items():
        path = ROOT / name
        start, end = _MARKS
        before, _, rest = path.read_text(encoding="utf-8").partition(start)
        after = rest.partition(end)[2]
        path.write_text(f"{before}{start}\n{own}\n{end}{after}", encoding="utf-8")


def texts(results):
    """Return the text of each file as Markdown: a dict of str."""
    found, templates = overview.numbers(frames_of(results)), environment()
    return {
        name: filled(templates.get_template(template).render(found | {"docs": path})).strip()
        for name, (template, path) in FILES.items()
    }
