"""SpEx as an estimator, axis-aligned or with sparse hyperplanes."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from tao_cluster.problem.scaling import Scaling
from tao_cluster.solvers import Newton, NodeProblem

from ..methods.spex import GRAPHS, grow_spex
from .base import GreedyTree

# Strengths of the penalty that are tried at a node, as shares of the least without weights.
_STRENGTHS = (0.3, 0.1, 0.03, 0.01)


class SpEx(GreedyTree):
    """SpEx: cuts of least conductance in a graph of the rows, for any clustering or none.

    The method of Argov & Wagner (2025); see :func:`greedy.build_spex`. Oblique trees are new:
    a node's rows are drawn to the side of the best cut that most of their edges lead to, with the
    difference as their weight, and parted by L1-regularised logistic regression; the hyperplane
    with the threshold of least conductance replaces the cut if that pays for its weights.

    Parameters
    ----------
    graph : {"clique", "unit-clique", "knn"}, default="clique"
        "clique" explains the free clustering; "knn" makes clusters of its own, from the nearest
        neighbours of the rows, and the free clustering is there to compare with.
    split : {"axis", "oblique"}, default="axis"
    price : float >= 0, default=0.005
        What the sum of conductances must fall by for each further weight of an oblique test.
        Conductances lie in 0..1, so that 0.005 is half a percent of a leaf's edges.
    max_leaves : int, default=None
        None is the number of clusters.
    n_neighbors : int, default=20
        Of ``graph="knn"``.
    n_clusters, reference, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes. A record of `history_` has a list of `features`
        where a test has several.

    Notes
    -----
    An oblique test takes up to 12 logistic regressions over the columns that its rows have: a
    fraction of a second each for thousands of rows of sparse text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import SpEx
    >>> model = SpEx(3, random_state=0).fit(load_iris().data)
    >>> float(round(model.cost_increase_, 2))
    3.65
    """

    uses_distances = False  # it asks for neighbours, or for labels alone
    sees_centers = False

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "graph": [StrOptions(GRAPHS)],
        "split": [StrOptions({"axis", "oblique"})],
        "price": [Interval(Real, 0, None, closed="left")],
        "max_leaves": [None, Interval(Integral, 1, None, closed="left")],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        graph="clique",
        split="axis",
        price=0.005,
        max_leaves=None,
        n_neighbors=20,
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
        self.graph = graph
        self.split = split
        self.price = price
        self.max_leaves = max_leaves
        self.n_neighbors = n_neighbors

    def _grow(self, points, random_state):
        hyperplanes = Hyperplanes.of(points.X) if self.split == "oblique" else None
        terms = (self.graph, self.max_leaves, self.n_neighbors, hyperplanes, self.price)
        return grow_spex(points, *terms)


@dataclass(frozen=True, eq=False)
class Hyperplanes:
    """Sparse hyperplanes that part rows as told: the `hyperplanes` of :func:`greedy.build_spex`.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    solver : BoundSolver of X
    """

    X: Any
    solver: Any

    @classmethod
    def of(cls, X):
        """Those of L1-regularised logistic regression (proximal Newton)."""
        return cls(X, Newton().bind(X))

    def __call__(self, rows, goes_right, weight):
        """Yield tests, from few weights to many; weights are priced in spreads of the features."""
        some, weight = self.X[rows], weight / weight.sum()
        spread = Scaling.of(some, weight).scale
        residual = weight * (goes_right - weight @ goes_right)
        steepest = float((np.abs(some.T @ residual) / spread).max())
        test = None
        for share in _STRENGTHS:
            strength = share * steepest
            problem = NodeProblem(rows, goes_right, weight, strength, test, None, spread)
            test, _ = self.solver.solve(problem)
            yield test
