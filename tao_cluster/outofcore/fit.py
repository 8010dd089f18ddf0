"""A fit to rows in blocks: from an estimator of ours to one that is fitted to all of them."""

from numbers import Integral

from joblib import effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from .._utils.threads import one_thread
from .._utils.warnings import tell
from ..base import TreeClustering
from .failures import LostRowsError
from .found import Found
from .sources import Watched, blocks_of


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
    _check(estimator, coreset_size, n_passes)
    with one_thread():
        blocks = blocks_of(blocks, sample_weight, embedding, effective_n_jobs(estimator.n_jobs))
        if estimator.get_params(deep=False).get("verbose"):
            blocks = Watched(blocks)
        found = Found.of(estimator, blocks, coreset_size, random_state)
        return found.stored(_best(found.states(n_passes)))


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
        tell(f"{reason} The best tree so far is kept.", ConvergenceWarning)
    return best


def _check(estimator, coreset_size, n_passes):
    """Raise a sentence for what cannot be fitted to blocks."""
    if not isinstance(estimator, TreeClustering):
        raise TypeError(
            "estimator must be one of tao_cluster or greedy, such as TAOClustering(10); got "
            f"{estimator!r}."
        )
    is_whole = isinstance(coreset_size, Integral) and coreset_size > 0
    if not (is_whole or (isinstance(coreset_size, str) and coreset_size == "auto")):
        raise ValueError(f"coreset_size={coreset_size!r} must be 'auto' or a number above 0.")
    if not isinstance(n_passes, Integral) or n_passes < 0:
        raise ValueError(f"n_passes={n_passes!r} must be a whole number, 0 or more.")
    estimator._validate_params()
