"""Goals in cost or size, and which of several trees or models meets one best."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._utils.warnings import tell
from .descent.aims import AtMost, Priced, Within

_ROUNDING = 1e-9  # of a cost increase, in percent


@dataclass(frozen=True)
class Knee:
    """The bend of the curve of cost over size.

    That is the tree with the least sum of log(1 + cost) and log(parameters), each scaled to 0..1
    over all trees, among those that keep most clusters, or 98 % as many, and, if there are such,
    cost at most 3 %.
    """

    most: ClassVar[float] = 3.0
    kept: ClassVar[float] = 0.98

    is_limit: ClassVar[bool] = False
    is_of_cost: ClassVar[bool] = False

    def has_room_for(self, tree):
        """Whether a tree is not too large; see :class:`MaxParameters`."""
        del tree
        return True

    def is_small(self, cost, tree):
        """Whether smaller trees are of no interest; any may be the bend."""
        del cost, tree
        return False

    def prefers(self, other, chosen):
        """Whether a tree and its cost suit the goal more than those that were chosen."""
        is_larger = other[0].n_parameters > chosen[0].n_parameters
        is_dearer = other[1] > chosen[1] - _ROUNDING
        return other[0].n_clusters >= chosen[0].n_clusters and not (is_larger and is_dearer)

    def aim(self, problem, price):
        """What a search from the chosen tree is to reach; a price a parameter where it is open."""
        del problem
        return Priced(price)

    def choose(self, costs, trees, where=""):
        """Position of the best tree; `costs` in percent, `where` that is not of the fit's rows."""
        del where
        costs = np.asarray(costs, dtype=float)
        costs = np.where(np.isfinite(costs), costs, np.finfo(float).max)  # over a free cost of 0
        x = np.log([tree.n_parameters for tree in trees])
        y = np.log1p(np.maximum(costs, 0.0))
        kept = np.array([tree.n_clusters for tree in trees])
        keeps = kept >= self.kept * kept.max()
        is_cheap = keeps & (costs <= self.most)
        candidates = np.flatnonzero(is_cheap if is_cheap.any() else keeps)
        width, height = np.ptp(x), np.ptp(y)
        if width == 0 or height == 0:
            order = np.lexsort((x, y))
            return int(order[np.isin(order, candidates)][0])
        distance = (x - x.min()) / width + (y - y.min()) / height
        return int(candidates[distance[candidates].argmin()])


@dataclass(frozen=True)
class MaxParameters:
    """Least cost with at most so many parameters; else the smallest tree."""

    limit: int
    is_limit: ClassVar[bool] = True
    is_of_cost: ClassVar[bool] = False

    def has_room_for(self, tree):
        """Whether a tree keeps to a limit of size, which a choice on other rows cannot promise."""
        return tree.n_parameters <= self.limit

    def is_small(self, cost, tree):
        """Whether a tree meets the goal: smaller ones cost more."""
        del cost
        return self.has_room_for(tree)

    def prefers(self, other, chosen):
        """See :class:`Knee`."""
        return self.has_room_for(other[0]) and other[1] < chosen[1]

    def aim(self, problem, price):
        """See :class:`Knee`."""
        del problem
        return AtMost(self.limit, price)

    def choose(self, costs, trees, where=""):
        """Position of the best tree; `costs` in percent, `where` that is not of the fit's rows."""
        del where
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(sizes <= self.limit)
        if len(meets) == 0:
            tell(f"No tree has at most {self.limit} parameters; the smallest has {sizes.min()}.")
            return int(np.lexsort((costs, sizes))[0])
        return int(meets[np.lexsort((sizes[meets], np.asarray(costs)[meets]))[0]])


@dataclass(frozen=True)
class MaxCostIncrease:
    """Fewest parameters with at most so many percent of cost increase; else the least cost."""

    limit: float
    is_limit: ClassVar[bool] = True
    is_of_cost: ClassVar[bool] = True

    def has_room_for(self, tree):
        """Whether a tree is not too large; see :class:`MaxParameters`."""
        del tree
        return True

    def is_small(self, cost, tree):
        """Whether a tree no longer meets the goal: smaller ones cost more."""
        del tree
        return cost > self.limit + _ROUNDING

    def prefers(self, other, chosen):
        """See :class:`Knee`."""
        sizes = other[0].n_parameters, chosen[0].n_parameters
        return not self.is_small(other[1], other[0]) and sizes[0] < sizes[1]

    def aim(self, problem, price):
        """See :class:`Knee`."""
        return Within(problem.cost_at(self.limit + _ROUNDING), price)

    def choose(self, costs, trees, where=""):
        """Position of the best tree; `costs` in percent, `where` that is not of the fit's rows."""
        costs = np.asarray(costs)
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(costs <= self.limit + _ROUNDING)
        if len(meets) == 0:
            tell(
                f"No tree costs at most {self.limit:g} % over the free clustering{where}; the best "
                f"costs {costs.min():.3g} %. A larger depth may do better."
            )
            return int(np.lexsort((sizes, costs))[0])
        return int(meets[np.lexsort((costs[meets], sizes[meets]))[0]])


def goal_of(max_parameters=None, max_cost_increase=None):
    """The goal that one of two limits stands for; None if there is none.

    Raises
    ------
    ValueError
        If both are given.
    """
    if max_parameters is not None and max_cost_increase is not None:
        raise ValueError("Give max_parameters or max_cost_increase, not both.")
    if max_parameters is not None:
        return MaxParameters(max_parameters)
    return None if max_cost_increase is None else MaxCostIncrease(max_cost_increase)


def knee(models, *, max_parameters=None, max_cost_increase=None, validation=None, **options):
    """Choose one of some fitted models.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
        Those of infinite cost increase, where the free clustering costs nothing, do not count.
    max_parameters : int, optional
        Least cost with at most so many parameters.
    max_cost_increase : float, optional
        Fewest parameters with at most so many percent of cost increase.
        Without either, the knee of the curve: the model with the least sum of log(1 + cost) and
        log(parameters), each scaled to 0..1 over the models, of those that keep most clusters, or
        98 % as many, and, if there are such, cost at most 3 %.
    validation : array-like or CSR matrix of shape (n, d), optional
        Rows that the models have not seen: costs are those of :meth:`TAOClustering.cost_increase`
        on them. Default: the costs of the rows of the fit.
    **options
        `sample_weight`, `embedding` or `y` of these rows.

    Returns
    -------
    One of the models

    Raises
    ------
    ValueError
        If both limits are given, or there are no models.

    Warns
    -----
    UserWarning
        If no model keeps to the limit; then the nearest one is returned.

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
    trees = [model.tree_ for model in models]
    goal = goal_of(max_parameters, max_cost_increase) or Knee()
    return models[goal.choose(costs, trees)]
