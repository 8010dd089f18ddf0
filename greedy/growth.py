"""Best-first growth of axis-aligned trees: one explicit queue for every method, no recursion."""

import heapq
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from tao_cluster._utils.warnings import warn
from tao_cluster.tree import Split
from tao_cluster.tree.routing import kernel_arrays, project
from tao_cluster.tree.tree import midpoint


@dataclass(frozen=True)
class Cut:
    """Test of one feature, left iff the value is at most `threshold`, and what it gains."""

    feature: int
    threshold: float
    gain: float

    @property
    def split(self):
        """The test as trees have it."""
        return Split.from_feature(self.feature, self.threshold)


class Rule(Protocol):
    """A method: which leaves to split, and where. A leaf is what the rule makes of it."""

    def upper_bound(self, leaf: Any) -> float:
        """Upper bound of the gain of a leaf's best cut; 0 where it must stay a leaf."""

    def search(self, leaf: Any) -> Cut | None:
        """Best cut of a leaf, None if there is none worth making."""

    def divide(self, leaf: Any, cut: Cut) -> tuple[Any, Any]:
        """The two leaves that a cut makes of one."""


def history(growth):
    """One record a cut, in their order: node, feature, threshold, leaves after it.

    Tests of several features have a list of `features` instead.
    """
    cut = [node for node, split in enumerate(growth.splits) if split is not None]
    return [
        {
            "node": node,
            **_tested(growth.splits[node].indices.tolist()),
            "threshold": growth.splits[node].threshold,
            "leaves": step + 2,
        }
        for step, node in enumerate(sorted(cut, key=growth.left.__getitem__))
    ]


def _tested(features):
    return {"feature": features[0]} if len(features) == 1 else {"features": features}


def grow(growth, leaves, rule, max_leaves=None, gains=None):
    """Split leaves, the one with the largest gain first, ties to the lowest node number.

    A leaf is searched only when no searched leaf gains as much as this one promises.

    Parameters
    ----------
    growth : Growth, altered
    leaves : dict of node number to leaf, altered
        What the rule knows of the leaves that may be split.
    rule : Rule
        Its leaves have a `label`.
    max_leaves : int, optional
    gains : dict, optional
        Gets what each cut gained, by the node that it split, in the order of the cuts.
    """
    queue, gains = [], {} if gains is None else gains

    def enqueue(node):
        promise = rule.upper_bound(leaves[node])
        if promise > 0:
            heapq.heappush(queue, (-promise, False, node, None))

    for node in sorted(leaves):
        enqueue(node)
    while queue and (max_leaves is None or growth.n_leaves < max_leaves):
        _, is_searched, node, cut = heapq.heappop(queue)
        if not is_searched:
            cut = rule.search(leaves[node])
            if cut is not None:
                heapq.heappush(queue, (-cut.gain, True, node, cut))
            continue
        parts = rule.split(leaves[node], cut)  # may be interrupted: the leaf is there until then
        labels = [part.label for part in parts]
        for child in _replace(growth, leaves, gains, node, cut, parts, labels):
            enqueue(child)


def _replace(growth, leaves, gains, node, cut, parts, labels):
    """Put its parts in the place of a leaf; returns their nodes."""
    children = growth.split(node, cut.split, labels)
    gains[node] = cut.gain
    del leaves[node]
    for child, part in zip(children, parts, strict=True):
        leaves[child] = part
    return children


def warn_interrupted(growth, max_leaves):
    """Warn that a KeyboardInterrupt has ended a growth, whose tree so far is kept."""
    warn(
        f"Interrupted: the tree has {growth.n_leaves} of at most {max_leaves} leaves.",
        ConvergenceWarning,
    )


def with_midpoints(tree, points):
    """The same tree with thresholds halfway between the values on their two sides.

    The values are those of the rows that reach a node and of the reference centres that do.

    Parameters
    ----------
    tree : Tree
    points : BuilderInput

    Returns
    -------
    Tree; rows and centres take the same paths
    int32 array of shape (n,), the leaf of each row; -1 at rows of weight 0
    """
    view, positions = kernel_arrays(points.X), points.centers
    rows_of = {0: (points.rows, np.arange(len(positions)))}
    updates = {}
    for node in tree.decision_nodes:
        rows, centers = rows_of.pop(node)
        split, threshold = tree.split(node), tree.threshold[node]
        values = project(view, rows, *split)
        places = project(positions, centers, *split)
        everything = np.concatenate([values, places])
        below, above = everything <= threshold, everything > threshold
        if below.any() and above.any():
            updates[node] = (split, midpoint(everything[below].max(), everything[above].min()))
        for child, rows_below, centers_below in (
            (tree.children_left[node], values <= threshold, places <= threshold),
            (tree.children_right[node], values > threshold, places > threshold),
        ):
            rows_of[child] = (rows[rows_below], centers[centers_below])
    leaf_of_row = np.full(len(points.weight), -1, np.int32)
    for leaf, (rows, _) in rows_of.items():
        leaf_of_row[rows] = leaf
    return tree.with_splits(updates), leaf_of_row
