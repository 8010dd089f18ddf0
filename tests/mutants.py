"""Mutation run: small faults are put into the code one by one, and a test must fail for each.

    python tests/mutants.py [--only WORD] [--at FOLDER]

`--only` takes the mutants that have WORD in their file or explanation. `--at` keeps the copy of
the code, with its compiled kernels, for the next run. `mutants/` has one list per folder of the
packages:

    file:   file or folder of the repository that contains the fragment once
    tests:  files or tests of which one must fail, the quickest first
    #       what the mutant breaks
    -       lines of the fragment
    +       lines that replace it
    =       reason why no test can detect the mutant; it is then listed, but not run
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTS = sorted(Path(__file__).with_suffix("").glob("*.txt"))
COPIED = ("tao_cluster", "greedy", "benchmarks", "tests", "pyproject.toml")

_SECONDS = 300  # a mutant that takes longer goes round in circles: killed
_FAILED = 1  # pytest's code where tests failed; others mean that it could not run them


@dataclass
class Mutant:
    """A fragment of the code, what replaces it, and the tests that must tell the difference.

    Parameters
    ----------
    where : str, file or folder below the root in which `old` occurs exactly once
    why : str, what the mutant breaks
    tests : list of str, what pytest is given
    old, new : list of str, lines
    reason : str, why it is equivalent; "" if it is not
    """

    where: str
    why: str
    tests: list
    old: list = field(default_factory=list)
    new: list = field(default_factory=list)
    reason: str = ""

    @property
    def name(self):
        return f"{self.where}: {self.why}"

    def texts(self):
        return "\n".join(self.old), "\n".join(self.new)

    def paths(self, root=ROOT):
        """Files that hold the fragment, one for each time."""
        at = root / self.where
        files = sorted(at.rglob("*.py")) if at.is_dir() else [at] if at.exists() else []
        old, _ = self.texts()
        return [path for path in files for _ in range(path.read_text("utf-8").count(old))]


def read(text):
    """The mutants of a list."""
    mutants, where, tests = [], None, None
    for line in text.splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "file:":
            where = rest
        elif mark == "tests:":
            tests = rest.split()
        elif mark == "#":
            mutants.append(Mutant(where, rest, tests))
        elif mark in {"-", "+"}:
            getattr(mutants[-1], "old" if mark == "-" else "new").append(rest)
        elif mark == "=":
            mutants[-1].reason = rest
        elif line:
            raise ValueError(f"Neither a mutant nor a heading: {line!r}")
    return mutants


MUTANTS = [mutant for path in LISTS for mutant in read(path.read_text("utf-8"))]


def copy_of_the_code(folder):
    """The packages and their tests in a folder, with their time stamps: kernels stay compiled."""
    for name in COPIED:
        source, target = ROOT / name, Path(folder) / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target, ignore=ignore, dirs_exist_ok=True)
        else:
            shutil.copy2(source, target)


def outcome(mutant, folder):
    """What the tests make of a mutant: its verdict, and the first test that failed."""
    if mutant.reason:
        return "equivalent", mutant.reason
    paths = mutant.paths(folder)
    if len(paths) != 1:
        return "not applicable", f"the fragment occurs {len(paths)} times"
    path, (old, new) = paths[0], mutant.texts()
    original = path.with_suffix(".original")
    shutil.copy2(path, original)
    kernels = folder / "kernels"
    if "@jit" in path.read_text("utf-8"):  # not to compile the true ones again
        kernels = folder / "kernels of a mutant"
        shutil.copytree(folder / "kernels", kernels, dirs_exist_ok=True)
    try:
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        return verdict(*run(mutant.tests, folder, kernels, _SECONDS))
    finally:
        os.replace(original, path)


def run(tests, folder, kernels, seconds=None):
    """Code and output of pytest in a copy of the code."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not sweep and not notebooks", *tests]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(kernels), "PYTHONHASHSEED": "0"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a file may change twice within a second
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    try:
        done = subprocess.run(command, check=False, timeout=seconds, **options)  # noqa: S603
    except subprocess.TimeoutExpired:
        return _FAILED, "FAILED none in time"
    return done.returncode, done.stdout


def verdict(code, output):
    """Verdict and explanation of a run of pytest."""
    if code == 0:
        return "survived", ""
    if code != _FAILED:
        return "not applicable", f"pytest could not run:\n{output[-1000:]}"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
    return "killed", failed.group(1) if failed else ""


def main(arguments=None):
    """Run the mutants and print the score; how many neither died nor are equivalent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = "mutants with this word in their file or explanation"
    parser.add_argument("--only", default="", metavar="WORD", help=text)
    parser.add_argument("--at", help="folder for the copy; one kept has its kernels compiled")
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.name]
    if not chosen:
        parser.error(f"no mutant has {options.only!r} in its file or explanation")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.at or temporary)
        copy_of_the_code(folder)
        tests = sorted({test for mutant in chosen for test in mutant.tests if not mutant.reason})
        unchanged, told = verdict(*run(tests, folder, folder / "kernels")) if tests else ("", "")
        if unchanged not in {"survived", ""}:
            raise SystemExit(f"The tests fail without a mutant: {told}")
        counts = dict.fromkeys(("killed", "survived", "equivalent", "not applicable"), 0)
        for mutant in chosen:
            found, told = outcome(mutant, folder)
            counts[found] += 1
            print(f"{found:14} {mutant.name}\n{'':14} {told}", flush=True)
    n_alive = counts["survived"] + counts["not applicable"]
    print(f"{counts['killed']} of {counts['killed'] + n_alive} killed; {counts}")
    return n_alive


if __name__ == "__main__":
    sys.exit(main() > 0)
