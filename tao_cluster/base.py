"""What every estimator of this project shares: input, the reference, use of the fitted tree."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_is_fitted,
    validate_data,
)

from .explanations import cluster_profile, explain
from .measures import cost_increase
from .objectives import Objective
from .page import to_frame, to_html
from .reference import FreeClustering, free_clustering, nearest_center, optimal_centers
from .repeats import distinct_rows
from .routing import canonical_csr, kernel_view

_FLOATS = [np.float64, np.float32]

# Of all rows together: costs are weights times squares, and must not overflow.
_LARGEST_WEIGHT = 1e100


@dataclass(frozen=True, eq=False)
class Task:
    """What a tree is to explain: rows, their weights and their free clustering.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        What the tree tests. Rows of weight 0 are not among them, and where some rows are equal
        or weigh other than 1, each is there once, in the order of `distinct_rows`.
    space : array or CSR matrix of shape (n, m)
        Where the rows are clustered: the embedding, or X, the same object.
    objective : Objective
    data : result of ``objective.prepare(space)``
    weight : float64 array of shape (n,)
    free : FreeClustering
    row_of_input : int array, the row that stands for each row of the input, -1 for weight 0; None
        if they are the same
    """

    X: Any
    space: Any
    objective: Objective
    data: Any
    weight: np.ndarray
    free: FreeClustering
    row_of_input: np.ndarray | None = None

    def of_rows(self, rows):
        """The task of some rows, with the centres of all."""
        X, space = _rows_of(self.X, self.space, rows)
        data, weight, labels = self.objective.prepare(space), self.weight[rows], self.free.labels
        inertia = self.objective.value(data, labels[rows], weight, self.free.centers)
        free = FreeClustering(labels[rows], self.free.centers, inertia)
        return Task(X, space, self.objective, data, weight, free)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Arguments of `fit`: X as given, then checked; embedding or X; weights, mask of those > 0.

    `has_embedding` is whether one was given.
    """

    given: Any
    X: Any
    space: Any
    weight: np.ndarray
    present: np.ndarray
    has_embedding: bool


class TreeClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of the estimators whose clusters are the output of a tree.

    A subclass has the parameters `n_clusters`, `reference`, `random_state` and `n_jobs`, and
    the methods `_objective()`, and `_explain(task)` that returns the tree and a dict of
    further fitted attributes.
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None, embedding=None):
        """Cluster the rows of X by a tree.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            What the tree tests. Sparse input is not made dense, float32 is not converted; X is
            copied only if rows repeat or weigh other than 1.
        y : ignored
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
        inputs = self._inputs(X, sample_weight, embedding)
        task = self._task(inputs)
        tree, attributes = self._explain(task)
        # Only now, so that a fit that fails leaves an earlier one as it was.
        self._store(inputs, task, tree, attributes)
        return self

    def _inputs(self, given, sample_weight, embedding):
        """The checked arguments of `fit`."""
        X = _canonical(
            check_array(given, accept_sparse="csr", dtype=_FLOATS, estimator=self, input_name="X")
        )
        space = X if embedding is None else _check_embedding(embedding, X.shape[0])
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weight.any():
            raise ValueError("sample_weight must have at least one positive entry.")
        if not weight.sum() < _LARGEST_WEIGHT:
            raise ValueError(f"sample_weight must sum to less than {_LARGEST_WEIGHT:g}.")
        present = weight > 0
        if present.sum() < self.n_clusters:
            raise ValueError(
                f"n_samples={present.sum()} should be >= n_clusters={self.n_clusters}"
                f"{'' if present.all() else ' (rows of weight 0 are not counted)'}."
            )
        self._check_parts(X, weight[present])
        return _Inputs(given, X, space, weight, present, embedding is not None)

    def _check_parts(self, X, weight):
        """Fail early if the parameters do not go with the data."""

    def _task(self, inputs):
        """What a tree is to explain: distinct rows with a weight, and their free clustering."""
        X, space, weight = inputs.X, inputs.space, inputs.weight
        if not inputs.present.all():
            X, space = _rows_of(X, space, inputs.present)
            weight = weight[inputs.present]
        rows, weight, group = distinct_rows(X, space, weight, effective_n_jobs(self.n_jobs))
        if rows is not None:
            X, space = _rows_of(X, space, rows)
        row_of_input = None
        if X is not inputs.X:
            row_of_input = np.full(len(inputs.present), -1)
            row_of_input[inputs.present] = np.arange(len(weight)) if group is None else group
        objective = self._objective()
        data = objective.prepare(space)
        free = free_clustering(
            self.reference, objective, space, data, self.n_clusters, weight, self.random_state
        )
        return Task(X, space, objective, data, weight, free, row_of_input)

    def _store(self, inputs, task, tree, attributes):
        """Set the fitted attributes, all or none."""
        free = task.free
        n_jobs = effective_n_jobs(self.n_jobs)
        leaves = tree.route(kernel_view(task.X), n_jobs=n_jobs)
        labels, counts = tree.leaf_label[leaves], tree.node_counts(leaves, task.weight)
        centers, inertia = optimal_centers(task.objective, task.data, labels, task.weight, free)
        free_labels = free.labels
        if task.row_of_input is not None:
            absent = np.flatnonzero(~inputs.present)
            labels = labels[task.row_of_input]
            labels[absent] = tree.leaf_label[
                tree.route(kernel_view(inputs.X), absent, n_jobs=n_jobs)
            ]
            free_labels = _free_labels(inputs, task, absent)
        validate_data(self, inputs.given, skip_check_array=True)
        fitted = {
            "tree_": tree,
            "labels_": labels,
            "node_counts_": counts,
            "cluster_centers_": centers,
            "inertia_": inertia,
            "free_labels_": free_labels.astype(np.int32),
            "free_centers_": free.centers.copy(),
            "free_inertia_": free.inertia,
            "cost_increase_": cost_increase(inertia, free.inertia),
            "_has_embedding": inputs.has_embedding,
            **attributes,
        }
        vars(self).update(fitted)

    def _route(self, X):
        """Cluster of each checked row."""
        return self.tree_.leaf_label[self._leaves(X)]

    def _leaves(self, X):
        return self.tree_.route(kernel_view(X), n_jobs=effective_n_jobs(self.n_jobs))

    # ------------------------------------------------------------------ after fit

    def predict(self, X):
        """Cluster of each row, by the tree (not by the nearest centre).

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        int32 array of shape (n,)
        """
        return self._route(self._check_new(X))

    def apply(self, X):
        """Leaf of `tree_` that each row reaches: int32 array of shape (n,), node numbers."""
        return self._leaves(self._check_new(X))

    def decision_path(self, X):
        """CSR indicator of shape (n, n_nodes) of the nodes of `tree_` each row visits."""
        leaf_of_row = self.apply(X)
        return self.tree_.path_matrix[leaf_of_row]

    def explain(self, x, feature_names=None):
        """Why one row is in its cluster; see :func:`tao_cluster.explanations.explain`."""
        return explain(self, x, feature_names)

    def cluster_profile(self, k, X=None, **options):
        """What defines a cluster; see :func:`tao_cluster.explanations.cluster_profile`."""
        return cluster_profile(self, k, X, **options)

    def to_html(self, path=None, **options):
        """A page on which the tree can be explored; see :func:`tao_cluster.page.to_html`."""
        return to_html(self, path, **options)

    def _html_repr(self):
        """scikit-learn's box of parameters; below it, once fitted, the tree."""
        box = super()._html_repr()
        return box + to_frame(self) if self.__sklearn_is_fitted__() else box

    def transform(self, X):
        """Distances to `cluster_centers_`: Euclidean for k-means.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, m)
            Rows in the space of the centres: the embedding, if `fit` was given one.

        Returns
        -------
        float64 array of shape (n, n_clusters)
        """
        check_is_fitted(self)
        rows = _check_embedding(X) if self._has_embedding else self._check_new(X)
        objective, data = self._clustered(rows)
        return objective.as_distance(objective.distances(data, self.cluster_centers_))

    def fit_transform(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and transform the rows that were clustered. See `fit` and `transform`."""
        self.fit(X, sample_weight=sample_weight, embedding=embedding)
        return self.transform(X if embedding is None else embedding)

    def score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the objective of the tree's assignment of some rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : ignored
        sample_weight : array-like of shape (n,), optional
        embedding : array-like or CSR matrix of shape (n, m)
            The same rows where they are clustered; needed if `fit` was given one.

        Returns
        -------
        float
        """
        return -self._cost(X, sample_weight, embedding, "cluster_centers_")

    def _cost(self, X, sample_weight, embedding, centers):
        """Objective of the tree's assignment with the fitted centres of that name."""
        labels = self.predict(X)
        if self._has_embedding == (embedding is None):
            raise ValueError(
                "score needs the embedding of the rows, since fit was given one."
                if self._has_embedding
                else "score takes an embedding only if fit was given one."
            )
        rows = self._check_new(X) if embedding is None else _check_embedding(embedding, len(labels))
        objective, data = self._clustered(rows)
        weight = _check_sample_weight(
            sample_weight, labels[:, None], dtype=np.float64, ensure_non_negative=True
        )
        return objective.value(data, labels, weight, getattr(self, centers))

    def _check_new(self, X):
        check_is_fitted(self)
        return _canonical(validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, reset=False))

    def _clustered(self, rows):
        """The objective, and rows prepared for it."""
        expected = self.cluster_centers_.shape[1]
        if rows.shape[1] != expected:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input: its centres live there."
            )
        objective = self._objective()
        return objective, objective.prepare(rows)

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


def _free_labels(inputs, task, absent):
    """Free cluster of each row of the input; -1 for rows of weight 0 that the objective refuses."""
    labels = task.free.labels[task.row_of_input]
    if len(absent):
        try:
            data = task.objective.prepare(inputs.space[absent])
            labels[absent] = nearest_center(task.objective, data, task.free.centers)
        except ValueError:
            labels[absent] = -1
    return labels


def _rows_of(X, space, rows):
    """Some rows of X and of the space where they are clustered, which stays X if it is."""
    some = X[rows]
    return some, some if space is X else space[rows]


def _check_embedding(embedding, n_rows=None):
    rows = check_array(embedding, accept_sparse="csr", dtype=_FLOATS, input_name="embedding")
    if n_rows is not None and rows.shape[0] != n_rows:
        raise ValueError(f"embedding has {rows.shape[0]} rows, X has {n_rows}.")
    return _canonical(rows)


def _canonical(X):
    """CSR input with sorted, unique indices, of 32 bits where they suffice; no needless copy.

    Norms, k-means and LIBLINEAR would each read another matrix from repeated entries, and
    scikit-learn's k-means needs 32 bits.
    """
    if not sp.issparse(X):
        return X
    X = canonical_csr(X)
    if X.nnz > np.iinfo(np.int32).max or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)
