"""Fits of axis-aligned trees: numbers of leaves, the search for a better start, and regrowth.

The number of leaves is the natural measure of size for axis-aligned trees: each further leaf costs
one test of one feature. Trees of two kinds are fitted at a number of leaves:

- :func:`_grown` grows one tree by regrowth and descent. This is fast, and shows where the curve of
  cost over size bends.
- :func:`_at` runs the search of ``TAOClustering(max_leaves=...)``, also regrows the largest tree
  that was found so far within this size, and keeps the better one. Before the last passes on noisy
  copies, a path is thus never worse than single fits.

*Regrowth* expands a tree by the splits that ExKMC would choose, optimises it, and prunes the tests
that save least. It moves leaves to where they save more. Passes over a fixed structure cannot.

The *search* evaluates thousands of trees on a sketch (:mod:`.axis_sketch`). A tree descends by
passes, with new centres after each pass, and then by regrowth. At a local optimum some tests are
replaced at random, or a subtree is removed, and the descent starts again. If there are few leaves
per cluster, joint passes follow, which compare tests at the centres that each one leads to. The
search stays near the best tree so far. Regrowth, joint passes and search are ours, not the KDD'22
paper's. See Lourenco, Martin & Stutzle (2003) for iterated local search.

*Sets of levels*: a fit on a wider table, with columns of ranks of levels, finds the structure of
the tree with the searches for tests of one feature; see :mod:`tao_cluster.problem.levels`. Its
tests of ranks become tests on sets. Passes of Tree Alternating Optimization then give each node the
best set.
"""

import itertools
from dataclasses import replace

import numpy as np
from sklearn.utils import check_random_state

from .._utils.threads import check_interrupted
from ..initial_trees.builders import exgreedy_builders, small_trees
from ..problem.problem import Result
from ..reference import match_labels, relabeled
from ..solvers import upright
from ..solvers.levels import LevelSets
from .axis_sketch import MOST_COLUMNS, Sketch, n_sketched
from .choose import Goal
from .simplify import simplified
from .state import (
    APPROACH,
    Evaluator,
    History,
    approach,
    best_start,
    descend,
    is_less,
    least,
    starting_trees,
)

# Constants of paths.
_N_SIZES = 10  # maximum number of trees on a path, each with another number of leaves
# A path that only chooses a size has at least this ratio of one number of leaves to the one before.
_LEAST_RATIO = 1.1
# Beyond the grid, sizes have this ratio, as long as each tree is better than the one before. On
# the grid, the choice ends after this many trees that are larger than the best one.
_RATIO_BEYOND, _MOST_LARGER = 1.2, 3
# With a size limit, trees are fitted at this many numbers of leaves: the limit and those just below
# it. A single random search can miss the best tree.
_N_NEAR = 3
# With a limit of cost, smaller trees are tried until this many consecutive sizes miss the limit.
_MOST_IN_VAIN = 2
_LAMBDA = 0.0  # penalty per test; 0 because the number of leaves sets the size

# Constants of regrowth.
_MOST_REGROWN = 2 * 10**6  # regrowth uses a sample of the rows with about this many values or costs

# Constants of the search.
# A worse tree is accepted at first if its cost exceeds that of the best tree by at most this share
# of the excess cost of the best tree over the free clustering.
_WIDTH = 0.4
_PATIENCE = 30  # the search ends after this many random changes per test without a better tree
# Regrowth ends after this multiple of the passes of a search, also if it still helps.
_OVERTIME = 1.5
_LEAST_SHARE = 30  # passes that a start gets, if there are several ones
_FIRST_SHARE = 0.5  # share of the passes for all starts together; the best start gets the others

# Constants of sets of levels.
# Penalty per level that a test on a set lists, as a share of the cost of a single cluster. It is so
# small that it only decides between sets of equal cost.
_PER_LEVEL = 1e-7
# A set has one parameter per level. If a tree with sets exceeds max_parameters, it is fitted again
# with fewer leaves, at most this often in total.
_MOST_TRIES = 2


def path(fit, goal):
    """Yield trees of several numbers of leaves, from which a goal chooses one: Candidates.

    Parameters
    ----------
    fit : Fit
    goal : Goal
    """
    if fit.unseen is not None:  # the choice of a size needs no complete search
        yield from _rough_path(fit, {}) if goal.is_limit else _to_knee(fit, goal, {})
    elif goal.limits_cost:
        yield from _within_cost(fit, goal)
    elif goal.limits_size:
        found, most = {}, min(_sizes(fit)[1], most_leaves_of(goal))
        for n_leaves in range(max(1, most - _N_NEAR + 1), most):
            _best_at(fit, n_leaves, found)  # grown to the limit, it can be the best tree there
        yield _at(fit, max(1, most), found)
    else:
        found = {}
        best = yield from _to_knee(fit, goal, found)
        yield _at(fit, best.size, found)


def at_size(fit, n_leaves):
    """Return the tree of at most `n_leaves` leaves after a complete search, as a Candidate."""
    return _at(fit, n_leaves, {})


def rough_at(fit, n_leaves):
    """Return a tree of at most `n_leaves` leaves without a search, as a Candidate."""
    return _grown(fit, n_leaves, {})


def per_size(fit, sizes=None):
    """Yield one tree per number of leaves; None stands for the default numbers: Candidates."""
    found = {}
    for n_leaves in leaf_grid(*_sizes(fit)) if sizes is None else sizes:
        yield _at(fit, n_leaves, found)


def start(search, trees, lambda_, random_state):
    """Return the best of the initial trees, or the result of a search from all of them."""
    trees = list(trees)
    state = best_start(search, trees, lambda_, random_state)
    if not search.settings.searches:
        return state
    return better_start(search, state, trees, lambda_, random_state)


def finish(fit, state, lambda_, size=None):
    """Return the tree of a state after regrowth of leaves and simplification, as a Candidate.

    The last passes also count noisy copies of the rows, so that the tree holds on new rows.
    """
    search, settings = fit.search, fit.search.settings
    if size is None:
        size = lambda_
        if settings.relax:
            state = regrow(search, state, lambda_)
    goal, there = settings.goal, search.with_copies
    if there is search or not settings.relax:
        return fit.finished(state, size)
    general = descend(there, there.evaluate(state.pruned), lambda_, stage="relax")
    general = regrow(there, general, lambda_, state.n_leaves)
    found = fit.finished(search.take(general, there), size)
    if goal is None or (goal.allows(found.cost) and not goal.limits_size):
        return found
    # A limit is met on the rows themselves: `max_parameters` promises their least cost, and the
    # copies may raise the cost above its limit.
    alone = fit.finished(state, size)
    return found if goal.limits_size and found.cost <= alone.cost else alone


def most_leaves_of(goal):
    """Return the most leaves within a limit of parameters: a tree of L leaves has 3 L - 2."""
    return (goal.max_parameters + 2) // 3


def leaf_grid(fewest, most, n_sizes=_N_SIZES):
    """Return at most `n_sizes` numbers of leaves from `fewest` to `most` in geometric steps.

    They are an increasing list of int.
    """
    sizes = np.geomspace(min(fewest, most), most, n_sizes)
    return np.unique(sizes.round().astype(int)).tolist()


def _sizes(fit):
    """Return the smallest and largest number of leaves on a path if the user gives no numbers."""
    settings, problem = fit.search.settings, fit.search.problem
    most = settings.limits.most_on_path
    if most is None:
        most = max(tree.n_leaves for tree in starting_trees(fit.search, fit.random_state))
    most = min(most, problem.n_rows)
    return min(problem.n_clusters, most), most


def _at(fit, n_leaves, found):
    """Return the tree of at most `n_leaves` leaves after a complete search, as a Candidate.

    Parameters
    ----------
    fit : Fit
    n_leaves : int
    found : dict of int to State
        The trees that were found, by their maximum number of leaves. The new one is added.
    """
    state, best = _best_at(fit, n_leaves, found)
    candidate, goal = finish(fit, best, _LAMBDA, n_leaves), fit.search.settings.goal
    if best is state or goal is None or not goal.limits_size:
        return candidate
    # The tree that was worse before the last passes can be the better one after them.
    return min(candidate, finish(fit, state, _LAMBDA, n_leaves), key=lambda one: one.cost)


def _best_at(fit, n_leaves, found):
    """Return the state that a search finds, and the better one of it and of a smaller tree, grown.

    See :func:`_at` for the parameters.
    """
    search = _limited(fit.search, n_leaves)
    trees = starting_trees(search, fit.random_state)
    state = approach(search, start(search, trees, _LAMBDA, fit.random_state), _LAMBDA)
    if search.settings.relax:
        state = regrow(search, state, _LAMBDA)
    return state, _best(search, [state], n_leaves, found)


def _grown(fit, n_leaves, found):
    """Return a tree of at most `n_leaves` leaves by regrowth, without the slower search."""
    search, states = _limited(fit.search, n_leaves), []
    if not found or not search.settings.relax:
        trees = starting_trees(search, fit.random_state)
        states.append(best_start(search, trees, _LAMBDA, fit.random_state))
    return fit.rough(_best(search, states, n_leaves, found, n_rounds=1), n_leaves)


def _limited(search, n_leaves):
    """Return an evaluator over the same rows for trees of at most `n_leaves` leaves."""
    return replace(search, settings=search.settings.limited(n_leaves))


def _best(search, states, n_leaves, found, n_rounds=None):
    """Return and store the best one of some states and of the largest tree so far, regrown."""
    smaller = [size for size in found if size <= n_leaves]
    if smaller:
        other = search.evaluate(found[max(smaller)].pruned)
        other = (
            regrow(search, other, _LAMBDA, n_rounds=n_rounds) if search.settings.relax else other
        )
        states = [*states, other]
    states = sorted(states, key=lambda state: state.n_leaves)
    found[n_leaves] = least(states, key=lambda state: state.inertia)
    return found[n_leaves]


def _rough_path(fit, found):
    """Yield one grown tree per number of leaves of the grid: Candidates."""
    fewest, most = _sizes(fit)
    n_sizes = 1 + int(np.ceil(np.log(most / fewest) / np.log(_LEAST_RATIO)))
    for n_leaves in leaf_grid(fewest, most, min(n_sizes, _N_SIZES)):
        yield _grown(fit, n_leaves, found)


def _to_knee(fit, goal, found):
    """Yield grown trees until some in a row are larger than the best one; return the best one.

    If no parameter limits the size, they may have more leaves than those of the grid.
    """
    rough, best, (_, most) = [], 0, _sizes(fit)
    beyond = () if fit.search.settings.limits.is_given else _larger(most, fit.search.problem.n_rows)
    for candidate in itertools.chain(
        _rough_path(fit, found), (_grown(fit, n_leaves, found) for n_leaves in beyond)
    ):
        yield candidate
        rough.append(candidate)
        best = goal.order([one.cost for one in rough], [one.tree for one in rough])[0]
        in_vain = len(rough) - 1 - best
        if in_vain == _MOST_LARGER or (in_vain and candidate.size >= most):
            break
    return rough[best]


def _larger(n_leaves, most):
    """Yield numbers of leaves above `n_leaves` in steps of a constant ratio, at last `most`."""
    while n_leaves < most:
        n_leaves = min(most, int(np.ceil(_RATIO_BEYOND * n_leaves)))
        yield n_leaves


def _within_cost(fit, goal):
    """Grow larger and larger trees until one meets the limit of cost, then seek a smaller one."""
    low, found, tried = 0, {}, {}
    for rough in _rough_path(fit, found):
        yield rough
        high = rough.size
        if goal.allows(rough.cost):
            break
        low = high

    def candidate(n_leaves):
        tried[n_leaves] = _at(fit, n_leaves, found)
        return tried[n_leaves]

    yield (other := candidate(high))
    if goal.allows(other.cost):
        # The search may need fewer leaves than the rough trees that missed the limit.
        high = min(high, other.tree.n_leaves)
        low = low if low < high else 0
    while high - low > 1:
        middle = (low + high) // 2
        yield (other := candidate(middle))
        if goal.allows(other.cost):
            high = min(middle, other.tree.n_leaves)
        else:
            low = middle
    # Searches are random, so a smaller tree may meet the limit although a larger one missed it.
    in_vain, size = 0, high - 1
    while size > 0 and in_vain < _MOST_IN_VAIN:
        if size in tried:
            in_vain += 1
        else:
            yield (other := candidate(size))
            in_vain = 0 if goal.allows(other.cost) else in_vain + 1
            size = min(size, other.tree.n_leaves)
        size -= 1


# ---------------------------------------------------------------- search and regrowth


def better_start(search, state, trees, lambda_, random_state):
    """Search for a better start and optimise it over all rows; return the best state.

    The result is also compared with the tree of ExGreedy, which can be better with one leaf per
    cluster. The search does not start from that tree, because the starts share a fixed number of
    passes: with one start more, results become worse as often as better.

    Parameters
    ----------
    search : Evaluator
    state : State, the best of the initial trees
    trees, lambda_, random_state
        As for :func:`search_structure`.

    Returns
    -------
    State
    """
    tree = search_structure(search, state, trees, lambda_, random_state)
    found = search.evaluate(_numbered(search, tree))
    wins = is_less(found.objective(lambda_), state.objective(lambda_))
    search.record("search", found, lambda_, kept=wins)
    found = [state, descend(search, found, lambda_, stage="search")]
    if n_sketched(search.problem) < search.problem.n_rows:
        # The search used a sample of the rows, so passes over all rows can be better than it.
        first = descend(search, search.evaluate(trees[0]), lambda_, stage="search")
        found.append(regrow(search, first, lambda_))
    most_leaves = _most_leaves(search, trees)
    rivals = small_trees(search.problem, exgreedy_builders)
    found += [search.evaluate(tree) for tree in rivals if tree.n_leaves <= most_leaves]
    found.sort(key=lambda state: state.n_leaves)  # the smallest of equally good trees wins
    return least(found, key=lambda state: state.objective(lambda_))


def _most_leaves(search, trees):
    return search.settings.limits.max_leaves or max(tree.n_leaves for tree in trees)


def _numbered(search, tree):
    """Return the tree with its clusters numbered like the most similar free clusters.

    The search can swap the numbers of two clusters without a change of the cost. If the objective
    explains given labels, the tree is returned as it is, because these labels have a meaning.
    """
    problem = search.problem
    if problem.objective.explains_labels:
        return tree
    labels = tree.leaf_label[search.step.leaves_of(tree)]
    terms = (labels, problem.free.labels, problem.n_clusters, problem.weight)
    return relabeled(tree, match_labels(*terms))


def search_structure(search, best, trees, lambda_, random_state):
    """Run an iterated local search on a sample of rows and columns; return the best tree.

    Parameters
    ----------
    search : Evaluator
    best : State, the best of the initial trees after a few passes
    trees : list of Tree, axis-aligned
        The initial trees, which are starts of the search; if there is time for one start only, it
        is `best`.
    lambda_ : float, penalty per test
    random_state : int, RandomState instance or None
        Seed of the sample of rows and of the random changes of trees.

    Returns
    -------
    Tree
        With at most `max_leaves` leaves, by default as many as the largest of the trees.
    """
    problem, rng = search.problem, check_random_state(random_state)
    terms = (lambda_, min(_most_leaves(search, trees), problem.n_rows), n_sketched(problem), rng)
    sketch = Sketch.from_problem(problem, [*trees, best.pruned], *terms)
    most_passes = search.settings.effort.n_times * sketch.default_passes
    sketch.most_passes = _OVERTIME * most_passes
    share = int(_FIRST_SHARE * most_passes / len(trees))
    if share < _LEAST_SHARE:  # with many clusters there is time for one start
        share, trees = 0, [best.pruned]
    found = []
    for tree in trees:
        until = sketch.n_passes + share
        start = sketch.regrown(sketch.from_tree(upright(tree)), 0)
        start = sketch.settled(start, sketch.most_leaves // 2)
        found.append(_searched(sketch, start, until, rng))
    best = least(found, key=lambda state: state.value)
    return sketch.to_tree(_searched(sketch, best, most_passes, rng))


def _searched(sketch, state, until, rng):
    """Return the best tree that a search from the tree `state` finds.

    Parameters
    ----------
    sketch : Sketch
    state : Sketched, a tree that regrowth does not improve
    until : int
        Number of passes over the sketch after which the search ends.
    rng : RandomState

    Returns
    -------
    Sketched
    """
    waited, first = 0, sketch.n_passes
    best = here = state
    while sketch.n_passes < until and waited < _PATIENCE * (best.n_leaves - 1):
        check_interrupted()
        heat = max(0.0, 1.0 - (sketch.n_passes - first) / (until - first))
        excess = max(0.0, best.value - sketch.problem.free.inertia)
        other = sketch.disturbed(here, rng)
        waited += 1
        if other.value <= max(best.value + heat * _WIDTH * excess, here.value):
            here = other = sketch.with_joint_passes(other)
        if is_less(other.value, best.value):
            best = here = sketch.settled(other, sketch.most_leaves // 4)
            waited = 0
    return best


def regrow(search, state, lambda_, most_leaves=None, n_rounds=None):
    """Repeat regrowth of a tree while it lowers the objective, first at a lower penalty per test.

    Regrowth adds leaves, optimises the tree by passes, and prunes the weakest tests. This happens
    in a sketch of all rows, or of a sample if there are very many. Passes over the rows follow.

    Parameters
    ----------
    search : Evaluator
    state : State, of an axis-aligned tree
    lambda_ : float
    most_leaves : int, optional
        Maximum number of leaves. By default it is `max_leaves` of the settings, or else the number
        of leaves of the given tree.
    n_rounds : int, optional
        Maximum number of times that leaves are added and pruned; None means until this is in vain.

    Returns
    -------
    State
        Never worse than the given state.
    """
    most_leaves = most_leaves or search.settings.limits.max_leaves or state.tree.n_leaves
    problem, tree = search.problem, upright(state.pruned)
    n_values = max(problem.n_clusters, min(problem.X.shape[1], MOST_COLUMNS))
    n_rows = min(problem.n_rows, _MOST_REGROWN // n_values)
    sketch = Sketch.from_problem(problem, [tree], lambda_, most_leaves, n_rows, 0)
    found, price = sketch.from_tree(tree), sketch.price
    for share in APPROACH if lambda_ > 0 else (1.0,):
        sketch.price = share * price
        start = sketch.descended(sketch.evaluate(found.nodes, found))
        found = sketch.settled(start, most_leaves // 2, n_rounds)
        other = search.evaluate(sketch.to_tree(found))
        search.record("regrow", other, share * lambda_)
    other = descend(search, other, lambda_, stage="regrow")
    return least([state, other], key=lambda state: state.objective(lambda_))


# ---------------------------------------------------------------- sets of levels


def fit_with_sets(fit, problem, settings, on_record=None):
    """Fit one tree whose tests may be sets of levels.

    Parameters
    ----------
    fit : callable(problem, settings) -> Result
        It fits a tree whose tests are of one feature.
    problem : Problem, with `levels`
    settings : Settings
    on_record : callable(dict), optional
        It is called with the record of each further tree that is evaluated.

    Returns
    -------
    Result
    """
    wider = WiderTable(problem, settings, on_record)
    if settings.goal is None or not settings.goal.limits_size:
        return wider.narrowed(fit(wider.problem, settings))
    # A set has one parameter per level that it lists, so it can exceed a limit of parameters that
    # the test of one feature meets.
    limit, found = settings.goal.max_parameters, [fit(wider.narrow_problem, settings)]
    fewer = limit
    for _ in range(_MOST_TRIES if found[0].is_complete else 0):
        options = replace(settings, goal=Goal(max_parameters=fewer))
        result = wider.narrowed(fit(wider.problem, options))
        excess = result.tree.n_parameters - limit
        if excess <= 0:
            found.append(result)
        if excess <= 0 or not result.is_complete:
            break
        fewer -= excess
        if fewer < 1:
            break
    return min(found, key=lambda result: wider.search.evaluate(result.tree).inertia)


class WiderTable:
    """The problem of a table to which columns with ranks of levels have been added.

    A level is a value of a categorical variable. A test of its rank stands for a set of levels.

    Parameters
    ----------
    problem : Problem, with `levels`
    settings : Settings
    on_record : callable(dict), optional

    Attributes
    ----------
    problem : Problem
        The problem of the table with the added columns. Noisy copies of rows keep their levels.
    narrow_problem : Problem
        The same without the added columns.
    search : Evaluator
        The search over the columns of the given problem, with tests on sets of levels.
    """

    def __init__(self, problem, settings, on_record=None):
        self._ranked = problem.levels.ranked(problem)
        columns, X = problem.levels.columns, self._ranked.widened(problem.X)
        of_space = columns if problem.space is problem.X else problem.unperturbed[1]
        plain, limits = replace(problem, levels=None), problem.limits
        self.narrow_problem = replace(plain, unperturbed=(columns, of_space))
        ranks = np.arange(problem.X.shape[1], X.shape[1])
        limits = limits and limits.widened([owner.columns[0] for owner in self._ranked.owners])
        unperturbed = (np.append(columns, ranks), of_space)
        self.problem = replace(plain, X=X, unperturbed=unperturbed, limits=limits)
        solver = LevelSets(problem.levels, settings.direct_solver)
        settings = replace(settings, solver=solver, direct_solver=solver)
        self.search = Evaluator.over(problem, settings, History.with_callback(on_record))

    def narrowed(self, result):
        """Return the result of a fit to X with columns of ranks as a Result for X alone.

        Tests of ranks become tests on sets of levels. Passes then choose the best set at each
        node, so that the cost does not rise.
        """
        search = self.search
        search.history.records = list(result.attributes["history_"])
        tree = self._ranked.narrowed(result.tree, search.problem.X)
        # Among tests of equal cost, those that list fewer levels are chosen.
        least = _PER_LEVEL * search.problem.undivided_cost
        lambda_ = max(result.attributes["best_lambda_"], least)
        state = descend(search, search.evaluate(tree), lambda_, stage="sets")
        tree, leaf_of_row, _ = simplified(search, state)
        records = [dict(record) for record in search.history.records]
        attributes = {"history_": records, "n_iter_": len(records)}
        return Result(tree, result.attributes | attributes, leaf_of_row, result.is_complete)
