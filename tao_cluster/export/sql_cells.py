"""Cells of raw columns in SQL: the numbers, dates and missing values that readers make of them."""

import functools
import re
from datetime import UTC, datetime, timedelta

import pandas as pd
from sqlglot import exp

from ..columns.dates import Clock, Date, Duration, first_second
from ..columns.readers import WHITE_SPACE, Level, Number, Written
from .sql_dialects import (
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

# What sqlglot does not translate, by family of dialects. All but the last table are of the value x:
# a date and time, or text in the case of SQLite.
_SECONDS = {  # whole seconds since 1970
    "bigquery": "UNIX_SECONDS(CAST(x AS TIMESTAMP))",
    "duckdb": "FLOOR(EPOCH(x))",
    "mysql": "(TO_SECONDS(x) - 62167219200)",
    "postgres": "FLOOR(EXTRACT(EPOCH FROM x))",
    "snowflake": "DATE_PART(EPOCH_SECOND, x)",
    "spark": "(TIMESTAMPDIFF(SECOND, TIMESTAMP_NTZ '0001-01-01', x) - 62135596800)",
    "sqlite": "CAST(STRFTIME('%s', x) AS INTEGER)",
    "tsql": "DATEDIFF_BIG(SECOND, '1970-01-01', x)",
}
_WEEKDAYS = {  # 0 for Monday
    "bigquery": "MOD(EXTRACT(DAYOFWEEK FROM x) + 5, 7)",
    "duckdb": "ISODOW(x) - 1",
    "mysql": "WEEKDAY(x)",
    "postgres": "(EXTRACT(DOW FROM x) + 6) % 7",
    "snowflake": "DAYOFWEEKISO(x) - 1",
    "spark": "WEEKDAY(x)",
    "sqlite": "(CAST(STRFTIME('%w', x) AS INTEGER) + 6) % 7",
    "tsql": "(DATEDIFF(DAY, '1900-01-01', x) % 7 + 7) % 7",
}
_SHIFTED = {  # the clock at a fixed offset from UTC
    "bigquery": "DATETIME(x, '{zone}')",
    "duckdb": "(x AT TIME ZONE 'UTC') + INTERVAL '{seconds}' SECOND",
    "mysql": "CAST('1970-01-01' AS DATETIME) + INTERVAL (x + {seconds}) SECOND",  # x in seconds
    "postgres": "(x AT TIME ZONE 'UTC') + INTERVAL '{seconds} SECOND'",
    "snowflake": "DATEADD(SECOND, {seconds}, CONVERT_TIMEZONE('UTC', x))",
    "spark": "CONVERT_TIMEZONE(CURRENT_TIMEZONE(), '{zone}', CAST(x AS TIMESTAMP_NTZ))",
    "sqlite": "DATETIME(x, '{seconds} seconds')",
    "tsql": "SWITCHOFFSET(x, '{zone}')",
}
_LOCAL = {  # the clock in a zone with a name
    "bigquery": "DATETIME(x, '{zone}')",
    "duckdb": "x AT TIME ZONE '{zone}'",
    "mysql": "CONVERT_TZ(CAST('1970-01-01' AS DATETIME) + INTERVAL x SECOND, '+00:00', '{zone}')",
    "postgres": "x AT TIME ZONE '{zone}'",
    "snowflake": "CONVERT_TIMEZONE('{zone}', x)",
    "spark": _SHIFTED["spark"],
}
_INSTANTS = {  # strings with an offset; the fraction of a second may have any number of digits
    "duckdb": "CAST(CASE WHEN SUBSTRING(x, 17, 1) = ':' THEN x"  # it may need the seconds
    " ELSE LEFT(x, 16) || ':00' || SUBSTRING(x, 17) END AS TIMESTAMPTZ)",
    "mysql": "(TO_SECONDS(LEFT(x, LEAST(19, CHAR_LENGTH(x) - 6)))"
    " - TIME_TO_SEC(REPLACE(RIGHT(x, 6), '+', '')) - 62167219200)",
    "postgres": "CAST(LEFT(x, 19) || LTRIM(SUBSTRING(x, 20), '.0123456789') AS TIMESTAMPTZ)",
    "sqlite": "DATETIME(SUBSTR(x, 1, 19) || LTRIM(SUBSTR(x, 20), '.0123456789'))",
}
# Numbers of cells that can be strings; NULL if they have no number.
_NUMBERS = {"duckdb": "TRY_CAST(x AS DOUBLE)"}
_NUMBERS |= {"sqlite": "CASE WHEN x GLOB '*[0-9]*' THEN number END"}
# Styles of CONVERT in SQL Server.
_STYLES = {"%m/%d/%Y": 101, "%d/%m/%Y": 103, "%d.%m.%Y": 104, "%d-%m-%Y": 105, "%b %d, %Y": 107}
_STYLES |= {"%m-%d-%Y": 110, "%Y/%m/%d": 111}
_CODES = ("%Y", "%m", "%d", "%H", "%M", "%S")


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
    parts = []
    if words and is_text(reader, dialect):
        texts = exact_text(trimmed(_as_text(cell, reader, dialect), dialect), dialect)
        parts.append(exp.In(this=texts, expressions=words))
    elif words and isinstance(reader, Date):
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
    return not (is_typed or reader is None or isinstance(reader, Number))


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
        chars = [
            exp.func("NCHAR", code) if kind == "tsql" else exp.Chr(expressions=[code])
            for code in codes
        ]
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
    replaced = [(reader.prefix, ""), (reader.suffix, ""), (reader.thousands, "")]
    cell = _as_text(cell, reader, dialect)
    for old, new in [*replaced, (reader.decimal, "."), (reader.minus, "-")]:
        if old not in ("", new):
            cell = exp.func(
                "REPLACE", cell, string_literal(old, dialect), string_literal(new, dialect)
            )
    return as_double(trimmed(cell, dialect), dialect)


@_number.register
def _(reader: Clock, cell, dialect):
    if _has_times(dialect):
        text = "EXTRACT(HOUR FROM x) * 3600 + EXTRACT(MINUTE FROM x) * 60 + EXTRACT(SECOND FROM x)"
        return _divided(template(text, "", x=exp.cast(cell, "time")), _HOUR, dialect)
    parts = (exp.cast(_substring(cell, start, 2), "bigint") for start in (1, 4, 7))
    names = dict(zip(("hour", "minute", "second"), parts, strict=True))
    text = "hour * 3600 + minute * 60" + " + second" * reader.has_seconds
    total = template(text, "", **names)
    return _divided(total, _HOUR, dialect)


@_number.register
def _(reader: Date, cell, dialect):
    _check_family(cell, dialect)
    if reader.part is not None:
        return _part(reader, cell, dialect)
    start = int(reader._start)
    kind = exp.Sub if start > 0 else exp.Add
    seconds = _seconds(reader, cell, dialect)
    days = kind(this=seconds, expression=int_literal(abs(start))) if start else seconds
    return _divided(days, _DAY, dialect)


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


def _has_times(dialect):
    """Return whether the dialect has the type TIME and casts strings to it."""
    return family(dialect) not in ("", "spark", "sqlite")


# ---------------------------------------------------------------------- comparisons


@functools.singledispatch
def limit(_reader, _cell, _number, _or_equal, _dialect):
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
    return


@limit.register
def _(reader: Date, cell, number, or_equal, dialect):
    _check_family(cell, dialect)
    if reader.part is not None:
        return None
    try:
        first = first_second(number, _DAY, or_equal=or_equal) + int(reader._start)
        first = _date_literal(reader, first, dialect)
    except OverflowError:  # beyond the dates of Python
        return None
    return _guarded(reader, cell, _instant(reader, cell, dialect), dialect), first


@limit.register
def _(reader: Clock, cell, number, or_equal, dialect):
    if not 0 <= number < 24 or family(dialect) in ("", "spark"):
        return None
    second = first_second(number, _HOUR, or_equal=or_equal)
    if second >= _DAY:
        return None
    text = (datetime(1, 1, 1) + timedelta(seconds=second)).strftime("%H:%M:%S")
    if not _has_times(dialect):  # "14:30" < "14:30:00" holds for strings
        text = text.removesuffix(":00")
        return _guarded(reader, cell, cell.copy(), dialect), exp.Literal.string(text)
    moment = _guarded(reader, cell, exp.cast(cell.copy(), "time"), dialect)
    return moment, exp.cast(exp.Literal.string(text), "time")


def _guarded(reader, cell, moment, dialect):
    """Return a moment that is NULL for codes for missing values, which are no dates."""
    codes = missing_code(reader, cell, dialect)
    return moment if codes is None else exp.Case().when(codes, exp.null()).else_(moment)


# ---------------------------------------------------------------------- dates


def _check_family(cell, dialect):
    if not family(dialect):
        raise ValueError(
            f"Dates, such as the column {cell.name!r}, cannot be written in the dialect "
            f"{dialect!r}. Use another dialect, or convert the dates to numbers before the fit."
        )


def _instant(reader, cell, dialect):
    """Return the date and time of a cell; in MySQL, an instant is in seconds since 1970."""
    kind, cell = family(dialect), cell.copy()
    if reader.zone:
        return _zoned(reader, cell, dialect)
    if reader.form is not None:
        return _parsed(reader.form, cell, dialect)
    if kind == "sqlite":
        return exp.func("DATETIME", _substring(cell, 1, 19))
    if reader.is_typed and kind != "bigquery":
        return cell
    if kind in ("mysql", "postgres") and not reader.is_typed:  # they round fractions of a second
        cell = exp.Left(this=_as_text(cell, reader, dialect), expression=int_literal(19))
    return exp.cast(cell, "timestampntz")


def _zoned(reader, cell, dialect):
    """Return the instant of a cell, whatever the time zone of the session is."""
    kind = family(dialect)
    if reader.is_typed and kind == "mysql":
        return template("FLOOR(UNIX_TIMESTAMP(x))", dialect, x=cell)
    if kind in _INSTANTS and not (reader.is_typed and kind != "sqlite"):
        text = _as_text(cell, reader, dialect)
        if kind == "mysql":
            text = exp.func("REPLACE", text, *map(exp.Literal.string, ("Z", "+00:00")))
        return template(_INSTANTS[kind], dialect, x=text)
    moment = cell if reader.is_typed else exp.cast(cell, "timestamptz")
    return template("SWITCHOFFSET(x, '+00:00')", dialect, x=moment) if kind == "tsql" else moment


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


def _seconds(reader, cell, dialect):
    """Return the whole seconds between 1970 and the date of a cell."""
    moment, kind = _instant(reader, cell, dialect), family(dialect)
    if reader.zone and kind == "mysql":
        return moment
    if reader.zone and kind == "spark":
        return exp.func("UNIX_SECONDS", moment)
    return template(_SECONDS[kind], dialect, x=moment)


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
        zone = "+00:00" if reader.zone == "UTC" else reader.zone.replace("'", "")
        text = templates[kind].format(zone=zone, seconds=offset)
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


def _parsed(form, cell, dialect):
    """Return the date of a string with the codes of ``strptime``."""
    kind, form = family(dialect), form.replace("%-", "%")  # SQL reads digits as they come
    is_known = {*re.findall("%.", form)} <= {*_CODES, "%b", "%B"}
    if not (form in _STYLES if kind == "tsql" else is_known):
        raise ValueError(
            f"Dates of the form {form!r}, such as the column {cell.name!r}, cannot be written "
            f"in the dialect {dialect!r}. Convert them with pandas.to_datetime before the fit."
        )
    if kind == "sqlite":
        return _parsed_in_sqlite(form, cell)
    if kind == "tsql":
        return template(f"CONVERT(DATETIME2, x, {_STYLES[form]})", dialect, x=cell)
    parse, text = exp.StrToTime if "%H" in form else exp.StrToDate, cell.copy()
    if kind == "mysql" and "%d" not in form:  # the day would be 0
        text, form = exp.func("CONCAT", text, exp.Literal.string(" 01")), f"{form} %d"
    found = parse(this=text, format=exp.Literal.string(form))
    return exp.cast(found, "timestampntz")


def _parsed_in_sqlite(form, cell):
    """Return the date of a string, of which the numbers may have one or two digits."""
    found, rest = dict.fromkeys(_CODES, int_literal(0)) | {"%d": int_literal(1)}, cell.copy()
    for part, after in re.findall("(%.|[^%]+)(?=(%[YmdHMS])?)", form):
        if part in ("%b", "%B"):
            rest = exp.func("LOWER", rest)
            months = exp.Literal.string("janfebmaraprmayjunjulaugsepoctnovdec")
            place = exp.func("INSTR", months, _substring(rest, 1, 3))
            found["%m"] = template("(x + 2) / 3", "sqlite", x=place)
            rest = exp.func("LTRIM", rest, exp.Literal.string("abcdefghijklmnopqrstuvwxyz"))
        elif part.startswith("%"):  # the cast reads the digits at the beginning
            width = 4 if part == "%Y" else 2  # unless a separator says where the number ends
            number = _substring(rest, 1, width) if after else rest
            found[part] = template("CAST(x AS INTEGER)", "sqlite", x=number)
            behind = exp.func("LTRIM", rest, exp.Literal.string("0123456789"))
            rest = _substring(rest, 1 + width) if after else behind
        else:
            rest = _substring(rest, 1 + len(part))
    numbers = [found[code] for code in _CODES]
    text = exp.func("PRINTF", exp.Literal.string("%04d-%02d-%02d %02d:%02d:%02d"), *numbers)
    return exp.func("DATETIME", text)  # NULL, not zeros, for NULL
