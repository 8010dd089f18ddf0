"""Numbers of measurements in the guide are outputs of commands, not typed by hand."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from benchmarks import pages
from benchmarks.clusters import main as print_clusters

DOCS = Path(__file__).parents[1] / "docs"
GUIDE = sorted([*DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md"), *(DOCS / "join").glob("*.md")])
ALL_OUTPUTS = [
    pytest.param(output, id=f"{path.stem}: {output.command}"[:80])
    for path in GUIDE
    for output in pages.outputs(path.read_text(encoding="utf-8"))
]
# tests/test_customers.py compares the blocks of these pages with what the program prints.
WITHOUT_MEASUREMENTS = {"index.md", "start.md"}
SECTIONS = re.compile(r"[Ss]ections? [\d.]+( and [\d.]+)?")  # of papers
BLOCK = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1``` *$", flags=re.MULTILINE | re.DOTALL)
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+")
MOST = 2  # maximum number of decimals in a table or block that is not an output


def measured_in(page):
    """Decimals in each table and plain block of code of a page that is not an output."""
    for output in pages.outputs(page):
        page = page.replace(output.text, "")
    texts = [text for _, language, text in BLOCK.findall(page) if language in ("", "text")]
    texts += re.findall(r"(?:^ *\|.*\n)+", BLOCK.sub("", page), flags=re.MULTILINE)
    found = [DECIMAL.findall(SECTIONS.sub("", text)) for text in texts]
    return [decimals for decimals in found if len(decimals) > MOST]


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.name)
def test_tables_of_measurements_are_outputs_of_commands(path):
    if path.name not in WITHOUT_MEASUREMENTS:
        assert measured_in(path.read_text(encoding="utf-8")) == []


def test_typed_measurements_are_found():
    table = "| a | b |\n|---|---|\n| 0.81 | 0.7 ± 0.1 |\n| 1.2 (10, 4) | section 9.2 |\n"
    assert measured_in(table) == [["0.81", "0.7", "0.1", "1.2"]]
    block = "```\nIMM 0.81 0.7\nCART 0.5\n```\n"
    python = "```python\n>>> 0.1 + 0.2 + 0.3\n```\n"
    assert measured_in(f"{python}Prose with 0.1, 0.2 and 0.3.\n\n{block}") == [
        ["0.81", "0.7", "0.5"]
    ]
    assert measured_in(f"<!-- output: python -m x -->\n{table}<!-- end of output -->\n") == []


def test_pages_have_outputs():
    assert len(ALL_OUTPUTS) > 5


@pytest.mark.parametrize("output", ALL_OUTPUTS)
def test_outputs_name_their_commands(output):
    python, option, module, *_ = shlex.split(output.command)
    assert (python, option) == ("python", "-m")
    assert importlib.util.find_spec(module)
    caption = r"\*Output of `(.+)`, with the packages of commit `\w+`, \d{4}-\d{2}-\d{2}\.\*\n\n"
    assert re.search(caption + r"\Z", output.text)[1] == output.command
    assert len(output.text.splitlines()) > 5


def test_output_replaces_the_lines_below_its_command():
    page = (
        "before\n\n<!-- output: python -m one -->\nold\n<!-- end of output -->\n\nbetween\n\n"
        "<!-- output: python -m two -->\n<!-- end of output -->\n\nafter\n"
    )
    found = pages.with_output(page, "python -m one", "| a |\n|---|\n| 1 |\n")
    one, two = pages.outputs(found)
    assert one.text.startswith("\n| a |\n|---|\n| 1 |\n\n*Output of `python -m one`, with the ")
    assert two.text == ""
    found = pages.with_output(found, "python -m two", "plain\n")
    assert pages.outputs(found)[0] == one
    assert pages.outputs(found)[1].text.startswith("\n```text\nplain\n```\n\n*Output of `python")
    assert "old" not in found
    assert found.startswith("before\n\n<!--")
    assert found.endswith("<!-- end of output -->\n\nafter\n")


def test_only_commands_of_python_are_run():
    with pytest.raises(ValueError, match="must start with python"):
        pages.printed_by("rm -r docs")


@pytest.mark.slow
def test_output_in_a_page_is_what_its_command_prints(monkeypatch, capsys):
    """Axis-aligned trees of the page on many clusters, without their times.

    k-means can find slightly other clusters on another kind of processor.
    """
    methods = ["IMM", "ExKMC", "ExShallow", "CART"]
    monkeypatch.setattr("sys.argv", ["clusters", "--clusters", "10", "50", "--methods", *methods])
    print_clusters()

    def lines(text):
        """Method and k, with leaves and cost increase."""
        rows = (re.split(r" *\| *", line.strip("| ")) for line in text.splitlines())
        return {tuple(row[:2]): (int(row[3]), float(row[6])) for row in rows if row[0] in methods}

    found = pages.outputs((DOCS / "guide" / "methods.md").read_text(encoding="utf-8"))
    page = next(text for command, text in found if command == "python -m benchmarks.clusters")
    kept, now = lines(page), lines(capsys.readouterr().out)
    assert len(now) == 8
    for key, (leaves, cost) in now.items():
        assert (leaves, cost) == (kept[key][0], pytest.approx(kept[key][1], rel=0.05)), key
