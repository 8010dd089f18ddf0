"""The table of the documentation, and what the pages show of the command that fits it."""

import importlib.util
import re
import shlex
from pathlib import Path

import pytest

from tao_cluster.cli import main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FIT = "tao-cluster fit customers.csv --id customer_id -k 4 --split axis --max-leaves 4"
COMPARE = "tao-cluster compare customers.csv -k 4 --methods tao-axis --leaves 4 --validation 0.2"
NAMES = "Regular,Bargain,Big,Lapsed"


def test_script_makes_the_table():
    spec = importlib.util.spec_from_file_location("customers", DOCS / "customers.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    made = script.customers().to_csv(index=False, lineterminator="\n")
    assert made == script.PATH.read_text(encoding="utf-8")


def test_pages_show_what_the_command_line_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "customers.csv").write_bytes((DOCS / "customers.csv").read_bytes())
    start = blocks(DOCS / "start.md")
    for command in (FIT, COMPARE):
        main(command.split()[1:])
        (shown,) = (block for block in start if command in block)
        assert shows(shown.partition(f"$ {command}\n")[2], capsys.readouterr().out)
    main(["names", "customers_tree", "customers.csv", "--names", NAMES])
    capsys.readouterr()
    main(["export", "customers_tree"])
    rules = capsys.readouterr().out
    text = (DOCS / "start.md").read_text("utf-8")
    costs = re.search(r"^ +cost_increase  cost_increase_new.*\n(?:\S.*\n){2}", text, re.M)
    names = f'tao-cluster names customers_tree customers.csv --names "{NAMES}"\n'
    assert names in text
    for page in (ROOT / "README.md", DOCS / "index.md"):
        assert f"{FIT}\n{names}" in page.read_text(encoding="utf-8")
        assert rules in blocks(page)
    assert costs[0] in blocks(ROOT / "README.md")


@pytest.mark.slow
def test_the_guide_shows_what_the_command_line_prints(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "customers.csv").write_bytes((DOCS / "customers.csv").read_bytes())
    found = "".join(blocks(DOCS / "guide" / "command_line.md"))
    exec(re.search(r'^\$ python -c "(.*)"$', found, re.M)[1])  # noqa: S102
    commands = re.findall(r"^\$ tao-cluster (.*)\n((?:(?!\$ |tao-cluster ).*\n)*)", found, re.M)
    assert len(commands) >= 5
    for command, shown in commands:
        assert main(shlex.split(command)) == 0
        assert shows(shown, capsys.readouterr().out), command


def blocks(page):
    """Return the blocks without a language of a page: list of str."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for language, block in found if not language]


def shows(block, printed):
    """Return whether all lines of a block, of which "..." leaves out parts, are printed."""
    parts = [re.escape(part) for part in re.split(r" ?\.\.\.\n", block)]
    return re.match(".*?\n".join(parts), printed, flags=re.DOTALL) is not None


@pytest.mark.parametrize(
    ("block", "printed", "expected"),
    [("a\n...\nc\n", "a\nb\nc\n", True), ("a 1 ...\n", "a 1  2\n", True), ("a\nb\n", "a\n", False)],
)
def test_parts_can_be_left_out(block, printed, expected):
    assert shows(block, printed) == expected
