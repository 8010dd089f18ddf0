"""The way of a fit, as one line: rows, trees of several sizes, a choice, and last passes.

The modules :mod:`.oblique` and :mod:`.axis` find trees of their kind of splits. Both have the
functions `path`, `at_size`, `per_size` and `finish`.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._utils.imports import progress_bar
from .._utils.threads import check_interrupted
from .._utils.warnings import InterruptedWarning, warn
from ..initial_trees.builders import number_of_starts
from ..problem.copies import max_copies
from ..problem.problem import Result
from ..reference import optimal_centers
from ..tree.routing import kernel_arrays
from . import axis, oblique
from .axis import WiderTable, fit_with_sets
from .choose import Candidate, Goal, choose
from .diagnostics import range_of_lambda, warn_choice, warn_unsolved
from .limits import pruned_to, within_share
from .penalty_method import mu_path, with_histograms
from .settings import Settings, check_path
from .simplify import simplified
from .state import APPROACH, Evaluator, History, approach, best_start, descend, starting_trees

# With a limit, oblique trees of at most this many parameters per cluster are compared with the
# axis-aligned tree of the same size. Larger ones are better without this.
_MOST_PER_CLUSTER = 6
# The search for that tree takes long. There is none if the oblique tree costs less than a first
# axis-aligned tree by more than the larger of a share of that tree's cost increase and a number of
# percentage points. If it costs less at all, the search makes this share of its passes. Conversely,
# if the oblique trees of a path are as far behind, no further ones get their last passes.
_HOPELESS, _SHARE_BEHIND = (0.5, 3.0), 0.25
# More initial trees than this are divided among several fits, and the best result is kept. A single
# fit from the best of all starts could be worse than one from the best of a few.
_STARTS_OF_FIT = 4
_SHOWN = ("stage", "lambda", "mu", "cost_increase", "leaves", "non_zeros")
# Factors of the price of rows without a cluster in further fits, if trees leave out more than the
# share of the rows.
_PRICES = (1.25, 2.0, 4.0, 10.0, 40.0)
INTERRUPTED = "Interrupted; the best so far is kept."


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
        If a KeyboardInterrupt ended the fit: the tree is then the best one so far, or the last one
        that was kept if no tree of the path was complete. Also if the node solver did not reach its
        accuracy at some nodes.
    UserWarning
        If no tree is within a limit, clusters are lost, or lambda does not suit the data.

    Raises
    ------
    KeyboardInterrupt
        If it comes before the first tree.
    """
    # This comes first, because it needs much memory, and later steps keep memory in use.
    range_ = range_of_lambda(problem, settings)
    best = _best_fit(problem, settings, random_state, on_record)
    best.goal.warn_if_missed(best.chosen)
    warn_unsolved(best.search)
    warn_choice(problem, settings, best.chosen, best.costs_along_lambda(), range_)
    return _published(best, best.chosen)


def _best_fit(problem, settings, random_state, on_record):
    """Return the best fit of all groups of initial trees, or the best so far after an interrupt.

    If the objective leaves rows out, a tree that leaves out more than the share is relabelled, and
    the fit is repeated with a higher price; also if the tree leaves out the rows of a whole
    cluster. The best tree at the original price is kept.
    """
    trims, fit, is_complete = problem.objective.trims, None, True
    found = []  # one fit per price
    try:
        for factor in (None, *_PRICES) if trims else (None,):
            priced = problem
            if factor is not None:
                priced = problem.at_price(factor * problem.objective.price)
            found.append(None)
            for fit in _fits(priced, settings, random_state, on_record):
                fit.run()
                found[-1] = fit.better_one(found[-1])
            if trims and _leaves_out_few(problem, settings, found[-1].chosen.tree):
                break
    except KeyboardInterrupt:
        is_complete = False
        if fit is not None and fit.end_early():
            found[-1] = fit.better_one(found[-1])
        if not any(found):
            raise
        warn(INTERRUPTED, InterruptedWarning)
    best = None
    for each in filter(None, found):
        if trims:
            each.chosen = _candidate_within_share(problem, each.chosen)
        best = each.better_one(best)
    best.is_complete = is_complete
    return best


def _leaves_out_few(problem, settings, tree):
    """Return whether a tree leaves out at most the share, and no cluster that it could have."""
    most = min(problem.n_used(problem.free.labels), settings.limits.max_leaves or np.inf)
    n_clusters = problem.n_used(tree.leaf_label[tree.leaves])
    return n_clusters >= most and within_share(problem, tree) is tree


def _candidate_within_share(problem, candidate):
    """Return a candidate within the share, with its cost at the price of the problem."""
    tree = within_share(problem, candidate.tree)
    labels = tree.leaf_label[tree.route(kernel_arrays(problem.X))]
    _, inertia = optimal_centers(
        problem.objective, problem.data, labels, problem.weight, problem.free
    )
    leaf_of_row = candidate.leaf_of_row if tree is candidate.tree else None
    cost = problem.cost_increase(inertia)
    return candidate._replace(tree=tree, cost=cost, leaf_of_row=leaf_of_row)


def _fits(problem, settings, random_state, on_record):
    """Yield a Fit for each group of at most four of the initial trees that are asked for.

    The first one is the whole fit if no more than four are asked for. Further ones therefore cannot
    make the result worse.
    """
    n_starts = number_of_starts(problem, settings)
    states = [random_state]
    if n_starts > _STARTS_OF_FIT:
        more = range(_STARTS_OF_FIT, n_starts, _STARTS_OF_FIT)
        rng = check_random_state(random_state)
        states += [rng.randint(np.iinfo(np.int32).max) for _ in more]
    for at, state in enumerate(states):
        n_init = min(_STARTS_OF_FIT, settings.n_init - at * _STARTS_OF_FIT)
        history = History.with_callback(on_record)
        yield Fit.over(problem, replace(settings, n_init=n_init), state, history)


def _at_lambda(fit):
    """Return the tree at the lambda of the settings, as a Candidate."""
    search, settings = fit.search, fit.search.settings
    lambda_ = settings.lambda_
    if lambda_ is None:
        lambda_ = oblique.typical_lambda(fit.rows.problem)
    first = oblique.sampled(fit) if settings.is_oblique else search
    trees = starting_trees(first, fit.random_state)
    if settings.algorithm.is_direct:
        start = best_start if settings.is_oblique else axis.start
        state = start(first, trees, APPROACH[0] * lambda_, fit.random_state)
        state = approach(first, state, lambda_)
    else:
        state = search.take(mu_path(search.original, trees, lambda_), search.original)
        if settings.has_direct_passes:
            state = descend(search, state, lambda_)
    return fit.kind.finish(fit, state, lambda_)


def _size_by_validation(fit):
    """Return the size of the tree by its cost on the rows that are held out.

    It is lambda for all rows, or the number of leaves. The goal of the fit loses a limit of cost,
    which applies to the held-out rows only.
    """
    problem, settings, goal = fit.rows.problem, fit.search.settings, fit.goal
    seen = problem.training_part()
    part = Fit.over(seen, settings, fit.random_state, fit.search.history)
    part.unseen = problem.validation_part(seen.free.centers)
    part.extend(fit.kind.path(part, goal))
    chosen = choose(part.candidates, goal)
    if goal.limits_cost:
        goal.warn_if_missed(chosen, " on the rows held out")
    if not goal.limits_size:
        fit.goal = Goal()
    fit.found = {"validation_cost_increase_": float(chosen.cost)}
    if not settings.is_oblique:
        return chosen.size
    # Lambda is proportional to the weight of the rows.
    return chosen.size / float(seen.weight.sum() / problem.weight.sum())


def fit_path(problem, settings, sizes, random_state, on_record=None):
    """Fit trees for increasing values of lambda or, if axis-aligned, of the number of leaves.

    Parameters
    ----------
    problem, settings, random_state, on_record
        As for :func:`fit_tree`.
    sizes : sequence of float or int, increasing, or None
        None means values that depend on the data.

    Yields
    ------
    size : float or int
    Result

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt ended the path after its first tree.
    """
    fit = Fit.over(problem, settings, random_state, History.with_callback(on_record))
    try:
        for candidate in fit.kind.per_size(fit, sizes):
            fit.candidates.append(candidate)
            trims = problem.objective.trims
            found = _candidate_within_share(problem, candidate) if trims else candidate
            yield candidate.size, _published(fit, found)
            check_interrupted()
    except KeyboardInterrupt:
        if not fit.candidates:
            raise
        warn(INTERRUPTED, InterruptedWarning)
    warn_unsolved(fit.search)


@dataclass(eq=False)
class Fit:
    """The rows of a fit, and the trees that it has found.

    Parameters
    ----------
    search : Evaluator
        Over the rows to which trees are fitted: all rows, or a sample of `max_rows` rows if there
        are more. Noisy copies are among them if oblique trees are fitted to few rows.
    rows : Evaluator
        Over all rows, which determine the costs of trees. It is the same object as `search` without
        a sample and without copies.
    random_state : int, RandomState instance or None
    """

    search: Evaluator
    rows: Evaluator
    random_state: Any
    goal: Goal  # what the tree is chosen by; without limits, lambda or the size is given
    unseen: Any = None  # problem of held-out rows, which determine the costs of trees instead
    candidates: list = field(default_factory=list)
    chosen: Candidate | None = None
    better: Any = None  # a state that the search from `chosen` has found
    found: dict = field(default_factory=dict)  # further fitted attributes
    is_complete: bool = True
    rough_rivals: dict = field(default_factory=dict)  # cost of axis-aligned trees by their size

    @classmethod
    def over(cls, problem, settings, random_state, history):
        """Return the fit to the rows of a problem, before it has found trees."""
        if settings.max_rows is None or problem.n_rows <= settings.max_rows:
            search = rows = Evaluator.over(problem, settings, history)
        else:
            terms = (settings.max_rows, random_state)
            search = Evaluator.over_sample(problem, settings, history, *terms)
            settings.check_data(search.problem.X, search.problem.weight)
            # These rows only find leaves and costs. They fit no tests, so they need no solver.
            rows = Evaluator.over(problem, settings, history, solves=False)
        if settings.relax and settings.split_kind.finds_with_copies:
            search = search.with_copies
        goal = Goal() if settings.goal is None else settings.goal.for_clusters(problem.n_clusters)
        return cls(search, rows, random_state, goal)

    @property
    def kind(self):
        """The module that finds trees: :mod:`.oblique` or :mod:`.axis`."""
        return oblique if self.search.settings.is_oblique else axis

    @property
    def has_many_rows(self):
        """Whether the rows are too many for noisy copies, so that last passes take long."""
        return self.search.is_sample or max_copies(self.rows.problem.X) < 1

    def run(self):
        """Find trees, choose one of them, prune it to the limits of size, and search from it."""
        settings = self.search.settings
        if settings.goal is None:
            self.candidates.append(_at_lambda(self))
        elif self.rows.problem.held_out is None:
            self.extend(self.kind.path(self, self.goal))
        else:
            size = _size_by_validation(self)
            self.candidates.append(self.kind.at_size(self, size))
        self.chosen = self._pruned(choose(self.candidates, self.goal))
        if settings.is_oblique:  # the search for axis-aligned trees comes before
            self._polish()
        self.chosen = self._result()

    def extend(self, candidates):
        """Collect candidates, and end at an interrupt between two of them."""
        for candidate in candidates:
            self.candidates.append(candidate)
            check_interrupted()

    def rough(self, state, size, search=None):
        """Return the tree of a state before its last passes, as a Candidate.

        Its cost is that of the rows of `search`, an Evaluator (by default that of the fit), without
        noisy copies; that of all rows, if `max_rows` of them are fitted; or that of held-out rows.
        """
        tree, search = state.pruned, search or self.search
        if self.unseen is not None:
            cost = self._cost(tree, state.inertia)
        elif self.search.is_sample:
            cost = self._cost(tree, self.rows.evaluate(tree).inertia)
            self.rows.release()
        else:
            cost = search.cost_increase(state)
        return Candidate(tree, cost, size, is_finished=False)

    def finished(self, state, size, is_last=True):
        """Return the simplified tree of a state, as a Candidate.

        The tree of a sample of the rows is evaluated on all rows.

        Parameters
        ----------
        state : State, of the rows of `search`, with or without noisy copies
        size : float or int
        is_last : bool, whether there is time for pruning
        """
        rows, settings = self.rows, self.rows.settings
        if rows is not self.search:
            self.search.release()
            state = rows.evaluate(state.pruned)
        tree, leaf_of_row, inertia = simplified(rows, state, is_last)
        rows.release()
        if not settings.penalty.is_binary and tree.leaf_value is None:
            # The penalty needs histograms in leaves, but initial trees and direct passes set none.
            tree = with_histograms(rows, tree, leaf_of_row)
        cost = self._cost(tree, inertia)
        return Candidate(tree, cost, size, leaf_of_row=None if self.unseen else leaf_of_row)

    def _cost(self, tree, inertia):
        """Return the cost increase of a tree in percent, on all rows or on held-out rows."""
        seen, unseen = self.rows.problem, self.unseen
        if unseen is None:
            return seen.cost_increase(inertia)
        labels = tree.leaf_label[tree.route(kernel_arrays(seen.X))]
        centers, _ = optimal_centers(seen.objective, seen.data, labels, seen.weight, seen.free)
        labels = tree.leaf_label[tree.route(kernel_arrays(unseen.X))]
        cost = unseen.objective.value(unseen.data, labels, unseen.weight, centers)
        return unseen.cost_increase(cost)

    def _pruned(self, candidate):
        """Return a candidate pruned to the limits of size, if that is possible."""
        search, most = self.search, self.search.settings.limits.max_leaves or np.inf

        def is_within(tree):
            return self.goal.has_room_for(tree) and tree.n_leaves <= most

        if is_within(candidate.tree):
            return candidate
        state = search.evaluate(candidate.tree)
        if search.settings.is_oblique:
            price = oblique.penalty_per_parameter(search.problem, state)
            smaller = oblique.prune_stepwise(search, state, price)
            state = next(filter(is_within, smaller), None)
        else:
            if self.goal.limits_size:
                most = min(most, axis.most_leaves_of(self.goal))
            state = search.evaluate(pruned_to(search, state, max(1, most)))
        return candidate if state is None else self.finished(state, candidate.size)

    def better_one(self, other):
        """Return the fit whose tree suits the goal better; the other one if they are equal."""
        if other is None:
            return self
        goal, pair = self.goal, (other, self)
        if not goal.is_limit and self.search.settings.is_oblique:
            goal = goal.for_clusters(self.rows.problem.n_clusters)
        order = goal.order([one.chosen.cost for one in pair], [one.chosen.tree for one in pair])
        return pair[order[0]]

    def _polish(self):
        """Search from the chosen tree for a better one; it is the state `better` afterwards."""
        settings, tree, goal = self.search.settings, self.chosen.tree, self.goal
        larger = (one.tree for one in self.candidates if one.tree.n_parameters > tree.n_parameters)
        nearest = min(larger, key=lambda other: other.n_parameters, default=None)
        rivals = [nearest] if goal.is_limit and nearest is not None else []
        rivals += self._axis_aligned(goal)
        terms = (self.search.evaluate(tree), self.chosen.size, goal, settings.effort, rivals)
        for state in oblique.better_states(self, *terms):
            self.better = state
            check_interrupted()

    def _axis_aligned(self, goal):
        """Return the axis-aligned trees that the chosen oblique tree has to beat.

        An oblique tree may test single features, so within a limit it should never be worse. If
        there are many rows, the axis-aligned tree is fitted to the sample of the path. The list is
        empty without a limit, if the oblique tree is large or clearly better, without a search for
        better trees, or if the axis-aligned tree is deeper than the user allows.
        """
        settings = self.search.settings
        most = goal.max_parameters if goal.limits_size else self.chosen.tree.n_parameters - 1
        rough, found = self._rough_rival(most), []
        if rough is None:
            return []
        less = rough - (self.chosen.cost if goal.limits_size else goal.max_cost_increase)
        if _is_hopeless(less, rough):
            return []
        # A thorough search also gets the tree of a fast search, so that it is not worse.
        for search in ("fast", "thorough")[: 1 + (settings.effort.n_times > 1)]:
            fit = self._axis_fit(most, search, _SHARE_BEHIND if less > 0 else 1.0)
            found.append(fit._pruned(axis.at_size(fit, axis.most_leaves_of(fit.goal))).tree)
        return [tree for tree in found if not settings.limits.forbids_depth_of(tree)]

    def _axis_fit(self, most_parameters, search="fast", share=1.0):
        """Return the fit of axis-aligned trees to the rows of the path, with a limit of size."""
        problem = oblique.sampled(self).original.problem
        settings = self.search.settings.with_axis(most_parameters, search, share)
        return Fit.over(problem, settings, self.random_state, History())

    def _rough_rival(self, most_parameters):
        """Return the cost of an axis-aligned tree without a search; None if there is no rival."""
        is_small = 1 < most_parameters <= _MOST_PER_CLUSTER * self.rows.problem.n_clusters
        if not (self.goal.is_limit and is_small and self.search.settings.searches):
            return None
        if most_parameters not in self.rough_rivals:
            fit = self._axis_fit(most_parameters)
            rough = axis.rough_at(fit, axis.most_leaves_of(fit.goal))
            self.rough_rivals[most_parameters] = rough.cost
        return self.rough_rivals[most_parameters]

    @property
    def is_beaten(self):
        """Whether an axis-aligned tree of the limit is so good that oblique ones hardly matter."""
        # That tree may be deeper than the user allows.
        is_limited = self.search.settings.limits.is_given
        if not self.goal.limits_size or self.unseen is not None or is_limited:
            return False
        rough = self._rough_rival(self.goal.max_parameters)
        costs = [one.cost for one in self.candidates if self.goal.has_room_for(one.tree)]
        least = min(costs, default=np.inf)
        return rough is not None and _is_hopeless(least - rough, least)

    def end_early(self):
        """Choose the best tree so far after an interrupt; return whether it exists."""
        self.is_complete = False
        if self.chosen is None and not self.candidates:
            if self.search.history.last_kept is None:
                return False
            state, lambda_ = self.search.history.last_kept
            state = self.rows.evaluate(state.pruned)  # it can be one of other rows, of a sample
            self.candidates.append(self.finished(state, lambda_, is_last=False))
        if self.chosen is None:
            chosen = choose(self.candidates, self.goal)
            if not chosen.is_finished:
                state = self.search.evaluate(chosen.tree)
                chosen = self.finished(state, chosen.size, is_last=False)
            self.chosen = chosen
        self.chosen = self._result()
        return True

    def _result(self):
        """Return the chosen tree, or that of the search from it if it suits the goal better."""
        if self.better is None:
            return self.chosen
        other = self.finished(self.better, self.chosen.size, is_last=self.is_complete)
        return other if self.goal.prefers(other, self.chosen) else self.chosen

    def costs_along_lambda(self):
        """Return the costs of the trees of a path along lambda, in percent; empty without one."""
        if self.search.settings.goal is None or not self.search.settings.is_oblique:
            return []
        if self.rows.problem.objective.trims:  # the others can have another price
            return [self.chosen.cost]
        return [one.cost for one in self.candidates]


def _is_hopeless(less, cost):
    """Return whether a search can hardly lower `cost` by `less`, the lead of another tree."""
    return less > max(_HOPELESS[0] * cost, _HOPELESS[1])


def _published(fit, chosen):
    """Return the Result with the fitted attributes that the optimisation sets."""
    history = [dict(record) for record in fit.search.history.records]
    lambda_ = float(chosen.size) if fit.search.settings.is_oblique else 0.0
    attributes = {"history_": history, "n_iter_": len(history), "best_lambda_": lambda_}
    terms = (attributes | fit.found, chosen.leaf_of_row, fit.is_complete)
    return Result(chosen.tree, *terms)


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
        return self.settings.algorithm.is_direct and not self.settings.is_oblique

    def check_data(self, X, weight):
        """Raise a ValueError if the node solver or the penalty does not support X or weights."""
        self.settings.check_data(X, weight)

    def fit_tree(self, problem):
        """Fit one tree to a Problem and return a Result.

        If the problem has categorical variables, tests can be sets of their levels.
        """
        problem = problem.with_limited_weights()
        with self._bar() as bar:
            show = _shown_in(bar)

            def fit(problem, settings):
                return fit_tree(problem, settings, self.random_state, show)

            if problem.levels is not None:
                return fit_with_sets(fit, problem, self.settings, show)
            return fit(problem, self.settings)

    def check_path(self, lambdas, leaves):
        """Raise a ValueError if a path does not support the settings, `lambdas` or `leaves`."""
        check_path(self.settings)
        if leaves is not None and self.settings.is_oblique:
            raise ValueError("leaves are for split='axis'; paths of oblique trees follow lambdas.")
        if lambdas is not None and not self.settings.is_oblique:
            raise ValueError(
                "A path of axis-aligned trees follows the number of leaves, not lambda: give "
                "leaves=[...] instead of lambdas."
            )

    def fit_path(self, problem, sizes):
        """Yield one pair per tree of a path: the parameter that changes, as a dict, and a Result.

        The dict is ``{"lambda_": value}`` for oblique and ``{"max_leaves": value}`` for
        axis-aligned trees.
        """
        problem = problem.with_limited_weights()
        name = "lambda_" if self.settings.is_oblique else "max_leaves"
        with self._bar() as bar:
            show, wider = _shown_in(bar), None
            if problem.levels is not None:
                wider = WiderTable(problem, self.settings, show)
                problem = wider.problem
            terms = (self.settings, sizes, self.random_state, show)
            for value, result in fit_path(problem, *terms):
                yield {name: value}, wider.narrowed(result) if wider else result

    def _bar(self):
        return progress_bar(desc="trees", disable=not self.verbose)


def _shown_in(bar):
    """Return an `on_record` callback that shows the record of each tree in a progress bar."""

    def show(record):
        bar.set_postfix({name: record[name] for name in _SHOWN})
        bar.update()

    return show
