"""The choice of a tree: limits of size and cost, the knee of cost over size, and their use.

A fit looks at trees of several sizes, and :func:`choose` returns one of them. Paths and searches
use limits only to look near them. Whether a tree is within a limit is decided by :class:`Goal`.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._utils.warnings import warn
from ..tree import Tree

# Smaller differences of cost increases (in percent) are rounding errors.
_DECIMALS = 9
ROUNDING = 10.0**-_DECIMALS
# At the knee, trees with less than this share of the largest number of clusters come last.
_LEAST_CLUSTERS = 0.98
# Last passes divide the number of parameters of a tree of a path by about this.
_SHRINKAGE = 1.2
# Before its last passes, a tree is far from a limit if it has more than this multiple of the
# parameters, or costs less than this share of the cost.
_MOST_SHRINKAGE, _FAR_FROM_COST = 2.0, 0.5


class Candidate(NamedTuple):
    """A tree that a fit can return.

    Parameters
    ----------
    tree : Tree
    cost : float
        Cost increase over the free clustering in percent, on the rows that choose the tree.
    size : float or int
        Lambda of an oblique tree, or the maximum number of leaves of an axis-aligned one.
    is_finished : bool
        Whether the tree had its last passes. Other candidates only rank the sizes.
    leaf_of_row : int32 array of shape (n,), optional
        The leaf that each row of the fit reaches.
    """

    tree: Tree
    cost: float
    size: float
    is_finished: bool = True
    leaf_of_row: np.ndarray | None = None


def choose(candidates, goal):
    """Return the candidate that suits a goal best; the nearest one if none is within the limit.

    Only the last one of several candidates of one size counts. Candidates without last passes are
    returned only if no candidate had them.

    Parameters
    ----------
    candidates : sequence of Candidate
    goal : Goal

    Returns
    -------
    Candidate
    """
    candidates = list({candidate.size: candidate for candidate in candidates}.values())
    order = goal.order([one.cost for one in candidates], [one.tree for one in candidates])
    ranked = [candidates[at] for at in order]
    return next((one for one in ranked if one.is_finished), ranked[0])


@dataclass(frozen=True)
class Goal:
    """Which tree of a path is the best: the one of a limit, or the knee.

    Without a limit and without `n_clusters`, there is nothing to choose: lambda is given.

    Parameters
    ----------
    max_parameters : int, optional
        The goal is the least cost with at most this many parameters.
    max_cost_increase : float, optional
        The goal is the fewest parameters within this cost increase in percent.
    n_clusters : int, optional
        The number of clusters. Without a limit, the goal is then the knee; see :func:`knee_value`.
    """

    max_parameters: int | None = None
    max_cost_increase: float | None = None
    n_clusters: int | None = None

    def __post_init__(self):
        if self.max_parameters is not None and self.max_cost_increase is not None:
            raise ValueError(
                "Give max_parameters or max_cost_increase, not both: one limits the other."
            )

    @property
    def limits_size(self):
        """Whether the number of parameters is limited."""
        return self.max_parameters is not None

    @property
    def limits_cost(self):
        """Whether the cost is limited."""
        return self.max_cost_increase is not None

    @property
    def is_limit(self):
        """Whether the size or the cost is limited."""
        return self.limits_size or self.limits_cost

    def for_clusters(self, n_clusters):
        """Return the goal for a number of clusters."""
        return replace(self, n_clusters=n_clusters)

    def has_room_for(self, tree):
        """Return whether a tree or state is within the limit of parameters; True without one."""
        return not self.limits_size or tree.n_parameters <= self.max_parameters

    def allows(self, cost):
        """Return whether costs (float or array) are within the limit; True without such a limit."""
        limit = self.max_cost_increase if self.limits_cost else np.inf
        return cost <= limit + ROUNDING

    def is_small(self, cost, tree):
        """Return whether smaller trees than a tree can rarely suit a limit better.

        With a limit of size the tree is within it; with a limit of cost it exceeds it.
        """
        return self.has_room_for(tree) if self.limits_size else not self.allows(cost)

    def is_far(self, cost, tree):
        """Return whether a tree that has not had its last passes is too large or costs too little.

        Its last passes will then not bring it near the limit.
        """
        if self.limits_size:
            return tree.n_parameters > _MOST_SHRINKAGE * self.max_parameters
        return cost <= _FAR_FROM_COST * self.max_cost_increase

    def order(self, costs, trees, is_rough=False):
        """Return the positions of trees, the one that suits the goal best first: int array.

        Parameters
        ----------
        costs : sequence of float, cost increases in percent
        trees : sequence of Tree
        is_rough : bool, whether last passes will still reduce the trees
        """
        costs = np.round(np.asarray(costs, dtype=float), _DECIMALS)
        sizes = np.array([tree.n_parameters for tree in trees])
        if self.is_limit:
            first, second = (costs, sizes) if self.limits_size else (sizes, costs)
            misses = ~np.array([self.has_room_for(tree) for tree in trees]) | ~self.allows(costs)
            ties = np.where(misses, first, second), np.where(misses, second, first)
            return np.lexsort((*ties, misses))
        if self.n_clusters is None:
            return np.lexsort((sizes, costs))
        value = knee_value(costs, sizes / (_SHRINKAGE if is_rough else 1.0), self.n_clusters)
        n_clusters = np.array([tree.n_clusters for tree in trees])
        loses = n_clusters < _LEAST_CLUSTERS * n_clusters.max()
        return np.lexsort((sizes, np.round(value, _DECIMALS), loses))

    def prefers(self, other, chosen):
        """Return whether a candidate suits the goal better than the chosen one.

        Without a limit it must have no fewer clusters, and be smaller or cost less.
        """
        if self.is_limit:
            pair = (chosen, other)
            order = self.order([one.cost for one in pair], [one.tree for one in pair])
            return bool(order[0] == 1)
        is_smaller = other.tree.n_parameters < chosen.tree.n_parameters
        is_cheaper = other.cost <= chosen.cost - ROUNDING
        keeps_clusters = other.tree.n_clusters >= chosen.tree.n_clusters
        return keeps_clusters and (is_smaller or is_cheaper)

    def warn_if_missed(self, chosen, where=""):
        """Warn if the chosen candidate is not within the limit.

        `where` names the rows on which the cost was measured.
        """
        if not self.has_room_for(chosen.tree):
            warn(
                f"No tree with at most max_parameters={self.max_parameters} was found; the "
                f"smallest has {chosen.tree.n_parameters} parameters and is returned."
            )
        if not self.allows(chosen.cost):
            warn(
                f"No tree within max_cost_increase={self.max_cost_increase:g} was found: the best "
                f"one costs {chosen.cost:.3g} % more than the free clustering{where}, and is "
                "returned. A larger depth or max_leaves may help."
            )


def knee_value(costs, sizes, n_clusters):
    """Return the sum of cost and size that is least at the knee: float or array.

    The size is squared in units of 6 k - 4 parameters, twice those of the smallest axis-aligned
    tree with one leaf for each of k clusters. So a tree of 6 k - 4 parameters may cost 1 % more
    than a tree without parameters, and one of twice the size may cost 3 % less than that.

    Parameters
    ----------
    costs : float or array, cost increases in percent
    sizes : int or array, numbers of parameters
    n_clusters : int, k
    """
    return costs + (sizes / (6 * n_clusters - 4)) ** 2


def knee(models, *, max_parameters=None, max_cost_increase=None, validation=None, **options):
    """Choose a model by cost and size.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
        Models of infinite cost increase (the free clustering costs nothing) are left out.
    max_parameters : int, optional
        Return the model of least cost with at most this many parameters.
    max_cost_increase : float, optional
        Return the model with the fewest parameters and at most this cost increase in percent.
    validation : array-like or CSR matrix of shape (n, d), optional
        Rows that the models were not fitted to. Costs are then those of
        :meth:`TAOClustering.cost_increase` on these rows, by default those of the fitted rows.
    **options
        `sample_weight`, `embedding` or `y` of the rows for validation.

    Returns
    -------
    One of the models

    Notes
    -----
    Without a limit the knee is returned: the model with the least sum of the cost increase in
    percent and of (parameters / (6 k - 4))^2, for k clusters, among the models that have at least
    98 % of the largest number of clusters.

    Raises
    ------
    ValueError
        If both limits are given, or there are no models.

    Warns
    -----
    UserWarning
        If no model is within the limit. The nearest one is then returned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import knee, tao_path
    >>> models = tao_path(load_iris().data, 3, random_state=0)
    >>> knee(models, max_parameters=9).tree_.n_parameters <= 9
    True
    """
    if validation is None and options:
        raise ValueError(f"{', '.join(options)} belong to rows for validation; give these, too.")
    if validation is not None and np.ndim(validation) == 0:
        raise ValueError(
            f"validation={validation!r} must be rows that the models have not seen; to hold out a "
            "share use TAOClustering(validation=...)."
        )
    models = [model for model in models if np.isfinite(model.cost_increase_)]
    if len(models) == 0:
        raise ValueError("There are no models of finite cost to choose from.")
    if validation is None:
        costs = [model.cost_increase_ for model in models]
    else:
        costs = [model.cost_increase(validation, **options) for model in models]
    n_clusters = max(model.tree_.n_clusters for model in models)
    goal = Goal(max_parameters, max_cost_increase, n_clusters)
    terms = zip(models, costs, strict=True)
    candidates = [Candidate(model.tree_, cost, at) for at, (model, cost) in enumerate(terms)]
    chosen = choose(candidates, goal)
    goal.warn_if_missed(chosen)
    return models[chosen.size]
