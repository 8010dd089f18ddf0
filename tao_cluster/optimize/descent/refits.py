"""How a descent of oblique trees ends: every node is refitted on the features it has."""

from ...solvers import Refit
from .passes import descend

_REWEIGHTED_PASSES = 1
_RELAXED_PASSES = 4
_N_REWEIGHTINGS = 2
_RELAXED_SHARE = 0.03  # of lambda, in the last refit


def refit(search, state, lambda_):
    """Refit every node on the features it has, with less shrinkage.

    Two rounds with strengths relative to the weights (adaptive lasso) drop features that
    matter little; then a small part of the strength is left (relaxed lasso), and
    thresholds are exact. The cost falls with the shrinkage, the size with the features.

    Parameters
    ----------
    search : Search
    state : State
    lambda_ : float

    Returns
    -------
    State
    """
    step, view = search.step, search.step.view_of(state.tree)
    solver = step.solver

    def passes(state, strength, n_passes, reweights):
        refitting = step.with_solver(Refit(solver, view, reweights))
        # Compared by cost: shrinkage is what a refit takes back.
        options = {"stage": "relax", "n_passes": n_passes, "step": refitting, "price": 0.0}
        return descend(search, state, strength, keeps_start=not reweights, **options)

    for _ in range(_N_REWEIGHTINGS):
        state = passes(state, lambda_, _REWEIGHTED_PASSES, reweights=True)
    return passes(state, _RELAXED_SHARE * lambda_, _RELAXED_PASSES, reweights=False)
