"""`DaskTreeClustering`: an estimator for Dask arrays and DataFrames."""

import copy

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from .. import facade
from ..outofcore.blocks import sum_over_blocks
from ..outofcore.fit import fit
from .source import by_rows, dask_blocks

# Methods of the fitted estimator that do not read rows in Dask collections.
_METHODS = {"decision_path", *facade.METHODS}


class DaskTreeClustering(ClusterMixin, BaseEstimator):
    """Fit an estimator of tao_cluster or greedy to Dask arrays and DataFrames.

    The fit is that of :func:`tao_cluster.outofcore.fit`: the tree is fitted to a weighted sample of
    the rows, and passes over all rows compute its labels, centres and costs. Chunks or partitions
    are computed again in every pass; persisted ones stay on their workers. If a worker dies, its
    work is repeated. The result is identical for any number of workers and threads.

    Parameters
    ----------
    estimator : estimator of tao_cluster or greedy
        The estimator to fit. It is not changed.
    client : distributed.Client, default=None
        Client of the cluster. None is the current client; if there is none, threads of this process
        do the work.
    coreset_size : "auto" or int, default="auto"
        Expected number of rows of the sample; see :func:`tao_cluster.outofcore.fit`.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples. The estimator has its own `random_state`.
    patience : float, default=60
        Seconds that a pass waits for a worker if there is none.

    Attributes
    ----------
    estimator_ : fitted estimator
        It does not depend on Dask; :meth:`to_local` returns a copy.
    labels_ : lazy Dask array or Series of shape (n,)
        Cluster of each row of the fit.
    tree_, cluster_centers_, inertia_, cost_increase_, free_centers_, free_inertia_, ...
        Fitted attributes of `estimator_`, except `labels_` and `free_labels_`. Methods that read no
        Dask rows, such as `explain`, `plot`, `save` and `to_text`, are those of `estimator_`, too.

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
        random_state=None,
        patience=60.0,
    ):
        self.estimator = estimator
        self.client = client
        self.coreset_size = coreset_size
        self.random_state = random_state
        self.patience = patience

    def fit(self, X, y=None, sample_weight=None, embedding=None):
        """Fit the estimator to Dask rows.

        Parameters
        ----------
        X : Dask array of shape (n, d) with dense or CSR chunks, or Dask DataFrame
        y : ignored
            It exists for pipelines of scikit-learn.
        sample_weight : Dask array of shape (n,), or Dask Series, optional
            Weights of the rows, at least 0.
        embedding : Dask array of shape (n, m), or Dask DataFrame, optional
            Coordinates in which the rows are clustered. Default: X.

        Returns
        -------
        self

        Raises
        ------
        TypeError
            If the rows are not Dask collections.
        BlockError
            If a block cannot be computed or read, or if it kills its workers. The message names the
            block.
        LostRowsError
            If the scheduler or all workers are lost.
        """
        del y
        blocks = self._blocks(X, sample_weight, embedding)
        self.estimator_ = fit(
            self.estimator,
            blocks,
            coreset_size=self.coreset_size,
            random_state=self.random_state,
        )
        self._rows = X
        return self

    def fit_predict(self, X, y=None, sample_weight=None, embedding=None):
        """Fit, and return the lazy `labels_`; see :meth:`fit`."""
        return self.fit(X, y, sample_weight, embedding).labels_

    def predict(self, X):
        """Return the cluster of each row.

        Parameters
        ----------
        X : Dask array of shape (n, d) or Dask DataFrame, or rows in memory

        Returns
        -------
        labels : lazy Dask array of shape (n,), or lazy Series with the index of X
            For rows in memory, a numpy array.
        """
        return _lazily(X, self, "predict")

    def apply(self, X):
        """Return the leaf of `tree_` that each row reaches; lazy as the result of `predict`."""
        return _lazily(X, self, "apply")

    def transform(self, X):
        """Return distances to `cluster_centers_`, of shape (n, n_clusters).

        If `fit` was given an embedding, X must be an embedding of rows.
        """
        return _lazily(X, self, "transform")

    def score(self, X, y=None, sample_weight=None, embedding=None):
        """Return minus the cost of rows at `cluster_centers_`, computed at once: a float.

        Parameters are those of :meth:`fit`.
        """
        del y
        check_is_fitted(self)
        return sum_over_blocks(_score, self._blocks(X, sample_weight, embedding), self.estimator_)

    def name_clusters(self, names):
        """Name the clusters, and return the estimator; see `TAOClustering.name_clusters`."""
        check_is_fitted(self)
        self.estimator_.name_clusters(names)
        return self

    def to_local(self):
        """Return a copy of the fitted estimator, which does not depend on Dask."""
        check_is_fitted(self)
        return copy.deepcopy(self.estimator_)

    @property
    def labels_(self):
        """Cluster of each row of the fit: lazy Dask array or Series."""
        return self.predict(self._rows)

    def _blocks(self, X, sample_weight, embedding):
        beside = (sample_weight, embedding)
        return dask_blocks(X, *beside, client=self.client, patience=self.patience)

    # ------------------------------------------------------------------ python and scikit-learn

    def __getattr__(self, name):
        # Called for names that are not found otherwise, such as attributes of estimator_.
        if name not in _METHODS and (name.startswith("_") or not name.endswith("_")):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")
        check_is_fitted(self)  # raises NotFittedError, a subclass of AttributeError
        return getattr(self.estimator_, name)

    def __dir__(self):
        model = vars(self).get("estimator_")
        fitted = [name for name in vars(model) if name.endswith("_")] if model else ()
        return sorted({*super().__dir__(), *fitted, *(_METHODS if model else ())})

    def __getstate__(self):
        # A client works in its own process only, and the rows may be readable only through it.
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
        """Return scikit-learn's box of parameters, and the tree below it if fitted."""
        box = super()._html_repr()
        return box + self.estimator_._frame() if self.__sklearn_is_fitted__() else box


def _score(block, model):
    """Return minus the cost of the rows of a block."""
    if not block.X.shape[0]:
        return None
    return model.score(block.X, sample_weight=block.weight, embedding=block.embedding)


def _lazily(X, model, method):
    """Apply a method of the fitted estimator to rows; the result of Dask collections is lazy.

    Parameters
    ----------
    X : Dask array or DataFrame, or rows in memory
    model : DaskTreeClustering
    method : str, "predict", "apply" or "transform"
    """
    check_is_fitted(model)
    plain = model.estimator_
    use = getattr(plain, method)
    if isinstance(X, da.Array):
        X = by_rows(X, "X", 2)
        empty = np.asarray(use(np.ones((1, X.shape[1]))))[:0]
        shape = {"chunks": (X.chunks[0], empty.shape[1:])} if empty.ndim == 2 else {"drop_axis": 1}
        options = {"dtype": empty.dtype, "meta": empty, **shape}
        return X.map_blocks(_of_block, dask.delayed(plain), method, empty, **options)
    if isinstance(X, dd.DataFrame):
        empty = np.asarray(use(pd.DataFrame(np.ones((1, len(X.columns))), columns=X.columns)))[:0]
        meta = _of_block(X._meta, plain, method, empty)
        return X.map_partitions(_of_block, dask.delayed(plain), method, empty, meta=meta)
    return use(X)


def _of_block(X, model, method, empty):
    """Return the result of a method for a chunk, or, with its index, for a partition.

    `empty` is the result for blocks without rows, since estimators reject them.
    """
    # Distances are a frame if `set_output` of the estimator or the configuration requires one.
    result = np.asarray(getattr(model, method)(X)) if X.shape[0] else empty
    if not isinstance(X, pd.DataFrame):
        return result
    if result.ndim == 1:
        return pd.Series(result, X.index)
    return pd.DataFrame(result, X.index, model.get_feature_names_out())
