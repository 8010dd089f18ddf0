"""Decide what each column of a raw table is, and ask about columns with several meanings."""

import math
import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_numeric_dtype

from .dates import Date, Duration, forms_of, is_dates, possible_forms
from .readers import (
    WHITE_SPACE,
    Level,
    Number,
    Reader,
    Written,
    as_texts,
    doubtful_number,
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
    *("user", "customer", "cust", "client", "member", "person", "patient", "student", "employee"),
    *("emp", "passenger", "player", "account", "household", "company", "order", "product", "item"),
    *("invoice", "transaction", "payment", "session", "visit", "event", "case", "ticket", "record"),
    *("row", "sample", "object", "station", "sensor", "device", "store", "vendor", "movie", "url"),
}
# Integers between these numbers may be dates of a form.
_DATES_AS_INTEGERS = {
    "%Y%m%d": (19_000_101, 21_001_231),
    "%Y%m": (190_001, 210_012),
    "%Y%m%d%H%M": (190_001_010_000, 210_012_312_359),
    "%Y%m%d%H%M%S": (19_000_101_000_000, 21_001_231_235_959),
    "excel": (29_221, 51_136),  # 1980 to 2040
    "unix": (631_152_000, 2_208_988_800),  # 1990 to 2040
}
_MILLISECONDS = (631_152_000_000, 2_208_988_800_000)
# Strings that look like dates or times of day, whether or not they can be read.
_YEAR, _WORD, _GAP = r"[12]\d{3}", r"[^\W\d_]{3,}\.?", r"[-/., ]{1,2}(?:de |of )?"
_LIKE_DATES = re.compile(
    r"(?:[^\W\d_]{2,10}[.,]? )?(?:"
    rf"\d{{1,2}}\.?{_GAP}(?:\d{{1,2}}|{_WORD}){_GAP}(?:{_YEAR}|\d\d)"
    rf"|{_WORD}{_GAP}\d{{1,2}}{_GAP}{_YEAR}|{_YEAR}{_GAP}{_WORD}{_GAP}\d{{1,2}}"
    rf"|{_YEAR}\D{{1,2}}\d{{1,2}}(?:\D{{1,2}}\d{{1,2}}\D?)?|\d{{1,2}}[-/.]{_YEAR}"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*[-/., ]{1,2}(?:\d{4}|\d\d)"
    r")(?:[T ,:]+\d{1,2}:\d\d.*)?|\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp]\.?[Mm]\.?)?.{0,4}"
)
_MOSTLY = 0.5  # share of numbers or dates from which other cells are asked about
_NEARLY_ALL = 0.8  # share from which the most careful reading takes the other cells as missing
_FEW_WORDS = 20  # the most different cells that can be listed as missing values
_MANY = 1000  # cells that are looked at first
# Distances from the median, in units of their median, from which numbers are far from all others:
# of the numbers and, above the median of positive numbers, of their logarithms. Between far
# numbers and the others there is a gap of this ratio.
_FAR, _FAR_LOGARITHM, _FAR_RATIO = 20.0, 7.0, 3.0
_SCALE = 12  # at most so many different numbers are a scale, which is not skewed
_NEGATIVE_CODES = r"-[789]|-(?:77+|88+|99+|9+[78])"  # among counts
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


def decide(column, name, options):
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
    words = words if decision.n_missing else ()
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
        first = replace(first, is_typed=is_dates(column))
        if first.first == Date.first:
            first.read(column)  # raises at a wrong cell
            first = first.starting_at(cells)
        parts = [reader.part for reader in readers[1:]]
        if not (parts or first.is_time):
            parts = options.date_parts
        readers = tuple(replace(first, part=part) for part in (first.part, *parts))
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
    if kind in ("complex", "bytes") or any(isinstance(cell, complex) for cell in cells.head(_MANY)):
        why = f"values of the type {kind}; convert them to numbers or strings"
        return {"kind": "other", "why": why}
    if kind.startswith("timedelta"):
        reader = Duration(words)
        return {"kind": "duration", "done": reader.unit, "readers": (reader,)}
    if is_numeric_dtype(column) or kind in (*_NUMBERS, "decimal"):
        return _numeric(name, cells, Number(words), options, is_forced)
    return _strings(name, cells, words, options, is_forced)


_NUMBERS = ("integer", "floating", "mixed-integer-float")  # kinds of pandas


def _asked(name, kind, why, answers, careful, text):
    """Return the decision about a column in doubt: a question; see :class:`Question`."""
    return {"kind": kind, "why": why, "question": Question(name, text, tuple(answers), careful)}


# ---------------------------------------------------------------------- numbers


def _numeric(name, cells, reader, options, is_forced):
    """Return the decision about a column of numbers; see :func:`_kind_of`."""
    numbers = reader.read(cells).to_numpy()
    if not reader.unit and {*np.unique(numbers)} == {0.0, 1.0}:
        form = "number" if isinstance(reader, Number) else "text"
        return _category(cells, reader.missing, options, why="only 0 and 1", form=form)
    if not reader.unit and (numbers == np.floor(numbers)).all():
        found = _of_integers(name, cells, numbers, options, is_forced)
        if found:
            return found
    doubt = _far_from_others(name, cells, numbers)
    why = f"numbers in {reader.unit}" if reader.unit else ""
    why = "; ".join(filter(None, [why, doubt]))
    return {"kind": "number", "done": "number", "readers": (reader,), "why": why, "doubt": doubt}


def _of_integers(name, cells, numbers, options, is_forced):  # noqa: PLR0911, one per meaning
    """Return the decision about integers that may be names, codes or dates; None for numbers."""
    low, high, n_rows = numbers.min(), numbers.max(), len(numbers)
    kinds = cells.drop_duplicates()
    if not is_forced and _is_called_name(name):
        return _name_of_rows(name, f"integers in a column with the name {name!r}", kinds, options)
    if not is_forced and numbers[0] in (0, 1) and (np.diff(numbers) == 1).all():
        return _name_of_rows(name, "numbers of the rows", kinds, options)
    answers, shown = (_LEFT_OUT, {"kind": "number"}), cells.iloc[0]
    for form, (first, last) in _DATES_AS_INTEGERS.items():
        is_between = first <= low and high <= last
        if is_between and np.isfinite(Date(form=form)._seconds(kinds)).all():
            answers = {"kind": "date", "format": form}, *reversed(answers)
            text = f"are integers such as {shown} dates or numbers?"
            return _asked(name, "date", "dates or numbers", answers, _LEFT_OUT, text)
    if _MILLISECONDS[0] <= low and high <= _MILLISECONDS[1]:
        text = f"are integers such as {shown} numbers? Divide milliseconds since 1970 by 1000."
        return _asked(name, "number", "milliseconds or numbers", answers[::-1], _LEFT_OUT, text)
    if not is_forced and np.median(np.abs(numbers)) > _EXACT_INTEGERS:
        return _codes_or_numbers(name, cells, len(kinds), options)
    is_dense = len(kinds) == n_rows >= 10 and high - low < 1.5 * n_rows
    is_uniform = n_rows >= _ENOUGH_ROWS and _is_uniform(numbers, low, high)
    if is_forced or len(kinds) <= n_rows / 2 or not (is_dense or is_uniform):
        return None
    text = f"do the {len(kinds)} different integers such as {shown} name the rows?"
    why = f"{len(kinds)} different integers in {n_rows} rows"
    return _asked(name, "name", why, answers, _LEFT_OUT, text)


def _name_of_rows(name, why, kinds, options):
    """Return the decision about integers that name the rows, with a remedy."""
    remedy, use = "keep", "number"
    if len(kinds) <= options.max_levels:
        remedy, use = "categorical", "category"
    return {"kind": "name", "why": f"{why}; {remedy}=[{name!r}] uses it as a {use}"}


def _codes_or_numbers(name, cells, n_kinds, options):
    """Return the question whether the cells of a column are codes or numbers."""
    careful = {"kind": "category"} if n_kinds <= options.max_levels else _LEFT_OUT
    answers = {"kind": "category"}, {"kind": "number"}, _LEFT_OUT
    text = f"are {str(cells.iloc[0]).strip()!r} and the other cells codes or numbers?"
    return _asked(name, "name", "codes or numbers", answers, careful, text)


def _far_from_others(name, cells, numbers):
    """Return a warning if numbers lie far from all others; else an empty str.

    Such numbers may be codes for missing values, such as -999, or wrong. Negative codes among
    counts are reported, however near they lie.
    """
    middle = np.median(numbers)
    distances = np.abs(numbers - middle)
    far = distances > _FAR * _center(distances)
    is_skewed = (numbers >= 0).mean() > _NEARLY_ALL and len(np.unique(numbers[~far])) > _SCALE
    if is_skewed and far.any():
        logs = np.log(np.maximum(numbers, numbers[numbers > 0].min()))
        logs = np.abs(logs - np.median(logs))
        far &= (numbers < middle) | (logs > _FAR_LOGARITHM * _center(logs))
    found = np.zeros(len(numbers), dtype=bool)
    for side in (numbers < middle, numbers > middle):
        if (far & side).any():
            ordered = np.unique([_center(distances), *distances[side]])
            is_gap = ordered[1:] > _FAR_RATIO * ordered[:-1]
            is_gap &= ordered[1:] >= distances[far & side].min()
            if is_gap.any():
                found |= side & far & (distances >= ordered[1:][is_gap][0])
    if (numbers == np.floor(numbers)).all() and (numbers[numbers < 0] > -1000).all():
        kinds = np.unique(numbers[numbers < 0])
        codes = [kind for kind in kinds if re.fullmatch(_NEGATIVE_CODES, f"{kind:.0f}")]
        if len(codes) == len(kinds):
            found |= np.isin(numbers, codes)
    if not found.any() or found.all():
        return ""
    kinds = cells[found].drop_duplicates()
    examples = [_plain(cell) for cell in kinds.head(3)]
    few = len(kinds) <= 3
    remedy = f'"missing": [{", ".join(map(_quoted, examples))}]'
    return (
        f"column {name!r} has {found.sum()} values far from all others"
        f"{':' if few else ', such as'} {', '.join(map(str, examples))}; if they mean a missing "
        f"value, write {remedy} into its entry of the schema; if they are outliers, use "
        "objective=Trimmed()"
    )


def _center(distances):
    """Return the median of the distances that are not zero; 1 if there are none."""
    some = distances[distances > 0]
    return np.median(some) if len(some) else 1.0


def _plain(cell):
    """Return a cell as a Python number or as a string."""
    if not isinstance(cell, Real | Decimal):
        return str(cell).strip().removesuffix(" 00:00:00")
    return int(cell) if cell == int(cell) and abs(cell) < 1e30 else float(cell)


def _quoted(cell):
    return f'"{cell}"' if isinstance(cell, str) else repr(cell)


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


def _strings(name, cells, words, options, is_forced):
    """Return the decision about a column of strings, dates or other objects; see `_kind_of`."""
    kinds = cells.drop_duplicates()  # each kind of cell is looked at once
    date = Date.from_cells(kinds, words)
    if date is not None:
        parts = () if date.is_time else options.date_parts
        readers = (date, *(replace(date, part=part) for part in parts))
        doubt = _far_from_others(name, cells, date.read(cells).to_numpy())
        why = "; ".join(filter(None, [f"in {date.zone}" if date.zone else "", doubt]))
        kind = "time" if date.is_time else "date"
        return {"kind": kind, "done": date.unit, "readers": readers, "why": why, "doubt": doubt}
    counts = as_texts(cells).str.strip(WHITE_SPACE).value_counts(sort=False)
    texts, counts = pd.Series(counts.index, dtype=object), counts.to_numpy()
    written = Written.from_cells(texts, words)
    if written is None:
        question = _of_mixed(name, texts, counts, options)
        return question or _levels_or_name(name, cells, words, options, is_forced)
    doubt = doubtful_number(texts, written.decimal, written.thousands, written.unit)
    if doubt == "codes" and not is_forced:
        if _is_called_name(name):
            return _levels_or_name(name, cells, words, options, is_forced)
        return _codes_or_numbers(name, texts, len(texts), options)
    if doubt == "mark":
        mark = written.thousands or written.decimal
        mark = mark if texts.str.contains(mark, regex=False).any() else written.decimal
        example = texts[texts.str.contains(mark, regex=False)].iloc[0]
        entry = _entry_of(written)
        answers = [{**entry, key: mark} for key in ("thousands", "decimal")]
        text = f"does {mark!r} in {example!r} separate thousands or decimals?"
        return _asked(name, "number", text, (*answers, _LEFT_OUT), _LEFT_OUT, text)
    return _numeric(name, cells, written, options, is_forced)


def _entry_of(written):
    """Return the entry of a schema for numbers with a unit, without the mark of decimals."""
    around = {"prefix": written.prefix, "suffix": written.suffix}
    return {"kind": "number", **{key: text for key, text in around.items() if text}}


def _of_mixed(name, texts, counts, options):
    """Return the question about strings of which most are dates or numbers; None for others.

    Parameters
    ----------
    name : str
    texts : Series of different str
    counts : int array
        Number of rows of each of them.
    options : Options
    """
    step = max(1, len(texts) // _MANY)
    for kind, looks in (("date", _look_like_dates), ("number", units_of)):
        some = looks(texts.iloc[::step])  # most columns of strings show it at once
        if np.average(some.notna(), weights=counts[::step]) < _MOSTLY / 2:
            continue
        units = looks(texts) if step > 1 else some
        if np.average(units.notna(), weights=counts) < _MOSTLY:
            continue
        usual = pd.Series(counts).groupby(units.to_numpy()).sum().idxmax()
        alike = texts[(units == usual).to_numpy()]
        if kind == "date":
            entries = [_date_entry(form) for form in possible_forms(alike)]
            read = [np.isfinite(Date(form=e.get("format"))._seconds(texts)) for e in entries]
        else:
            written = Written.from_cells(alike)
            entries = [] if written is None else [_entry_of(written) | _marks_of(written)]
            read = [texts.index.isin(alike.index)] * len(entries)
        return _with_odd_cells(name, kind, texts, counts, options, entries, read)
    return None


def _look_like_dates(texts):
    """Return "date" for strings that look like dates or times of day, else NaN: Series."""
    found = [
        "date" if _LIKE_DATES.fullmatch(text) or _has_month_or_time(text) else np.nan
        for text in texts
    ]
    return pd.Series(found, index=texts.index, dtype=object)


def _has_month_or_time(text):
    return any(form is None or re.search("%[bBHI]", form) for form in forms_of(text))


def _date_entry(form):
    if form is None:
        return {"kind": "date"}
    return {"kind": "time" if Date(form=form).is_time else "date", "format": form}


def _marks_of(written):
    """Return the marks of numbers that differ from those of a plain number."""
    marks = {"thousands": written.thousands, "minus": written.minus}
    marks |= {"decimal": written.decimal}
    usual = {"thousands": "", "minus": "-", "decimal": "."}
    return {key: mark for key, mark in marks.items() if mark != usual[key]}


def _with_odd_cells(name, kind, texts, counts, options, entries, read):
    """Return the question about a column of which entries of a schema read most cells.

    Parameters
    ----------
    entries : list of dict
    read : list of bool arrays, which of `texts` each entry reads
    """
    answers, shares, example = [], [], texts.iloc[0]
    for entry, is_read in zip(entries, read, strict=True):
        odd = texts[~is_read].tolist()
        share = np.average(is_read, weights=counts)
        if share >= _MOSTLY and len(odd) <= _FEW_WORDS:
            answers.append({**entry, "missing": odd} if odd else entry)
            shares.append(share)
            example = odd[0] if odd else example
    careful = answers[0] if len(answers) == 1 and shares[0] >= _NEARLY_ALL else _LEFT_OUT
    what = {"date": "dates or times of day", "number": "numbers"}[kind]
    text = f"most cells are {what}; what is {example!r}?"
    if answers and min(shares) == 1:
        text = f"are cells such as {example!r} {what} of this form?"
    if len(texts) <= options.max_levels:
        answers.append({"kind": "category"})
    why = f"{what} of unusual or different forms or units"
    return _asked(name, kind, why, (*answers, _LEFT_OUT), careful, text)


def _levels_or_name(name, cells, words, options, is_forced):
    """Return the decision about a column of strings that are not numbers; see :func:`_kind_of`."""
    texts = as_texts(cells)
    n_levels = texts.nunique()
    is_name = n_levels > max(2, len(texts) / 2)
    is_name |= _is_called_name(name) and n_levels > options.max_levels
    if is_name and not is_forced:
        return {"kind": "name", "why": f"{n_levels} different strings in {len(texts)} rows"}
    return _category(texts, words, options)


def _category(cells, words, options, why="", *, form="text"):
    """Return the decision about a column of categories; see :func:`_kind_of`."""
    reader = Level(words, form)
    counts = reader.read(cells).value_counts()
    n_levels, done, whys = len(counts), f"{len(counts)} levels", [why] if why else []
    if form == "text" and n_levels < as_texts(cells).nunique():
        whys.append("levels that differ only in how accents are encoded are one level")
    if n_levels > options.max_levels:
        done = f"{options.max_levels - 1} most frequent levels, and other"
        n_rest = counts.iloc[options.max_levels - 1 :].sum()
        whys.append(f"{n_levels} levels, of which other has {n_rest} of {len(cells)} rows")
    return {"kind": "category", "done": done, "why": "; ".join(whys), "readers": (reader,)}
