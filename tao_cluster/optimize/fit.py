"""Fits of one tree or of a path: functions from a problem and settings to results."""

import itertools
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._utils.optional import progress_bar
from .._utils.threads import check_interrupted
from .._utils.warnings import warn
from ..outofcore.refinement import refine, relabel_leaves
from ..outofcore.statistics import AllRows, WeightedRows
from ..problem.problem import Result
from ..reference import optimal_centers
from ..tree import Tree
from ..tree.routing import kernel_arrays
from .diagnostics import range_of_lambda, warn_choice, warn_unsolved
from .direct_form import finished, refitted
from .leaf_path import LeafPath, leaf_grid, trees_for
from .level_fit import WiderTable, fit_with_sets
from .path import Knee, follow_path, lambda_grid, search_path, starting_trees, typical_lambda
from .penalty_method import with_histograms
from .pruning import without_useless_splits
from .settings import Settings, check_path
from .state import History, Search
from .tree_step import Routed, TreeStep

# If held-out rows determine lambda, the tree fitted to all rows can exceed the size limit. Lambda
# is then multiplied by `_MORE` again and again (at most `_MOST_MORE` - 1 times) until the tree is
# within the limit.
_MORE, _MOST_MORE = 1.15, 20
_NO_LIMIT = Knee()
# So many trees near the knee get their last passes before one of them is chosen.
_N_CONTENDERS = 2
# If the tree is fitted to a sample of the rows, passes over all rows improve it afterwards. The
# first number is the maximum number of these passes. The second one replaces it if the fit has a
# limit of size or cost, because several trees then need the passes.
_N_PASSES, _N_PASSES_TO_LIMIT = 3, 1
_SHOWN = ("stage", "lambda", "mu", "cost_increase", "leaves", "non_zeros")


@dataclass(frozen=True)
class Method:
    """Fits of trees and of paths with the parameters of one estimator.

    Parameters
    ----------
    settings : Settings
    random_state : int, RandomState instance or None
    verbose : int
        If it is above 0, a fit shows a progress bar.
    """

    settings: Settings
    random_state: Any
    verbose: int

    @property
    def objective(self):
        """Clustering objective whose cost the fit minimises."""
        return self.settings.objective

    @property
    def validation(self):
        """Rows to hold out, as a share of the rows, row numbers or a mask; None for no rows."""
        return self.settings.validation

    @property
    def improves(self):
        """Whether passes over rows beyond the fitted sample may change the tree (out of core)."""
        return self.settings.relax

    @property
    def tests_sets(self):
        """Whether tests can be sets of levels of a categorical variable."""
        return self.settings.algorithm.is_direct and not self.settings.split_kind.prices_weights

    @property
    def midpoints(self):
        """Whether thresholds are halfway between the values of rows."""
        return self.settings.split_kind.midpoints

    def check_data(self, X, weight):
        """Raise a ValueError if the node solver or the penalty does not support X or weights."""
        self.settings.check_data(X, weight)

    def fit_tree(self, problem):
        """Fit one tree to a Problem and return a Result.

        If the problem has categorical variables, tests can be sets of their levels.
        """
        with self._bar() as bar:
            on_record = _shown_in(bar)

            def fit(problem, settings):
                return fit_tree(problem, settings, self.random_state, on_record)

            if problem.levels is not None:
                return fit_with_sets(fit, problem, self.settings, on_record)
            return fit(problem, self.settings)

    def check_path(self, lambdas, leaves):
        """Raise a ValueError if a path does not support the settings, `lambdas` or `leaves`."""
        check_path(self.settings)
        follows_lambda = self.settings.split_kind.prices_weights
        if leaves is not None and follows_lambda:
            raise ValueError("leaves are for split='axis'; paths of oblique trees follow lambdas.")
        if lambdas is not None and not follows_lambda:
            raise ValueError(
                "A path of axis-aligned trees follows the number of leaves, not lambda: give "
                "leaves=[...] instead of lambdas."
            )

    def fit_path(self, problem, lambdas, leaves):
        """Yield one pair per tree of a path: the parameter that changes, as a dict, and a Result.

        The dict is ``{"lambda_": value}`` for oblique and ``{"max_leaves": value}`` for
        axis-aligned trees.
        """
        with self._bar() as bar:
            terms = (self.random_state, _shown_in(bar))
            if self.settings.split_kind.prices_weights:
                for value, result in fit_path(problem, self.settings, lambdas, *terms):
                    yield {"lambda_": value}, result
                return
            wider = None
            if problem.levels is not None:
                wider = WiderTable(problem, self.settings, terms[1])
                problem = wider.problem
            for value, result in fit_leaf_path(problem, self.settings, leaves, *terms):
                yield {"max_leaves": value}, wider.narrowed(result) if wider else result

    def _bar(self):
        return progress_bar(desc="trees", disable=not self.verbose)


def _shown_in(bar):
    """Return an `on_record` callback that shows the record of each tree in a progress bar."""

    def show(record):
        bar.set_postfix({name: record[name] for name in _SHOWN})
        bar.update()

    return show


def fit_tree(problem, settings, random_state, on_record=None):
    """Fit one tree.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    random_state : int, RandomState instance or None
        With an int, each random step of the fit (sampling, initial trees, search) creates its own
        generator with this seed.
    on_record : callable(dict), optional
        It is called with the record of each tree that is evaluated.

    Returns
    -------
    Result

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the fit: the tree is then the best one so far. Also if the
        node solver did not reach its accuracy at some nodes.
    """
    # This comes first, because it needs much memory, and later steps keep memory in use.
    limits = range_of_lambda(problem, settings)
    rows = _Rows.of(problem, settings, random_state, on_record)
    if settings.goal is None:
        fit = _fit_once
    elif not settings.split_kind.prices_weights:
        fit = _fit_leaves
    else:
        fit = _fit_goal if problem.held_out is None else _fit_unseen
    found = fit(rows, random_state)
    warn_unsolved(rows.search)
    warn_choice(problem, settings, found.chosen.tree, found.lambda_, found.costs, limits)
    return _result(rows.search, found.chosen, found.lambda_, **found.attributes)


def fit_path(problem, settings, lambdas, random_state, on_record=None):
    """Fit oblique trees for increasing values of lambda; each fit starts from the tree before.

    Parameters
    ----------
    problem, settings, random_state, on_record
        As for :func:`fit_tree`.
    lambdas : float array, increasing, or None
        None means a grid whose values depend on the data.

    Yields
    ------
    lambda : float
    Result
    """
    rows, effort = _Rows.of(problem, settings, random_state, on_record), settings.effort.on_path()
    lambdas = np.asarray(lambda_grid(problem) if lambdas is None else lambdas)
    points = follow_path(rows.search, lambdas, random_state)
    for lambda_, point in zip(lambdas.tolist(), points, strict=True):
        state = _searched(rows, point.result, point.lambda_, random_state, effort)
        yield lambda_, _result(rows.search, rows.priced(state, lambda_), lambda_)
    warn_unsolved(rows.search)


def fit_leaf_path(problem, settings, sizes, random_state, on_record=None):
    """Fit axis-aligned trees with increasing numbers of leaves.

    Parameters
    ----------
    problem, settings, random_state, on_record
        As for :func:`fit_tree`.
    sizes : list of int, increasing, or None
        Maximum numbers of leaves. None means up to ten numbers in geometric steps. The first one
        is the number of clusters.

    Yields
    ------
    n_leaves : int
    Result
    """
    rows = _Rows.of(problem, settings, random_state, on_record)
    path = LeafPath(rows.search, random_state)
    for n_leaves in leaf_grid(*path.sizes) if sizes is None else sizes:
        yield n_leaves, _result(rows.search, rows.priced(path.at(n_leaves), 0.0, path.starts), 0.0)


def until_interrupted(results):
    """Yield results, and end without an error if a KeyboardInterrupt follows the first result.

    A KeyboardInterrupt before the first result is raised.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the results.
    """
    has_result = False
    try:
        for result in results:
            has_result = True
            yield result
            check_interrupted()
    except KeyboardInterrupt:
        if not has_result:
            raise
        warn("Interrupted; the best so far is kept.", ConvergenceWarning)


class _Priced(NamedTuple):
    """A finished tree, its cost increase over the free clustering in percent, and row leaves.

    `leaf_of_row` is the leaf of each row, an int array of shape (n,), or None if it is not known.
    """

    tree: Tree
    cost: float
    leaf_of_row: np.ndarray | None = None


class _Found(NamedTuple):
    """The tree that a fit has chosen, with its lambda and its cost.

    Parameters
    ----------
    chosen : _Priced
    lambda_ : float
        Lambda of the tree. If rows were held out, it is scaled to the weight of all rows.
    costs : list of float
        Cost increases in percent of the tree and of the trees of its path along lambda.
    attributes : dict
        Further fitted attributes of the estimator, by name.
    """

    chosen: _Priced
    lambda_: float
    costs: list
    attributes: dict


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows to which trees are fitted (all rows, a sample or with copies), and all rows.

    Parameters
    ----------
    search : Search
        The search over all rows, or over a sample of `max_rows` rows if there are more. It also
        counts noisy copies of the rows if oblique trees are fitted to few rows.
    whole : Search
        The search over all rows, which computes the costs of trees. Without a sample and without
        copies it is the same object as `search`.
    random_state : int, RandomState instance or None
    """

    search: Search
    whole: Search
    random_state: Any

    @classmethod
    def of(cls, problem, settings, random_state, on_record):
        """Return a _Rows for a problem; it has a sample if there are more than `max_rows` rows."""
        history = History() if on_record is None else History(on_record)
        if settings.max_rows is None or problem.n_rows <= settings.max_rows:
            whole = Search.of(problem, settings, history)
            uses_copies = settings.split_kind.finds_with_copies and settings.relax
            uses_copies &= settings.algorithm.is_direct
            return cls(whole.smoothed if uses_copies else whole, whole, random_state)
        search = Search.of_sample(problem, settings, history, settings.max_rows, random_state)
        settings.check_data(search.problem.X, search.problem.weight)
        # This TreeStep only finds the leaves of rows. It fits no tests, so it needs no solver.
        step = TreeStep(kernel_arrays(problem.X), None, settings.n_jobs)
        return cls(search, Search(problem, settings, step, history), random_state)

    def priced(self, state, lambda_, starts=()):
        """Return the finished tree of a state, and its cost increase over all rows, as _Priced.

        If `search` uses only a sample of the rows, passes over all rows improve the tree first.

        Parameters
        ----------
        state : State, of `search`
        lambda_ : float
            The value of lambda of this tree, for the record of these passes in the history.
        starts : iterable of State
            Earlier states of the fit. If noisy copies lead to a tree that is worse than one of them
            on the rows alone, the tree of `state` is kept.
        """
        settings = self.search.settings
        goal = settings.goal
        # `max_parameters` promises the least cost of the rows; noisy copies would raise it.
        if goal is not None and goal.is_limit and not goal.is_of_cost:
            return self._finished(state, lambda_)
        general = settings.split_kind.generalize(self.search, state, lambda_)
        least = min((start.objective(lambda_) for start in starts), default=np.inf)
        if general is not state and general.objective(lambda_) > least:
            return self._finished(state, lambda_)
        found = self._finished(general, lambda_)
        # If the copies raise the cost above its limit, the tree of the rows alone is kept.
        is_limited = general is not state and goal is not None and goal.is_of_cost
        if is_limited and goal.is_small(found.cost, found.tree):
            return self._finished(state, lambda_)
        return found

    def _finished(self, state, lambda_):
        """Return the tree of a state after the last passes and simplifications: _Priced."""
        search, whole = self.search, self.whole
        if whole is not search:
            state = whole.evaluate(state.pruned)
        if whole is not search.original:
            state = self._refined(state)
            whole.record("polish", state, lambda_)
        tree, leaf_of_row = _final(whole, state)
        return _Priced(tree, whole.problem.cost_increase(state.inertia), leaf_of_row)

    def _refined(self, state):
        """Return a state over all rows after passes over them that lower its cost."""
        whole, settings = self.whole, self.whole.settings
        if not settings.relax:
            return state

        def evaluate(found):
            return whole.evaluate(found.tree)

        source = AllRows.from_problem(whole.problem, settings.n_jobs)
        relabelings = [evaluate(relabel_leaves(source, [state.tree], state.centers))]
        sample, rng = (
            WeightedRows.from_problem(self.search.problem),
            check_random_state(self.random_state),
        )
        has_limit = settings.goal is not None and settings.goal.is_limit
        n_passes = _N_PASSES_TO_LIMIT if has_limit else _N_PASSES
        terms = (evaluate, n_passes, rng, settings.split_kind.midpoints)
        better = refine(source, sample, relabelings[0], *terms)
        return _last(itertools.chain(relabelings, better))

    @property
    def n_contenders(self):
        """Number of trees near the knee that get their last passes before one of them is chosen.

        With many rows it is one, to save time. With few rows, the last passes also use noisy copies
        of the rows and can change the choice.
        """
        has_sample = self.whole is not self.search.original
        has_many = has_sample or self.whole.smoothed is self.whole
        return 1 if has_many else _N_CONTENDERS

    def roughly_priced(self, state):
        """Return the tree of a state with its cost over all rows, but without passes over them."""
        tree = _final(self.search, state).tree
        return _Priced(tree, self.whole.problem.cost_increase(self.whole.evaluate(tree).inertia))


def _fit_once(rows, random_state):
    """Fit the tree at the lambda of the settings."""
    search, settings = rows.search, rows.search.settings
    lambda_ = typical_lambda(rows.whole.problem) if settings.lambda_ is None else settings.lambda_
    trees = starting_trees(search, random_state)
    states = until_interrupted(settings.algorithm.run(search, trees, lambda_, random_state))
    starts = list(itertools.islice(states, 2))  # an initial tree, and the best one after few passes
    state = _last(itertools.chain(starts, states))
    state = _searched(rows, state, lambda_, random_state, settings.effort)
    return _Found(rows.priced(state, lambda_, starts), lambda_, [], {})


def _fit_goal(rows, random_state):
    """Fit trees along a path of lambda, choose one by the goal, and improve it by a search."""
    goal = rows.search.settings.goal
    position, lambdas, trees, costs = _path(rows, goal, random_state)
    chosen = _Priced(trees[position], costs[position])
    lambda_ = lambdas[position]
    if rows.search.settings.searches:
        chosen = _better(rows, goal, chosen, trees, lambda_, random_state)
    return _Found(chosen, lambda_, [chosen.cost, *costs], {})


def _path(rows, goal, random_state, revalue=lambda priced: priced, where=""):
    """Follow a path of lambda, and choose a tree by the goal.

    The last passes take most of the time of a tree. Trees that are far from the goal before these
    passes are left without them.

    Parameters
    ----------
    rows : _Rows
    goal : Knee, MaxParameters or MaxCostIncrease
    random_state : int, RandomState instance or None
    revalue : callable(_Priced) -> _Priced
        Exchanges the cost of a tree for the one by which the goal compares trees.
    where : str, the rows on which costs are measured, for a warning

    Returns
    -------
    position : int, the tree that the goal chooses
    lambdas, trees, costs : sequences
    """

    def estimate(point):
        return revalue(rows.roughly_priced(point.estimate))

    if goal.is_limit:

        def measure(point):
            return revalue(rows.priced(point.result, point.lambda_))._replace(leaf_of_row=None)

        path = search_path(rows.search, goal, estimate, measure, random_state)
        lambdas, trees, costs = zip(*until_interrupted(path), strict=True)
        return goal.choose(costs, trees, where), lambdas, trees, costs

    search, lambdas = rows.search, lambda_grid(rows.search.original.problem).tolist()
    found, starts = [], []
    for point in until_interrupted(follow_path(search, lambdas, random_state)):
        found.append(estimate(point))
        starts.append(point.state.pruned)

    def ranked(found):
        trees, costs, _ = zip(*found, strict=True)
        return goal.ranked(costs, trees).tolist()

    def with_last_passes(at):
        state = refitted(search, search.evaluate(starts[at]), lambdas[at])
        return at, revalue(rows.priced(finished(search, state), lambdas[at]))

    contenders = ranked(found)[: rows.n_contenders]
    first = (contenders[0], found[contenders[0]])  # it remains if its last passes are interrupted
    for at, priced in until_interrupted(
        itertools.chain([first], map(with_last_passes, contenders))
    ):
        found[at] = priced._replace(leaf_of_row=None)
    position = next((at for at in ranked(found) if at in contenders), contenders[0])
    trees, costs, _ = zip(*found, strict=True)
    return position, lambdas[: len(found)], trees, costs


def _better(rows, goal, chosen, trees, lambda_, random_state):
    """Search from the chosen tree for one that suits the goal better, and return the better one.

    Parameters
    ----------
    rows : _Rows
    goal : Knee, MaxParameters or MaxCostIncrease
    chosen : _Priced
    trees : sequence of Tree, those of the path
    lambda_ : float
    random_state : int, RandomState instance or None
    """
    effort, tree = rows.search.settings.effort, chosen.tree
    larger = (other for other in trees if other.n_parameters > tree.n_parameters)
    nearest = min(larger, key=lambda other: other.n_parameters, default=None)
    rivals = [nearest] if goal.is_limit and nearest is not None else []
    before = rows.search.evaluate(tree)
    state = _searched(rows, before, lambda_, random_state, effort, goal, rivals)
    if state is before:
        return chosen
    other = rows.priced(state, lambda_)
    return other if goal.prefers(other, chosen) else chosen


def _searched(rows, state, lambda_, random_state, effort, goal=_NO_LIMIT, rivals=()):
    """Return the best state of the search over structures, or the given state without a search.

    Parameters
    ----------
    rows : _Rows
    state : State
    lambda_ : float
    random_state : int, RandomState instance or None
    effort : Effort
    goal : Knee, MaxParameters or MaxCostIncrease
    rivals : sequence of Tree, further starts of the search
    """
    search = rows.search
    if not search.settings.searches:
        return state
    improve = search.settings.split_kind.local_search
    states = improve(search, state, lambda_, goal, effort, rivals, random_state)
    return _last(until_interrupted(itertools.chain([state], states)))


def _last(results):
    (last,) = deque(
        results, maxlen=1
    )  # a deque, because each other state holds arrays over the rows
    return last


def _fit_unseen(rows, random_state):
    """Choose lambda by the cost on held-out rows, and fit a tree to all rows with this lambda.

    Trees are fitted along two paths of increasing lambda. The first path is without the held-out
    rows, whose cost then chooses lambda. The second one uses all rows and ends at that lambda.
    """
    problem, settings = rows.whole.problem, rows.search.settings
    goal, history = settings.goal, rows.search.history
    seen = problem.training_part()
    share = float(seen.weight.sum() / problem.weight.sum())
    part = _Rows.of(seen, settings, random_state, history.on_record)
    unseen = problem.validation_part(seen.free.centers)

    def revalue(priced):
        return _Priced(priced.tree, _cost_increase_on(unseen, seen, priced.tree))

    terms = (revalue, " on the rows held out")
    position, lambdas, _, costs = _path(part, goal, random_state, *terms)
    chosen = lambdas[position] / share
    tried = np.array([value / share for value in lambdas])
    grid = np.unique(np.append(tried[tried <= chosen], chosen))
    grid = np.append(grid, chosen * _MORE ** np.arange(1, _MOST_MORE))
    for lambda_, point in zip(grid, follow_path(rows.search, grid, random_state), strict=True):
        if lambda_ < chosen:
            continue
        priced = rows.priced(point.result, float(lambda_))
        if goal.has_room_for(priced.tree):
            break
    # A limit of cost applies to the held-out rows, so the search over the fitted rows ignores it.
    further = _NO_LIMIT if goal.is_of_cost else goal
    chosen = _better(rows, further, priced, (), float(lambda_), random_state)
    attributes = {"validation_cost_increase_": float(costs[position])}
    return _Found(chosen, float(lambda_), [chosen.cost], attributes)


def _fit_leaves(rows, random_state):
    """Fit axis-aligned trees with several numbers of leaves, and choose one of them by the goal.

    The goal is the knee of the costs, or a limit of the size or cost. If some rows are held out,
    trees are grown over the other rows, and the number of leaves is chosen by their cost on the
    held-out rows. A tree with this number of leaves is then fitted to all rows.
    """
    goal, path = rows.search.settings.goal, LeafPath(rows.search, random_state)
    attributes = {}
    if rows.whole.problem.held_out is None:
        terms = (lambda state: rows.priced(state, 0.0), rows.roughly_priced)
        chosen = _last(until_interrupted(trees_for(path, goal, *terms)))
        goal.choose([chosen.cost], [chosen.tree])  # warns if the tree is not within the limit
    else:
        size, cost = _size_on_unseen(rows, path, random_state)
        chosen = rows.priced(path.at(size), 0.0)
        attributes = {"validation_cost_increase_": cost}
    return _Found(chosen, 0.0, [], attributes)


def _size_on_unseen(rows, path, random_state):
    """Return the number of leaves that suits the goal best on held-out rows, and the cost there.

    The cost is a cost increase over the free clustering in percent.
    """
    problem, settings = rows.whole.problem, rows.search.settings
    seen = problem.training_part()
    part = _Rows.of(seen, settings, random_state, rows.search.history.on_record)
    unseen = problem.validation_part(seen.free.centers)
    growing = LeafPath(part.search, random_state)

    def measured(n_leaves):
        tree = part.roughly_priced(growing.grown(n_leaves)).tree
        return n_leaves, tree, _cost_increase_on(unseen, seen, tree)

    grid = leaf_grid(*path.sizes)
    found = list(until_interrupted(measured(n_leaves) for n_leaves in grid))
    sizes, trees, costs = zip(*found, strict=True)
    position = settings.goal.choose(costs, trees, " on the rows held out")
    return sizes[position], float(costs[position])


def _cost_increase_on(unseen, seen, tree):
    """Return the cost increase in percent of a tree on rows that it was not fitted to.

    Parameters
    ----------
    unseen : Problem
        The rows that the tree was not fitted to, with the free centres of the fitted rows.
    seen : Problem
        The fitted rows, which determine the centres of the clusters of the tree.
    tree : Tree
    """
    labels = tree.leaf_label[tree.route(kernel_arrays(seen.X))]
    centers, _ = optimal_centers(seen.objective, seen.data, labels, seen.weight, seen.free)
    labels = tree.leaf_label[tree.route(kernel_arrays(unseen.X))]
    return unseen.cost_increase(unseen.objective.value(unseen.data, labels, unseen.weight, centers))


def _final(search, state):
    """Return the tree of a state after the last simplifications, and the leaf of each row."""
    settings = search.settings
    if settings.has_direct_passes:
        state = without_useless_splits(search, state)
    tree, leaf_of_row = search.step.routed(state.pruned)
    terms = (search.step, search.problem.weight, settings.trim)
    tree = settings.split_kind.postprocess(tree, leaf_of_row, *terms)
    if not settings.penalty.is_binary and tree.leaf_value is None:
        # The penalty needs histograms in leaves, but initial trees and direct passes set none.
        tree = with_histograms(search, tree, leaf_of_row)
    return Routed(tree, leaf_of_row)


def _result(search, priced, lambda_, **further):
    history = [dict(record) for record in search.history.records]
    attributes = {"history_": history, "n_iter_": len(history), "best_lambda_": lambda_}
    return Result(priced.tree, attributes | further, priced.leaf_of_row)
