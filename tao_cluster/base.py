"""What every estimator of this project shares: input, the reference, use of the fitted tree."""

import copy
import functools

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from ._utils.frames import InvalidRowsError, check_fitted_names, display_names
from ._utils.matrices import check_rows
from ._utils.options import with_plain_numbers
from ._utils.threads import one_thread
from .problem.inputs import (
    Inputs,
    check_embedding,
    check_names,
    check_sample_weight,
    free_labels_of,
)
from .problem.problem import Problem
from .problem.scaling import ClusteringSpace, Scaling, in_units_of
from .reference import given_centers, optimal_centers
from .tree.readable import Readable
from .tree.routing import kernel_arrays
from .tree.split_statistics import stds_and_gaps


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
    for name in ("classes_", "validation_cost_increase_", "_column_names"):  # of an earlier fit
        vars(seen).pop(name, None)
    names = display_names(given)
    if names is not None and not hasattr(seen, "feature_names_in_"):
        seen._column_names = names  # scikit-learn stores only names that are strings
    vars(seen).update(fitted)
    vars(model).update(vars(seen))
    for name in set(vars(model)) - set(vars(seen)):
        vars(model).pop(name, None)


class TreeClustering(
    Readable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
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
        inputs = self._inputs(objective, X, y, sample_weight, embedding)
        method.check_data(inputs.X, inputs.weight[inputs.present])
        rows = inputs.merge(effective_n_jobs(self.n_jobs), in_spreads=self.standardize)
        reference = self._given(objective, inputs, rows)
        tested, space = rows.X, rows.space
        if self.standardize:
            if scaling is None:
                scaling = Scaling.of(tested, rows.weight, display_names(X))
            tested = scaling.apply(rows.X)
            if space is rows.X:
                space, reference = tested, scaling.of_centers(reference)
        held_out = rows.held_out(method.validation, inputs.n_clusters, self.random_state)
        terms = (tested, space, rows.weight, objective, reference, inputs.n_clusters)
        try:
            problem = Problem.of(*terms, self.random_state, held_out=held_out, scaling=scaling)
        except InvalidRowsError as error:  # of distinct rows; users count those that they have
            is_invalid = rows.of_input(error.is_invalid) & inputs.present
            raise InvalidRowsError(is_invalid, error.reason) from None
        return inputs, rows, problem

    def _given(self, objective, inputs, rows):
        """The given centres, or what the free clustering is to be found by."""
        del rows
        return given_centers(self.reference, inputs.space, inputs.weight, objective)

    def _inputs(self, objective, X, y, sample_weight, embedding):
        """The arguments of a fit, checked."""
        if not objective.explains_labels:
            return Inputs.of(X, sample_weight, embedding, self.n_clusters, self)
        if embedding is not None or self.reference is not None:
            raise ValueError(
                'objective="labels" explains the labels y; embedding and reference belong to '
                "objectives that look for clusters."
            )
        return Inputs.of_labels(X, y, sample_weight, self)

    def _store(self, given, inputs, rows, problem, result):
        """Set the fitted attributes, all or none."""
        _set(self, given, self._attributes(inputs, rows, problem, result))

    def _attributes(self, inputs, rows, problem, result):
        """The fitted attributes of a result: a dict."""
        tree, free, n_jobs = result.tree, problem.free, effective_n_jobs(self.n_jobs)
        view, leaves = kernel_arrays(rows.X), result.leaves(problem, n_jobs)
        if problem.scaling is not None:
            scales = (problem.scaling, problem.X, rows.X)
            tree, leaves = in_units_of(tree, *scales, leaves, n_jobs)
        labels, counts = tree.leaf_label[leaves], tree.node_counts(leaves, problem.weight)
        spreads, gaps = stds_and_gaps(tree, view, leaves, problem.weight, n_jobs)
        centers, inertia = optimal_centers(
            problem.objective, problem.data, labels, problem.weight, free
        )
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
            "split_stds_": spreads,
            "split_gaps_": gaps,
            "cluster_centers_": space.shown(centers, rows.X, labels, rows.weight),
            "inertia_": inertia,
            "free_labels_": space.named(free_labels.astype(np.int32)),
            "free_centers_": space.shown(free.centers, rows.X, free.labels, rows.weight),
            "free_inertia_": free.inertia,
            "cost_increase_": problem.cost_increase(inertia),
            "_space": space,
            **({} if space.classes is None else {"classes_": space.classes}),
            **result.attributes,
        }

    # ------------------------------------------------------------------ after fit

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
        """CSR indicator of shape (n, n_nodes) of the nodes of `tree_` each row visits."""
        return self.tree_.paths(self.apply(X))

    @of_one_fit
    def transform(self, X):
        """Distances to `cluster_centers_`: Euclidean for k-means.

        They are those of standardised columns with ``standardize=True``, like all costs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, m)
            Rows in the space of the centres: the embedding, if `fit` was given one.

        Returns
        -------
        float64 array of shape (n, n_clusters)
        """
        check_is_fitted(self)
        rows = check_embedding(X) if self._space.has_embedding else self._check_new(X)
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
        """Percent by which the tree costs more than the free clustering on some rows.

        New rows have their cluster from the tree and cost what they cost at `cluster_centers_`;
        the free clustering puts each to the nearest of `free_centers_`. For the rows of the fit
        that is about `cost_increase_`; for others it says what the tree is worth out of sample.

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

    def _cost(self, X, y, sample_weight, embedding, centers):
        """Objective of the tree's clusters of some rows, with centres in the user's units."""
        _, rows, weight, labels = self._new_rows(X, y, sample_weight, embedding)
        objective, centers = self._space.objective, self._space.scaled_centers(centers)
        return objective.value(objective.prepare(rows), labels, weight, centers)

    def _new_rows(self, X, y, sample_weight, embedding):
        """New rows, as the objective takes them, their weights and the tree's clusters."""
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
        check_fitted_names(self, X)
        validate_data(self, X, reset=False, skip_check_array=True)  # names and number of features
        return rows

    # ------------------------------------------------------------------ scikit-learn

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
