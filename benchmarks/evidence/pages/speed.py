"""The page of speed: times beside a reference time of the same run, and memory."""

from benchmarks.evidence.pages.words import title
from benchmarks.evidence.tables.speed import NAME

GROWTHS = ("4 n", "4 d", "4 k")


def numbers(frames):
    """Return the numbers of the page."""
    frame = frames[NAME]
    growth, builders = frame[frame["setting"] == "growth"], frame[frame["method"] == "builders"]
    return {
        "fits": list(frame[frame["setting"] == "beside k-means"].itertuples()),
        "grown": _growths(growth.assign(name=growth["method"].str.removeprefix("TAO "))),
        "builders": _growths(builders.assign(name=builders["point"])),
        "first": growth.iloc[0],
        "peaks": list(frame[frame["setting"] == "peak"].itertuples()),
    }


def _growths(frame):
    """Return one row per method: seconds at the first size, and factors at the others."""
    found = []
    for name, part in frame.groupby("name", sort=False):
        first, *others = part.itertuples()
        factors = {
            words: row.seconds / first.seconds for words, row in zip(GROWTHS, others, strict=True)
        }
        found.append(
            {"name": name, "seconds": first.seconds, "beside": first.seconds / first.yardstick}
            | factors
        )
    return found


def shape(row):
    """Return the name and the size of a data set."""
    return f"{title(row.data)} ({row.rows:.0f} x {row.columns:.0f})"
