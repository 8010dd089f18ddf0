"""What a fit tells its user: nodes not solved, lost clusters, an odd lambda, a dear tree."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.warnings import warn
from .path import Knee, lambda_grid

# Lambda is out of its range so many times beyond the ends of the grid.
_FAR_ABOVE, _FAR_BELOW = 10.0, 1000.0


def warn_unsolved(search):
    """One warning for all nodes at which the solver gave up."""
    unsolved = search.step.unsolved
    if unsolved:
        gap = max(status.gap for status in unsolved.values())
        warn(
            f"The node solver did not reach its accuracy at {len(unsolved)} node(s): its objective "
            f"may be up to {gap:.2g} of itself above the least. Columns on a common scale, or "
            "without extreme values, make it easier.",
            ConvergenceWarning,
        )


def range_of_lambda(problem, settings):
    """Where the path of the data lives, if a lambda was given that may be outside it.

    Returns
    -------
    low, high : float; 0 and infinity where there is nothing to check
    """
    is_given = settings.goal is None and settings.lambda_ and settings.split_kind.prices_weights
    if not is_given or problem.n_clusters < 2:
        return 0.0, np.inf
    low, *_, high = lambda_grid(problem)
    return float(low), float(high)


def warn_choice(problem, settings, tree, lambda_, costs, limits):
    """Warn, once, where a tree has lost clusters, lambda is out of its range, or the tree is dear.

    Parameters
    ----------
    problem : Problem, of all rows
    settings : Settings
    tree : Tree, without dead nodes
    lambda_ : float
    costs : list of float
        Of the tree, in percent, and of those of the path that it was chosen from, if any.
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
            f"lambda_={lambda_:.3g} is large for these data: trees are tiny from about {high:.2g} "
            f"on; {told}."
        )
    elif lambda_ < low / _FAR_BELOW:
        warn(
            f"lambda_={lambda_:.3g} is small for these data: below about {low:.2g} hardly a weight "
            f"is dropped; {told}."
        )
    elif is_knee and Knee.most < costs[0] < np.inf and not problem.objective.explains_labels:
        why = f", and none along lambda less than {min(costs):.3g} %"
        if problem.held_out is not None:
            why = "; lambda was chosen by the rows held out"
        warn(
            f"The tree costs {costs[0]:.3g} % over the free clustering{why}. A larger depth or "
            "n_init may do better."
        )


def _lost(settings, n_clusters, n_lost, lambda_, limits):
    """The sentence that clusters are lost, with the remedy."""
    most_leaves, goal = settings.most_leaves, settings.goal
    if most_leaves is not None and most_leaves < n_clusters:
        remedy = f"Use a depth of {int(np.ceil(np.log2(n_clusters)))} or more"
        if most_leaves == settings.max_leaves:
            remedy = f"Use max_leaves of {n_clusters} or more"
        return (
            f"A tree of at most {most_leaves} leaves cannot have all {n_clusters} clusters; "
            f"{n_lost} {'is' if n_lost == 1 else 'are'} lost. {remedy}."
        )
    remedy = "A larger depth or n_init"
    if not settings.split_kind.prices_weights:
        remedy = "A larger max_leaves"
    if goal is not None and goal.is_limit and not goal.is_of_cost:
        remedy = "A less strict goal"
    elif goal is None and lambda_ > limits[0] > 0:
        remedy = f"A smaller lambda_ than {lambda_:.3g}, or 'auto',"
    return f"The tree has lost {n_lost} of {n_clusters} clusters. {remedy} may keep them."
