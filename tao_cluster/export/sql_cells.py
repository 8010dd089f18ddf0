"""Values in SQL of any dialect: names, literals, and what readers make of the cells of a table."""

import functools
import math
import re
from datetime import datetime, timedelta
from numbers import Real

import numpy as np
import pandas as pd
import sqlglot
from sqlglot import exp

from ..columns.dates import COUNTED, Date, Duration, first_second
from ..columns.readers import WHITE_SPACE, Level, Number, Written

_SYNONYMS = {"ansi": "sqlite", "postgresql": "postgres"}
_NO_SQL = {"dax", "prql", "solr", "tableau"}  # query languages of another kind
DIALECTS = (*sorted({*_SYNONYMS, *map(str.lower, sqlglot.dialects.DIALECTS)} - _NO_SQL),)

# Strings and dates need functions that sqlglot does not translate. They are written for the
# databases that tests run. Other dialects belong to the family whose sqlglot class they extend,
# such as Redshift to PostgreSQL; some families write names, strings and numbers in their own way.
TESTED = ("duckdb", "mysql", "postgres", "sqlite")
_FAMILIES = (*TESTED, "tsql")

# SQLite reads a literal from _SMALL to _LARGE with at most _DECIMALS decimals exactly. Other
# numbers are scaled by powers of two, each with an exponent of at most _LARGEST_POWER.
_DECIMALS = 4
_SMALL, _LARGE = 2.0**-8, 2.0**40
_LARGEST_POWER = 50

# These databases compare a float32 column and a decimal literal as float64. Others use float32.
_WIDENING = ("mysql", "postgres")
# Decimal numbers of up to this many digits are different float64, or float32.
_EXACT_DIGITS, _EXACT_DIGITS_OF_FLOAT32 = 15, 6

_NOT_IN_SQL = re.compile("[\x00\ud800-\udfff]")

_DAY = 86_400  # seconds

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
_LOCAL = {  # the clock in a zone
    "duckdb": "x AT TIME ZONE '{zone}'",
    "mysql": "CONVERT_TZ(CAST('1970-01-01' AS DATETIME) + INTERVAL x SECOND, '+00:00', '{zone}')",
    "postgres": "x AT TIME ZONE '{zone}'",
    "sqlite": "DATETIME(x, '{zone}')",
}
_INSTANTS = {  # strings with an offset; the fraction of a second may have any number of digits
    "duckdb": "CAST(CASE WHEN SUBSTRING(x, 17, 1) = ':' THEN x"  # it may need the seconds
    " ELSE LEFT(x, 16) || ':00' || SUBSTRING(x, 17) END AS TIMESTAMPTZ)",
    "mysql": "(TO_SECONDS(LEFT(x, LEAST(19, CHAR_LENGTH(x) - 6)))"
    " - TIME_TO_SEC(REPLACE(RIGHT(x, 6), '+', '')) - 62167219200)",
    "postgres": "CAST(LEFT(x, 19) || LTRIM(SUBSTRING(x, 20), '.0123456789') AS TIMESTAMPTZ)",
    "sqlite": "DATETIME(SUBSTR(x, 1, 19) || LTRIM(SUBSTR(x, 20), '.0123456789'))",
}
_HAS_DIGIT = {
    "duckdb": "REGEXP_MATCHES(x, '[0-9]')",
    "mysql": "REGEXP_INSTR(x, '[0-9]') > 0",
    "postgres": "x ~ '[0-9]'",
    "sqlite": "x GLOB '*[0-9]*'",
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
    words = [code for code in codes if isinstance(code, str)]
    numbers = [literal(code, dialect) for code in codes if not isinstance(code, str)]
    parts = []
    if words and is_text(reader, dialect):
        text = _as_text(cell, reader, dialect)
        if not isinstance(reader, Level):  # numbers and dates have digits, unlike most words
            _check_tested(cell, dialect)
            parts.append(exp.not_(template(_HAS_DIGIT[family(dialect)], dialect, x=text)))
            words = [word for word in words if re.search("[0-9]", word)]
        if words:
            words = [string_literal(word, dialect) for word in words]
            text = exact_text(trimmed(text, dialect), dialect)
            parts.append(exp.In(this=text, expressions=words))
        numbers = []
    elif words and isinstance(reader, Date):
        dates = pd.to_datetime(pd.Series(words), format="ISO8601", errors="coerce", utc=True)
        dates = [_moment(reader, int(date.timestamp()), dialect) for date in dates.dropna()]
        found = exp.In(this=_instant(reader, cell, dialect), expressions=dates)
        parts += [found] if dates else []
    if numbers:
        parts.append(exp.In(this=number_or_null(cell, dialect), expressions=numbers))
    return exp.or_(*parts, copy=False) if parts else None


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
    has_strings = fill is not None and may_have_strings(reader, dialect)
    found = number_or_null(cell, dialect) if has_strings else _number(reader, cell, dialect)
    found = _null_for_codes(found, reader, cell, dialect)
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
    kind, moment = family(dialect), _instant(reader, cell, dialect)
    text = _SECONDS[kind]
    if reader.is_time and kind == "mysql":
        text = "TIME_TO_SEC(x)"
    elif reader.is_time and kind == "sqlite":
        moment = exp.DPipe(this=exp.Literal.string("1970-01-01 "), expression=moment)
    # An instant of MySQL is in seconds.
    is_counted = reader.zone and kind == "mysql"
    seconds = moment if is_counted else template(text, dialect, x=moment)
    start = 0 if reader.is_time else reader._start
    if start:
        seconds = exp.Sub(this=seconds, expression=int_literal(start))
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


def date_test(reader, cell, bound, dialect):
    """Return the test of one feature, if it is a date or a time of day; else None.

    Dates are rounded down to whole seconds. A test of their number is therefore equivalent to a
    comparison with the first second at which the number exceeds the limit. The result is also None
    if this second is no time of day, or beyond the dates of Python.

    Parameters
    ----------
    reader : Reader or None
    cell : Expression
    bound : Bound
    dialect : str
    """
    if not isinstance(reader, Date) or reader.part is not None:
        return None
    or_equal = bound.is_upper == bound.is_strict
    try:
        first = first_second(bound.value, reader.seconds_per_unit, or_equal=or_equal)
        if reader.is_time and not 0 <= first < _DAY:
            return None
        first = _moment(reader, first + reader._start, dialect)
    except OverflowError:
        return None
    moment = _null_for_codes(_instant(reader, cell, dialect), reader, cell, dialect)
    return (exp.LT if bound.is_upper else exp.GTE)(this=moment, expression=first)


def _null_for_codes(value, reader, cell, dialect):
    """Return a value, or NULL if the cell is a code for a missing value."""
    codes = missing_code(reader, cell, dialect)
    return value if codes is None else exp.Case().when(codes, exp.null()).else_(value)


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
    """Return the date and time of a cell, whatever the time zone of the session is.

    In MySQL, an instant is in seconds since 1970.
    """
    kind, cell = family(dialect), cell.copy()
    if reader.is_typed and kind != "sqlite":
        is_counted = reader.zone and kind == "mysql"
        return template("FLOOR(UNIX_TIMESTAMP(x))", dialect, x=cell) if is_counted else cell
    _check_tested(cell, dialect)
    if reader.form in COUNTED:
        return _counted(reader, cell, dialect)
    text = cell if reader.is_typed else trimmed(_as_text(cell, reader, dialect), dialect)
    if reader.zone:
        if kind == "mysql":
            text = exp.func("REPLACE", text, *map(exp.Literal.string, ("Z", "+00:00")))
        return template(_INSTANTS[kind], dialect, x=text)
    if reader.form is not None:
        return _parsed(reader, text, dialect)
    text = _substring(text, 1, 19)  # databases round fractions of a second
    return exp.func("DATETIME", text) if kind == "sqlite" else exp.cast(text, "timestampntz")


def _counted(reader, cell, dialect):
    """Return the date of a number of seconds or days."""
    kind, (unit, zero) = family(dialect), COUNTED[reader.form]
    # SQLite has FLOOR only if it was compiled with it.
    floor = "CAST({} AS INTEGER)" if kind == "sqlite" else "FLOOR({})"
    seconds = floor.format(f"x * {unit} + {zero}")
    seconds = template(seconds, "", x=as_double(cell, dialect))
    return exp.Paren(this=template(_FROM_SECONDS[kind], dialect, x=seconds))


def _moment(reader, second, dialect):
    """Return the literal of a time in seconds since 1970, as `_instant` returns dates."""
    kind = family(dialect)
    if reader.zone and kind == "mysql":
        return int_literal(second)
    text = (datetime(1970, 1, 1) + timedelta(seconds=second)).isoformat(" ")
    text = text[11:] if reader.is_time else text
    if kind == "sqlite":
        return exp.Literal.string(text)
    if reader.zone:
        return exp.cast(exp.Literal.string(f"{text}+00:00"), "timestamptz")
    return exp.cast(exp.Literal.string(text), "time" if reader.is_time else "timestampntz")


def _part(reader, cell, dialect):
    """Return the month, weekday or hour of a date, on the clock of its zone."""
    clock, kind = _instant(reader, cell, dialect), family(dialect)
    if reader.zone:
        text = _LOCAL[kind].format(zone=_zone(reader, cell, kind))
        clock = template(text, dialect, x=clock)
    if reader.part == "weekday":
        return exp.Paren(this=template(_WEEKDAYS[kind], dialect, x=clock))
    if kind == "sqlite":
        code = {"month": "%m", "hour": "%H"}[reader.part]
        return template(f"CAST(STRFTIME('{code}', x) AS INTEGER)", dialect, x=clock)
    if reader.is_typed and not reader.zone:  # it may be a date without a time
        clock = exp.cast(clock, "timestampntz")
    return exp.Extract(this=exp.var(reader.part.upper()), expression=clock)


def _zone(reader, cell, kind):
    """Return the name of a zone in a database; "UTC" is the offset +00:00."""
    zone = "+00:00" if reader.zone == "UTC" else reader.zone.replace("'", "")
    if zone[0] not in "+-":
        if kind == "sqlite":
            raise ValueError(
                f"The {reader.part} of column {cell.name!r} in the zone {zone!r} cannot be written "
                "in the dialect 'sqlite', which has no time zones of this name. Use another "
                'dialect such as "postgres", a fixed offset such as "+02:00" as the zone of the '
                "column, or table_pipeline(..., date_parts=())."
            )
        return zone
    if kind == "postgres":  # offsets count to the west
        return zone.translate(str.maketrans("+-", "-+"))
    return f"GMT{zone}" if kind == "duckdb" else zone


def _parsed(reader, text, dialect):
    """Return the date or the time of a string with a form."""
    kind, form = family(dialect), reader.form
    if kind == "sqlite":
        date = _parsed_in_sqlite(form, text)
        return exp.func("TIME", date) if reader.is_time else date
    if re.fullmatch("%H:%M(:%S)?", form):
        return exp.cast(text, "time")  # the column may have this type
    if kind == "duckdb" and re.fullmatch("(%[A-Za-z])+", form):  # 20240131.0 beside NULL
        text = exp.func("REPLACE", text, *map(exp.Literal.string, (".0", "")))
    if kind == "mysql" and ("%d" not in form or reader.is_time):  # the day would be 0
        day = "2000-01-01 " if reader.is_time else "01 "
        text = exp.func("CONCAT", exp.Literal.string(day), text)
        form = ("%Y-%m-%d " if reader.is_time else "%d ") + form
    has_time = re.search("%[HI]", form)
    if kind == "postgres":  # letters are patterns unless they are quoted; sqlglot has no %p
        form = re.sub("(?<!%)[^\\W0-9_]+", r'"\g<0>"', form).replace("%p", "PM")
    found = (exp.StrToTime if has_time else exp.StrToDate)(
        this=text, format=exp.Literal.string(form)
    )
    found = exp.cast(found, "time" if reader.is_time else "timestampntz")
    if "%y" in form and kind != "duckdb":
        found = template(_CENTURY, dialect, x=found)
    return found


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


# ---------------------------------------------------------------------- dialects and literals


def checked_dialect(dialect):
    """Return the name of a dialect in sqlglot; raise a ValueError if it is not known."""
    if dialect not in DIALECTS:
        raise ValueError(
            f"The 'dialect' parameter of to_sql must be one of {', '.join(DIALECTS)}; "
            f"got {dialect!r}."
        )
    return _SYNONYMS.get(dialect, dialect)


def family(dialect):
    """Return the family that a dialect belongs to; "" if it has no rules of its own."""
    kinds = type(sqlglot.Dialect.get_or_raise(dialect)).__mro__
    names = (kind.__name__.lower() for kind in kinds)
    return next((name for name in names if name in _FAMILIES), "")


def sql_text(expression, dialect):
    """Return an expression as SQL text.

    Raises
    ------
    ValueError
        If the dialect lacks a function of the expression.
    """
    try:
        return expression.sql(dialect=dialect, unsupported_level=sqlglot.ErrorLevel.RAISE)
    except sqlglot.UnsupportedError as error:
        raise ValueError(
            f"The tree cannot be written in the dialect {dialect!r}: {error}"
        ) from None


def template(text, dialect, **parts):
    """Return SQL text of a dialect as an expression, with parts in place of bare column names."""

    def filled(node):
        is_part = isinstance(node, exp.Column) and node.name in parts
        return parts[node.name].copy() if is_part else node

    return sqlglot.parse_one(text, dialect=dialect).transform(filled)


def identifier(name):
    """Return a quoted name of a column or table.

    Raises
    ------
    ValueError
        If the name is empty, or has a character that SQL cannot hold.
    """
    if not name:
        raise ValueError("A column has an empty name; SQL needs a name.")
    return exp.to_identifier(_held(name), quoted=True)


def string_literal(text, dialect):
    """Return a string literal; raise a ValueError if SQL cannot hold one of its characters."""
    text = _held(str(text))
    if family(dialect) == "tsql" and not text.isascii():
        return exp.National(this=text)
    return exp.Literal.string(text)


def literal(cell, dialect):
    """Return a cell of a table (a number, a truth value or a string) as a literal."""
    if isinstance(cell, bool | np.bool_):
        return exp.Boolean(this=bool(cell))
    if not isinstance(cell, Real):
        return string_literal(cell, dialect)
    if float(cell).is_integer():
        return int_literal(int(cell))
    return float_literal(float(cell), dialect)


def _held(text):
    """Return the text; raise a ValueError if it has a character that SQL cannot hold."""
    found = _NOT_IN_SQL.search(text)
    if found:
        raise ValueError(f"{text!r} has the character {found[0]!r}, which SQL cannot hold.")
    return text


def exact_text(expression, dialect):
    """Return a string expression of which the comparison respects case and trailing spaces."""
    if family(dialect) == "mysql":
        return exp.cast(expression, "binary")
    if family(dialect) == "tsql":  # ignores trailing spaces in every collation
        return exp.Collate(this=expression, expression=exp.var("Latin1_General_BIN2"))
    return expression


int_literal = exp.Literal.number  # of an int, which may be negative


def as_double(expression, dialect):
    """Return the cast of an expression to a float64."""
    kind = exp.DataType.build("double")
    if family(dialect) == "sqlite":  # other databases read this name, too, unlike REAL
        kind = exp.DataType(this=exp.DataType.Type.USERDEFINED, kind="DOUBLE PRECISION")
    first = expression.this if isinstance(expression, exp.Div) else expression
    is_double = isinstance(first, exp.Cast) and first.to == kind
    return expression if is_double else exp.Cast(this=expression.copy(), to=kind)


def float_literal(value, dialect):
    """Return an expression that the database evaluates to exactly this float.

    A number that every database reads exactly is a plain literal, such as 2471.5. Otherwise, it is
    a floating-point literal, because many databases read literals without an exponent as decimal
    numbers.
    """
    found = _exact(abs(value), dialect)
    if value >= 0:
        return found
    return exp.Neg(this=exp.Paren(this=found) if isinstance(found, exp.Binary) else found)


def _exact(value, dialect):
    """Return the expression of a float >= 0; see :func:`float_literal`."""
    kind, text = family(dialect), repr(value).removesuffix(".0")
    if kind == "sqlite":
        return _in_sqlite(value)
    digits = text.replace(".", "").lstrip("0")
    is_wide = kind in _WIDENING
    most = _EXACT_DIGITS if is_wide else _EXACT_DIGITS_OF_FLOAT32
    is_short = "e" not in text and len(digits) <= most and len(text) <= _EXACT_DIGITS + 2
    if is_short and (is_wide or float(np.float32(value)) == value):
        return exp.Literal.number(text)
    if kind == "postgres":  # all its literals are decimal numbers
        return exp.cast(exp.Literal.number(text), "double")
    return exp.Literal.number(text if "e" in text else f"{text}e0")


def _in_sqlite(value):
    """Return an expression that SQLite evaluates to exactly this float >= 0.

    SQLite rounds decimal literals twice. One literal of 17 digits in ten thousand is therefore off
    by one bit, and a row on the threshold would take the other side. A literal with few decimals is
    too far from the midpoint of two floats for that to happen. So a number with more decimals is
    written as the sum of such a literal and a remainder, whose last bit does not matter. A very
    small or large number is scaled by a power of two.
    """
    if value == round(value, _DECIMALS) and value < _LARGE:
        return exp.Literal.number(repr(value).removesuffix(".0"))
    exponent = 0 if _SMALL <= value < _LARGE else math.frexp(value)[1]
    scaled = math.ldexp(value, -exponent)
    result = exp.Literal.number(rough := round(scaled, _DECIMALS))
    if rough != scaled:
        rest, most = abs(scaled - rough), math.ulp(scaled) / 8
        texts = (f"{rest:.{digits}e}" for digits in range(17))
        text = next(text for text in texts if abs(float(text) - rest) <= most)
        kind = exp.Sub if rough > scaled else exp.Add
        result = exp.Paren(this=kind(this=result, expression=exp.Literal.number(text)))
    while exponent:
        power = min(abs(exponent), _LARGEST_POWER)
        scale = exp.Literal.number(f"{2**power}.0")
        if exponent > 0:
            result = exp.Mul(this=result, expression=scale)
        else:
            result = exp.Div(this=result, expression=scale, typed=True)
        exponent -= int(math.copysign(power, exponent))
    return result
