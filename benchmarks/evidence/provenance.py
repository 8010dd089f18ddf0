"""Where and with what a table was measured, and the stamp of the fits that it measures.

`snapshot.json` has exact fits of this code, which CI compares with the code. The stamp is their
hash, so that two commits with the same stamp fit the same trees. A page is not written from rows
of another stamp.
"""

import datetime
import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path

SNAPSHOT = Path(__file__).parents[1] / "snapshot.json"
_FITS = ("fit: ", "history: ", "path: ")  # cases of the snapshot
_PACKAGES = ("tao-cluster", "numpy", "scipy", "scikit-learn", "numba", "liblinear-official")
_PACKAGES += ("gemclus", "segmtree", "obliquetree", "pycontree")  # programs of other authors


@functools.cache
def stamp():
    """Hash of the fits in the snapshot: ten hexadecimal digits."""
    cases = json.loads(SNAPSHOT.read_text(encoding="utf-8"))["cases"]
    fits = {name: case for name, case in cases.items() if name.startswith(_FITS)}
    return hashlib.sha256(json.dumps(fits, sort_keys=True).encode()).hexdigest()[:10]


def provenance():
    """Return what a measurement of now has to be known by: a dict of str."""
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    where = {"date": date, "commit": commit(), "machine": machine(), "versions": versions()}
    return where | {"stamp": stamp()}


class Provenance:
    """The file of a folder that says for each table where its rows come from.

    Parameters
    ----------
    folder : path, where the csv files lie
    """

    def __init__(self, folder):
        self.path = Path(folder, "provenance.json")

    def read(self):
        """Return what is known of each table: a dict of dicts."""
        return json.loads(self.path.read_text("utf-8")) if self.path.is_file() else {}

    def add(self, table, seconds):
        """Add CPU seconds of runs that have just been measured."""
        found = self.read()
        before = found.get(table, {})
        here = provenance()
        if before.get("stamp") == here["stamp"]:
            seconds += before["cpu_seconds"]
        # All tables name the first commit with these fits.
        same = [each["commit"] for each in found.values() if each["stamp"] == here["stamp"]]
        here["commit"] = same[0] if same else here["commit"]
        found[table] = here | {"cpu_seconds": round(seconds)}
        text = json.dumps(dict(sorted(found.items())), indent=1)
        self.path.write_text(text + "\n", encoding="utf-8")


@functools.cache
def commit():
    """Short hash of the last commit that changed the packages; "+" if files differ from it."""
    git = ["git", "-C", str(SNAPSHOT.parent)]
    packages = ["--", ":/tao_cluster", ":/greedy"]
    try:
        found, changed = (
            subprocess.run([*git, *rest], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
            for rest in (
                ["log", "-1", "--format=%h", *packages],
                ["status", "--porcelain", *packages],
            )
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return (found or "unknown") + ("+" if changed else "")


@functools.cache
def machine():
    """The processor and how many there are."""
    name = platform.processor() or platform.machine()
    table = Path("/proc/cpuinfo")
    if table.is_file():
        lines = [line.partition(":") for line in table.read_text(encoding="utf-8").splitlines()]
        names = [value.strip() for key, _, value in lines if key.startswith("model name")]
        name = names[0] if names else name
    return f"{name}, {os.cpu_count()} processors"


@functools.cache
def versions():
    """Versions of Python and of what measures."""
    found = [f"python {platform.python_version()}"]
    for package in _PACKAGES:
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "; ".join(found)
