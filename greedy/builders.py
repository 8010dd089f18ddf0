"""The builders: pure functions from rows and reference centres to an axis-aligned tree."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from tao_cluster.core.routing import kernel_view
from tao_cluster.core.telling import tell
from tao_cluster.core.tree.growth import Growth

from .growth import grow, with_midpoints
from .points import Points
from .rules import CenterLeaf, CutSurrogate, PartCenters

# What every builder checks by itself; Points.of checks the rest.
_SHARED = {"midpoints": ["boolean"], "n_jobs": [None, Integral]}


@validate_params(_SHARED, prefer_skip_nested_validation=True)
def build_imm(
    X, centers, *, sample_weight=None, embedding=None, labels=None, midpoints=True, n_jobs=None
):
    """Iterative Mistake Minimization: the tree with one leaf a centre and few mistakes.

    Every node is cut where the fewest rows (by weight) are parted from their centre; these are
    dropped before its children are cut (Dasgupta, Frost, Moshkovitz & Rashtchian 2020,
    algorithm 1). Thresholds lie in [min, max) of the centres that are left. Centres that coincide
    share a leaf, with the lowest label.

    One rule is not in the paper, but in its published program: where rows have been dropped, a
    cut that leaves none of the others on its right, though some belong there, is made only if
    there is no other, since it would give a leaf that no row reaches. Without it the tree of
    the UCI letter data (26 clusters, standardised) costs 33.1 % more than k-means, with it 32.2 %.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        float32 or float64. Sparse input is copied into columns and never made dense; its
        distances lose digits where columns lie far from zero.
    centers : array-like of shape (k, m)
        Reference centres; m = d without an embedding.
    sample_weight : array-like of shape (n,), optional
        At least 0; a row of weight 0 is an absent row, one of weight 2 is the row twice.
    embedding : array-like or sparse matrix of shape (n, m), optional
        Where distances are measured and the centres are; cuts are on X, which sees a centre
        at the mean of its rows.
    labels : int array-like of shape (n,), optional
        Cluster of each row in the free clustering, by default that of its nearest centre.
    midpoints : bool, default=True
        Put thresholds halfway between the values on their two sides. Else they are values of
        the data or of the centres, as in the published programs.
    n_jobs : int, optional
        Threads that share the features; the tree is the same for any number.

    Returns
    -------
    Tree

    Raises
    ------
    ValueError
        If the input has NaN or infinite values or shapes that do not fit, if the weights are
        negative or all zero, or if squared distances overflow.

    Examples
    --------
    >>> from greedy import build_imm
    >>> build_imm([[0.0], [1.0], [8.0], [9.0]], centers=[[0.5], [8.5]]).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
    """
    points = Points.of(X, centers, sample_weight, embedding, labels, n_jobs)
    return finish(part_centers(points, keep_labels=True), points, midpoints)


@validate_params(_SHARED, prefer_skip_nested_validation=True)
def build_exgreedy(X, centers, *, sample_weight=None, embedding=None, midpoints=True, n_jobs=None):
    """ExGreedy: every cut has the least cost when rows go to the nearest centre of their side.

    Laber & Murtinho (2021), section 4.2. One centre a leaf; centres that coincide share one.

    Parameters, return value and errors as in :func:`build_imm`.
    """
    points = Points.of(X, centers, sample_weight, embedding, None, n_jobs)
    return finish(part_centers(points), points, midpoints)


@validate_params(
    {**_SHARED, "depth_factor": [Interval(Real, 0, None, closed="left")]},
    prefer_skip_nested_validation=True,
)
def build_exshallow(
    X,
    centers,
    *,
    depth_factor=0.03,
    sample_weight=None,
    embedding=None,
    midpoints=True,
    n_jobs=None,
):
    """ExShallow: ExGreedy's cost over the node's cost, plus a price of the expected depth.

    Laber, Murtinho & Oliveira (2023), algorithms 1 to 3. Where the paper's EvalWAD divides
    centres, the left side gets ceil(K r_c) of them, at least 1 and at most K - 1; rows stay
    divisible and count by their weight.

    Parameters
    ----------
    depth_factor : float >= 0, default=0.03
        The paper's lambda: larger values give shallower trees; 0 is ExGreedy.
    X, centers, sample_weight, embedding, midpoints, n_jobs
        As in :func:`build_imm`, like the return value and the errors.
    """
    points = Points.of(X, centers, sample_weight, embedding, None, n_jobs)
    return finish(part_centers(points, depth_factor=depth_factor), points, midpoints)


@validate_params(
    {
        **_SHARED,
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"imm", "none"})],
    },
    prefer_skip_nested_validation=True,
)
def build_exkmc(
    X,
    centers,
    *,
    max_leaves=None,
    base="imm",
    sample_weight=None,
    embedding=None,
    labels=None,
    midpoints=True,
    n_jobs=None,
):
    """ExKMC: expand a tree where a cut saves most of the surrogate cost.

    The surrogate cost is that of the reference centres when every leaf has the label that
    serves its rows best (Frost, Moshkovitz & Rashtchian 2020, algorithm 1). Leaves of the base
    keep their labels until they are cut; leaves that no cut improves stay as they are.

    Parameters
    ----------
    max_leaves : int >= k, default 2 k
    base : {"imm", "none"}, default="imm"
        Tree to start from; "none" is a single leaf.
    X, centers, sample_weight, embedding, labels, midpoints, n_jobs
        As in :func:`build_imm`, like the return value and the errors. `labels` are the base's.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the expansion; the tree has the leaves made until then.
    """
    points = Points.of(X, centers, sample_weight, embedding, labels, n_jobs)
    return finish(expand(points, max_leaves, base), points, midpoints)


def leaf_budget(max_leaves, n_clusters):
    """Most leaves of ExKMC that a `max_leaves` parameter stands for.

    Raises
    ------
    ValueError
        If it is below the number of clusters.
    """
    if max_leaves is None:
        return 2 * n_clusters
    if max_leaves < n_clusters:
        raise ValueError(
            f"max_leaves={max_leaves} must be at least the number of clusters, {n_clusters}."
        )
    return max_leaves


def part_centers(points, keep_labels=False, depth_factor=0.0):
    """Growth of a tree with one centre a leaf; see :class:`greedy.rules.PartCenters`."""
    rule = PartCenters(points, keep_labels, depth_factor)
    root = CenterLeaf(points.rows, np.arange(len(points.positions)))
    growth = Growth()
    grow(growth, {growth.add(root.label): root}, rule)
    return growth


def expand(points, max_leaves, base):
    """The growth of :func:`expand_base` alone."""
    return expand_base(points, max_leaves, base)[0]


def expand_base(points, max_leaves, base):
    """Growth by the surrogate cost, from IMM's tree or a single leaf.

    Parameters
    ----------
    points : Points
    max_leaves : int or None
    base : {"imm", "none"}

    Returns
    -------
    growth : Growth
    n_base : int, leaves of the tree that it starts from
    """
    max_leaves = leaf_budget(max_leaves, len(points.positions))
    rule = CutSurrogate(points)
    if base == "imm":
        growth = part_centers(points, keep_labels=True)
        tree = growth.to_tree(points.n_features)
        leaf_of_row = tree.route(kernel_view(points.X), points.rows, n_jobs=points.n_jobs)
        leaves = {
            int(leaf): rule.leaf(points.rows[leaf_of_row == leaf])
            for leaf in np.unique(leaf_of_row)
        }
    else:
        growth, root = Growth(), rule.leaf(points.rows)
        leaves = {growth.add(root.label): root}
    n_base = growth.n_leaves
    try:
        grow(growth, leaves, rule, max_leaves)
    except KeyboardInterrupt:
        tell(
            f"Interrupted: the tree has {growth.n_leaves} of at most {max_leaves} leaves.",
            ConvergenceWarning,
        )
    return growth, n_base


def finish(growth, points, midpoints):
    """Tree of a growth, with its thresholds or with midpoints instead of them."""
    tree = growth.to_tree(points.n_features)
    return with_midpoints(tree, points) if midpoints else tree


@dataclass(frozen=True)
class GreedyStart:
    """A method with its settings as an initial tree of :class:`tao_cluster.TAOClustering`.

    Parameters
    ----------
    grow : callable(Points) -> Growth
    midpoints : bool
    n_jobs : int, optional
    """

    grow: Callable
    midpoints: bool = True
    n_jobs: int | None = None
    deterministic: ClassVar[bool] = True
    uses_distances: ClassVar[bool] = True
    in_raw_units: ClassVar[bool] = False

    def build(self, X, labels, centers, sample_weight, rng=None, distances=None):
        """Tree for a free clustering.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        labels : int array of shape (n,)
        centers : float array of shape (k, d)
        sample_weight : float array of shape (n,)
        rng : ignored
        distances : float64 array of shape (n, k), default squared Euclidean ones
            What a row costs in each cluster, where that is not measured between the rows of X.

        Returns
        -------
        Tree
        """
        del rng
        points = Points.of(X, centers, sample_weight, None, labels, self.n_jobs, distances)
        return finish(self.grow(points), points, self.midpoints)
