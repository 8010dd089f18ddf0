"""Passes on the true cost: nodes are solved for what a tree minimises, with a price a parameter."""

_MOST_PASSES = 4
_LEAST_PROGRESS = 1e-3  # of what the tree costs beyond the free clustering
# The price is so many times the excess cost a parameter: that of a front on which the excess
# falls with about this power of the number of parameters. It is at most so large a share of what
# a parameter saves on average, without which trees that save little would vanish.
_SLOPE, _MOST_SHARE = 2.0, 0.5
_FLOOR = 1e-6  # of what mismatches cost: the excess cost of a tree that has none
_CHEAPER = 0.25  # the price after a pass that would have lost clusters
_DEARER, _MOST_STEPS = 1.15, 60  # by which the price grows as a tree is taken back


def price_of_parameters(problem, state):
    """Price of a parameter at which the size of a tree is about right: float, positive.

    Parameters
    ----------
    problem : Problem
    state : State
    """
    cost, least = state.inertia, _FLOOR * problem.mismatch_cost
    price = _SLOPE * max(cost - problem.free.inertia, least)
    if state.pruned.n_leaves > 1:  # else nothing can vanish
        price = min(price, _MOST_SHARE * max(problem.undivided_cost - cost, least))
    return price / state.pruned.n_parameters


def tuned(search, state, price, n_passes=_MOST_PASSES, keeps_clusters=True):
    """Passes in which no update raises the cost plus the price of the parameters.

    Parameters
    ----------
    search : Search
    state : State
    price : float, of a parameter
    n_passes : int, the most
    keeps_clusters : bool, default=True
        Whether a pass that loses clusters does not count; the next one has a lower price.

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
        is_poorer = keeps_clusters and other.pruned.n_clusters < state.pruned.n_clusters
        saving = state.score(price) - other.score(price)
        is_better = saving > 0 and not is_poorer
        search.record("exact", other, price, kept=is_better)
        state = other if is_better else state
        price *= _CHEAPER if is_poorer else 1.0
        if saving <= enough and not is_poorer:
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
        state = tuned(search, state, price, n_passes=1, keeps_clusters=False)
        yield state
        if state.pruned.n_leaves == 1:
            break
        price *= _DEARER
