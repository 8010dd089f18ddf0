"""Put the output of commands into the pages of the guide.

    python -m benchmarks.pages                          # all commands of all pages
    python -m benchmarks.pages docs/guide/lambda.md     # those of one page
    python -m benchmarks.pages --only capped            # those whose command has this part

A page has the command in a comment, and below it the output of the command, with the commit of the
packages:

    <!-- output: python -m benchmarks.labels digits -->
    ...
    <!-- end of output -->

This program runs the commands one after another and replaces the lines between the two comments.
A Markdown table stays a table, and any other output becomes a block of code.
"""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.evidence.provenance import provenance
from benchmarks.shared import parser

ROOT = Path(__file__).parents[1]
_BLOCK = re.compile(r"<!-- output: (.+?) -->\n(.*?)<!-- end of output -->", flags=re.DOTALL)
# The commit is the last one that changed the packages, because their code gives the numbers.
_CAPTION = "*Output of `{command}`, with the packages of commit `{commit}`, {date}.*"


class Output(NamedTuple):
    """A command in a page, and the lines below it."""

    command: str
    text: str


def outputs(page):
    """Return the commands of a page with their lines: list of Output."""
    return [Output(*found) for found in _BLOCK.findall(page)]


def with_output(page, command, printed):
    """Return a page in which the lines below a command are its new output."""

    def block(found):
        text = shown(command, printed) if found[1] == command else found[2]
        return f"<!-- output: {found[1]} -->\n{text}<!-- end of output -->"

    return _BLOCK.sub(block, page)


def shown(command, printed):
    """Return the lines of a page for the output of a command."""
    text = printed.strip("\n")
    if not text.startswith("|"):
        text = f"```text\n{text}\n```"
    caption = _CAPTION.format(command=command, **provenance())
    return f"\n{text}\n\n{caption}\n\n"


def printed_by(command):
    """Run ``python -m ...`` in the folder of the project, and return its standard output."""
    python, *arguments = shlex.split(command)
    if python != "python":
        raise ValueError(f"The command of a page must start with python: {command}.")
    print(command, file=sys.stderr, flush=True)
    done = subprocess.run(  # noqa: S603
        [sys.executable, *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main():
    """Run the commands of the pages that the command line names."""
    arguments = parser(__doc__)
    arguments.add_argument("pages", nargs="*", type=Path, help="default: all pages with commands")
    arguments.add_argument("--only", default="", help="commands that have this part")
    options = arguments.parse_args()
    n_run = 0
    for path in options.pages or sorted(Path(ROOT, "docs").rglob("*.md")):
        for command, _ in outputs(path.read_text(encoding="utf-8")):
            if options.only in command:
                printed = printed_by(command)
                page = path.read_text(encoding="utf-8")  # it may have been edited meanwhile
                path.write_text(with_output(page, command, printed), encoding="utf-8")
                n_run += 1
    if n_run == 0:
        arguments.error("No page has such a command.")


if __name__ == "__main__":
    main()
