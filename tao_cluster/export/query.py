"""Rules of clusters for `DataFrame.query` of pandas."""

import keyword
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from ..columns.dates import PARTS_OF_PANDAS, Date, first_second
from ..columns.names import Indicator, Numeric, levels_of
from ..columns.readers import Level, Number
from ..columns.view import named
from ..report import cluster_values
from ..tree import tree_of
from ..tree.conditions import LevelSet
from .format import check_options
from .sql import column_of, union_of_levels
from .text import premises_of

_DAY = 86_400


def to_query(model, feature_names=None, *, names=True):
    """Return one expression per cluster that selects its rows by `DataFrame.query` of pandas.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    feature_names : sequence of str of length n_features, optional
        Names of the columns of the DataFrame. Default `feature_names_in_`, or x0, x1, ...
    names : bool, default=True
        Whether the keys are names, if the clusters of the model are named.

    Returns
    -------
    dict of str
        The keys are the names of the clusters; without names, their numbers or, if the model
        explains labels, the labels. Clusters without a leaf are left out. The expressions have all
        digits: for columns of float64, integers, truth values, strings and dates, they select
        exactly the rows that `predict` assigns to the cluster.

    Raises
    ------
    ValueError
        If a pipeline reads numbers or dates from strings, or sums dates, or if the name of a column
        contains a backtick.

    Notes
    -----
    For a pipeline, the expressions use the raw columns. They treat missing values as the imputer
    does, and rare levels as the encoder does. Dates must be columns of a pandas date type without a
    time zone.

    Examples
    --------
    >>> import pandas as pd
    >>> from tao_cluster import Tree
    >>> from tao_cluster.export import to_query
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None],
    ...                         [2.5, 0, 0], [-1, 0, 1], n_features=1)
    >>> queries = to_query(tree, ["petal width"])
    >>> queries
    {0: '`petal width` <= 2.5', 1: '`petal width` > 2.5'}
    >>> pd.DataFrame({"petal width": [1.0, 3.0, 4.0]}).query(queries[1]).index.tolist()
    [1, 2]
    """
    check_options("to_query", names=names)
    model, columns = named(model, feature_names)
    tree, keys = tree_of(model).prune(), cluster_values(model, names=names)
    levels, write, rules = levels_of(model, columns), _Writer(columns).condition, {}
    for leaf, held in premises_of(tree, levels, write, are_joined=False).items():
        rule = " and ".join(held) or "index == index"
        rules.setdefault(int(tree.leaf_label[leaf]), []).append(rule)
    return {
        keys[k]: rule[0] if len(rule) == 1 else " or ".join(f"({each})" for each in rule)
        for k, rule in sorted(rules.items())
    }


@dataclass(frozen=True)
class _Writer:
    """Writes the conditions of a tree as expressions of pandas.

    Parameters
    ----------
    names : sequence of str, names of the features
    """

    names: Sequence

    def condition(self, conditions):
        """Return the expression of a list of one Condition or LevelSet."""
        (condition,) = conditions
        if isinstance(condition, LevelSet):
            listed = [self.names[j] for j in condition.features]
            return self._levels(listed, is_listed=condition.is_listed)
        if condition.bound is not None:
            return self._bound(self.names[condition.bound.feature], condition.bound)
        total = "".join(
            f" {'-' if weight < 0 else '+'} {abs(weight)!r} * {self._number(self.names[j])}"
            for j, weight in zip(condition.indices, condition.weights.tolist(), strict=True)
        )
        total = total.removeprefix(" + ").removeprefix(" ").replace("- ", "-", total[1] == "-")
        return f"{total} {'<=' if condition.is_left else '>'} {condition.threshold!r}"

    def _bound(self, name, bound):
        """Return the condition that a feature satisfies a bound."""
        if isinstance(name, Indicator):
            return f"{self._number(name)} {bound.sign} {bound.value!r}"
        reader, fill = getattr(name, "reader", None), getattr(name, "fill", None)
        cell = self._cell(name)
        if isinstance(reader, Date) and reader.part is None:
            text = f"{cell} {'<' if bound.is_upper else '>='} '{_first_date(reader, bound)}'"
        else:
            text = f"{cell} {bound.sign} {bound.value!r}"
        # Comparisons with missing values are false.
        return f"({text} or {cell}.isna())" if fill is not None and fill in bound else text

    def _number(self, name):
        """Return the expression of the value of a feature as a number."""
        if isinstance(name, Indicator):
            return f"1.0 * ({self._levels([name], is_listed=True)})"
        reader, fill = getattr(name, "reader", None), getattr(name, "fill", None)
        if isinstance(reader, Date) and reader.part is None:
            raise ValueError(f"to_query does not support sums with dates ({name}). Use to_sql.")
        cell = self._cell(name)
        return cell if fill is None else f"{cell}.fillna({fill!r})"

    def _cell(self, name):
        """Return the expression of a raw cell; codes for missing values become missing."""
        column, reader = _quoted(column_of(name)), getattr(name, "reader", None)
        if isinstance(reader, Date) and reader.is_typed:
            return column if reader.part is None else f"{column}.dt.{PARTS_OF_PANDAS[reader.part]}"
        if not (reader is None or isinstance(reader, Number | Level)):
            raise ValueError(
                f"to_query needs columns of numbers, dates and categories, but the pipeline reads "
                f"strings ({name}). Use to_sql, or convert the column before the fit."
            )
        codes = [code for code in getattr(reader, "missing", ()) if not isinstance(code, str)]
        is_number = isinstance(name, Numeric) and codes
        return f"{column}.mask({column} in {codes!r})" if is_number else column

    def _levels(self, names, *, is_listed):
        """Return the condition that a row has one of some levels of a column, or none of them."""
        if not names:
            return "index != index"
        values, is_rest = union_of_levels(names)
        has_missing = any(name.has_missing for name in names) == is_listed
        is_rest = is_rest == is_listed
        reader, cell = names[0].reader, self._cell(names[0])
        listed = [*values]
        if isinstance(reader, Level) and has_missing != is_rest:
            listed += reader.missing
        test = f"{cell} {'not in' if is_rest else 'in'} {listed!r}"
        if is_rest:  # missing values are in no list
            return test if has_missing else f"({test} and {cell}.notna())"
        return f"({test} or {cell}.isna())" if has_missing else test


def _first_date(reader, bound):
    """Return the first second from which on dates are above a bound, in ISO 8601.

    Dates are read in whole seconds, which are rounded down.
    """
    second = first_second(bound.value, _DAY, or_equal=bound.is_upper == bound.is_strict)
    return str(pd.Timestamp(reader.first) + pd.Timedelta(seconds=second)).removesuffix(" 00:00:00")


def _quoted(name):
    """Return the name of a column as it stands in an expression.

    Raises
    ------
    ValueError
        If the name contains a backtick, which pandas does not support.
    """
    if "`" in name:
        raise ValueError(f"pandas has no expressions with the name {name!r}: it has a backtick.")
    is_plain = name.isidentifier() and not keyword.iskeyword(name) and name != "index"
    return name if is_plain else f"`{name}`"
