"""Goals in cost or size, and which of several trees or models meets one best."""

from dataclasses import dataclass

import numpy as np

from ..core.telling import tell

_ROUNDING = 1e-9  # of a cost increase, in percent


@dataclass(frozen=True)
class MaxParameters:
    """Least cost with at most so many parameters; else the smallest tree."""

    limit: int

    def is_small(self, cost, tree):
        """Whether a tree meets the goal: smaller ones cost more."""
        del cost
        return tree.n_parameters <= self.limit

    def choose(self, costs, trees):
        """Position of the best tree; `costs` in percent over the free clustering."""
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

    def is_small(self, cost, tree):
        """Whether a tree no longer meets the goal: smaller ones cost more."""
        del tree
        return cost > self.limit + _ROUNDING

    def choose(self, costs, trees):
        """Position of the best tree; `costs` in percent over the free clustering."""
        costs = np.asarray(costs)
        sizes = np.array([tree.n_parameters for tree in trees])
        meets = np.flatnonzero(costs <= self.limit + _ROUNDING)
        if len(meets) == 0:
            tell(
                f"No tree costs at most {self.limit:g} % over the free clustering; the best "
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


def knee(models, *, max_parameters=None, max_cost_increase=None):
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
        log(parameters), each scaled to 0..1 over the models.

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
    """
    models = [model for model in models if np.isfinite(model.cost_increase_)]
    if len(models) == 0:
        raise ValueError("There are no models of finite cost to choose from.")
    costs = [model.cost_increase_ for model in models]
    trees = [model.tree_ for model in models]
    goal = goal_of(max_parameters, max_cost_increase)
    return models[_bend(costs, trees) if goal is None else goal.choose(costs, trees)]


def _bend(costs, trees):
    """Position of the point nearest to the corner of low cost and few parameters."""
    x = np.log([tree.n_parameters for tree in trees])
    y = np.log1p(np.maximum(costs, 0.0))
    width, height = np.ptp(x), np.ptp(y)
    if width == 0 or height == 0:
        return int(np.lexsort((x, y))[0])
    return int(((x - x.min()) / width + (y - y.min()) / height).argmin())
