"""The direct form: descent on the clustering cost itself, as a function of tree and centres.

The penalty method of the KDD'22 paper also optimises an assignment Z of the rows; the direct form
has no Z.

At a node, the pseudo-label of a row is the child whose leaf costs it less, and the instance weight
is the difference of both costs. The node is fitted to these with regularization strength lambda. A
leaf takes the label of least summed cost, and the centres are updated after each pass. The direct
form is not in the paper. In the notation of the paper it is the limit of the penalty method for mu
to infinity, with real costs in place of 0/1 mismatches.

`descend` is the loop over passes for oblique and axis-aligned trees. The penalty method and the
searches over structures use it, too.
"""

import itertools
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from .._utils.options import check_fields, repr_of_changes

# A fit optimises the tree at these shares of its lambda, one after the other. It starts below its
# lambda, because clusters that a tree loses at a large lambda do not return.
_APPROACH = (0.1, 1.0)

_START_PASSES = 3  # passes over each initial tree before the trees are compared
_PATIENCE = 2  # a descent ends after this many passes without a better tree

# Initial trees are compared on a sample of this size if there are at least twice as many rows.
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
        leaves where they reduce the cost most. ``relax=False`` also turns the search off, and the
        noisy copies that trees of at most 10 000 rows are fitted to.
    search : {"auto", "none", "fast", "thorough"}, default="auto"
        How long `fit` searches for a better structure of the tree. For oblique trees, "fast" makes
        four rounds, and fewer for large data. "thorough" makes 30 rounds, also for each tree of a
        path. "auto" makes one round if the fit has a limit (`max_parameters` or
        `max_cost_increase`); otherwise it only compares the tree with small axis-aligned trees. For
        axis-aligned trees, "thorough" makes three times as many passes as "fast", and "auto" is
        "fast".
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
    max_features_per_test : int, default=None
        Maximum number of features in each test of an oblique tree. With 2, each test can be drawn
        as a line in the plane (bivariate trees, Kairgeldin & Carreira-Perpinan, KDD 2024). None
        sets no limit. Axis-aligned tests have one variable in any case.
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
    max_features_per_test: int | None = None
    node_solver: Any = "newton"

    is_direct: ClassVar[bool] = True
    _constraints: ClassVar[dict] = {
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "relax": ["boolean"],
        "search": [StrOptions({"auto", "none", "fast", "thorough"})],
        "trim": [Interval(Real, 0, 1, closed="both")],
        "max_rows": [StrOptions({"auto"}), None, Interval(Integral, 1, None, closed="left")],
        "max_features_per_test": [None, Interval(Integral, 1, None, closed="left")],
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
        """Settings of the direct passes: this object itself."""
        return self

    def run(self, search, trees, lambda_, random_state=None):
        """Optimise the best of some initial trees by passes of the direct form.

        Parameters
        ----------
        search : Search
        trees : iterator of Tree
        lambda_ : float
        random_state : int, RandomState instance or None
            Seed of the sample of rows on which initial trees are compared, and of the search for a
            better start.

        Yields
        ------
        State
            The last one is the result.
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
    """Run passes of Tree Alternating Optimization, and update the centres after each pass.

    With an exact node solver, an update of a node is accepted only if it lowers the loss plus the
    penalty of the node. With other solvers all updates are accepted: the cost does not depend on
    the scale of w but ||w||_1 does, so their sum cannot judge an update. The result is the tree
    with the least cost + price * sum_i ||w_i||_1. With `keeps_start`, the result is thus never
    worse than the start.

    Parameters
    ----------
    search : Search
    state : State
        The start.
    lambda_ : float
    stage : str
        Name of the stage in the history.
    n_passes : int, optional
        Maximum number of passes; the default depends on the kind of splits.
    step : TreeStep, optional
        By default the step of the search.
    price : float, default=lambda_
        Factor of sum_i ||w_i||_1 in the comparison of trees. 0 compares costs alone.
    keeps_start : bool, default=True
        Whether `state` itself can be the result. It should be False for initial trees, because the
        scale of their weights is arbitrary. With an exact node solver, `state` can always be the
        result.

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
        if waited == _PATIENCE:  # labels can alternate for ever among equal centres
            break
    return state if best is None else best


def starts(search, trees, lambda_, random_state):
    """Yield the best initial tree after some passes, and then a start found by a search.

    The second one is left out if the settings turn the search off.

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
    """Return the initial tree that has the least objective (4) after a few passes.

    Noisy copies of rows are left out of these passes. If there are many rows, the trees are
    compared on a sample of the rows.

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
        rows = search.original
        return search.take(_best_start(rows, trees, lambda_), rows)
    pilot = type(search).of_sample(problem, settings, search.history, _PILOT_ROWS, random_state)
    tree = _best_start(pilot, trees, lambda_).tree
    del pilot  # frees the copy of the sampled rows before all rows are used
    return search.evaluate(tree)


def _best_start(search, trees, lambda_):
    options = {"stage": "start", "n_passes": _START_PASSES, "keeps_start": False}
    starts = (descend(search, search.evaluate(tree), lambda_, **options) for tree in trees)
    return min(starts, key=lambda state: state.objective(lambda_))


def finish(search, state, lambda_):
    """Yield a state and, with relax=True, also that after refits and that after exact passes."""
    yield state
    if search.settings.relax:
        state = refitted(search, state, lambda_)
        yield state
        yield finished(search, state)


def refitted(search, state, lambda_, is_rough=False):
    """Refit the nodes, or regrow the leaves of an axis-aligned tree; return the resulting state.

    If `relax` is False, the state is returned unchanged. With `is_rough`, oblique nodes are
    refitted only once, to compare trees.
    """
    settings = search.settings
    return settings.split_kind.refit(search, state, lambda_, is_rough) if settings.relax else state


def finished(search, state):
    """Run passes that minimise the clustering cost itself, and return the resulting state.

    If `relax` is False, the state is returned unchanged.
    """
    settings = search.settings
    return settings.split_kind.optimize_exact(search, state) if settings.relax else state
