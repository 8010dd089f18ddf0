"""tao_path: a function that fits a series of trees of different sizes."""

from .estimator import TAOClustering


def tao_path(
    X,
    n_clusters=8,
    lambdas=None,
    depth="auto",
    *,
    leaves=None,
    sample_weight=None,
    embedding=None,
    y=None,
    **parameters,
):
    """Fit trees of decreasing size along lambda, or of increasing size along the number of leaves.

    Oblique trees are fitted in order of increasing lambda; each fit starts from the previous tree.
    The initial trees, the conversion of X and the free clustering are shared, so that ten trees
    take about as long as two or three fits. Axis-aligned trees (``split="axis"``) follow the number
    of leaves. Each of them costs at most as much as a single fit with the same `max_leaves`, and at
    most as much as the smaller trees.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    n_clusters : int, default=8
    lambdas : array-like of positive floats, optional
        Values of lambda for oblique trees; they are sorted. By default ten values follow from the
        data. The smallest value hardly restricts the tree. The largest one gives about one leaf per
        cluster and one or two features per node.
    depth : "auto" or int, default="auto"
        As in :class:`TAOClustering`.
    leaves : array-like of positive ints, optional
        Maximum numbers of leaves for axis-aligned trees; they are sorted. By default up to ten
        numbers in geometric steps, from one leaf per cluster to `max_leaves` or 2 ** depth.
    sample_weight, embedding, y
        As in :meth:`TAOClustering.fit`.
    **parameters
        Further parameters of :class:`TAOClustering`: `split`, `reference`, `random_state`, ...
        `algorithm` must be "direct" or a :class:`DirectForm`.

    Returns
    -------
    list of TAOClustering
        Fitted models in order of `lambda_` or `max_leaves`. The `history_` of a model has the
        records of the whole path up to this model.

    Raises
    ------
    ValueError
        If `lambdas` are not positive and finite, or `leaves` not positive integers. If a parameter
        would not be used: `lambda_`, `max_parameters` or `max_cost_increase` (use :func:`knee`),
        `validation`, `lambdas` for axis-aligned trees, or `leaves` for oblique trees. If
        `TAOClustering.fit` would raise a ValueError.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tao_cluster import tao_path
    >>> X = load_breast_cancer().data
    >>> models = tao_path(X, 5, depth=3, standardize=True, random_state=0)
    >>> sizes = [model.tree_.n_parameters for model in models]
    >>> sizes[0] > sizes[-1]
    True
    """
    return TAOClustering(n_clusters, depth=depth, **parameters).fit_path(
        X, lambdas, sample_weight, embedding, y, leaves
    )
