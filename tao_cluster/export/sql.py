"""Trees as SQL expressions."""

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number

import numpy as np
from sqlglot import exp

from ..columns.names import Indicator, Numbered, Numeric, levels_of
from ..columns.readers import Level
from ..columns.view import named
from ..report import cluster_values, intervals
from ..tree import tree_of
from ..tree.conditions import Condition, LevelSet
from .digits import without_rounding
from .format import check_options
from .sql_cells import date_test, may_have_strings, missing, missing_code, number_of, number_or_null
from .sql_dialects import (
    as_double,
    checked_dialect,
    exact_text,
    family,
    float_literal,
    identifier,
    int_literal,
    literal,
    sql_text,
    string_literal,
)
from .text import premises_of

_COMPARE = {"<=": exp.LTE, "<": exp.LT, ">=": exp.GTE, ">": exp.GT}
_EXACT_INTEGERS = 2.0**53  # beyond it, integers are rounded to floats
_WORDS = {True: ("true", "1"), False: ("false", "0")}  # cells of SQLite can be strings
_NEVER = exp.EQ(this=int_literal(1), expression=int_literal(0))


def to_sql(tree, columns=None, *, table=None, dialect="sqlite", names=True):
    """Return the cluster of a row as an SQL ``CASE`` expression with one ``WHEN`` per leaf.

    The value is the number of the cluster. For named clusters it is the name, a quoted string, and
    for other models with `classes_` the label: a number, or a quoted string.

    Parameters
    ----------
    tree : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    columns : sequence of str of length n_features, optional
        Names of the columns. The default is `feature_names_in_`, or x0, x1, ...; for a pipeline,
        the names in the raw table.
    table : str, optional
        Name of a table. The result is then a query that returns the table with one more column,
        `cluster`; if the model has a column of this name, it is `cluster_2`. The name of the table
        is written before each column, so that SQLite reports a missing column; otherwise, it reads
        a quoted name that is no column as a string.
    dialect : str, default="sqlite"
        The dialect of the database, a name of sqlglot: "bigquery", "duckdb", "mysql" (and MariaDB),
        "postgres", "snowflake", "spark", "sqlite", "tsql" (SQL Server) and others. "ansi" is an old
        name of "sqlite".
    names : bool, default=True
        Whether named clusters are written by name. Otherwise the values are those of `predict`.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        If the name of a tested column is empty, belongs to a second column, or differs from
        another name only by case, which most databases ignore; if a name, category or label has
        a character that SQL cannot hold (NUL, or half of a surrogate pair); if the dialect is
        unknown; if a string must be read as a number or date, or a date be computed with, in
        another dialect than those of SQLite, DuckDB, PostgreSQL and MySQL.

    Notes
    -----
    - Sums have the order of summation and the double precision of `predict`, and every number is
      read back exactly. A database with IEEE double arithmetic therefore returns the labels of
      `predict`. This is tested with SQLite, DuckDB, PostgreSQL and MariaDB. Where 14 digits of the
      threshold of one feature separate the fitted rows alike, the others are left out.
    - Columns must have the types of the table of the fit, such as numbers and ``BOOLEAN``. In
      SQLite and DuckDB they can also be strings, as the import of a csv file makes them. Dates of
      ISO 8601 and times of day such as 14:30 that were strings may be of the types ``DATE``,
      ``TIMESTAMP`` and ``TIME``.
    - Dates with a time zone must be of the type ``TIMESTAMP WITH TIME ZONE`` (``TIMESTAMP`` in
      MySQL), or strings with an offset. The time zone of the session does not matter. MySQL needs
      its tables of time zones for parts of dates in a zone such as "Europe/Berlin".
    - The cluster is NULL if a tested column is NULL on the path of the row. For pipelines that
      impute values or encode categories, NULL instead stands for the imputed value, for the
      category of missing values if the encoder has seen some, or else for no category. The strings
      that mean a missing value in :func:`tao_cluster.table_pipeline` count as NULL, also with
      spaces, tabs or line breaks around them. If a column of numbers or dates has such strings,
      all its strings without a digit count as NULL.
    - The level "other" of an encoder that combines infrequent levels is written as ``NOT IN``. So
      it also holds for levels that the fit has not seen, as in `predict`.
    - SQL does not distinguish None from NaN, nor the truth values from 0 and 1.
    - SQL Server ignores spaces at the end of strings, which `predict` respects.
    - Conditions are not nested, so deep trees do not exceed limits of parsers. SQLite does not
      support sums of more than about 990 terms.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_sql
    >>> tests = [([0], [1.0]), None, ([1], [1.0]), None, None]
    >>> tree = Tree.from_splits([1, -1, 3, -1, -1], [2, -1, 4, -1, -1], tests,
    ...                         [3.5, 0, 0.5, 0, 0], [-1, 0, -1, 1, 2], n_features=2)
    >>> print(to_sql(tree, ["width", "height"], dialect="postgres"))
    CASE
      WHEN "width" <= 3.5 THEN 0
      WHEN "width" > 3.5 AND "height" <= 0.5 THEN 1
      WHEN "width" > 3.5 AND "height" > 0.5 THEN 2
    END
    """
    check_options("to_sql", table=table, names=names)
    dialect = checked_dialect(dialect)
    model, columns = named(tree, columns)
    # A test without weights sends all rows to one side: pruning removes the other side.
    tree, values = tree_of(model).prune(), cluster_values(model, names=names)
    values = {k: _value(values[k], dialect) for k in set(tree.leaf_label[tree.leaves].tolist())}
    _check_unique(columns, tree.used_features)
    name = None if table is None else identifier(table)
    write = _Writer(columns, name, dialect, {}, _intervals(model)).condition
    rules = premises_of(tree, levels_of(model, columns), write, are_joined=False)
    lines = (
        f"  WHEN {' AND '.join(rule)} THEN {values[tree.leaf_label[leaf]]}"
        for leaf, rule in rules.items()
    )
    found = "\n".join(["CASE", *lines, "END"])
    if tree.n_leaves == 1:
        found = values[tree.leaf_label[0]]
    if table is None:
        return found
    schema, free = getattr(getattr(model, "pipeline", None), "schema_", None), "cluster"
    raw = schema.columns if schema else getattr(model, "raw_names", columns)
    while free in {column_of(each).lower() for each in raw}:
        free += "_2"
    return f"SELECT *, {found} AS {free}\nFROM {sql_text(name, dialect)}"


def _intervals(model):
    """Return the intervals in which bounds may be written, by feature and value; see `report`."""
    tree, sides = tree_of(model), getattr(model, "split_sides_", None)
    pairs = [] if sides is None else intervals(tree, sides).tolist()
    bounds = [Condition.from_tree(tree, node).bound for node in range(len(pairs))]
    return {(b.feature, b.value): pair for b, pair in zip(bounds, pairs, strict=True) if b}


def _value(value, dialect):
    """Return a cluster as an SQL value: its number, its name, or the label of the model."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    if isinstance(value, Number):
        return str(value)
    return sql_text(string_literal(value, dialect), dialect)


def _check_unique(names, used):
    """Raise a ValueError if the name of a tested column does not identify it."""
    if isinstance(names, Numbered):
        return
    tested = [names[j] for j in used]
    times, alike = Counter(names), {}
    for name in names:
        column = column_of(name)
        alike.setdefault(column.lower(), set()).add(column)
    for name in tested:
        same = sorted(alike[column_of(name).lower()])
        if times[name] > 1 and isinstance(name, Indicator) and name.value is None:
            problem = f"The column {name.raw!r} has both None and NaN"
        elif times[name] > 1:
            problem = f"{times[name]} columns have the name {name!r}"
        elif len(same) > 1:
            problem = f"The names of the columns {same[0]!r} and {same[1]!r} differ only by case"
        else:
            continue
        raise ValueError(f"{problem}, which SQL does not distinguish; rename or replace one.")


def column_of(name):
    """Return the name of the raw column that a feature is computed from."""
    return name.raw if isinstance(name, Indicator | Numeric) else str(name)


@dataclass(frozen=True)
class _Writer:
    """Writes the conditions of a tree in SQL.

    Parameters
    ----------
    names : sequence of str
        Names of the features.
    table : Identifier or None
        Name of the table, which is written before each column.
    dialect : str
        A name of sqlglot.
    known : dict of Expression
        Terms of weighted sums, by feature and weight. They are added at first use.
    intervals : dict of pair of float
        Where the value of a bound may be, by feature and value.
    """

    names: Sequence
    table: exp.Identifier | None
    dialect: str
    known: dict
    intervals: dict

    def condition(self, conditions):
        """Return the SQL text of a list of one Condition or LevelSet."""
        (condition,) = conditions
        if isinstance(condition, LevelSet):
            listed = [self.names[j] for j in condition.features]
            found = self.levels(listed, is_listed=condition.is_listed)
        elif condition.bound is None or isinstance(self.names[condition.bound.feature], Indicator):
            found = self.sum(condition)
        else:
            found = self.bound(condition.bound)
        found = exp.Paren(this=found) if isinstance(found, exp.Or) else found
        return sql_text(found, self.dialect)

    def sum(self, condition):
        """Return the condition on a weighted sum, in double precision as in `predict`."""
        terms = zip(condition.indices.tolist(), condition.weights.tolist(), strict=True)
        total = None
        for feature, weight in terms:
            term = self.term(feature, abs(weight))
            if total is None:
                total = exp.Neg(this=term) if weight < 0 else term
            else:
                total = (exp.Sub if weight < 0 else exp.Add)(this=total, expression=term)
        threshold = float_literal(condition.threshold, self.dialect)
        return (exp.LTE if condition.is_left else exp.GT)(this=total, expression=threshold)

    def term(self, feature, weight):
        """Return the product of a positive weight and the value of a feature, as a float64."""
        name, factor = self.names[feature], float_literal(weight, self.dialect)
        if isinstance(name, Indicator):
            when = (
                exp.Case().when(self.levels([name], is_listed=True), factor).else_(int_literal(0))
            )
            return as_double(when, self.dialect)
        if feature not in self.known:
            fill = getattr(name, "fill", None)
            number = number_of(_reader(name), self.cell(name), self.dialect, fill)
            self.known[feature] = as_double(number, self.dialect)
        value = self.known[feature].copy()
        return value if weight == 1 else exp.Mul(this=factor, expression=value)

    def bound(self, bound):
        """Return the condition on a single number."""
        name = self.names[bound.feature]
        reader, fill, cell = _reader(name), getattr(name, "fill", None), self.cell(name)
        has_strings = may_have_strings(reader, self.dialect)
        test = date_test(reader, cell, bound, self.dialect)
        if test is None:
            value = number_of(reader, cell, self.dialect, fill if has_strings else None)
            if abs(bound.value) >= _EXACT_INTEGERS:
                value = as_double(value, self.dialect)
            key, itself = (bound.feature, bound.value), (bound.value, bound.value)
            shown = without_rounding(bound, self.intervals.get(key, itself))
            threshold = float_literal(shown.value, self.dialect)
            test = _COMPARE[shown.sign](this=value, expression=threshold)
        if fill is None or has_strings or fill not in bound:
            return test
        return exp.or_(test, missing(reader, cell, self.dialect), copy=False)

    def cell(self, name):
        """Return the raw column of a feature."""
        return exp.Column(this=identifier(column_of(name)), table=self.table and self.table.copy())

    def levels(self, names, *, is_listed):
        """Return the condition that a row has one of some levels of a column, or none of them.

        Comparisons with NULL are neither true nor false in SQL, so missing values are tested
        explicitly.

        Parameters
        ----------
        names : list of Indicator
            All of the same column. The list is empty for a condition that no row satisfies.
        is_listed : bool
        """
        if not names:
            return _NEVER.copy()
        values, is_rest = union_of_levels(names)
        has_missing = any(name.has_missing for name in names) == is_listed
        is_rest = is_rest == is_listed
        reader, cell = names[0].reader, self.cell(names[0])
        if values and all(isinstance(v, Number) and not isinstance(v, bool) for v in values):
            cell = number_or_null(cell, self.dialect)
        test = self.comparison(cell, values, is_equal=not is_rest)
        is_null = exp.Is(this=cell.copy(), expression=exp.null())
        if has_missing:
            if test is None and is_rest:
                return exp.Not(this=_NEVER.copy())
            gaps = is_null if is_rest else missing(reader, cell, self.dialect)
            return exp.or_(test, gaps, copy=False)
        if not is_rest:
            return _NEVER.copy() if test is None else test
        codes = missing_code(reader, cell, self.dialect)
        codes = None if codes is None else exp.not_(codes)
        return exp.and_(exp.Not(this=is_null) if test is None else test, codes, copy=False)

    def comparison(self, cell, values, *, is_equal):
        """Return the condition that a cell equals one of some values, or none of them.

        The second case is that of `is_equal` False. Without values, return None.
        """
        if not values:
            return None
        if any(isinstance(value, str) for value in values):
            cell = exact_text(cell.copy(), self.dialect)
        elif family(self.dialect) == "sqlite" and isinstance(values[0], bool):
            cell, values = exp.func("LOWER", cell), [each for v in values for each in _WORDS[v]]
        literals = [literal(each, self.dialect) for each in values]
        if len(literals) == 1:
            return (exp.EQ if is_equal else exp.NEQ)(this=cell.copy(), expression=literals[0])
        found = exp.In(this=cell.copy(), expressions=literals)
        return found if is_equal else exp.Not(this=found)


def _reader(name):
    """Return the reader of the raw column of a feature, or None."""
    return getattr(name, "reader", None)


def union_of_levels(names):
    """Return the set of values of a column for which one of some levels is present.

    Returns
    -------
    values : list
        The values of the set or, if `is_rest`, the values that are not in the set.
    is_rest : bool
        Whether the set consists of all values that are not in `values`.
    """
    listed = [value for name in names if not name.is_rest for value in name.levels]
    rest = next((name for name in names if name.is_rest), None)
    if rest is not None:
        listed = [value for value in rest.levels if value not in listed]
    if isinstance(names[0].reader, Level):  # it reads both encodings of accents as one level
        texts = [unicodedata.normalize("NFD", value) for value in listed if isinstance(value, str)]
        listed = [*dict.fromkeys([*listed, *texts])]
    return listed, rest is not None
