"""Where the nodes of a tree go: pure geometry, nothing is drawn here."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

_LEAST_GAP, _MOST_GAP, _GAP_PER_INCH = 0.26, 1.0, 0.06  # between levels, inches


def tidy_positions(tree):
    """Horizontal position and depth of every node in a tidy drawing.

    Parents are centred over their children, equal subtrees look equal, and nodes of one depth
    are at least 1 apart: subtrees are moved together until their contours touch (Reingold &
    Tilford, Tidier Drawings of Trees, 1981), bottom-up and without recursion.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    x : float array of shape (n_nodes,), the least is 0
    depth : int array of shape (n_nodes,)
    """
    left, right = tree.children_left, tree.children_right
    offset = np.zeros(tree.n_nodes)  # relative to the parent
    contour = [None] * tree.n_nodes  # per depth below a node: leftmost and rightmost x
    for node in range(tree.n_nodes - 1, -1, -1):  # children come after their parent
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
    for node in range(1, tree.n_nodes):  # parents come first
        x[node] += x[tree.parent[node]]
    return x - x.min(), tree.depth


def _outer(near, far):
    """Contour of two subtrees: the nearer one as deep as it goes, below that the other."""
    return np.concatenate([near, far[len(near) :]])


def level_tops(tree, heights, x):
    """How far below the top each level starts, and how far below it each ends.

    A level is as high as its highest node; below it is room for edges, more where they go far
    to the side.

    Parameters
    ----------
    tree : Tree
    heights, x : float arrays of shape (n_nodes,), inches

    Returns
    -------
    tops, bottoms : float arrays of shape (n_levels,), positive downwards
    """
    depth, inner = tree.depth, tree.decision_nodes
    height, far = np.zeros((2, depth.max() + 1))
    np.maximum.at(height, depth, heights)
    np.maximum.at(far, depth[inner], x[tree.children_right[inner]] - x[inner])
    gap = _LEAST_GAP + np.minimum(_MOST_GAP - _LEAST_GAP, _GAP_PER_INCH * far)
    bottoms = np.cumsum(height + gap) - gap
    return bottoms - height, bottoms


@dataclass(frozen=True, eq=False)
class Places:
    """Where the boxes and edges of a tree lie: inches, the upper left corner at (0, 0).

    A tree grows *along* one axis and spreads *across* the other: down and to the right, or to the
    right and down.

    Parameters
    ----------
    tree : Tree
    width : float, of every node
    heights : float array of shape (n_nodes,)
    space : float, between neighbours
    is_horizontal : bool
    """

    tree: Any
    width: float
    heights: np.ndarray
    space: float
    is_horizontal: bool

    @cached_property
    def across(self):
        """Centre of every node across the direction of growth."""
        slot = self.heights.max() if self.is_horizontal else self.width
        return tidy_positions(self.tree)[0] * (slot + self.space) + slot / 2

    @cached_property
    def levels(self):
        """Where each level begins and ends in the direction of growth."""
        wide = np.full(self.tree.n_nodes, self.width)
        return level_tops(self.tree, wide if self.is_horizontal else self.heights, self.across)

    @cached_property
    def corners(self):
        """Left and top of every node: array of shape (n_nodes, 2)."""
        start, across = self.levels[0][self.tree.depth], self.across
        if self.is_horizontal:
            return np.column_stack([start, -across + self.heights / 2])
        return np.column_stack([across - self.width / 2, -start])

    @property
    def right(self):
        """How far the boxes reach."""
        return self.corners[:, 0].max() + self.width

    @property
    def bottom(self):
        """The same downwards, negative."""
        return (self.corners[:, 1] - self.heights).min()

    @property
    def occupied(self):
        """(top, right) of the tree, level by level; see `panel_boxes`."""
        if self.is_horizontal:
            return [(0.0, self.right)]
        depth, right = self.tree.depth, self.corners[:, 0] + self.width
        # The edges to a level leave from the one above.
        starts = np.concatenate([[0.0], -self.levels[1][:-1]])
        return [(start, right[depth == i].max()) for i, start in enumerate(starts)]

    def edge(self, node, child, shift):
        """BuilderInput of a curve from a node to its child: a start, where it turns, and a Bezier.

        Parameters
        ----------
        node, child : int
        shift : float, how far beside the middle of the node it starts

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
        """(x, y) of a place."""
        return (along, -across) if self.is_horizontal else (across, -along)

    def _is_free(self, node, child):
        """Whether no leaf of a node's level is in the way of an edge that leaves at once."""
        tree = self.tree
        if self.is_horizontal:
            return True
        beside = (tree.depth == tree.depth[node]) & (tree.children_left < 0)
        low, high = sorted((self.across[node], self.across[child]))
        x, half = self.across[beside], self.width / 2
        return not np.any((x + half > low) & (x - half < high))
