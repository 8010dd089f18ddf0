"""Names, literals and functions in the SQL dialects of several databases."""

import math
import re
from numbers import Real

import numpy as np

# "ansi" runs in SQLite, too. Standard SQL has no functions for the seconds and parts of a date;
# there "ansi" uses those of SQLite.
DIALECTS = ("ansi", "bigquery", "mysql", "postgresql", "tsql")

# `literal` writes a number from _SMALL to _LARGE as a literal with at most _DECIMALS decimals, plus
# a remainder if needed. It scales other numbers by powers of two, each with an exponent of at most
# _LARGEST_POWER.
_DECIMALS = 4
_SMALL, _LARGE = 2.0**-8, 2.0**40
_LARGEST_POWER = 50

_NOT_IN_SQL = re.compile("[\x00\ud800-\udfff]")
_BACKSLASHED = {"\\": "\\\\", "'": "\\'", "`": "\\`", "\n": "\\n", "\r": "\\r"}
_FLOATS = {"bigquery": "FLOAT64", "mysql": "DOUBLE", "tsql": "FLOAT"}


def identifier(name, dialect):
    """Return a quoted name of a column or table.

    Raises
    ------
    ValueError
        If the name is empty, or has a character that SQL cannot hold.
    """
    if not name:
        raise ValueError("A column has an empty name; SQL needs a name.")
    name = _held(name)
    if dialect == "bigquery":
        return f"`{_backslashed(name)}`"
    if dialect == "mysql":
        return "`" + name.replace("`", "``") + "`"
    if dialect == "tsql":
        return "[" + name.replace("]", "]]") + "]"
    return '"' + name.replace('"', '""') + '"'


def string(text, dialect):
    """Return a string literal.

    Raises
    ------
    ValueError
        If the text has a character that SQL cannot hold.
    """
    text = _held(str(text))
    if dialect == "bigquery":
        return f"'{_backslashed(text)}'"
    if dialect == "mysql":
        text = text.replace("\\", "\\\\")
    prefix = "N" if dialect == "tsql" and not text.isascii() else ""
    return prefix + "'" + text.replace("'", "''") + "'"


def strings(texts, dialect):
    """Return the texts as SQL string literals, separated by commas."""
    return ", ".join(string(text, dialect) for text in texts)


def value(cell, dialect):
    """Return the literal of a cell of a table: a number, a truth value or a string."""
    if isinstance(cell, bool | np.bool_):
        if dialect == "tsql":  # its type BIT has the values 0 and 1
            return str(int(cell))
        return str(bool(cell)).upper()
    if not isinstance(cell, Real):
        return string(cell, dialect)
    if float(cell).is_integer():
        return str(int(cell))
    return signed(float(cell))


def _held(text):
    """Return the text; raise a ValueError if it has a character that SQL cannot hold."""
    found = _NOT_IN_SQL.search(text)
    if found:
        raise ValueError(f"{text!r} has the character {found[0]!r}, which SQL cannot hold.")
    return text


def _backslashed(text):
    return "".join(_BACKSLASHED.get(letter, letter) for letter in text)


# ---------------------------------------------------------------------- numbers


def signed(number):
    """Return a float of either sign as an SQL expression; see :func:`literal`."""
    return f"{'-' if number < 0 else ''}{literal(abs(number))}"


def literal(number):
    """Return an expression that every database evaluates to exactly this float >= 0.

    SQLite rounds decimal literals twice. One literal of 17 digits in ten thousand is therefore off
    by one bit, and a row on the threshold would take the other side. A literal with few decimals is
    too far from the midpoint of two floats for that to happen. So a number with more decimals is
    written as the sum of such a literal and a remainder, whose last bit does not matter. A very
    small or large number is scaled by a power of two. Literals have an exponent because some
    databases read literals without one as decimal numbers.
    """
    if number == round(number, _DECIMALS) and number < _LARGE:
        return f"{number!r}e0"
    exponent = 0 if _SMALL <= number < _LARGE else math.frexp(number)[1]
    scaled = math.ldexp(number, -exponent)
    rough = round(scaled, _DECIMALS)
    sign, rest = ("-", rough - scaled) if rough > scaled else ("+", scaled - rough)
    texts = (f"{rest:.{digits}e}" for digits in range(17))
    rest = next(text for text in texts if abs(float(text) - rest) <= math.ulp(scaled) / 8)
    scale = "".join(_powers(exponent))
    return f"({rough!r}e0 {sign} {rest}){scale}"


def _powers(exponent):
    """Yield factors with the product 2 ** exponent, each small enough for an exact literal."""
    sign = "*" if exponent > 0 else "/"
    left = abs(exponent)
    while left:
        part = min(left, _LARGEST_POWER)
        yield f" {sign} {2**part}e0"
        left -= part


def as_float(expression, dialect):
    """Return the cast of an expression to a float64."""
    return f"CAST({expression} AS {_FLOATS.get(dialect, 'DOUBLE PRECISION')})"


def modulo(expression, divisor, dialect):
    """Return the expression of an integer modulo another; it is not negative, as in Python."""
    if dialect == "bigquery":
        return f"MOD(MOD({expression}, {divisor}) + {divisor}, {divisor})"
    return f"((({expression}) % {divisor} + {divisor}) % {divisor})"


def floor_of_quotient(number, divisor, dialect):
    """Return an SQL expression of floor(number / divisor), an integer.

    `number` and `divisor` are SQL expressions with integer values. Integer division would round a
    negative quotient towards 0, for example for dates before 1970, whose numbers are negative.
    """
    multiple = f"{number} - {modulo(number, divisor, dialect)}"
    if dialect == "bigquery":
        return f"DIV({multiple}, {divisor})"
    return f"(({multiple}) / {divisor})"


# ---------------------------------------------------------------------- strings and dates


def substring(expression, start, length, dialect):
    """Return the expression of a part of a string; the first character has the position 1."""
    function = "SUBSTRING" if dialect == "tsql" else "SUBSTR"
    return f"{function}({expression}, {start}, {length})"


def concatenated(expressions, dialect):
    """Return the expression of the concatenation of strings."""
    if dialect in ("mysql", "bigquery", "tsql"):
        return f"CONCAT({', '.join(expressions)})"
    return f"({' || '.join(expressions)})"


def seconds(date, dialect):
    """Return the expression of the whole seconds between 1970 and a date."""
    return {
        "ansi": f"CAST(strftime('%s', {date}) AS INTEGER)",
        "postgresql": f"FLOOR(EXTRACT(EPOCH FROM CAST({date} AS TIMESTAMP)))",
        "bigquery": f"UNIX_SECONDS(CAST({date} AS TIMESTAMP))",
        "mysql": f"TIMESTAMPDIFF(SECOND, '1970-01-01', {date})",
        "tsql": f"DATEDIFF_BIG(SECOND, '1970-01-01', {date})",
    }[dialect]


def month(date, dialect):
    """Return the expression of the month of a date, from 1 to 12."""
    if dialect == "ansi":
        return as_float(f"strftime('%m', {date})", dialect)
    if dialect == "tsql":
        return as_float(f"MONTH({date})", dialect)
    kind = "DATETIME" if dialect == "mysql" else "TIMESTAMP"
    return as_float(f"EXTRACT(MONTH FROM CAST({date} AS {kind}))", dialect)
