"""Figures of a fitted model, and the CPU seconds of what fits it."""

import time
import warnings

from sklearn.base import clone

from tao_cluster import TAOClustering
from tao_cluster._utils.matrices import spaced_rows
from tao_cluster.measures import (
    normalized_mutual_information,
    weighted_average_depth,
    weighted_average_explanation_size,
)


def timed(run):
    """What a function returns, and the CPU seconds that it took; it warns nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # lost clusters and the like: they are figures
        start = time.process_time()
        result = run()
        return result, time.process_time() - start


def figures(model, case, seconds, point=""):
    """The figures of a fitted model, as a row of a .csv file has them.

    Parameters
    ----------
    model : fitted estimator
    case : Case, whose rows it was fitted to
    seconds : float
    point : which tree of the run it is
    """
    tree = model.tree_
    new = None if case.new is None else model.cost_increase(case.new)
    return {
        "point": point,
        "rows": case.X.shape[0],
        "columns": case.X.shape[1],
        "clusters": case.n_clusters,
        "cost": model.cost_increase_,
        "cost_new": new,
        "parameters": tree.n_parameters,
        "non_zeros": tree.n_nonzero,
        "leaves": tree.n_leaves,
        "depth": tree.max_depth,
        "features": float(tree.features_per_split.mean()) if tree.n_leaves > 1 else 0.0,
        "wad": weighted_average_depth(model, case.X),
        "waes": weighted_average_explanation_size(model, case.X),
        "nmi": normalized_mutual_information(model.labels_, model.free_labels_),
        "seconds": seconds,
    }


# In the column `work`: the tree that a fit returns, and the one from which the path starts.
RESULT, DIRECT_FIT = "result", "direct fit"


def fitted(estimator, case, seed=0):
    """An estimator, fitted to a case, and its seconds; kernels are compiled before."""
    own = estimator.get_params(deep=False)
    shared = {"n_clusters": case.n_clusters, "reference": case.centers, "random_state": seed}
    estimator.set_params(**{name: value for name, value in shared.items() if name in own})
    compiled(estimator, case.X)
    return timed(lambda: estimator.fit(case.X))


_COMPILED_ROWS, _COMPILED_CLUSTERS = 200, 5
_compiled = set()


def compiled(estimator, X):
    """Fit a copy once to a few rows of X, so that seconds are those of the method."""
    key = type(estimator), getattr(estimator, "split", None), type(X), X.dtype
    if key in _compiled:
        return
    _compiled.add(key)
    few = clone(estimator).set_params(n_clusters=_COMPILED_CLUSTERS, reference=None)
    if hasattr(few, "max_leaves"):
        few.set_params(max_leaves=2 * _COMPILED_CLUSTERS)
    timed(lambda: few.fit(X[spaced_rows(X.shape[0], _COMPILED_ROWS)]))


# What a run's `measure` may be: functions of (workshop, run).


def one_fit(workshop, run):
    """Fit run.options["make"](case), an estimator, to the case run.options["case"]."""
    return _model_and_figures(workshop, run)[1]


def one_history(workshop, run):
    """Fit the same, and return all trees along mu (`point`); the last row is the result."""
    model, result = _model_and_figures(workshop, run)
    rows = [
        {
            "point": record["mu"],
            "cost": record["cost_increase"],
            "leaves": record["leaves"],
            "non_zeros": record["non_zeros"],
            "seconds": record["seconds"],
            "work": record["stage"],
        }
        for record in model.history_
    ]
    return [*rows, result | {"work": RESULT}]


def _model_and_figures(workshop, run):
    case = workshop.case(run.data, **run.options.get("case", {}))
    model, seconds = fitted(run.options["make"](case), case, run.seed)
    return model, figures(model, case, seconds, run.options.get("point", ""))


def one_path(workshop, run):
    """All trees of a path of TAOClustering(**parameters) along lambdas; seconds are a share."""
    case = workshop.case(run.data, **run.options.get("case", {}))
    parameters = {"reference": case.centers, **run.options.get("parameters", {})}
    tao = TAOClustering(case.n_clusters, random_state=run.seed, **parameters)
    lambdas = run.options.get("lambdas")
    compiled(tao, case.X)
    models, seconds = timed(lambda: tao.fit_path(case.X, lambdas=lambdas))
    share = seconds / len(models)
    return [figures(model, case, share, float(f"{model.lambda_:.4g}")) for model in models]
