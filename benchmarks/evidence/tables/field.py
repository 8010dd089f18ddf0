"""field: all methods on all data sets, in and out of sample: which runs there are."""

import importlib
import importlib.util

import numpy as np
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.datasets import DATASETS
from benchmarks.evidence.measures import figures, fitted, one_path, timed
from benchmarks.evidence.runs import Run
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.comparison import METHODS
from tao_cluster.optimize.settings import default_depth

NAME = "field"
TIMES, PARAMETERS = (1, 2, 4), (30, 100, 300)
SMALL = ("iris", "wine", "breast_cancer", "digits", "mice", "anuran")
LARGE = ("avila", "letter", "fifa19", "adult")
# Of these, methods whose time grows fast with columns or rows are left out.
IMAGES = ("mnist", "fashion_mnist")
DEAR = ("cubt", "cltree", "kauri", "spex", "spex-oblique", "mixture")
# CLTree and oblique SpEx take minutes a tree there.
DEAR_IF_LARGE = ("cltree", "spex-oblique")
PEER = "gemclus Kauri"
OF_PEER = ("iris", "wine", "breast_cancer", "digits", "mice")  # it keeps an n x n kernel
HELD = {"case": {"held_out": True}}
OBLIQUE, GOAL = "TAO oblique", "goal"
# Sparse rows; of these, mixtures take none, and the dear ones are left out as on large sets.
SPARSE = ("newsgroups",)
NOT_SPARSE = ("mixture",)
# There the path of the default depth ends well before 300 parameters, its costs far above zero.
DEEPER = ("letter", "avila")
PATHS = ("path", "path, a level deeper")


def runs(plan):
    """Sized methods at k, 2 k and 4 k leaves and at leaves of 30, 100 and 300 parameters."""
    sets = ("iris", "wine", "breast_cancer") if plan.quick else SMALL + LARGE + SPARSE + IMAGES
    return [run for data in sets for run in _runs_of(data, plan)]


def _runs_of(data, plan):
    for name, method in METHODS.items():
        if name in left_out(data):
            continue
        for seed in plan.seeds(1):
            if method.is_path:
                yield from _oblique(data, seed)
            else:
                options = HELD | {"method": method}
                yield Run(NAME, data, method.title, "sizes", seed, sizes, options)
    if data in OF_PEER and importlib.util.find_spec("gemclus"):
        yield Run(NAME, data, PEER, "sizes", 0, peer, HELD)


def left_out(data):
    """Names of the methods that are not run on a data set."""
    if data in IMAGES:
        return DEAR
    if data in SPARSE:
        return DEAR_IF_LARGE + NOT_SPARSE
    return DEAR_IF_LARGE if data in LARGE else ()


def _oblique(data, seed):
    """A path, and what a user asks for who wants a size."""
    single = data in IMAGES
    path = HELD | {"parameters": {"algorithm": DirectForm(n_init=2)} if single else {}}
    yield Run(NAME, data, OBLIQUE, PATHS[0], seed, one_path, path)
    if data in DEEPER:
        deeper = HELD | {"parameters": {"depth": default_depth(DATASETS[data].n_clusters) + 1}}
        yield Run(NAME, data, OBLIQUE, PATHS[1], seed, one_path, deeper)
    for size in () if single else PARAMETERS:
        options = HELD | {"size": size}
        yield Run(NAME, data, OBLIQUE, f"{GOAL}, {size} parameters", seed, with_goal, options)


def numbers_of_leaves(k):
    """k, 2 k, 4 k, and those of axis-aligned trees of some numbers of parameters."""
    leaves = {times * k for times in TIMES} | {(size + 2) // 3 for size in PARAMETERS}
    return sorted(n for n in leaves if n >= k)


def sizes(workshop, run):
    """A row a number of leaves; one row of a method with a leaf a cluster."""
    case, method = workshop.case(run.data, **run.options["case"]), run.options["method"]
    leaves = [{"max_leaves": n} for n in numbers_of_leaves(case.n_clusters)]
    found = []
    for parameters in leaves if method.is_sized else [{}]:
        model = clone(method.estimator).set_params(**parameters)
        model, seconds = fitted(model, case, run.seed)
        found.append(figures(model, case, seconds, model.tree_.n_leaves))
    return found


def with_goal(workshop, run):
    """The cheapest oblique tree of at most so many parameters."""
    case, size = workshop.case(run.data, **run.options["case"]), run.options["size"]
    model, seconds = fitted(TAOClustering(max_parameters=size), case, run.seed)
    return figures(model, case, seconds, size)


def peer(workshop, run):
    """The published program of Kauri (GPL), in this process, if it is installed.

    Its trees have no free clustering; their cost is over the one that all others are measured by.
    """
    case = workshop.case(run.data, **run.options["case"])
    kauri = importlib.import_module("gemclus.tree").Kauri
    found = []
    for n in numbers_of_leaves(case.n_clusters):
        # Among level splits it draws lots.
        shape = {"max_clusters": case.n_clusters, "max_leaves": n}
        model = kauri(**shape, kernel="linear", random_state=run.seed)
        labels, seconds = timed(lambda model=model: model.fit_predict(case.X))
        if not np.array_equal(model.predict(case.X), labels):
            raise AssertionError(f"{PEER} does not predict the clusters of its fit.")
        found.append(_of_labels(case, model, labels, seconds))
    return found


def _of_labels(case, model, labels, seconds):
    used, labels = np.unique(labels, return_inverse=True)
    centers = np.stack([case.X[labels == c].mean(axis=0) for c in range(len(used))])
    new = np.searchsorted(used, model.predict(case.new))
    n_leaves = int(np.sum(np.asarray(model.tree_.children_left) < 0))
    costs = [_cost(case.X, centers[labels]), _cost(case.new, centers[new])]
    free, free_new = (_cost(*_nearest(rows, case.centers)) for rows in (case.X, case.new))
    return {
        "rows": case.X.shape[0],
        "columns": case.X.shape[1],
        "clusters": case.n_clusters,
        "cost": 100 * (costs[0] / free - 1),
        "cost_new": 100 * (costs[1] / free_new - 1),
        "leaves": n_leaves,
        "parameters": 3 * n_leaves - 2,
        "seconds": seconds,
    }


def _nearest(X, centers):
    return X, centers[pairwise_distances_argmin(X, centers)]


def _cost(X, centers):
    return float(((X - centers) ** 2).sum())
