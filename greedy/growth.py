"""Best-first growth of axis-aligned trees by a priority queue, which all greedy methods share."""

import heapq
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tao_cluster._utils.threads import check_interrupted
from tao_cluster._utils.warnings import InterruptedWarning, warn
from tao_cluster.tree import Split
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.leaf_size import with_leaf_size
from tao_cluster.tree.margins import widest_gap, with_gaps
from tao_cluster.tree.routing import kernel_arrays, project
from tao_cluster.tree.tree import midpoint


@dataclass(frozen=True)
class Cut:
    """A cut of a leaf: rows with ``x[feature] <= threshold`` go left.

    Of all possible cuts of a tree, the one with the largest `gain` is made first.
    """

    feature: int
    threshold: float
    gain: float

    @property
    def split(self):
        """The test of a tree node (a Split) that makes this cut."""
        return Split.from_feature(self.feature, self.threshold)


class Rule(Protocol):
    """Interface of a greedy method: :func:`grow` calls it to bound, find and make cuts of leaves.

    A leaf may be any object with an attribute `label`. Only the rule reads its other attributes.
    """

    def upper_bound(self, leaf: Any) -> float:
        """Return an upper bound of the gain of the leaf's best cut; 0 forbids to cut it."""

    def search(self, leaf: Any) -> Cut | None:
        """Return the best cut of a leaf, or None if the leaf should not be cut."""

    def split(self, leaf: Any, cut: Cut) -> tuple[Any, Any]:
        """Return the left and the right leaf that replace a leaf after a cut."""


class RowRule:
    """Base class of rules whose leaves consist of rows of `points`, a BuilderInput.

    A subclass has a method ``leaf(rows)``, which returns the leaf of some rows.
    """

    def split(self, leaf, cut):
        """Return the two leaves into which a cut divides the rows of a leaf."""
        goes_left = self.points.goes_left(leaf.rows, cut.feature, cut.threshold)
        return self.leaf(leaf.rows[goes_left]), self.leaf(leaf.rows[~goes_left])


def history(growth):
    """Return one record per cut, in the order in which they were made.

    A record has the keys node, feature, threshold, and leaves (the number of leaves after the cut).
    The record of a test of several features has the key features (a list) instead of feature.
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
    """Split leaves best first: always make the cut of largest gain (ties: the lowest node number).

    The search of a leaf is expensive. A leaf is therefore searched only when its upper bound is
    the largest value in the queue.

    Parameters
    ----------
    growth : Growth
        Modified in place.
    leaves : dict of node number to leaf
        The leaves that may be split. Modified in place.
    rule : Rule
    max_leaves : int, optional
        Number of leaves at which the growth stops.
    gains : dict of node number to float, optional
        Output: it receives the gain of each cut under the number of the node that is split, in
        the order of the cuts.
    """
    queue, gains = [], {} if gains is None else gains

    def enqueue(node):
        bound = rule.upper_bound(leaves[node])
        if bound > 0:
            heapq.heappush(queue, (-bound, False, node, None))

    for node in sorted(leaves):
        enqueue(node)
    while queue and (max_leaves is None or growth.n_leaves < max_leaves):
        check_interrupted()
        _, is_searched, node, cut = heapq.heappop(queue)
        if not is_searched:
            cut = rule.search(leaves[node])
            if cut is not None:
                heapq.heappush(queue, (-cut.gain, True, node, cut))
            continue
        parts = rule.split(leaves[node], cut)  # first, so that Ctrl-C here leaves the tree valid
        for child in _replace(growth, leaves, gains, node, cut, parts):
            enqueue(child)


def _replace(growth, leaves, gains, node, cut, parts):
    """Replace a leaf by the two parts of its cut and return their node numbers."""
    children = growth.split(node, cut.split, [part.label for part in parts])
    gains[node] = cut.gain
    del leaves[node]
    leaves.update(zip(children, parts, strict=True))
    return children


def grown(rule, root, max_leaves=None, is_kept=False):
    """Grow a tree from a single leaf by :func:`grow`.

    Parameters
    ----------
    rule : Rule
        With `is_kept`, it has an attribute `points`.
    root : object, the leaf of all rows
    max_leaves : int, optional
    is_kept : bool
        Whether a KeyboardInterrupt keeps the tree grown so far; see :class:`kept_if_interrupted`.

    Returns
    -------
    growth : Growth
    leaves : dict of node number to leaf
    """
    growth = Growth()
    leaves = {growth.add(root.label): root}
    with kept_if_interrupted(rule.points, growth, max_leaves) if is_kept else nullcontext():
        grow(growth, leaves, rule, max_leaves)
    return growth, leaves


@contextmanager
def kept_if_interrupted(points, growth, max_leaves):
    """Keep the tree grown so far, with a warning, if a KeyboardInterrupt ends the growth.

    The interrupt is raised again if the tree is the start of another fit: it ends that fit, too.
    """
    try:
        yield
    except KeyboardInterrupt:
        if points.is_initial:
            raise
        warn(
            f"Interrupted: the tree has {growth.n_leaves} of at most {max_leaves} leaves.",
            InterruptedWarning,
        )


def with_full_leaves(growth, points):
    """Return the growth without cuts that leave fewer rows on a side than `points.leaf_size`.

    The rows of the smaller side go to the other one. This is for methods whose rules do not know
    the limit; the others make no such cut.
    """
    if points.leaf_size is None:
        return growth
    tree = growth.to_tree(points.n_features)
    full, _ = with_leaf_size(tree, kernel_arrays(points.X), points.leaf_size, points.n_jobs)
    return growth if full is tree else Growth.from_tree(full)


def with_placed_tests(tree, points, is_widest=True, at_midpoints=True):
    """Choose the features and thresholds of tests among those that divide the rows alike.

    The rows and the reference centres that reach a node stay on their sides.

    Parameters
    ----------
    tree : Tree
    points : BuilderInput
    is_widest : bool
        Whether each test of one feature moves to the feature with the widest margin; see
        :mod:`tao_cluster.tree.margins`.
    at_midpoints : bool
        Whether each threshold moves to the midpoint between the nearest values, of rows and
        centres, on its two sides.

    Returns
    -------
    tree : Tree
    leaf_of_row : int32 array of shape (n,)
        The leaf of each row, -1 for rows of weight 0.
    """
    arrays = kernel_arrays(points.X)
    rows_of = {0: (points.rows, np.arange(len(points.centers)))}
    updates, gaps = {}, {}
    for node in tree.decision_nodes:
        rows, centers = rows_of.pop(node)
        split, threshold = tree.split(node), tree.threshold[node]
        values = project(arrays, rows, *split)
        center_values = project(points.centers, centers, *split)
        goes_left, is_left = values <= threshold, center_values <= threshold
        if is_widest and len(split[0]) == 1:
            places = points.centers[centers[is_left]], points.centers[centers[~is_left]]
            terms = (split[0][0], points.weight[rows], None, places)
            gaps[node] = widest_gap(arrays, rows, goes_left, *terms)
        both = np.concatenate([values, center_values])
        below = np.concatenate([goes_left, is_left])
        if at_midpoints and below.any() and not below.all():
            updates[node] = (split, midpoint(both[below].max(), both[~below].min()))
        for child, is_row, is_center in (
            (tree.children_left[node], goes_left, is_left),
            (tree.children_right[node], ~goes_left, ~is_left),
        ):
            rows_of[child] = (rows[is_row], centers[is_center])
    leaf_of_row = np.full(len(points.weight), -1, np.int32)
    for leaf, (rows, _) in rows_of.items():
        leaf_of_row[rows] = leaf
    return with_gaps(tree.with_splits(updates), gaps, at_midpoints), leaf_of_row
