"""Trees made of centres alone: the exact one of the nearest centre and a small one of bisectors."""

import itertools
import math
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from scipy.optimize import linprog
from sklearn.utils.validation import check_scalar

from .._utils.matrices import check_centers
from ..tree import Split
from ..tree.growth import grow_breadth_first
from ..tree.routing import kernel_arrays, project

# Lengths are in units of the spread of the centres. A region with no ball of this radius on the
# open side of its tests is rounding: many centres on one sphere, say, whose cells meet in a point.
# Tests between centres are found by their directions: no sum of many squared distances.
_LARGEST = 1e152
_THINNEST = 1e-11
# Points that prove a side to be reachable without a linear program lie this far inside it.
_CLEAR = 1e-9
_LP_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def voronoi_tree(centers, max_leaves=4096):
    """The oblique tree that sends every x to its nearest centre.

    It scans the centres in the given order, as a loop for the minimum does: a node knows the
    nearest centre i so far and the next one k, and tests d_i <= d_k (left: i stays). Tests that
    all x of their node answer alike are left out, which linear programs decide. Distances are
    Euclidean; of equally near centres the lowest index wins, for every x, on the boundaries too.

    Parameters
    ----------
    centers : array-like of shape (k, n_features)
        Labels of the leaves are row numbers. Where centres coincide, the first takes all. The
        order decides the size of the tree (sorted centres in one dimension: k leaves; others
        may need more) and who wins a tie, so it is kept as given.
    max_leaves : int, default=4096
        Most leaves to make, before sibling leaves with one label are merged. There can be
        2 ** (k - 1), and in high dimensions there are.

    Returns
    -------
    Tree
        Weights are scaled by a power of two such that the two centres of a test get margins
        w.x - threshold of about -1 and +1, between 0.7 and 1.5 in size. So centres and x that
        are whole numbers suffer no rounding, nor do their ties.

    Raises
    ------
    ValueError
        If `centers` is not a finite matrix, or the tree would have more than `max_leaves` leaves.

    See Also
    --------
    bisector_tree : k leaves, but only an approximation.

    Notes
    -----
    The test is linear: d_i <= d_k iff (c_k - c_i).x <= (c_k - c_i).(c_k + c_i) / 2. The
    partition is exact up to the rounding of that inequality; regions thinner than 1e-11 of the
    spread of the centres may be missing. A node takes about one linear program, of a
    millisecond or two, for each centre it leaves out.

    References
    ----------
    M. Gabidolla and M. A. Carreira-Perpinan, "Optimal interpretable clustering using oblique
    decision trees", KDD 2022, section 4 and figure 1 (plots 2 and 3).

    Examples
    --------
    >>> from tao_cluster import voronoi_tree
    >>> tree = voronoi_tree([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])
    >>> tree.predict([[0.9, 0.0], [1.0, 0.0], [1.0, 0.8]])
    array([0, 0, 2], dtype=int32)
    >>> tree.n_leaves
    4
    """
    centers = _checked(centers)
    check_scalar(max_leaves, "max_leaves", Integral, min_val=1)
    kept = _distinct(centers)
    points = _normalised(centers[kept])
    n_leaves = itertools.count(2)  # after the next split

    def part(scan):
        best, rival, halves = _next_test(points, centers[kept], *scan)
        if halves is None:
            return kept[best]
        if next(n_leaves) > max_leaves:
            raise ValueError(
                f"The exact tree of these {len(centers)} centers has more than {max_leaves} "
                "leaves (max_leaves); bisector_tree gives an approximate one with a leaf a center."
            )
        split = exact_bisector(centers[kept[best]], centers[kept[rival]])
        return split, (best, rival + 1, halves[0]), (rival, rival + 1, halves[1])

    return grow_breadth_first((0, 1, _Region(inside=points)), part, centers.shape[1]).prune()


def bisector_tree(centers):
    """A small oblique tree with one leaf a centre, made of bisectors of two centres.

    A node holds some of the centres. Of all bisectors of two of them it takes the one that
    keeps all of them farthest away (the largest least distance; ties: the lowest pair), and
    the centres go to their sides. Every centre is predicted as itself; an x near a boundary
    may get another label than its nearest centre's.

    Parameters
    ----------
    centers : array-like of shape (k, n_features)
        Labels of the leaves are row numbers. Centres that coincide share the leaf of the first,
        and so do those so close that their bisector does not separate them in floating point.

    Returns
    -------
    Tree
        With k leaves where no centres coincide, and weights scaled as by `voronoi_tree`.

    Raises
    ------
    ValueError
        If `centers` is not a finite matrix.

    See Also
    --------
    voronoi_tree : exact, but possibly huge.

    References
    ----------
    M. Gabidolla and M. A. Carreira-Perpinan, "Optimal interpretable clustering using oblique
    decision trees", KDD 2022, section 4 and figure 1 (plots 4 and 5). The paper leaves the
    choice of the pair open.

    Examples
    --------
    >>> from tao_cluster import bisector_tree
    >>> tree = bisector_tree([[0.0, 0.0], [2.0, 0.0], [1.0, 5.0]])
    >>> tree.n_leaves
    3
    >>> tree.predict([[0.0, 0.0], [2.0, 0.0], [1.0, 5.0]])
    array([0, 1, 2], dtype=int32)
    """
    centers = _checked(centers)
    view = kernel_arrays(centers)

    def part(held):
        if len(held) == 1:
            return held[0]
        split = exact_bisector(*centers[held[_widest_pair(centers[held])]])
        # By the sums of routing, so that a centre on the bisector is predicted as it went.
        goes_left = project(view, held, split.indices, split.weights) <= split.threshold
        if goes_left.all() or not goes_left.any():
            return held[0]
        return split, held[goes_left], held[~goes_left]

    return grow_breadth_first(_distinct(centers), part, centers.shape[1])


# -------------------------------------------------------------------------- centres


def _checked(centers):
    return check_centers(centers, "centers", _LARGEST)


def _distinct(centers):
    """Row numbers, increasing, of the first of each group of equal centres."""
    return np.sort(np.unique(centers, axis=0, return_index=True)[1])


def _normalised(centers):
    """The centres relative to their mean, in units of their spread: largest coordinate 1."""
    points = centers - centers.mean(axis=0)
    return points / (np.abs(points).max() or 1.0)


def exact_bisector(a, b):
    """Split half way between two different points, `a` and all equally near points on its left."""
    direction = b - a
    # Margins at the points are about -1 and +1, the scale of a logistic model, as the L1 norm
    # of a node of an initial tree must compare with what the solver offers. Only about: a
    # power of two as factor leaves the digits, hence ties of whole numbers, as they are.
    with np.errstate(over="ignore"):
        weights = np.ldexp(direction, round(1 - 2 * math.log2(math.hypot(*direction))))
    if not np.isfinite(weights).all():
        raise ValueError("Two centres differ by so little that no test parts them; rescale them.")
    return Split.from_dense(weights, math.fsum(weights * ((a + b) / 2)))


def _widest_pair(points):
    """The pair [i, j], i < j, whose bisector has the largest least distance to the points."""
    points = _normalised(points)
    gram = points @ points.T
    half = np.diag(gram) / 2
    width = np.full(gram.shape, -np.inf)
    for i in range(len(points) - 1):
        later = slice(i + 1, None)
        margin = gram[later] - gram[i] - (half[later] - half[i])[:, None]
        length = np.linalg.norm(points[later] - points[i], axis=1)
        length = np.maximum(length, np.finfo(float).tiny)
        width[i, later] = np.abs(margin).min(axis=1) / length
    ties = width >= width.max() * (1 - 1e-9) - 1e-12
    return np.array(np.unravel_index(ties.argmax(), ties.shape))


# -------------------------------------------------------------------------- reachable sides


def _next_test(points, centers, best, rival, region):
    """The next test of the scan that not all x of a region answer alike.

    Parameters
    ----------
    points : array of shape (k, d), the centres as `_normalised`
    centers : array of shape (k, d)
    best, rival : int, the nearest centre so far and the next to look at
    region : _Region

    Returns
    -------
    best, rival : int, of the test; `best` is the nearest of all if there is none
    halves : tuple of two _Region, or None
    """
    for k in range(rival, len(points)):
        # From the centres as given: those of a close pair may be equal once normalised.
        direction = centers[k] - centers[best]
        normal = direction / math.hypot(*direction)
        left, right = region.halves(normal, normal @ (points[best] + points[k]) / 2)
        if left is not None and right is not None:
            return best, k, (left, right)
        if left is None:
            best = k
    return best, len(points), None


@dataclass(frozen=True)
class _Region:
    """The x on the way to a node: normal.x <= offset, or < if open, for each of its tests.

    Parameters
    ----------
    inside : array of shape (m, d), some points known to lie in it
    normals : tuple of arrays of shape (d,) and length 1
    offsets : tuple of float
    is_open : tuple of bool
    """

    inside: np.ndarray
    normals: tuple = ()
    offsets: tuple = ()
    is_open: tuple = ()

    def halves(self, normal, offset):
        """The parts left and right of one more test; None for a part without points."""
        margin = self.inside @ normal - offset
        # Points that a linear program put far away carry a larger rounding.
        clear = _CLEAR * np.maximum(1.0, np.abs(self.inside).max(axis=1, initial=0.0))
        left = self._part(normal, offset, False, margin < -clear)
        if left is None:
            return None, self  # every x goes right
        right = self._part(-normal, -offset, True, margin > clear)
        return (self, None) if right is None else (left, right)

    def _part(self, normal, offset, is_open, known):
        part = _Region(
            self.inside[known],
            (*self.normals, normal),
            (*self.offsets, offset),
            (*self.is_open, is_open),
        )
        return part if known.any() else part._searched()

    def _searched(self):
        """The region with a point of it if one is found, None if there is none.

        Where the solver gives up, the region stays without a point: a test too many does no
        harm, one too few does.
        """
        # Only directions across the tests matter: as many unknowns as tests, however many
        # features there are.
        basis, across = np.linalg.qr(np.stack(self.normals, axis=1))
        n = len(basis.T)
        found = linprog(
            np.r_[np.zeros(n), -1.0],
            A_ub=np.column_stack([across.T, self.is_open]),
            b_ub=self.offsets,
            bounds=[(None, None)] * n + [(None, 1.0)],
            method="highs",
            options=_LP_OPTIONS,
        )
        if found.status == 2 or (found.status == 0 and found.x[-1] <= _THINNEST):
            return None
        return self if found.x is None else replace(self, inside=(basis @ found.x[:-1])[None])
