"""The nearest numbers that lead along a path: exact for single features, else a linear program."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from .._utils.matrices import as_array
from ..columns import Indicator

# How far sums stay from their thresholds, in spreads of their heaviest feature: tried in turn.
_MARGINS = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
_ROUNDING = 1e-13  # of the numbers that a sum is made of
_NO_STEP = 1e-12  # in spreads: what a solver leaves of no change


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
        """What it costs that feature j has a value."""
        return abs(value - self.values[j]) / self.unit(j)

    def unit(self, j):
        """The change of a feature that costs 1: a category costs 1/2 to come and to go."""
        return 2.0 if self.is_category[j] else self.spreads[j]

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
    if not sums and not np.any(outside & room.is_category):
        yield _changed(room, np.clip(room.values, low, high))
        return
    program = _Program.of(sums, low, high, room)
    for margin in _MARGINS:
        found = program.solve(margin)
        if found is None:
            return
        yield _changed(room, found)


def _limit(low, high, bound):
    """Make room for one feature narrower."""
    j, value = bound.feature, bound.value
    if bound.is_upper:
        high[j] = min(high[j], np.nextafter(value, -np.inf) if bound.is_strict else value)
    else:
        low[j] = max(low[j], np.nextafter(value, np.inf) if bound.is_strict else value)


def _changed(room, values):
    """The values that are others."""
    return {int(j): float(values[j]) for j in np.flatnonzero(values != room.values)}


@dataclass(frozen=True, eq=False)
class _Program:
    """The linear program of one path; categories are its whole numbers.

    Its variables are the steps of some features, in units of their spreads (1 of categories), and
    the sizes of these steps.

    Parameters
    ----------
    room : Room
    features : int array of shape (n,), those that may have to change
    low, high : float arrays of shape (n,)
    sums : list of Condition
    groups : list of list of int, positions among the features of the categories of a column
    """

    room: Room
    features: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sums: list
    groups: list

    @classmethod
    def of(cls, sums, low, high, room):
        """Features of the sums, those that lie outside, and the categories of their columns."""
        used = {int(j) for condition in sums for j in condition.indices}
        used |= set(np.flatnonzero((room.values < low) | (room.values > high)).tolist())
        groups = [group for group in room.groups.values() if used & set(group)]
        features = np.array(sorted(used.union(*groups)))
        places = [np.searchsorted(features, group).tolist() for group in groups]
        return cls(room, features, low[features], high[features], sums, places)

    @cached_property
    def _is_category(self):
        return self.room.is_category[self.features]

    @cached_property
    def _unit(self):
        """What a step of 1 changes a feature by."""
        return np.where(self._is_category, 1.0, self.room.spreads[self.features])

    def solve(self, margin):
        """Values of all features, with sums that far from their thresholds; None if impossible."""
        n, values = len(self.features), self.room.values[self.features]
        low = np.where(self._is_category, np.maximum(self.low, 0.0), self.low)
        high = np.where(self._is_category, np.minimum(self.high, 1.0), self.high)
        steps = Bounds(
            np.append((low - values) / self._unit, np.zeros(n)),
            np.append((high - values) / self._unit, np.full(n, np.inf)),
        )
        one = sp.identity(n, format="csr")
        sizes = LinearConstraint(sp.block_array([[one, -one], [-one, -one]]), ub=np.zeros(2 * n))
        result = milp(
            np.append(np.zeros(n), np.where(self._is_category, 0.5, 1.0)),
            integrality=np.append(self._is_category, np.zeros(n)),
            bounds=steps,
            constraints=[sizes, *self._tests(margin), *self._columns()],
            options={"mip_rel_gap": 0.0},
        )
        if result.x is None:
            return None
        step = np.where(self._is_category, np.round(result.x[:n]), result.x[:n])
        step[np.abs(step) < _NO_STEP] = 0.0
        found = self.room.values.copy()
        found[self.features] = np.clip(values + self._unit * step, self.low, self.high)
        return found

    def _tests(self, margin):
        """Each sum on its side of its threshold, in units of its heaviest step."""
        for condition in self.sums:
            row = np.zeros(2 * len(self.features))
            at = np.searchsorted(self.features, condition.indices)
            row[at] = condition.weights * self._unit[at]
            size = np.abs(row).max()
            terms = condition.weights * self.room.values[condition.indices]
            gap = (condition.threshold - terms.sum()) / size
            rounding = _ROUNDING * (np.abs(terms).sum() + abs(condition.threshold)) / size
            if condition.is_left:
                yield LinearConstraint(row / size, ub=gap - margin - rounding)
            else:
                yield LinearConstraint(row / size, lb=gap + margin + rounding)

    def _columns(self):
        """One category a column; none only where none is."""
        for group in self.groups:
            row = np.zeros(2 * len(self.features))
            row[group] = 1.0
            room = 1.0 - self.room.values[self.features[group]].sum()
            yield LinearConstraint(row, lb=room if room == 0.0 else -np.inf, ub=room)
