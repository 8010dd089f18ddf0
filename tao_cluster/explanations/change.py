"""The nearest change: what of a row would have to be another for it to be in a cluster."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from .._utils.matrices import as_array, check_rows
from ..columns.names import Indicator, printable_names
from ..columns.view import RawView, named, numbers_of, one_row, with_cells
from ..export.format import comparable_texts, number_text
from ..report import cluster_names
from ..tree import tree_of
from ..tree.conditions import conditions_of_leaves
from .path import list_html
from .profile import position_of

_PRECISION = 4
# How far sums stay from their thresholds, in spreads of their heaviest feature: tried in turn.
_MARGINS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
_ROUNDING = 1e-13  # of the numbers that a sum is made of
_NO_STEP = 1e-12  # in spreads: what a solver leaves of no change


@dataclass(frozen=True)
class FeatureChange:
    """A feature of a row that would be another.

    Parameters
    ----------
    feature : int
    name : str
    before, after : float
    cost : float
        Size of the change in spreads of the feature; 1/2 for each category that comes or goes.
    """

    feature: int
    name: str
    before: float
    after: float
    cost: float

    def __str__(self):
        if isinstance(self.name, Indicator) and {self.before, self.after} == {0.0, 1.0}:
            return str(self.name) if self.after else self.name.contrary
        sign = ">" if self.before > self.after else "<"
        before, after = comparable_texts(self.before, self.after, sign, _PRECISION)
        step = number_text(self.after - self.before, _PRECISION)
        return f"{self.name} {before} -> {after} ({'' if step.startswith('-') else '+'}{step})"


@dataclass(frozen=True, eq=False)
class Change:
    """What sends a row to a cluster.

    Parameters
    ----------
    changes : tuple of FeatureChange, largest cost first; none if the row is there already
    row : array, CSR matrix or DataFrame of shape (1, n_features)
        The changed row, of the kind of the given one (of a Series or dict an array, of a pipeline
        a raw row); the model predicts the cluster for it.
    cost : float, the sum of the costs of the changes
    leaf : int, the leaf that the changed row reaches
    cluster : int
    name, before : str, of the cluster, and of the one the row is in
    """

    changes: tuple[FeatureChange, ...]
    row: Any
    cost: float
    leaf: int
    cluster: int
    name: str
    before: str

    def to_dict(self):
        """Plain Python values, ready for JSON; without the row."""
        values = {name: value for name, value in vars(self).items() if name != "row"}
        return {**values, "changes": [asdict(change) for change in self.changes]}

    @property
    def _heading(self):
        if not self.changes:
            return f"{self.name}: nothing has to change"
        return f"{self.before} -> {self.name} (leaf {self.leaf}), cost {self.cost:.3g}"

    def __str__(self):
        return "\n".join([self._heading, *(f"  {change}" for change in self.changes)])

    def _repr_html_(self):
        """A list of the changes; texts are escaped."""
        return list_html(self._heading, [str(change) for change in self.changes])


def nearest_change(model, x, k, *, feature_names=None, fixed=(), bounds=None, spreads=None):
    """A smallest change of a row that sends it to a cluster.

    Parameters
    ----------
    model : Tree, fitted estimator with `tree_`, or fitted pipeline that ends in one
    x : one row, as for :func:`tao_cluster.explanations.explain`
    k : int, the cluster; the label itself, number or string, of a model that explains labels
    feature_names : sequence of str of length n_features, optional
        Default `feature_names_in_`, or x0, x1, ...
    fixed : sequence of names or positions of features, default=()
        Features that stay what they are; the name of a column fixes all its categories.
    bounds : dict, optional
        (least, largest) value of a feature by its name or position, None for no limit. A value
        that lies outside may stay where it is, or come nearer.
    spreads : array-like of shape (n_features,), optional
        What a change of 1 of a feature is measured by. Default the spread over the rows of the
        fit that come to a test of the feature, the largest of these; 1 if it is 0 or not known.

    Returns
    -------
    Change
        Of `changes` (one a feature), the changed `row`, its `cost` and `leaf`; to be printed.

    Raises
    ------
    ValueError
        If no row of that kind reaches the cluster, there is no such cluster or feature, x is not
        one row, or a bound or spread is no number.

    Notes
    -----
    The cost is the sum over features of ``|change| / spread``. It is minimised for each leaf of
    the cluster subject to the tests on its path, and the cheapest leaf is taken, the first one of
    those. Where all tests on the path ask for one feature, the nearest numbers that pass them
    are exact, to the next float. Where some test a sum it is a small linear program, solved by
    HiGHS, whose sums stay some 1e-9 spreads clear of their thresholds, more where rounding asks
    for it: each answer is checked by routing the changed row. Categories (of one-hot columns and
    `Indicator` names) change as a whole: a column keeps one value a row, and a change of it costs
    1; whether a value is missing does not change. Other features may take any number: give
    `bounds` for those that may not be negative, say.

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
    model, names = named(model, feature_names)
    k, tree = position_of(model, k), tree_of(model)
    row = one_row(model, x, feature_names)
    asked = _Row(model, row, check_rows(numbers_of(model, row)).astype(np.float64, copy=False))
    labels = cluster_names(model)
    here = asked.leaf_of({})
    before = labels[tree.leaf_label[here]]
    room = Room.of(names, asked.values, fixed, bounds, _spreads(model, tree, spreads))
    if tree.leaf_label[here] == k:
        return Change((), asked.changed({}), 0.0, here, k, labels[k], before)
    best = min(_candidates(asked, tree, k, room), key=lambda found: found[:2], default=None)
    if best is None:
        limited = " with these features fixed and within these bounds" if fixed or bounds else ""
        raise ValueError(f"No change of the row leads to {labels[k]}{limited}.")
    cost, _, found, reached = best
    shown = printable_names(names)
    changes = [
        FeatureChange(j, shown[j], room.values[j], value, room.cost(j, value))
        for j, value in found.items()
    ]
    changes.sort(key=lambda change: (-change.cost, change.feature))
    return Change(tuple(changes), asked.changed(found), cost, reached, k, labels[k], before)


def _candidates(asked, tree, k, room):
    """(cost, leaf, changes, leaf reached) of the nearest change to each leaf of a cluster."""
    for leaf, conditions in conditions_of_leaves(tree):
        if tree.leaf_label[leaf] != k:
            continue
        for found in nearest_values(conditions, room):
            reached = asked.leaf_of(found)
            if tree.leaf_label[reached] == k:
                cost = sum(room.cost(j, value) for j, value in found.items())
                yield cost, leaf, found, reached
                break


@dataclass(frozen=True, eq=False)
class _Row:
    """A row of a model, and what becomes of it."""

    model: Any
    table: Any
    values: Any

    def changed(self, numbers):
        """The row in which features have other numbers."""
        if isinstance(self.model, RawView):
            return self.model.with_numbers(self.table, numbers)
        return with_cells(self.table if hasattr(self.table, "iloc") else self.values, numbers)

    def leaf_of(self, numbers):
        """The leaf that it reaches then."""
        row = self.changed(numbers)
        # A bare array has no names to be compared with those of fit, and need have none.
        has_names = isinstance(self.model, RawView) or hasattr(row, "columns")
        return int((self.model if has_names else tree_of(self.model)).apply(row)[0])


def _spreads(model, tree, spreads):
    """What changes are measured by: one number above 0 a feature."""
    if spreads is not None:
        spreads = np.asarray(spreads, dtype=np.float64)
        if spreads.shape != (tree.n_features,) or not np.all((spreads > 0) & np.isfinite(spreads)):
            raise ValueError(f"spreads must be {tree.n_features} numbers above 0, one a feature.")
        return spreads
    found = np.zeros(tree.n_features)
    known = getattr(model, "split_stds_", None)
    if known is not None:
        np.fmax.at(found, tree.split_indices, known)
    return np.where(found > 0, found, 1.0)


@dataclass(frozen=True, eq=False)
class Room:
    """What the features of a row may become, and what that costs.

    Parameters
    ----------
    values : float array of shape (n_features,), the row
    low, high : float arrays of shape (n_features,)
    spreads : float array of shape (n_features,)
    groups : dict of list of int, features by column of categories
    """

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    spreads: np.ndarray
    groups: dict

    @classmethod
    def of(cls, names, row, fixed, bounds, spreads):
        """The room that is left by fixed features and bounds.

        Raises
        ------
        ValueError
            If a feature is not known, or a bound is no pair in order.
        """
        values = as_array(row).ravel()
        low, high = np.full(len(values), -np.inf), np.full(len(values), np.inf)
        for feature, pair in (bounds or {}).items():
            least, largest = _pair(feature, pair)
            for j in _features(names, feature):
                low[j], high[j] = min(least, values[j]), max(largest, values[j])
        groups = {}
        for j, name in enumerate(names):
            if isinstance(name, Indicator) and values[j] in (0.0, 1.0):
                groups.setdefault(name.column, []).append(j)
                if name.value is None:
                    low[j] = high[j] = values[j]
        for feature in fixed:
            for j in _features(names, feature):
                low[j] = high[j] = values[j]
        return cls(values, low, high, spreads, groups)

    def cost(self, j, value):
        """What it costs that feature j has a value: a category costs 1/2 to come and to go."""
        return abs(value - self.values[j]) / (2.0 if self.is_category[j] else self.spreads[j])

    @cached_property
    def is_category(self):
        """Whether features are 1 or 0: bool array."""
        mask = np.zeros(len(self.values), dtype=bool)
        mask[[j for group in self.groups.values() for j in group]] = True
        return mask


def _pair(feature, pair):
    """Both bounds as numbers."""
    least, largest = pair
    least = -math.inf if least is None else float(least)
    largest = math.inf if largest is None else float(largest)
    if not least <= largest:
        raise ValueError(f"The bounds of {feature!r} must be two numbers in order, got {pair!r}.")
    return least, largest


def _features(names, feature):
    """Features that a name or position stands for."""
    if isinstance(feature, int | np.integer) and -len(names) <= feature < len(names):
        return [int(feature) % len(names)]
    found = [
        j
        for j, name in enumerate(names)
        if name == feature or (isinstance(name, Indicator) and name.column == feature)
    ]
    if not found:
        raise ValueError(f"There is no feature {feature!r}.")
    return found


def nearest_values(conditions, room):
    """Candidates for the cheapest change that leads to a leaf, the cheapest first.

    Parameters
    ----------
    conditions : list of Condition, those on the path to the leaf
    room : Room

    Yields
    ------
    dict of float, changed values by feature
        Whether they do lead there is for the caller to check: sums are rounded.
    """
    low, high = room.low.copy(), room.high.copy()
    sums = [condition for condition in conditions if condition.bound is None]
    for condition in conditions:
        if condition.bound is not None:
            _limit(low, high, condition.bound)
    if np.any(low > high):
        return
    outside = (room.values < low) | (room.values > high)
    is_program = sums or np.any(outside & room.is_category)
    nearest = [np.clip(room.values, low, high)]
    for values in _programs(sums, low, high, room) if is_program else nearest:
        yield {int(j): float(values[j]) for j in np.flatnonzero(values != room.values)}


def _limit(low, high, bound):
    """Make room for one feature narrower."""
    j, value = bound.feature, bound.value
    if bound.is_upper:
        high[j] = min(high[j], np.nextafter(value, -np.inf) if bound.is_strict else value)
    else:
        low[j] = max(low[j], np.nextafter(value, np.inf) if bound.is_strict else value)


def _programs(sums, low, high, room):
    """Values of all features by the linear program of a path, for each margin in turn.

    Its variables are the steps of some features, in units of their spreads, and the sizes of
    these steps. Categories are its whole numbers, in steps of 1.
    """
    used = {int(j) for condition in sums for j in condition.indices}
    used |= set(np.flatnonzero((room.values < low) | (room.values > high)).tolist())
    groups = [group for group in room.groups.values() if used & set(group)]
    features = np.array(sorted(used.union(*groups)))
    n, values, is_category = len(features), room.values[features], room.is_category[features]
    unit = np.where(is_category, 1.0, room.spreads[features])
    low, high = low[features], high[features]
    least = np.where(is_category, np.maximum(low, 0.0), low)
    most = np.where(is_category, np.minimum(high, 1.0), high)
    steps = Bounds(
        np.append((least - values) / unit, np.zeros(n)),
        np.append((most - values) / unit, np.full(n, np.inf)),
    )
    one = sp.identity(n, format="csr")
    sizes = LinearConstraint(sp.block_array([[one, -one], [-one, -one]]), ub=np.zeros(2 * n))
    columns = [_one_category(np.searchsorted(features, group), values) for group in groups]
    for margin in _MARGINS:
        tests = [_beyond(condition, features, unit, room.values, margin) for condition in sums]
        result = milp(
            np.append(np.zeros(n), np.where(is_category, 0.5, 1.0)),
            integrality=np.append(is_category, np.zeros(n)),
            bounds=steps,
            constraints=[sizes, *tests, *columns],
            options={"mip_rel_gap": 0.0},
        )
        if result.x is None:
            return
        step = np.where(is_category, np.round(result.x[:n]), result.x[:n])
        step[np.abs(step) < _NO_STEP] = 0.0
        found = room.values.copy()
        found[features] = np.clip(values + unit * step, low, high)
        yield found


def _beyond(condition, features, unit, values, margin):
    """A sum that far on its side of its threshold, in units of its heaviest step."""
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


def _one_category(group, values):
    """One category a column; none only where none is."""
    row = np.zeros(2 * len(values))
    row[group] = 1.0
    room = 1.0 - values[group].sum()
    return LinearConstraint(row, lb=room if room == 0.0 else -np.inf, ub=room)
