"""Trees from centres alone: the exact nearest-centre tree, and a small tree of bisectors."""

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

# Largest coordinate of a centre, so that squared distances do not overflow.
_LARGEST = 1e152
# Lengths below are relative to the largest coordinate of the centred centres (`_normalised`).
# A region that contains no ball of this radius counts as empty. Rounding creates such regions, for
# example if many centres lie on one sphere, so that their cells meet in a point.
_THINNEST = 1e-11
# A known point proves that one side of a test is reachable if its distance from the boundary is at
# least this, which exceeds the error of a linear program (see _LP_OPTIONS).
_CLEAR = 1e-9
_LP_OPTIONS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@np.errstate(under="ignore")
def voronoi_tree(centers, max_leaves=4096):
    """Build the oblique tree that assigns every x to its nearest centre.

    The tree scans the centres in the given order, like a loop that searches the minimum. A node
    knows the nearest centre i so far and the next centre k, and tests d_i <= d_k (left: i remains
    the nearest). Tests with the same outcome for all x of the node are left out; linear programs
    find them. Distances are Euclidean. Of equally near centres the lowest index wins, for every x,
    including the boundaries.

    Parameters
    ----------
    centers : array-like of shape (k, n_features)
        The labels of the leaves are the row numbers. The first one of equal centres gets all x.
        The order of the centres is kept, since it decides ties and the size of the tree. Sorted
        centres in one dimension give k leaves; other orders may need more.
    max_leaves : int, default=4096
        Largest number of leaves, before sibling leaves with the same label are merged. There can be
        2 ** (k - 1) leaves, and in high dimensions that number is reached.

    Returns
    -------
    Tree
        Weights are scaled by a power of two such that the two centres of a test have margins
        w.x - threshold of about -1 and +1 (absolute value between 0.7 and 1.5). With integer
        centres and integer x there is no rounding, so that ties are exact.

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
    partition is exact up to the rounding of that inequality. Regions thinner than 1e-11 times the
    extent of the centres may be missing. A node takes about one linear program, of one or two
    milliseconds, for each centre that it leaves out.

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
    n_leaves = itertools.count(2)  # number of leaves after the next split

    def part(scan):
        best, rival, halves = _next_test(points, centers[kept], *scan)
        if halves is None:
            return kept[best]
        if next(n_leaves) > max_leaves:
            raise ValueError(
                f"The exact tree of these {len(centers)} centers has more than {max_leaves} "
                "leaves (max_leaves). bisector_tree approximates it with one leaf per center."
            )
        split = exact_bisector(centers[kept[best]], centers[kept[rival]])
        return split, (best, rival + 1, halves[0]), (rival, rival + 1, halves[1])

    return grow_breadth_first((0, 1, _Region(inside=points)), part, centers.shape[1]).prune()


@np.errstate(under="ignore")
def bisector_tree(centers):
    """Build a small oblique tree with one leaf per centre from bisectors of two centres.

    The test of a node is the bisector of two of its centres. It takes the pair whose
    bisector has the largest distance from the nearest centre of the node (the lowest pair of ties).
    Each centre then goes to its side. The tree predicts the correct label for every centre; an x
    near a boundary may get a label other than that of its nearest centre.

    Parameters
    ----------
    centers : array-like of shape (k, n_features)
        The labels of the leaves are the row numbers. Equal centres share the leaf of the first one.
        The same holds for centres so close that their bisector does not separate them in floating
        point.

    Returns
    -------
    Tree
        It has k leaves if no centres are equal. Weights are scaled as in `voronoi_tree`.

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
        # With the same sums as routing, so that a centre on the bisector gets its own label.
        goes_left = project(view, held, split.indices, split.weights) <= split.threshold
        if goes_left.all() or not goes_left.any():
            return held[0]
        return split, held[goes_left], held[~goes_left]

    return grow_breadth_first(_distinct(centers), part, centers.shape[1])


# -------------------------------------------------------------------------- centres


def _checked(centers):
    return check_centers(centers, "centers", _LARGEST)


def _distinct(centers):
    """Return the row numbers, increasing, of the first centre of each group of equal ones."""
    return np.sort(np.unique(centers, axis=0, return_index=True)[1])


def _normalised(centers):
    """Centre the centres at their mean and scale the largest absolute coordinate to 1."""
    points = centers - centers.mean(axis=0)
    return points / (np.abs(points).max() or 1.0)


def exact_bisector(a, b):
    """Return the split halfway between two different points; `a` and all ties go left."""
    direction = b - a
    # The margins of the points are about -1 and +1, as in a logistic model, so that the L1 norm of
    # this test is comparable with that of a test from the solver. They are not exactly 1, since
    # only a scale that is a power of two leaves all digits, and so ties of integers, unchanged.
    with np.errstate(over="ignore"):
        weights = np.ldexp(direction, round(1 - 2 * math.log2(math.hypot(*direction))))
    if not np.isfinite(weights).all():
        raise ValueError(
            "Two centres are so close that no test can separate them; rescale the centres."
        )
    return Split.from_dense(weights, math.fsum(weights * ((a + b) / 2)))


def _widest_pair(points):
    """Return the pair [i, j], i < j, whose bisector is farthest from its nearest point."""
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
    """Find the next test of two centres that divides a region into two non-empty parts.

    Parameters
    ----------
    points : array of shape (k, d), the centres as `_normalised`
    centers : array of shape (k, d)
    best, rival : int, the nearest centre so far, and the next centre to compare with it
    region : _Region

    Returns
    -------
    best, rival : int, the two centres of the test; without a test, `best` is the nearest centre
    halves : tuple of two _Region, or None
    """
    for k in range(rival, len(points)):
        # The direction comes from the original centres, since the normalised centres (`points`) of
        # two close ones may be equal.
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
    """The set of x that reach a node: normal.x <= offset (< if open) for each test above it.

    Parameters
    ----------
    inside : array of shape (m, d), some points that lie in the region
    normals : tuple of arrays of shape (d,) and length 1
    offsets : tuple of float
    is_open : tuple of bool
    """

    inside: np.ndarray
    normals: tuple = ()
    offsets: tuple = ()
    is_open: tuple = ()

    def halves(self, normal, offset):
        """Return the parts left and right of a further test; None for an empty part."""
        margin = self.inside @ normal - offset
        # A linear program may return points far away, whose rounding errors are larger.
        clear = _CLEAR * np.maximum(1.0, np.abs(self.inside).max(axis=1, initial=0.0))
        left = self._part(normal, offset, False, margin < -clear)
        if left is None:
            return None, self  # the test sends every x right
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
        """Find a point of the region by a linear program; return None if the region is empty.

        If the solver fails, the region is kept without a point. A superfluous test only makes the
        tree larger, but a missing one makes it wrong.
        """
        # The program searches in the span of the normals only. So it has at most as many unknowns
        # as there are tests, for any number of features.
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
