"""ExKMC: trees expanded where a cut saves most of the surrogate cost."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from tao_cluster._utils.matrices import spaced_rows
from tao_cluster._utils.threads import one_thread
from tao_cluster.tree.growth import Growth
from tao_cluster.tree.routing import kernel_view

from ..cuts import N_EDGES, purest_cut, savings_of_stored, surrogate_cut
from ..growth import Cut, grow, tell_interrupted
from ..nodes import SurrogateNode, mixed_node, surrogate_node
from ..points import Points
from .parting import part_centers
from .start import SHARED, finish


@validate_params(
    {
        **SHARED,
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"imm", "none"})],
    },
    prefer_skip_nested_validation=True,
)
@one_thread()
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
    keep their labels until they are cut.

    Where no cut saves anything, a leaf that does not serve all its rows best is cut where that
    makes it purest, by the Gini impurity of the nearest centres, since cuts below may save. Such
    cuts are taken back in the end if none below them did. The paper leaves this open; its program
    goes on by the rounding of its sums.

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

    Examples
    --------
    >>> from greedy import build_exkmc
    >>> X = [[0.0], [1.0], [8.0], [9.0], [19.0]]
    >>> build_exkmc(X, centers=[[0.5], [8.5]], max_leaves=2).to_rules()
    ['if x0 <= 4.5 then cluster 0', 'if x0 > 4.5 then cluster 1']
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
    rule = CutSurrogate(points, goes_on=True)
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
    n_base, gains = growth.n_leaves, {}
    try:
        grow(growth, leaves, rule, max_leaves, gains)
    except KeyboardInterrupt:
        tell_interrupted(growth, max_leaves)
    never = _never_paid(growth, gains)
    return growth.without(never) if never else growth, n_base


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
        return self.node.own


@dataclass(frozen=True, eq=False)
class CutSurrogate:
    """Split the leaf whose best cut saves most of the surrogate cost (ExKMC).

    Parameters
    ----------
    points : Points
    price : float
        What a cut must save more than.
    goes_on : bool
        Whether a leaf that no cut improves, though it does not serve all its rows best, is cut
        where that makes it purest: below such a cut there may be some that save. These cuts come
        after all that save, and have a negative gain.
    """

    points: Points
    price: float = 0.0
    goes_on: bool = False

    def leaf(self, rows):
        """Leaf of some rows."""
        return SurrogateLeaf(surrogate_node(self.points, rows))

    def promise(self, leaf):
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
        mixed = mixed_node(points, node.rows)
        best = points.best_cut(purest_cut, points.slot(node.rows), mixed)
        return best and Cut(best[1], best[2], -best[0] - 2.0)

    def _saving(self, leaf):
        """Cut that saves most, None if none saves more than its price."""
        node, points = leaf.node, self.points
        misplaced = node.rows[points.distances[node.rows, node.own] > node.nearest]
        n = min(N_EDGES, len(misplaced), max(7, len(node.rows) // 16))
        edges = points.edges_from(misplaced[spaced_rows(len(misplaced), n)])
        stored = points.from_stored(savings_of_stored, node)
        best = points.best_cut(surrogate_cut, points.slot(node.rows), node, edges, stored)
        if best is None or -best[0] / node.scale <= self.price:
            return None
        return Cut(best[1], best[2], -best[0] / node.scale - self.price)

    def divide(self, leaf, cut):
        """See :class:`greedy.growth.Rule`."""
        rows = leaf.node.rows
        goes_left = self.points.goes_left(rows, cut.feature, cut.threshold)
        return self.leaf(rows[goes_left]), self.leaf(rows[~goes_left])
