"""Where the nodes of a tree go: pure geometry, nothing is drawn here."""

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


def level_tops(depth, heights, x, children):
    """How far below the top each level starts, and how far below it each ends.

    A level is as high as its highest node; below it is room for edges, more where they go far
    to the side.

    Parameters
    ----------
    depth : int array of shape (n_nodes,)
    heights, x : float arrays of shape (n_nodes,), inches
    children : pair of int arrays of shape (n_nodes,), -1 at a leaf

    Returns
    -------
    tops, bottoms : float arrays of shape (n_levels,), positive downwards
    """
    n_levels = depth.max() + 1
    height, far = np.zeros(n_levels), np.zeros(n_levels)
    np.maximum.at(height, depth, heights)
    inner = np.flatnonzero(children[0] >= 0)
    np.maximum.at(far, depth[inner], x[children[1][inner]] - x[inner])
    gap = _LEAST_GAP + np.minimum(_MOST_GAP - _LEAST_GAP, _GAP_PER_INCH * far)
    bottoms = np.cumsum(height + gap) - gap
    return bottoms - height, bottoms
