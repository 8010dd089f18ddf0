"""The tree as an SQL expression."""

import math
import re
from collections import Counter
from numbers import Number, Real
from typing import NamedTuple

import numpy as np

from ..columns.names import Filled, Indicator, Numbered
from ..columns.view import named
from ..tree import tree_of
from ..tree.conditions import conditions_of_leaves
from .format import check_options

# Numbers within these limits are written with so many decimals and a remainder; see _literal.
_DECIMALS = 4
_SMALL, _LARGE = 2.0**-8, 2.0**40
_LARGEST_POWER = 50
_NOT_IN_SQL = re.compile("[\x00\ud800-\udfff]")
# Whether a row goes left, and whether both sides of the comparison have changed their sign.
_COMPARE = {(True, False): "<=", (False, False): ">", (True, True): ">=", (False, True): "<"}


def to_sql(tree, columns=None, *, table=None):
    """The cluster of a row as an SQL ``CASE`` expression, one ``WHEN`` a leaf.

    Of a model with `classes_`, its label: numbers as they are, others as quoted strings.

    Put it into a query: ``f"SELECT *, {to_sql(tree)} AS cluster FROM flowers"``.

    Parameters
    ----------
    tree : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    columns : sequence of str of length n_features, optional
        Names of the columns; default `feature_names_in_`, or x0, x1, ... Of a pipeline those of
        the raw table.
    table : str, optional
        Table that qualifies the columns. With it, SQLite reports a missing column; without, it
        takes a quoted name that is no column for a string.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If two columns have the name of one that the tree tests, or names that differ by case only,
        which most databases take for one; if such a name is empty, or it, a category or a label
        has a character that SQL cannot hold (NUL, half of a surrogate pair).

    Notes
    -----
    Sums are written from left to right in the order in which the tree adds, and numbers so that
    they are read back bit by bit: a database with IEEE double arithmetic gives the labels of
    `predict`. It is tested with SQLite. A row whose path tests a NULL has the cluster NULL; a
    NULL that its path does not test is harmless. Only where a pipeline fills gaps or encodes
    categories NULL is a value like others: the one that the imputer puts in, the category of
    missing values, if the encoder has seen some, or no category. Conditions are not nested, so
    that the depth of the tree meets no limit of a parser, but SQLite refuses sums of more than
    about 990 terms.

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
    tree, names = named(tree, columns)
    classes = getattr(tree, "classes_", None)
    # Tests without weights have no condition, so leaves that they shut off must go.
    tree = tree_of(tree).prune()
    _check_unique(names, tree.used_features)
    prefix = "" if table is None else f"{_identifier(table)}."
    operands = {j: _operand(names[j], prefix) for j in tree.used_features}
    if tree.n_leaves == 1:
        return _label(classes, tree.leaf_label[0])
    lines, written = {}, {}  # a test is written once, and repeated on the paths that have it
    for leaf, conditions in conditions_of_leaves(tree):
        for condition in conditions:
            key = condition.node, condition.is_left
            if key not in written:
                written[key] = _condition(condition, operands)
        when = " AND ".join(written[condition.node, condition.is_left] for condition in conditions)
        lines[leaf] = f"  WHEN {when} THEN {_label(classes, tree.leaf_label[leaf])}"
    return "\n".join(["CASE", *(lines[leaf] for leaf in sorted(lines)), "END"])


def _label(classes, cluster):
    """What stands for a cluster: its number, or the label that the model explains."""
    if classes is None:
        return str(cluster)
    label = classes[cluster]
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    return str(label) if isinstance(label, Number) else _text(label)


def _text(value):
    return "'" + _held(str(value)).replace("'", "''") + "'"


def _check_unique(names, used):
    """ValueError where a column that the tree tests is not told from another by its name."""
    if isinstance(names, Numbered):
        return
    tested = [names[j] for j in used]
    times, alike = Counter(names), {}
    for name in names:
        column = _column(name)
        alike.setdefault(column.lower(), set()).add(column)
    for name in tested:
        if times[name] > 1:
            raise ValueError(f"{times[name]} columns have the name {name!r}; SQL needs one.")
        same = sorted(alike[_column(name).lower()])
        if len(same) > 1:
            raise ValueError(
                f"The columns {same[0]!r} and {same[1]!r} differ by case only; SQL needs other "
                "names."
            )


def _column(name):
    """What a feature is read from."""
    return name.column if isinstance(name, Indicator) else str(name)


def _identifier(name):
    if not name:
        raise ValueError("A column has an empty name; SQL needs one.")
    return '"' + _held(name).replace('"', '""') + '"'


def _held(text):
    """The text, if SQL can hold it."""
    found = _NOT_IN_SQL.search(text)
    if found:
        raise ValueError(f"{text!r} has the character {found[0]!r}, which SQL cannot hold.")
    return text


class _Operand(NamedTuple):
    """What stands for a feature: as a number, and where it is a category as both answers."""

    number: str
    holds: str | None = None
    fails: str | None = None


def _operand(name, prefix):
    if isinstance(name, Indicator):
        return _category(name, prefix + _identifier(name.column))
    column = prefix + _identifier(name)
    if isinstance(name, Filled):
        return _Operand(f"COALESCE({column}, {_signed(name.fill)})")
    return _Operand(column)


def _category(name, column):
    """Comparisons with NULL are neither true nor false, but a missing value is no category."""
    is_missing = f"{column} IS NULL"
    if name.value is None:
        holds, fails = is_missing, f"{column} IS NOT NULL"
    else:
        value = _value(name.value)
        holds, fails = f"{column} = {value}", f"{column} <> {value}"
        if name.has_missing:
            holds = f"({holds} OR {is_missing})"
        else:
            fails = f"({fails} OR {is_missing})"
    return _Operand(f"CASE WHEN {holds} THEN 1.0e0 ELSE 0.0e0 END", holds, fails)


def _value(value):
    """A category as SQL: text but for numbers and truth values."""
    if isinstance(value, bool):
        return str(value).upper()
    return repr(value) if isinstance(value, Real) else _text(value)


def _condition(condition, operands):
    bound = condition.bound
    if bound is not None and (0.0 in bound) != (1.0 in bound):
        operand = operands[bound.feature]
        answer = operand.holds if 1.0 in bound else operand.fails
        if answer is not None:
            return answer
    # -w x <= -t is the same as w x >= t, to the bit.
    is_turned = len(condition.weights) == 1 and condition.weights[0] < 0
    flip = -1.0 if is_turned else 1.0
    # The factor 1 stays: it makes a number of what a column holds as text or as a whole number.
    terms = [
        f"{'-' if weight < 0 else '+'} {_literal(abs(weight))} * {operands[j].number}"
        for j, weight in zip(condition.indices, (flip * condition.weights).tolist(), strict=True)
    ]
    total = " ".join(terms).removeprefix("+ ")
    compare = _COMPARE[condition.is_left, is_turned]
    return f"{total} {compare} {_signed(flip * condition.threshold)}"


def _signed(number):
    """Any float as an expression."""
    return f"{'-' if number < 0 else ''}{_literal(abs(number))}"


def _literal(number):
    """An expression that every database reads as this very float >= 0.

    SQLite rounds decimal literals twice, so that one in ten thousand of 17 digits is a bit off: a
    row on the threshold then takes the other side. Literals with few decimals are too far from the
    midpoints of floats for that. So other numbers are the sum of one of these and a remainder,
    whose last bit does not matter, times a power of two if they are very small or large. Exponents
    mark binary floating-point numbers, where plain literals are decimal ones.
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
    """Factors that make 2 ** exponent, none of more digits than an integer may have."""
    sign = "*" if exponent > 0 else "/"
    left = abs(exponent)
    while left:
        part = min(left, _LARGEST_POWER)
        yield f" {sign} {2**part}e0"
        left -= part
