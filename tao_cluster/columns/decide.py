"""Decide what each column of a raw table is: a number, a category, a date or a name."""

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype

from .dates import AmbiguousDatesError, Clock, Date, Duration, is_dates
from .readers import (
    Level,
    Number,
    Reader,
    UnreadableCellError,
    Written,
    as_texts,
    exact_numbers,
    thousands_or_decimal,
)
from .schema import Decision, Schema

# Last words of the names of columns that identify rows, places or people.
_NAMING_WORDS = {
    *("id", "ids", "code", "zip", "zipcode", "postcode", "plz", "phone", "telephone", "mobile"),
    *("fax", "nr", "uuid", "guid", "ssn", "isbn", "ean", "sku", "rownames", "rowname", "barcode"),
}
_NAMES_OF_NUMBERED = {"store", "shop", "branch", "unit", "index"}  # as whole names
# What stands before "id" in names such as "userid". Other words that end in "id", from acid to
# Madrid, name no identifiers.
_IDENTIFIED = {
    *("user", "customer", "cust", "client", "member", "person", "patient", "student", "employee"),
    *("emp", "passenger", "player", "account", "household", "company", "order", "product", "item"),
    *("invoice", "transaction", "payment", "session", "visit", "event", "case", "ticket", "record"),
    *("row", "sample", "object", "station", "sensor", "device", "store", "vendor", "movie", "url"),
}
# Numbers that programs write for a missing value: 7, 8 or 9 repeated (77, 999), and one or two less
# than such a number of nines (98, 997); also with a minus sign, and then with one digit, too.
_CODES = r"-[789]|-?(?:77+|88+|99+|9+[78]|9+\.[09]+)"
_LARGEST = 1e30  # numbers of at least this size are no measurements
_INTEGER_LIMITS = (-(2**31), 2**31 - 1, -(2**63), 2**63 - 1)
_LEAST_SHARE = 0.01  # share of the rows from which such a number is reported
# Dates that programs write for a missing value or for "no end".
_DATE_CODES = ("1900-01-01", "1899-12-30", "1970-01-01", "1901-01-01", "1753-01-01")
_FIRST_YEAR, _LAST_YEAR = 1000, 2900  # dates outside of these years are codes
# Share of numbers from which other cells of a column are faults, and share of cells of an unusual
# form, such as dates, from which advice is given.
_MOSTLY, _NEARLY_ALL = 0.6, 0.8
_MANY = 1000  # cells that are looked at first
# The test for uniform numbers needs this many rows. The limit is the 1 % quantile of the
# Kolmogorov-Smirnov statistic times the square root of the number of rows.
_ENOUGH_ROWS, _UNIFORM_LIMIT = 200, 1.63


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


def decide(column, name, options):
    """Return the Decision about a column.

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
    words = words if decision.n_missing else ()
    if infer_dtype(filled) == "string":
        words = tuple(word for word in words if isinstance(word, str))
    skipped = _skipped(name, filled, decision.n_missing, options, given)
    if skipped is not None:
        return replace(decision, **skipped)
    if given is not None:
        found = replace(decision, **_of_schema(given, column, filled, words, options))
    else:
        is_forced = name in options.keep or options.columns is not None
        found = replace(decision, **_kind_of(column, name, filled, words, options, is_forced))
    if found.kind != "category" and found.readers and filled.nunique() == 1:
        why = f"always {filled.iloc[0]} where it is not missing"
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


def _skipped(name, filled, n_missing, options, given):
    """Return kind and reason, as a dict, if a column is left out whatever its kind; else None.

    Parameters
    ----------
    name : str
    filled : Series, the values that are not missing
    n_missing : int
    options : Options
    given : Decision of the schema about the column, or None
    """
    if name in options.drop or (options.columns is not None and name not in options.columns):
        return {"kind": "other", "why": "not chosen"}
    if given is not None and not given.readers:
        return {"kind": given.kind, "why": given.why or "left out by the schema"}
    objects = filled if filled.dtype == object else ()  # other types have no lists and the like
    unhashable = next((cell for cell in objects if not isinstance(cell, Hashable)), None)
    if unhashable is not None:
        return {"kind": "other", "why": f"has values of type {type(unhashable).__name__}"}
    if filled.nunique() + (n_missing > 0) > 1:
        return None
    why = "empty" if len(filled) == 0 else f"always {filled.iloc[0]}"
    return {"kind": "constant", "why": why}


def _of_schema(given, column, cells, words, options):
    """Return what the schema decides about a column, as a dict; see :func:`_kind_of`."""
    readers = tuple(replace(reader, missing=tuple(words)) for reader in given.readers)
    first = readers[0]
    if isinstance(first, Level):
        return {"why": given.why, **_category(cells, words, options, form=first.form)}
    if isinstance(first, Date):
        typed = is_dates(column)
        first = replace(first, is_typed=typed)
        if first.first == Date.first:
            first.read(column)  # raises at a wrong cell
            first = first.starting_at(cells)
        readers = tuple(replace(first, part=reader.part) for reader in readers)
    done = "number" if given.kind == "number" else first.unit
    return {"kind": given.kind, "done": done, "why": given.why, "readers": readers}


def _kind_of(column, name, cells, words, options, is_forced):  # noqa: PLR0911, one per kind
    """Return kind, what is done, reason and readers of a column with several values, as a dict.

    Parameters
    ----------
    column : Series
        The raw column.
    name : str
    cells : Series
        The values that are not missing.
    words : tuple of str or numbers
        Cells that mean a missing value; empty if the column has no missing values.
    options : Options
    is_forced : bool
        Whether the user has asked for the column.
    """
    kind = infer_dtype(cells)
    if kind == "boolean":
        return _category(cells, words, options, form="truth")
    if name in options.categorical or isinstance(column.dtype, pd.CategoricalDtype):
        form = "number" if kind in _NUMBERS else "text"
        why = "chosen as a category" if name in options.categorical else "of the type category"
        if getattr(column.dtype, "ordered", False):
            why += "; the order of its levels is not used"
        return _category(cells, words, options, why, form=form)
    if isinstance(column.dtype, pd.PeriodDtype):
        return {"kind": "date", "why": "periods; convert them with .dt.to_timestamp()"}
    if kind in ("complex", "bytes") or (kind.startswith("mixed") and _has_complex(cells)):
        why = f"values of the type {kind}; convert them to numbers or strings"
        return {"kind": "other", "why": why}
    if kind.startswith("timedelta"):
        reader = Duration(words)
        return {"kind": "duration", "done": reader.unit, "readers": (reader,)}
    if is_numeric_dtype(column) or kind in (*_NUMBERS, "decimal"):
        return _numeric(name, cells, Number(words), options, is_forced)
    return _strings(name, cells, words, options, is_forced)


_NUMBERS = ("integer", "floating", "mixed-integer-float")  # kinds of pandas


def _has_complex(cells):
    return any(isinstance(cell, complex | np.complexfloating) for cell in cells)


def _numeric(name, cells, reader, options, is_forced):
    """Return the decision about a column of numbers; see :func:`_kind_of`."""
    numbers = reader.read(cells)
    if not reader.unit and set(numbers.unique()) == {0.0, 1.0}:
        form = "number" if isinstance(reader, Number) else "text"
        return _category(cells, reader.missing, options, why="only 0 and 1", form=form)
    why = "" if is_forced else _naming_reason(name, numbers.to_numpy())
    if why:
        remedy = f"keep=[{name!r}] uses it as a number"
        if len(set(numbers)) <= options.max_levels:
            remedy = f"categorical=[{name!r}] uses it as a category"
        is_doubtful = not (_is_called_name(name) or why == _COUNTS)
        doubt = f"column {name!r} seems to name the rows, so it is left out; {remedy}"
        return {"kind": "name", "why": f"{why}; {remedy}", "doubt": doubt if is_doubtful else ""}
    why = f"numbers in {reader.unit}" if reader.unit else ""
    doubt = _codes(name, numbers.to_numpy())
    if not is_forced:
        doubt = doubt or _number_or_name(name, numbers.to_numpy())
    return {
        "kind": "number",
        "done": "number",
        "readers": (reader,),
        "why": "; ".join(filter(None, [why, doubt])),
        "doubt": doubt,
    }


def _codes(name, numbers):
    """Return a warning if numbers such as -999 lie far from all others; else an empty str.

    There may be several ("-8: not asked, -9: no answer"), so that all candidates are compared with
    the numbers that are none. Negative codes among counts are reported, however near they lie.
    """
    values, counts = np.unique(numbers, return_counts=True)
    is_huge = (np.abs(values) >= _LARGEST) | np.isin(values, np.array(_INTEGER_LIMITS, float))
    is_code = counts >= _LEAST_SHARE * len(numbers)
    is_code[is_code] = [bool(re.fullmatch(_CODES, f"{value:g}")) for value in values[is_code]]
    others = values[~(is_code | is_huge)]
    found = is_huge
    if len(others) > 1:
        low, high = others[0], others[-1]
        is_far = np.maximum(low - values, values - high) > high - low
        is_counted = (low >= 0) & (values < 0) & (numbers == np.floor(numbers)).all()
        found = is_huge | (is_code & (is_far | is_counted))
    if not found.any() or found.all():
        return ""
    some = [
        f"{v:.0f}" if abs(v) < _LARGEST and v == round(v) else repr(v)
        for v in values[found].tolist()
    ]
    numbers, lies, means = ("number", "lies", "it means")
    if len(some) > 1:
        numbers, lies, means = ("numbers", "lie", "they mean")
    return (
        f"the {numbers} {', '.join(some)} in column {name!r} {lies} far from all others; "
        f"if {means} a missing value, use na_values=[*NA_VALUES, {', '.join(some)}]"
    )


def _date_codes(name, reader, kinds):
    """Return a warning if dates such as 9999-12-31 may mean missing values; else an empty str.

    Parameters
    ----------
    name : str
    reader : Date
    kinds : Series of the different cells
    """
    seconds = reader._seconds(kinds)
    dates = [reader._shown(int(second))[:10] for second in seconds]
    years = np.array([int(date[:4] or 10_000) for date in dates])
    is_wrong = (years < _FIRST_YEAR) | (years >= _LAST_YEAR)
    is_code = np.isin(dates, _DATE_CODES)
    others = seconds[~(is_wrong | is_code)]
    found = is_wrong
    if len(others) > 1:
        gaps = np.maximum(others.min() - seconds, seconds - others.max())
        found = is_wrong | (is_code & (gaps > np.ptp(others)))
    if not found.any() or found.all():
        return ""
    some = list(dict.fromkeys(str(cell).removesuffix(" 00:00:00") for cell in kinds[found]))
    dates = f"date{'s' if len(some) > 1 else ''} {', '.join(some[:3])}"
    return (
        f"column {name!r} has the {dates}, far from all others; if it means a missing value, use "
        f"na_values=[*NA_VALUES, {', '.join(map(repr, some[:3]))}]"
    )


def _strings(name, cells, words, options, is_forced):
    """Return the decision about a column of strings, dates or other objects; see `_kind_of`."""
    kinds = cells.drop_duplicates()  # each kind of cell is looked at once
    try:
        date = Date.from_cells(kinds, words)
    except AmbiguousDatesError as error:
        return _ambiguous_dates(name, kinds, error)
    if date is not None:
        parts = tuple(replace(date, part=part) for part in options.date_parts)
        doubt = _date_codes(name, date, kinds)
        why = "; ".join(filter(None, [f"in {date.zone}" if date.zone else "", doubt]))
        readers = (date, *parts)
        return {"kind": "date", "done": date.unit, "readers": readers, "why": why, "doubt": doubt}
    texts, distinct = as_texts(cells), as_texts(kinds)
    clock = Clock.from_cells(distinct, words)
    if clock is not None:
        return {"kind": "time", "done": clock.unit, "readers": (clock,)}
    if not distinct.str.match(r"\s*[+-]?0\d").any():  # codes such as 02134 are no numbers
        written = Written.from_cells(distinct, words)
        if written is not None:
            question = _mark_question(name, distinct, written)
            if question:
                return {"kind": "number", "question": question}
            return _numeric(name, cells, written, options, is_forced)
        _check_mixed(name, cells)
    advice = None if is_forced else _unusual(distinct)
    if advice is None or advice["kind"] == "date":
        _check_dates(name, texts)
    return advice or _levels_or_name(name, texts, words, options, is_forced)


def _ambiguous_dates(name, kinds, error):
    """Return the decision about dates that can be read in two ways: a question."""
    if not error.forms:
        raise UnreadableCellError(
            name, kinds.index[0], kinds.iloc[0], f"like all others: the column has {error}"
        )
    answers = [f"{{{name!r}: {{'kind': 'date', 'format': {form!r}}}}}" for form in error.forms]
    question = f"column {name!r} has {error}, such as {kinds.iloc[0]!r}: {' or '.join(answers)}"
    return {"kind": "date", "why": str(error), "question": question}


def _mark_question(name, cells, reader):
    """Return a question if marks in numbers may separate thousands or decimals; else ""."""
    for mark in (".", ","):
        if mark in (reader.thousands, reader.decimal) and thousands_or_decimal(
            cells, mark, reader.unit
        ):
            example = cells[cells.str.contains(mark, regex=False)].iloc[0]
            around = {"prefix": reader.prefix, "suffix": reader.suffix}
            entry = {"kind": "number", **{key: part for key, part in around.items() if part}}
            answers = [
                f"{{{name!r}: { {**entry, key: mark} }}}" for key in ("thousands", "decimal")
            ]
            return (
                f"column {name!r}: does {mark!r} in {example!r} separate thousands or decimals? "
                f"{' or '.join(answers)}"
            )
    return ""


def _levels_or_name(name, texts, words, options, is_forced):
    """Return the decision about a column of strings that are not numbers; see :func:`_kind_of`."""
    n_levels = texts.nunique()
    is_name = n_levels > max(2, len(texts) / 2)
    is_name |= _is_called_name(name) and n_levels > options.max_levels
    if is_name and not is_forced:
        return {"kind": "name", "why": f"{n_levels} different strings in {len(texts)} rows"}
    return _category(texts, words, options)


def _category(cells, words, options, why="", *, form="text"):
    """Return the decision about a column of categories; see :func:`_kind_of`."""
    n_levels = cells.nunique()
    done = f"{n_levels} levels"
    if n_levels > options.max_levels:
        done = f"{options.max_levels - 1} most frequent levels, and other"
        why = why or f"{n_levels} levels"
    return {"kind": "category", "done": done, "why": why, "readers": (Level(words, form),)}


def _naming_reason(name, numbers):
    """Return why a column of integers seems to name the rows; an empty str if it does not."""
    if (numbers != np.floor(numbers)).any():
        return ""
    if _is_called_name(name):
        return f"integers in a column with the name {name!r}"
    n_kinds, n_rows = len(np.unique(numbers)), len(numbers)
    if n_rows > 2 and numbers[0] in (0, 1) and (np.diff(numbers) == 1).all():
        return _COUNTS
    if n_kinds <= n_rows / 2 or n_rows <= 2:
        return ""
    low, high = numbers.min(), numbers.max()
    is_dense = n_kinds == n_rows and high - low < 1.5 * n_rows and n_rows >= 10
    is_uniform = n_rows >= _ENOUGH_ROWS and _is_uniform(numbers, low, high)
    return f"{n_kinds} different integers in {n_rows} rows" if is_dense or is_uniform else ""


def _number_or_name(name, numbers):
    """Return a warning if numbers of a small table may name its rows; else an empty str.

    Small tables do not allow the test for uniform numbers. Incomes may look like identifiers there:
    distinct numbers of the same length, from five digits on.
    """
    low, high, n_rows = numbers.min(), numbers.max(), len(numbers)
    is_long = low >= 10_000 and len(f"{low:.0f}") == len(f"{high:.0f}")
    is_distinct = (numbers == np.floor(numbers)).all() and len(np.unique(numbers)) == n_rows
    if n_rows >= _ENOUGH_ROWS or not (is_long and is_distinct and _is_uniform(numbers, low, high)):
        return ""
    return (
        f"column {name!r} has {n_rows} different integers in {n_rows} rows and is used as a "
        f"number; if they name the rows, use drop=[{name!r}]"
    )


_COUNTS = "numbers of the rows"


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


def _check_mixed(name, cells):
    """Raise an UnreadableCellError if nearly all cells are numbers, but not all."""
    some = cells.iloc[:: max(1, len(cells) // _MANY)]
    for part in (some, cells):  # most columns of strings show it at once
        numbers = exact_numbers(part)
        if np.isfinite(numbers).mean() < _MOSTLY / (2 if part is some else 1):
            return
    row = int(np.argmax(~np.isfinite(numbers)))
    wrong = str(cells.iloc[row]).strip()
    negative = re.fullmatch(r"\(([0-9.,]+)\)|([0-9.,]+)-", wrong)
    remedy = None
    if negative:
        remedy = f"replace it by -{negative[1] or negative[2]} if it is a negative number"
    _raise_unlike_most(name, cells, row, "a number", remedy)


def _check_dates(name, cells):
    """Raise an UnreadableCellError if nearly all cells are dates of one form, but not all."""
    reader = Date.likely_from(cells)
    if reader is None:
        return
    row = int(np.argmax(np.isnan(reader._seconds(cells))))
    _raise_unlike_most(name, cells, row, reader.expected)


def _raise_unlike_most(name, cells, row, expected, remedy=None):
    """Raise an UnreadableCellError about a cell that is not what most cells of its column are.

    Parameters
    ----------
    name : str
    cells : Series
    row : int, position of the cell
    expected : str
        What most cells are, such as "a number".
    remedy : str, optional
        What to do with the cell. The default is to correct it, or to declare it missing.
    """
    cell = cells.iloc[row]
    word = cell.strip() if isinstance(cell, str) else str(cell)
    if remedy is None:
        remedy = f"correct it, use na_values=[*NA_VALUES, {word!r}] if it means a missing value"
    raise UnreadableCellError(
        name,
        cells.index[row],
        cell,
        f"{expected}, as most cells of the column are; {remedy}, categorical=[{name!r}] if all "
        "cells are categories, or leave out the column with drop",
    )


# Strings that look like dates, times or amounts but cannot be read as such: kind of column, pattern
# of the cells, and advice.
_UNUSUAL = (
    (
        "date",
        r"[0-9]{1,4}[-/. ][0-9]{1,2}[-/. ][0-9]{1,4}([ T].*)?|[0-9]{4}[-/.][0-9]{1,2}"
        r"|[0-9]{1,2}\.? [A-Za-z]{3,9}\.? [0-9]{2,4}|[A-Za-z]{3,9}\.? [0-9]{1,2},? [0-9]{2,4}",
        "dates of different or unusual forms; write them like 2020-01-31, for example with "
        "pandas.to_datetime",
    ),
    (
        "time",
        r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?",
        "times of day of different or unusual forms; write them like 09:30",
    ),
    (
        "other",
        r"\(?[-+]?[^\w\s]?\s*[-+]?[0-9]{1,3}([.,]?[0-9]{3})*([.,][0-9]+)?\s*([^\W0-9]{1,4}|%)?\)?",
        "numbers with different units or signs; convert them to plain numbers",
    ),
)


def _unusual(texts):
    """Return the decision about strings that look like dates, times or amounts, else None."""
    for kind, form, why in _UNUSUAL:
        if texts.str.strip().str.fullmatch(form).mean() >= _NEARLY_ALL:
            signs = texts.str.replace(r"[0-9.,\s]", "", regex=True)
            is_code = kind == "other" and signs.nunique() == 1  # such as 3x and 12x, or 02134
            return None if is_code else {"kind": kind, "why": why}
    return None
