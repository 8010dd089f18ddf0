"""Base class of all estimators: the steps of `fit`, and `predict`, `score` and other methods."""

import copy
import functools
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import Interval, RealNotInt
from sklearn.utils.validation import _get_feature_names, check_is_fitted, validate_data

from ._utils.frames import InvalidRowsError, check_aligned, check_fitted_names, display_names
from ._utils.matrices import check_rows
from ._utils.options import NestedParameters, with_plain_numbers
from ._utils.threads import interrupt_warns, one_thread
from ._utils.warnings import numpy_errors, warn
from .facade import EstimatorFacade
from .objectives.base import cluster_sums
from .objectives.kmeans import KMeans
from .problem.far_clusters import warn_of_far_clusters
from .problem.inputs import (
    Inputs,
    check_embedding,
    check_names,
    check_sample_weight,
    free_labels_of,
)
from .problem.levels import Levels, observed_columns, warn_of_copies
from .problem.problem import Problem
from .problem.scaling import ClusteringSpace, Scaling, in_units_of
from .problem.split_limits import fit_narrowed
from .reference import given_centers, is_to_be_fitted, optimal_centers, split_pipeline
from .tree.leaf_size import LeafSize
from .tree.routing import kernel_arrays
from .tree.split_statistics import feature_importances, split_densities, stds_and_sides

# Allowed values of min_samples_leaf: a number of rows, or a share of the weight of all rows.
LEAF_SIZES = [
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 0.5, closed="right"),
]

_MUCH_BETTER = 5.0  # `fit` warns if a tree costs less than a reference by more percent than this
# Fitted attributes that only some fits set. If an earlier fit has set them, a new fit removes them.
_OPTIONAL = (
    *("classes_", "cluster_names_", "validation_cost_increase_", "refit_changes_"),
    *("n_noise_", "trimmed_share_", "trimming_price_"),
    *("_embedder", "_embedder_is_lost", "_column_names"),
)


def on_snapshot(method):
    """Run a method on a snapshot of the estimator, so that a concurrent `fit` cannot change it."""

    @functools.wraps(method)
    def wrapped(self, *args, **options):
        with numpy_errors():
            return method(copy.copy(self), *args, **options)

    return wrapped


def _set(model, given, fitted):
    """Set all fitted attributes at once, so that other threads never see a partly fitted estimator.

    Parameters
    ----------
    model : estimator
    given : array-like, CSR matrix or DataFrame
        X as the user passed it to `fit`.
    fitted : dict of the attributes by name
    """
    seen = copy.copy(model)
    validate_data(seen, given, skip_check_array=True)  # stores n_features_in_, feature_names_in_
    for name in _OPTIONAL:
        vars(seen).pop(name, None)  # remove attributes that only an earlier fit has set
    names = display_names(given)
    if names is not None and not hasattr(seen, "feature_names_in_"):
        seen._column_names = names  # scikit-learn itself stores only names that are strings
    vars(seen).update(fitted)
    vars(model).update(vars(seen))
    for name in set(vars(model)) - set(vars(seen)):
        vars(model).pop(name, None)


def _warn_unscaled_reference(model):
    """Warn if the tree costs less than a fitted reference, which ignores the standardisation."""
    is_fitted = model.reference is not None and not is_to_be_fitted(model.reference)
    if not is_fitted or not model.standardize or model._space.has_embedding:
        return
    if model.cost_increase_ < -_MUCH_BETTER:
        warn(
            f"The tree costs {-model.cost_increase_:.3g} % less than the reference, because costs "
            "are those of the standardized columns, and the reference was probably fitted to the "
            "columns as they are. Give it unfitted, so that fit applies it to the standardized "
            "columns, or use standardize=False."
        )


class _FittedClustering(TransformerMixin):
    """Methods of a fitted estimator that return clusters, leaves, distances and costs of rows."""

    @on_snapshot
    def predict(self, X):
        """Return the cluster of each row: the label of its leaf, not the nearest centre.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        int32 array of shape (n,)
            With ``objective="labels"``, an array of the labels that were passed to `fit` as y.
        """
        leaves = self.apply(X)
        return self._space.label_names(self.tree_.leaf_label[leaves])

    @on_snapshot
    def apply(self, X):
        """Return the leaf of `tree_` that each row reaches: int32 array (n,) of node numbers."""
        return self._leaves(self._check_new(X))

    @on_snapshot
    def decision_path(self, X):
        """Return the nodes of `tree_` that each row visits: CSR indicator matrix (n, n_nodes)."""
        return self.tree_.paths(self.apply(X))

    @on_snapshot
    def transform(self, X):
        """Return the distance of each row to each of `cluster_centers_` (Euclidean for k-means).

        With ``standardize=True``, the distances are computed from standardised columns.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, m)
            Rows in the space of the centres: rows of the embedding if `fit` was given one. If
            `reference` is a pipeline, rows with the columns of the X of `fit`, which the pipeline
            transforms.

        Returns
        -------
        float64 array of shape (n, n_clusters)
        """
        check_is_fitted(self)
        if hasattr(self, "_embedder_is_lost"):
            raise ValueError(
                "The reference of this model was a pipeline, whose transformers were not saved. "
                "Apply them to X, and compute the distances to cluster_centers_."
            )
        embedding = self._embedded(X, X if self._space.has_embedding else None)
        rows = self._check_new(X) if embedding is None else check_embedding(embedding)
        expected = self.cluster_centers_.shape[1]
        if rows.shape[1] != expected:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input, as many as its centres have."
            )
        return self._space.distances(rows, self.cluster_centers_)

    def fit_predict(self, X, y=None, sample_weight=None, embedding=None):
        """Fit and return `labels_`. See `fit`."""
        return self.fit(X, y, sample_weight, embedding).labels_

    def fit_transform(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and return the distance of each fitted row to each centre. See `transform`."""
        self.fit(X, y, sample_weight, embedding)
        return self.transform(X if embedding is None else embedding)

    @on_snapshot
    def score(self, X, y=None, sample_weight=None, embedding=None):
        """Return the negative cost of the clusters that the tree assigns.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels of these rows, for ``objective="labels"``; ignored otherwise.
        sample_weight : array-like of shape (n,), optional
        embedding : array-like or CSR matrix of shape (n, m)
            The same rows in the clustering space. Required if `fit` was given an embedding.

        Returns
        -------
        float, at most 0
        """
        check_is_fitted(self)
        return -self._cost(X, y, sample_weight, embedding, self.cluster_centers_)

    @on_snapshot
    def cost_increase(self, X_new, sample_weight=None, embedding=None, y=None):
        """Return by how many percent the tree costs more than the free clustering on some rows.

        The tree assigns rows to `cluster_centers_`; the free clustering assigns each row to the
        nearest of `free_centers_`. For the rows of the fit the result is close to
        `cost_increase_`. For other rows it measures how well the tree generalises.

        Parameters
        ----------
        X_new : array-like or CSR matrix of shape (n, d)
        sample_weight : array-like of shape (n,), optional
        embedding : array-like or CSR matrix of shape (n, m)
            The same rows in the clustering space. Required if `fit` was given an embedding.
        y : array-like of shape (n,)
            Labels of these rows, for ``objective="labels"``. The result is then the percentage of
            the total weight of the rows for which the tree predicts another label.

        Returns
        -------
        float
            It is negative if the free clustering fits these rows worse than the tree does.

        Raises
        ------
        ValueError
            If the model does not explain labels and `y` is given, or if rows do not fit the model.
        """
        space = self._space
        if y is not None and space.classes is None:
            raise ValueError('y is used only by a model with objective="labels": leave y out.')
        X, rows, weight, labels = self._new_rows(X_new, y, sample_weight, embedding)
        free = space.scaled_centers(self.free_centers_)
        problem = Problem.from_centers(free, X, rows, weight, space.objective)
        centers = space.scaled_centers(self.cluster_centers_)
        cost = problem.objective.value(problem.data, labels, weight, centers)
        return problem.cost_increase(cost)

    def _embedded(self, X, embedding):
        """Return the embedding of the rows.

        If `reference` was a pipeline in `fit` and `embedding` is None or X itself, the transformers
        of the pipeline compute it from X. Otherwise, `embedding` is returned unchanged.
        """
        if hasattr(self, "_embedder") and (embedding is None or embedding is X):
            check_names(X)
            return self._embedder.transform(X)
        return embedding

    def _cost(self, X, y, sample_weight, embedding, centers):
        """Return the cost of the rows in the clusters that the tree assigns.

        The `centers` are in the units of the data that the user passed to `fit`.
        """
        _, rows, weight, labels = self._new_rows(X, y, sample_weight, embedding)
        objective, centers = self._space.objective, self._space.scaled_centers(centers)
        return objective.value(objective.prepare(rows), labels, weight, centers)

    def _new_rows(self, X, y, sample_weight, embedding):
        """Return the checked X, its rows in the clustering space, their weights and clusters."""
        check_aligned(X, y=y, sample_weight=sample_weight, embedding=embedding)
        embedding = self._embedded(X, embedding)
        X = self._check_new(X)
        rows = self._space.clustered_rows(X, y, embedding)
        weight = check_sample_weight(sample_weight, X)
        return X, rows, weight, self.tree_.leaf_label[self._leaves(X)]

    def _leaves(self, X):
        return self.tree_.route(kernel_arrays(X), n_jobs=effective_n_jobs(self.n_jobs))

    def _check_new(self, X):
        check_is_fitted(self)
        check_names(X)
        rows = check_rows(X)
        check_fitted_names(self, X)
        validate_data(self, X, reset=False, skip_check_array=True)  # checks column names and number
        return rows


class TreeClustering(
    NestedParameters,
    _FittedClustering,
    EstimatorFacade,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    BaseEstimator,
):
    """Base class of the estimators whose clusters are the leaves of a tree.

    A subclass has the parameters `n_clusters`, `reference`, `standardize`, `random_state` and
    `n_jobs`, and perhaps `min_samples_leaf`. Its ``_method()`` returns an object with the
    attributes `objective`, `validation` (see :meth:`MergedRows.held_out`), `improves` (whether
    passes over further rows may change the tree) and `midpoints` (whether thresholds are halfway
    between values of rows). Its methods are ``check_data(X, weight)``, which raises early for
    unsupported data, and ``fit_tree(problem)``, which returns a :class:`Result`.
    """

    min_samples_leaf: int | float = 1
    constraints: Any = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, embedding=None):
        """Cluster the rows of X, and explain the clusters by a tree.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The features that the tree tests. Sparse input stays sparse, and float32 stays float32.
            The order of the rows does not matter.
        y : array-like of shape (n,), optional
            Labels to explain, for ``objective="labels"``: numbers, strings, ... The values -1, None
            and NaN mark rows without a label, which are left out. Other objectives ignore y.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows, at least 0. Rows of weight 0 have no influence on the fit.
        embedding : array-like or CSR matrix of shape (n, m), default X
            The same rows in the space in which they are clustered. Distances and centres refer to
            this space.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If values are not finite numbers (the message names the columns), if there are fewer
            rows than clusters, if squared norms overflow, if weights are negative or all zero, or
            if a fitted `reference` belongs to other data.
        TypeError
            If some names of columns are strings and others are not.
        """
        self._fit(X, y, sample_weight, embedding)
        _warn_unscaled_reference(self)
        return self

    def _fit(self, X, y, sample_weight, embedding, scaling=None):
        """Fit the estimator; without `scaling`, standardised columns are scaled by those of X."""
        plain = with_plain_numbers(self)
        method = plain._method()
        # `one_thread` also postpones Ctrl-C, so that either all attributes are set or none.
        with one_thread():
            given = (X, y, sample_weight, embedding)
            inputs, rows, problem = plain._freeze(method, *given, scaling)
            result = fit_narrowed(method, problem)
            # Attributes are set last, so that a failed fit keeps the results of an earlier fit.
            with interrupt_warns():
                self._store(X, inputs, rows, problem, result)
        return self

    def _freeze(self, method, X, y, sample_weight, embedding, scaling=None):
        """Return the checked arguments, their distinct rows, and the problem to be solved."""
        objective = method.objective
        check_names(X)
        check_aligned(X, sample_weight=sample_weight, embedding=embedding)
        if objective.explains_labels:
            check_aligned(X, y=y)
        embedder, reference, embedding = split_pipeline(
            self.reference, X, embedding, self.random_state
        )
        inputs = self._inputs(objective, X, y, sample_weight, embedding, embedder)
        method.check_data(inputs.X, inputs.weight[inputs.present])
        n_jobs = effective_n_jobs(self.n_jobs)
        rows = inputs.merge(unit_free=self.standardize)
        names = _get_feature_names(X if embedding is None else embedding)
        reference = self._given(reference, objective, inputs, rows, names)
        tested, space = rows.X, rows.space
        if self.standardize:
            if scaling is None:
                scaling = Scaling.from_rows(tested, rows.weight, display_names(X))
            tested = scaling.apply(rows.X)
            if space is rows.X:
                space, reference = tested, scaling.apply_to_reference(reference)
        limits = None
        if self.constraints is not None:
            limits = self.constraints.limits(X, inputs.X, rows.X, inputs.n_clusters)
        if limits is not None and limits.grids:
            lines = limits.on_lines(rows.X)
            tested = lines if scaling is None else scaling.apply(lines)
        held_out = rows.held_out(method.validation, inputs.n_clusters, self.random_state)
        terms = (tested, space, rows.weight, objective, reference, inputs.n_clusters)
        size = LeafSize.from_parameter(self.min_samples_leaf, rows.weight, rows.counts)
        options = {"held_out": held_out, "scaling": scaling, "leaf_size": size, "n_jobs": n_jobs}
        options["limits"] = limits
        if method.tests_sets:
            options["levels"] = Levels.from_rows(rows.X, display_names(X), tested)
            if limits is not None and options["levels"] and not inputs.has_embedding:
                options["unperturbed"] = ((), options["levels"].columns)
        try:
            problem = Problem.from_rows(*terms, self.random_state, **options)
        except InvalidRowsError as error:
            # The error is about distinct rows, but its message must give row numbers of X.
            is_invalid = rows.expand(error.is_invalid) & inputs.present
            raise InvalidRowsError(is_invalid, error.reason) from None
        return inputs, rows, problem

    def _given(self, reference, objective, inputs, rows, names):
        """Return the centres that `reference` gives, or the estimator that is to find them."""
        del rows  # only subclasses that override this method use the parameter
        return given_centers(reference, inputs.space, inputs.weight, objective, names)

    def _inputs(self, objective, X, y, sample_weight, embedding, embedder):
        """Return the checked arguments of a fit."""
        if not objective.explains_labels:
            terms = (X, sample_weight, embedding, self.n_clusters, self)
            return replace(Inputs.from_arguments(*terms), embedder=embedder)
        if embedding is not None or self.reference is not None:
            raise ValueError(
                'objective="labels" explains the labels y and supports neither embedding nor '
                "reference; leave them out. To explain a clusterer, give its labels_ as y."
            )
        has_noise = getattr(objective, "noise", "leave") == "explain"
        return Inputs.from_labels(X, y, sample_weight, self, has_noise)

    def _store(self, given, inputs, rows, problem, result):
        """Set all fitted attributes of the estimator.

        Parameters
        ----------
        given : X as passed to `fit`
        inputs : Inputs, the checked arguments of `fit`
        rows : the rows that were clustered, with equal rows merged
        problem : Problem that was solved
        result : Result, the tree and further results of the fit
        """
        fitted = self._attributes(inputs, rows, problem, result)
        names = _get_feature_names(given)
        _set(self, given, {**fitted, **observed_columns(rows.X, names)})
        if not problem.objective.explains_labels:
            warn_of_copies(inputs.X, names, self.labels_)
        is_own = self.reference is None and inputs.space is inputs.X
        if is_own and isinstance(problem.objective, KMeans):
            warn_of_far_clusters(problem, result, self, names)

    def _attributes(self, inputs, rows, problem, result):
        """Return the fitted attributes, such as `tree_` and `labels_`, as a dict by name.

        The parameters are those of :meth:`_store`.
        """
        tree, free, n_jobs = result.tree, problem.free, effective_n_jobs(self.n_jobs)
        view, leaves = kernel_arrays(rows.X), result.leaves(problem, n_jobs)
        limits = problem.limits
        if problem.scaling is not None and not result.is_in_units:
            lines = rows.X if limits is None else limits.on_lines(rows.X)
            scales = (problem.scaling, problem.X, lines)
            tree, leaves = in_units_of(tree, *scales, leaves, n_jobs)
        if limits is not None:
            tree = limits.on_grid(tree)
        labels, counts = tree.leaf_label[leaves], tree.node_counts(leaves, problem.weight)
        node_rows = tree.node_counts(rows.expand(leaves)[inputs.present]).astype(np.int64)
        stds, sides = stds_and_sides(tree, view, leaves, problem.weight, n_jobs)
        densities = split_densities(tree, view, leaves, problem.weight, n_jobs)
        centers, inertia = optimal_centers(
            problem.objective, problem.data, labels, problem.weight, free
        )
        importances = {}
        if problem.objective.is_sum:
            costs = problem.objective.distances(problem.data, centers)
            costs = cluster_sums(costs, leaves, problem.weight, tree.n_nodes)
            importances["feature_importances_"] = feature_importances(tree, costs, stds)
        space = ClusteringSpace.from_problem(problem, inputs)
        noise = {} if space.classes is None else {"n_noise_": inputs.n_noise}
        if space.noise is not None:
            left_out = float(problem.weight[labels == space.noise].sum() / problem.weight.sum())
            noise = {"trimmed_share_": left_out, "trimming_price_": problem.objective.price}
        absent = np.flatnonzero(~inputs.present)
        labels_, free_labels = rows.expand(labels), rows.expand(free.labels)
        if len(absent):
            further = tree.route(kernel_arrays(inputs.X), absent, n_jobs=n_jobs)
            labels_[absent] = tree.leaf_label[further]
            free_labels[absent] = free_labels_of(problem, inputs.space[absent])
        return {
            "tree_": tree,
            "labels_": space.label_names(labels_),
            "node_counts_": counts,
            "node_rows_": node_rows,
            "split_stds_": stds,
            "split_sides_": sides,
            "split_densities_": densities,
            **importances,
            **noise,
            "cluster_centers_": space.user_centers(centers, rows.X, labels, rows.weight),
            "inertia_": inertia,
            "free_labels_": space.label_names(free_labels.astype(np.int32)),
            "free_centers_": space.user_centers(free.centers, rows.X, free.labels, rows.weight),
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
        """Return scikit-learn's table of parameters, followed by the tree once it is fitted."""
        box = super()._html_repr()
        return box + self._frame() if self.__sklearn_is_fitted__() else box

    @property
    def _n_features_out(self):
        return len(self.cluster_centers_)

    def __sklearn_is_fitted__(self):
        # By default, scikit-learn looks for any attribute that ends in an underscore, which would
        # include the parameter `lambda_`.
        return hasattr(self, "tree_")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
