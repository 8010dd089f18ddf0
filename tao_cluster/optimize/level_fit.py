"""Fits of axis-aligned trees whose tests may be sets of levels of categorical variables.

A fit on a wider table, with columns of ranks of levels, finds the structure of the tree with the
searches for tests of one feature; see :mod:`tao_cluster.problem.levels`. Its tests of ranks become
tests on sets. Passes of Tree Alternating Optimization then give each node the best set.
"""

from dataclasses import replace

import numpy as np

from ..problem.problem import Result
from ..solvers.levels import LevelSets
from .choose import Goal
from .simplify import simplified
from .state import Evaluator, History, descend

# Penalty per level that a test on a set lists, as a share of the cost of a single cluster. It is so
# small that it only decides between sets of equal cost.
_TIE = 1e-7
# A set has one parameter per level. If a tree with sets exceeds max_parameters, it is fitted again
# with fewer leaves, at most this often in total.
_MOST_TRIES = 2


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
        least = _TIE * search.problem.undivided_cost
        lambda_ = max(result.attributes["best_lambda_"], least)
        state = descend(search, search.evaluate(tree), lambda_, stage="sets")
        tree, leaf_of_row, _ = simplified(search, state)
        records = [dict(record) for record in search.history.records]
        attributes = {"history_": records, "n_iter_": len(records)}
        return Result(tree, result.attributes | attributes, leaf_of_row, result.is_complete)
