"""Decide what each column of a raw table is, and ask about columns with several meanings."""

import json
import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype

from .dates import Date, Duration, forms_of, is_dates, possible_forms
from .readers import (
    Level,
    Number,
    Reader,
    Written,
    as_texts,
    stripped_texts,
    units_of,
)
from .schema import Decision, Question, Schema

# Last words of the names of columns that identify rows, places or people.
_NAMING_WORDS = {
    *("id", "ids", "code", "zip", "zipcode", "postcode", "plz", "phone", "telephone", "mobile"),
    *("fax", "nr", "uuid", "guid", "ssn", "isbn", "ean", "sku", "rownames", "rowname", "barcode"),
}
_NAMES_OF_NUMBERED = {"store", "shop", "branch", "unit", "index"}  # as whole names
# What stands before "id" in names such as "userid". Other words that end in "id", from acid to
# Madrid, name no identifiers.
_IDENTIFIED = {
    *("user", "customer", "client", "member", "person", "patient", "student", "employee", "case"),
    *("company", "order", "product", "item", "invoice", "transaction", "session", "account"),
    *("sample", "object", "station", "sensor", "device", "store", "passenger", "household", "row"),
}
# Integers between these numbers may be dates of a form; no form reads milliseconds since 1970.
_DATES_AS_INTEGERS = {
    "%Y%m%d": (19_000_101, 21_001_231),
    "%Y%m": (190_001, 210_012),
    "%Y%m%d%H%M": (190_001_010_000, 210_012_312_359),
    "%Y%m%d%H%M%S": (19_000_101_000_000, 21_001_231_235_959),
    "excel": (29_221, 51_136),  # 1980 to 2040
    "unix": (631_152_000, 2_208_988_800),  # 1990 to 2040
    None: (631_152_000_000, 2_208_988_800_000),
}
# Strings with a year or a clock, and other numbers and words, that may be dates of any language.
_LIKE_DATES = re.compile(
    r"(?=.*(?<!\d)(?:1[89]|20)\d\d(?!\d\b)|.*\d[:hT]\d\d)(?:[^\W\d_]{2,12}[.,]? )*"
    r"\d{1,8}(?:\D{1,20}\d{1,4}|T\d{6}){1,6}\D{0,5}|\d{1,2}[./]\d{1,2}[./]"
)
_MOSTLY = 0.5  # share of numbers or dates from which other cells are asked about
_NEARLY_ALL = 0.8  # share from which the most careful reading takes the other cells as missing
_FEW_WORDS = 20  # the most different cells that can be listed as missing values
_SAMPLE = 200  # cells that are looked at first
# Numbers are far from all others if their distance from the median is so many median distances,
# and so many times the distance of the next number.
_FAR, _FAR_RATIO = 20.0, 5.0
_NEGATIVE_CODES = r"-[789]|-(?:77+|88+|99+|9+[78])"  # among positive numbers
_EXACT_INTEGERS = 2.0**53
# The test for uniform numbers needs this many rows. The limit is the 1 % quantile of the
# Kolmogorov-Smirnov statistic times the square root of the number of rows.
_ENOUGH_ROWS, _UNIFORM_LIMIT = 200, 1.63
_LEFT_OUT = {"use": False}


@dataclass(frozen=True)
class Options:
    """The options that decide about a column; see :func:`tao_cluster.table_pipeline`."""

    missing: str
    na_values: tuple[str | int | float, ...]
    max_levels: int
    columns: tuple[str, ...] | None
    drop: tuple[str, ...]
    keep: tuple[str, ...]
    categorical: tuple[str, ...]
    date_parts: tuple[str, ...]
    schema: Schema


@dataclass(frozen=True)
class _Cells:
    """The cells of a column that are not missing.

    Parameters
    ----------
    name : str
    column : Series, the raw column with all its cells
    kinds : Series, the different cells, each with the label of its first row
    codes : int array, the place in `kinds` of each cell
    words : tuple of str or numbers
        Cells that mean a missing value; empty if the column has no missing values.
    is_forced : bool
        Whether the user has asked for the column.
    """

    name: str
    column: Any
    kinds: Any
    codes: Any
    words: tuple[str | int | float, ...]
    is_forced: bool

    def read(self, reader):
        """Return the number of each cell; each kind of cell is read once."""
        return reader.read(self.kinds).to_numpy()[self.codes]

    def share(self, is_found, kinds=slice(None)):
        """Return the share of the cells of which the kind, one of `kinds`, is found."""
        return np.average(is_found, weights=np.bincount(self.codes)[kinds])


def decide(column, name, options):  # noqa: PLR0911, one per reason
    """Return the Decision about a column. It has a question if the column has several meanings.

    Parameters
    ----------
    column : Series, the raw column
    name : str
    options : Options
    """
    given = options.schema.columns.get(name)
    words = options.na_values
    if given is not None and given.readers and given.readers[0].missing:
        words = given.readers[0].missing
    cells = Reader(words).with_gaps(column)
    filled = cells.dropna()
    decision = Decision(name, "other", len(column), len(cells) - len(filled))
    if name in options.drop or (options.columns is not None and name not in options.columns):
        return replace(decision, why="not chosen")
    if given is not None and not given.readers:
        return replace(decision, kind=given.kind, why=given.why or "left out by the schema")
    try:
        codes, kinds = pd.factorize(filled)  # each kind of cell is looked at once
    except TypeError:
        return replace(decision, why=f"has values of type {type(filled.iloc[0]).__name__}")
    first = np.zeros(len(kinds), dtype=int)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    kinds = filled.iloc[first]
    if len(kinds) + (decision.n_missing > 0) < 2:
        why = f"always {kinds.iloc[0]}" if len(kinds) else "empty"
        return replace(decision, kind="constant", why=why)
    words = words if decision.n_missing else ()
    is_forced = name in options.keep or options.columns is not None
    cells = _Cells(name, column, kinds, codes, words, is_forced)
    found = _kind_of(cells, options) if given is None else _of_schema(given, cells, options)
    found = replace(decision, **found)
    if found.kind != "category" and found.readers and len(kinds) == 1:
        why = f"always {kinds.iloc[0]} where it is not missing"
        return replace(decision, kind="constant", why=why)
    if not found.readers or not found.n_missing:
        return found
    if options.missing == "refuse":
        raise ValueError(
            f"column {name!r} has {found.n_missing} missing values; choose missing='median' or "
            "'indicator', or leave out the column with drop."
        )
    if found.kind == "category":
        return replace(found, done=f"{found.done}, one more for missing values")
    flag = ", and an indicator" if options.missing == "indicator" else ""
    return replace(found, done=f"{found.done}, median where missing{flag}")


def with_careful_answer(column, question, options):
    """Return the Decision about a column after the most careful answer to its question."""
    columns = {question.where: question.careful}
    schema = Schema.from_dict({"columns": columns, "missing": list(options.na_values)})
    return decide(column, question.where, replace(options, schema=schema))


def _of_schema(given, cells, options):
    """Return what the schema decides about a column, as a dict; see :func:`_kind_of`."""
    readers = tuple(replace(reader, missing=tuple(cells.words)) for reader in given.readers)
    first = readers[0]
    if isinstance(first, Level):
        return {"why": given.why, **_category(cells, options, form=first.form)}
    if isinstance(first, Date):
        first = replace(first, is_typed=is_dates(cells.column))
        if first.first == Date.first:
            first.read(cells.kinds)  # raises at a wrong cell
            first = first.starting_at(cells.kinds)
        parts = [reader.part for reader in readers[1:]]
        if not (parts or first.is_time):
            parts = options.date_parts
        readers = tuple(replace(first, part=part) for part in (first.part, *parts))
    done = "number" if given.kind == "number" else first.unit
    return {"kind": given.kind, "done": done, "why": given.why, "readers": readers}


def _kind_of(cells, options):
    """Return kind, what is done, reason and readers of a column with several values, as a dict."""
    kind, dtype = infer_dtype(cells.kinds), cells.column.dtype
    if kind == "boolean":
        return _category(cells, options, form="truth")
    if cells.name in options.categorical or isinstance(dtype, pd.CategoricalDtype):
        form = "number" if kind in _NUMBERS else "text"
        why = "chosen as a category" if cells.name in options.categorical else "of type category"
        if getattr(dtype, "ordered", False):
            why += "; the order of its levels is not used"
        return _category(cells, options, why, form=form)
    is_complex = any(isinstance(cell, complex) for cell in cells.kinds.head(_SAMPLE))
    if kind in ("complex", "bytes", "period") or is_complex:
        why = f"values of the type {kind}; convert them to numbers, dates or strings"
        return {"kind": "date" if kind == "period" else "other", "why": why}
    if kind.startswith("timedelta"):
        reader = Duration(cells.words)
        return {"kind": "duration", "done": reader.unit, "readers": (reader,)}
    if is_numeric_dtype(dtype) or kind in (*_NUMBERS, "decimal"):
        return _numeric(cells, Number(cells.words), options)
    return _strings(cells, options)


_NUMBERS = ("integer", "floating", "mixed-integer-float")  # kinds of pandas


def _asked(cells, kind, text, answers, careful=_LEFT_OUT):
    """Return the decision about a column in doubt: a question; see :class:`Question`."""
    return {"kind": kind, "question": Question(cells.name, text, tuple(answers), careful)}


# ---------------------------------------------------------------------- numbers


def _numeric(cells, reader, options):
    """Return the decision about a column of numbers; see :func:`_kind_of`."""
    numbers = cells.read(reader)
    if not reader.unit and {*numbers[:_SAMPLE]} <= {0, 1} and {*numbers} == {0, 1}:
        form = "number" if isinstance(reader, Number) else "text"
        return _category(cells, options, "only 0 and 1", form=form)
    if not reader.unit and (numbers == np.floor(numbers)).all():
        found = _of_integers(cells, numbers, options)
        if found:
            return found
    doubt = _far_from_others(cells, numbers)
    why = f"numbers in {reader.unit}" if reader.unit else ""
    why = "; ".join(filter(None, [why, doubt]))
    return {"kind": "number", "done": "number", "readers": (reader,), "why": why, "doubt": doubt}


def _of_integers(cells, numbers, options):
    """Return the decision about integers that may be names, codes or dates; None for numbers."""
    low, high, n_rows = numbers.min(), numbers.max(), len(numbers)
    is_named = _is_called_name(cells.name)
    is_counted = numbers[0] in (0, 1) and (np.diff(numbers) == 1).all()
    if not cells.is_forced and (is_named or is_counted):
        why = f"integers in a column with the name {cells.name!r}"
        remedy, use = "keep", "number"
        if len(cells.kinds) <= options.max_levels:
            remedy, use = "categorical", "category"
        why = why if is_named else "numbers of the rows"
        return {"kind": "name", "why": f"{why}; {remedy}=[{cells.name!r}] uses it as a {use}"}
    shown, number = cells.kinds.iloc[0], {"kind": "number"}
    for form, (first, last) in _DATES_AS_INTEGERS.items():
        if not (first <= low and high <= last):
            continue
        dates = [{"kind": "date", "format": form}] if form else []
        if not form or np.isfinite(Date(form=form)._seconds(cells.kinds)).all():
            text = f"are integers such as {shown} dates or numbers?"
            return _asked(cells, "date", text, (*dates, number, _LEFT_OUT))
    if not cells.is_forced and np.median(np.abs(numbers)) > _EXACT_INTEGERS:
        return _codes_or_numbers(cells, options)
    n_kinds = len(cells.kinds)
    is_dense = n_kinds == n_rows >= 10 and high - low < 1.5 * n_rows
    is_uniform = n_rows >= _ENOUGH_ROWS and _is_uniform(numbers, low, high)
    if cells.is_forced or n_kinds <= n_rows / 2 or not (is_dense or is_uniform):
        return None
    text = f"do the {n_kinds} different integers such as {shown} name the rows?"
    return _asked(cells, "name", text, (_LEFT_OUT, number))


def _codes_or_numbers(cells, options):
    """Return the question whether the cells of a column are codes or numbers."""
    category = {"kind": "category"}
    careful = category if len(cells.kinds) <= options.max_levels else _LEFT_OUT
    text = f"are {str(cells.kinds.iloc[0]).strip()!r} and the other cells codes or numbers?"
    return _asked(cells, "name", text, (category, {"kind": "number"}, _LEFT_OUT), careful)


def _far_from_others(cells, numbers):
    """Return a warning if numbers lie far from all others; else an empty str.

    Such numbers may be codes for missing values, such as -999, or wrong. Negative codes among
    positive numbers are reported, however near they lie.
    """
    middle = np.median(numbers)
    distances = np.abs(numbers - middle)
    if not distances.any():
        return ""
    usual = np.median(distances[distances > 0])
    negative = np.unique(numbers[numbers < 0])
    are_codes = all(re.fullmatch(_NEGATIVE_CODES, f"{number:g}") for number in negative)
    found = (numbers < 0) & are_codes
    for side in (numbers < middle, numbers > middle):
        if distances[side].max(initial=0) <= _FAR * usual:
            continue
        ordered = np.unique([usual, *np.maximum(distances[side], usual)])
        is_gap = ordered[1:] > np.maximum(_FAR_RATIO * ordered[:-1], _FAR * usual)
        if is_gap.any():
            found |= side & (distances >= ordered[1:][is_gap][0])
    if not found.any():
        return ""
    kinds = cells.kinds.iloc[pd.unique(cells.codes[found])]
    examples = [_plain(cell) for cell in kinds.head(3)]
    n = int(found.sum())
    return (
        f"column {cells.name!r} has {n} value{'s' * (n > 1)} far from all others"
        f"{':' if len(kinds) <= 3 else ', such as'} {', '.join(map(str, examples))}; if they mean "
        f'a missing value, write "missing": {json.dumps(examples, ensure_ascii=False)} into its '
        "entry of the schema; if they are outliers, use objective='trimmed' or 'kmedians' "
        "(--objective)"
    )


def _plain(cell):
    """Return a cell as a Python number or as a string."""
    if not isinstance(cell, Real | Decimal):
        return str(cell).strip().removesuffix(" 00:00:00")
    return int(cell) if cell == int(cell) and abs(cell) < 1e30 else float(cell)


def _is_uniform(numbers, low, high):
    """Return whether integers seem to be drawn uniformly, as identifiers are.

    Measurements are mostly different, too, for example incomes in a small table. But hardly any
    measurement is uniform between its smallest and largest value.
    """
    n_rows, places = len(numbers), (np.sort(numbers) - low) / (high - low)
    steps = np.arange(n_rows)
    distance = max((places - steps / n_rows).max(), ((steps + 1) / n_rows - places).max())
    return distance * math.sqrt(n_rows) <= _UNIFORM_LIMIT


def _is_called_name(name):
    """Return whether the name of a column ends in a word such as id, code or phone."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    if not words:
        return name.strip() == ""
    last, whole = words[-1].lower(), name.strip().lower()
    if whole in _NAMES_OF_NUMBERED or whole.startswith("unnamed: 0") or last in _NAMING_WORDS:
        return True
    return last.endswith("id") and last[:-2] in _IDENTIFIED


# ---------------------------------------------------------------------- strings


def _strings(cells, options):  # noqa: PLR0911, one per kind
    """Return the decision about a column of strings, dates or other objects; see `_kind_of`."""
    some = slice(None, None, max(1, len(cells.kinds) // _SAMPLE))  # they show most kinds at once
    date = Date.from_cells(cells.kinds.iloc[some]) and Date.from_cells(cells.kinds, cells.words)
    if date:
        parts = () if date.is_time else options.date_parts
        readers = (date, *(replace(date, part=part) for part in parts))
        doubt = _far_from_others(cells, cells.read(date))
        why = "; ".join(filter(None, [f"in {date.zone}" if date.zone else "", doubt]))
        kind = "time" if date.is_time else "date"
        return {"kind": kind, "done": date.unit, "readers": readers, "why": why, "doubt": doubt}
    first = stripped_texts(cells.kinds.iloc[some])
    texts = stripped_texts(cells.kinds) if Written.from_cells(first) else first
    written = Written.from_cells(texts, cells.words)
    if written:
        entries = _entries_of_numbers(written, texts)
        if len(entries) == 1 or (not entries and cells.is_forced):
            return _numeric(cells, written, options)
        if entries:
            text = f"does the mark in {_marked(texts)!r} separate thousands or decimals?"
            return _asked(cells, "number", text, (*entries, _LEFT_OUT))
        if not _is_called_name(cells.name):
            return _codes_or_numbers(cells, options)
    elif cells.share(first.map(_is_like_date), some) >= _MOSTLY:
        forms = filter(_is_date_form, possible_forms(stripped_texts(cells.kinds)))
        return _with_odd_cells(cells, "date", [*map(_date_entry, forms)], options)
    elif cells.share(units_of(first).notna(), some) >= _MOSTLY:
        texts = stripped_texts(cells.kinds)
        units = units_of(texts)
        counts = pd.Series(np.bincount(cells.codes), texts.index)
        usual = texts[units == counts.groupby(units).sum().idxmax()]
        written = Written.from_cells(usual)
        entries = _entries_of_numbers(written, usual) if written else []
        are_codes = bool(written and not entries)
        entries = [{"kind": "number"}] if are_codes else entries
        return _with_odd_cells(cells, "number", entries, options, is_sure=not are_codes)
    n_levels, n_rows = len(cells.kinds), len(cells.codes)
    is_name = n_levels > max(2, n_rows / 2)
    is_name |= _is_called_name(cells.name) and n_levels > options.max_levels
    if is_name and not cells.is_forced:
        return {"kind": "name", "why": f"{n_levels} different strings in {n_rows} rows"}
    return _category(cells, options)


def _is_like_date(text):
    """Return whether a string looks like a date or a time of day that can be read or not."""
    return any(map(_is_date_form, forms_of(text))) or bool(_LIKE_DATES.fullmatch(text))


def _is_date_form(form):
    """Return whether a format has more than a year of two digits and a month, such as 18-25."""
    return form is None or bool(re.search("%[dYHI]", form))


def _entries_of_numbers(written, texts):
    """Return the entries of a schema by which strings can be numbers: none if they are codes."""
    doubt, usual = written.doubt(texts), Written()
    keys = ("prefix", "suffix") if doubt else ("prefix", "suffix", "thousands", "decimal", "minus")
    entry = {"kind": "number"} | {
        key: getattr(written, key) for key in keys if getattr(written, key) != getattr(usual, key)
    }
    if doubt == "mark":
        mark = re.search(r"\d([.,])\d", _marked(texts))[1]
        return [{**entry, key: mark} for key in ("thousands", "decimal")]
    return [] if doubt else [entry]


def _marked(texts):
    """Return the first string with a mark between digits."""
    return texts[texts.str.contains(r"\d[.,]\d")].iloc[0]


def _date_entry(form):
    if form is None:
        return {"kind": "date"}
    return {"kind": "time" if Date(form=form).is_time else "date", "format": form}


def _with_odd_cells(cells, kind, entries, options, *, is_sure=True):
    """Return the question about a column of which entries of a schema read most cells.

    Parameters
    ----------
    cells : _Cells
    kind : {"date", "number"}
    entries : list of dict
    options : Options
    is_sure : bool
        Whether most cells certainly are of this kind if there is only one entry.
    """
    texts, answers, shares = stripped_texts(cells.kinds), [], []
    example = texts.iloc[0]
    for entry in entries:
        (reader,) = Schema.from_dict({"columns": {cells.name: entry}}).readers.values()
        is_read = np.isfinite(reader._numbers(texts))
        odd, share = texts[~is_read].unique().tolist(), cells.share(is_read)
        if share >= _MOSTLY and len(odd) <= _FEW_WORDS:
            answers.append({**entry, "missing": odd} if odd else entry)
            shares.append(share)
            example = odd[0] if odd else example
    is_sure &= len(answers) == 1 and shares[0] >= _NEARLY_ALL
    careful = answers[0] if is_sure else _LEFT_OUT
    what = {"date": "dates or times of day", "number": "numbers"}[kind]
    text = f"most cells are {what}; what is {example!r}?"
    if not answers or min(shares) == 1:
        text = f"are cells such as {example!r} {what} of {'this' if answers else 'any'} form?"
    if len(texts) <= options.max_levels:
        answers.append({"kind": "category"})
    return _asked(cells, kind, text, (*answers, _LEFT_OUT), careful)


def _category(cells, options, why="", *, form="text"):
    """Return the decision about a column of categories; see :func:`_kind_of`."""
    reader = Level(cells.words, form)
    levels, _ = pd.factorize(reader.read(cells.kinds).to_numpy())
    counts = np.sort(np.bincount(levels[cells.codes]))
    n_levels, done, whys = len(counts), f"{len(counts)} levels", [why] if why else []
    if form == "text" and n_levels < as_texts(cells.kinds).nunique():
        whys.append("levels that differ only in how accents are encoded are one level")
    if n_levels > options.max_levels:
        done = f"{options.max_levels - 1} most frequent levels, and other"
        n_rest = counts[: n_levels - options.max_levels + 1].sum()
        whys.append(f"{n_levels} levels, of which other has {n_rest} of {len(cells.codes)} rows")
    return {"kind": "category", "done": done, "why": "; ".join(whys), "readers": (reader,)}
