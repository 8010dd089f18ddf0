"""`refit`: a fitted model for the rows of the next month, with the old segments and names."""

import copy
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ._utils.frames import as_pandas, check_aligned
from ._utils.options import with_plain_numbers
from ._utils.threads import interrupt_warns, one_thread
from ._utils.warnings import listed
from .columns.view import flat_steps, seen
from .export.format import condition_text
from .export.text import rules_of
from .optimize.penalty_method import with_histograms
from .optimize.state import Evaluator, History, descend
from .optimize.tree_step import TreeStep
from .problem.problem import Result
from .problem.split_limits import fit_narrowed
from .reference import FreeClustering, match_labels
from .report import cluster_numbers, report
from .solvers import Status
from .solvers.exact import Candidate, Rows
from .solvers.thresholds import best_threshold
from .table import TablePipeline, decided_again, passed_on, without_first_gaps
from .tree import tree_of
from .tree.margins import TIE
from .tree.routing import kernel_arrays, project

__all__ = ["refit"]

KEEPS = ("tests", "columns", "nothing")
# Fitted attributes of the search for a tree, which stay if the tests stay.
_OF_SEARCH = ("history_", "n_iter_", "best_lambda_", "_growth")
_N_PASSES = 10  # over a tree that keeps its structure and the columns of its tests
_EVIDENCE = 0.3  # Jaccard index from which the rows of a new cluster are evidence for its old name


def refit(model, X_new, keep="tests", *, y=None, sample_weight=None, embedding=None, verbose=1):
    """Fit a fitted model again to new rows, and keep the numbers and names of its clusters.

    The new clusters get the old numbers by the best one-to-one match on the rows of `X_new`: as
    many rows as possible have the same cluster as by the old model. The names of
    `model.name_clusters` stay with the numbers, if there is evidence: if the Jaccard index of the
    rows of the old and of the new cluster is at least 0.3 (the rows that are in both, divided by
    the rows that are in one of them). Other clusters are named "new segment".

    Parameters
    ----------
    model : fitted estimator of this project, or fitted Pipeline that ends with one
        It is not changed.
    X_new : array-like, DataFrame or sparse matrix, as for `fit`
        The new rows.
    keep : {"tests", "columns", "nothing"}, default="tests"
        - "tests" keeps the tree exactly, so that `predict`, the rules and the SQL are the same.
          Centres, costs, the free clustering and the statistics of the nodes are those of `X_new`.
        - "columns" keeps the structure of the tree and the columns of each test. Passes move
          thresholds and weights so that the cost falls. Tests on sets of levels stay as they are.
        - "nothing" is a new fit with the same parameters. The pipeline of a raw table looks at the
          columns of the new table again; what its schema says of their kinds stays.

        Unless `keep` is "nothing", the steps of a Pipeline and the scales of ``standardize=True``
        stay as they are: the schema, the one-hot columns, the units and the treatment of gaps and
        of unknown levels are those of the first fit. The first missing values of a column that no
        test uses are replaced by the cell of its median.
    y, sample_weight, embedding
        As for `fit`. In a Pipeline, only the last step uses the weights.
    verbose : int, default=1
        1 prints what has changed, 0 prints nothing. The text is also the attribute
        `refit_changes_` of the new model (of the last step of a Pipeline).

    Returns
    -------
    A fitted model of the same kind
        Attributes of the search, such as `history_`, are those of the old model with
        ``keep="tests"``.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    ValueError
        If `keep` is unknown, if `keep` is "columns" and the model is a greedy estimator, if the
        labels `y` are not those of the fit, and for the reasons of `fit` and of the steps.

    See Also
    --------
    monitor : Whether a refit is necessary.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering, refit
    >>> X = load_iris().data
    >>> model = TAOClustering(3, lambda_=10, depth=2, random_state=0).fit(X[::2])
    >>> later = refit(model, X[1::2], verbose=0)
    >>> later.to_sql() == model.to_sql()
    True
    """
    if keep not in KEEPS:
        raise ValueError(f"keep must be one of {', '.join(map(repr, KEEPS))}; got {keep!r}.")
    further = {"y": y, "sample_weight": sample_weight, "embedding": embedding}
    X_new = as_pandas(X_new)
    check_aligned(X_new, **further)
    found, *measures = refitted(model, X_new, X_new, keep, further)
    last = last_step(found)
    last.refit_changes_ = _changes(model, found, keep, *measures)
    if verbose:
        print(last.refit_changes_)
    return found


def last_step(model):
    """Return the estimator at the end of a pipeline, or the model itself."""
    return flat_steps(model)[-1][1]


def facts_of(model):
    """Return the report of a model: in the columns of its last step, if there are no raw ones."""
    view, names = seen(model)
    return report(view, feature_names=names)


def refitted(model, X, new_X, keep, further):
    """Return the new model, the cost increase of the old one on X, and which rows stay.

    X are the rows for the old model, and `new_X` the same rows for the new one. The last result is
    the weight of the rows by old cluster (lines) and new cluster (columns), both by their position.
    """
    if not isinstance(model, Pipeline):
        return _of_estimator(model, X, new_X, keep, further)
    found, raw = copy.copy(model), new_X
    if len(model.steps) > 1:
        is_table = isinstance(model, TablePipeline)
        if is_table:
            X = without_first_gaps(model, X, tested=keep == "nothing")
        X = new_X = passed_on(model, X)
        if keep == "nothing":
            first_steps = decided_again(model, raw) if is_table else clone(model[:-1])
            found.steps = [*first_steps.fit(raw, further["y"]).steps, model.steps[-1]]
            new_X = passed_on(found, raw)
    last, *measures = refitted(model[-1], X, new_X, keep, further)
    found.steps = [*found.steps[:-1], (model.steps[-1][0], last)]
    return found, *measures


def with_tree(model, X, tree, n_clusters, further):
    """Return a fitted model with another tree over the columns of its last step.

    Centres, costs, the free clustering and the statistics of the nodes are those of the rows X. The
    numbers of free clusters follow the labels of the tree. `further` are arguments of `fit`.
    """
    if isinstance(model, Pipeline):
        found = copy.copy(model)
        X = passed_on(model, X) if len(model.steps) > 1 else X
        last = with_tree(model[-1], X, tree, n_clusters, further)
        found.steps = [*found.steps[:-1], (model.steps[-1][0], last)]
        return found
    start = copy.copy(model)
    start.n_clusters, start.tree_ = n_clusters, tree
    # The centres of a reference, and names, belong to another number of clusters.
    start.reference = model.reference if n_clusters == model.n_clusters else None
    for name in ("cluster_names_", "_growth", "trace_"):
        vars(start).pop(name, None)
    start.history_, start.n_iter_ = [], 0  # the records are about nodes of the other tree
    return _fitted(start, X, tree.leaf_label[start.apply(X)], "tests", further)[0]


def _of_estimator(model, X, new_X, keep, further):
    """Return what :func:`refitted` returns, for an estimator."""
    tree = tree_of(model)
    before = model.cost_increase(X, **further)  # checks the rows, too
    old = tree.leaf_label[model.apply(X)]
    found, weight = _fitted(model, new_X, old, keep, further)
    new = found.tree_.leaf_label[found.apply(new_X)]
    joint = np.zeros([len(cluster_numbers(model))] * 2)
    np.add.at(joint, (old, new), weight)
    if hasattr(model, "cluster_names_"):
        found.cluster_names_ = _with_evidence(model, joint)
    return found, before, joint


def _overlaps(joint):
    """Return the Jaccard index of each old and new cluster; NaN for a cluster without rows."""
    both, either = np.diag(joint), joint.sum(axis=0) + joint.sum(axis=1) - np.diag(joint)
    return both / np.where(either > 0, either, np.nan)


def _are_other(model, joint):
    """Return which clusters share too few rows with the old ones: bool array."""
    are_numbers = np.array(cluster_numbers(model)) >= 0
    return (_overlaps(joint) < _EVIDENCE) & are_numbers & (not hasattr(model, "classes_"))


def _with_evidence(model, joint):
    """Return the names of a model, with "new segment" for clusters that share too few rows."""
    names, is_other = list(model.cluster_names_), _are_other(model, joint)
    taken = {name for name, other in zip(names, is_other, strict=True) if not other}
    others = (f"new segment{f' {i}' if i > 1 else ''}" for i in itertools.count(1))
    free = (name for name in others if name not in taken)
    return [next(free) if other else name for name, other in zip(names, is_other, strict=True)]


def _fitted(model, new_X, old, keep, further):
    """Return the new estimator, and the weights of the rows; `old` has their old clusters."""
    found, method = copy.copy(model), with_plain_numbers(model)._method()
    if keep == "columns" and not hasattr(method, "settings"):
        raise ValueError(
            f'keep="columns" needs the passes of TAOClustering, which {type(model).__name__} does '
            'not have: use keep="tests" or keep="nothing".'
        )
    with one_thread():
        inputs, rows, problem = frozen(model, new_X, further, method, keeps_space=keep != "nothing")
        if inputs.classes is not None and not np.array_equal(inputs.classes, model.classes_):
            raise ValueError(
                f"The labels y are {listed(inputs.classes)}, but the model explains "
                f"{listed(model.classes_)}: refit needs the same labels."
            )
        own = np.empty(len(rows.weight), old.dtype)  # old cluster of each distinct row
        own[rows.row_of_input[inputs.present]] = old[inputs.present]
        problem, result = _solved(model, method, problem, rows, own, keep)
        with interrupt_warns():
            found._store(new_X, inputs, rows, problem, result)
    return found, inputs.weight


def frozen(model, X, further, method, keeps_space=True):
    """Return the checked rows of a fitted estimator, and their problem.

    Parameters
    ----------
    model : fitted estimator
    X : rows, as for `fit`
    further : dict of y, sample_weight and embedding
    method : the result of ``model._method()``
    keeps_space : bool
        Whether the scales of the columns and the transformers of the embedding are those of the
        model. Otherwise they are fitted to X.

    Returns
    -------
    inputs : Inputs
    rows : MergedRows
    problem : Problem
    """
    plain, embedding = copy.copy(with_plain_numbers(model)), further["embedding"]
    scaling, embedder = None, None
    if keeps_space:
        scaling, embedder = model._space.scaling, getattr(model, "_embedder", None)
    if embedder is not None and embedding is None:  # its transformers are not fitted again
        embedding = embedder.transform(X)
        plain.reference = plain.reference and last_step(plain.reference)
    given = X, further["y"], further["sample_weight"], embedding
    inputs, rows, problem = plain._freeze(method, *given, scaling)
    return replace(inputs, embedder=inputs.embedder or embedder), rows, problem


def _solved(model, method, problem, rows, old, keep):
    """Return the problem and the result of a refit, both with the old numbers of the clusters."""
    tree, is_numbered = model.tree_, not problem.objective.explains_labels
    if keep != "nothing" and is_numbered:
        problem = numbered_like(problem, old)
    if keep == "tests":
        attributes = {name: vars(model)[name] for name in _OF_SEARCH if name in vars(model)}
        leaves = tree.route(kernel_arrays(rows.X), n_jobs=problem.n_jobs)
        return problem, Result(tree, copy.deepcopy(attributes), leaves, is_in_units=True)
    if keep == "columns":
        start = tree if problem.scaling is None else problem.scaling.scaled_tree(tree)
        result = refit_columns(problem, method.settings, start)
    else:
        result = fit_narrowed(method, problem)
    if is_numbered:
        labels = result.tree.leaf_label[result.leaves(problem, problem.n_jobs)]
        numbers = match_labels(labels, old, problem.n_clusters, problem.weight)
        problem, result = _numbered(problem, numbers), _renumbered(result, numbers)
    return problem, result


def numbered_like(problem, labels):
    """Return the problem with free clusters numbered like the labels of its rows, if possible."""
    terms = problem.free.labels, labels, problem.n_clusters, problem.weight
    return _numbered(problem, match_labels(*terms))


def _numbered(problem, numbers):
    """Return the problem with renumbered free clusters."""
    free = problem.free
    centers = free.centers[np.argsort(numbers)]
    return replace(problem, free=FreeClustering(numbers[free.labels], centers, free.inertia))


def _renumbered(result, numbers):
    """Return the result of a fit with renumbered clusters."""
    tree, attributes = result.tree, dict(result.attributes)
    labels = np.where(tree.leaf_label < 0, -1, numbers[tree.leaf_label])
    value = None if tree.leaf_value is None else tree.leaf_value[:, np.argsort(numbers)]
    if "_growth" in attributes:
        growth = attributes["_growth"] = copy.copy(attributes["_growth"])
        growth.label = [int(numbers[label]) for label in growth.label]
    return replace(result, tree=tree.with_leaves(labels, value), attributes=attributes)


# ---------------------------------------------------------------- what has changed


def _changes(model, found, keep, before, joint):
    """Return the text of :attr:`refit_changes_`."""
    old, new = facts_of(model), facts_of(found)
    costs = [facts["summary"]["cost_increase"] for facts in (old, new)]
    costs = ["infinite" if cost is None else f"{cost:.1f} %" for cost in costs]
    sizes = pd.DataFrame({
        when: {part["cluster"]: 100 * part["share"] for part in facts["clusters"]}
        for when, facts in (("before", old), ("now", new))
    })  # fmt: skip
    names = [{part["cluster"]: part["name"] for part in facts["clusters"]} for facts in (old, new)]
    last, kept = last_step(model), np.trace(joint) / joint.sum()
    numbers = cluster_numbers(last)
    sizes["overlap"] = pd.Series(100 * _overlaps(joint), numbers)
    sizes = sizes.rename(names[1])
    gone = [names[0][k] for k in names[0] if names[0][k] not in names[1].values()]
    explains = new["summary"]["explains_labels"]
    lines = [
        f'Refit with keep="{keep}": {100 * kept:.1f} % of the rows keep their cluster.',
        f"{'Rows with another label' if explains else 'Cost increase'}: {costs[0]} in the old fit. "
        f"On the new rows, {before:.1f} % before the refit and {costs[1]} after it.",
        "Shares of the rows in percent, and overlap then and now on the new rows (Jaccard index):",
        sizes.to_string(float_format="{:.1f}".format, na_rep="-"),
    ]
    for j in np.flatnonzero(_are_other(last, joint) & joint.any(axis=0)):
        share = pd.Series(100 * joint[:, j] / joint[:, j].sum(), numbers).rename(names[0])
        were = [f"{name} ({n:.0f} %)" for name, n in share.nlargest(3).items() if n >= 1]
        name, were = names[1][numbers[j]], listed(were, quote=False)
        lines.append(f"{name} is another segment than before: its rows were in {were}.")
    if gone:
        lines += [f"No segment is close enough to keep the name {listed(gone)}."]
    lost = [node["id"] for node in new["nodes"] if node["is_leaf"] and not node["rows"]]
    if lost:
        rules = rules_of(*seen(found), new["nodes"], lost)
        lines += ["No row fulfils these rules any more:", *(f"  {rule}" for rule in rules)]
    tests = [[node for node in facts["nodes"] if not node["is_leaf"]] for facts in (old, new)]
    if keep == "columns":
        moved = [
            f"  {condition_text(a, 4, 5)}  ->  {condition_text(b, 4, 5)}"
            for a, b in zip(*tests, strict=True)
            if _numbers_of_test(a) != _numbers_of_test(b)
        ]
        lines += [f"Tests: {len(moved)} of {len(tests[0])} have moved.", *moved]
    elif keep == "nothing":
        a, b = ({term["name"] for node in nodes for term in node["terms"]} for nodes in tests)
        lines += [
            f"Tests: {len(tests[0])} before, {len(tests[1])} now. Columns that only the old tests "
            f"have: {listed(sorted(a - b)) or 'none'}; only the new ones: "
            f"{listed(sorted(b - a)) or 'none'}."
        ]
    return "\n".join(lines)


def _numbers_of_test(node):
    """Return the weights and the threshold of a test of a report, as far as they are printed."""
    terms = sorted((term["feature"], f"{term['weight']:.4g}") for term in node["terms"])
    return terms, f"{node['threshold']:.4g}"


# ---------------------------------------------------------------- passes that keep the columns


def refit_columns(problem, settings, tree):
    """Return a Result: the tree after passes that keep its structure and the columns of its tests.

    Each pass moves the thresholds and weights so that the cost falls. Leaves get the cluster in
    which their rows cost least. Tests on sets of levels, and tests that would send all rows to one
    side, stay as they are.

    Parameters
    ----------
    problem : Problem
    settings : Settings
    tree : Tree, over the columns of the problem
    """
    single, factor = np.diff(tree.split_indptr) == 1, np.ones(tree.n_nodes)
    factor[single] = np.abs(tree.split_weights[tree.split_indptr[:-1][single]])
    weights = tree.split_weights / np.repeat(factor, np.diff(tree.split_indptr))
    tree = replace(tree, split_weights=weights, threshold=tree.threshold / factor)
    problem = problem.with_limited_weights()
    view = kernel_arrays(problem.X)
    solver = _FixedColumns(problem.X, view, settings.is_oblique)
    step = _Step(view, solver, settings.n_jobs, leaf_size=problem.leaf_size)
    # An evaluator removes leaves that are too small. The step only prevents new ones.
    search = Evaluator(replace(problem, leaf_size=None), settings, step, History())
    options = {"stage": "relax", "n_passes": _N_PASSES, "step": step, "price": 0.0}
    state = descend(search, search.evaluate(tree), 0.0, **options)
    has_histograms, records = tree.leaf_value is not None, search.history.records
    found = with_histograms(search, *state.routed) if has_histograms else state.tree
    return Result(found, {"history_": records, "n_iter_": len(records)}, state.leaf_of_row)


class _Step(TreeStep):
    """Tree step that never replaces a test by one that sends all rows to one side."""

    def _solve(self, node, problem, warm_start):
        return self.solver.solve(replace(problem, warm_start=warm_start))[0]


@dataclass(frozen=True)
class _FixedColumns:
    """Bound solver that lowers the 0/1 loss of a test by moving its threshold and weights.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    view : result of ``tao_cluster.tree.routing.kernel_arrays`` for X
    is_oblique : bool, whether the weights of tests of several features may change
    """

    X: Any
    view: Any
    is_oblique: bool

    def solve(self, problem):
        """Solve one node with the columns of the warm start; see :class:`BoundSolver`."""
        old, rows = problem.warm_start, Rows.from_problem(self.X, problem)
        values = project(self.view, problem.rows, old.indices, old.weights)
        if len(old.indices) == 1:
            threshold, _ = best_threshold(values, rows.steps, old.threshold)
            new = replace(old, threshold=threshold)
        elif len(old.indices) and self.is_oblique:  # at this price, no weight is removed
            new = Candidate.from_split(rows, old).improved(price=-np.inf).split
        else:
            return old, Status()
        is_left = project(self.view, problem.rows, new.indices, new.weights) <= new.threshold
        saved = rows.steps[values <= old.threshold].sum() - rows.steps[is_left].sum()
        is_better = saved > TIE * problem.weight.sum() and is_left.any() and not is_left.all()
        return (new if is_better else old), Status()
