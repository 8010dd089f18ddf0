"""ExKMC: trees with several leaves per cluster, expanded where a cut saves most."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster.problem.problem import Result
from tao_cluster.reference import cost_increase
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from .base import POSITIVE, GreedyTree
from .builder_input import BuilderInput, clipped
from .center_cuts import separate_centers
from .cuts import BITS, first_best
from .growth import Cut, RowRule, grow, kept_if_interrupted
from .surrogate_cuts import best_surrogate_cut, surrogate_node


@dataclass(kw_only=True, eq=False, repr=False)
class ExKMC(GreedyTree):
    """ExKMC: explain k clusters by an axis-aligned tree with more than k leaves.

    Use it to trade size for cost: several leaves may belong to one cluster, and each further leaf
    lowers the cost. A single fit gives the whole curve of cost against leaves.

    The surrogate cost is the cost with the reference centres if every leaf has the label with the
    smallest cost for its rows. ExKMC starts from IMM's tree and repeatedly makes the cut that
    lowers the surrogate cost most (Frost, Moshkovitz & Rashtchian 2020, algorithm 1). Leaves of
    IMM's tree keep their labels until they are cut.

    Sometimes no single cut lowers the cost, although two cuts together might. The paper does not
    say how to continue then. In the authors' program, rounding errors decide. Here, a leaf with
    rows of several clusters is cut where the Gini impurity of the nearest centres falls most.
    After the expansion, such cuts are removed unless a cut below them lowers the cost. Therefore
    the tree may have fewer than `max_leaves` leaves.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    max_leaves : int, default=None
        Maximum number of leaves, at least `n_clusters`. None means twice the number of clusters.
    base : {"imm", "none"}, default="imm"
        Tree to start from: "imm" is the tree of :class:`IMM` with one leaf per cluster, "none" is
        a single leaf.
    reference, standardize, midpoints, ties, min_samples_leaf, n_jobs, random_state
        As in :class:`IMM`. The cost is that of k-means.

    Attributes
    ----------
    trace_ : list of dict
        One record per number of leaves, from the base to `tree_`, with the keys "leaves",
        "surrogate" (cost with the reference centres), "cost" (with optimal centres) and
        "cost_increase" (percent above the free clustering). `tree_at` returns the trees.
    tree_, labels_, cluster_centers_, inertia_, cost_increase_, history_, ...
        As in :class:`IMM`.

    Raises
    ------
    ValueError
        If `max_leaves` is below the number of clusters. Others as in :class:`IMM`.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt stops the expansion. The tree keeps the leaves made until then.

    Notes
    -----
    The time and memory beside X are:

    ============ =========================================================
    time         0.2 to 0.6 of the time of CART with 4 k leaves, measured
    memory       8 n k bytes of distances, O(n), one copy of a sparse X
    ============ =========================================================

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExKMC
    >>> model = ExKMC(10, max_leaves=40, random_state=0).fit(load_digits().data)
    >>> model.tree_at(20).n_leaves
    20
    """

    max_leaves: int | None = None
    base: str = "imm"

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_leaves": [None, POSITIVE],
        "base": [StrOptions({"imm", "none"})],
    }

    def tree_at(self, n_leaves):
        """Return the tree of `trace_` that has a given number of leaves.

        Parameters
        ----------
        n_leaves : int
            At least the number of leaves of the base, at most `max_leaves`.

        Returns
        -------
        Tree
            This is `tree_` if `tree_` has at most `n_leaves` leaves.

        Raises
        ------
        ValueError
            If `n_leaves` is not an integer or lies outside of these limits.
        """
        check_is_fitted(self)
        if not hasattr(self, "trace_"):
            raise ValueError("The tree of this model was cut afterwards: there are no other trees.")
        if not isinstance(n_leaves, Integral):
            raise ValueError(f"n_leaves={n_leaves!r} must be an integer.")
        first, last = self.trace_[0]["leaves"], self.trace_[-1]["leaves"]
        most = max(last, self._max_leaves)
        if not first <= n_leaves <= most:
            raise ValueError(
                f"n_leaves={n_leaves} must lie in {first}..{most}: the expansion starts at {first} "
                f"leaves (base={self.base!r}) and ends at max_leaves={most}. Fit again with "
                f"another base or max_leaves for other trees."
            )
        return self._growth.to_tree(self.n_features_in_, 2 * min(n_leaves, last) - 1)

    def _attributes(self, inputs, rows, problem, result):
        fitted = super()._attributes(inputs, rows, problem, result)
        if "_growth" not in fitted:  # the tree was cut, and its expansion is not known
            return fitted
        growth, placed = fitted["_growth"], Growth.from_tree(fitted["tree_"])
        growth.left, growth.right, growth.splits = placed.left, placed.right, placed.splits
        return fitted

    def _grow(self, points, random_state):
        return expand(points, self.max_leaves, self.base)[0]

    def _fit_tree(self, problem):
        """Return the final tree, and `trace_` with the costs of all trees of the expansion."""
        points = self._points(problem)
        growth, n_base = expand(points, self.max_leaves, self.base)
        found = self._result(growth, points)
        leaves = found.leaves(problem, points.n_jobs)
        further = {
            "trace_": trace(problem, points, growth, found.tree, leaves, n_base),
            "_growth": growth,
            "_max_leaves": leaf_budget(self.max_leaves, len(points.centers)),
        }
        return Result(found.tree, found.attributes | further, leaves)


def leaf_budget(max_leaves, n_clusters):
    """Return the maximum number of leaves for the parameter `max_leaves`.

    Raises
    ------
    ValueError
        If `max_leaves` is below the number of clusters.
    """
    if max_leaves is None:
        return 2 * n_clusters
    if max_leaves < n_clusters:
        raise ValueError(
            f"max_leaves={max_leaves} must be at least n_clusters={n_clusters}, since every "
            "cluster needs a leaf. Increase max_leaves or decrease n_clusters."
        )
    return max_leaves


def expand(points, max_leaves, base):
    """Grow the tree of :class:`ExKMC` from IMM's tree or from a single leaf.

    Parameters
    ----------
    points : BuilderInput
    max_leaves : int or None
    base : {"imm", "none"}

    Returns
    -------
    growth : Growth
    n_base : int, number of leaves of the tree from which the growth starts
    """
    max_leaves = leaf_budget(max_leaves, len(points.centers))
    rule = CutSurrogate(points)
    if base == "imm":
        growth = separate_centers(points, keep_labels=True)
        tree = growth.to_tree(points.n_features)
        leaf_of_row = tree.route(kernel_arrays(points.X), points.rows, n_jobs=points.n_jobs)
        leaves = {
            int(leaf): rule.leaf(points.rows[leaf_of_row == leaf])
            for leaf in np.unique(leaf_of_row)
        }
    else:
        growth, root = Growth(), rule.leaf(points.rows)
        leaves = {growth.add(root.label): root}
    n_base, gains = growth.n_leaves, {}
    with kept_if_interrupted(points, growth, max_leaves):
        grow(growth, leaves, rule, max_leaves, gains)
    useless = _useless_cuts(growth, gains)
    return growth.without(useless) if useless else growth, n_base


def _useless_cuts(growth, gains):
    """Return the nodes at which neither their own cut nor any cut below lowers the surrogate cost.

    Parameters
    ----------
    growth : Growth
    gains : dict
        Maps nodes to the gain of their cut, parents before children.

    Returns
    -------
    set of int
    """
    useless = set()
    for node in reversed(gains):
        below = {growth.left[node], growth.right[node]} & gains.keys()
        if gains[node] <= 0 and below <= useless:
            useless.add(node)
    return useless


@dataclass(frozen=True, eq=False)
class CutSurrogate(RowRule):
    """Rule of growth: split the leaf whose best cut saves most of the surrogate cost (ExKMC).

    If no cut of a leaf saves, but it has rows of several clusters, its cut is the one that reduces
    the Gini impurity most, since cuts below it may save. The gain is negative then, so that it
    comes after all cuts that save.

    Parameters
    ----------
    points : BuilderInput
    """

    points: BuilderInput

    def leaf(self, rows):
        """Return a leaf that contains the given rows."""
        return surrogate_node(self.points, rows)

    def upper_bound(self, leaf):
        """Return an upper bound of what a cut of the leaf saves."""
        return leaf.most / leaf.scale

    def search(self, leaf):
        """Return the cut of a leaf that lowers the surrogate cost most; None if no cut helps."""
        points = clipped(self.points, leaf.rows)
        if points is None:
            return None
        best = best_surrogate_cut(points, leaf)
        if best is not None and best[0] < 0:
            return Cut(best[1], best[2], -best[0] / leaf.scale)
        return purest_cut(points, leaf.rows)


def purest_cut(points, rows):
    """Return the cut that reduces the Gini impurity of the nearest centres most; None if none does.

    The impurity of a set of rows of total mass M, of which the mass m_c is nearest to the centre c,
    is M - sum_c m_c ** 2 / M. The gain is the relative reduction minus 2, so that it is always
    negative.

    Parameters
    ----------
    points : BuilderInput
    rows : int64 array
    """
    weight, nearest = points.weight[rows], points.distances[rows].argmin(axis=1)
    labels, label = np.unique(nearest, return_inverse=True)
    # Masses use half of the bits, so that the squares of their sums are exact, too. Equally good
    # cuts therefore have exactly the same value.
    unit = np.exp2(BITS // 2 - np.frexp(weight.sum())[1])
    mass = np.zeros((len(rows), len(labels)))
    mass[np.arange(len(rows)), label] = np.rint(weight * unit)
    totals = mass.sum(axis=0)
    total = totals.sum()
    before = (totals**2).sum() / total if total > 0 else total
    if before >= total:
        return None

    def search(lo, hi):
        return min(map(of_feature, range(lo, hi)))

    def of_feature(feature):
        values = points.column(rows, feature)
        order = np.argsort(values, kind="stable")
        left = np.cumsum(mass[order], axis=0)
        right, on_left = totals - left, left.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            purity = (left**2).sum(axis=1) / on_left + (right**2).sum(axis=1) / (total - on_left)
        is_cut = (on_left > 0) & (on_left < total)
        return first_best(np.where(is_cut, -purity, np.inf), feature, values[order])

    best = points.best_cut(search)
    reduction = (-best[0] - before) / (total - before)
    return Cut(best[1], best[2], reduction - 2.0) if best[0] < np.inf else None


def trace(problem, points, growth, tree, leaf_of_row, n_base):
    """Return the surrogate cost and the true cost of all trees of a growth, by number of leaves.

    The clusters of every tree are unions of leaves of the last tree, so that one pass over the
    rows is enough.

    Parameters
    ----------
    problem : Problem
    points : BuilderInput
    growth : Growth
    tree : Tree
        The last tree.
    leaf_of_row : int array of shape (n,)
        Leaf of each row in the last tree.
    n_base : int
        Number of leaves of the first tree.

    Returns
    -------
    list of dict
        leaves, surrogate (cost with the reference centres), cost (with optimal centres) and
        cost_increase (percent over the free clustering).
    """
    place = np.cumsum(tree.children_left < 0) - 1  # position of each leaf in `tree.leaves`
    leaf_of_row = place[leaf_of_row]
    n_rows, n_last = len(leaf_of_row), tree.n_leaves
    member = sp.csr_matrix((problem.weight, (leaf_of_row, np.arange(n_rows))), (n_last, n_rows))
    mass, surrogate = np.asarray(member.sum(axis=1)).ravel(), member @ points.distances
    origin = np.zeros((n_last, problem.space.shape[1]))
    means = problem.objective.update_centers(problem.data, leaf_of_row, problem.weight, origin)
    within = problem.objective.value(problem.data, leaf_of_row, problem.weight, means)

    node, label, parent = tree.leaves.copy(), np.array(growth.label), tree.parent
    records = []
    for n_leaves in range(n_last, n_base - 1, -1):
        undone = node >= 2 * n_leaves - 1
        node[undone] = parent[node[undone]]
        cost = within + _between(means, mass, label[node], surrogate.shape[1])
        records.append(
            {
                "leaves": n_leaves,
                "surrogate": float(surrogate[np.arange(len(node)), label[node]].sum()),
                "cost": cost,
                "cost_increase": cost_increase(cost, problem.free.inertia),
            }
        )
    records.reverse()
    falling = np.minimum.accumulate([record["surrogate"] for record in records])
    # The surrogate cost never rises (theorem 1 of the paper) except by rounding.
    for record, surrogate_cost in zip(records, falling.tolist(), strict=True):
        record["surrogate"] = surrogate_cost
    return records


def _between(means, mass, labels, n_clusters):
    """Return the cost of moving the rows of all leaves from the leaf means to the cluster means."""
    member = sp.csr_matrix((mass, (labels, np.arange(len(labels)))), (n_clusters, len(labels)))
    total = np.maximum(np.asarray(member.sum(axis=1)), np.finfo(float).tiny)
    centers = (member @ means) / total
    return float(mass @ ((means - centers[labels]) ** 2).sum(axis=1))
