"""The conditions under which a row reaches a leaf, and how many there are to read."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._utils.floats import largest_float_where


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
        """What weight * x <= threshold says of x; its contrary where `is_left` is False.

        The value is exact: it holds for the same floats x as the rounded product does.

        Examples
        --------
        >>> Bound.from_test(0, -0.5, -2.0)
        Bound(feature=0, value=4.0, is_upper=False, is_strict=False)
        >>> Bound.from_test(0, -0.5, -2.0, is_left=False)
        Bound(feature=0, value=4.0, is_upper=True, is_strict=True)
        """
        feature, weight, threshold = int(feature), float(weight), float(threshold)
        largest = _largest(abs(weight), threshold)
        value = (largest if weight > 0 else -largest) + 0.0  # + 0.0: no -0.0
        return cls(feature, value, (weight > 0) == is_left, not is_left)

    @property
    def sign(self):
        """The comparison as text."""
        return ("<" if self.is_upper else ">") + ("" if self.is_strict else "=")

    def is_within(self, other):
        """Whether it implies another bound of the same feature and direction."""
        if self.value == other.value:
            return self.is_strict >= other.is_strict
        return (self.value < other.value) == self.is_upper

    def __contains__(self, x):
        holds = x < self.value if self.is_upper else x > self.value
        return holds or (x == self.value and not self.is_strict)


def _largest(weight, threshold):
    """The largest float x with weight * x <= threshold, for a weight above 0."""
    if weight == 1:
        return threshold
    return largest_float_where(lambda x: weight * x <= threshold)  # the product rises with x


@dataclass(frozen=True, eq=False)
class Condition:
    """weights . x[indices] <= threshold (or > threshold where `is_left` is False) at a node."""

    node: int
    indices: np.ndarray
    weights: np.ndarray
    threshold: float
    is_left: bool

    @classmethod
    def from_tree(cls, tree, node, is_left=True):
        """What holds of the rows that take a side of a decision node."""
        return cls(int(node), *tree.split(node), float(tree.threshold[node]), is_left)

    @cached_property
    def bound(self):
        """The bound that it is where it tests one feature, else None."""
        if len(self.indices) != 1:
            return None
        return Bound.from_test(self.indices[0], self.weights[0], self.threshold, self.is_left)

    @cached_property
    def sum(self):
        """What is limited, as a key: equal for one feature, and for equal weighted sums."""
        if len(self.indices) == 1:
            return int(self.indices[0])
        return self.indices.tobytes(), self.weights.tobytes()

    @property
    def is_upper(self):
        """Whether it limits the feature or the sum from above."""
        bound = self.bound
        return self.is_left if bound is None else bound.is_upper

    def is_within(self, other):
        """Whether it implies another condition on the same sum in the same direction."""
        bound = self.bound
        if bound is not None:
            return bound.is_within(other.bound)
        return self.threshold == other.threshold or (
            (self.threshold < other.threshold) == self.is_left
        )


def path_conditions(tree, leaf):
    """Conditions from the root to a leaf, without those implied by another.

    Conditions on the same feature, or on the same weighted sum, in the same direction are merged
    into the tightest one; tests without weights always hold and are left out.

    Parameters
    ----------
    tree : Tree
    leaf : int, node number

    Returns
    -------
    list of Condition, in the order in which the sums first appear on the path
    """
    tightest = {}
    for node, child in itertools.pairwise(tree.path(leaf)):
        condition = Condition.from_tree(tree, node, bool(tree.children_left[node] == child))
        tightest = _tightened(tightest, condition)
    return list(tightest.values())


def conditions_of_leaves(tree):
    """Those of :func:`path_conditions` for all leaves, each test looked at once.

    Depth-first, from left to right.

    Parameters
    ----------
    tree : Tree

    Yields
    ------
    (leaf, list of Condition)
    """
    todo = [(0, {})]
    while todo:
        node, tightest = todo.pop()
        if tree.children_left[node] < 0:
            yield node, list(tightest.values())
            continue
        for children, is_left in ((tree.children_right, False), (tree.children_left, True)):
            condition = Condition.from_tree(tree, node, is_left)
            todo.append((int(children[node]), _tightened(tightest, condition)))


def _tightened(tightest, condition):
    """The tightest conditions of a path, by what they limit, with one more."""
    if len(condition.indices) == 0:
        return tightest
    key = (condition.sum, condition.is_upper)
    before = tightest.get(key)
    if before is not None and before.is_within(condition):
        return tightest
    return {**tightest, key: condition}


def explanation_sizes(tree):
    """Number of conditions on the path to each leaf: float64 array (n_nodes,), 0 elsewhere."""
    sizes = np.zeros(tree.n_nodes)
    for leaf, conditions in conditions_of_leaves(tree):
        sizes[leaf] = len(conditions)
    return sizes
