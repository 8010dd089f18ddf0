"""Warnings at the end of a fit: unsolved nodes, lost clusters, unsuitable lambda, high cost."""

from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._utils.warnings import warn
from .oblique import lambda_grid

# `fit` warns if lambda is more than `_FAR_ABOVE` times the largest value of `lambda_grid`, or less
# than the smallest value divided by `_FAR_BELOW`.
_FAR_ABOVE, _FAR_BELOW = 10.0, 1000.0
# `fit` warns if the tree of a path costs more than this percentage over the free clustering, and if
# any tree costs more than the second percentage over a trimmed clustering.
_HIGH_COST, _HIGH_TRIMMED = 10.0, 20.0


def warn_unsolved(search):
    """Warn once about all nodes at which the node solver did not converge."""
    unsolved = [status for status in search.step.unsolved.values() if status is not None]
    if unsolved:
        gap = max(status.gap for status in unsolved)
        warn(
            f"The node solver did not reach its accuracy at {len(unsolved)} node(s): the relative "
            f"error of its objective may be up to {gap:.2g}. Scale the columns (standardize=True) "
            "or remove extreme values.",
            ConvergenceWarning,
        )


def range_of_lambda(problem, settings):
    """Return the smallest and the largest lambda of the default path of trees for a problem.

    Returns
    -------
    low, high : float
        0 and infinity if the user gave no positive lambda, if splits are axis-aligned, or if there
        is only one cluster.
    """
    is_given = settings.goal is None and settings.lambda_ and settings.is_oblique
    if not is_given or problem.n_clusters < 2:
        return 0.0, np.inf
    low, *_, high = lambda_grid(problem)
    return float(low), float(high)


def warn_choice(problem, settings, chosen, costs, limits):
    """Warn once if the tree has lost clusters, lambda is unsuitable, or the cost is high.

    Parameters
    ----------
    problem : Problem
        All rows.
    settings : Settings
    chosen : Candidate
    costs : list of float
        Cost increases in percent of the trees of a path over lambda; empty without such a path.
    limits : tuple of float
        Result of :func:`range_of_lambda`.
    """
    n_clusters = problem.n_used(problem.free.labels)
    n_lost = n_clusters - problem.n_used(chosen.tree.leaf_label[chosen.tree.leaves])
    lambda_ = chosen.size if settings.is_oblique else 0.0
    low, high = limits
    goal, automatic = settings.goal, "lambda_='auto' and tao_path choose lambda from the data"
    is_knee = bool(costs) and goal is not None and not goal.is_limit
    if n_lost > 0:
        has_leaf_size = problem.leaf_size is not None
        terms = (n_clusters, n_lost, lambda_, chosen.cost, limits, has_leaf_size)
        warn(_lost_clusters(settings, *terms))
    elif lambda_ > _FAR_ABOVE * high:
        warn(
            f"lambda_={lambda_:.3g} is large for these data: above about {high:.2g} trees keep "
            f"very few parameters; {automatic}."
        )
    elif lambda_ < low / _FAR_BELOW:
        warn(
            f"lambda_={lambda_:.3g} is small for these data: below about {low:.2g} hardly any "
            f"weight is removed; {automatic}."
        )
    elif problem.objective.trims and _HIGH_TRIMMED < chosen.cost < np.inf:
        warn(
            f"The tree costs {chosen.cost:.3g} % more than the trimmed clustering. Give it more "
            "leaves, or a larger share of rows without a cluster: Trimmed(..., "
            f"share={max(0.05, min(0.45, 2 * problem.objective.share)):.2g})."
        )
    elif is_knee and _HIGH_COST < chosen.cost < np.inf and not problem.objective.explains_labels:
        reason = f" (trees along lambda: {min(costs):.3g} % or more)"
        if problem.held_out is not None:
            reason = "; lambda was chosen on the held-out rows"
        other = ""
        if settings.parameters["reference"] is not None:
            other = (
                " If the reference was made for another objective, its labels can be explained "
                "instead: objective='labels'."
            )
        warn(
            f"The tree costs {chosen.cost:.3g} % more than the free clustering{reason}. "
            f"{_larger_search(settings)} may reduce the cost, and so may a limit, such as "
            f"max_cost_increase={_HIGH_COST / 2:g}.{other}"
        )


def _lost_clusters(settings, n_clusters, n_lost, lambda_, cost, limits, has_leaf_size):
    """Return a warning that the tree has fewer clusters than asked for.

    It names a parameter to change.
    """
    most_leaves, goal = settings.limits.most_leaves, settings.goal
    if most_leaves is not None and most_leaves < n_clusters:
        remedy = f"Use a depth of {int(np.ceil(np.log2(n_clusters)))} or more"
        if most_leaves == settings.limits.max_leaves:
            remedy = f"Use max_leaves of {n_clusters} or more"
        return (
            f"A tree of at most {most_leaves} leaves cannot have all {n_clusters} clusters; "
            f"{n_lost} {'is' if n_lost == 1 else 'are'} lost. {remedy}."
        )
    remedy = _larger_search(settings)
    if goal is not None and goal.limits_size:
        remedy = "A larger max_parameters"
    elif goal is not None and goal.limits_cost and goal.allows(cost):
        remedy = "A smaller max_cost_increase"
    elif has_leaf_size:
        remedy = "A smaller min_samples_leaf"
    elif not settings.is_oblique:
        remedy = "A larger max_leaves"
    elif goal is None and lambda_ > limits[0] > 0:
        remedy = f"A smaller lambda_ than {lambda_:.3g}, or 'auto',"
    return f"The tree has lost {n_lost} of {n_clusters} clusters. {remedy} may keep them."


def _larger_search(settings):
    """Return words of a message that name parameters which make the search longer."""
    algorithm = replace(settings.algorithm, n_init=2 * settings.n_init)
    remedy = f"more initial trees, algorithm={algorithm!r},"
    if settings.limits.most_depth is None:  # the initial tree has no depth to choose
        return remedy[0].upper() + remedy[1:]
    return f"A larger depth, or {remedy}"
