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
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._utils.options import check_fields, repr_of_changes

# A direct fit at one lambda approaches it from below: clusters that a tree loses while lambda
# is large do not come back.
_APPROACH = (0.1, 1.0)

_START_PASSES = 3  # over each initial tree
_PATIENCE = 2  # passes without a better tree

# Initial trees are compared on a sample of so many rows where there are twice as many.
_PILOT_ROWS = 10_000


@dataclass(frozen=True, repr=False)
class DirectForm:
    """Settings of the direct form: ``TAOClustering(algorithm=DirectForm(...))``.

    The direct form minimises eq. (4) of the KDD'22 paper itself, without the assignments Z and the
    penalty mu of its eq. (6). The defaults suit most data.

    Parameters
    ----------
    n_init : int, default=4
        Number of initial trees. Each one gets three passes; the tree with the least objective (4)
        is optimised further. Initial trees that do not depend on random numbers are built once.
    relax : bool, default=True
        Refit each node on the features that it has kept, with less shrinkage (adaptive and relaxed
        lasso), and then optimise it for the clustering cost itself. For axis-aligned trees, regrow
        leaves where they reduce the cost most. ``relax=False`` also turns the search off.
    search : {"auto", "none", "fast", "thorough"}, default="auto"
        How long `fit` searches for a better structure of the tree. "fast" makes a few rounds, and
        fewer for large data. "thorough" makes 30 rounds, also for each tree of a path; on digits
        it finds trees with 7 % fewer parameters at equal cost in nine times the time. For
        axis-aligned trees, "thorough" makes three times as many passes as "fast". "auto" is "fast".
    trim : float in [0, 1], default=0.05
        At the end, remove a weight w_j of a node if the standard deviation of w_j x_j is less than
        this share of the largest one at the node and if no row then changes its side. 0 keeps all
        weights.
    max_rows : "auto", int or None, default="auto"
        If X has more distinct rows, a weighted sample of this size finds the tree. The free
        clustering is that of all rows. With ``relax=True``, passes over all rows then improve the
        tests and labels (as in :func:`tao_cluster.outofcore.fit`). Centres and cost are those of
        all rows. "auto" is 100 000, or 1000 per cluster if that is more; axis-aligned trees then
        use all rows. None always uses all rows.
    node_solver : "newton" or NodeSolver, default="newton"
        Solver of the logistic regression at an oblique node. It must support instance weights;
        LIBLINEAR does not (see :class:`PenaltyMethod`). Axis-aligned nodes are always solved by
        exact enumeration.

    Raises
    ------
    ValueError
        If a value is not allowed.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import DirectForm, TAOClustering
    >>> model = TAOClustering(3, lambda_=1.0, algorithm=DirectForm(n_init=1), random_state=0)
    >>> model.fit(load_iris().data).tree_.n_leaves
    3
    """

    n_init: int = 4
    relax: bool = True
    search: str = "auto"
    trim: float = 0.05
    max_rows: str | int | None = "auto"
    node_solver: Any = "newton"

    is_direct: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "relax": ["boolean"],
        "search": [StrOptions({"auto", "none", "fast", "thorough"})],
        "trim": [Interval(Real, 0, 1, closed="both")],
        "max_rows": [StrOptions({"auto"}), None, Interval(Integral, 1, None, closed="left")],
        "node_solver": [StrOptions({"newton", "liblinear"}), HasMethods("bind")],
    }

    __repr__ = repr_of_changes

    def __post_init__(self):
        check_fields(self)
        if not self.relax and self.search in ("fast", "thorough"):
            raise ValueError(
                f"DirectForm(search={self.search!r}) needs relax=True: the search refits its trees."
            )

    @property
    def direct_form(self):
        """The settings of direct passes: these."""
        return self

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
    is_judged = settings.direct_solver.is_exact
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
    if search.settings.searches:
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
    return settings.split_kind.refit(search, state, lambda_) if settings.relax else state


def finished(search, state):
    """Return a refitted state after passes on the true cost, if the settings ask for them."""
    settings = search.settings
    return settings.split_kind.optimize_exact(search, state) if settings.relax else state
