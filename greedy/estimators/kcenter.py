"""Ex-kCenter as an estimator."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from sklearn.utils._param_validation import StrOptions

from tao_cluster.problem.objectives import KCenter

from ..methods.kcenter import REST, part_and_divide
from ..points import Points
from .base import GreedyMethod, GreedyTree


class ExKCenter(GreedyTree):
    """Ex-kCenter: clusters no row of which is far from its centre.

    The method of Laber & Murtinho (2021), algorithm 1; see :func:`greedy.build_exkcenter`.
    Every cost is the largest Euclidean distance of a row to the centre of its cluster, and the
    best centre of a cluster is the middle of the smallest ball that holds it. Weights do not
    matter, but that rows of weight 0 are absent.

    Parameters
    ----------
    rest : {"grid", "halves"}, default="grid"
        What is done where no clean cut is left: the paper's grid, which is the cell itself in
        many dimensions, or cuts in the middle of the longest sides.
    reference : None, estimator or array of shape (n_clusters, m), default=None
        The free clustering: None is :class:`tao_cluster.objectives.FarthestFirst`, others as
        in :class:`IMM`.
    n_clusters, standardize, midpoints, n_jobs, random_state
        As in :class:`IMM`, like the attributes.

    Attributes
    ----------
    inertia_, free_inertia_ : float
        Largest distance of a row to the centre of its cluster.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import ExKCenter
    >>> model = ExKCenter(3, random_state=0).fit(load_iris().data)
    >>> model.tree_.n_leaves, round(model.cost_increase_, 1)
    (3, 0.0)
    """

    _parameter_constraints: ClassVar[dict] = {
        **GreedyTree._parameter_constraints,
        "rest": [StrOptions(set(REST))],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        rest="grid",
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
        self.rest = rest

    def _grow(self, points, random_state):
        return part_and_divide(points, self.rest)

    def _method(self):
        grow = partial(self._grow, random_state=self.random_state)
        return _KCenterMethod(grow, self.midpoints, self.n_jobs)


@dataclass(frozen=True)
class _KCenterMethod(GreedyMethod):
    """GreedyMethod of the largest distance."""

    @property
    def objective(self):
        """The objective of the free clustering."""
        return KCenter()

    def points(self, problem):
        """The rows and centres of a problem, and its clusters."""
        return Points.of(
            problem.X,
            problem.free.centers,
            problem.weight,
            None if problem.space is problem.X else problem.space,
            labels=problem.free.labels,
            n_jobs=self.n_jobs,
        )
