"""Rivals that are not ours: estimators of scikit-learn, and published programs of other authors.

    pip install gemclus segmtree obliquetree pycontree

Of scikit-learn, there are a regression tree of X on X whose leaves are the clusters, and
multinomial regression with an L1 penalty, which is no tree. Programs of others run if they are
installed. gemclus (GPL) has Kauri and segmtree has trees of segments: both find clusters of their
own. The programs obliquetree (pairs of features) and pycontree (optimal axis-aligned trees) fit the
labels of the free clustering, as CART does.
"""

import importlib
import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances_argmin
from sklearn.tree import DecisionTreeRegressor

from benchmarks.evidence.measures import timed
from tao_cluster.measures import normalized_mutual_information

_DEPTHS = (2, 3, 4, 5, 6)  # of obliquetree, which has no number of leaves
_OPTIMAL_DEPTHS = (2, 3)  # of pycontree, whose time grows exponentially with the depth
_TIME_LIMIT = 120.0  # seconds of pycontree per tree
MOST_ITERATIONS = 1000
_STRENGTHS = np.geomspace(0.3, 0.0001, 20)  # of the L1 penalty, on the mean loss of a row


@dataclass(frozen=True)
class Peer:
    """A rival.

    Parameters
    ----------
    trees : callable of (case, numbers of leaves, seed)
        Yields for each tree the model, the labels that it is fitted to (or None), and a function
        of the fitted model that returns its numbers of leaves and of non-zero weights.
    package : str, that has to be installed
    """

    trees: Any
    package: str = "sklearn"


def _regression(case, leaves, seed):
    """A leaf is a cluster, so that there is one size only."""
    del leaves
    tree = DecisionTreeRegressor(max_leaf_nodes=case.n_clusters, random_state=seed)
    yield _Leaves(tree), case.X, lambda fitted: _axis_size(fitted.tree)


@dataclass
class _Leaves:
    """A tree whose leaves are the clusters."""

    tree: Any

    def fit(self, X, y):
        self.tree.fit(X, y)
        return self

    def predict(self, X):
        return self.tree.apply(X)


def _axis_size(fitted):
    return fitted.get_n_leaves(), fitted.get_n_leaves() - 1


def _multinomial(case, leaves, seed):
    """No tree, so that it has no leaves; its intercepts are parameters, as thresholds are.

    Each fit starts from the one before, so that more of them converge.
    """
    del leaves
    terms = {"l1_ratio": 1.0, "random_state": seed, "warm_start": True}
    model = LogisticRegression(solver="saga", max_iter=MOST_ITERATIONS, **terms)
    for strength in _STRENGTHS:
        model.set_params(C=1 / (strength * case.X.shape[0]))
        yield model, _labels(case), lambda fitted: (None, int((fitted.coef_ != 0).sum()))


def _kauri(case, leaves, seed):
    kauri = importlib.import_module("gemclus.tree").Kauri

    def size(model):
        n_leaves = int(np.sum(np.asarray(model.tree_.children_left) < 0))
        return n_leaves, n_leaves - 1

    for n in leaves:
        shape = {"max_clusters": case.n_clusters, "max_leaves": n}
        yield kauri(**shape, kernel="linear", random_state=seed), None, size


def _segments(case, leaves, seed):
    """Trees whose leaves are the clusters: one size only."""
    del leaves
    options = {"min_gain": 0.0, "min_leaf_frac": 0.0, "min_leaf_abs": 1, "random_state": seed}
    model = importlib.import_module("segmtree").SegTree(max_leaf_nodes=case.n_clusters, **options)
    yield model, None, lambda fitted: (fitted.n_leaves_, fitted.n_leaves_ - 1)


def _pairs(case, leaves, seed):
    del leaves
    module = importlib.import_module("obliquetree")
    export = importlib.import_module("obliquetree.utils").export_tree
    for depth in _DEPTHS:
        model = module.Classifier(use_oblique=True, max_depth=depth, random_state=seed)
        yield model, _labels(case), lambda fitted: _nodes(export(fitted)["tree"])


def _nodes(node):
    """Return the numbers of leaves and of non-zero weights below a node of obliquetree."""
    if "left" not in node:
        return 1, 0
    below = [_nodes(node[side]) for side in ("left", "right")]
    own = len(node["features"]) if node.get("is_oblique") else 1
    return sum(each[0] for each in below), own + sum(each[1] for each in below)


def _optimal(case, leaves, seed):
    del leaves, seed
    tree = importlib.import_module("pycontree").ConTree
    for depth in _OPTIMAL_DEPTHS:
        model = tree(max_depth=depth, time_limit=_TIME_LIMIT)
        yield model, _labels(case), lambda m: (m.get_num_leaf_nodes(), m.get_num_leaf_nodes() - 1)


def _labels(case):
    return pairwise_distances_argmin(case.X, case.centers)


PEERS = {
    "regression tree": Peer(_regression),
    "L1 multinomial": Peer(_multinomial),
    "gemclus Kauri": Peer(_kauri, "gemclus"),
    "segmtree": Peer(_segments, "segmtree"),
    "obliquetree": Peer(_pairs, "obliquetree"),
    "pycontree": Peer(_optimal, "pycontree"),
}
# What runs on data of any size: one program keeps an n x n kernel.
OF_ANY_SIZE = tuple(name for name in PEERS if name != "gemclus Kauri")


def is_installed(method):
    """Whether a method of a table can be run here: all of ours can."""
    return method not in PEERS or importlib.util.find_spec(PEERS[method].package) is not None


def trees(workshop, run):
    """Return one row per tree of a rival; `method` has the numbers of leaves of k clusters."""
    case = workshop.case(run.data, **run.options["case"])
    leaves = run.options["method"](case.n_clusters)
    found = []
    for model, labels, size in PEERS[run.method].trees(case, leaves, run.seed):
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
    others = case.n_clusters if n_leaves is None else 2 * n_leaves - 1
    return {
        "rows": case.X.shape[0],
        "columns": case.X.shape[1],
        "clusters": case.n_clusters,
        "cost": 100 * (costs[0] / free - 1),
        "cost_new": 100 * (costs[1] / free_new - 1),
        "leaves": n_leaves,
        "non_zeros": n_nonzero,
        "parameters": n_nonzero + others,
        "nmi": normalized_mutual_information(labels, _labels(case)),
        "seconds": seconds,
        "work": getattr(model, "n_iter_", [None])[0],
    }


def _nearest(X, centers):
    return X, centers[pairwise_distances_argmin(X, centers)]


def _cost(X, centers):
    return float(((X - centers) ** 2).sum())
