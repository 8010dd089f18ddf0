"""What a run is, and the .csv files that keep finished runs: what is there is not run again."""

import csv
import io
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from joblib import Parallel, delayed

from benchmarks.evidence.provenance import Provenance, stamp

KEY = ("table", "data", "method", "setting", "seed")
FIGURES = (
    "point",  # which tree of the run: a number of leaves, lambda, mu, ...
    "rows",
    "columns",
    "clusters",
    "cost",  # percent over the free clustering
    "cost_new",  # the same on rows held out
    "parameters",
    "non_zeros",
    "leaves",
    "depth",
    "features",  # a test
    "wad",
    "waes",
    "nmi",
    "seconds",  # CPU, of the fit alone; of a path a tree's share
    "yardstick",  # CPU seconds of what it is compared with in the same run
    "memory",  # MB that the process grew by
    "work",  # counted, see the table
)
COLUMNS = (*KEY, *FIGURES, "stamp")


@dataclass(frozen=True)
class Run:
    """One thing to measure.

    Parameters
    ----------
    table, data, method, setting : str
    seed : int
    measure : callable of (workshop, run)
        Returns a dict of figures, or a list of them, one for each tree of the run.
    options : dict, what `measure` needs to know besides
    """

    table: str
    data: str
    method: str
    setting: str
    seed: int
    measure: Callable
    options: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def key(self):
        """What the run is known by in the file."""
        return tuple(str(getattr(self, name)) for name in KEY)


class Results:
    """The .csv file of a table: a row a tree, appended when its run has finished.

    Parameters
    ----------
    path : path of the file, which need not exist
    """

    def __init__(self, path):
        self.path = Path(path)

    def frame(self):
        """What is there: a DataFrame with COLUMNS."""
        self._mend()
        if not self.path.is_file():
            return pd.DataFrame(columns=list(COLUMNS))
        words = dict.fromkeys(("table", "data", "method", "setting"), str)
        found = pd.read_csv(self.path, dtype=words, keep_default_na=False, na_values=[""])
        return found.reindex(columns=list(COLUMNS))

    def finished(self):
        """Keys of the runs that are there; rows of other fits than those of today are removed."""
        frame = self.frame()
        today = frame[frame["stamp"] == stamp()]
        if len(today) < len(frame):
            today.to_csv(self.path, index=False)
        return keys(today)

    def append(self, run, figures):
        """Add the rows of a run, all or none: one write."""
        common = dict(zip(KEY, run.key, strict=True)) | {"stamp": stamp()}
        text = io.StringIO()
        writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        if not self.path.is_file():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            writer.writeheader()
        for row in _trees(figures):
            writer.writerow(common | {name: _shown(value) for name, value in row.items()})
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())

    def _mend(self):
        """Take away half a line that an interrupted write has left, or a file without any line."""
        content = self.path.read_bytes() if self.path.is_file() else b"\n"
        if b"\n" not in content:
            self.path.unlink()
        elif not content.endswith(b"\n"):
            self.path.write_bytes(content[: content.rfind(b"\n") + 1])


def keys(frame):
    """Keys of the runs in the rows of a file: set of tuples of str."""
    return set(map(tuple, frame[list(KEY)].fillna("").astype(str).to_numpy()))


def _trees(figures):
    """Figures of a run as a list of dicts, one for each tree."""
    return [figures] if isinstance(figures, Mapping) else figures


def _shown(value):
    return f"{value:.10g}" if isinstance(value, float) else value


def execute(runs, folder, workshop, *, n_jobs=1, tell=print):
    """Do the runs that are not in the files of a folder, and append each when it has finished.

    Parameters
    ----------
    runs : list of Run
    folder : path, where TABLE.csv lie
    workshop : Workshop
    n_jobs : int, processes
    tell : callable of str

    Returns
    -------
    int, how many have been done now
    """
    files = {run.table: Results(Path(folder, f"{run.table}.csv")) for run in runs}
    finished = {table: results.finished() for table, results in files.items()}
    left = [run for run in runs if run.key not in finished[run.table]]
    if len(left) < len(runs):
        tell(f"{len(runs) - len(left)} of {len(runs)} runs are there already")
    done, provenance = 0, Provenance(folder)
    tasks = (delayed(_measured)(workshop, run) for run in left)
    for run, figures, seconds in Parallel(n_jobs, return_as="generator_unordered")(tasks):
        if isinstance(figures, str):
            tell(f"{_name(run)}: left out, {figures}")
            continue
        files[run.table].append(run, figures)
        provenance.add(run.table, seconds)
        done += 1
        tell(f"{_name(run)}: {_summary(figures)}")
    return done


def _measured(workshop, run):
    """A run, its figures, or why there are none, and the CPU seconds of all that it did."""
    start = time.process_time()
    try:
        figures = run.measure(workshop, run)
    except OSError as error:  # no file, and no OpenML
        figures = str(error)
    return run, figures, time.process_time() - start


def _name(run):
    return " | ".join(part for part in run.key if part)


def _summary(figures):
    shown = [
        "/".join(f"{row[name]:.4g}" for name in ("cost", "parameters") if row.get(name) is not None)
        for row in _trees(figures)[:12]
    ]
    return "  ".join(shown)
