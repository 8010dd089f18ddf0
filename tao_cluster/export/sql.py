"""Trees as SQL expressions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Number

import numpy as np

from ..columns import dialects
from ..columns.dialects import literal, signed
from ..columns.names import Indicator, Numbered, Numeric, levels_of
from ..columns.readers import Level
from ..columns.view import named
from ..tree import tree_of
from ..tree.conditions import LevelSet, conditions_of_leaves, level_sets
from .format import check_options

# Comparison operator by (whether the row goes left, whether both sides were multiplied by -1).
_COMPARE = {(True, False): "<=", (False, False): ">", (True, True): ">=", (False, True): "<"}


def to_sql(tree, columns=None, *, table=None, dialect="ansi"):
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
    dialect : {"ansi", "bigquery", "mysql", "postgresql", "tsql"}, default="ansi"
        The dialect of the database, for quotes, truth values, casts, and functions of strings and
        dates. "tsql" is that of SQL Server. "ansi" is standard SQL, except that dates need a
        function of SQLite.

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
      category of missing values if the encoder has seen some, or else for no category. The strings
      that mean a missing value in :func:`tao_cluster.table_pipeline` count as NULL.
    - The level "other" of an encoder that combines infrequent levels is written as ``NOT IN``. So
      it also holds for levels that the fit has not seen, as in `predict`.
    - SQL does not distinguish None from NaN, nor the truth values from 0 and 1.
    - MySQL and SQL Server compare strings by the collation of a column. By default it ignores the
      difference of upper and lower case, which `predict` respects.
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
    check_options("to_sql", table=table, dialect=dialect)
    model, names = named(tree, columns)
    classes = getattr(model, "classes_", None)
    # A test without weights sends all rows to one side: pruning removes the other side.
    tree = tree_of(model).prune()
    sets = level_sets(tree, levels_of(model, names))
    _check_unique(names, tree.used_features)
    write = _Writer(names, table, dialect, {})
    if tree.n_leaves == 1:
        return _label(classes, tree.leaf_label[0], dialect)
    lines, written = {}, {}  # each condition is formatted once, and used on all paths with it
    for leaf, conditions in conditions_of_leaves(tree, sets):
        keys = [c if isinstance(c, LevelSet) else (c.node, c.is_left) for c in conditions]
        for key, condition in zip(keys, conditions, strict=True):
            if key not in written:
                written[key] = write.condition(condition)
        when = " AND ".join(written[key] for key in keys)
        label = _label(classes, tree.leaf_label[leaf], dialect)
        lines[leaf] = f"  WHEN {when} THEN {label}"
    return "\n".join(["CASE", *(lines[leaf] for leaf in sorted(lines)), "END"])


def _label(classes, cluster, dialect):
    """Return the SQL value of a cluster: its number, or the label that the model explains."""
    if classes is None:
        return str(cluster)
    label = classes[cluster]
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    return str(label) if isinstance(label, Number) else dialects.string(label, dialect)


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
        if times[name] > 1 and isinstance(name, Indicator) and name.value is None:
            raise ValueError(
                f"The column {name.raw!r} has both None and NaN, which SQL does not distinguish; "
                "replace one of them before the fit."
            )
        if times[name] > 1:
            raise ValueError(
                f"{times[name]} columns have the name {name!r}; SQL needs distinct names."
            )
        same = sorted(alike[column_of(name).lower()])
        if len(same) > 1:
            raise ValueError(
                f"The names of the columns {same[0]!r} and {same[1]!r} differ only by case, which "
                "SQL ignores; rename one of them."
            )


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
    table : str or None
        Name of the table, which is written before each column.
    dialect : str
    known : dict of str
        Expressions of the values of features as numbers, by feature. They are added at first use.
    """

    names: Sequence
    table: str | None
    dialect: str
    known: dict

    def condition(self, condition):
        """Return the SQL condition of a Condition or LevelSet."""
        if isinstance(condition, LevelSet):
            listed = [self.names[j] for j in condition.features]
            return self.levels(listed, is_listed=condition.is_listed)
        # -w x <= -t holds for exactly the same floats as w x >= t.
        is_turned = len(condition.weights) == 1 and condition.weights[0] < 0
        flip = -1.0 if is_turned else 1.0
        weights = (flip * condition.weights).tolist()
        # The factor 1 is kept: it converts strings or integers to floating-point numbers.
        terms = [
            f"{'-' if weight < 0 else '+'} {literal(abs(weight))} * {self.number(j)}"
            for j, weight in zip(condition.indices, weights, strict=True)
        ]
        total = " ".join(terms).removeprefix("+ ")
        compare = _COMPARE[condition.is_left, is_turned]
        return f"{total} {compare} {signed(flip * condition.threshold)}"

    def number(self, feature):
        """Return the SQL expression of the value of a feature as a number."""
        if feature not in self.known:
            self.known[feature] = self._number(self.names[feature])
        return self.known[feature]

    def _number(self, name):
        if isinstance(name, Indicator):
            return f"CASE WHEN {self.levels([name], is_listed=True)} THEN 1.0e0 ELSE 0.0e0 END"
        cell = self._cell(name)
        fill = getattr(name, "fill", None)
        return cell if fill is None else f"COALESCE({cell}, {signed(fill)})"

    def _cell(self, name):
        """Return the SQL expression of a raw cell, converted as the reader of the column does."""
        prefix = "" if self.table is None else f"{dialects.identifier(self.table, self.dialect)}."
        cell = prefix + dialects.identifier(column_of(name), self.dialect)
        reader = getattr(name, "reader", None)
        if reader is None or isinstance(reader, Level):
            return cell
        return reader.sql(cell, self.dialect)

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
            return "1 = 0"
        values, is_rest = union_of_levels(names)
        has_missing = any(name.has_missing for name in names) == is_listed
        is_rest = is_rest == is_listed
        reader, cell = names[0].reader, self._cell(names[0])
        literals = [dialects.value(value, self.dialect) for value in values]
        if isinstance(reader, Level) and has_missing != is_rest:
            literals += [dialects.value(word, self.dialect) for word in reader.missing]
        test = _comparison(cell, literals, is_equal=not is_rest)
        if has_missing:
            is_null = f"{cell} IS NULL"
            if test is None:
                return "1 = 1" if is_rest else is_null
            return f"({test} OR {is_null})"
        if test is None:
            return f"{cell} IS NOT NULL" if is_rest else "1 = 0"
        return test


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
    if rest is None:
        return listed, False
    return [value for value in rest.levels if value not in listed], True


def _comparison(cell, literals, *, is_equal):
    """Return the SQL condition that a cell equals one of some literals, or none of them.

    The second case is that of `is_equal` False. Without literals, return None.
    """
    if not literals:
        return None
    if len(literals) == 1:
        return f"{cell} {'=' if is_equal else '<>'} {literals[0]}"
    return f"{cell} {'' if is_equal else 'NOT '}IN ({', '.join(literals)})"
