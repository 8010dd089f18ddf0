"""Messy files, what their columns mean, and what has to be asked about them.

Each case is a text file as people export it. A column is certain, and then it is read right without
a question; or it is doubtful, and then one of the answers that are offered reads it right.
"""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

N = 60  # rows of a file
LEFT_OUT = "left out"


@dataclass
class Case:
    """A file.

    Parameters
    ----------
    text : str or bytes, the file
    truth : dict by column
        Numbers (NaN for gaps), levels (None for gaps), Timestamps, or LEFT_OUT.
    asks : dict by column, or "file"
        A part of the answer that is right, such as {"kind": "number", "thousands": "."}.
    """

    text: str | bytes
    truth: dict
    asks: dict = field(default_factory=dict)


def lines(*columns, header, separator=",", end="\n"):
    """A file with these columns of strings."""
    rows = [header, *zip(*columns, strict=True)]
    return end.join(separator.join(map(str, row)) for row in rows) + end


def measure(rng, n=N):
    return np.round(30.0 * rng.integers(0, 3, n) + rng.normal(size=n), 2)


CASES = {}


def case(function):
    """Register a function that makes a case from a random generator."""
    CASES[function.__name__] = function
    return function


def one(cells, truth, ask=None, *, separator=",", name="value"):
    """A file of a plain column of measures and the column in question."""

    def make(rng):
        plain, own = measure(rng), cells(rng)
        own, meant = own if isinstance(own, tuple) else (own, truth(own))
        text = lines([f"{v:.2f}" for v in plain], own, header=["size", name], separator=separator)
        return Case(text, {"size": plain, name: meant}, {} if ask is None else {name: ask})

    return make


def add(name, make):
    CASES[name] = make


def numbers(*values):
    return np.array(values, dtype=float)


# ---------------------------------------------------------------- certain numbers


def integers(rng):
    return rng.poisson(4, N) + 9 * rng.integers(0, 3, N)


add("integers", one(integers, lambda c: np.asarray(c, float)))
add("negative", one(lambda g: np.round(g.normal(size=N), 3), lambda c: np.asarray(c, float)))
add(
    "minus sign of a web page",
    one(
        lambda g: [f"{v:.2f}".replace("-", "\u2212") for v in g.normal(size=N)],
        lambda c: np.array([float(x.replace("\u2212", "-")) for x in c]),
    ),
)


def with_unit(before, behind):
    def cells(rng):
        values = np.round(50 + 10 * rng.normal(size=N), 1)
        return [f"{before}{v:.1f}{behind}" for v in values], values

    return cells


for unit in (("", " kg"), ("$", ""), ("", " %"), ("EUR ", "")):
    add(f"unit {unit}", one(with_unit(*unit), None))


def grouped(rng):
    values = np.round(2000 * (1 + rng.random(N)) * 10.0 ** rng.integers(0, 3, N), 2)
    return [f'"{v:,.2f}"' for v in values], values


add("thousands and decimals", one(grouped, None))


@case
def decimal_comma_with_exponent(rng):
    values = np.round(rng.random(N) * 900 + 1, 3)
    cells = [f"{v:.3e}".replace(".", ",") for v in values]
    plain = [f"{v:.2f}".replace(".", ",") for v in measure(rng)]
    text = lines(plain, cells, header=["size", "value"], separator=";")
    return Case(text, {"value": np.array([float(c.replace(",", ".")) for c in cells])})


GAPS = ("NA", "NaN", "", "-", r"\N", "k.A.", "unbekannt", "n/a", "null", "none", "N/A", "NULL")


def with_gaps(word):
    def cells(rng):
        values = np.round(50 + 10 * rng.normal(size=N), 1)
        is_gap = rng.random(N) < 0.15
        is_gap[3] = True
        return (
            [word if gap else f"{v:.1f}" for v, gap in zip(values, is_gap, strict=True)],
            np.where(is_gap, np.nan, values),
        )

    return cells


for word in (*GAPS[::2], "inconnu"):
    add(f"gap {word!r}", one(with_gaps(word), None))


# ---------------------------------------------------------------- numbers in doubt


def units_with_words(word, sign="€", share=0.1):
    def cells(rng):
        values = np.round(rng.normal(50_000, 9000, N), 0)
        is_word = rng.random(N) < share
        is_word[2] = True
        texts = [word if gap else f"{v:.0f} {sign}" for v, gap in zip(values, is_word, strict=True)]
        return texts, np.where(is_word, np.nan, values)

    return cells


for word in ("auf Anfrage", "see note", "gesperrt", "confidential"):
    ask = {"kind": "number", "suffix": "€", "missing": [word]}
    add(f"unit with {word!r}", one(units_with_words(word), None, ask))
add("unit with k.A.", one(units_with_words("k.A."), None))  # a usual word for a gap


def numbers_with_word(word):
    def cells(rng):
        values = np.round(rng.normal(500, 90, N), 1)
        is_word = rng.random(N) < 0.1
        is_word[2] = True
        texts = [word if gap else f"{v:.1f}" for v, gap in zip(values, is_word, strict=True)]
        return texts, np.where(is_word, np.nan, values)

    return cells


for word in ("closed", ">999", "siehe Anhang"):
    ask = {"kind": "number", "missing": [word]}
    add(f"numbers with {word!r}", one(numbers_with_word(word), None, ask))


def points(rng):
    values = rng.integers(2, 900, N) * 1000.0 + rng.integers(0, 9, N) * 100
    values[:9] = rng.integers(100, 999, 9)
    return [f"{v:,.0f}".replace(",", ".") for v in values], values


add("1.250 are thousands", one(points, None, {"thousands": "."}, separator=";"))


def padded(rng):
    codes = rng.choice(["0071", "0152", "1004", "0900"], N)
    return codes, codes


add("0071 is a code", one(padded, None, {"kind": "category"}))
add(
    "0071 is a number",
    one(
        lambda g: (c := [f"{v:04d}" for v in integers(g)], np.array([float(x) for x in c])),
        None,
        {"kind": "number"},
    ),
)


def versions(rng):
    codes = rng.choice(["1.1", "1.9", "1.10", "2.0"], N)
    codes[:2] = ["1.1", "1.10"]
    return codes, codes


add("1.10 is a version", one(versions, None, {"kind": "category"}))


def long_ids(rng):
    codes = rng.choice([9007199254740993 + i for i in range(5)], N).astype(str)
    codes[:2] = ["9007199254740993", "9007199254740992"]
    return codes, codes


add("long numbers are codes", one(long_ids, None, {"kind": "category"}))


# ---------------------------------------------------------------- dates


def days(rng, first="2023-01-01", n=700):
    return pd.Timestamp(first) + pd.to_timedelta(rng.integers(0, n, N), unit="D")


def moments(rng):
    return days(rng) + pd.to_timedelta(rng.integers(0, 86_400, N), unit="s")


def written(form, times=moments):
    def cells(rng):
        found = times(rng)
        texts = found.strftime(form)
        return [f'"{text}"' for text in texts], pd.to_datetime(texts, format=form)

    return cells


for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M"):
    add(f"date {form}", one(written(form), None))
for form in (
    "%d.%m.%Y", "%m/%d/%Y %I:%M:%S %p", "%d %b %Y", "%B %d, %Y", "%Y/%m/%d", "%d-%b-%Y",
    "%d.%m.%Y %H:%M", "%Y-%m",
):  # fmt: skip
    add(f"date {form}", one(written(form), None, {"kind": "date", "format": form}))


def early(rng):
    return pd.DatetimeIndex([f"2023-{m:02d}-{d:02d}" for m, d in rng.integers(1, 13, (N, 2))])


for form in ("%d/%m/%Y", "%m/%d/%Y"):
    add(f"early days {form}", one(written(form, early), None, {"kind": "date", "format": form}))


def from_numbers(form):
    def cells(rng):
        texts = days(rng, n=1500).strftime(form)
        return texts, pd.to_datetime(texts, format=form)

    return cells


for form in ("%Y%m%d", "%Y%m"):
    ask = {"kind": "date", "format": form}
    add(f"integers {form}", one(from_numbers(form), None, ask, name="period"))
    as_number = one(
        lambda g, form=form: (t := days(g, n=1500).strftime(form), np.array(t, dtype=float)),
        None, {"kind": "number"}, name="period",
    )  # fmt: skip
    add(f"numbers {form}", as_number)


def serial(rng):
    found = days(rng, n=900)
    return (found - pd.Timestamp("1899-12-30")).days.astype(str), found


add("days of Excel", one(serial, None, {"kind": "date", "format": "excel"}, name="booked"))
add("incomes", one(lambda g: (v := g.integers(18_000, 90_000, N), v.astype(float)), None))
add("years", one(lambda g: (v := g.integers(1990, 2024, N), v.astype(float)), None))


def clocks(form):
    def cells(rng):
        found = moments(rng)
        texts = found.strftime(form)
        hours = pd.to_datetime(texts, format=form)
        return texts, (hours.hour + hours.minute / 60 + hours.second / 3600).to_numpy()

    return cells


add("time 14:30", one(clocks("%H:%M"), None))
add("time 14:30:05", one(clocks("%H:%M:%S"), None))
add("time 09:05 PM", one(clocks("%I:%M %p"), None, {"kind": "time", "format": "%I:%M %p"}))


MONTHS = ("janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre",
          "octobre", "novembre", "décembre")  # fmt: skip
add(
    "dates of another language",
    one(
        lambda g: ([f"{d.day} {MONTHS[d.month - 1]} {d.year}" for d in days(g)], LEFT_OUT),
        None,
        {"use": False},
    ),
)


# ---------------------------------------------------------------- levels


def levels(*names):
    def cells(rng):
        found = rng.choice(names, N)
        return found, found

    return cells


add("few levels", one(levels("north", "south", "it's", "Österreich"), None))
add("truth", one(lambda g: (t := g.choice(["True", "False"], N), t == "True"), None))


def decomposed(rng):
    cells = rng.choice(["Ko\u0308ln", "K\u00f6ln", "Bonn"], N)
    return cells, [cell.replace("o\u0308", "\u00f6") for cell in cells]


add("decomposed letters", one(decomposed, None))


@case
def an_identifier(rng):
    ids = 10_000 + rng.permutation(N)
    plain = measure(rng)
    text = lines(ids, [f"{v:.2f}" for v in plain], header=["customer_id", "size"])
    return Case(text, {"size": plain, "customer_id": LEFT_OUT})


# ---------------------------------------------------------------- the file itself


def two(rng, separator=","):
    plain, kind = measure(rng), rng.choice(["north", "south"], N)
    text = lines([f"{v:.2f}" for v in plain], kind, header=["size", "kind"], separator=separator)
    return text, {"size": plain, "kind": kind}


for separator in (";", "\t", "|"):
    add(f"separator {separator!r}", lambda g, s=separator: Case(*two(g, s)))


def encoded(encoding):
    def make(rng):
        text, truth = two(rng)
        truth["kind"] = np.char.replace(truth["kind"], "north", "nörd")
        return Case(text.replace("north", "nörd").encode(encoding), truth)

    return make


for encoding in ("utf-8-sig", "cp1252", "utf-16"):
    add(f"encoding {encoding}", encoded(encoding))


@case
def escaped_quotes(rng):
    text, truth = two(rng)
    text = text.replace("north", r'"the \"north\", cold"')
    truth["kind"] = np.where(truth["kind"] == "north", 'the "north", cold', truth["kind"])
    return Case(text, truth)


@case
def a_last_row_total(rng):
    text, truth = two(rng)
    return Case(f"{text}{truth['size'].sum():.2f},Total\n", truth, {"file": {"skip_last": 1}})


@case
def a_title(rng):
    text, truth = two(rng)
    return Case(f"Report of March\n{text}", truth, {"file": {"skip_lines": 1}})


@case
def world_bank(rng):
    text, truth = two(rng)
    before = '"Data Source","World Development Indicators"\n\n"Last Updated","2024-02-21"\n\n'
    return Case(before + text, truth, {"file": {"skip_lines": 4}})


@case
def a_line_of_units(rng):
    text, truth = two(rng)
    head, rest = text.split("\n", 1)
    return Case(f"{head}\n(kg),(region)\n{rest}", truth, {"file": {"skip_units": True}})
