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
# The table in this page is an example of what the program prints about the columns of a file.
WITHOUT_MEASUREMENTS = {"command_line.md"}
MEASURED = re.compile(r"-?\d+\.\d+( ± \d+\.\d+)?( %)?")
MOST = 2  # so many numbers with a point can stand in a table, such as parameters


def measured_in(page):
    """Numbers with a point in tables and blocks of a page that no command has printed."""
    page = pages.without_outputs(page)
    blocks = re.findall(r"^ *```(?:text)?\n(.*?)^ *```", page, flags=re.MULTILINE | re.DOTALL)
    tables = re.findall(r"(?:^ *\|.*\n)+", page, flags=re.MULTILINE)
    cells = [block.split() for block in blocks]
    cells += [[cell.strip() for cell in table.split("|")] for table in tables]
    found = [[cell for cell in part if MEASURED.fullmatch(cell)] for part in cells]
    return [part for part in found if len(part) > MOST]


@pytest.mark.parametrize("path", GUIDE, ids=lambda path: path.name)
def test_tables_of_measurements_are_outputs_of_commands(path):
    if path.name not in WITHOUT_MEASUREMENTS:
        assert measured_in(path.read_text(encoding="utf-8")) == []


def test_typed_measurements_are_found():
    table = "| a | b |\n|---|---|\n| 0.81 | 0.7 ± 0.1 |\n| 1.2 % | x |\n"
    assert measured_in(table) == [["0.81", "0.7 ± 0.1", "1.2 %"]]
    assert measured_in("```\nIMM 0.81 0.7\nCART 0.5\n```\n") == [["0.81", "0.7", "0.5"]]
    assert measured_in(f"<!-- output: python -m x -->\n{table}<!-- end of output -->\n") == []


@pytest.mark.parametrize("output", ALL_OUTPUTS)
def test_outputs_name_their_commands(output):
    python, option, module, *_ = shlex.split(output.command)
    assert (python, option) == ("python", "-m")
    assert importlib.util.find_spec(module)
    caption = r"\*Output of `(.+)` at commit `\w+`, \d{4}-\d{2}-\d{2}\.\*\n\n"
    assert re.search(caption + r"\Z", output.text)[1] == output.command
    assert len(output.text.splitlines()) > 5


def test_output_replaces_the_lines_below_its_command():
    page = (
        "before\n\n<!-- output: python -m one -->\nold\n<!-- end of output -->\n\nbetween\n\n"
        "<!-- output: python -m two -->\n<!-- end of output -->\n\nafter\n"
    )
    found = pages.with_output(page, "python -m one", "| a |\n|---|\n| 1 |\n")
    one, two = pages.outputs(found)
    assert one.text.startswith("\n| a |\n|---|\n| 1 |\n\n*Output of `python -m one` at commit `")
    assert two.text == ""
    found = pages.with_output(found, "python -m two", "plain\n")
    assert pages.outputs(found)[0] == one
    assert pages.outputs(found)[1].text.startswith("\n```text\nplain\n```\n\n*Output of `python")
    assert pages.without_outputs(found) == pages.without_outputs(page)


def test_only_commands_of_python_are_run():
    with pytest.raises(ValueError, match="must start with python"):
        pages.printed_by("rm -r docs")


@pytest.mark.slow
def test_output_in_a_page_is_what_its_command_prints(monkeypatch, capsys):
    """Axis-aligned trees of the page on many clusters, without their times."""
    methods = ["IMM", "ExKMC", "ExShallow", "CART"]
    arguments = ["clusters", "--clusters", "10", "50", "--methods", *methods]
    monkeypatch.setattr("sys.argv", arguments)
    print_clusters()

    def lines(text):
        """Method and k, and the other cells except for the time."""
        rows = (re.split(r" *\| *", line.strip("| ")) for line in text.splitlines())
        return {tuple(row[:2]): row[3:] for row in rows if row[0] in methods}

    page = (DOCS / "guide" / "many_clusters.md").read_text(encoding="utf-8")
    kept, now = lines(page), lines(capsys.readouterr().out)
    assert len(now) == 8
    assert now == {key: kept[key] for key in now}
