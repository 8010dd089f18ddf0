"""Cells of raw columns in SQL: the numbers, dates and missing values that readers make of them."""

import functools
import re
from datetime import UTC, datetime, timedelta

import pandas as pd
from sqlglot import exp

from ..columns.dates import COUNTED, Date, Duration, first_second
from ..columns.readers import WHITE_SPACE, Level, Number, Written
from .sql_dialects import (
    TESTED,
    as_double,
    exact_text,
    family,
    float_literal,
    int_literal,
    literal,
    string_literal,
    template,
)

_DAY, _HOUR = 86_400, 3600  # seconds

# What sqlglot does not translate. All but the last table are of the value x: a date and time, or
# text in the case of SQLite.
_SECONDS = {  # whole seconds since 1970
    "duckdb": "FLOOR(EPOCH(x))",
    "mysql": "(TO_SECONDS(x) - 62167219200)",
    "postgres": "FLOOR(EXTRACT(EPOCH FROM x))",
    "sqlite": "CAST(STRFTIME('%s', x) AS INTEGER)",
}
_FROM_SECONDS = {
    "duckdb": "CAST('1970-01-01' AS TIMESTAMP) + TO_SECONDS(CAST(x AS BIGINT))",
    "mysql": "CAST('1970-01-01' AS DATETIME) + INTERVAL (x) SECOND",
    "postgres": "CAST('1970-01-01' AS TIMESTAMP) + x * INTERVAL '1 SECOND'",
    "sqlite": "DATETIME(x, 'unixepoch')",
}
_WEEKDAYS = {  # 0 for Monday
    "duckdb": "ISODOW(x) - 1",
    "mysql": "WEEKDAY(x)",
    "postgres": "(EXTRACT(DOW FROM x) + 6) % 7",
    "sqlite": "(CAST(STRFTIME('%w', x) AS INTEGER) + 6) % 7",
}
_SHIFTED = {  # the clock at a fixed offset from UTC
    "duckdb": "(x AT TIME ZONE 'UTC') + INTERVAL '{seconds}' SECOND",
    "mysql": "CAST('1970-01-01' AS DATETIME) + INTERVAL (x + {seconds}) SECOND",  # x in seconds
    "postgres": "(x AT TIME ZONE 'UTC') + INTERVAL '{seconds} SECOND'",
    "sqlite": "DATETIME(x, '{seconds} seconds')",
}
_LOCAL = {  # the clock in a zone with a name
    "duckdb": "x AT TIME ZONE '{zone}'",
    "mysql": "CONVERT_TZ(CAST('1970-01-01' AS DATETIME) + INTERVAL x SECOND, '+00:00', '{zone}')",
    "postgres": "x AT TIME ZONE '{zone}'",
}
_INSTANTS = {  # strings with an offset; the fraction of a second may have any number of digits
    "duckdb": "CAST(CASE WHEN SUBSTRING(x, 17, 1) = ':' THEN x"  # it may need the seconds
    " ELSE LEFT(x, 16) || ':00' || SUBSTRING(x, 17) END AS TIMESTAMPTZ)",
    "mysql": "(TO_SECONDS(LEFT(x, LEAST(19, CHAR_LENGTH(x) - 6)))"
    " - TIME_TO_SEC(REPLACE(RIGHT(x, 6), '+', '')) - 62167219200)",
    "postgres": "CAST(LEFT(x, 19) || LTRIM(SUBSTRING(x, 20), '.0123456789') AS TIMESTAMPTZ)",
    "sqlite": "DATETIME(SUBSTR(x, 1, 19) || LTRIM(SUBSTR(x, 20), '.0123456789'))",
}
# Two digits of a year mean 1969 to 2068 in Python, but 1970 to 2069 in these databases.
_CENTURY = "CASE WHEN x >= '2069-01-01' THEN x - INTERVAL '100' YEAR ELSE x END"
# Numbers of cells that can be strings; NULL if they have no number.
_NUMBERS = {"duckdb": "TRY_CAST(x AS DOUBLE)"}
_NUMBERS |= {"sqlite": "CASE WHEN x GLOB '*[0-9]*' THEN number END"}


# ---------------------------------------------------------------------- missing values


def missing(reader, cell, dialect):
    """Return the condition that a cell means a missing value; it includes NULL.

    Parameters
    ----------
    reader : Reader or None
    cell : Expression
        The raw cell.
    dialect : str
        A name of sqlglot.
    """
    is_null = exp.Is(this=cell.copy(), expression=exp.null())
    return exp.or_(is_null, missing_code(reader, cell, dialect), copy=False)


def missing_code(reader, cell, dialect):
    """Return the condition that a cell is a code for a missing value; None if there is none."""
    codes = () if reader is None else reader.missing
    words = [string_literal(code, dialect) for code in codes if isinstance(code, str)]
    numbers = [literal(code, dialect) for code in codes if not isinstance(code, str)]
    if is_text(reader, dialect):
        texts = exact_text(trimmed(_as_text(cell, reader, dialect), dialect), dialect)
        return exp.In(this=texts, expressions=words) if words else None
    parts = []
    if words and isinstance(reader, Date):
        moment, dates = _instant(reader, cell, dialect), _codes_of_dates(reader)
        literals = [_date_literal(reader, second, dialect) for second in dates]
        parts += [exp.In(this=moment, expressions=literals)] if literals else []
    if numbers:
        parts.append(exp.In(this=number_or_null(cell, dialect), expressions=numbers))
    return exp.or_(*parts, copy=False) if parts else None


def _codes_of_dates(reader):
    """Return the codes for missing values that are dates, in seconds since 1970: list of int."""
    words = [code for code in reader.missing if isinstance(code, str)]
    dates = pd.to_datetime(pd.Series(words), format="ISO8601", errors="coerce", utc=True)
    return [int(date.timestamp()) for date in dates.dropna()]


def is_text(reader, dialect):
    """Return whether a column can hold strings; cells of SQLite can have other types."""
    if isinstance(reader, Level):
        return reader.form == "text" or (reader.form == "truth" and family(dialect) == "sqlite")
    is_typed = isinstance(reader, Date) and reader.is_typed and family(dialect) != "sqlite"
    return not (is_typed or reader is None or isinstance(reader, Number | Duration))


def _as_text(cell, reader, dialect):
    """Return a cell as a string; databases often have types for what was a string in a file."""
    is_text_level = isinstance(reader, Level) and reader.form == "text"
    if is_text_level or family(dialect) in ("mysql", "sqlite"):
        return cell.copy()
    return exp.cast(cell.copy(), "text")


def trimmed(text, dialect):
    """Return a string without the white space around it, as ``text.strip(WHITE_SPACE)``."""
    kind = family(dialect)
    if kind == "mysql":  # its function TRIM removes one string, not a set of characters
        white = "".join(rf"\x{{{ord(each):x}}}" for each in WHITE_SPACE)
        pattern, nothing = exp.Literal.string(f"^[{white}]+|[{white}]+$"), exp.Literal.string("")
        return exp.func("REGEXP_REPLACE", text, pattern, nothing)
    codes = [int_literal(ord(each)) for each in WHITE_SPACE]
    if kind == "sqlite":
        white = exp.Chr(expressions=codes)
    else:
        chars = [exp.Chr(expressions=[code]) for code in codes]
        white = functools.reduce(lambda a, b: exp.DPipe(this=a, expression=b), chars)
    return exp.Trim(this=text, expression=white)


# ---------------------------------------------------------------------- numbers


def number_of(reader, cell, dialect, fill=None):
    """Return the number that the reader returns for a cell, as an Expression.

    Missing values are replaced by the number `fill`. Without it, they are NULL.
    """
    found, codes = _number(reader, cell, dialect), missing_code(reader, cell, dialect)
    if fill is not None and may_have_strings(reader, dialect):
        found = number_or_null(cell, dialect)
    if codes is not None:
        found = exp.Case().when(codes, exp.null()).else_(found)
    return found if fill is None else exp.func("COALESCE", found, float_literal(fill, dialect))


def number_or_null(cell, dialect):
    """Return the number of a cell; if it is a string without a number, it is NULL or an error."""
    number, text = _number(None, cell, dialect), _NUMBERS.get(family(dialect))
    return number if text is None else template(text, dialect, x=cell, number=number)


def may_have_strings(reader, dialect):
    """Return whether a column of numbers can have strings, as the import of a csv file makes them.

    SQLite and DuckDB would compare them as strings, so that their numbers are always cast.
    """
    return (reader is None or isinstance(reader, Number)) and family(dialect) in _NUMBERS


@functools.singledispatch
def _number(reader, cell, dialect):
    return as_double(cell, dialect) if may_have_strings(reader, dialect) else cell.copy()


@_number.register
def _(reader: Written, cell, dialect):
    _check_tested(cell, dialect)
    replaced = [(reader.prefix, ""), (reader.suffix, ""), (reader.thousands, "")]
    cell = _as_text(cell, reader, dialect)
    for old, new in [*replaced, (reader.decimal, "."), (reader.minus, "-")]:
        if old not in ("", new):
            cell = exp.func(
                "REPLACE", cell, string_literal(old, dialect), string_literal(new, dialect)
            )
    return as_double(trimmed(cell, dialect), dialect)


@_number.register
def _(reader: Date, cell, dialect):
    _check_tested(cell, dialect)
    if reader.part is not None:
        return _part(reader, cell, dialect)
    moment = _instant(reader, cell, dialect)
    if reader.is_time and family(dialect) != "sqlite":
        text = "EXTRACT(HOUR FROM x) * 3600 + EXTRACT(MINUTE FROM x) * 60 + EXTRACT(SECOND FROM x)"
        return _divided(template(text, "", x=moment), _HOUR, dialect)
    if reader.is_time:
        moment = exp.DPipe(this=exp.Literal.string("1970-01-01 "), expression=moment)
    start = 0 if reader.is_time else int(reader._start)
    seconds = moment
    if not (reader.zone and family(dialect) == "mysql"):  # whose instants are in seconds
        seconds = template(_SECONDS[family(dialect)], dialect, x=moment)
    if start:
        kind = exp.Sub if start > 0 else exp.Add
        seconds = kind(this=seconds, expression=int_literal(abs(start)))
    return _divided(seconds, reader.seconds_per_unit, dialect)


@_number.register
def _(_reader: Duration, cell, dialect):
    if family(dialect) not in ("duckdb", "postgres"):
        raise ValueError(
            f"Durations, such as the column {cell.name!r}, cannot be written in the dialect "
            f"{dialect!r}. Convert them to numbers before the fit."
        )
    return _divided(template("EXTRACT(EPOCH FROM x)", dialect, x=cell), _DAY, dialect)


def _divided(dividend, divisor, dialect):
    """Return the quotient of two integers as a float64."""
    return exp.Div(this=as_double(dividend, dialect), expression=int_literal(divisor), typed=True)


def _substring(text, start, length=None):
    """Return a part of a string; the first character has the position 1."""
    length = None if length is None else int_literal(length)
    return exp.Substring(this=text.copy(), start=int_literal(start), length=length)


# ---------------------------------------------------------------------- comparisons


def limit(reader, cell, number, or_equal, dialect):
    """Return what is compared in a test of one feature, if it is a date or a time of day.

    Dates are rounded down to whole seconds. A test of their number is therefore equivalent to a
    comparison with the first second at which the number exceeds the limit.

    Parameters
    ----------
    reader : Reader or None
    cell : Expression
    number : float
        The limit.
    or_equal : bool
        Whether the number of the first second may equal the limit.
    dialect : str

    Returns
    -------
    (moment, first) : pair of Expression, or None if the number itself must be compared
        The number exceeds the limit if and only if ``moment >= first``.
    """
    if not isinstance(reader, Date) or reader.part is not None:
        return None
    try:
        first = first_second(number, reader.seconds_per_unit, or_equal=or_equal)
        if reader.is_time and not 0 <= first < _DAY:
            return None
        literal_of = _time_literal if reader.is_time else _date_literal
        first = literal_of(reader, first + int(reader._start), dialect)
    except OverflowError:  # beyond the dates of Python
        return None
    moment, codes = _instant(reader, cell, dialect), missing_code(reader, cell, dialect)
    # A moment is NULL for codes for missing values, which are no dates.
    return moment if codes is None else exp.Case().when(codes, exp.null()).else_(moment), first


# ---------------------------------------------------------------------- dates


def _check_tested(cell, dialect):
    """Raise a ValueError if strings cannot be read, or dates not be computed with, in a dialect."""
    if family(dialect) not in TESTED:
        raise ValueError(
            f"The column {cell.name!r} holds dates or strings from which numbers are computed. "
            f"This is written for {', '.join(TESTED)}, not for the dialect {dialect!r}. Cast the "
            "column to a date or a number before the fit, or load it with this type; dates can be "
            "compared in every dialect, by a tree with split='axis'."
        )


def _instant(reader, cell, dialect):
    """Return the date and time of a cell; in MySQL, an instant is in seconds since 1970."""
    kind, cell = family(dialect), cell.copy()
    if not reader.is_typed:
        _check_tested(cell, dialect)
    if reader.zone:
        return _zoned(reader, cell, dialect)
    if reader.form is not None:
        return _parsed(reader, cell, dialect)
    if kind == "sqlite":
        return exp.func("DATETIME", _substring(cell, 1, 19))
    if reader.is_typed:
        return cell
    if kind in ("mysql", "postgres"):  # they round fractions of a second
        cell = exp.Left(this=_as_text(cell, reader, dialect), expression=int_literal(19))
    return exp.cast(cell, "timestampntz")


def _zoned(reader, cell, dialect):
    """Return the instant of a cell, whatever the time zone of the session is."""
    kind = family(dialect)
    if reader.is_typed and kind == "mysql":
        return template("FLOOR(UNIX_TIMESTAMP(x))", dialect, x=cell)
    if reader.is_typed and kind != "sqlite":
        return cell
    text = _as_text(cell, reader, dialect)
    if kind == "mysql":
        text = exp.func("REPLACE", text, *map(exp.Literal.string, ("Z", "+00:00")))
    return template(_INSTANTS[kind], dialect, x=text)


def _date_literal(reader, second, dialect):
    """Return the literal of a time in seconds since 1970, as `_instant` returns dates."""
    kind = family(dialect)
    if reader.zone and kind == "mysql":
        return int_literal(second)
    date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
    text = date.replace(tzinfo=None).isoformat(" ")
    if kind == "sqlite":
        return exp.Literal.string(text)
    if reader.zone:
        return exp.cast(exp.Literal.string(f"{text}+00:00"), "timestamptz")
    return exp.cast(exp.Literal.string(text), "timestampntz")


def _time_literal(_reader, second, dialect):
    """Return the literal of a time of day; the day of the time in seconds does not count."""
    text = (datetime(1970, 1, 1) + timedelta(seconds=second)).strftime("%H:%M:%S")
    found = exp.Literal.string(text)
    return found if family(dialect) == "sqlite" else exp.cast(found, "time")


def _part(reader, cell, dialect):
    """Return the month, weekday or hour of a date, on the clock of its zone."""
    clock, kind = _instant(reader, cell, dialect), family(dialect)
    if reader.zone:
        offset = _offset(reader.zone)
        templates = _LOCAL if offset is None else _SHIFTED
        if kind not in templates:
            raise ValueError(
                f"The {reader.part} of column {cell.name!r} in the zone {reader.zone!r} cannot be "
                f"written in the dialect {dialect!r}, which has no time zones of this name. Use "
                'another dialect such as "postgres", a fixed offset such as "+02:00" as the zone '
                "of the column, or table_pipeline(..., date_parts=())."
            )
        text = templates[kind].format(zone=reader.zone.replace("'", ""), seconds=offset)
        clock = template(text, dialect, x=clock)
    if reader.part == "weekday":
        return exp.Paren(this=template(_WEEKDAYS[kind], dialect, x=clock))
    if kind == "sqlite":
        code = {"month": "%m", "hour": "%H"}[reader.part]
        return template(f"CAST(STRFTIME('{code}', x) AS INTEGER)", dialect, x=clock)
    if reader.is_typed and not reader.zone:  # it may be a date without a time
        clock = exp.cast(clock, "timestampntz")
    return exp.Extract(this=exp.var(reader.part.upper()), expression=clock)


def _offset(zone):
    """Return a fixed offset such as "+02:00" in seconds; None for the name of a zone."""
    if zone == "UTC":
        return 0
    found = re.fullmatch(r"([+-])(\d\d):(\d\d)", zone)
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    return int(f"{sign}1") * (int(hours) * _HOUR + int(minutes) * 60)


def _parsed(reader, cell, dialect):
    """Return the date or the time of a cell with a form."""
    kind, form = family(dialect), reader.form
    if form in COUNTED:
        unit, zero = COUNTED[form]
        seconds = template(f"FLOOR(x * {unit} + {zero})", "", x=as_double(cell, dialect))
        if kind == "sqlite":  # it has FLOOR only if it was compiled with it
            seconds = template(
                f"CAST(x * {unit} + {zero} AS INTEGER)", "", x=as_double(cell, dialect)
            )
        return exp.Paren(this=template(_FROM_SECONDS[kind], dialect, x=seconds))
    if kind == "sqlite":
        date = _parsed_in_sqlite(form, cell)
        return exp.func("TIME", date) if reader.is_time else date
    if reader.is_time and "%I" not in form and re.fullmatch("%H:%M(:%S)?", form):
        return exp.cast(cell, "time")  # the column may have this type
    text = _as_text(cell, reader, dialect)
    if kind == "duckdb" and re.fullmatch("(%[A-Za-z])+", form):  # 20240131.0 beside NULL
        text = exp.func("REPLACE", text, *map(exp.Literal.string, (".0", "")))
    if kind == "mysql" and ("%d" not in form or reader.is_time):  # the day would be 0
        day = "2000-01-01 " if reader.is_time else "01 "
        text = exp.func("CONCAT", exp.Literal.string(day), text)
        form = ("%Y-%m-%d " if reader.is_time else "%d ") + form
    has_time = re.search("%[HI]", form)
    if kind == "postgres":  # letters are patterns unless they are quoted
        form = re.sub("%.|[^\\W0-9_]+", lambda part: _in_postgres(part[0]), form)
    found = (exp.StrToTime if has_time else exp.StrToDate)(
        this=text, format=exp.Literal.string(form)
    )
    found = exp.cast(found, "time" if reader.is_time else "timestampntz")
    if "%y" in form and kind != "duckdb":
        found = template(_CENTURY, dialect, x=found)
    return found


def _in_postgres(part):
    """Return a directive, or a word between directives, of a format in PostgreSQL."""
    if part == "%p":  # sqlglot does not know it
        return "PM"
    return part if part.startswith("%") else f'"{part}"'


def _parsed_in_sqlite(form, cell):
    """Return the date of a string, of which the numbers may have one or two digits."""
    codes = ("%Y", "%m", "%d", "%H", "%M", "%S")
    found, rest = dict.fromkeys(codes, int_literal(0)), cell.copy()
    found |= {"%Y": int_literal(2000), "%m": int_literal(1), "%d": int_literal(1)}
    for part, after in re.findall("(%.|[^%]+)(?=(%[YymdHIMS])?)", form):
        if part in ("%b", "%B"):
            rest = exp.func("LOWER", rest)
            months = exp.Literal.string("janfebmaraprmayjunjulaugsepoctnovdec")
            place = exp.func("INSTR", months, _substring(rest, 1, 3))
            found["%m"] = template("(x + 2) / 3", "sqlite", x=place)
            rest = exp.func("LTRIM", rest, exp.Literal.string("abcdefghijklmnopqrstuvwxyz"))
        elif part == "%p":
            found["%p"] = exp.func("LOWER", _substring(rest, 1, 1))
            rest = _substring(rest, 3)
        elif part.startswith("%"):  # the cast reads the digits at the beginning
            width = 4 if part == "%Y" else 2  # unless a separator says where the number ends
            number = _substring(rest, 1, width) if after else rest
            found[part] = template("CAST(x AS INTEGER)", "sqlite", x=number)
            behind = exp.func("LTRIM", rest, exp.Literal.string("0123456789"))
            rest = _substring(rest, 1 + width) if after else behind
        else:
            rest = _substring(rest, 1 + len(part))
    if "%y" in found:
        text = "x + CASE WHEN x < 69 THEN 2000 ELSE 1900 END"
        found["%Y"] = template(text, "sqlite", x=found["%y"])
    if "%I" in found:
        text = "x % 12 + CASE WHEN p = 'p' THEN 12 ELSE 0 END"
        found["%H"] = template(text, "sqlite", x=found["%I"], p=found["%p"])
    if not re.search("%[mbB]", form):  # a time of day, which is NULL for NULL
        found["%m"] = template("1 + 0 * (x)", "sqlite", x=found["%H"])
    text = exp.Literal.string("%04d-%02d-%02d %02d:%02d:%02d")
    # PRINTF writes zeros for NULL, and DATETIME makes NULL of the month 00.
    return exp.func("DATETIME", exp.func("PRINTF", text, *(found[code] for code in codes)))
