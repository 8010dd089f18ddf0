"""Layout of a tree: positions of its nodes and edges. Nothing is drawn here."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

# The gap between two levels, in inches, is from _LEAST_GAP to _MOST_GAP. It grows by _GAP_PER_INCH
# per inch of the horizontal length of the longest edge in the gap.
_LEAST_GAP, _MOST_GAP, _GAP_PER_INCH = 0.26, 1.0, 0.06


def tidy_positions(tree):
    """Compute the horizontal position and the depth of every node in a tidy drawing.

    Parents are centred over their children, equal subtrees look equal, and the distance of two
    nodes of the same depth is at least 1. Subtrees are moved together until their contours touch,
    bottom-up and without recursion (Reingold & Tilford, Tidier Drawings of Trees, 1981).

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    x : float array of shape (n_nodes,), of which the smallest is 0
    depth : int array of shape (n_nodes,)
    """
    left, right = tree.children_left, tree.children_right
    offset = np.zeros(tree.n_nodes)  # x of each node minus x of its parent
    contour = [None] * tree.n_nodes  # leftmost and rightmost x per level of a subtree
    for node in range(tree.n_nodes - 1, -1, -1):  # in this order, children come before parents
        if left[node] < 0:
            contour[node] = (np.zeros(1), np.zeros(1))
            continue
        a, b = contour[left[node]], contour[right[node]]
        common = min(len(a[0]), len(b[0]))
        half = (np.max(a[1][:common] - b[0][:common]) + 1) / 2
        offset[left[node]], offset[right[node]] = -half, half
        contour[node] = (
            np.concatenate([[0.0], _outer(a[0] - half, b[0] + half)]),
            np.concatenate([[0.0], _outer(b[1] + half, a[1] - half)]),
        )
        contour[left[node]] = contour[right[node]] = None
    x = offset.copy()
    for node in range(1, tree.n_nodes):
        x[node] += x[tree.parent[node]]
    return x - x.min(), tree.depth


def _outer(near, far):
    """Join one side of the contours of two subtrees: `near` to its depth, `far` below that."""
    return np.concatenate([near, far[len(near) :]])


def level_tops(tree, heights, x):
    """Compute where each level of a tree starts and ends.

    A level is as high as its highest node. The gap below it grows with the horizontal length of
    its edges.

    Parameters
    ----------
    tree : Tree
    heights, x : float arrays of shape (n_nodes,), inches

    Returns
    -------
    tops, bottoms : float arrays of shape (n_levels,)
        Distances from the top of the drawing, in inches.
    """
    depth, inner = tree.depth, tree.decision_nodes
    height, far = np.zeros((2, depth.max() + 1))
    np.maximum.at(height, depth, heights)
    np.maximum.at(far, depth[inner], x[tree.children_right[inner]] - x[inner])
    gap = _LEAST_GAP + np.minimum(_MOST_GAP - _LEAST_GAP, _GAP_PER_INCH * far)
    bottoms = np.cumsum(height + gap) - gap
    return bottoms - height, bottoms


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of the boxes and edges of a tree, in inches from the upper left corner (0, 0).

    A vertical tree grows downwards, a horizontal tree to the right. Positions *along* are measured
    in the direction of growth, positions *across* perpendicular to it.

    Parameters
    ----------
    tree : Tree
    width : float, inches, width of every box
    heights : float array of shape (n_nodes,), inches, heights of the boxes
    space : float, inches, smallest gap between neighbouring boxes of a level
    is_horizontal : bool, whether the tree grows to the right
    """

    tree: Any
    width: float
    heights: np.ndarray
    space: float
    is_horizontal: bool

    @cached_property
    def across(self):
        """Centre of every node across the direction of growth."""
        size = self.heights.max() if self.is_horizontal else self.width
        return tidy_positions(self.tree)[0] * (size + self.space) + size / 2

    @cached_property
    def levels(self):
        """Start and end of each level along the direction of growth."""
        wide = np.full(self.tree.n_nodes, self.width)
        return level_tops(self.tree, wide if self.is_horizontal else self.heights, self.across)

    @cached_property
    def corners(self):
        """Coordinates of the upper left corner of the box of every node: array (n_nodes, 2)."""
        start, across = self.levels[0][self.tree.depth], self.across
        if self.is_horizontal:
            return np.column_stack([start, -across + self.heights / 2])
        return np.column_stack([across - self.width / 2, -start])

    @property
    def right(self):
        """Right end of all boxes, in inches."""
        return self.corners[:, 0].max() + self.width

    @property
    def bottom(self):
        """Lower end of all boxes in inches; it is negative, since y grows upwards."""
        return (self.corners[:, 1] - self.heights).min()

    @property
    def occupied(self):
        """Space that each level takes: list of (y where the level begins, right end of its boxes).

        A horizontal tree has a single entry for all of its levels.
        """
        if self.is_horizontal:
            return [(0.0, self.right)]
        depth, right = self.tree.depth, self.corners[:, 0] + self.width
        # The edges to a level start at the end of the level above.
        starts = np.concatenate([[0.0], -self.levels[1][:-1]])
        return [(start, right[depth == i].max()) for i, start in enumerate(starts)]

    def edge(self, node, child, shift):
        """Return the points of an edge: start, end of the straight part, and a Bezier curve.

        Parameters
        ----------
        node, child : int
        shift : float, distance of the start from the middle of the node

        Returns
        -------
        list of (x, y)
        """
        begins, ends = self.levels
        depth = self.tree.depth[node]
        start = begins[depth] + (self.width if self.is_horizontal else self.heights[node])
        end, across = begins[depth + 1], self.across[node] + shift
        turn = start if self._is_free(node, child) else ends[depth]
        bend, to = 0.55 * (end - turn), self.across[child]
        points = [(across, start), (across, turn), (across, turn + bend)]
        points += [(to, end - bend), (to, end)]
        return [self.point(*point) for point in points]

    def point(self, across, along):
        """Return (x, y) of a position across and along the direction of growth."""
        return (along, -across) if self.is_horizontal else (across, -along)

    def _is_free(self, node, child):
        """Whether an edge may turn directly below its node without crossing a leaf beside it."""
        tree = self.tree
        if self.is_horizontal:
            return True
        beside = (tree.depth == tree.depth[node]) & (tree.children_left < 0)
        low, high = sorted((self.across[node], self.across[child]))
        x, half = self.across[beside], self.width / 2
        return not np.any((x + half > low) & (x - half < high))
