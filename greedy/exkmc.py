"""ExKMC: trees expanded where a cut saves most of the cost with the reference centres."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster._utils.matrices import spaced_rows
from tao_cluster.problem.problem import Result
from tao_cluster.reference import cost_increase
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_arrays

from .base import POSITIVE, GreedyTree
from .builder_input import BuilderInput
from .center_cuts import part_centers
from .cuts import N_EDGES, gini_cut, sparse_savings_bounds, surrogate_cut
from .growth import Cut, grow, warn_interrupted
from .nodes import SurrogateNode, impurity_node, surrogate_node


@dataclass(kw_only=True, eq=False, repr=False)
class ExKMC(GreedyTree):
    """ExKMC: a tree with any number of leaves, several of which may share a cluster.

    A cut is made where it saves most of the surrogate cost, that of the reference centres when
    every leaf has the label that serves its rows best (Frost, Moshkovitz & Rashtchian 2020,
    algorithm 1). Leaves of the base keep their labels until they are cut.

    Where no cut saves anything, a leaf that does not serve all its rows best is cut where that
    makes it purest, by the Gini impurity of the nearest centres, since cuts below may save. Such
    cuts are taken back in the end if none below them did. The paper leaves this open; its program
    goes on by the rounding of its sums.

    Parameters
    ----------
    max_leaves : int >= n_clusters, default=None
        None is twice the number of clusters. Leaves that no cut improves stay as they are, so
        that there may be fewer.
    base : {"imm", "none"}, default="imm"
        Tree to start from; "none" is a single leaf.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Attributes
    ----------
    trace_ : list of dict
        One record a number of leaves, from the base to `tree_`: leaves, surrogate (cost with
        the reference centres), cost (with optimal centres), cost_increase (percent). One fit
        with many leaves gives the whole curve; `tree_at` gives its trees.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the expansion; the tree has the leaves made until then.

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
        """The tree of `trace_` with a number of leaves, a smaller tree on the way to `tree_`.

        Parameters
        ----------
        n_leaves : int, at least that of the base

        Returns
        -------
        Tree; `tree_` where it has no more leaves than that

        Raises
        ------
        ValueError
            If the base has more leaves, or more were asked for than `max_leaves`.
        """
        check_is_fitted(self)
        if not isinstance(n_leaves, Integral):
            raise ValueError(f"n_leaves={n_leaves!r} must be a whole number.")
        first, last = self.trace_[0]["leaves"], self.trace_[-1]["leaves"]
        most = max(last, self._max_leaves)
        if not first <= n_leaves <= most:
            raise ValueError(f"n_leaves={n_leaves} must lie in {first}..{most}.")
        return self._growth.to_tree(self.n_features_in_, 2 * min(n_leaves, last) - 1)

    def _attributes(self, inputs, rows, problem, result):
        fitted = super()._attributes(inputs, rows, problem, result)
        fitted["_growth"].splits = Growth.from_tree(fitted["tree_"]).splits
        return fitted

    def _grow(self, points, random_state):
        return expand(points, self.max_leaves, self.base)[0]

    def _fit_tree(self, problem):
        """The last tree of the growth, with the trace of those before it."""
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


def expand(points, max_leaves, base):
    """Growth by the surrogate cost, from IMM's tree or a single leaf.

    Parameters
    ----------
    points : BuilderInput
    max_leaves : int or None
    base : {"imm", "none"}

    Returns
    -------
    growth : Growth
    n_base : int, leaves of the tree that it starts from
    """
    max_leaves = leaf_budget(max_leaves, len(points.centers))
    rule = CutSurrogate(points, goes_on=True)
    if base == "imm":
        growth = part_centers(points, keep_labels=True)
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
    try:
        grow(growth, leaves, rule, max_leaves, gains)
    except KeyboardInterrupt:
        warn_interrupted(growth, max_leaves)
    never = _never_paid(growth, gains)
    return growth.without(never) if never else growth, n_base


def expand_tree(tree, leaf_of_row, points, max_leaves, price=0.0):
    """The tree with more leaves, cut where that saves most of the surrogate cost.

    Parameters
    ----------
    tree : Tree, axis-aligned, each test with weight 1
    leaf_of_row : int array of shape (n,)
    points : BuilderInput
    max_leaves : int
    price : float, that a cut must save

    Returns
    -------
    Tree; the same object if no cut pays
    """
    rule, growth = CutSurrogate(points, price), Growth.from_tree(tree)
    leaves = {
        int(leaf): rule.leaf(rows)
        for leaf in tree.leaves
        if len(rows := np.flatnonzero(leaf_of_row == leaf))
    }
    grow(growth, leaves, rule, max_leaves)
    return tree if growth.n_leaves == tree.n_leaves else growth.to_tree(tree.n_features)


def _never_paid(growth, gains):
    """Nodes whose cut gained nothing, nor did any below it.

    Parameters
    ----------
    growth : Growth
    gains : dict of node to what its cut gained, parents before children

    Returns
    -------
    set of int
    """
    never = set()
    for node in reversed(gains):
        below = {growth.left[node], growth.right[node]} & gains.keys()
        if gains[node] <= 0 and below <= never:
            never.add(node)
    return never


@dataclass(frozen=True, eq=False)
class SurrogateLeaf:
    """A leaf that gets the label that serves its rows best."""

    node: SurrogateNode

    @property
    def label(self):
        """Best label of its rows, ties to the lowest."""
        return self.node.best_label


@dataclass(frozen=True, eq=False)
class CutSurrogate:
    """Split the leaf whose best cut saves most of the surrogate cost (ExKMC).

    Parameters
    ----------
    points : BuilderInput
    price : float
        What a cut must save more than.
    goes_on : bool
        Whether a leaf that no cut improves, though it does not serve all its rows best, is cut
        where that makes it purest: below such a cut there may be some that save. These cuts come
        after all that save, and have a negative gain.
    """

    points: BuilderInput
    price: float = 0.0
    goes_on: bool = False

    def leaf(self, rows):
        """Leaf of some rows."""
        return SurrogateLeaf(surrogate_node(self.points, rows))

    def upper_bound(self, leaf):
        """See :class:`greedy.growth.Rule`."""
        return leaf.node.most / leaf.node.scale - self.price

    def search(self, leaf):
        """See :class:`greedy.growth.Rule`; None if no cut saves more than its price."""
        cut = self._saving(leaf)
        return self._purest(leaf) if cut is None and self.goes_on else cut

    def _purest(self, leaf):
        """Cut that takes most from the impurity of a leaf, the labels being the nearest centres.

        Its gain is the share of the impurity that it takes, minus 2, which is below 0.
        """
        node, points = leaf.node, self.points
        mixed = impurity_node(points, node.rows)
        best = points.best_cut(gini_cut, points.inverse_index(node.rows), mixed)
        return best and Cut(best[1], best[2], -best[0] - 2.0)

    def _saving(self, leaf):
        """Cut that saves most, None if none saves more than its price."""
        node, points = leaf.node, self.points
        misplaced = node.rows[points.distances[node.rows, node.best_label] > node.nearest]
        n = min(N_EDGES, len(misplaced), max(7, len(node.rows) // 16))
        edges = points.distinct_values(misplaced[spaced_rows(len(misplaced), n)])
        stored = points.sparse_bounds(sparse_savings_bounds, node)
        best = points.best_cut(surrogate_cut, points.inverse_index(node.rows), node, edges, stored)
        if best is None or -best[0] / node.scale <= self.price:
            return None
        return Cut(best[1], best[2], -best[0] / node.scale - self.price)

    def split(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows = leaf.node.rows
        goes_left = self.points.goes_left(rows, cut.feature, cut.threshold)
        return self.leaf(rows[goes_left]), self.leaf(rows[~goes_left])


def trace(problem, points, growth, tree, leaf_of_row, n_base):
    """Surrogate and true cost of the trees of a growth, from the base on.

    Every tree's clusters are unions of the leaves of the last one, so that one pass over the
    rows is enough.

    Parameters
    ----------
    problem : Problem
    points : BuilderInput
    growth : Growth
    tree : Tree, the last one
    leaf_of_row : int array of shape (n,), its leaves
    n_base : int, leaves of the first one

    Returns
    -------
    list of dict
        leaves, surrogate (cost with the reference centres), cost (with optimal centres) and
        cost_increase (percent over the free clustering).
    """
    place = np.cumsum(tree.children_left < 0) - 1  # of a leaf among the leaves
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
    for record, surrogate_cost in zip(records, falling.tolist(), strict=True):
        record["surrogate"] = surrogate_cost  # theorem 1 of the paper, against rounding
    return records


def _between(means, mass, labels, n_clusters):
    """Cost of moving every leaf's rows from the leaf's mean to the mean of its cluster."""
    member = sp.csr_matrix((mass, (labels, np.arange(len(labels)))), (n_clusters, len(labels)))
    total = np.maximum(np.asarray(member.sum(axis=1)), np.finfo(float).tiny)
    centers = (member @ means) / total
    return float(mass @ ((means - centers[labels]) ** 2).sum(axis=1))
