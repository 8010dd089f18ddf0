"""Conditions on the path to a leaf, merged where one of them implies another."""

import struct
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Bound:
    """A limit of one feature: x <= value, x < value, x >= value or x > value.

    Parameters
    ----------
    feature : int
    value : float
    is_upper : bool
        Whether x lies below the value.
    is_strict : bool
        Whether x differs from the value.
    """

    feature: int
    value: float
    is_upper: bool
    is_strict: bool

    @classmethod
    def from_test(cls, feature, weight, threshold, is_left=True):
        """Solve weight * x <= threshold for x (or weight * x > threshold if `is_left` is False).

        The bound is exact: it holds for exactly those floats x for which the rounded product
        satisfies the test.

        Examples
        --------
        >>> Bound.from_test(0, -0.5, -2.0)
        Bound(feature=0, value=4.0, is_upper=False, is_strict=False)
        >>> Bound.from_test(0, -0.5, -2.0, is_left=False)
        Bound(feature=0, value=4.0, is_upper=True, is_strict=True)
        """
        feature, weight, threshold = int(feature), float(weight), float(threshold)
        largest = _largest(abs(weight), threshold)
        value = (largest if weight > 0 else -largest) + 0.0  # adding 0.0 turns -0.0 into 0.0
        return cls(feature, value, (weight > 0) == is_left, not is_left)

    @property
    def sign(self):
        """The comparison operator, e.g. "<="."""
        return ("<" if self.is_upper else ">") + ("" if self.is_strict else "=")

    def is_within(self, other):
        """Return whether this bound implies `other`, a bound of the same feature and direction."""
        if self.value == other.value:
            return self.is_strict >= other.is_strict
        return (self.value < other.value) == self.is_upper

    def __contains__(self, x):
        holds = x < self.value if self.is_upper else x > self.value
        return holds or (x == self.value and not self.is_strict)


def _largest(weight, threshold):
    """Return the largest float x with weight * x <= threshold, for a positive weight."""
    if weight == 1:
        return threshold
    # The rounded product weight * x never decreases if x increases.
    return largest_float_where(lambda x: weight * x <= threshold)


@dataclass(frozen=True, eq=False)
class Condition:
    """A test with its outcome: weights . x[indices] <= threshold, or > if `is_left` is False."""

    node: int
    indices: np.ndarray
    weights: np.ndarray
    threshold: float
    is_left: bool

    @classmethod
    def from_tree(cls, tree, node, is_left=True):
        """Condition that holds for the rows on one side of a decision node."""
        return cls(int(node), *tree.split(node), float(tree.threshold[node]), is_left)

    @cached_property
    def bound(self):
        """The bound on x if the test has one feature, else None."""
        if len(self.indices) != 1:
            return None
        return Bound.from_test(self.indices[0], self.weights[0], self.threshold, self.is_left)

    @cached_property
    def sum(self):
        """Hashable key of the quantity that is tested: one feature, or a weighted sum."""
        if len(self.indices) == 1:
            return int(self.indices[0])
        return self.indices.tobytes(), self.weights.tobytes()

    @property
    def is_upper(self):
        """Whether the condition is an upper bound of the feature or sum."""
        bound = self.bound
        return self.is_left if bound is None else bound.is_upper

    def is_within(self, other):
        """Return whether this condition implies `other`, on the same sum and direction."""
        bound = self.bound
        if bound is not None:
            return bound.is_within(other.bound)
        return self.threshold == other.threshold or (
            (self.threshold < other.threshold) == self.is_left
        )


class LevelFeature(NamedTuple):
    """A feature that marks the rows with one level of a categorical variable.

    Parameters
    ----------
    variable : str
        Name of the variable.
    one : float
        Value of the feature in the rows with the level; in all other rows it is 0.
    members : tuple of int
        All features of the variable, if every row has the level of one of them; else empty.
    """

    variable: str
    one: float = 1.0
    members: tuple[int, ...] = ()


@dataclass(frozen=True)
class LevelSet:
    """A condition on the level of a categorical variable.

    In a row, at most one of the features of the variable is not 0: that of the level of the row.
    All of them are 0 if the level has no feature, for example because `fit` did not see it.

    Parameters
    ----------
    variable : str
        Name of the variable.
    features : tuple of int
        Features of the listed levels, in increasing order.
    is_listed : bool
        Whether the condition holds for the listed levels, or for all others.
    members : tuple of int
        All features of the variable, if every row has the level of one of them; else empty.
    """

    variable: str
    features: tuple[int, ...]
    is_listed: bool
    members: tuple[int, ...] = ()

    @classmethod
    def from_test(cls, variable, indices, values, threshold):
        """Return the levels that a test sends to the left; None if it sends all to one side.

        Rows whose level has no feature always belong to the levels that are not listed.

        Parameters
        ----------
        variable : str
        indices : int array of shape (n,)
            Features of the test, all of this variable.
        values : float array of shape (n,)
            Weighted sum of the test for a row with the level of each feature.
        threshold : float

        Examples
        --------
        >>> LevelSet.from_test("plan", np.array([2, 3, 5]), np.array([1.0, -1.0, 2.0]), 0.5)
        LevelSet(variable='plan', features=(2, 5), is_listed=False, members=())
        """
        others_go_left = threshold >= 0.0
        listed = indices[(values <= threshold) != others_go_left]
        if len(listed) == 0:
            return None
        return cls(variable, tuple(sorted(listed.tolist())), not others_go_left)

    def __contains__(self, feature):
        """Return whether the level of a feature, or for None any other level, satisfies this."""
        return (feature in self.features) == self.is_listed

    def __invert__(self):
        return replace(self, is_listed=not self.is_listed)

    def __and__(self, other):
        """Return the levels that satisfy both conditions; no level can satisfy an empty list."""
        if self.is_listed == other.is_listed and not self.is_listed:
            features = {*self.features, *other.features}
        else:
            listing = self if self.is_listed else other
            features = {j for j in listing.features if j in self and j in other}
        is_listed = self.is_listed or other.is_listed
        return replace(self, features=tuple(sorted(features)), is_listed=is_listed)

    @property
    def shortest(self):
        """The same condition with the shorter list; only `members` allow another one."""
        others = tuple(j for j in self.members if j not in self.features)
        if not 0 < len(others) < len(self.features):
            return self
        return replace(self, features=others, is_listed=not self.is_listed)


def level_sets(tree, levels):
    """Return the levels that go left at each test of the levels of one categorical variable.

    Parameters
    ----------
    tree : Tree
    levels : dict of LevelFeature, by feature

    Returns
    -------
    dict of LevelSet, by node
        A test has no entry if it has another feature, too, or if it sends all levels to one side.
    """
    found = {}
    for node in tree.decision_nodes.tolist() if levels else ():
        indices, weights = tree.split(node)
        own = [levels.get(j) for j in indices.tolist()]
        if not own or None in own or len({level.variable for level in own}) > 1:
            continue
        values = weights * np.array([level.one for level in own])
        going_left = LevelSet.from_test(own[0].variable, indices, values, tree.threshold[node])
        members = own[0].members
        if going_left is not None and going_left.features != members:
            found[node] = replace(going_left, members=members).shortest
    return found


def conditions_of_leaves(tree, sets=None):
    """Yield the conditions from the root to each leaf, depth-first from the left.

    Of the conditions on the same feature (or the same weighted sum) in the same direction only the
    tightest one is kept. Tests without weights are left out, since they always hold on the path.
    Conditions are in the order in which the sums first appear on the path.

    The condition of each side of a test is created once, not once per leaf below the test.

    Parameters
    ----------
    tree : Tree
    sets : dict of LevelSet by node, optional
        Results of :func:`level_sets`. All conditions of a path on the levels of one variable become
        one LevelSet.

    Yields
    ------
    (leaf, list of Condition or LevelSet)
    """
    sets = sets or {}
    todo = [(0, {})]
    while todo:
        node, tightest = todo.pop()
        if tree.children_left[node] < 0:
            yield node, list(tightest.values())
            continue
        for children, is_left in ((tree.children_right, False), (tree.children_left, True)):
            if node in sets:
                levels = sets[node] if is_left else ~sets[node]
                before = tightest.get(levels.variable)
                both = levels if before is None else (before & levels).shortest
                below = {**tightest, levels.variable: both}
            else:
                below = _tightened(tightest, Condition.from_tree(tree, node, is_left))
            todo.append((int(children[node]), below))


def _tightened(tightest, condition):
    """Return the dict of the tightest conditions of a path, with one more condition added.

    The keys are pairs of the tested sum and the direction (whether it is an upper bound).
    """
    if len(condition.indices) == 0:
        return tightest
    key = (condition.sum, condition.is_upper)
    before = tightest.get(key)
    if before is not None and before.is_within(condition):
        return tightest
    return {**tightest, key: condition}


def explanation_sizes(tree):
    """Return the number of conditions of :func:`conditions_of_leaves` for each leaf.

    The result is a float64 array of shape (n_nodes,), 0 at decision nodes.
    """
    sizes = np.zeros(tree.n_nodes)
    for leaf, conditions in conditions_of_leaves(tree):
        sizes[leaf] = len(conditions)
    return sizes


def largest_float_where(holds, n_at_once=1):
    """Return the largest float that satisfies a predicate.

    The predicate must be monotone: true up to some float, and false for all larger ones. The
    function bisects the finite floats in 64 steps. So the result is exact even if the predicate
    computes with rounding, as long as the rounded operations are monotone.

    Parameters
    ----------
    holds : callable(float) -> bool
    n_at_once : int, default=1
        If it is larger, `holds` takes an array of at most so many floats, and returns a bool array.
        With 63 floats, there are at most 12 steps.

    Returns
    -------
    float
        The smallest (most negative) finite float if no float satisfies the predicate.

    Examples
    --------
    >>> largest_float_where(lambda x: x + 1.0 <= 1.0)  # what rounding hides
    1.1102230246251565e-16
    """
    low, above = _rank(-sys.float_info.max), _rank(sys.float_info.max) + 1
    while above - low > 1:
        n = min(n_at_once, above - low - 1)
        ranks = [low, *(low + (above - low) * i // (n + 1) for i in range(1, n + 1)), above]
        if n_at_once == 1:
            n_true = int(holds(_at_rank(ranks[1])))
        else:
            n_true = int(np.sum(holds(np.array([_at_rank(rank) for rank in ranks[1:-1]]))))
        low, above = ranks[n_true], ranks[n_true + 1]
    return _at_rank(low)


def _rank(x):
    """Return the position of a finite float among all floats in increasing order, 0 for x = 0."""
    bits = struct.unpack("<q", struct.pack("<d", abs(x)))[0]
    return bits if x > 0 else -bits


def _at_rank(rank):
    x = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return x if rank >= 0 else -x
