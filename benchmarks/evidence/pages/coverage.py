"""Which of the planned runs are in a file, and what they took: said above every table."""

from benchmarks.evidence.measures import RESULT
from benchmarks.evidence.pages.words import counted, title
from benchmarks.evidence.runs import KEY, keys
from benchmarks.evidence.tables import mu_path

MOST_TOLD = 12


def coverage(frame, planned):
    """What is there of a table, and what is not: a paragraph.

    Parameters
    ----------
    frame : DataFrame, rows of the file
    planned : list of Run, all that the command would do
    """
    there = keys(frame)
    missing = [run for run in planned if run.key not in there]
    n_there = len(planned) - len(missing)
    text = f"{n_there} of {counted(len(planned), 'run')} of this table are in its file."
    extra = len(there) - n_there
    if extra:
        text += f" {counted(extra, 'run')} more are there, of other settings or seeds."
    if missing:
        seeds = {}
        for run in missing:
            seeds.setdefault((title(run.data), run.method), []).append(run.seed)
        groups = _grouped(seeds)
        told = "; ".join(groups[:MOST_TOLD])
        rest = len(groups) - MOST_TOLD
        text += f" Not yet: {told}" + (f"; and {rest} more groups." if rest > 0 else ".")
    return text


def _grouped(seeds):
    """Texts; methods of a data set that lack the same seeds stand together."""
    found = {}
    for (data, method), missing in seeds.items():
        found.setdefault((data, tuple(sorted(set(missing)))), dict.fromkeys([method])).setdefault(
            method
        )
    return [
        f"{data}: {', '.join(methods)} ({_seeds(missing)})"
        for (data, missing), methods in found.items()
    ]


def _seeds(missing):
    first, last = missing[0], missing[-1]
    if first == last:
        return f"seed {first}"
    whole = list(missing) == list(range(first, last + 1))
    return f"seeds {first} to {last}" if whole else f"seeds {', '.join(map(str, missing))}"


def cpu_seconds(name, frame):
    """CPU seconds of all fits and yardsticks of a table."""
    seconds = frame["seconds"]
    if name == mu_path.NAME:  # they add up along a run, whose last row is the whole fit
        seconds = seconds[frame["work"].isin([mu_path.DIRECT_FIT, RESULT])]
    # Peaks have megabytes as their yardstick, builders one that is the same in every row.
    yardsticks = frame[frame["setting"] != "peak"].groupby(list(KEY))["yardstick"].max()
    return float(seconds.sum() + yardsticks.sum())


def provenance(frame):
    """With what the runs were done: a sentence."""
    parts = []
    for name, words in (("date", "on"), ("commit", "commit"), ("machine", "machine:")):
        values = list(dict.fromkeys(frame[name].dropna().astype(str)))
        parts.append(f"{words} {', '.join(values)}")
    versions = list(dict.fromkeys(frame["versions"].dropna().astype(str)))
    return f"Done {'; '.join(parts)}; {' | '.join(versions)}."
