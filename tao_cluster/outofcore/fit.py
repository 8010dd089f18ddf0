"""A fit to rows in blocks: from an estimator of ours to one that is fitted to all of them."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions, validate_params

from .._utils.options import name_of, with_plain_numbers
from .._utils.threads import one_thread
from .._utils.warnings import warn
from ..base import TreeClustering
from ..problem.scaling import ClusteringSpace
from ..reference import cost_increase, free_clustering, given_centers
from ..tree import Tree
from ..tree.split_statistics import feature_importances, first_values
from .blocks import LostRowsError, ProgressBlocks, blocks_of
from .coreset import all_rows, coreset
from .refinement import TreeStatistics, describe, free_inertia, lloyd, refine, relabel_leaves
from .statistics import AllRows, ColumnStatistics, WeightedRows

# Rows of a sample, and rows a cluster: as many as find a tree where all rows are at hand.
_SAMPLE_ROWS, _ROWS_A_CLUSTER = 100_000, 1000

# When Lloyd's algorithm has settled: shifts of centres, as a share of the mean variance of columns
# (scikit-learn's `tol`), or what a pass gains, as a share of the cost.
_SETTLED, _LEAST_GAIN = 1e-4, 1e-5


@validate_params(
    {
        "coreset_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_passes": [Interval(Integral, 0, None, closed="left")],
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
    n_passes=3,
    random_state=None,
):
    """Fit an estimator to more rows than memory holds.

    A weighted sample of the rows (a coreset) finds the free clustering and the tree, by the
    algorithms of the estimator. Lloyd's algorithm over all rows makes the free clustering exact.
    Rounds over all rows then improve the tree: the weights of a test are refitted to rows of its
    node, drawn in proportion to what they would cost on the wrong side, and every threshold is the
    one of least cost over all rows; leaves get the label of least summed cost. A change is kept if
    the cost of all rows falls. Costs, counts and centres are sums over all rows, never estimates.

    Parameters
    ----------
    estimator : estimator of tao_cluster or greedy, not altered
        Its objective must have centres that follow from sums: k-means, spherical k-means. The
        tests of a greedy method stay those that it has found in the sample. With ``verbose=1`` a
        bar shows each pass.
    blocks : array, numpy.memmap, sparse matrix, DataFrame, path, iterable, or Blocks
        The rows; see :func:`blocks_of`. Memory: a block for each thread, the sample, and what is
        summed, about ``n_nodes * (n_clusters + n_features)`` numbers.
    sample_weight, embedding : optional
        Beside the blocks; see :func:`blocks_of`.
    coreset_size : "auto" or int >= n_clusters, default="auto"
        Rows of the sample, about; "auto" is 100 000, or 1000 a cluster if these are more. Where
        there are no more rows than that, the sample is all of them.
    n_passes : int >= 0, default=3
        Most rounds of improvement, each of which reads all rows four to eight times; there are
        none for greedy methods, or with ``relax=False``.
    random_state : int, RandomState instance or None, default=None
        Seed of the samples. A row is drawn by its number and the seed, so that the result does not
        depend on how the rows are cut into blocks, but for the rounding of sums.

    Returns
    -------
    A fitted estimator like the given one. It has no `labels_` and `free_labels_`, which would take
    memory for each row. What a method tells of its own way, as `history_`, is of the sample.

    Raises
    ------
    ValueError
        If the objective or a parameter asks for all rows at once; for the reasons of `fit` of the
        estimator.
    BlockError
        If a block cannot be read or has values that cannot be; it names the block.

    Warns
    -----
    ConvergenceWarning
        If a KeyboardInterrupt, or the loss of those who read the rows, ends the rounds: the best
        tree so far is kept.

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
            "estimator must be one of tao_cluster or greedy, such as TAOClustering(10); got "
            f"{estimator!r}."
        )
    estimator._validate_params()
    plain = with_plain_numbers(estimator)
    method = plain._method()
    _check_method(method)
    rng = check_random_state(random_state)
    with one_thread():
        blocks = blocks_of(blocks, sample_weight, embedding, effective_n_jobs(estimator.n_jobs))
        if estimator.get_params(deep=False).get("verbose"):
            blocks = ProgressBlocks(blocks)
        look = ColumnStatistics.of(blocks, plain.n_clusters)
        scaling = look.scaling() if estimator.standardize else None
        of_centers = None if blocks.has_embedding else scaling
        space = ClusteringSpace(method.objective, blocks.has_embedding, of_centers, None)
        source = AllRows(blocks, look.reader(space))
        sample = _sample(source, look, plain.n_clusters, coreset_size, rng)
        centers = _free_centers(source, sample, look, plain)
        cost = source.sum(free_inertia, centers)
        model = clone(estimator).set_params(reference=_shown(space, centers))
        model._fit(sample.X, None, sample.weight, sample.embedding, scaling)
        states = _states(source, sample, model, method, centers, look.moments.weight, n_passes, rng)
        _store(model, _best(states), source, centers, cost)
        return model.set_params(reference=estimator.reference)


@dataclass(frozen=True, eq=False)
class _State:
    """A tree, its centres (k, m), and what all rows say of them."""

    tree: Tree
    centers: np.ndarray
    statistics: TreeStatistics

    @property
    def inertia(self):
        """Cost of all rows."""
        return self.statistics.cost


def _sample(source, look, n_clusters, coreset_size, rng):
    """Return rows that stand for all rows."""
    space, size = source.reader.space, coreset_size
    if size == "auto":
        size = max(_SAMPLE_ROWS, _ROWS_A_CLUSTER * n_clusters)
    mean = space.scaled_centers(look.of_embedding.mean[None])[0]
    if look.n_present <= size:
        X, embedding, weight = all_rows(source, mean)
    else:
        X, embedding, weight = coreset(source, mean, n_clusters, size, rng)
    if len(weight) < n_clusters:
        raise ValueError(
            f"The sample has {len(weight)} rows for {n_clusters} clusters; coreset_size={size} "
            "must be larger."
        )
    clustered = space.scaled(X) if embedding is None else embedding
    return WeightedRows(X, embedding, clustered, weight, np.arange(len(weight)), space.objective)


def _free_centers(source, sample, look, estimator):
    """Return the free centres (k, m): those given, or found in the sample and then in all rows.

    What a reference of the user's finds in the sample stays as it is.
    """
    space, objective = source.reader.space, source.reader.objective
    rows = sample.X if sample.embedding is None else sample.embedding  # in the user's units
    names = None if sample.embedding is not None else source.blocks.names
    reference = given_centers(estimator.reference, rows, sample.weight, objective, names)
    if space.scaling is not None:
        reference = space.scaling.of_centers(reference)
    terms = (sample.space, sample.data, estimator.n_clusters, sample.weight, estimator.random_state)
    free = free_clustering(reference, objective, *terms)
    if estimator.reference is not None:
        return free.centers
    moments = look.of_embedding
    variance = moments.squares / moments.weight
    if space.scaling is not None:
        variance = variance / space.scaling.scale**2
    ends = _SETTLED * float(variance.mean()), _LEAST_GAIN * free.inertia
    return lloyd(source, free.centers, *ends)[0]


def _states(source, sample, model, method, free_centers, total, n_passes, rng):
    """Yield better and better states; the first has the tree of the sample."""

    def evaluate(found):
        share = sample.weight / total
        firsts = first_values(found.tree, sample.view, found.tree.route(sample.view), share)
        terms = (np.nan_to_num(firsts), free_centers, total)
        statistics = source.sum(describe, found.tree, found.centers, *terms)
        return _State(found.tree, found.centers, statistics)

    start = source.reader.space.scaled_centers(model.cluster_centers_)
    state = evaluate(relabel_leaves(source, [model.tree_], start, relabels=method.improves))
    yield state
    if method.improves:
        yield from refine(source, sample, state, evaluate, n_passes, rng, method.midpoints)


def _store(model, state, source, free_centers, free_cost):
    """Set the fitted attributes of a state."""
    space, tree, statistics = source.reader.space, state.tree, state.statistics
    if tree.leaf_value is not None:
        tree = tree.with_leaves(tree.leaf_label, statistics.histograms())
    model.tree_ = tree
    model.node_counts_ = statistics.counts(tree)
    model.node_rows_ = tree.subtree_sums(statistics.n_rows).astype(np.int64)
    model.split_stds_, model.split_gaps_ = statistics.spreads(tree), statistics.gaps(tree)
    importances = feature_importances(tree, statistics.costs, model.split_stds_)
    model.feature_importances_ = importances
    model.cluster_centers_ = _shown(space, state.centers)
    model.free_centers_ = _shown(space, free_centers)
    model.inertia_, model.free_inertia_ = statistics.cost, free_cost
    model.cost_increase_ = cost_increase(statistics.cost, free_cost)
    del model.labels_, model.free_labels_  # they have an entry for each row
    if source.blocks.names is not None:
        model.feature_names_in_ = np.asarray(source.blocks.names, dtype=object)


def _best(states):
    """The last of better and better states, or the last before an interruption."""
    best = None
    try:
        for state in states:
            best = state
    except (KeyboardInterrupt, LostRowsError) as error:
        if best is None:
            raise
        reason = str(error) if isinstance(error, LostRowsError) else "Interrupted."
        warn(f"{reason} The best tree so far is kept.", ConvergenceWarning)
    return best


def _check_method(method):
    """ValueError for a method whose fit is no sum over rows."""
    objective = method.objective
    if objective.explains_labels or objective.cluster_sums is None or not objective.is_sum:
        raise ValueError(
            f"Rows in blocks need centres that are sums over rows, as k-means and spherical "
            f"k-means have; {name_of(objective)} has none: fit a sample of the rows."
        )
    if np.ndim(method.validation):
        raise ValueError(
            "validation by numbers of rows is for rows in memory; give a share of the sample."
        )


def _shown(space, centers):
    """Centres in the user's units."""
    return centers.copy() if space.scaling is None else space.scaling.undo(centers)
