"""`fit`: fit an estimator to more rows than memory holds, which are read in blocks."""

from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from .._utils.frames import set_fitted_names
from .._utils.options import name_of, with_plain_numbers
from .._utils.threads import one_thread
from ..base import TreeClustering
from ..problem.repeats import content_order
from ..problem.scaling import ClusteringSpace
from ..reference import cost_increase, free_clustering, given_centers
from ..tree.densities import split_densities
from ..tree.split_statistics import feature_importances, first_values
from .blocks import ProgressBlocks, blocks_of
from .coreset import all_rows, coreset
from .passes import free_inertia, lloyd, relabel_leaves, tree_statistics
from .statistics import AllRows, ColumnStatistics, WeightedRows

# The default size of the sample is the larger of _SAMPLE_ROWS and _ROWS_PER_CLUSTER per cluster.
_SAMPLE_ROWS, _ROWS_PER_CLUSTER = 100_000, 1000

# Lloyd's algorithm stops if the summed squared shifts of the centres are at most _TOL times the
# mean variance of the columns (as `tol` of scikit-learn), or if the cost decreases by at most
# _LEAST_GAIN times the cost.
_TOL, _LEAST_GAIN = 1e-4, 1e-5


@validate_params(
    {
        "coreset_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    },
    prefer_skip_nested_validation=False,
)
def fit(
    estimator,
    blocks,
    *,
    sample_weight=None,
    embedding=None,
    coreset_size="auto",
    random_state=None,
):
    """Fit an estimator to more rows than memory holds.

    The fit has three stages:

    1. The estimator is fitted to a weighted sample of the rows (a coreset).
    2. Lloyd's algorithm runs over all rows. It starts from the free centres of the sample, which
       are the centres of the clustering without a tree.
    3. A pass over all rows gives each leaf the label of least total cost, and a second one computes
       the statistics of the tree.

    Costs, counts and centres are sums over all rows, not estimates from the sample.

    Parameters
    ----------
    estimator : estimator of tao_cluster or greedy
        It is not changed. The centres of its objective must be computable from sums over rows, as
        for k-means and spherical k-means. With ``verbose=1``, a progress bar shows each pass.
    blocks : array, numpy.memmap, sparse matrix, DataFrame, path, iterable, or Blocks
        The rows; see :func:`blocks_of`.
    sample_weight, embedding : optional
        Weights and embedding of the rows; see :func:`blocks_of`.
    coreset_size : "auto" or int >= n_clusters, default="auto"
        Expected number of rows of the sample. "auto" is 100 000, or 1000 per cluster if that is
        larger. If there are no more rows than this, the sample consists of all of them.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples. Whether a row is drawn depends on its number and the seed. Another
        partition into blocks therefore changes only the rounding of sums.

    Returns
    -------
    model : estimator of the same class
        The estimator fitted to all rows. It has no `labels_` and `free_labels_`, which would need
        memory for each row. Records of the search, such as `history_`, refer to the sample.

    Raises
    ------
    TypeError
        If the estimator is not one of this project, or the rows have an unsupported type.
    ValueError
        If the objective or a parameter (such as `min_samples_leaf`) needs all rows at once, and for
        the reasons of `fit` of the estimator.
    BlockError
        If a block cannot be read or has invalid values. The message names the block.

    Notes
    -----
    Memory during the fit, in addition to the result:

    =====================  ===================================================================
    Part                   Size
    =====================  ===================================================================
    blocks                 at most n_jobs + 2 blocks
    sample                 coreset_size rows, and the memory of an ordinary fit to them
    sums                   about ``n_nodes * (n_clusters + n_features)`` numbers
    =====================  ===================================================================

    References
    ----------
    O. Bachem, M. Lucic and A. Krause. Scalable k-Means Clustering via Lightweight Coresets. KDD
    2018. D. Feldman and M. Langberg. A Unified Framework for Approximating and Clustering Data.
    STOC 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from tao_cluster import TAOClustering, outofcore
    >>> parts = [np.random.default_rng(i).normal(i % 3, 0.1, (500, 2)) for i in range(6)]
    >>> model = outofcore.fit(TAOClustering(3, depth=2, random_state=0), parts, random_state=0)
    >>> model.predict(parts[0]).shape, model.tree_.n_leaves
    ((500,), 3)
    """
    if not isinstance(estimator, TreeClustering):
        raise TypeError(
            "estimator must be an estimator of tao_cluster or greedy, such as TAOClustering(10); "
            f"got {estimator!r}."
        )
    estimator._validate_params()
    plain = with_plain_numbers(estimator)
    method = plain._method()
    _check_method(method)
    _check_leaf_size(plain.min_samples_leaf)
    if plain.constraints is not None:
        raise ValueError(
            "constraints are not supported out of core: leave them out, or fit the estimator "
            "itself to a sample of the rows."
        )
    rng = check_random_state(random_state)
    with one_thread():
        blocks = blocks_of(blocks, sample_weight, embedding, effective_n_jobs(estimator.n_jobs))
        if estimator.get_params(deep=False).get("verbose"):
            blocks = ProgressBlocks(blocks)
        look = ColumnStatistics.from_blocks(blocks, plain.n_clusters)
        scaling = look.scaling() if estimator.standardize else None
        of_centers = None if blocks.has_embedding else scaling
        space = ClusteringSpace(method.objective, blocks.has_embedding, of_centers, None)
        source = AllRows(blocks, look.reader(space))
        drawn = _sample(source, look, plain.n_clusters, coreset_size, rng)
        reference = _given_centers(source, *drawn, plain)  # its labels have the order of the rows
        sample = _in_canonical_order(space, *drawn)
        centers = _free_centers(source, sample, look, plain, reference)
        cost = source.sum(free_inertia, centers)
        model = clone(estimator).set_params(reference=_in_user_units(space, centers))
        model._fit(sample.X, None, sample.weight, sample.embedding, scaling)
        for record in getattr(model, "history_", ()):
            if "sampled" in record:  # greedy methods record cuts
                record["sampled"] = record["sampled"] or len(sample.weight) < look.n_present
        start = space.scaled_centers(model.cluster_centers_)
        tree, found = relabel_leaves(source, model.tree_, start, relabels=method.improves)
        total = look.moments.weight
        leaves, share = tree.route(sample.view), sample.weight / total
        origin = np.nan_to_num(first_values(tree, sample.view, leaves, share))
        statistics = source.sum(tree_statistics, tree, found, origin, centers, total)
        _store(model, tree, statistics, source, found, centers, cost)
        model.split_densities_ = split_densities(model.tree_, sample.view, leaves, sample.weight)
        model._column_range = np.array([look.moments.low, look.moments.high])
        model._column_is_integer = look.is_integer
        return model.set_params(reference=estimator.reference)


def _sample(source, look, n_clusters, coreset_size, rng):
    """Return a weighted sample of the rows, or all rows if there are at most `coreset_size`.

    The result is X, the embedding or None, and the weights.
    """
    space, size = source.reader.space, coreset_size
    if size == "auto":
        size = max(_SAMPLE_ROWS, _ROWS_PER_CLUSTER * n_clusters)
    mean = space.scaled_centers(look.of_embedding.mean[None])[0]
    if look.n_present <= size:
        X, embedding, weight = all_rows(source, mean)
    else:
        X, embedding, weight = coreset(source, mean, n_clusters, size, rng)
    if len(weight) < n_clusters:
        raise ValueError(
            f"The sample has {len(weight)} rows for {n_clusters} clusters: increase "
            f"coreset_size={size}."
        )
    return X, embedding, weight


def _in_canonical_order(space, X, embedding, weight):
    """Return WeightedRows in an order that depends only on their values.

    k-means draws rows by position.
    """
    order = content_order(X, embedding, weight)
    X, weight = X[order], weight[order]
    embedding = None if embedding is None else embedding[order]
    clustered = space.scaled(X) if embedding is None else embedding
    return WeightedRows(X, embedding, clustered, weight, np.arange(len(weight)), space.objective)


def _given_centers(source, X, embedding, weight, estimator):
    """Return the centres that the user gave, or the reference that is to be fitted, or None."""
    rows, names = (X, source.blocks.names) if embedding is None else (embedding, None)
    return given_centers(estimator.reference, rows, weight, source.reader.objective, names)


def _free_centers(source, sample, look, estimator, reference):
    """Return the centres of the clustering without a tree (free centres), of shape (k, m).

    If the user gave no reference, the centres are found in the sample, and Lloyd's algorithm
    improves them over all rows. If the user gave a reference, its centres are used as they are; an
    unfitted reference is first fitted to the sample.
    """
    space, objective = source.reader.space, source.reader.objective
    if space.scaling is not None:
        reference = space.scaling.apply_to_reference(reference)
    terms = (sample.space, sample.data, estimator.n_clusters, sample.weight, estimator.random_state)
    free = free_clustering(reference, objective, *terms)
    if estimator.reference is not None:
        return free.centers
    moments = look.of_embedding
    variance = moments.squares / moments.weight
    if space.scaling is not None:
        variance = variance / space.scaling.scale**2
    ends = _TOL * float(variance.mean()), _LEAST_GAIN * free.inertia
    return lloyd(source, free.centers, *ends)[0]


def _store(model, tree, statistics, source, centers, free_centers, free_cost):
    """Set the fitted attributes of the model from a tree and its statistics over all rows."""
    space = source.reader.space
    if tree.leaf_value is not None:
        tree = tree.with_leaves(tree.leaf_label, statistics.histograms())
    model.tree_ = tree
    model.node_counts_ = statistics.counts(tree)
    model.node_rows_ = tree.subtree_sums(statistics.n_rows).astype(np.int64)
    model.split_stds_, model.split_sides_ = statistics.stds(tree), statistics.sides(tree)
    importances = feature_importances(tree, statistics.costs, model.split_stds_)
    model.feature_importances_ = importances
    model.cluster_centers_ = _in_user_units(space, centers)
    model.free_centers_ = _in_user_units(space, free_centers)
    model.inertia_, model.free_inertia_ = statistics.cost, free_cost
    model.cost_increase_ = cost_increase(statistics.cost, free_cost)
    del model.labels_, model.free_labels_  # these are labels of the sample, not of all rows
    if source.blocks.names is not None:
        set_fitted_names(model, source.blocks.names)


def _check_method(method):
    """Raise a ValueError for a method that out-of-core fits do not support.

    The centres must be computable from sums over rows, and `validation` must be a share.
    """
    objective = method.objective
    if objective.explains_labels or objective.cluster_sums is None or not objective.is_sum:
        raise ValueError(
            "An out-of-core fit needs an objective whose centres are sums over rows, such as "
            f"'kmeans' or 'spherical'; {name_of(objective)} has none: fit the estimator itself to "
            "a sample of the rows."
        )
    if np.ndim(method.validation):
        raise ValueError(
            "validation by positions or a mask of rows is not supported out of core: pass a share "
            "of the sample, such as validation=0.2."
        )


def _check_leaf_size(min_samples_leaf):
    """Raise a ValueError if leaves have a minimum size: a fit counts leaves in the sample only."""
    if not (isinstance(min_samples_leaf, Integral) and min_samples_leaf == 1):
        raise ValueError(
            f"min_samples_leaf={min_samples_leaf} is not supported out of core, because the tree "
            "is found in a sample of the rows: leave it at 1, or fit the estimator itself to a "
            "sample of the rows."
        )


def _in_user_units(space, centers):
    """Return a copy of the centres in the units of the user's data.

    `centers` are in the space of the clustering; if that is standardised, the scaling is undone.
    """
    return centers.copy() if space.scaling is None else space.scaling.undo(centers)
