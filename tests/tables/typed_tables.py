"""Random tables with the kinds of columns of databases, and random trees on them."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd

from tao_cluster import Tree
from tao_cluster.columns import Indicator
from tao_cluster.columns.dates import Date
from tao_cluster.columns.names import Numeric
from tao_cluster.columns.readers import WHITE_SPACE, Level, Number, Written

ZONES = ("UTC", "+05:30", "-03:00", "Europe/Berlin")
WORDS = ("NA", "?", "it's")
TYPES = {  # of the other databases, by that of PostgreSQL
    "mysql": {
        "DOUBLE PRECISION": "DOUBLE",
        "REAL": "FLOAT",
        "TEXT": "VARCHAR(200)",
        "TIMESTAMP": "DATETIME(6)",
        "TIMESTAMPTZ": "TIMESTAMP(6)",
        "TIME": "TIME(6)",
    },
    "sqlite": dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME", "TEXT"), "TEXT"),
}


@dataclass
class Column:
    """A column of a table.

    Parameters
    ----------
    kind : str
        Its type in PostgreSQL.
    cells : list
        What a row holds in Python; None for NULL.
    features : list of (name, array)
        Names of the features that are made of the column, and their numbers.
    """

    kind: str
    cells: list
    features: list = field(default_factory=list)

    def add(self, column, reader, fill=None):
        """Add the number that a reader makes of the cells, with a number for missing values."""
        table = pd.Series(self.cells, name=column, dtype=object)
        if self.kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ"):
            table = pd.Series(pd.to_datetime(self.cells), name=column)
        values = numbers(reader, table)
        has_gaps = np.isnan(values).any()
        fill = float(np.nanmedian(values)) if fill is None else fill
        part = getattr(reader, "part", None)
        name = column if part is None else f"{column} {part}"
        feature = Numeric(name, fill if has_gaps else None, reader, column)
        self.features.append((feature, np.where(np.isnan(values), fill, values)))
        return self


def numbers(reader, cells):
    """What a reader makes of cells; the parts of instants come from pandas."""
    if not getattr(reader, "zone", "") or reader.part is None:
        return reader.read(cells).to_numpy()
    filled = reader.with_gaps(cells)
    dates = pd.to_datetime(filled, utc=True, format=None if reader.is_typed else "ISO8601")
    zone = reader.zone
    if zone[0] in "+-":
        zone = datetime.strptime(zone, "%z").tzinfo
    clock = dates.dt.tz_convert(zone).dt
    part = {"weekday": clock.day_of_week, "month": clock.month, "hour": clock.hour}[reader.part]
    return part.to_numpy(dtype=float)


def with_gaps(rng, cells, words=(), share=0.15):
    """Cells of which some become None, or words for missing values with white space around."""

    kinds = rng.random(len(cells))
    cells = [None if kind < share else cell for kind, cell in zip(kinds, cells, strict=True)]
    is_word = (share < kinds) & (kinds < 2 * share) & (len(words) > 0)
    found = padded(rng, rng.choice(words, len(cells))) if len(words) else cells
    return [
        word if given else cell for given, word, cell in zip(is_word, found, cells, strict=True)
    ]


def padded(rng, texts):
    """Strings with white space around some of them."""
    spaces = ["".join(rng.choice([*WHITE_SPACE], rng.integers(3))) for _ in range(2 * len(texts))]
    return [f"{a}{text}{b}" for a, text, b in zip(spaces[::2], texts, spaces[1::2], strict=True)]


# ---------------------------------------------------------------------- kinds of columns


def floats(rng, n, name):
    values = rng.normal(size=n) * 10.0 ** rng.integers(-8, 12)
    cells = with_gaps(rng, values.tolist())
    return Column("DOUBLE PRECISION", cells).add(name, Number())


def small_floats(rng, n, name):
    values = rng.normal(size=n).round(1).astype(np.float32)
    return Column("REAL", [float(value) for value in values]).add(name, Number())


def integers(rng, n, name):
    high = int(rng.choice([5, 1000, 2**62]))
    cells = [int(value) for value in rng.integers(-high, high, n)]
    return Column("BIGINT", cells).add(name, Number())


def decimals(rng, n, name):
    cells = [Decimal(int(value)) / 100 for value in rng.integers(-5000, 5000, n)]
    return Column("NUMERIC(12, 2)", with_gaps(rng, cells)).add(name, Number())


def codes(rng, n, name):
    cells = [int(value) for value in rng.choice([1, 2, 30, 45, 60, -999, -998], n)]
    column = Column("INTEGER", with_gaps(rng, cells))
    return column.add(name, Number((-999, -998)))


def written(rng, n, name):
    forms = [
        ("{:,.2f} kg", {"suffix": "kg", "thousands": ","}),
        ("€\u00a0{:.1f}", {"prefix": "€"}),
        ("\t{:.3f}\n", {}),
    ]
    form, options = forms[rng.integers(len(forms))]
    texts = [form.format(value) for value in rng.normal(size=n) * 10.0 ** rng.integers(0, 6)]
    if rng.random() < 0.5:
        texts = [t.replace(",", " ").replace(".", ",").replace("-", "\u2212") for t in texts]
        options = {**options, "decimal": ",", "minus": "\u2212"}
        options["thousands"] = " " if options.get("thousands") else ""
    return Column("TEXT", with_gaps(rng, texts, WORDS)).add(name, Written(WORDS, **options))


def _moments(rng, n, first=1900, last=2100):
    """Dates and times, some of them at the end of a second or of a day."""
    days = rng.integers(0, 365 * (last - first), n)
    parts = [0, 1, 999_999, 3_600_000_000, 86_399_999_999, 86_399_500_000, 43_200_000_000]
    return [
        datetime(first, 1, 2) + timedelta(days=int(day), microseconds=int(rng.choice(parts)))
        for day in days
    ]


def iso_texts(rng, n, name, zone=""):
    tails = ["", "T{:%H:%M}", " {:%H:%M:%S}", "T{:%H:%M:%S.%f}", " {:%H:%M:%S.%f}999"]
    first, last = (1972, 2036) if zone else (1900, 2100)
    texts = []
    for moment in _moments(rng, n, first, last):
        tail = str(rng.choice(tails[1:] if zone else tails)).format(moment)
        offset = str(rng.choice(["Z", "+00:00", "+02:00", "-05:30", "+14:00"])) if zone else ""
        texts.append(f"{moment:%Y-%m-%d}{tail}{offset}")
    column = Column("TEXT", with_gaps(rng, padded(rng, texts), WORDS))
    return _with_parts(
        rng, column, name, Date(WORDS, str(rng.choice(["1970-01-01", "1999-03-05"])), zone=zone)
    )


def texts_with_offset(rng, n, name):
    return iso_texts(rng, n, name, str(rng.choice(ZONES)))


def dates_of_a_form(rng, n, name):
    form = str(
        rng.choice(
            [
                "%d.%m.%Y",
                "%m/%d/%Y",
                "%Y/%m/%d",
                "%b %d, %Y",
                "%d-%m-%Y",
                "%m/%d/%y",
                "%d %B %Y %I:%M %p",
                "%Y-%m-%dT%H:%M",
                "%d.%m.%Y, %H:%M Uhr",
            ]
        )
    )
    years = (1969, 2068) if "%y" in form else (1900, 2100)
    texts = [moment.strftime(form) for moment in _moments(rng, n, *years)]
    if rng.random() < 0.5 and not form.startswith("%Y"):  # one digit for the first days
        texts = [text.lstrip("0") for text in texts]
    column = Column("TEXT", with_gaps(rng, padded(rng, texts), WORDS))
    return _with_parts(rng, column, name, Date(WORDS, "1999-12-31", form))


COMPACT = ("%Y%m%d", "%d%m%Y", "%Y-%m", "%m/%Y", "%B %Y", "%d%b%Y", "%Y%m%d%H%M", "%Y%m")


def compact_dates(rng, n, name, form=None):
    """Dates without separators, or without a day."""
    form = form or str(rng.choice(COMPACT))
    texts = [moment.strftime(form) for moment in _moments(rng, n)]
    column = Column("TEXT", with_gaps(rng, texts, WORDS))
    return _with_parts(rng, column, name, Date(WORDS, "1999-12-31", form))


def counted_dates(rng, n, name):
    """Seconds since 1970, or days since 1899-12-30."""
    moments = [moment.replace(microsecond=0) for moment in _moments(rng, n)]
    if rng.random() < 0.5:
        cells = [(moment - datetime(1970, 1, 1)) // timedelta(seconds=1) for moment in moments]
        return _with_parts(rng, Column("BIGINT", with_gaps(rng, cells)), name, Date(form="unix"))
    cells = [(moment - datetime(1899, 12, 30)).days for moment in moments]
    return _with_parts(rng, Column("BIGINT", with_gaps(rng, cells)), name, Date(form="excel"))


def dates_as_integers(rng, n, name):
    form = str(rng.choice(["%Y%m%d", "%Y%m"]))
    cells = [int(moment.strftime(form)) for moment in _moments(rng, n)]
    return _with_parts(rng, Column("BIGINT", with_gaps(rng, cells)), name, Date(form=form))


def dates(rng, n, name):
    cells = [moment.date() for moment in _moments(rng, n)]
    return _with_parts(rng, Column("DATE", with_gaps(rng, cells)), name, Date(is_typed=True))


def timestamps(rng, n, name):
    column = Column("TIMESTAMP", with_gaps(rng, _moments(rng, n)))
    return _with_parts(rng, column, name, Date(first="2001-02-03 04:05:06", is_typed=True))


def instants(rng, n, name):
    cells = [moment.replace(tzinfo=UTC) for moment in _moments(rng, n, 1972, 2036)]
    reader = Date(zone=str(rng.choice(ZONES)), is_typed=True)
    return _with_parts(rng, Column("TIMESTAMPTZ", with_gaps(rng, cells)), name, reader)


def _with_parts(rng, column, name, reader):
    column.add(name, reader)
    for part in ("month", "weekday", "hour"):
        column.add(name, replace(reader, part=part))
    return column


def clocks(rng, n, name):
    form = str(rng.choice(["%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S%p"]))
    texts = [moment.strftime(form) for moment in _moments(rng, n)]
    column = Column("TEXT", with_gaps(rng, padded(rng, texts), WORDS))
    return column.add(name, Date(WORDS, form=form))


def times(rng, n, name):
    cells = [time(*(int(value) for value in rng.integers(0, (24, 60, 60)))) for _ in range(n)]
    return Column("TIME", with_gaps(rng, cells)).add(name, Date(form="%H:%M:%S"))


def levels(rng, n, name):
    values = [
        "gold",
        "Gold",
        "gold ",
        "it is",
        'a "b"',
        "back\\slash",
        "über",
        "u\u0308ber",
        "new\nline",
        "",
        "%",
    ]
    cells = with_gaps(rng, rng.choice(values, n).tolist(), WORDS)
    return _with_levels(rng, Column("TEXT", cells), name, Level(WORDS))


def truth(rng, n, name):
    cells = with_gaps(rng, (rng.random(n) < 0.5).tolist())
    return _with_levels(rng, Column("BOOLEAN", cells), name, Level(("NA",), "truth"))


def numbers_of_levels(rng, n, name):
    cells = with_gaps(rng, [int(value) for value in rng.choice([1, 2, 3, 7, 99], n)])
    return _with_levels(rng, Column("INTEGER", cells), name, Level((99, "NA"), "number"))


def _with_levels(rng, column, name, reader):
    """Add 0/1 features of some levels; one may be all others, and one may have missing values."""
    cells = reader.read(pd.Series(column.cells, dtype=object))
    known = cells.dropna().unique()[:4].tolist()
    own = [((level,), False) for level in known[:-1]]
    own.append((tuple(known[:-1]), True) if rng.random() < 0.5 else ((known[-1],), False))
    gap = rng.integers(len(own) + 1)
    for j, (values, is_rest) in enumerate(own):
        label = "other" if is_rest else values[0]
        feature = Indicator(name, label, bool(j == gap), values, is_rest, reader)
        there = cells.isin(values) != is_rest
        column.features.append((feature, np.where(cells.isna(), j == gap, there).astype(float)))
    return column


KINDS = (floats, small_floats, integers, decimals, codes, written, iso_texts, texts_with_offset)
KINDS += (dates_of_a_form, dates, timestamps, instants, clocks, times, levels, truth)
KINDS += (numbers_of_levels, compact_dates, counted_dates, dates_as_integers)


# ---------------------------------------------------------------------- tables and trees


def random_columns(seed, n=120, kinds=KINDS):
    """Columns by name: dict of Column."""
    rng = np.random.default_rng(seed)
    return {
        f'{kind.__name__} `"{j}': kind(rng, n, f'{kind.__name__} `"{j}')
        for j, kind in enumerate(kinds)
    }


def types_of(columns, dialect):
    """Type of each column in a database: dict of str."""
    own = TYPES.get(dialect, {})
    return {name: own.get(column.kind, column.kind) for name, column in columns.items()}


def rows_of(columns, dialect):
    """Rows with the values that the client of a database understands: list of tuples."""

    def stored(cell):
        if isinstance(cell, datetime) and cell.tzinfo and dialect == "mysql":
            return cell.replace(tzinfo=None)
        if dialect == "sqlite" and isinstance(cell, Decimal):
            return float(cell)
        is_known = cell is None or isinstance(cell, str | int | float | bool)
        return cell if is_known or dialect != "sqlite" else str(cell)

    cells = ([stored(cell) for cell in column.cells] for column in columns.values())
    return list(zip(*cells, strict=True))


def random_tree(rng, features, depth, is_oblique):
    """A tree whose thresholds are values of rows, or lie between them.

    Returns
    -------
    tree : Tree
    names : list of str
    X : float array of shape (n, n_features)
    """
    names, columns = map(list, zip(*features, strict=True))
    X = np.column_stack(columns)
    n_inner = 2**depth - 1
    splits, thresholds = [], []
    for _ in range(n_inner):
        size = min(int(rng.integers(1, 5)), len(names)) if is_oblique else 1
        used = np.sort(rng.choice(len(names), size, replace=False))
        scale = np.maximum(np.abs(X[:, used]).max(axis=0), 1e-9)
        weights = rng.choice([1.0, -1.0, 0.1, 1 / 3, 2.5], size) / (scale if size > 1 else 1.0)
        total = np.zeros(len(X))
        for weight, j in zip(weights, used, strict=True):
            total = total + weight * X[:, j]
        low, high = rng.choice(total, 2)
        candidates = low, (low + high) / 2, round(low, 1)  # 0.1 differs from its float32
        thresholds.append(float(rng.choice(candidates, p=[0.5, 0.25, 0.25])))
        splits.append((used, weights))
    n_nodes = 2 * n_inner + 1
    left = [2 * i + 1 if i < n_inner else -1 for i in range(n_nodes)]
    right = [2 * i + 2 if i < n_inner else -1 for i in range(n_nodes)]
    labels = [-1] * n_inner + list(range(n_inner + 1))
    splits += [None] * (n_inner + 1)
    thresholds += [0.0] * (n_inner + 1)
    return Tree.from_splits(left, right, splits, thresholds, labels, len(names)), names, X
