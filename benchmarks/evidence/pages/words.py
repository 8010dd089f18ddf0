"""Tables and numbers as Markdown, and the papers' own figures."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

_PUBLISHED = Path(__file__).parents[1] / "published.csv"
TITLES = {
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "fifa19": "FIFA19",
    "adult": "Adult",
    "avila": "standardised avila",
    "avila_raw": "raw avila",
    "avila_01": "avila in 0..1",
    "letter_raw": "raw letter",
    "wine_raw": "raw wine",
    "breast_cancer_raw": "raw breast cancer",
    "digits_raw": "digits",  # only the unit differs, which no cost sees
    "newsgroups": "newsgroups (1069 words, tf-idf)",
    "newsgroups_counts": "newsgroups (1893 words, counts)",
    "newsgroups_a1": "newsgroups (28330 words, tf-idf)",
    "web_of_science": "Web of Science",
    "amazon": "Amazon reviews",
}


def published(table):
    """What a paper prints: a DataFrame, costs in percent or as a ratio."""
    found = pd.read_csv(_PUBLISHED)
    return found[found["table"] == table].drop(columns="table")


def title(data):
    """Name of a data set, to read."""
    name, _, n_rows = data.partition(":")
    name = TITLES.get(name, name.replace("_", " "))
    return f"{name} ({n_rows} rows)" if n_rows else name


def markdown(rows):
    """A list of dicts, whose values are strings, as a table."""
    if not rows:
        return "*No run of this table is in the file yet.*"
    frame = pd.DataFrame(rows).fillna("")
    align = ["left" if i == 0 else "right" for i in range(frame.shape[1])]
    return frame.astype(str).to_markdown(index=False, disable_numparse=True, colalign=align)


def number(value, digits=2):
    """A number, or a dash where there is none."""
    if value is None or (isinstance(value, float) and not np.isfinite(value)):
        return "-"
    return f"{value:.{digits}f}"


def percent(share):
    """A share as a percentage without decimals."""
    return f"{100 * share:.0f} %"


def averaged(values, digits=2):
    """Mean and standard error of several values; of one, the value."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return "-"
    if len(values) == 1 or np.ptp(values) == 0:
        return number(values[0], digits)
    return with_error(values.mean(), values.std(ddof=1) / np.sqrt(len(values)), digits)


def with_error(mean, error, digits=2):
    """A mean and its standard error, which may be NaN."""
    if np.isnan(error):
        return number(mean, digits)
    return f"{number(mean, digits)} ± {number(error, digits)}"


def folded(summary, text):
    """A part of a page that the reader opens."""
    return f"<details><summary>{summary}</summary>\n\n{text}\n\n</details>"


def figure(name, caption):
    """A figure of a page with its caption."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", caption).partition(".")[0]  # without links
    return f"![{title}]({name}.svg)\n\n*{caption}*"


def counted(n, thing):
    """1 row, 2 rows."""
    return f"{n} {thing}" + ("" if n == 1 else "s")


def out_of(n, n_all, thing):
    """All 16 methods, 13 of 16 methods, none of 16 methods."""
    how_many = f"all {n_all}" if n == n_all > 1 else f"{n or 'none'} of {n_all}"
    return f"{how_many} {thing}" + ("" if n_all == 1 else "s")


def listed(parts):
    """a, b and c; nothing of nothing."""
    *parts, last = list(parts) or [""]
    return f"{', '.join(parts)} and {last}" if parts else last
