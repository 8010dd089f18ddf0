"""`refit`: a fitted model for the rows of the next month, with the old segments and names."""

import copy
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from greedy.leaf_clusters import match_labels

from ._utils.options import with_plain_numbers
from ._utils.threads import interrupt_warns, one_thread
from ._utils.warnings import listed
from .columns.steps import UnsupportedStepError
from .columns.view import output_names
from .export.format import condition_text
from .optimize.fixed_columns import refit_columns
from .problem.problem import Result
from .reference import FreeClustering
from .report import report
from .tree import tree_of
from .tree.routing import kernel_arrays

__all__ = ["refit"]

KEEPS = ("tests", "columns", "nothing")
# Fitted attributes of the search for a tree, which stay if the tests stay.
_OF_SEARCH = ("history_", "n_iter_", "best_lambda_", "_growth")


def refit(model, X_new, keep="tests", *, y=None, sample_weight=None, embedding=None, verbose=1):
    """Fit a fitted model again to new rows, and keep the numbers and names of its clusters.

    The new clusters get the old numbers by the best one-to-one match on the rows of `X_new`: as
    many rows as possible have the same cluster as by the old model. The names of
    `model.name_clusters` stay with the numbers.

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
        - "nothing" is a new fit with the same parameters.

        Unless `keep` is "nothing", the steps of a Pipeline and the scales of ``standardize=True``
        stay as they are: the schema, the one-hot columns, the units and the treatment of gaps and
        of unknown levels are those of the first fit.
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
    found, *measures = _refitted(model, X_new, X_new, keep, further)
    last = last_step(found)
    last.refit_changes_ = _changes(model, found, keep, *measures)
    if verbose:
        print(last.refit_changes_)
    return found


def last_step(model):
    """Return the estimator at the end of a pipeline, or the model itself."""
    while isinstance(model, Pipeline):
        model = model[-1]
    return model


def facts_of(model):
    """Return the report of a model: in the columns of its last step, if there are no raw ones."""
    try:
        return report(model)
    except UnsupportedStepError:
        return report(last_step(model), feature_names=output_names(model[:-1]))


def _refitted(model, X, new_X, keep, further):
    """Return the new model, the cost increase of the old one on X, and the share of equal labels.

    X are the rows for the old model, and `new_X` the same rows for the new one.
    """
    if not isinstance(model, Pipeline):
        return _of_estimator(model, X, new_X, keep, further)
    *steps, (name, last) = model.steps
    if steps:
        first, raw = model[:-1], new_X
        X = new_X = first.transform(X)
        if keep == "nothing":
            first = clone(first)
            new_X = first.fit_transform(raw, further["y"])
            steps = first.steps
    last, *measures = _refitted(last, X, new_X, keep, further)
    found = copy.copy(model)
    found.steps = [*steps, (name, last)]
    return found, *measures


def _of_estimator(model, X, new_X, keep, further):
    """Return what :func:`_refitted` returns, for an estimator."""
    tree = tree_of(model)
    before = model.cost_increase(X, **further)  # checks the rows, too
    old = tree.leaf_label[model.apply(X)]
    found = copy.copy(model)
    plain = copy.copy(with_plain_numbers(found))
    method = plain._method()
    if keep == "columns" and not hasattr(method, "settings"):
        raise ValueError(
            f'keep="columns" needs the passes of TAOClustering, which {type(model).__name__} does '
            'not have: use keep="tests" or keep="nothing".'
        )
    scaling, embedder, embedding = None, None, further["embedding"]
    if keep != "nothing":
        scaling, embedder = model._space.scaling, getattr(model, "_embedder", None)
    if embedder is not None and embedding is None:  # its transformers are not fitted again
        embedding = embedder.transform(X)
        while isinstance(plain.reference, Pipeline):
            plain.reference = plain.reference.steps[-1][1]
    with one_thread():
        given = new_X, further["y"], further["sample_weight"], embedding
        inputs, rows, problem = plain._freeze(method, *given, scaling)
        _check_clusters(model, inputs)
        inputs = replace(inputs, embedder=inputs.embedder or embedder)
        is_numbered = inputs.classes is None
        own = old  # old cluster of each distinct row
        if rows.row_of_input is not None:
            own = np.empty(len(rows.weight), old.dtype)
            own[rows.row_of_input[inputs.present]] = old[inputs.present]
        if keep == "nothing":
            result = method.fit_tree(problem)
        else:
            if is_numbered:
                problem = _numbered(problem, _match(problem.free.labels, own, problem))
            if keep == "tests":
                attributes = {name: vars(model)[name] for name in _OF_SEARCH if name in vars(model)}
                leaves = tree.route(kernel_arrays(rows.X), n_jobs=problem.n_jobs)
                result = Result(tree, copy.deepcopy(attributes), leaves, is_in_units=True)
            else:
                start = tree if problem.scaling is None else problem.scaling.scaled_tree(tree)
                result = refit_columns(problem, method.settings, start)
        if keep != "tests" and is_numbered:
            labels = result.tree.leaf_label[result.leaves(problem, problem.n_jobs)]
            numbers = _match(labels, own, problem)
            problem, result = _numbered(problem, numbers), _renumbered(result, numbers)
        with interrupt_warns():
            found._store(new_X, inputs, rows, problem, result)
    if hasattr(model, "cluster_names_"):
        found.cluster_names_ = list(model.cluster_names_)
    is_same = tree.leaf_label[model.apply(X)] == found.tree_.leaf_label[found.apply(new_X)]
    return found, before, float(np.average(is_same, weights=inputs.weight))


def _check_clusters(model, inputs):
    """Raise a ValueError if the new rows have other clusters than the model."""
    old = model._space.classes
    if old is not None and not np.array_equal(old, inputs.classes):
        raise ValueError(
            f"The labels y are {listed(inputs.classes)}, but the model explains {listed(old)}: "
            "refit needs the same labels. Fit a new model to other labels."
        )
    if inputs.n_clusters != len(model.cluster_centers_):
        raise ValueError(
            f"n_clusters={inputs.n_clusters} was changed after the fit with "
            f"{len(model.cluster_centers_)} clusters: fit a new model for another number."
        )


def _match(labels, old, problem):
    """Return the new number of each cluster, by which most weight keeps its old cluster."""
    has_both = (labels >= 0) & (old >= 0)
    terms = labels[has_both], old[has_both], problem.n_clusters, problem.weight[has_both]
    return match_labels(*terms)


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


def _changes(model, found, keep, before, kept):
    """Return the text of :attr:`refit_changes_`."""
    old, new = facts_of(model), facts_of(found)
    summary, names = new["summary"], [part["name"] for part in new["clusters"]]
    what = "Rows with another label" if summary["explains_labels"] else "Cost increase"
    lines = [
        f'Refit with keep="{keep}": {100 * kept:.1f} % of the rows keep their cluster.',
        f"{what}: {_percent(old['summary']['cost_increase'])} in the old fit, {_percent(before)} on "
        "the new rows with the old tests and free centres, "
        f"{_percent(summary['cost_increase'])} with the new ones.",
        "Shares of the rows, in the old fit and now:",
    ]
    width = max(map(len, names))
    for name, *shares in zip(names, old["clusters"], new["clusters"], strict=True):
        texts = [f"{100 * part['share']:5.1f} %" for part in shares]
        lines.append(f"  {name:{width}} {' '.join(texts)}")
    return "\n".join(lines + _changed_tests(old["nodes"], new["nodes"], keep))


def _percent(value):
    return "infinite" if value is None or value == np.inf else f"{value:.1f} %"


def _changed_tests(old, new, keep):
    """Return lines about the tests that differ, of the nodes of two reports."""
    if keep == "tests":
        return []
    old, new = ([node for node in nodes if not node["is_leaf"]] for nodes in (old, new))
    if keep == "nothing":
        lines = [f"Tests: {len(old)} before, {len(new)} now."]
        columns = [{t["name"] for node in nodes for t in node["terms"]} for nodes in (old, new)]
        for verb, names in (("new", columns[1] - columns[0]), ("gone", columns[0] - columns[1])):
            if names:
                lines.append(f"Columns that are {verb} in the tests: {listed(sorted(names))}.")
        return lines
    moved = [
        f"  {condition_text(a, 4, 5)}  ->  {condition_text(b, 4, 5)}"
        for a, b in zip(old, new, strict=True)
        if _numbers_of_test(a) != _numbers_of_test(b)
    ]
    return [f"Tests: {len(moved)} of {len(old)} have moved.", *moved]


def _numbers_of_test(node):
    """Return the weights and the threshold of a test of a report, as far as they are printed."""
    terms = sorted((term["feature"], f"{term['weight']:.4g}") for term in node["terms"])
    return terms, f"{node['threshold']:.4g}"
