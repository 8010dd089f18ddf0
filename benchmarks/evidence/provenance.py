"""Where and with what a run was done: date, commit, processor, versions."""

import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_PACKAGES = ("tao-cluster", "numpy", "scipy", "scikit-learn", "numba", "liblinear-official")
_PACKAGES += ("gemclus", "segmtree", "obliquetree", "pycontree")  # programs of other authors


def provenance():
    """The last columns of a row."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
    }


@functools.cache
def commit():
    """Short hash of the last commit that changed the packages; "+" if their files differ from it.

    Commits of pages and tests between two nights of runs do not change the results.
    """
    git = ["git", "-C", str(Path(__file__).parents[2])]
    packages = ["--", "tao_cluster", "greedy"]
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
