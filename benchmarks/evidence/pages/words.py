"""Numbers and tables as Markdown, and what the papers print."""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.datasets import DATASETS
from benchmarks.evidence.free import STARTS_OF_PAPER

_PUBLISHED = Path(__file__).parents[1] / "published.csv"


def published(table):
    """Return what a paper prints: a DataFrame, costs in percent or as a ratio."""
    found = pd.read_csv(_PUBLISHED)
    return found[found["table"] == table].drop(columns="table")


def with_starts(frame):
    """Return the rows whose free clustering has as many starts as that of the TAO paper.

    Costs over different free clusterings cannot be compared.
    """
    return frame[frame["setting"].str.endswith(f", {STARTS_OF_PAPER} starts")]


def title(data):
    """Return the name of a data set, to read."""
    name, _, n_rows = data.partition(":")
    name = DATASETS[name].title if name in DATASETS else name
    return f"{name} ({n_rows} rows)" if n_rows else name


def markdown(rows):
    """Return a table of dicts whose values are strings."""
    frame = pd.DataFrame(rows).fillna("")
    align = ["left" if i == 0 else "right" for i in range(frame.shape[1])]
    return frame.astype(str).to_markdown(index=False, disable_numparse=True, colalign=align)


def number(value, digits=2):
    """Return a number, or a dash if there is none."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "-"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # without a minus before zero


def ratio(value):
    """Return how many times as large something is, with a digit after the point below ten."""
    return number(value, 0 if round(value, 1) >= 10 else 1)


def averaged(values, digits=2):
    """Return mean ± standard error of several values, or the value if they are equal."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    if len(values) < 2 or np.ptp(values) == 0:
        return number(values[0], digits) if len(values) else "-"
    return with_error(values.mean(), values.std(ddof=1) / np.sqrt(len(values)), digits)


def with_error(mean, error, digits=2):
    """Return a mean and its standard error, which may be NaN."""
    if not np.isfinite(mean) or np.isnan(error):
        return number(mean, digits)
    return f"{number(mean, digits)} ± {number(error, digits)}"


def listed(parts):
    """Return "a, b and c"."""
    *parts, last = list(parts) or [""]
    return f"{', '.join(parts)} and {last}" if parts else last
