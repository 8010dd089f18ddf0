"""Warnings of a fit: unsolved nodes, lost clusters, unusual lambda, costly trees."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.warnings import warn
from .path import Knee, lambda_grid

# Lambda is unusual beyond these multiples of the ends of the grid.
_FAR_ABOVE, _FAR_BELOW = 10.0, 1000.0


def warn_unsolved(search):
    """Warn once of all nodes at which the solver did not reach its accuracy."""
    unsolved = search.step.unsolved
    if unsolved:
        gap = max(status.gap for status in unsolved.values())
        warn(
            f"The node solver did not reach its accuracy at {len(unsolved)} node(s): the relative "
            f"error of its objective may be up to {gap:.2g}. Scale the columns (standardize=True) "
            "or remove extreme values.",
            ConvergenceWarning,
        )


def range_of_lambda(problem, settings):
    """Return the ends of the path of the data if a lambda was given that can be outside of it.

    Returns
    -------
    low, high : float
        0 and infinity if there is nothing to check.
    """
    is_given = settings.goal is None and settings.lambda_ and settings.split_kind.prices_weights
    if not is_given or problem.n_clusters < 2:
        return 0.0, np.inf
    low, *_, high = lambda_grid(problem)
    return float(low), float(high)


def warn_choice(problem, settings, tree, lambda_, costs, limits):
    """Warn once if a tree has lost clusters, lambda is outside its range, or the tree is costly.

    Parameters
    ----------
    problem : Problem, of all rows
    settings : Settings
    tree : Tree, without dead nodes
    lambda_ : float
    costs : list of float
        Cost increases in percent of the tree and of the trees of its path along lambda, if there is
        one.
    limits : tuple of float, result of :func:`range_of_lambda`
    """
    n_clusters = len(np.unique(problem.free.labels))
    n_lost = n_clusters - tree.n_clusters
    low, high = limits
    goal, told = settings.goal, "lambda_='auto' and tao_path choose from the data"
    is_knee = bool(costs) and goal is not None and not goal.is_limit
    if n_lost > 0:
        warn(_lost(settings, n_clusters, n_lost, lambda_, limits))
    elif lambda_ > _FAR_ABOVE * high:
        warn(
            f"lambda_={lambda_:.3g} is large for these data: above about {high:.2g} trees have "
            f"few parameters; {told}."
        )
    elif lambda_ < low / _FAR_BELOW:
        warn(
            f"lambda_={lambda_:.3g} is small for these data: below about {low:.2g} nearly all "
            f"weights are kept; {told}."
        )
    elif is_knee and Knee.most < costs[0] < np.inf and not problem.objective.explains_labels:
        why = f", and the least along lambda is {min(costs):.3g} %"
        if problem.held_out is not None:
            why = "; lambda was chosen by the held-out rows"
        warn(
            f"The tree costs {costs[0]:.3g} % more than the free clustering{why}. A larger depth "
            "or more initial trees (algorithm=DirectForm(n_init=16)) may reduce it."
        )


def _lost(settings, n_clusters, n_lost, lambda_, limits):
    """Return the message that clusters are lost, with a remedy."""
    most_leaves, goal = settings.most_leaves, settings.goal
    if most_leaves is not None and most_leaves < n_clusters:
        remedy = f"Use a depth of {int(np.ceil(np.log2(n_clusters)))} or more"
        if most_leaves == settings.max_leaves:
            remedy = f"Use max_leaves of {n_clusters} or more"
        return (
            f"A tree of at most {most_leaves} leaves cannot have all {n_clusters} clusters; "
            f"{n_lost} {'is' if n_lost == 1 else 'are'} lost. {remedy}."
        )
    remedy = "A larger depth or algorithm=DirectForm(n_init=16)"
    if not settings.split_kind.prices_weights:
        remedy = "A larger max_leaves"
    if goal is not None and goal.is_limit and not goal.is_of_cost:
        remedy = "A less strict goal"
    elif goal is None and lambda_ > limits[0] > 0:
        remedy = f"A smaller lambda_ than {lambda_:.3g}, or 'auto',"
    return f"The tree has lost {n_lost} of {n_clusters} clusters. {remedy} may keep them."
