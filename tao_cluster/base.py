"""What every estimator of this project shares: input, the reference, use of the fitted tree."""

import copy
import functools
from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from ._utils.matrices import check_rows
from ._utils.options import with_plain_numbers
from ._utils.threads import one_thread
from .objectives.base import cluster_sums
from .problem.inputs import (
    Inputs,
    check_embedding,
    check_names,
    check_sample_weight,
    free_labels_of,
)
from .problem.observed import observed_columns
from .problem.problem import Problem
from .problem.scaling import ClusteringSpace, Scaling, in_units_of
from .reference import given_centers, optimal_centers, split_pipeline
from .tree.readable import Readable
from .tree.routing import kernel_arrays
from .tree.split_statistics import feature_importances, stds_and_gaps


def of_one_fit(method):
    """Method that sees one fit from its first line to its last, whatever other threads fit."""

    @functools.wraps(method)
    def wrapped(self, *args, **options):
        return method(copy.copy(self), *args, **options)

    return wrapped


def _set(model, given, fitted):
    """Set what a fit to given rows has found, at once for threads that use the estimator."""
    seen = copy.copy(model)
    validate_data(seen, given, skip_check_array=True)  # names and number of features
    for name in ("classes_", "validation_cost_increase_", "_embedder"):  # of an earlier fit
        vars(seen).pop(name, None)
    vars(seen).update(fitted)
    vars(model).update(vars(seen))
    for name in set(vars(model)) - set(vars(seen)):
        vars(model).pop(name, None)


class _FittedClustering:
    """What an estimator does with rows after its fit: clusters, leaves, distances and costs."""

    @of_one_fit
    def predict(self, X):
        """Cluster of each row, by the tree (not by the nearest centre).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        int32 array of shape (n,)
        """
        leaves = self.apply(X)
        return self._space.named(self.tree_.leaf_label[leaves])

    @of_one_fit
    def apply(self, X):
        """Leaf of `tree_` that each row reaches: int32 array of shape (n,), node numbers."""
        return self._leaves(self._check_new(X))

    @of_one_fit
    def decision_path(self, X):
        """Return a CSR indicator of shape (n, n_nodes) of the nodes that each row visits."""
        return self.tree_.paths(self.apply(X))

    @of_one_fit
    def transform(self, X):
        """Distances to `cluster_centers_`: Euclidean for k-means.

        With ``standardize=True`` they are distances of standardised columns, like all costs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, m)
            Rows in the space of the centres: the embedding, if `fit` was given one.

        Returns
        -------
        float64 array of shape (n, n_clusters)
        """
        check_is_fitted(self)
        embedding = self._embedded(X, X if self._space.has_embedding else None)
        rows = self._check_new(X) if embedding is None else check_embedding(embedding)
        expected = self.cluster_centers_.shape[1]
        if rows.shape[1] != expected:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input: its centres live there."
            )
        return self._space.distances(rows, self.cluster_centers_)

    def fit_predict(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and return `labels_`. See `fit`."""
        return self.fit(X, y, sample_weight, embedding).labels_

    def fit_transform(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and transform the rows that were clustered. See `fit` and `transform`."""
        self.fit(X, y, sample_weight, embedding)
        return self.transform(X if embedding is None else embedding)

    @of_one_fit
    def score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the objective of the tree's assignment of some rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels of these rows, for ``objective="labels"``; ignored otherwise.
        sample_weight : array-like of shape (n,), optional
        embedding : array-like or CSR matrix of shape (n, m)
            The same rows where they are clustered; needed if `fit` was given one.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return -self._cost(X, y, sample_weight, embedding, self.cluster_centers_)

    @of_one_fit
    def cost_increase(self, X_new, sample_weight=None, embedding=None, y=None):
        """Return the percentage by which the tree costs more than the free clustering on rows.

        The tree assigns rows to `cluster_centers_`, the free clustering to the nearest of
        `free_centers_`. For the fitted rows the value is about `cost_increase_`.

        Parameters
        ----------
        X_new : array-like or CSR matrix of shape (n, d)
        sample_weight : array-like of shape (n,), optional
        embedding : array-like or CSR matrix of shape (n, m)
            The same rows where they are clustered; needed if `fit` was given one.
        y : array-like of shape (n,)
            Labels of these rows, for ``objective="labels"``: then it is the percentage of their
            weight whose label is not the tree's.

        Returns
        -------
        float; below 0 where the free centres, found on other rows, serve these worse
        """
        X, rows, weight, labels = self._new_rows(X_new, y, sample_weight, embedding)
        space = self._space
        free = space.scaled_centers(self.free_centers_)
        problem = Problem.beside(free, X, rows, weight, space.objective)
        centers = space.scaled_centers(self.cluster_centers_)
        cost = problem.objective.value(problem.data, labels, weight, centers)
        return problem.cost_increase(cost)

    def _embedded(self, X, embedding):
        """Return the embedding of rows; a pipeline as reference computes it from X."""
        if hasattr(self, "_embedder") and (embedding is None or embedding is X):
            check_names(X)
            return self._embedder.transform(X)
        return embedding

    def _cost(self, X, y, sample_weight, embedding, centers):
        """Objective of the tree's clusters of some rows, with centres in the user's units."""
        _, rows, weight, labels = self._new_rows(X, y, sample_weight, embedding)
        objective, centers = self._space.objective, self._space.scaled_centers(centers)
        return objective.value(objective.prepare(rows), labels, weight, centers)

    def _new_rows(self, X, y, sample_weight, embedding):
        """New rows, as the objective takes them, their weights and the tree's clusters."""
        embedding = self._embedded(X, embedding)
        X = self._check_new(X)
        rows = self._space.clustered(X, y, embedding)
        weight = check_sample_weight(sample_weight, X)
        return X, rows, weight, self.tree_.leaf_label[self._leaves(X)]

    def _leaves(self, X):
        return self.tree_.route(kernel_arrays(X), n_jobs=effective_n_jobs(self.n_jobs))

    def _check_new(self, X):
        check_is_fitted(self)
        check_names(X)
        rows = check_rows(X)
        validate_data(self, X, reset=False, skip_check_array=True)  # names and number of features
        return rows


class TreeClustering(
    _FittedClustering,
    Readable,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base of the estimators whose clusters are the output of a tree.

    A subclass has the parameters `n_clusters`, `reference`, `random_state` and `n_jobs`, and
    ``_method()``: an object with the `objective`, ``check_data(X, weight)`` that raises early,
    ``fit_tree(problem)`` that returns an object with the tree and further `attributes`, and whether
    it `improves` its trees for rows that it has not seen, with thresholds at `midpoints`.
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, embedding=None):
        """Cluster the rows of X by a tree.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            What the tree tests. Sparse input is not made dense, float32 is not converted; X is
            copied only if rows repeat or weigh other than 1, or if it is stored by columns.
        y : array-like of shape (n,), optional
            Labels to explain, for ``objective="labels"``: numbers, strings, ...; -1, None and NaN
            mark rows without one, which do not count. Ignored otherwise.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, at least 0; a row of weight 0 is an absent row.
        embedding : array-like or CSR matrix of shape (n, m), default X
            Where the rows are clustered: distances and centres live there.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the data have NaN or infinite values, fewer rows than clusters, or squared norms
            that overflow; if the weights are negative or all zero; if the reference does not
            fit.
        """
        return self._fit(X, y, sample_weight, embedding)

    def _fit(self, X, y, sample_weight, embedding, scaling=None):
        """Fit; the scaling is that of other rows where X stands for them."""
        plain = with_plain_numbers(self)
        method = plain._method()
        with one_thread():  # once for all parts, and where Ctrl-C leaves what was or a whole fit
            given = (X, y, sample_weight, embedding)
            inputs, rows, problem = plain._freeze(method, *given, scaling)
            result = method.fit_tree(problem)
            # Only now, so that a fit that fails leaves an earlier one as it was.
            self._store(X, inputs, rows, problem, result)
        return self

    def _freeze(self, method, X, y, sample_weight, embedding, scaling=None):
        """The arguments of a fit: checked, as distinct rows, and as the problem of the fit."""
        objective = method.objective
        check_names(X)
        embedder, reference, embedding = split_pipeline(self.reference, X, embedding)
        inputs = self._inputs(objective, X, y, sample_weight, embedding, embedder)
        method.check_data(inputs.X, inputs.weight[inputs.present])
        rows = inputs.merge(effective_n_jobs(self.n_jobs), in_spreads=self.standardize)
        names = _get_feature_names(X if embedding is None else embedding)
        reference = self._given(reference, objective, inputs, rows, names)
        tested, space = rows.X, rows.space
        if self.standardize:
            scaling = Scaling.of(tested, rows.weight) if scaling is None else scaling
            tested = scaling.apply(rows.X)
            if space is rows.X:
                space, reference = tested, scaling.of_centers(reference)
        problem = Problem.of(
            tested,
            space,
            rows.weight,
            objective,
            reference,
            inputs.n_clusters,
            self.random_state,
            held_out=rows.held_out(method.validation, inputs.n_clusters, self.random_state),
            scaling=scaling,
        )
        return inputs, rows, problem

    def _given(self, reference, objective, inputs, rows, names):
        """Return the centres that a reference gives, or the reference if it is to be fitted."""
        del rows
        return given_centers(reference, inputs.space, inputs.weight, objective, names)

    def _inputs(self, objective, X, y, sample_weight, embedding, embedder):
        """Return the arguments of a fit after checking them."""
        if not objective.explains_labels:
            inputs = Inputs.of(X, sample_weight, embedding, self.n_clusters, self)
            return replace(inputs, embedder=embedder)
        if embedding is not None or self.reference is not None:
            raise ValueError(
                'objective="labels" explains the labels y; embedding and reference belong to '
                "objectives that look for clusters."
            )
        return Inputs.of_labels(X, y, sample_weight, self)

    def _store(self, given, inputs, rows, problem, result):
        """Set the fitted attributes, all or none."""
        fitted = self._attributes(inputs, rows, problem, result)
        _set(self, given, {**fitted, **observed_columns(rows.X, _get_feature_names(given))})

    def _attributes(self, inputs, rows, problem, result):
        """Return the fitted attributes of a result: a dict."""
        tree, free, n_jobs = result.tree, problem.free, effective_n_jobs(self.n_jobs)
        view, leaves = kernel_arrays(rows.X), result.leaves(problem, n_jobs)
        if problem.scaling is not None:
            scales = (problem.scaling, problem.X, rows.X)
            tree, leaves = in_units_of(tree, *scales, leaves, n_jobs)
        labels, counts = tree.leaf_label[leaves], tree.node_counts(leaves, problem.weight)
        node_rows = tree.node_counts(rows.of_input(leaves)[inputs.present]).astype(np.int64)
        spreads, gaps = stds_and_gaps(tree, view, leaves, problem.weight, n_jobs)
        centers, inertia = optimal_centers(
            problem.objective, problem.data, labels, problem.weight, free
        )
        importances = {}
        if problem.objective.is_sum:
            costs = problem.objective.distances(problem.data, centers)
            costs = cluster_sums(costs, leaves, problem.weight, tree.n_nodes)
            importances["feature_importances_"] = feature_importances(tree, costs, spreads)
        space, absent = ClusteringSpace.of(problem, inputs), np.flatnonzero(~inputs.present)
        labels_, free_labels = rows.of_input(labels), rows.of_input(free.labels)
        if len(absent):
            further = tree.route(kernel_arrays(inputs.X), absent, n_jobs=n_jobs)
            labels_[absent] = tree.leaf_label[further]
            free_labels[absent] = free_labels_of(problem, inputs.space[absent])
        return {
            "tree_": tree,
            "labels_": space.named(labels_),
            "node_counts_": counts,
            "node_rows_": node_rows,
            "split_stds_": spreads,
            "split_gaps_": gaps,
            **importances,
            "cluster_centers_": space.shown(centers, rows.X, labels, rows.weight),
            "inertia_": inertia,
            "free_labels_": space.named(free_labels.astype(np.int32)),
            "free_centers_": space.shown(free.centers, rows.X, free.labels, rows.weight),
            "free_inertia_": free.inertia,
            "cost_increase_": problem.cost_increase(inertia),
            "_space": space,
            **({} if space.classes is None else {"classes_": space.classes}),
            **({} if inputs.embedder is None else {"_embedder": inputs.embedder}),
            **result.attributes,
        }

    def _validate_params(self):
        super(TreeClustering, with_plain_numbers(self))._validate_params()

    def _html_repr(self):
        """scikit-learn's box of parameters; below it, once fitted, the tree."""
        box = super()._html_repr()
        return box + self._frame() if self.__sklearn_is_fitted__() else box

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def __sklearn_is_fitted__(self):
        # `lambda_` ends in an underscore, so scikit-learn cannot tell by the names.
        return hasattr(self, "tree_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
