"""The best of several trees of random cuts, as an estimator."""

from typing import ClassVar

from ..methods.random_cuts import PARAMETERS, random_growth
from .base import CostTree


class RandomCuts(CostTree):
    """Random cuts between the reference centres: the best of several trees.

    The algorithms with proven bounds, by Makarychev & Shan, Gamlath et al., Esfandiari et al.;
    see :func:`greedy.build_random_cuts`, which lists them. The tree that is kept is that of the
    least cost with the reference centres.

    Parameters
    ----------
    rule : {"auto", "random-coordinate", "gamlath", "makarychev-shan", "esfandiari", "bicriteria"}
        "auto", the default, is "gamlath" for k-means and "random-coordinate" for k-medians.
    n_trees : int >= 1, default=100
        Their mean cost is what is proven.
    delta : float in (0, 1), default=None
        "bicriteria" has up to (1 + delta) k leaves; None is 0.5. Others have no use for it.
    random_state : int, RandomState instance or None, default=None
        Seed of the free clustering and of the cuts.
    n_clusters, objective, reference, standardize, midpoints, n_jobs
        As in :class:`IMM`, like the attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from greedy import RandomCuts
    >>> RandomCuts(3, n_trees=50, random_state=0).fit(load_iris().data).tree_.n_leaves
    3
    """

    deterministic = False

    _parameter_constraints: ClassVar[dict] = {**CostTree._parameter_constraints, **PARAMETERS}

    def __init__(
        self,
        n_clusters=8,
        *,
        rule="auto",
        n_trees=100,
        delta=None,
        objective="kmeans",
        reference=None,
        standardize=False,
        midpoints=True,
        n_jobs=None,
        random_state=None,
    ):
        super().__init__(
            n_clusters,
            objective=objective,
            reference=reference,
            standardize=standardize,
            midpoints=midpoints,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.rule = rule
        self.n_trees = n_trees
        self.delta = delta

    def _grow(self, points, random_state):
        return random_growth(
            points, self.rule, self.n_trees, self.delta, self.objective, random_state
        )
