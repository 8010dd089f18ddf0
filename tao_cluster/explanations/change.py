"""`nearest_change`: the smallest change of a row that moves it to another cluster."""

import math
import sys
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from .._utils.frames import display_name
from .._utils.matrices import as_array, check_rows
from .._utils.warnings import listed
from ..columns.names import Indicator, levels_text, printable, printable_names
from ..columns.view import RawView, named, numbers_of, one_row, with_cells
from ..export.format import change_text, value_text
from ..problem.levels import columns_with_prefix
from ..report import MOST_DECIMALS, cluster_names, cluster_numbers, n_decimals, position_of
from ..tree import tree_of
from ..tree.conditions import conditions_of_leaves
from .path import list_html

_PRECISION = 4
# Margins by which the changed weighted sum clears its threshold. The unit is the largest change of
# the sum that a step of one scale in one feature causes. They are tried in this order, until the
# changed row reaches the cluster.
_MARGINS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
_ROUNDING = 1e-13  # bound of the rounding error of a sum, as a share of the sum of its |terms|
_NO_STEP = 1e-12  # changes below this share of a feature's scale are solver errors; they count as 0
# Rounding new values of continuous features increases the cost by at most these shares, for fitted
# models and for trees alone.
_SLACK, _NO_SLACK = 1e-3, 1e-8
_MORE_DECIMALS = (0, 2, 5)  # of new values, if fewer do not lead to the cluster
_MOST_NODES = 2000  # maximum number of branch-and-bound nodes in a search for integer values


@dataclass(frozen=True, repr=False)
class FeatureChange:
    """The change of one feature of a row.

    Parameters
    ----------
    feature : int, position of the feature
    name : str
    before, after : float, the values in the given row and in the changed row
    cost : float
        Size of the change in units of the feature's scale. For the 0/1 feature of a category it is
        1/2. A change of category changes two such features and therefore costs 1.
    """

    feature: int
    name: str
    before: float
    after: float
    cost: float

    @property
    def _is_level(self):
        """Whether the feature marks one level of a category, and changes from 0 to 1 or 1 to 0."""
        return isinstance(self.name, Indicator) and {self.before, self.after} == {0.0, 1.0}

    def __str__(self):
        if self._is_level:
            return levels_text(self.name.column, [self.name], is_listed=bool(self.after))
        return change_text(self.name, self.before, self.after, _PRECISION)


@dataclass(frozen=True, eq=False, repr=False)
class Change:
    """The smallest change of a row that moves it to a cluster.

    Parameters
    ----------
    changes : tuple of FeatureChange, largest cost first; empty if the row is in the cluster already
    row : array, CSR matrix or DataFrame of shape (1, n_features)
        The changed row, for which the model predicts the cluster. It has the type of the given
        row, except that a Series or dict becomes an array. For a pipeline it is a raw row.
    cost : float, the sum of the costs of the changes
    leaf : int, the leaf that the changed row reaches
    cluster : int
    name : str, the name of this cluster
    before : str, the name of the cluster of the given row
    """

    changes: tuple[FeatureChange, ...]
    row: Any
    cost: float
    leaf: int
    cluster: int
    name: str
    before: str

    def to_dict(self):
        """Return plain Python values for JSON: all fields except the row."""
        values = {name: value for name, value in vars(self).items() if name != "row"}
        return {**values, "changes": [asdict(change) for change in self.changes]}

    def to_frame(self):
        """Return a pandas DataFrame with one line per changed column.

        Its columns are row (always 0), column, before, after and cost. The values are numbers, the
        levels of a category, or dates as strings. As in the frames of :func:`explain`, the last
        three columns have the leaf that the row reaches, its cluster, and the name of the cluster.
        """
        end = self.leaf, self.cluster, self.name
        names = ["row", "column", "before", "after", "cost", "leaf", "cluster", "name"]
        return pd.DataFrame([(0, *_values(c), *end) for c in self._columns], columns=names)

    @property
    def _heading(self):
        if not self.changes:
            return f"{self.name}: nothing has to change"
        return f"{self.before} -> {self.name} (leaf {self.leaf}), cost {self.cost:.3g}"

    @property
    def _columns(self):
        """The changes of each column: list of lists. A change of category changes two features."""
        columns = {}
        for change in self.changes:
            key = change.name.column if change._is_level else change.feature
            columns.setdefault(key, []).append(change)
        return list(columns.values())

    @property
    def _lines(self):
        """The changes as text. Both changes of a categorical column, "region: south -> north"."""
        return [_line(changes) for changes in self._columns]

    def __str__(self):
        return "\n".join([self._heading, *(f"  {line}" for line in self._lines)])

    __repr__ = __str__

    def _repr_html_(self):
        """Return the changes as an HTML list with escaped names."""
        return list_html(self._heading, self._lines)


def _line(changes):
    """Return the changes of one column as text."""
    if len(changes) == 1:
        return str(changes[0])
    before, after = sorted(changes, key=lambda change: change.after)
    return f"{printable(before.name.column)}: {before.name.level} -> {after.name.level}"


def _values(changes):
    """Return the name of a changed column, its values before and after, and the cost."""
    cost = sum(change.cost for change in changes)
    first = changes[0]
    if not first._is_level:
        before, after = (value_text(first.name, x) or x for x in (first.before, first.after))
        return str(first.name), before, after, cost
    levels = {change.after: change.name.level for change in changes}
    return printable(first.name.column), levels.get(0.0), levels.get(1.0), cost


def nearest_change(
    model, x, k=None, *, feature_names=None, fixed=(), bounds="observed", spreads=None
):
    """Return the smallest change of a row that moves it to a cluster.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    x : one row, as for :func:`tao_cluster.explanations.explain`
    k : int or str, optional
        The number of the cluster, its name, or the label that the model explains. The default is
        the cluster, other than that of the row, to which the least change leads.
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    fixed : name or position of a feature, or a sequence of these, default=()
        Features that must not change. The name of a column fixes all its categories, also those
        of `pandas.get_dummies`: "plan" fixes "plan_gold" and "plan_free".
    bounds : "observed", dict or None, default="observed"
        Limits of the changed values.

        - "observed": the smallest and largest value of each column in the fitted rows. A `Tree`
          does not store them, so its features have no limits.
        - dict: the pair (smallest, largest) per name or position of a feature; None in a pair
          stands for no limit. The other features have their observed limits.
        - None: no limits.

        A value of the given row that lies outside of its limits may stay, or move towards them.
    spreads : array-like of shape (n_features,), optional
        Scale of each feature: the change that costs 1. Default the standard deviation over the
        fitted rows that reach a test of the feature, the largest over its tests; 1 if it is 0 or
        unknown.

    Returns
    -------
    Change
        With the `changes` (one per feature; two if a category changes), the changed `row`, its
        `cost` and `leaf`. It can be printed.

    Raises
    ------
    ValueError
        If no allowed change leads to the cluster, if there is no such cluster or feature, if x is
        not one row, or if a bound or scale is not a number.

    Notes
    -----
    The cost is the sum over features of ``|change| / scale``. It is minimised for each leaf of the
    cluster, subject to the tests on the path to the leaf; the leaf of least cost is chosen. If
    several leaves have the same cost, the one with the lowest number is chosen.

    If each test on the path has one feature, the nearest values that pass all tests are found
    exactly. Otherwise they are the solution of a small linear program, which HiGHS solves. Its sums
    keep a margin of about 1e-9 scales from their thresholds, and a larger one if rounding requires
    it.

    New values are then rounded to the number of decimals of the column, as far as it is known from
    the row and the range of the fitted rows. Other values are rounded so that the cost grows by at
    most a thousandth. Values have all their digits if the rounded ones do not lead to the cluster.
    The printed numbers are those of the changed row, and every answer is checked by routing it.

    A column that had only integers in the fit (in a pipeline: a column of a DataFrame x with an
    integer dtype) changes by integers. Categories change as a whole: a column keeps one value
    per row, and a change of it costs 1. This holds for the columns of OneHotEncoder, for
    `Indicator` names, and for 0/1 columns with a common prefix of which at most one is 1 in each
    fitted row, as `pandas.get_dummies` makes them. The prefix must end with one of the characters
    ``_=:.-`` or a space. The columns that ``get_dummies(prefix="", prefix_sep="")`` makes are not
    recognised; name them in `fixed`. Whether a value is missing never changes, nor do parts of
    dates such as the month.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.explanations import nearest_change
    >>> tree = Tree.from_splits([1, -1, -1], [2, -1, -1], [([0, 1], [0.5, -2.0]), None, None],
    ...                         [2, 0, 0], [-1, 0, 1], n_features=2)
    >>> change = nearest_change(tree, [7.0, 0.25], 0, feature_names=["width", "height"])
    >>> print(change)
    cluster 1 -> cluster 0 (leaf 1), cost 0.5
      height 0.25 -> 0.75 (+0.5)
    >>> tree.predict(change.row)
    array([0], dtype=int32)
    """
    model, names = named(model, feature_names, x)
    tree, wanted = tree_of(model), None if k is None else position_of(model, k)
    row = one_row(model, x, feature_names)
    asked = _Row(model, row, check_rows(numbers_of(model, row)).astype(np.float64, copy=False))
    labels, numbers = cluster_names(model), cluster_numbers(model)
    here = asked.leaf_of({})
    own = tree.leaf_label[here]
    limits = Limits.from_model(asked, names, fixed, bounds, _scales(model, tree, spreads))
    if own == wanted:
        return Change((), asked.changed({}), 0.0, here, numbers[own], labels[own], labels[own])
    targets = {*tree.leaf_label.tolist()} - {own, -1} if wanted is None else {wanted}
    best = min(_candidates(asked, tree, targets, limits), key=lambda found: found[:2], default=None)
    if best is None:
        place = "another cluster" if wanted is None else labels[wanted]
        raise ValueError(f"No change of the row leads to {place}{limits.reason}.")
    _, _, found, reached = best
    k = tree.leaf_label[reached]
    found, reached = _rounded(asked, tree, k, limits, found, reached)
    found = asked.as_read(found)
    shown = printable_names(names)
    changes = [
        FeatureChange(j, shown[j], limits.values[j], value, limits.cost(j, value))
        for j, value in found.items()
    ]
    changes.sort(key=lambda change: (-change.cost, change.feature))
    cost, who = sum(change.cost for change in changes), (numbers[k], labels[k], labels[own])
    return Change(tuple(changes), asked.changed(found), cost, reached, *who)


def _candidates(asked, tree, targets, limits):
    """Yield the nearest change to each leaf of some clusters for which one is found.

    A change is a tuple: its cost, the leaf, a dict of the new values by feature, and the leaf that
    the changed row reaches (of the same cluster, but due to rounding perhaps another one).
    """
    for leaf, conditions in conditions_of_leaves(tree):
        k = tree.leaf_label[leaf]
        if k not in targets:
            continue
        for found in nearest_values(conditions, limits):
            reached = asked.leaf_of(found)
            if tree.leaf_label[reached] == k:
                cost = sum(limits.cost(j, value) for j, value in found.items())
                yield cost, leaf, found, reached
                break


def _rounded(asked, tree, k, limits, found, reached):
    """Round new values, if the changed row still reaches cluster k.

    Parameters
    ----------
    asked, tree, k, limits
        The row, the tree, the cluster and the limits of values.
    found : dict of float, new values by feature
    reached : int, the leaf that they lead to

    Returns
    -------
    found, reached
        Those of the first rounded values that lead to the cluster, or the given ones.
    """
    free = [j for j in found if limits.decimals(j) is None]
    slack = _NO_SLACK if limits.known is None else _SLACK
    most = (1 + slack) * sum(limits.cost(j, found[j]) for j in free)
    kept = limits.is_category | limits.is_integer
    for n_more in _MORE_DECIMALS:
        for is_beyond in (False, True):
            values = {
                j: value
                if kept[j] or value_text(limits.names[j], value)
                else limits.rounded(j, value, n_more, is_beyond=is_beyond)
                for j, value in found.items()
            }
            cost = sum(limits.cost(j, values[j]) for j in free)
            leaf = reached if values == found else asked.leaf_of(values)
            if cost <= most and tree.leaf_label[leaf] == k:
                return {j: x for j, x in values.items() if x != limits.values[j]}, leaf
    return found, reached


@dataclass(frozen=True, eq=False)
class _Row:
    """The given row of :func:`nearest_change`: as a table, and in the features of the tree."""

    model: Any
    table: Any
    values: Any

    def changed(self, numbers):
        """Return the row with new values of some features, a dict by feature."""
        if isinstance(self.model, RawView):
            return self.model.with_numbers(self.table, numbers)
        return with_cells(self.table if hasattr(self.table, "iloc") else self.values, numbers)

    def as_read(self, numbers):
        """Return the values that the model reads from the changed row, a dict by feature.

        They can differ from the new values `numbers`, for example if the cells of a raw table
        can hold whole minutes only.
        """
        if not isinstance(self.model, RawView):
            return numbers
        values = as_array(check_rows(self.model.numbers(self.changed(numbers)))).ravel()
        return {j: float(values[j]) for j in numbers}

    def leaf_of(self, numbers):
        """Return the leaf that the row reaches with new values of some features, a dict."""
        row = self.changed(numbers)
        # An estimator compares column names with those of fit, and warns if there are none. A
        # bare array is therefore routed by the tree.
        has_names = isinstance(self.model, RawView) or hasattr(row, "columns")
        return int((self.model if has_names else tree_of(self.model)).apply(row)[0])


def _scales(model, tree, spreads):
    """Return the scale of each feature, the change that costs 1: positive floats."""
    if spreads is not None:
        spreads = np.asarray(spreads, dtype=np.float64)
        if spreads.shape != (tree.n_features,) or not np.all((spreads > 0) & np.isfinite(spreads)):
            raise ValueError(f"spreads must be {tree.n_features} numbers above 0, one per feature.")
        return spreads
    found = np.zeros(tree.n_features)
    known = getattr(model, "split_stds_", None)
    if known is not None:
        np.fmax.at(found, tree.split_indices, known)
    return np.where(found > 0, found, 1.0)


@dataclass(frozen=True, eq=False)
class Limits:
    """The allowed values of the features of a row, and the cost of a change.

    Parameters
    ----------
    values : float array of shape (n_features,), the given row
    low, high : float arrays of shape (n_features,), smallest and largest allowed values
    scales : float array of shape (n_features,), the change of each feature that costs 1
    is_integer : bool array of shape (n_features,), features that change by integers
    groups : list of (list of int, bool)
        Features of each column of categories, and whether one of them must be 1.
    names : sequence of str
    known : float array of shape (2, n_features), or None
        The smallest and the largest fitted value of each feature.
    reason : str, the end of the error message if no change is possible
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    scales: np.ndarray
    is_integer: np.ndarray
    groups: list
    names: Any
    known: np.ndarray | None
    reason: str

    @classmethod
    def from_model(cls, asked, names, fixed, bounds, scales):
        """Compute the limits of a row from the range of the fitted data, `fixed` and `bounds`.

        Raises
        ------
        ValueError
            If a feature is unknown, or a bound is not an ordered pair.
        """
        values = as_array(asked.values).ravel()
        low, high = np.full(len(values), -np.inf), np.full(len(values), np.inf)
        if isinstance(bounds, str) and bounds != "observed":
            raise ValueError(f'bounds must be "observed", a dict or None, got {bounds!r}.')
        known = getattr(asked.model, "_column_range", None)
        observed = None if bounds is None else known
        if observed is not None:
            low, high = np.minimum(observed[0], values), np.maximum(observed[1], values)
        given = {} if bounds is None or isinstance(bounds, str) else bounds
        group_of = getattr(asked.model, "_column_group", None)
        for feature, pair in given.items():
            least, largest = _pair(feature, pair)
            for j in _features(names, feature, group_of):
                low[j], high[j] = min(least, values[j]), max(largest, values[j])
        groups = _groups(names, values, group_of)
        for feature in _as_list(names, fixed):
            for j in _features(names, feature, group_of):
                low[j] = high[j] = values[j]
        for j, name in enumerate(names):
            if _is_fixed(name, values[j]):
                low[j] = high[j] = values[j]
        reason = " with these features fixed and within these bounds" if fixed or given else ""
        if observed is not None and not reason:
            reason = " within the observed range of each column; bounds=None removes these limits"
        is_integer = _integers(asked, values)
        return cls(values, low, high, scales, is_integer, groups, names, known, reason)

    def decimals(self, j):
        """Return the number of decimals of a feature; None if it is continuous, or not known.

        It is that of the given row and of the smallest and largest fitted values.
        """
        if self.known is None:
            return None
        n = max(n_decimals(x) for x in (*self.known[:, j], self.values[j]))
        return n if n <= MOST_DECIMALS else None

    def rounded(self, j, value, n_more, *, is_beyond):
        """Return a new value of feature j with its number of decimals.

        Parameters
        ----------
        j : int
        value : float
        n_more : int
            Number of further decimals, if the feature may have any.
        is_beyond : bool
            Whether to round away from the value of the given row, instead of to the nearest number.
        """
        decimals = self.decimals(j)
        if decimals is None:
            step = abs(value - self.values[j]) or self.scales[j]
            decimals = n_more - math.floor(math.log10(max(_SLACK * step, sys.float_info.min)))
        direction = math.copysign(1.0, value - self.values[j])
        short = round(value, decimals)
        if is_beyond and direction * (short - value) < 0:
            short = round(short + direction * 10.0**-decimals, decimals)
        is_allowed = self.low[j] <= short <= self.high[j]
        end = self.high[j] if direction > 0 else self.low[j]
        return short if is_allowed or math.isclose(short, end) else value

    def cost(self, j, value):
        """Return the cost of a new value of feature j.

        A change of a 0/1 feature of a category costs 1/2. Another category changes two of these
        features, so it costs 1.
        """
        return abs(value - self.values[j]) / (2.0 if self.is_category[j] else self.scales[j])

    @cached_property
    def is_category(self):
        """Whether each feature is the 0/1 feature of a category: bool array."""
        mask = np.zeros(len(self.values), dtype=bool)
        mask[[j for group, _ in self.groups for j in group]] = True
        return mask


def _is_fixed(name, value):
    """Return whether `nearest_change` must not change a feature.

    This holds for features that mark missing values, and for parts of dates.
    """
    if isinstance(name, Indicator) and name.value is None and value in (0.0, 1.0):
        return True
    reader = getattr(name, "reader", None)
    return reader is not None and not reader.has_cells


def _integers(asked, values):
    """Return which features are integers in all fitted rows and in the given row: bool array."""
    # A pipeline may scale integers. Then only the dtypes of the original table identify them.
    if isinstance(asked.model, RawView):
        known = asked.model.integer_features(asked.table)
    else:
        known = getattr(asked.model, "_column_is_integer", None)
    return (values == np.floor(values)) & (False if known is None else known)


def _groups(names, values, observed):
    """Return one tuple per column of categories: its features, and whether one must be 1."""
    found = {}
    for j, name in enumerate(names):
        if values[j] not in (0.0, 1.0):
            continue
        if isinstance(name, Indicator):
            found.setdefault(name.column, []).append(j)
        elif observed is not None and observed[j]:
            found.setdefault(int(observed[j]), []).append(j)
    return [
        # If no feature of an encoded column is 1 in the row, the encoder may have dropped the
        # feature of its category. Then none of the others has to be 1.
        (group, values[group].sum() == 1.0 if isinstance(key, str) else key > 0)
        for key, group in found.items()
    ]


def _pair(feature, pair):
    """Return a pair (low, high) of bounds as floats; None (no bound) becomes -inf or inf."""
    least, largest = pair
    least = -math.inf if least is None else float(least)
    largest = math.inf if largest is None else float(largest)
    if not least <= largest:
        raise ValueError(f"The bounds of {feature!r} must be two numbers in order, got {pair!r}.")
    return least, largest


def _as_list(names, fixed):
    """Return `fixed` as a list of features. A tuple can be one name, of a MultiIndex."""
    if isinstance(fixed, tuple) and fixed and {display_name(fixed), str(fixed)} & set(names):
        return [fixed]
    return list(fixed) if hasattr(fixed, "__iter__") and not isinstance(fixed, str) else [fixed]


def _features(names, feature, group_of=None):
    """Return the features that a name, a position or a prefix of a one-hot group refers to."""
    # Names that are not strings are displayed in one of these forms.
    shown = (feature, display_name(feature), str(feature))
    found = [
        j
        for j, name in enumerate(names)
        if name in shown or (isinstance(name, Indicator) and name.column == feature)
    ]
    if found:
        return found
    if group_of is not None and isinstance(feature, str):
        found = columns_with_prefix(names, feature, group_of)
    if found:
        return found
    if isinstance(feature, int | np.integer) and -len(names) <= feature < len(names):
        return [int(feature) % len(names)]
    raise ValueError(f"There is no feature {feature!r}; the features are {listed(names)}.")


def nearest_values(conditions, limits):
    """Yield candidates for the cheapest change that leads to a leaf, the cheapest first.

    Parameters
    ----------
    conditions : list of Condition, those on the path to the leaf
    limits : Limits

    Yields
    ------
    dict of float, changed values by feature
        The caller checks whether the changed row reaches the leaf, because sums are rounded.
    """
    low, high = limits.low.copy(), limits.high.copy()
    sums = [condition for condition in conditions if condition.bound is None]
    for condition in conditions:
        if condition.bound is not None:
            _limit(low, high, condition.bound)
    low[limits.is_integer] = np.ceil(low[limits.is_integer])
    high[limits.is_integer] = np.floor(high[limits.is_integer])
    if np.any(low > high):
        return
    outside = (limits.values < low) | (limits.values > high)
    is_program = sums or np.any(outside & limits.is_category)
    nearest = [np.clip(limits.values, low, high)]
    for values in _programs(sums, low, high, limits) if is_program else nearest:
        yield {int(j): float(values[j]) for j in np.flatnonzero(values != limits.values)}


def _limit(low, high, bound):
    """Make a value satisfy a bound: lower high[j] or raise low[j], in place, for its feature j."""
    j, value = bound.feature, bound.value
    if bound.is_upper:
        high[j] = min(high[j], np.nextafter(value, -np.inf) if bound.is_strict else value)
    else:
        low[j] = max(low[j], np.nextafter(value, np.inf) if bound.is_strict else value)


def _programs(sums, low, high, limits):
    """Yield, for each margin, the values of all features that solve the linear program of a path.

    Its variables are the steps of some features, in units of their scales, and the absolute values
    of these steps. These are the features in sums, those outside of their limits, and those in the
    same column of categories. Steps of categories and of integer columns are integers.
    """
    used = {int(j) for condition in sums for j in condition.indices}
    used |= set(np.flatnonzero((limits.values < low) | (limits.values > high)).tolist())
    groups = [(group, is_full) for group, is_full in limits.groups if used & set(group)]
    features = np.array(sorted(used.union(*(group for group, _ in groups))))
    n, values, is_category = len(features), limits.values[features], limits.is_category[features]
    is_integer = is_category | limits.is_integer[features]
    unit = np.where(is_integer, 1.0, limits.scales[features])
    price = np.where(is_category, 0.5, unit / limits.scales[features])
    low, high = low[features], high[features]
    least = np.where(is_category, np.maximum(low, 0.0), low)
    most = np.where(is_category, np.minimum(high, 1.0), high)
    down, up = (least - values) / unit, (most - values) / unit
    # HiGHS finds no solution, or half a step, if bounds of an integer variable are not integers.
    down, up = np.where(is_integer, np.ceil(down), down), np.where(is_integer, np.floor(up), up)
    if np.any(down > up):
        return
    steps = Bounds(np.append(down, np.zeros(n)), np.append(up, np.full(n, np.inf)))
    one = sp.identity(n, format="csr")
    sizes = LinearConstraint(sp.block_array([[one, -one], [-one, -one]]), ub=np.zeros(2 * n))
    columns = [
        _one_category(np.searchsorted(features, group), is_full, values)
        for group, is_full in groups
    ]
    for margin in _MARGINS:
        tests = [_beyond(condition, features, unit, limits.values, margin) for condition in sums]
        result = milp(
            np.append(np.zeros(n), price),
            integrality=np.append(is_integer, np.zeros(n)),
            bounds=steps,
            constraints=[sizes, *tests, *columns],
            options={"mip_rel_gap": 0.0, "node_limit": _MOST_NODES},
        )
        if result.x is None:
            return
        step = np.where(is_integer, np.round(result.x[:n]), result.x[:n])
        step[np.abs(step) < _NO_STEP] = 0.0
        found = limits.values.copy()
        found[features] = np.clip(values + unit * step, low, high)
        yield found


def _beyond(condition, features, unit, values, margin):
    """Return the linear constraint that a weighted sum passes its test with a margin.

    The sum is divided by the largest change that a step of one unit in one feature causes.
    """
    row = np.zeros(2 * len(features))
    at = np.searchsorted(features, condition.indices)
    row[at] = condition.weights * unit[at]
    size = np.abs(row).max()
    terms = condition.weights * values[condition.indices]
    gap = (condition.threshold - terms.sum()) / size
    rounding = _ROUNDING * (np.abs(terms).sum() + abs(condition.threshold)) / size
    if condition.is_left:
        return LinearConstraint(row / size, ub=gap - margin - rounding)
    return LinearConstraint(row / size, lb=gap + margin + rounding)


def _one_category(group, is_full, values):
    """Return the constraint that at most one feature of a group, or with `is_full` one, is 1."""
    row = np.zeros(2 * len(values))
    row[group] = 1.0
    missing = 1.0 - values[group].sum()
    return LinearConstraint(row, lb=missing if is_full else -np.inf, ub=missing)
