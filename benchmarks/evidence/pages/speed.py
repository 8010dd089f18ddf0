"""The page of speed: CPU times beside k-means and CART of the same run, and how they grow."""

from benchmarks.evidence.pages.words import title
from benchmarks.evidence.tables.speed import BESIDE, GROWTH, GROWTHS, LAMBDAS, NAME


def numbers(frames):
    """Return the numbers of the page."""
    frame = frames[NAME]
    growth = frame[frame["setting"] == GROWTH]
    first = growth[growth["data"] == growth["data"].iloc[0]]
    return {
        "fits": frame[frame["setting"] == BESIDE],
        "grown": _growths(growth),
        "first": first.iloc[0],
        "lambdas": LAMBDAS,
    }


def _growths(frame):
    """Return one row per method: seconds at the first size, and factors at the others."""
    found = {}
    for name, part in frame.groupby("point", sort=False):
        first, *others = part.itertuples()
        factors = [row.seconds / first.seconds for row in others]
        found[name] = {"seconds": first.seconds, "beside": first.seconds / first.yardstick}
        found[name] |= dict(zip(GROWTHS, factors, strict=True))
    return found


def shape(row):
    """Return the name and the size of a data set."""
    return f"{title(row.data)} ({row.rows:.0f} x {row.columns:.0f})"
