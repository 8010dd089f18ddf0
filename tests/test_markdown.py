"""Every page of Markdown is whole on GitHub, which knows neither Sphinx nor files that it makes."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("", "docs", "docs/guide", "docs/join", "docs/results", "notebooks", "benchmarks")
PAGES = sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.md"))
CODE = re.compile(r"^( *)```[^{\n]*\n.*?^\1```$|`[^`\n]*`", flags=re.MULTILINE | re.DOTALL)
MYST = {
    "a role such as {func}`...`": r"\{[a-z:]+\}`",
    "a directive such as a toctree": r"^(```|:::)\{",
    "a block of HTML": r"^<(?!!--|/?details|/?summary)",
}


def shown(page):
    """The text of a page outside of code and comments, in which nothing is a link."""
    return CODE.sub("", without_comments(page))


def without_comments(page):
    return re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def tracked():
    """Names of the files of the repository: set of Path; None outside of a checkout."""
    command = ["git", "ls-files", "-z"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return {ROOT / name for name in done.stdout.split("\0") if name} or None


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page_is_plain_markdown(page):
    text = without_comments(page)
    assert [what for what, form in MYST.items() if re.search(form, text, re.MULTILINE)] == []


def test_links_lead_to_files_of_the_repository():
    files = tracked() or {path for path in ROOT.rglob("*") if path.is_file()}
    places = files | {folder for path in files for folder in path.parents}
    dead = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\(([^)\s]+)\)", shown(page))
        if "://" not in link and (page.parent / link.split("#")[0]).resolve() not in places
    ]
    assert dead == []
