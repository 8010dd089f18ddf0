"""The test of one node, as those that make or change trees hand it round."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Split:
    """A hyperplane test: left iff sum_j weights_j x_{indices_j} <= threshold.

    Parameters
    ----------
    indices : int32 array, increasing features with a non-zero weight
    weights : float64 array of the same length
    threshold : float
    """

    indices: np.ndarray
    weights: np.ndarray
    threshold: float

    @classmethod
    def constant(cls, goes_left):
        """The test without features that sends every row to one side."""
        return cls(np.empty(0, np.int32), np.empty(0), 1.0 if goes_left else -1.0)

    @classmethod
    def of_feature(cls, feature, threshold):
        """The axis-aligned test: left iff x_feature <= threshold."""
        return cls(np.array([feature], np.int32), np.ones(1), float(threshold))

    @classmethod
    def at(cls, tree, node):
        """The test of a node of a tree."""
        return cls(*tree.split(node), float(tree.threshold[node]))

    @classmethod
    def from_dense(cls, weights, threshold):
        """Split of a weight vector of shape (d,); exact zeros are dropped."""
        indices = np.flatnonzero(weights).astype(np.int32)
        return cls(indices, np.asarray(weights, dtype=np.float64)[indices], float(threshold))

    def same_as(self, other):
        """Whether the other split has exactly the same numbers."""
        return (
            self.threshold == other.threshold
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.weights, other.weights)
        )


def halfway(low, high):
    """The float in the middle of two, from `low` on and below `high`.

    Parameters
    ----------
    low, high : float, low < high

    Examples
    --------
    >>> halfway(1.9, 3.0)
    2.45
    """
    low, high = float(low), float(high)
    middle = low + (high - low) / 2
    if math.isinf(middle):
        middle = low / 2 + high / 2
    return middle + 0.0 if middle < high else low  # + 0.0: no -0.0
