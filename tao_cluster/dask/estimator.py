"""An estimator whose rows are dask arrays or frames."""

import copy

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from ..outofcore.blocks import sum_over_blocks
from ..outofcore.fit import fit
from .source import by_rows, dask_blocks

# Methods of the fitted estimator that have nothing to do with dask.
_METHODS = {
    *("cluster_profile", "decision_path", "explain", "nearest_change", "plot", "save"),
    *("to_dataframe", "to_dot", "to_html", "to_onnx", "to_rules", "to_sql", "to_text"),
}


class DaskTreeClustering(ClusterMixin, BaseEstimator):
    """Fit an estimator of tao_cluster or greedy to dask arrays and frames.

    The fit is that of :func:`tao_cluster.outofcore.fit`: a weighted sample of the rows finds the
    tree, passes over all of them make it exact. Chunks of rows, or partitions, are read in every
    pass and forgotten; what is persisted is used where it lies. A worker that dies costs time
    only, and the result is the same to the last bit for any number of workers and threads.

    Parameters
    ----------
    estimator : estimator of tao_cluster or greedy
        What is fitted; it is not altered.
    client : distributed.Client, default=None
        Whose cluster works; None for the current one, or for threads of this process if there is
        none.
    coreset_size : "auto" or int, default="auto"
        Rows of the sample, about; see :func:`tao_cluster.outofcore.fit`.
    n_passes : int >= 0, default=3
        Most rounds of improvement over all rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples; that of the estimator is for its own choices.
    patience : float, default=60
        Seconds that a pass waits for a worker when there is none.

    Attributes
    ----------
    estimator_ : the fitted estimator, which knows nothing of dask; :meth:`to_local` copies it
    labels_ : dask array or Series, lazy
        Cluster of each row that was fitted.
    tree_, cluster_centers_, inertia_, cost_increase_, free_centers_, free_inertia_, ...
        Fitted attributes of `estimator_`, all but `labels_` and `free_labels_`. Methods that need
        no rows in dask, such as `explain`, `plot`, `save` and `to_text`, are those of `estimator_`.

    Examples
    --------
    >>> import dask.array as da
    >>> from tao_cluster import TAOClustering
    >>> from tao_cluster.dask import DaskTreeClustering
    >>> X = da.random.default_rng(0).normal(size=(2000, 3), chunks=(500, 3)) + [[0, 0, 1]]
    >>> model = DaskTreeClustering(TAOClustering(2, depth=1, random_state=0), random_state=0)
    >>> labels = model.fit(X).predict(X)
    >>> labels.chunks, labels.compute().shape
    (((500, 500, 500, 500),), (2000,))
    >>> model.to_local().tree_.n_leaves
    2
    """

    def __init__(
        self,
        estimator,
        *,
        client=None,
        coreset_size="auto",
        n_passes=3,
        random_state=None,
        patience=60.0,
    ):
        self.estimator = estimator
        self.client = client
        self.coreset_size = coreset_size
        self.n_passes = n_passes
        self.random_state = random_state
        self.patience = patience

    def fit(self, X, y=None, sample_weight=None, embedding=None):
        """Cluster rows by a tree.

        Parameters
        ----------
        X : dask array of shape (n, d), of dense or CSR chunks, or dask DataFrame
        y : ignored, as pipelines pass it
        sample_weight : dask array of shape (n,), or Series, optional
            Weights of the rows, at least 0.
        embedding : dask array of shape (n, m), or DataFrame, optional
            Where the rows are clustered; default X.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the rows are no dask collections.
        BlockError
            If a block cannot be made or worked on, or kills its workers; it names the block.
        LostRowsError
            If the scheduler, or for too long all workers, are gone before there is a tree; with a
            tree that is a warning, and the best tree so far is kept.
        """
        del y
        blocks = self._blocks(X, sample_weight, embedding)
        self.estimator_ = fit(
            self.estimator,
            blocks,
            coreset_size=self.coreset_size,
            n_passes=self.n_passes,
            random_state=self.random_state,
        )
        self._rows = X
        return self

    def fit_predict(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and return the lazy `labels_`. See `fit`."""
        return self.fit(X, y, sample_weight, embedding).labels_

    def predict(self, X):
        """Cluster of each row, by the tree.

        Parameters
        ----------
        X : dask array of shape (n, d) or DataFrame; or what the plain estimator takes

        Returns
        -------
        lazy dask array of shape (n,), or Series with the index of X; an array for plain rows
        """
        return _lazily(X, self, "predict")

    def apply(self, X):
        """Leaf of `tree_` that each row reaches, as `predict` returns clusters."""
        return _lazily(X, self, "apply")

    def transform(self, X):
        """Distances to `cluster_centers_`: shape (n, n_clusters), as `predict` returns clusters.

        X has rows in the space of the centres: the embedding, if `fit` was given one.
        """
        return _lazily(X, self, "transform")

    def score(self, X, y=None, sample_weight=None, embedding=None):
        """Minus the cost of rows at `cluster_centers_`: a float, summed over blocks at once.

        Parameters as for `fit`.
        """
        del y
        check_is_fitted(self)
        return sum_over_blocks(_score, self._blocks(X, sample_weight, embedding), self.estimator_)

    def to_local(self):
        """A copy of the fitted estimator, which knows nothing of dask."""
        check_is_fitted(self)
        return copy.deepcopy(self.estimator_)

    @property
    def labels_(self):
        """Cluster of each row that was fitted: lazy dask array or Series."""
        return self.predict(self._rows)

    def _blocks(self, X, sample_weight, embedding):
        beside = (sample_weight, embedding)
        return dask_blocks(X, *beside, client=self.client, patience=self.patience)

    # ------------------------------------------------------------------ python and scikit-learn

    def __getattr__(self, name):
        # Only what is not found otherwise: attributes and methods of the plain estimator.
        if name not in _METHODS and (name.startswith("_") or not name.endswith("_")):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        check_is_fitted(self)  # its error is an AttributeError, too
        return getattr(self.estimator_, name)

    def __dir__(self):
        model = vars(self).get("estimator_")
        fitted = [name for name in vars(model) if name.endswith("_")] if model else ()
        return sorted({*super().__dir__(), *fitted, *(_METHODS if model else ())})

    def __getstate__(self):
        # A client belongs to its process, and rows may be results that only it can reach.
        state = super().__getstate__()
        return {**{k: v for k, v in state.items() if k != "_rows"}, "client": None}

    def __sklearn_clone__(self):
        parameters = self.get_params(deep=False)
        return type(self)(clone(parameters.pop("estimator")), **parameters)

    def __sklearn_is_fitted__(self):
        return "estimator_" in vars(self)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _html_repr(self):
        """scikit-learn's box of parameters; below it, once fitted, the tree."""
        box = super()._html_repr()
        return box + self.estimator_._frame() if self.__sklearn_is_fitted__() else box


def _score(block, model):
    """Minus the cost of the rows of a block."""
    if not block.X.shape[0]:
        return None
    return model.score(block.X, sample_weight=block.weight, embedding=block.embedding)


def _lazily(X, model, method):
    """Result of a method for rows: lazy for a dask array or DataFrame, at once for others.

    Parameters
    ----------
    X : dask array or DataFrame, or what the method of the plain estimator takes
    model : DaskTreeClustering
    method : str, "predict", "apply" or "transform"
    """
    check_is_fitted(model)
    plain = model.estimator_
    use = getattr(plain, method)
    if isinstance(X, da.Array):
        X = by_rows(X, "X", 2)
        empty = use(np.ones((1, X.shape[1])))[:0]
        shape = {"chunks": (X.chunks[0], empty.shape[1:])} if empty.ndim == 2 else {"drop_axis": 1}
        options = {"dtype": empty.dtype, "meta": empty, **shape}
        return X.map_blocks(_of_block, dask.delayed(plain), method, empty, **options)
    if isinstance(X, dd.DataFrame):
        empty = use(pd.DataFrame(np.ones((1, len(X.columns))), columns=X.columns))[:0]
        meta = _of_block(X._meta, plain, method, empty)
        return X.map_partitions(_of_block, dask.delayed(plain), method, empty, meta=meta)
    return use(X)


def _of_block(X, model, method, empty):
    """The result for a chunk, or for a partition with its index.

    Estimators reject blocks without rows, which filters leave; `empty` is the result for those.
    """
    result = getattr(model, method)(X) if X.shape[0] else empty
    if not isinstance(X, pd.DataFrame):
        return result
    if result.ndim == 1:
        return pd.Series(result, X.index)
    return pd.DataFrame(result, X.index, model.get_feature_names_out())
