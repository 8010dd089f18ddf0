"""ExKMC as an estimator, with the cost of every tree on its way."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from tao_cluster.problem.problem import Result
from tao_cluster.reference import cost_increase
from tao_cluster.tree.growth import Growth

from ..methods.expansion import expand, expand_base, leaf_budget
from .base import GreedyMethod, GreedyTree


class ExKMC(GreedyTree):
    """ExKMC: a tree with any number of leaves, several of which may share a cluster.

    The method of Frost, Moshkovitz & Rashtchian (2020); see :func:`greedy.build_exkmc`.

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

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from greedy import ExKMC
    >>> model = ExKMC(10, max_leaves=40, random_state=0).fit(load_digits().data)
    >>> model.tree_at(20).n_leaves
    20
    """

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"imm", "none"})],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        max_leaves=None,
        base="imm",
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.max_leaves = max_leaves
        self.base = base

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
        fitted["_growth"].splits = Growth.of(fitted["tree_"]).splits
        return fitted

    def _grow(self, points, random_state):
        return expand(points, self.max_leaves, self.base)

    def _method(self):
        return _ExKMCMethod(
            self._grow, self.midpoints, self.n_jobs, max_leaves=self.max_leaves, base=self.base
        )


@dataclass(frozen=True)
class _ExKMCMethod(GreedyMethod):
    """GreedyMethod with a record of every tree on the way."""

    max_leaves: int | None = None
    base: str = "imm"

    def fit_tree(self, problem):
        """The last tree of the growth, with the trace of those before it."""
        points = self.points(problem)
        growth, n_base = expand_base(points, self.max_leaves, self.base)
        found = self.result(growth, points)
        leaves = found.leaves(problem, points.n_jobs)
        further = {
            "trace_": trace(problem, points, growth, found.tree, leaves, n_base),
            "_growth": growth,
            "_max_leaves": leaf_budget(self.max_leaves, len(points.positions)),
        }
        return Result(found.tree, found.attributes | further, leaves)


def trace(problem, points, growth, tree, leaf_of_row, n_base):
    """Surrogate and true cost of the trees of a growth, from the base on.

    Every tree's clusters are unions of the leaves of the last one, so that one pass over the
    rows is enough.

    Parameters
    ----------
    problem : Problem
    points : Points
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
