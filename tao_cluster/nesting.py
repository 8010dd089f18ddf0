"""`nested` and `fit_nested`: one tree, and a clustering from it for every number of clusters."""

import copy
import itertools
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from ._utils.frames import check_aligned
from ._utils.options import name_of, with_plain_numbers
from ._utils.threads import interrupt_warns, one_thread
from .columns.view import flat_steps
from .dendrograms import levels_of
from .estimator import TAOClustering
from .initial_trees.builders import InitialTree, bisector
from .measures import adjusted_rand_index
from .objectives import KMeans
from .objectives.nested import (
    Hierarchy,
    NestedLabels,
    Statistics,
    free_hierarchy,
    nodes_below,
    ordered,
)
from .optimize.algorithms import DirectForm, Oblique
from .plot.dendrogram import plot_nested
from .problem.copies import Noise
from .problem.split_limits import fit_narrowed
from .reference import FreeClustering, free_clustering, relabeled
from .refitting import frozen, last_step, numbered_like, with_tree
from .table import passed_on
from .tree import Split, Tree, tree_of
from .tree.routing import kernel_arrays

__all__ = ["NestedTrees", "fit_nested", "nested"]

FORMS = ("prunings", "merges")
_SIZES = ("lambda_", "depth", "max_leaves", "max_parameters", "max_cost_increase")
_PER_DIVISION, _N_COPIES = 10, 39  # defaults: parameters of oblique trees, noisy copies per row
# A level at which k-means costs nothing would have all of the weight. Costs of k-means therefore
# count as at least this share of the cost of a single cluster.
_LEAST = 1e-9


@dataclass(frozen=True)
class _NestedOblique(Oblique):
    """Oblique splits with heavy noisy copies, without which nested trees fit new rows worse.

    The noise was chosen on digits and mice.
    """

    noise: ClassVar[Noise] = Noise(0.699, 0.6)


@dataclass(frozen=True)
class _Dividing(InitialTree):
    """Tree with the shape of a hierarchy: each test is halfway between the means of two parts."""

    merges: np.ndarray
    deterministic: ClassVar[bool] = True

    def build(self, X, labels, centers, sample_weight, rng):
        """See :class:`tao_cluster.initial_trees.InitialTree`."""
        k = len(centers)
        mass = list(np.maximum(np.bincount(labels, sample_weight, k), 1e-300))
        mean = list(centers)
        for pair in self.merges:
            mass.append(sum(mass[i] for i in pair))
            mean.append(sum(mass[i] * mean[i] for i in pair) / mass[-1])
        nodes, splits, children = [2 * k - 2], [], []
        for node in nodes:
            if node < k:
                splits.append(None)
                children.append((-1, -1))
                continue
            pair = self.merges[node - k]
            split = bisector(*(mean[i] for i in pair)) or Split.constant(True)
            splits.append(split)
            children.append((len(nodes), len(nodes) + 1))
            nodes += list(pair)
        label = [node if node < k else -1 for node in nodes]
        pairs = [split and (split.indices, split.weights) for split in splits]
        threshold = [split.threshold if split else 0.0 for split in splits]
        return Tree.from_splits(*np.transpose(children), pairs, threshold, label, X.shape[1])


class NestedTrees:
    """One tree for every number of clusters; the result of :func:`nested` and :func:`fit_nested`.

    From one level to the next, one cluster is divided in two, and the others stay as they are.

    Attributes
    ----------
    model : fitted estimator or Pipeline
        The model with the most clusters.
    n_clusters : int
        The number K of its clusters.
    levels : int32 array of shape (K, K)
        Entry (k - 1, c) is the cluster of the level of k clusters to which cluster c of `model`
        belongs.
    labels : int32 array of shape (K, n)
        Entry (k - 1, i) is the cluster of row i at the level of k clusters.
    agreement : float64 array of shape (K,), or None
        With a `reference` of :func:`fit_nested`: adjusted Rand index of the tree's clusters and
        those of the given dendrogram, per level. Rows without a cluster there are left out.

    Notes
    -----
    The rows are not copied, and cuts are computed when they are first asked for: do not change the
    values of X before. Leaves have no histograms, so that there is no `predict_proba`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import fit_nested
    >>> trees = fit_nested(load_iris().data, 3, random_state=0)
    >>> trees.predict([[5.0, 3.5, 1.4, 0.2]], 2).shape, trees.cut(2).n_clusters
    ((1,), 2)
    """

    def __init__(self, model, X, levels, further, reference_levels=None):
        self.model, self.levels = model, levels
        self.n_clusters = len(levels)
        # New columns of the user's frame do not become columns of this one.
        self._X, self._further = X.copy(deep=False) if hasattr(X, "iloc") else X, further
        self._cuts, self._names = {}, {}
        self.labels = levels[:, model.predict(X)]
        self.agreement = None
        if reference_levels is not None:
            weight = further["sample_weight"]
            weight = np.ones(len(self.labels[0])) if weight is None else np.asarray(weight)
            pairs = zip(reference_levels, self.labels, strict=True)
            self.agreement = np.array(
                [adjusted_rand_index(a, b, np.where(a < 0, 0.0, weight)) for a, b in pairs]
            )

    def predict(self, X, k):
        """Return the cluster of each row at the level of k clusters: int32 array of shape (n,)."""
        return self.levels[self._checked(k) - 1][self.model.predict(X)]

    def cut(self, k):
        """Return the model with k clusters: an ordinary fitted model, with all its exports.

        Its tree is a pruning of that of the model with k + 1 clusters. Names of clusters are those
        of `model`; a union of clusters has the names of its parts.

        Parameters
        ----------
        k : int from 1 to K

        Returns
        -------
        Fitted estimator or Pipeline, of the kind of `model`
        """
        if self._checked(k) == self.n_clusters:
            return self.model
        last, level = last_step(self.model), self.levels[k - 1]
        if k not in self._cuts:
            tree = relabeled(tree_of(last), level).prune()
            self._cuts[k] = with_tree(self.model, self._X, tree, int(k), self._further)
        found, known = self._cuts[k], getattr(last, "cluster_names_", None)
        if known != self._names.get(k):  # the clusters of `model` were named since
            self._names[k] = list(known)
            parts = [np.flatnonzero(level == cluster) for cluster in range(k)]
            last_step(found).name_clusters(_names_of_unions(last, parts))
        return found

    def _checked(self, k):
        """Return a number of clusters as an int."""
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= self.n_clusters:
            raise ValueError(f"k must be an integer from 1 to {self.n_clusters}; got {k!r}.")
        return int(k)

    @cached_property
    def divided(self):
        """The cluster that each division divides: int array of shape (K - 1,).

        Entry k - 2 is a cluster of the level of k - 1 clusters. At the level of k clusters, its
        parts are the cluster of the same number and cluster k - 1.
        """
        pairs = zip(self.levels, self.levels[1:], strict=False)
        return np.array([coarse[fine == k][0] for k, (coarse, fine) in enumerate(pairs, 1)], int)

    @cached_property
    def table(self):
        """One row per number of clusters k, as a DataFrame.

        Columns: `cost` (with optimal centres), `cost_increase` (percent above the free clustering
        with k clusters, which is fitted for this), `n_leaves`, `n_parameters`, `divided` (the
        cluster of the level before that is divided), `n_rows` and `n_rows_new` (numbers of rows of
        the part that keeps the number, and of the new cluster k - 1) and, with a reference,
        `agreement` (adjusted Rand index).
        """
        lines = []
        for k in range(1, self.n_clusters + 1):
            last = last_step(self.cut(k))
            line = {"k": k, "cost": last.inertia_, "cost_increase": last.cost_increase_}
            line |= {"n_leaves": last.tree_.n_leaves, "n_parameters": last.tree_.n_parameters}
            counts, divided = np.bincount(self.labels[k - 1], minlength=k), pd.NA
            line |= {"divided": divided, "n_rows": counts[0], "n_rows_new": 0}
            if k > 1:
                divided = self.divided[k - 2]
                line |= {"divided": divided, "n_rows": counts[divided], "n_rows_new": counts[k - 1]}
            if self.agreement is not None:
                line["agreement"] = self.agreement[k - 1]
            lines.append(line)
        return pd.DataFrame(lines).set_index("k").astype({"divided": "Int64"})

    @cached_property
    def nodes(self):
        """The node of the tree of `model` that makes each division: int array of shape (K - 1,).

        Entry k - 2 is the node whose test divides a cluster of the level of k - 1 clusters. It is
        -1 if several tests do this together.
        """
        tree = tree_of(last_step(self.model))
        children = _children_of(tree)
        below = [
            frozenset(tree.leaf_label[_leaves_below(children, i)]) for i in range(tree.n_nodes)
        ]
        node_of = {}
        for node in tree.decision_nodes:
            parts = [below[child] for child in children[node]]
            if not parts[0] & parts[1]:
                node_of.setdefault(frozenset(parts), int(node))
        found = []
        for k, own in enumerate(self.divided, 1):
            parts = [frozenset(np.flatnonzero(self.levels[k] == c)) for c in (own, k)]
            found.append(node_of.get(frozenset(parts), -1))
        return np.array(found)

    def knee(self):
        """Return the number of clusters after which further divisions save little.

        It is the k from 2 to K - 1 with the largest ratio of the cost that the division into k
        clusters saves to what the division into k + 1 clusters saves.
        """
        if self.n_clusters < 3:
            return self.n_clusters
        saved = -np.diff(self.table["cost"])
        least = 1e-12 * self.table["cost"].iloc[0]
        return 2 + int(np.argmax(saved[:-1] / np.maximum(saved[1:], least)))

    def plot(self, **options):
        """Draw the tree as a dendrogram; see :func:`tao_cluster.plot.dendrogram.plot_nested`."""
        return plot_nested(self, **options)

    def __repr__(self):
        return f"NestedTrees of 1 to {self.n_clusters} clusters from {last_step(self.model)!r}"


def nested(model, X, n_clusters=None, *, form=None, sample_weight=None, embedding=None):
    """Return a clustering for every number of clusters from a fitted model, nested in its tree.

    The divisions that save most come first. Clusters get new numbers, and keep their names.

    Parameters
    ----------
    model : fitted estimator of this project, or fitted Pipeline that ends with one
        Its objective must be a sum over rows, with centres. It is not changed.
    X : array-like, DataFrame or CSR matrix of shape (n, d)
        The rows of the fit.
    n_clusters : int, optional
        Largest number of clusters K. The default is that of the model.
    form : {"prunings", "merges"}, optional
        The default is "prunings" if each cluster of the model has one leaf, and else "merges".

        - "prunings": each leaf is a cluster of its own. The tree with k clusters is the tree of the
          model, cut back to k leaves.
        - "merges": the clusters of the model are merged by the increase in cost (Ward's criterion
          for k-means), also where they are in distant leaves. Several leaves can share a cluster.
    sample_weight, embedding
        As for `fit`.

    Returns
    -------
    NestedTrees

    Raises
    ------
    ValueError
        If the model explains labels or leaves out rows, or has fewer leaves or clusters than
        `n_clusters`.

    See Also
    --------
    fit_nested : A tree that is fitted for all numbers of clusters at once. Its clusters fit better.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering, nested
    >>> X = load_iris().data
    >>> trees = nested(TAOClustering(4, max_leaves=4, random_state=0).fit(X), X)
    >>> [trees.cut(k).tree_.n_leaves for k in (1, 2, 3, 4)]
    [1, 2, 3, 4]
    """
    if form is not None and form not in FORMS:
        raise ValueError(f"form must be one of {', '.join(map(repr, FORMS))}; got {form!r}.")
    further = {"y": None, "sample_weight": sample_weight, "embedding": embedding}
    check_aligned(X, **further)
    last, tree = last_step(model), tree_of(last_step(model))
    Z = passed_on(model, X) if last is not model and len(flat_steps(model)) > 1 else X
    with one_thread():
        plain = copy.copy(last)
        plain.reference = None
        method = with_plain_numbers(plain)._method()
        _check_objective(method.objective)
        last._new_rows(Z, None, sample_weight, embedding)  # raises if they do not fit the model
        _, rows, problem = frozen(plain, Z, further, method)
        view = kernel_arrays(rows.X)
        tree = tree.prune(tree.node_counts(tree.route(view)))
        leaf_of_row = tree.route(view)
        if form is None:
            labels = tree.leaf_label[tree.leaves]
            form = FORMS[len(set(labels.tolist())) < len(labels)]
        if form == "prunings":
            group, name = leaf_of_row, "leaves"
            children = _children_of(tree)
        else:
            used, group = np.unique(tree.leaf_label[leaf_of_row], return_inverse=True)
            children, name = np.full((len(used), 2), -1), "clusters"
        most = len(np.unique(group))
        k = min(len(last.cluster_centers_), most) if n_clusters is None else n_clusters
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= most:
            raise ValueError(
                f"n_clusters={k!r} must be an integer from 1 to {most}, the number of {name} of "
                "the tree."
            )
        children, cost, mass = _costs(problem, children, group)
    root = np.setdiff1d(np.arange(len(children)), children)[0]  # the node that is no child
    found = Hierarchy.by_gain(children, cost, mass, int(root), k)
    cluster = np.full(tree.n_nodes, -1, tree.leaf_label.dtype)
    for c, node in enumerate(found.leaves):
        below = _leaves_below(children, node)
        if form == "merges":
            below = np.flatnonzero(np.isin(tree.leaf_label, used[below]))
        cluster[below] = c
    cut = with_tree(model, X, tree.with_leaves(cluster).prune(), int(k), further)
    if hasattr(last, "cluster_names_"):
        parts = [np.unique(tree.leaf_label[cluster == c]) for c in range(k)]
        names = _names_of_unions(last, parts)
        for name in {name for name in names if names.count(name) > 1}:
            for number, i in enumerate([i for i in range(k) if names[i] == name], 1):
                names[i] = f"{name} {number}"
        last_step(cut).name_clusters(names)
    return NestedTrees(cut, X, found.levels, further)


def fit_nested(
    X,
    n_clusters=None,
    estimator=None,
    *,
    reference=None,
    sample_weight=None,
    embedding=None,
    **parameters,
):
    """Fit one tree whose clusterings cost little for every number of clusters, and return them.

    A hierarchy of clusters without a tree comes first. The tree then minimises the mean over k = 2,
    ..., K of the cost at k clusters, relative to that of k-means with k clusters. The order of the
    divisions is computed again at the end.

    Parameters
    ----------
    X : array-like, DataFrame or CSR matrix of shape (n, d)
    n_clusters : int, optional
        Largest number of clusters K, at least 2. The default is that of the estimator, or 10.
    estimator : TAOClustering, or Pipeline that ends with one, optional
        An unfitted model, for example that of :func:`table_pipeline`. It is cloned. If neither it
        nor `parameters` limit the tree, it has at most K leaves and 10 (K - 1) parameters. With its
        default algorithm, there are up to 39 noisy copies per row.
    reference : optional
        A dendrogram of the same rows to explain, instead of the best hierarchy: a linkage matrix of
        SciPy, a fitted AgglomerativeClustering or BisectingKMeans, or the condensed tree of
        HDBSCAN; see :func:`.dendrograms.levels_of`. The tree then minimises the mean disagreement
        with its clusters, and `agreement` of the result says how well it explains them. Rows
        without a cluster at the level of K clusters have no influence.
    sample_weight, embedding
        As for `fit` of the estimator.
    **parameters
        Further parameters of TAOClustering, such as `split`, `max_parameters` or `random_state`.

    Returns
    -------
    NestedTrees

    Raises
    ------
    ValueError
        If there are fewer distinct rows than clusters, if the objective is not "kmeans", or if the
        reference is not a dendrogram of these rows.

    See Also
    --------
    nested : The clusterings within a tree that is already fitted.

    Notes
    -----
    Trees of this kind with tests of one column are those of divisive monothetic clustering
    (Chavent, Lechevallier & Briant, DIVCLUS-T, 2007; :class:`greedy.DIVCLUST`), which divides one
    cluster at a time. Here, all levels are optimised together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import DirectForm, fit_nested
    >>> X = load_iris().data
    >>> trees = fit_nested(X, 4, algorithm=DirectForm(copies=5), random_state=0)
    >>> trees.cut(3).tree_.n_leaves
    3
    """
    model = TAOClustering(10) if estimator is None else clone(estimator)
    last, Z = last_step(model), X
    if not isinstance(last, TAOClustering):
        raise ValueError(f"estimator must be or end with TAOClustering; got {last!r}.")
    last.set_params(**parameters)
    if n_clusters is None:
        n_clusters = last.n_clusters
    if not isinstance(n_clusters, Integral) or isinstance(n_clusters, bool) or n_clusters < 2:
        raise ValueError(
            f"n_clusters must be the largest number of clusters, at least 2; got {n_clusters!r}."
        )
    last.set_params(n_clusters=n_clusters, **_defaults(last, n_clusters))
    if last is not model and len(flat_steps(model)) > 1:
        Z = passed_on(model, X, fits=True)
    further = {"y": None, "sample_weight": sample_weight, "embedding": embedding}
    check_aligned(X, **further)
    n_rows = Z.shape[0] if hasattr(Z, "shape") else len(Z)
    given = None if reference is None else levels_of(reference, n_rows, n_clusters)
    if given is not None and given[-1].min() < 0:
        weight = np.ones(n_rows) if sample_weight is None else np.asarray(sample_weight)
        further["sample_weight"] = np.where(given[-1] < 0, 0.0, weight)
    levels = _train(last, Z, given, further)
    k = len(levels)
    if k < n_clusters:
        model = with_tree(model, X, last.tree_, k, further)
    return NestedTrees(model, X, levels, further, given if given is None else given[:k])


def _train(estimator, X, given, further):
    """Fit an estimator for all levels: of the best hierarchy, or those of a given one.

    Returns
    -------
    levels : int32 array of shape (k, k), for the k clusters of the tree
    """
    estimator._validate_params()
    plain, n_clusters = with_plain_numbers(estimator), estimator.n_clusters
    method = plain._method()
    is_kmeans = isinstance(method.settings.objective, KMeans)
    if not is_kmeans or method.validation is not None or estimator.reference is not None:
        raise ValueError(
            'fit_nested needs objective="kmeans", reference=None and validation=None in the '
            "estimator. A dendrogram is the argument `reference` of fit_nested itself."
        )
    kind = method.settings.split_kind
    if kind.finds_with_copies:
        method = _with_settings(method, split_kind=_NestedOblique())
    with one_thread():
        with warnings.catch_warnings():  # of clusters without rows: an error follows
            warnings.simplefilter("ignore", ConvergenceWarning)
            inputs, rows, problem = plain._freeze(method, X, *further.values())
        if len(rows.weight) < n_clusters:
            raise ValueError(
                f"X has only {len(rows.weight)} distinct rows; use at most as many clusters."
            )
        if given is None:
            merges, over_levels = _best_hierarchy(problem)
        else:
            merges, over_levels = _given_hierarchy(problem, given, rows.row_of_input, inputs.weight)
        if plain.init == "auto" and kind.name == "oblique":
            method = _with_settings(method, start=_Dividing(merges))
        result = fit_narrowed(method, over_levels)
        levels, labels, result = _numbered(problem, merges, result)
        with interrupt_warns():
            estimator._store(X, inputs, rows, numbered_like(problem, labels), result)
    return levels


def _numbered(problem, merges, result):
    """Return the levels in the best order for a tree, and its result, with its clusters renumbered.

    The tree is the result for other costs and perhaps other rows; the costs are those of `problem`.

    Returns
    -------
    levels : int32 array of shape (k, k), for the k clusters that the tree has
    labels : int array of shape (n,), the new numbers of the clusters of the rows
    result : Result
    """
    tree = result.tree
    leaves = tree.route(kernel_arrays(problem.X), n_jobs=problem.n_jobs)
    used, labels = np.unique(tree.leaf_label[leaves], return_inverse=True)
    parts = Statistics.of(problem.data, labels, problem.weight, len(used))
    levels, _ = ordered(_merges_among(merges, used, problem.n_clusters), parts)
    number = np.full(problem.n_clusters, -1, levels.dtype)
    number[used] = levels[-1]
    levels, labels = levels[:, np.argsort(levels[-1])], levels[-1][labels]
    return levels, labels, replace(result, tree=relabeled(tree, number), leaf_of_row=leaves)


def _with_settings(method, **changes):
    return replace(method, settings=replace(method.settings, **changes))


def _defaults(estimator, n_clusters):
    """Return parameters for nested trees in place of those that an estimator leaves at defaults."""
    usual, found = TAOClustering(), {}
    if estimator.algorithm == "direct":
        found["algorithm"] = DirectForm(copies=_N_COPIES)
    if all(getattr(estimator, name) == getattr(usual, name) for name in _SIZES):
        found |= {"max_leaves": n_clusters, "max_parameters": _PER_DIVISION * (n_clusters - 1)}
    return found


def _best_hierarchy(problem):
    """Return the merges of the best hierarchy of a k-means problem, and the problem of its levels.

    The levels are weighted by the inverse cost of k-means with as many clusters.
    """
    space, data, weight, k = problem.space, problem.data, problem.weight, problem.n_clusters

    def free(n):
        terms = (space, data, n, weight, problem.random_state, problem.n_jobs)
        return free_clustering(None, KMeans(), *terms)

    fits = [free(n) for n in range(2, k)] + [problem.free]
    fine = [free(n).labels for n in (2 * k, 4 * k) if n <= problem.n_rows // 2]
    costs = np.maximum([fit.inertia for fit in fits], _LEAST * problem.undivided_cost)
    shares = np.append(0.0, (1 / costs) / (1 / costs).sum())
    terms = ([fit.labels for fit in fits] + fine, shares, problem.random_state)
    merges, objective, labels, centers = free_hierarchy(space, data, weight, *terms)
    inertia = objective.value(data, labels, weight, centers)
    free_levels = FreeClustering(labels, centers, inertia)
    return merges, replace(problem, objective=objective, free=free_levels, reference=centers)


def _given_hierarchy(problem, levels, row_of_input, weight):
    """Return the merges of a given hierarchy, and the problem that explains its labels.

    Equal rows with different labels are different rows of this problem. `row_of_input` and `weight`
    are those of the rows of the input.
    """
    k, present = problem.n_clusters, np.flatnonzero(row_of_input >= 0)
    pair = row_of_input[present] * k + levels[-1, present]
    order = np.lexsort([weight[present], pair])  # the order of a sum changes its last bits
    pairs, first, group = np.unique(pair[order], return_index=True, return_inverse=True)
    problem = problem.subset(pairs // k, np.bincount(group, weight[present][order]))
    levels = levels[:, present[order[first]]]
    labels = levels[-1].astype(np.intp)
    if len(np.unique(labels)) < k:
        raise ValueError("A cluster of the reference has no rows of positive weight of its own.")
    of_cluster = np.array([levels[:, np.argmax(labels == c)] for c in range(k)]).T
    merges, node = [], list(range(k))  # the node of each cluster of a level
    for n in range(k - 1, 0, -1):
        merges.append((node[of_cluster[n - 1, n]], node[n]))
        node[of_cluster[n - 1, n]] = k + len(merges) - 1
    objective = NestedLabels(levels=of_cluster)
    centers = objective.reference(k, None)
    free = FreeClustering(labels, centers, 0.0)
    terms = {"space": labels[:, None].astype(np.float64), "data": labels, "free": free}
    return np.array(merges), replace(problem, objective=objective, reference=centers, **terms)


def _check_objective(objective):
    """Raise a ValueError unless clusters of an objective can be merged."""
    if objective.explains_labels or objective.trims or not objective.is_sum:
        raise ValueError(
            "nested needs an objective whose cost is a sum over rows with centres, such as "
            f"'kmeans', without rows left out; that of the model is {name_of(objective)}."
        )


def _costs(problem, children, group):
    """Return the nodes of a hierarchy, and the cost and the weight of each as one cluster.

    Without nodes that have children, groups are merged where that costs least.

    Parameters
    ----------
    problem : Problem
    children : int array of shape (n_nodes, 2)
    group : int array of shape (n,), the leaf of each row
    """
    rows = {i: np.flatnonzero(group == i) for i in np.unique(group)}
    cost = {i: problem.subset(own).undivided_cost for i, own in rows.items()}
    children = children.tolist()

    def union(i, j):
        return np.sort(np.concatenate([rows[i], rows[j]]))

    if len(children) == len(rows):  # no tree yet
        active, prices = list(rows), {}
        while len(active) > 1:
            for pair in itertools.combinations(active, 2):
                if pair not in prices:
                    both = problem.subset(union(*pair)).undivided_cost
                    prices[pair] = both - cost[pair[0]] - cost[pair[1]]
            i, j = min(itertools.combinations(active, 2), key=prices.get)
            new = len(children)
            children.append([i, j])
            rows[new], cost[new] = union(i, j), prices[i, j] + cost[i] + cost[j]
            active = [node for node in active if node not in (i, j)] + [new]
    else:
        for node in range(len(children) - 1, -1, -1):
            if children[node][0] >= 0:
                rows[node] = union(*children[node])
                cost[node] = problem.subset(rows[node]).undivided_cost
    nodes = range(len(children))
    mass = np.array([problem.weight[rows[node]].sum() for node in nodes])
    return np.array(children), np.array([cost[node] for node in nodes]), mass


def _children_of(tree):
    """Return the children of the nodes of a tree, -1 at leaves: int array of shape (n_nodes, 2)."""
    return np.column_stack([tree.children_left, tree.children_right])


def _leaves_below(children, node):
    """Return the leaves of the subtree of a node."""
    return [i for i in nodes_below(children, node) if children[i][0] < 0]


def _names_of_unions(model, parts):
    """Return the names of unions of the clusters of a model; each part has the clusters of one."""
    return [" + ".join(model.cluster_names_[cluster] for cluster in part) for part in parts]


def _merges_among(merges, used, n_clusters):
    """Return the merges among some of the clusters, which are numbered anew."""
    number = dict(zip(used.tolist(), range(len(used)), strict=True))
    found = []
    for node, (left, right) in enumerate(merges.tolist(), n_clusters):
        pair = [number[child] for child in (left, right) if child in number]
        if len(pair) == 2:
            number[node] = len(used) + len(found)
            found.append(pair)
        elif pair:
            number[node] = pair[0]
    return np.array(found, dtype=np.intp).reshape(-1, 2)
