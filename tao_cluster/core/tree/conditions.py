"""The conditions under which a row reaches a leaf, and how many there are to read."""

import itertools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Condition:
    """weights . x[indices] <= threshold (or > threshold where `is_upper` is False)."""

    indices: np.ndarray
    weights: np.ndarray
    threshold: float
    is_upper: bool

    @property
    def sum(self):
        """The weighted sum that is tested, as a key: equal for equal sums."""
        return self.indices.tobytes(), self.weights.tobytes()


def path_conditions(tree, leaf):
    """Conditions from the root to a leaf, without those implied by another.

    Conditions on the same weighted sum in the same direction are merged into the tightest
    one; tests without weights always hold and are left out.

    Parameters
    ----------
    tree : Tree
    leaf : int, node number

    Returns
    -------
    list of Condition, in the order in which the sums first appear on the path
    """
    tightest = {}
    path = tree.path_matrix[[leaf]].indices
    for node, child in itertools.pairwise(path):
        indices, weights = tree.split(node)
        if len(indices) == 0:
            continue
        is_upper = bool(tree.children_left[node] == child)
        condition = Condition(indices, weights, float(tree.threshold[node]), is_upper)
        key = (condition.sum, is_upper)
        known = tightest.get(key)
        if known is None or (condition.threshold < known.threshold) == is_upper:
            tightest[key] = condition
    return list(tightest.values())


def explanation_sizes(tree):
    """Number of conditions on the path to each leaf: float64 array (n_nodes,), 0 elsewhere."""
    sizes = np.zeros(tree.n_nodes)
    for leaf in tree.leaves:
        sizes[leaf] = len(path_conditions(tree, leaf))
    return sizes
