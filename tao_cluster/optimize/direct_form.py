"""The direct form: descent on the clustering cost itself, without assignments Z (mu = infinity).

The rows at a node are labelled by the child whose leaf costs them less and weigh by how much;
a node is fitted to that with strength lambda, a leaf takes the label of least summed cost, and
the centres follow. The form is ours; in the notation of the KDD'22 paper it is what its
penalty method tends to, with the true costs in place of 0/1 mismatches.

`descend` is the one loop of passes of oblique and axis-aligned trees, which the penalty method
and the searches over structures use, too.
"""

import itertools
from dataclasses import dataclass
from typing import ClassVar

# A direct fit at one lambda approaches it from below: clusters that a tree loses while lambda
# is large do not come back.
_APPROACH = (0.1, 1.0)

_START_PASSES = 3  # over each initial tree
_PATIENCE = 2  # passes without a better tree

# Initial trees are compared on a sample of so many rows where there are twice as many.
_PILOT_ROWS = 10_000


@dataclass(frozen=True)
class DirectForm:
    """Passes that descend on the cost, at a tenth of lambda and then at lambda.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import DirectForm, TAOClustering
    >>> model = TAOClustering(3, lambda_=1.0, algorithm=DirectForm(), random_state=0)
    >>> model.fit(load_iris().data).tree_.n_leaves
    3
    """

    is_direct: ClassVar[bool] = True

    def run(self, search, trees, lambda_, random_state=None):
        """Descend from the best of some initial trees.

        Parameters
        ----------
        search : Search
        trees : iterator of Tree
        lambda_ : float
        random_state : int, RandomState instance or None
            Of the sample of rows on which initial trees are compared.

        Yields
        ------
        State, of which the last one is the result
        """
        first = next(trees)
        yield search.evaluate(first)
        strengths = [share * lambda_ for share in _APPROACH]
        for state in starts(search, itertools.chain([first], trees), strengths[0], random_state):
            yield state
        for strength in strengths:
            state = descend(search, state, strength)
            yield state
        yield from finish(search, state, lambda_)


def descend(
    search,
    state,
    lambda_,
    *,
    stage="direct",
    n_passes=None,
    step=None,
    price=None,
    keeps_start=True,
):
    """Passes of Tree Alternating Optimization, and new centres after each.

    Where a solver is exact, an update of a node is accepted only if it lowers the node's loss
    plus its price. Others' are all accepted: the cost does not see the scale of w but ||w||_1
    does, so an update of a node cannot be judged by their sum. Whole trees are: the result is the
    one of least objective (4), so that a descent never ends above where it starts.

    Parameters
    ----------
    search : Search
    state : State, where to start
    lambda_ : float
    stage : str, of the history
    n_passes : int, the most; default as many as suit the kind of tests
    step : TreeStep, default the search's
    price : float, default lambda_
        The lambda of the objective by which trees are compared; 0 compares their costs.
    keeps_start : bool, default=True
        Whether `state` itself may be the result. Not where the scale of its weights means nothing,
        as for initial trees, unless updates are judged.

    Returns
    -------
    State
    """
    settings, step = search.settings, step or search.step
    price = lambda_ if price is None else price
    is_judged = settings.solver.is_exact
    best, waited = state if keeps_start or is_judged else None, 0
    for _ in range(n_passes or settings.split_kind.n_passes):
        found = step.one_pass(state.routed, search.criterion(state), lambda_, is_judged)
        if found.tree is state.tree:
            break
        state = search.evaluate(*found)
        is_better = best is None or state.objective(price) < best.objective(price)
        search.record(stage, state, lambda_, kept=is_better)
        best, waited = (state, 0) if is_better else (best, waited + 1)
        if waited == _PATIENCE:  # judged ones, too, may change labels among equal centres for ever
            break
    return state if best is None else best


def starts(search, trees, lambda_, random_state):
    """Yield the state that a descent starts from, and a better one where there is a search for it.

    Parameters
    ----------
    search : Search
    trees : iterable of Tree, initial trees
    lambda_ : float
    random_state : int, RandomState instance or None
    """
    trees, again = itertools.tee(trees)
    state = best_start(search, trees, lambda_, random_state)
    yield state
    if search.settings.relax:
        kind = search.settings.split_kind
        yield kind.better_start(search, state, list(again), lambda_, random_state)


def best_start(search, trees, lambda_, random_state):
    """State after a few passes of the initial tree that fares best in them, by objective (4).

    Where there are many rows, a sample tells as well as all which tree that is.

    Parameters
    ----------
    search : Search
    trees : iterable of Tree
    lambda_ : float
    random_state : int, RandomState instance or None

    Returns
    -------
    State
    """
    problem, settings = search.problem, search.settings
    if problem.n_rows < 2 * _PILOT_ROWS or not settings.split_kind.samples_rows:
        return _best_start(search, trees, lambda_)
    pilot = type(search).of_sample(problem, settings, search.history, _PILOT_ROWS, random_state)
    tree = _best_start(pilot, trees, lambda_).tree
    del pilot  # its rows in the solver's form, before all rows are looked at
    return search.evaluate(tree)


def _best_start(search, trees, lambda_):
    options = {"stage": "start", "n_passes": _START_PASSES, "keeps_start": False}
    starts = (descend(search, search.evaluate(tree), lambda_, **options) for tree in trees)
    return min(starts, key=lambda state: state.objective(lambda_))


def finish(search, state, lambda_):
    """Yield a state and, where the settings ask for it, the refitted and the finished one."""
    yield state
    if search.settings.relax:
        state = refitted(search, state, lambda_)
        yield state
        yield finished(search, state)


def refitted(search, state, lambda_):
    """Return the state with nodes refitted or leaves regrown, if the settings ask for it."""
    settings = search.settings
    return settings.split_kind.finish(search, state, lambda_) if settings.relax else state


def finished(search, state):
    """Return a refitted state after passes on the true cost, if the settings ask for them."""
    settings = search.settings
    return settings.split_kind.tune(search, state) if settings.relax else state
