"""Where and with what a run was done: date, commit, processor, versions."""

import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_PACKAGES = ("tao-cluster", "numpy", "scipy", "scikit-learn", "numba", "liblinear-official")


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
    """Short hash of the checkout; "+" where files of the packages differ from it."""
    git = ["git", "-C", str(Path(__file__).parents[2])]
    changes = ["status", "--porcelain", "--", "tao_cluster", "greedy"]
    try:
        found, changed = (
            subprocess.run([*git, *rest], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
            for rest in (["rev-parse", "--short", "HEAD"], changes)
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found + ("+" if changed else "")


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
