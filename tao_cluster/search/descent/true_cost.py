"""Passes on the true cost: nodes are solved for what a tree minimises, with a price a parameter."""

_MOST_PASSES = 4
_LEAST_PROGRESS = 1e-3  # of what the tree costs beyond the free clustering
# The price is so many times the excess cost a parameter: that of a front on which the excess
# falls with about this power of the number of parameters.
_SLOPE = 2.0
_FLOOR = 1e-6  # of what mismatches cost: the excess cost of a tree that has none
_DEARER, _MOST_STEPS = 1.15, 60  # by which the price grows as a tree is taken back


def price_of_parameters(problem, state):
    """Price of a parameter at which the size of a tree is about right: float, positive.

    Parameters
    ----------
    problem : Problem
    state : State
    """
    excess = max(state.inertia - problem.free.inertia, _FLOOR * problem.mismatch_cost)
    return _SLOPE * excess / state.pruned.n_parameters


def tuned(search, state, price, n_passes=_MOST_PASSES):
    """Passes in which no update raises the cost plus the price of the parameters.

    Parameters
    ----------
    search : Search
    state : State
    price : float, of a parameter
    n_passes : int, the most

    Returns
    -------
    State, of a tree without dead nodes
    """
    enough = _LEAST_PROGRESS * max(0.0, state.inertia - search.problem.free.inertia)
    for _ in range(n_passes):
        tree = search.exact_step.one_pass(state.pruned, search.criterion(state), price, True)
        if tree is state.pruned:
            break
        other = search.evaluate(tree)
        saving = state.score(price) - other.score(price)
        if saving > 0:  # but for the rounding of sums it always is
            state = other
        search.record("exact", other, price, kept=saving > 0)
        if saving <= enough:
            break
    return state


def taken_back(search, state, price):
    """Yield smaller and smaller trees: tuned at a growing price a parameter.

    Parameters
    ----------
    search : Search
    state : State
    price : float, where to start

    Yields
    ------
    State
    """
    for _ in range(_MOST_STEPS):
        state = tuned(search, state, price, n_passes=1)
        yield state
        if state.pruned.n_leaves == 1:
            break
        price *= _DEARER
