"""tao_path: trees along growing lambda, as a function."""

from .estimator import TAOClustering


def tao_path(
    X,
    n_clusters=8,
    lambdas=None,
    depth="auto",
    *,
    sample_weight=None,
    embedding=None,
    y=None,
    **parameters,
):
    """Fit trees along growing lambda, each from the tree before.

    The initial trees, the conversion of X and the reference are shared, and a warm start needs
    few steps, so that ten trees cost about as much as two or three fits.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
    n_clusters : int, default=8
    lambdas : array-like of positive floats, default None
        They are sorted. None chooses ten from the data, from a nearly free tree to one with
        about a leaf a cluster and a feature or two a node.
    depth : "auto" or int, default="auto"
        As of :class:`TAOClustering`.
    sample_weight, embedding, y
        As for :meth:`TAOClustering.fit`.
    **parameters
        Further parameters of :class:`TAOClustering`: `n_init`, `reference`, `random_state`, ...
        `algorithm` must stay the direct form.

    Returns
    -------
    list of TAOClustering
        Fitted, in order of `lambda_`. Their `history_` goes from the start of the path to them.

    Raises
    ------
    ValueError
        If `lambdas` are not positive and finite, if a goal is given (choose by :func:`knee`), or
        for the reasons of `TAOClustering.fit`.

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
        X, lambdas, sample_weight, embedding, y
    )
