"""A fit to rows in blocks: from an estimator of ours to one that is fitted."""

from .blocks import blocks_of


def fit(
    estimator,
    blocks,
    *,
    sample_weight=None,
    embedding=None,
    coreset_size="auto",
    n_passes=2,
    random_state=None,
):
    """Fit an estimator to rows that memory does not hold.

    Parameters
    ----------
    estimator : estimator of tao_cluster or greedy, not altered
    blocks, sample_weight, embedding
        See :func:`blocks_of`; or an object that is Blocks already.
    coreset_size : "auto" or int, default="auto"
    n_passes : int, default=2
    random_state : int, RandomState instance or None

    Returns
    -------
    estimator, fitted
    """
    blocks = blocks_of(blocks, sample_weight, embedding)
    raise NotImplementedError((estimator, coreset_size, n_passes, random_state))
