"""What every estimator of this project shares: input, the reference, use of the fitted tree."""

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

from .core.matrices import FLOATS, canonical
from .core.routing import kernel_view
from .core.tree.readable import Readable
from .problem.inputs import Inputs, check_embedding, check_sample_weight, free_labels_of
from .problem.problem import Problem
from .problem.reference import cost_increase, optimal_centers


class TreeClustering(
    Readable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of the estimators whose clusters are the output of a tree.

    A subclass has the parameters `n_clusters`, `reference`, `random_state` and `n_jobs`, and
    ``_method()``: an object with the `objective`, ``check_data(X, weight)`` that raises early,
    and ``fit_tree(problem)`` that returns an object with the tree and further `attributes`.
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
        method = self._method()
        inputs, rows, problem = self._freeze(method, X, sample_weight, embedding)
        result = method.fit_tree(problem)
        # Only now, so that a fit that fails leaves an earlier one as it was.
        self._store(X, inputs, rows, problem, result)
        return self

    def _freeze(self, method, X, sample_weight, embedding):
        """The arguments of a fit: checked, as distinct rows, and as the problem of the fit."""
        inputs = Inputs.of(X, sample_weight, embedding, self.n_clusters, self)
        method.check_data(inputs.X, inputs.weight[inputs.present])
        rows = inputs.merge(effective_n_jobs(self.n_jobs))
        problem = Problem.of(
            rows.X,
            rows.space,
            rows.weight,
            method.objective,
            self.reference,
            self.n_clusters,
            self.random_state,
        )
        return inputs, rows, problem

    def _store(self, given, inputs, rows, problem, result):
        """Set the fitted attributes, all or none."""
        tree, free, n_jobs = result.tree, problem.free, effective_n_jobs(self.n_jobs)
        leaves = tree.route(kernel_view(problem.X), n_jobs=n_jobs)
        labels, counts = tree.leaf_label[leaves], tree.node_counts(leaves, problem.weight)
        centers, inertia = optimal_centers(
            problem.objective, problem.data, labels, problem.weight, free
        )
        absent = np.flatnonzero(~inputs.present)
        fitted = {
            "tree_": tree,
            "labels_": rows.expand(
                labels,
                absent,
                lambda absent: tree.leaf_label[
                    tree.route(kernel_view(inputs.X), absent, n_jobs=n_jobs)
                ],
            ),
            "node_counts_": counts,
            "cluster_centers_": centers,
            "inertia_": inertia,
            "free_labels_": rows.expand(
                free.labels, absent, lambda absent: free_labels_of(problem, inputs.space[absent])
            ).astype(np.int32),
            "free_centers_": free.centers.copy(),
            "free_inertia_": free.inertia,
            "cost_increase_": cost_increase(inertia, free.inertia),
            "_has_embedding": inputs.has_embedding,
            **result.attributes,
        }
        validate_data(self, given, skip_check_array=True)
        vars(self).update(fitted)

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
        leaves = self.apply(X)
        return self.tree_.leaf_label[leaves]

    def apply(self, X):
        """Leaf of `tree_` that each row reaches: int32 array of shape (n,), node numbers."""
        return self._leaves(self._check_new(X))

    def decision_path(self, X):
        """CSR indicator of shape (n, n_nodes) of the nodes of `tree_` each row visits."""
        leaf_of_row = self.apply(X)
        return self.tree_.path_matrix[leaf_of_row]

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
        rows = check_embedding(X) if self._has_embedding else self._check_new(X)
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
        check_is_fitted(self)
        return -self._cost(X, sample_weight, embedding, self.cluster_centers_)

    def _cost(self, X, sample_weight, embedding, centers):
        """Objective of the tree's assignment with some centres."""
        labels = self.predict(X)
        if self._has_embedding == (embedding is None):
            raise ValueError(
                "score needs the embedding of the rows, since fit was given one."
                if self._has_embedding
                else "score takes an embedding only if fit was given one."
            )
        rows = self._check_new(X) if embedding is None else check_embedding(embedding, len(labels))
        objective, data = self._clustered(rows)
        weight = check_sample_weight(sample_weight, labels[:, None])
        return objective.value(data, labels, weight, centers)

    def _leaves(self, X):
        return self.tree_.route(kernel_view(X), n_jobs=effective_n_jobs(self.n_jobs))

    def _check_new(self, X):
        check_is_fitted(self)
        return canonical(validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False))

    def _clustered(self, rows):
        """The objective, and rows prepared for it."""
        expected = self.cluster_centers_.shape[1]
        if rows.shape[1] != expected:
            raise ValueError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{expected} features as input: its centres live there."
            )
        objective = self._method().objective
        return objective, objective.prepare(rows)

    # ------------------------------------------------------------------ scikit-learn

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
