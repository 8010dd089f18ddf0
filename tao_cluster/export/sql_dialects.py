"""Names, literals and templates as sqlglot expressions, which become SQL text of any dialect."""

import math
import re
from numbers import Real

import numpy as np
import sqlglot
from sqlglot import exp

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
# Decimal numbers of up to so many digits are different float64, or float32.
_EXACT_DIGITS, _EXACT_DIGITS_OF_FLOAT32 = 15, 6

_NOT_IN_SQL = re.compile("[\x00\ud800-\udfff]")


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


# ---------------------------------------------------------------------- numbers

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
