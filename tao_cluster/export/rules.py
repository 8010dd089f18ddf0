"""Rules: the conditions under which a row reaches a leaf, one rule a leaf."""

import itertools
from dataclasses import dataclass

import numpy as np

from .names import check_feature_names, weighted_sum


@dataclass(frozen=True, eq=False)
class Condition:
    """weights . x[indices] <= threshold (or > threshold where `is_upper` is False)."""

    indices: np.ndarray
    weights: np.ndarray
    threshold: float
    is_upper: bool

    def to_text(self, feature_names, precision):
        """The condition as people write it."""
        left = weighted_sum(self.indices, self.weights, feature_names, precision)
        return f"{left} {'<=' if self.is_upper else '>'} {self.threshold:.{precision}g}"


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
        threshold = float(tree.threshold[node])
        key = (indices.tobytes(), weights.tobytes(), is_upper)
        known = tightest.get(key)
        if known is None or (threshold < known.threshold) == is_upper:
            tightest[key] = Condition(indices, weights, threshold, is_upper)
    return list(tightest.values())


def to_rules(tree, feature_names=None, precision=3):
    """One sentence a leaf: "if ... and ... then cluster k".

    Parameters
    ----------
    tree : Tree
    feature_names : sequence of str of length n_features, optional
        Default x0, x1, ...
    precision : int, significant digits

    Returns
    -------
    list of str, leaves in the order of their node numbers
    """
    names = check_feature_names(feature_names, tree.n_features)
    rules = []
    for leaf in tree.leaves:
        conditions = [c.to_text(names, precision) for c in path_conditions(tree, leaf)]
        premise = " and ".join(conditions) or "always"
        word = "if " if conditions else ""
        rules.append(f"{word}{premise} then cluster {tree.leaf_label[leaf]}")
    return rules
