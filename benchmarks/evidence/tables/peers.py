"""Published programs of other authors, in the same run if they are installed.

    pip install gemclus segmtree obliquetree pycontree

gemclus (GPL) has Kauri and segmtree has trees of segments: both find clusters of their own. The
programs obliquetree (pairs of features) and pycontree (optimal axis-aligned trees) fit the labels
of the free clustering. The column `versions` of the results has their versions.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from benchmarks.evidence.measures import timed
from benchmarks.evidence.runs import Run

_DEPTHS = (2, 3, 4, 5, 6)  # of obliquetree, which has no number of leaves
_OPTIMAL_DEPTHS = (2, 3)  # of pycontree, whose time grows exponentially with the depth
_TIME_LIMIT = 120.0  # seconds of pycontree per tree


@dataclass(frozen=True)
class Peer:
    """A published program.

    Parameters
    ----------
    package : str
    trees : callable of (package, case, numbers of leaves, seed)
        Yields for each tree the model, the labels that it is fitted to (or None), and a function
        of the fitted model that returns its numbers of leaves and of non-zero weights.
    """

    package: str
    trees: Any


def _kauri(package, case, leaves, seed):
    kauri = importlib.import_module(f"{package}.tree").Kauri

    def size(model):
        n_leaves = int(np.sum(np.asarray(model.tree_.children_left) < 0))
        return n_leaves, n_leaves - 1

    for n in leaves:
        shape = {"max_clusters": case.n_clusters, "max_leaves": n}
        yield kauri(**shape, kernel="linear", random_state=seed), None, size


def _segments(package, case, leaves, seed):
    """Trees whose leaves are the clusters: one size only."""
    del leaves
    tree = importlib.import_module(package).SegTree
    options = {"min_gain": 0.0, "min_leaf_frac": 0.0, "min_leaf_abs": 1}
    model = tree(max_leaf_nodes=case.n_clusters, random_state=seed, **options)
    yield model, None, lambda fitted: (fitted.n_leaves_, fitted.n_leaves_ - 1)


def _pairs(package, case, leaves, seed):
    del leaves
    module = importlib.import_module(package)
    export = importlib.import_module(f"{package}.utils").export_tree
    labels = pairwise_distances_argmin(case.X, case.centers)

    def size(model):
        return _nodes(export(model)["tree"])

    for depth in _DEPTHS:
        model = module.Classifier(use_oblique=True, max_depth=depth, random_state=seed)
        yield model, labels, size


def _nodes(node):
    """Return the numbers of leaves and of non-zero weights below a node of obliquetree."""
    if "left" not in node:
        return 1, 0
    below = [_nodes(node[side]) for side in ("left", "right")]
    own = len(node["features"]) if node.get("is_oblique") else 1
    return sum(each[0] for each in below), own + sum(each[1] for each in below)


def _optimal(package, case, leaves, seed):
    del leaves, seed
    tree = importlib.import_module(package).ConTree
    labels = pairwise_distances_argmin(case.X, case.centers)
    for depth in _OPTIMAL_DEPTHS:
        yield (
            tree(max_depth=depth, time_limit=_TIME_LIMIT),
            labels,
            lambda fitted: (fitted.get_num_leaf_nodes(), fitted.get_num_leaf_nodes() - 1),
        )


PEERS = {
    "gemclus Kauri": Peer("gemclus", _kauri),
    "segmtree": Peer("segmtree", _segments),
    "obliquetree": Peer("obliquetree", _pairs),
    "pycontree": Peer("pycontree", _optimal),
}


def runs(table, data, setting, seed, options):
    """Return the runs of all programs; those that are not installed cannot be executed."""
    return [Run(table, data, name, setting, seed, trees, options) for name in PEERS]


def is_installed(method):
    """Whether a method of a table can be run here: all of ours can."""
    return method not in PEERS or importlib.util.find_spec(PEERS[method].package) is not None


def trees(workshop, run):
    """Return one row per tree of a program."""
    case, peer = workshop.case(run.data, **run.options["case"]), PEERS[run.method]
    leaves = run.options["numbers_of_leaves"](case.n_clusters)
    found = []
    for model, labels, size in peer.trees(peer.package, case, leaves, run.seed):
        terms = (case.X,) if labels is None else (case.X, labels)
        fitted, seconds = timed(lambda model=model, terms=terms: model.fit(*terms))
        found.append(_figures(case, fitted, *size(fitted), seconds))
    return found


def _figures(case, model, n_leaves, n_nonzero, seconds):
    """Figures of a fitted model, whose clusters have their means as centres."""
    used, labels = np.unique(model.predict(case.X), return_inverse=True)
    centers = np.stack([case.X[labels == c].mean(axis=0) for c in range(len(used))])
    # A cluster without fitted rows has no centre: the nearest label takes its rows.
    new = np.minimum(np.searchsorted(used, model.predict(case.new)), len(used) - 1)
    costs = [_cost(case.X, centers[labels]), _cost(case.new, centers[new])]
    free, free_new = (_cost(*_nearest(rows, case.centers)) for rows in (case.X, case.new))
    return {
        "rows": case.X.shape[0],
        "columns": case.X.shape[1],
        "clusters": case.n_clusters,
        "cost": 100 * (costs[0] / free - 1),
        "cost_new": 100 * (costs[1] / free_new - 1),
        "leaves": n_leaves,
        "non_zeros": n_nonzero,
        "parameters": n_nonzero + 2 * n_leaves - 1,
        "seconds": seconds,
    }


def _nearest(X, centers):
    return X, centers[pairwise_distances_argmin(X, centers)]


def _cost(X, centers):
    return float(((X - centers) ** 2).sum())
