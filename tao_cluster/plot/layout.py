"""Layout of a tree or of a part of it: positions of nodes and edges. Nothing is drawn here."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..tree.shape import selected

# The gap between two levels grows by a share of it per inch of the length of the longest edge in it
# across the direction of growth, up to _MOST times the gap. The share is _GROWTH times the gap.
_LEAST_GAP, _MOST, _GROWTH = 0.26, 3.85, 0.885
# A tree of at least DEEP levels is folded into columns if that shortens its longer side to _GAIN.
# A column has at least _LEAST_LEVELS levels. A subtree of fewer than _LEAST_FOLDED levels is not
# moved to another column.
DEEP, _GAIN, _LEAST_LEVELS, _LEAST_FOLDED = 8, 0.8, 4, 3
_GUTTER = 0.4  # inches between two columns, for the edge that leads to the second one
# In inches: distance of the edge between two columns from the boxes below (_LANE) and above
# (_ARRIVAL), and where the boxes of the second and further columns begin (_LOWERED).
_LANE, _ARRIVAL, _LOWERED = 0.14, 0.12, 0.34


@dataclass(frozen=True, eq=False)
class Columns:
    """Division of the nodes of a tree into columns, which are drawn beside each other.

    Parameters
    ----------
    column, level : int arrays of shape (n_nodes,)
        Number of the column of each node, and its level within the column.
    is_moved : bool array of shape (n_nodes,)
        Whether a node is the root of a column other than the first.
    is_lowered : bool array of shape (n_nodes,)
        Whether a node is a leaf that stands a level below its sibling.
    """

    column: np.ndarray
    level: np.ndarray
    is_moved: np.ndarray
    is_lowered: np.ndarray

    @classmethod
    def from_tree(cls, tree, most_levels=None, is_staggered=False):
        """Begin a new column below each `most_levels` levels; None keeps one column.

        If `is_staggered`, the right one of two sibling leaves is lowered.
        """
        column, level = np.zeros((2, tree.n_nodes), dtype=np.int64)
        is_moved, is_lowered = np.zeros((2, tree.n_nodes), dtype=bool)
        if is_staggered:
            right = tree.children_right[tree.decision_nodes]
            left = tree.children_left[tree.decision_nodes]
            is_lowered[right] = (tree.children_left[left] < 0) & (tree.children_left[right] < 0)
        if most_levels is None:
            return cls(column, tree.depth + is_lowered, is_moved, is_lowered)
        deep = subtree_levels(tree) > _LEAST_FOLDED
        n_columns = 1
        for node in range(1, tree.n_nodes):  # a parent comes before its children
            parent = tree.parent[node]
            column[node], level[node] = column[parent], level[parent] + 1
            if level[node] >= most_levels and deep[node]:
                column[node], level[node], is_moved[node] = n_columns, 0, True
                n_columns += 1
        return cls(column, level + is_lowered, is_moved, is_lowered)

    @cached_property
    def n_levels(self):
        """Number of levels of each column, with those of the nodes that continue elsewhere."""
        count = np.zeros(self.column.max() + 1, dtype=np.int64)
        np.maximum.at(count, self.column, self.level + 1)
        return count


def subtree_levels(tree):
    """Return the number of levels of the subtree of each node: int array of shape (n_nodes,)."""
    count = np.ones(tree.n_nodes, dtype=np.int64)
    for node in range(tree.n_nodes - 1, 0, -1):  # children come before parents
        parent = tree.parent[node]
        count[parent] = max(count[parent], count[node] + 1)
    return count


def tidy_positions(tree, columns, sizes=None, space=1.0):
    """Compute the position of every node across the direction of growth.

    Parents are centred over their children, equal subtrees look equal, and the gap between two
    nodes of the same level is at least `space`. Subtrees are moved together until their contours
    touch, bottom-up and without recursion (Reingold & Tilford, Tidier Drawings of Trees, 1981). In
    a folded tree, a parent is instead straight above its child with more levels, so that a chain is
    a straight column with its leaves at the sides.

    Parameters
    ----------
    tree : Tree
    columns : Columns
    sizes : float array of shape (n_nodes,), default 0
        Sizes of the nodes across the direction of growth.
    space : float, default=1.0

    Returns
    -------
    x : float array of shape (n_nodes,)
        The centre of each node. The box of the first node of each column begins at 0.
    place : float array of shape (n_nodes,)
        x of the place in the first column where a moved node would be.
    """
    left, right = tree.children_left, tree.children_right
    half = np.zeros(tree.n_nodes) if sizes is None else np.asarray(sizes) / 2
    is_folded = bool(columns.is_moved.any())
    levels = subtree_levels(tree) if is_folded else None
    offset = np.zeros(tree.n_nodes)  # x of each node minus x of its parent
    contour = [None] * tree.n_nodes  # leftmost and rightmost x per level of a subtree
    for node in range(tree.n_nodes - 1, -1, -1):  # in this order, children come before parents
        if left[node] < 0:
            above = [space / 2] if columns.is_lowered[node] else []  # of the edge that passes by
            right_side = np.array([*above, half[node]])
            contour[node] = (-right_side, right_side)
            continue
        pair = left[node], right[node]
        for child in pair:
            if columns.is_moved[child]:  # nothing is below it, down to the end of its column
                n = columns.n_levels[columns.column[node]] - columns.level[node] - 1
                right_side = np.full(max(1, n), half[child])
                contour[child] = (-right_side, right_side)
        a, b = (contour[child] for child in pair)
        common = min(len(a[0]), len(b[0]))
        apart = np.max(a[1][:common] - b[0][:common]) + space
        shift = apart / 2
        if is_folded and levels[pair[0]] != levels[pair[1]]:
            shift = 0.0 if levels[pair[0]] > levels[pair[1]] else apart
        to_left, to_right = -shift, apart - shift
        offset[left[node]], offset[right[node]] = to_left, to_right
        contour[node] = (
            np.concatenate([[-half[node]], _outer(a[0] + to_left, b[0] + to_right)]),
            np.concatenate([[half[node]], _outer(b[1] + to_right, a[1] + to_left)]),
        )
        contour[left[node]] = contour[right[node]] = None
    x, place = np.zeros((2, tree.n_nodes))
    for node in range(1, tree.n_nodes):
        place[node] = x[tree.parent[node]] + offset[node]
        x[node] = 0.0 if columns.is_moved[node] else place[node]
    lowest = np.full(columns.column.max() + 1, np.inf)
    np.minimum.at(lowest, columns.column, x - half)
    before = columns.column[tree.parent]  # the column that a moved node continues
    np.minimum.at(lowest, before[1:], (place - half)[1:])
    return x - lowest[columns.column], place - lowest[before]


def _outer(near, far):
    """Join one side of the contours of two subtrees: `near` to its depth, `far` below that."""
    return np.concatenate([near, far[len(near) :]])


def level_tops(levels, sizes, lengths, least_gap):
    """Compute where each level starts and ends along the direction of growth.

    A level is as high as its highest node. The gap below it grows with the length of its edges
    across the direction of growth.

    Parameters
    ----------
    levels : int array of shape (n,), of some nodes
    sizes, lengths : float arrays of shape (n,), inches
        Sizes of the nodes, and lengths of the edges below them.
    least_gap : float, inches

    Returns
    -------
    tops, bottoms : float arrays of shape (n_levels + 1,)
        Distances from the start of the drawing, in inches. The last level is empty.
    """
    height, far = np.zeros((2, levels.max() + 2))
    np.maximum.at(height, levels, sizes)
    np.maximum.at(far, levels, lengths)
    gap = least_gap * np.minimum(_MOST, 1.0 + _GROWTH * least_gap * far)
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
    width : float or array of shape (n_nodes,), inches, widths of the boxes
    heights : float array of shape (n_nodes,), inches, heights of the boxes
    space : float, inches, smallest gap between neighbouring boxes of a level
    is_horizontal : bool, whether the tree grows to the right
    columns : Columns
    gap : float, inches, smallest gap between two levels
    """

    tree: Any
    width: Any
    heights: np.ndarray
    space: float
    is_horizontal: bool
    columns: Columns
    gap: float = _LEAST_GAP

    @classmethod
    def compact(cls, tree, *options, gap=_LEAST_GAP, is_staggered=False, shape=(1.0, 1.0)):
        """Return a layout that folds a tree of many levels, such as a chain, into columns.

        The tree is folded if that makes the longer side of the drawing much shorter, relative to
        the sides of the place that it is drawn for.

        Parameters
        ----------
        tree, *options, gap : the parameters of the class, without `columns`
        is_staggered : bool, whether some leaves are lowered; see `Columns`
        shape : (width, height) of the place, or None if the tree may not be folded
        """
        plain = cls(tree, *options, Columns.from_tree(tree, None, is_staggered), gap)
        n_levels = int(tree.max_depth) + 1
        if n_levels < DEEP or shape is None:
            return plain
        parts = np.arange(2, 13)
        tried = {max(_LEAST_LEVELS, -(-n_levels // n)) for n in parts.tolist()}
        columns = [Columns.from_tree(tree, n, is_staggered) for n in sorted(tried)]
        folded = [cls(tree, *options, each, gap) for each in columns]
        longer = [max(layout.right / shape[0], -layout.bottom / shape[1]) for layout in folded]
        best = int(np.argmin(longer))
        before = max(plain.right / shape[0], -plain.bottom / shape[1])
        return folded[best] if longer[best] < _GAIN * before else plain

    @cached_property
    def _sizes(self):
        """Size of each box across the direction of growth."""
        return self.heights if self.is_horizontal else self.widths

    @cached_property
    def widths(self):
        """Widths of the boxes: float array of shape (n_nodes,)."""
        return np.broadcast_to(self.width, self.tree.n_nodes)

    @cached_property
    def _across(self):
        """Centres of the nodes, places that moved nodes would have, starts of the columns."""
        columns = self.columns
        x, place = tidy_positions(self.tree, columns, self._sizes, self.space)
        width = np.zeros(columns.column.max() + 1)
        np.maximum.at(width, columns.column, x + self._sizes / 2)
        before = columns.column[self.tree.parent]
        np.maximum.at(width, before[1:], (place + self._sizes / 2)[1:])
        starts = np.cumsum(width + _GUTTER) - width - _GUTTER
        return x + starts[columns.column], place + starts[before], starts

    @property
    def across(self):
        """Centre of every node across the direction of growth."""
        return self._across[0]

    @cached_property
    def _levels(self):
        """Start and end of the levels of each column along the direction of growth."""
        tree, columns, inner = self.tree, self.columns, self.tree.decision_nodes
        sizes = self.widths if self.is_horizontal else self.heights
        lengths = np.zeros(tree.n_nodes)
        for side in (tree.children_left, tree.children_right):
            ends = np.where(columns.is_moved, self._across[1], self.across)[side[inner]]
            lengths[inner] = np.maximum(lengths[inner], np.abs(ends - self.across[inner]))
        found = []
        for column in range(columns.column.max() + 1):
            own = columns.column == column
            tops, ends = level_tops(columns.level[own], sizes[own], lengths[own], self.gap)
            lowered = _LOWERED if column else 0.0
            found.append((tops + lowered, ends + lowered))
        return found

    @cached_property
    def corners(self):
        """Coordinates of the upper left corner of the box of every node: array (n_nodes, 2)."""
        start, across = np.array([self._start(i) for i in range(self.tree.n_nodes)]), self.across
        if self.is_horizontal:
            return np.column_stack([start, -across + self.heights / 2])
        return np.column_stack([across - self.widths / 2, -start])

    def _start(self, node):
        return self._levels[self.columns.column[node]][0][self.columns.level[node]]

    @cached_property
    def _ends(self):
        """End of each column along the direction of growth."""
        counts = self.columns.n_levels
        return [ends[n - 1] for (_, ends), n in zip(self._levels, counts, strict=True)]

    @property
    def _extent(self):
        """Largest distances along and across, with the edges between columns."""
        n_lanes = np.bincount(self.columns.column[self.tree.parent][self.columns.is_moved])
        along = max(self._ends) + _LANE * n_lanes.max(initial=0)
        return along, (self.across + self._sizes / 2).max()

    @property
    def right(self):
        """Right end of all boxes and edges, in inches."""
        right = (self.corners[:, 0] + self.widths).max()
        return max(right, self._extent[0]) if self.is_horizontal else right

    @property
    def bottom(self):
        """Lower end of the drawing in inches; it is negative, since y grows upwards."""
        bottom = (self.corners[:, 1] - self.heights).min()
        return bottom if self.is_horizontal else min(bottom, -self._extent[0])

    @property
    def occupied(self):
        """Space that each level takes: list of (y where the level begins, right end of its boxes).

        A horizontal or folded tree has a single entry for all of its levels.
        """
        if self.is_horizontal or self.columns.is_moved.any() or self.columns.is_lowered.any():
            return [(0.0, self.right)]
        depth, right = self.tree.depth, self.corners[:, 0] + self.widths
        # The edges to a level start at the end of the level above.
        starts = np.concatenate([[0.0], -self._levels[0][1][:-2]])
        return [(start, right[depth == i].max()) for i, start in enumerate(starts)]

    def edge(self, node, child, shift):
        """Return the points of an edge: start, end of the straight part, and a Bezier curve.

        The edge to a node of another column ends where the node would be in the column of its
        parent; see `connection`.

        Parameters
        ----------
        node, child : int
        shift : float, distance of the start from the middle of the node

        Returns
        -------
        list of (x, y)
        """
        begins, ends = self._levels[self.columns.column[node]]
        level = self.columns.level[node]
        start = begins[level] + (self.widths if self.is_horizontal else self.heights)[node]
        end, across = begins[level + 1], self.across[node] + shift
        turn = start if self._is_free(node, child) else ends[level]
        to = self._across[1 if self.columns.is_moved[child] else 0][child]
        bend = 0.55 * (end - turn)
        points = [(across, start), (across, turn), (across, turn + bend)]
        points += [(to, end - bend), (to, end)]
        return [self.point(*point) for point in points]

    def connection(self, child):
        """Return the corners of the line that leads to a node of another column, or a lowered leaf.

        It begins where `edge` ends. The list is empty for other nodes.

        Returns
        -------
        list of (x, y)
        """
        columns, parent = self.columns, self.tree.parent[child]
        if columns.is_lowered[child]:
            begins, column = self._levels[columns.column[child]][0], columns.level[child]
            straight = [(self.across[child], begins[i]) for i in (column - 1, column)]
            return [self.point(*point) for point in straight]
        if child == 0 or not columns.is_moved[child]:
            return []
        _, places, starts = self._across
        before, column = columns.column[parent], columns.column[child]
        siblings = np.flatnonzero(columns.is_moved & (columns.column[self.tree.parent] == before))
        lane = _LANE * (1 + int(np.searchsorted(siblings, child)))
        lowest = max(self._ends[before:column]) + lane
        gutter = starts[column] - _GUTTER / 2
        begin = self._levels[before][0][columns.level[parent] + 1]
        points = [(places[child], begin), (places[child], lowest), (gutter, lowest)]
        to = self.across[child]
        points += [(gutter, _ARRIVAL), (to, _ARRIVAL), (to, self._start(child))]
        return [self.point(*point) for point in points]

    def point(self, across, along):
        """Return (x, y) of a position across and along the direction of growth."""
        return (along, -across) if self.is_horizontal else (across, -along)

    def _is_free(self, node, child):
        """Whether an edge may turn directly below its node without crossing a leaf beside it."""
        tree, columns = self.tree, self.columns
        if self.is_horizontal:
            return True
        is_level = (columns.level == columns.level[node]) & (columns.column == columns.column[node])
        beside = is_level & (tree.children_left < 0)
        to = self._across[1 if columns.is_moved[child] else 0][child]
        low, high = sorted((self.across[node], to))
        x, half = self.across[beside], self.widths[beside] / 2
        return not np.any((x + half > low) & (x - half < high))


@dataclass(frozen=True, eq=False)
class UpperTree:
    """The part of a tree above a depth.

    Parameters
    ----------
    tree : Tree, in which the subtrees at that depth are replaced by leaves
    origin : int array of shape (tree.n_nodes,), numbers of its nodes in the whole tree
    stands_for : int array of shape (n_nodes of the whole tree,)
        For each node of the whole tree, the node of `tree` that is or contains it; -1 for others.
    hidden : dict of int arrays
        For each replaced subtree, its leaves in the whole tree, by its node in `tree`.
    """

    tree: Any
    origin: np.ndarray
    stands_for: np.ndarray
    hidden: dict

    @classmethod
    def from_tree(cls, tree, max_depth, root=0):
        """Cut a tree at a depth below `root`; None keeps all of its subtree.

        Raises
        ------
        ValueError
            If `max_depth` is not an integer of at least 0, or `root` not a node.
        """
        depth = tree.max_depth if max_depth is None else max_depth
        if isinstance(depth, bool) or not isinstance(depth, int | np.integer) or depth < 0:
            raise ValueError(f"max_depth must be an integer of at least 0; got {max_depth!r}.")
        is_node = isinstance(root, int | np.integer) and not isinstance(root, bool)
        if not is_node or not 0 <= root < tree.n_nodes:
            raise ValueError(f"root must be a node, from 0 to {tree.n_nodes - 1}; got {root!r}.")
        depth += tree.depth[root]
        is_below = np.arange(tree.n_nodes) == root
        for node in range(root + 1, tree.n_nodes):  # a parent comes before its children
            is_below[node] = is_below[tree.parent[node]]
        origin = np.flatnonzero(is_below & (tree.depth <= depth))
        number = np.full(tree.n_nodes, -1)
        number[origin] = np.arange(len(origin))
        for node in np.flatnonzero(is_below & (tree.depth > depth)):
            number[node] = number[tree.parent[node]]
        is_cut = (tree.depth[origin] == depth) & (tree.children_left[origin] >= 0)
        leaves = tree.leaves
        hidden = {int(i): leaves[number[leaves] == i] for i in np.flatnonzero(is_cut)}
        if len(origin) == tree.n_nodes:
            return cls(tree, origin, number, {})
        kept, stands_for = origin.copy(), np.arange(tree.n_nodes)
        for node, own in hidden.items():  # its first leaf stands for a hidden subtree
            kept[node] = stands_for[origin[node]] = own[0]
        return cls(selected(tree, kept, stands_for), origin, number, hidden)
