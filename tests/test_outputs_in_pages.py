"""Tables of measurements in the guide are outputs of commands, not typed by hand."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from benchmarks import pages

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = sorted([*DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md"), *(DOCS / "join").glob("*.md")])
# tests/test_customers.py compares the blocks of these pages with what the program prints.
WITHOUT_MEASUREMENTS = {"index.md", "start.md", "command_line.md"}
SECTIONS = re.compile(r"[Ss]ections? [\d.]+( and [\d.]+)?")  # of papers
BLOCK = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1``` *$", flags=re.MULTILINE | re.DOTALL)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+")
CAPTION = r"\*Output of `(.+)`, with the packages of commit `\w+`, \d{4}-\d{2}-\d{2}\.\*\n\n\Z"


def measured_in(page):
    """Tables and plain blocks of a page that have over two decimals and are not an output."""
    for output in pages.outputs(page):
        page = page.replace(output.text, "")
    texts = [text for _, language, text in BLOCK.findall(page) if language in ("", "text")]
    texts += re.findall(r"(?:^ *\|.*\n)+", BLOCK.sub("", page), flags=re.MULTILINE)
    return [text for text in texts if len(DECIMAL.findall(SECTIONS.sub("", text))) > 2]


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.name)
def test_tables_of_measurements_are_outputs_of_commands(path):
    page = path.read_text(encoding="utf-8")
    assert path.name in WITHOUT_MEASUREMENTS or measured_in(page) == []
    for command, text in pages.outputs(page):
        python, option, module, *_ = shlex.split(command)
        assert (python, option) == ("python", "-m")
        assert importlib.util.find_spec(module)
        assert re.search(CAPTION, text)[1] == command
        assert len(text.splitlines()) > 5


def test_typed_measurements_are_found():
    table = "| a | b |\n|---|---|\n| 0.81 | 0.7 ± 0.1 |\n| 1.2 (10, 4) | section 9.2 |\n"
    block = "```\nIMM 0.81 0.7\nCART 0.5\n```\n"
    python = "```python\n>>> 0.1 + 0.2 + 0.3\n```\n"
    prose = "Prose with 0.1, 0.2 and 0.3.\n\n"
    assert measured_in(python + prose + block + table) == ["IMM 0.81 0.7\nCART 0.5\n", table]
    assert measured_in(f"<!-- output: python -m x -->\n{table}<!-- end of output -->\n") == []


def test_output_replaces_the_lines_below_its_command():
    one, two = (f"<!-- output: python -m {name} -->\n" for name in ("one", "two"))
    end = "<!-- end of output -->\n"
    page = f"before\n\n{one}old\n{end}\nbetween\n\n{two}{end}\nafter\n"
    page = pages.with_output(page, "python -m one", "| a |\n|---|\n| 1 |\n")
    page = pages.with_output(page, "python -m two", "plain\n")
    table, plain = (output.text for output in pages.outputs(page))
    assert table.startswith("\n| a |\n|---|\n| 1 |\n\n*Output of `python -m one`, with the ")
    assert plain.startswith("\n```text\nplain\n```\n\n*Output of `python -m two`, with the ")
    assert re.fullmatch(r"before\n\n<!--.*-->\n\nbetween\n\n<!--.*-->\n\nafter\n", page, re.DOTALL)
    with pytest.raises(ValueError, match="must start with python"):
        pages.printed_by("rm -r docs")
