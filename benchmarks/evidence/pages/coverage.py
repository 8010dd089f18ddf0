"""Where results come from: which planned runs a file has, their commits, machines and time."""

import pandas as pd

from benchmarks.evidence.measures import RESULT
from benchmarks.evidence.pages.words import counted, listed, title
from benchmarks.evidence.runs import KEY, keys
from benchmarks.evidence.tables import mu_path

MOST_SHOWN = 12


def coverage(frame, planned):
    """Say which of the planned runs are in the file: a paragraph.

    Parameters
    ----------
    frame : DataFrame, rows of the file
    planned : list of Run, all that the command would do
    """
    there = keys(frame)
    missing = [run for run in planned if run.key not in there]
    n_there = len(planned) - len(missing)
    how_many = "all" if not missing else f"{n_there} of the"
    text = f"The file has {how_many} {counted(len(planned), 'run')} of this table."
    extra = len(there) - n_there
    if extra:
        text += f" It also has {counted(extra, 'run')} with other settings or seeds."
    if missing:
        seeds = {}
        for run in missing:
            seeds.setdefault((title(run.data), run.method), []).append(run.seed)
        groups = _grouped(seeds)
        rest = len(groups) - MOST_SHOWN
        more = f"; and {counted(rest, 'more group')}" if rest > 0 else ""
        text += f" Missing: {'; '.join(groups[:MOST_SHOWN])}{more}."
    return text


def _grouped(seeds):
    """Texts; methods of a data set that lack the same seeds stand together."""
    found = {}
    for (data, method), missing in seeds.items():
        found.setdefault((data, tuple(sorted(set(missing)))), dict.fromkeys([method])).setdefault(
            method
        )
    return [
        f"{data}: {', '.join(map(repr, methods))} ({_seeds(missing)})"
        for (data, missing), methods in found.items()
    ]


def _seeds(missing):
    first, last = missing[0], missing[-1]
    if first == last:
        return f"seed {first}"
    whole = list(missing) == list(range(first, last + 1))
    return f"seeds {first} to {last}" if whole else f"seeds {', '.join(map(str, missing))}"


def cpu_seconds(frame):
    """CPU seconds of all fits and yardsticks of a table."""
    seconds = frame["seconds"]
    if RESULT in set(frame["work"]):  # they add up along a run, whose last row is the whole fit
        seconds = seconds[frame["work"].isin([mu_path.DIRECT_FIT, RESULT])]
    # Peaks have megabytes as their yardstick, builders one that is the same in every row.
    yardsticks = frame[frame["setting"] != "peak"].groupby(list(KEY))["yardstick"].max()
    return float(seconds.sum() + yardsticks.sum())


def provenance(frame):
    """Say when, where and with which versions the runs were made: a paragraph."""
    dates = sorted(set(frame["date"].dropna().astype(str)))
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    machines, versions = (_values(frame, name) for name in ("machine", "versions"))
    commits = listed(f"`{commit}`" for commit in commits_of(frame))
    return (
        f"Measured on {days} at commit {commits}. Machine: {'; '.join(machines)}. Versions: "
        f"{' | '.join(versions)}."
    )


def commits_of(frame):
    """Return the commits that measured the rows of a file, the one of most rows first."""
    return list(frame["commit"].fillna("unknown").astype(str).value_counts().index)


def commit_warning(frame):
    """Warn if the rows do not come from one committed state of the packages; else ""."""
    commits = commits_of(frame)
    texts = _other_warnings(frame)
    if len(commits) > 1:
        texts.insert(0, f"These results were measured at {len(commits)} different commits.")
    return " ".join(["**Warning.**", *texts]) if texts else ""


def _other_warnings(frame):
    """Return warnings about uncommitted changes and several kinds of machines: list of str."""
    changed = [commit for commit in commits_of(frame) if commit.endswith("+")]
    texts = []
    if changed:
        texts.append(
            "Some runs had changes of the code that were not committed (commits with a plus sign)."
        )
    machines = _values(frame, "machine")
    if len(machines) > 1:
        texts.append(f"The runs were made on {len(machines)} kinds of machines.")
    return texts


def state_words(frames):
    """Say which tables were measured at one commit, with warnings: a paragraph.

    Parameters
    ----------
    frames : dict of title to DataFrame, the tables that have been measured
    """
    commits = {title: commits_of(frame) for title, frame in frames.items()}
    single = [first for first, *more in commits.values() if not more]
    texts = _other_warnings(pd.concat(frames.values()))
    if not single:
        texts.insert(0, "Each table was measured at several commits.")
        return " ".join(["**Warning.**", *texts])
    main = max(single, key=single.count)
    others = [title for title, each in commits.items() if each != [main]]
    if not others:
        found = f"All tables were measured at commit `{main}`."
        return " ".join([found, "**Warning.**", *texts]) if texts else found
    rest = "the others" if len(others) > 1 else "the other one"
    texts.insert(
        0,
        f"The code differs between tables: {len(frames) - len(others)} of {len(frames)} were "
        f"measured at commit `{main}`, and {rest} ({listed(others)}) at commits that "
        f"{'their pages name' if len(others) > 1 else 'its page names'}.",
    )
    return " ".join(["**Warning.**", *texts])


def _values(frame, name):
    return list(dict.fromkeys(frame[name].dropna().astype(str)))
