"""Trees as SQL expressions."""

import math
import re
from collections import Counter
from numbers import Number, Real
from typing import NamedTuple

import numpy as np

from ..columns.levels import levels_of
from ..columns.names import Filled, Indicator, Numbered
from ..columns.view import named
from ..tree import tree_of
from ..tree.conditions import LevelSet, conditions_of_leaves, level_sets
from .format import check_options

# `_literal` writes a number from _SMALL to _LARGE as a literal with at most _DECIMALS decimals,
# plus a remainder if needed. It scales other numbers by powers of two, each with an exponent of at
# most _LARGEST_POWER.
_DECIMALS = 4
_SMALL, _LARGE = 2.0**-8, 2.0**40
_LARGEST_POWER = 50
_NOT_IN_SQL = re.compile("[\x00\ud800-\udfff]")
# Comparison operator by (whether the row goes left, whether both sides were multiplied by -1).
_COMPARE = {(True, False): "<=", (False, False): ">", (True, True): ">=", (False, True): "<"}


def to_sql(tree, columns=None, *, table=None):
    """Return the cluster of a row as an SQL ``CASE`` expression with one ``WHEN`` per leaf.

    For a model with `classes_` the value is the label: a number, or a quoted string. Use the
    expression in a query: ``f"SELECT *, {to_sql(tree)} AS cluster FROM flowers"``.

    Parameters
    ----------
    tree : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    columns : sequence of str of length n_features, optional
        Names of the columns. The default is `feature_names_in_`, or x0, x1, ...; for a pipeline,
        the names in the raw table.
    table : str, optional
        Table name that is written before each column. With it, SQLite reports a missing column.
        Without it, SQLite reads a quoted name that is no column as a string.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the name of a tested column is empty, belongs to a second column, or differs from
        another name only by case, which most databases ignore; or if a name, category or label has
        a character that SQL cannot hold (NUL, or half of a surrogate pair).

    Notes
    -----
    - Sums have the order of summation of `predict`, and every number is read back exactly. A
      database with IEEE double arithmetic therefore returns the labels of `predict`. This is
      tested with SQLite.
    - The cluster is NULL if a tested column is NULL on the path of the row. For pipelines that
      impute values or encode categories, NULL instead stands for the imputed value, for the
      category of missing values if the encoder has seen some, or else for no category.
    - Conditions are not nested, so deep trees do not exceed limits of parsers. SQLite does not
      support sums of more than about 990 terms.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_sql
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [1.0, -2.5]), None, None],
    ...                         [0.5, 0, 0], [-1, 0, 1], n_features=2)
    >>> print(to_sql(tree, ["width", "height"]))
    CASE
      WHEN 1.0e0 * "width" - 2.5e0 * "height" <= 0.5e0 THEN 0
      WHEN 1.0e0 * "width" - 2.5e0 * "height" > 0.5e0 THEN 1
    END
    """
    check_options("to_sql", table=table)
    model, names = named(tree, columns)
    classes = getattr(model, "classes_", None)
    # A test without weights sends all rows to one side: pruning removes the other side.
    tree = tree_of(model).prune()
    sets = level_sets(tree, levels_of(model, names))
    _check_unique(names, tree.used_features)
    prefix = "" if table is None else f"{_identifier(table)}."
    operands = {j: _operand(names[j], prefix) for j in tree.used_features}
    if tree.n_leaves == 1:
        return _label(classes, tree.leaf_label[0])
    lines, written = {}, {}  # each condition is formatted once, and used on all paths with it

    def write(condition):
        if isinstance(condition, LevelSet):
            return _of_levels(condition, operands)
        key = condition.node, condition.is_left
        if key not in written:
            written[key] = _condition(condition, operands)
        return written[key]

    for leaf, conditions in conditions_of_leaves(tree, sets):
        when = " AND ".join(map(write, conditions))
        lines[leaf] = f"  WHEN {when} THEN {_label(classes, tree.leaf_label[leaf])}"
    return "\n".join(["CASE", *(lines[leaf] for leaf in sorted(lines)), "END"])


def _label(classes, cluster):
    """Return the SQL value of a cluster: its number, or the label that the model explains."""
    if classes is None:
        return str(cluster)
    label = classes[cluster]
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    return str(label) if isinstance(label, Number) else _text(label)


def _text(value):
    return "'" + _held(str(value)).replace("'", "''") + "'"


def _check_unique(names, used):
    """Raise a ValueError if the name of a tested column does not identify it."""
    if isinstance(names, Numbered):
        return
    tested = [names[j] for j in used]
    times, alike = Counter(names), {}
    for name in names:
        column = _column(name)
        alike.setdefault(column.lower(), set()).add(column)
    for name in tested:
        if times[name] > 1:
            raise ValueError(
                f"{times[name]} columns have the name {name!r}; SQL needs distinct names."
            )
        same = sorted(alike[_column(name).lower()])
        if len(same) > 1:
            raise ValueError(
                f"The names of the columns {same[0]!r} and {same[1]!r} differ only by case, which "
                "SQL ignores; rename one of them."
            )


def _column(name):
    """Return the name of the column that a feature is computed from."""
    return name.column if isinstance(name, Indicator) else str(name)


def _identifier(name):
    if not name:
        raise ValueError("A column has an empty name; SQL needs a name.")
    return '"' + _held(name).replace('"', '""') + '"'


def _held(text):
    """Return the text; raise a ValueError if it has a character that SQL cannot hold."""
    found = _NOT_IN_SQL.search(text)
    if found:
        raise ValueError(f"{text!r} has the character {found[0]!r}, which SQL cannot hold.")
    return text


class _Operand(NamedTuple):
    """SQL expressions of a feature.

    Parameters
    ----------
    number : str
        The value of the feature as a number.
    holds, fails : str
        Conditions that a row has the category, and that it does not have it; only for indicators.
    column, value : str or None
        The column and the literal of the category, if ``column = value`` is the condition `holds`.
    """

    number: str
    holds: str = ""
    fails: str = ""
    column: str | None = None
    value: str | None = None


def _operand(name, prefix):
    if isinstance(name, Indicator):
        return _category(name, prefix + _identifier(name.column))
    column = prefix + _identifier(name)
    if isinstance(name, Filled):
        return _Operand(f"COALESCE({column}, {_signed(name.fill)})")
    return _Operand(column)


def _category(name, column):
    """Return the operand of an indicator.

    Comparisons with NULL are neither true nor false in SQL, so missing values are tested
    explicitly.
    """
    is_missing, literal = f"{column} IS NULL", None
    if name.value is None:
        holds, fails = is_missing, f"{column} IS NOT NULL"
    else:
        value = _value(name.value)
        holds, fails = f"{column} = {value}", f"{column} <> {value}"
        if name.has_missing:
            holds = f"({holds} OR {is_missing})"
        else:
            fails, literal = f"({fails} OR {is_missing})", value
    number = f"CASE WHEN {holds} THEN 1.0e0 ELSE 0.0e0 END"
    return _Operand(number, holds, fails, column, literal)


def _of_levels(levels, operands):
    """Return the condition that a row has one of the listed categories, or none of them."""
    listed = [operands[j] for j in levels.features]
    plain = [operand for operand in listed if operand.value is not None]
    others = [operand for operand in listed if operand.value is None or len(plain) == 1]
    holds, fails = [o.holds for o in others], [o.fails for o in others]
    if len(plain) > 1:
        column, values = plain[0].column, ", ".join(operand.value for operand in plain)
        holds.insert(0, f"{column} IN ({values})")
        fails.insert(0, f"({column} NOT IN ({values}) OR {column} IS NULL)")
    if levels.is_listed and len(holds) != 1:
        return f"({' OR '.join(holds)})" if holds else "1 = 0"
    return holds[0] if levels.is_listed else " AND ".join(fails)


def _value(value):
    """Return a category as an SQL literal: a number, TRUE, FALSE or a string."""
    if isinstance(value, bool):
        return str(value).upper()
    return repr(value) if isinstance(value, Real) else _text(value)


def _condition(condition, operands):
    # -w x <= -t holds for exactly the same floats as w x >= t.
    is_turned = len(condition.weights) == 1 and condition.weights[0] < 0
    flip = -1.0 if is_turned else 1.0
    # The factor 1 is kept: it converts columns of strings or integers to floating-point numbers.
    terms = [
        f"{'-' if weight < 0 else '+'} {_literal(abs(weight))} * {operands[j].number}"
        for j, weight in zip(condition.indices, (flip * condition.weights).tolist(), strict=True)
    ]
    total = " ".join(terms).removeprefix("+ ")
    compare = _COMPARE[condition.is_left, is_turned]
    return f"{total} {compare} {_signed(flip * condition.threshold)}"


def _signed(number):
    """Return a float of either sign as an SQL expression; see :func:`_literal`."""
    return f"{'-' if number < 0 else ''}{_literal(abs(number))}"


def _literal(number):
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
