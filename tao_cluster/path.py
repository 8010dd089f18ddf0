"""tao_path: a family of trees along lambda, and the choice of one of them."""

import numpy as np

from .estimator import TAOClustering
from .goals import goal_of


def tao_path(
    X,
    n_clusters=8,
    lambdas=None,
    depth=5,
    *,
    sample_weight=None,
    embedding=None,
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
    depth : int, default=5
    sample_weight, embedding
        As for :meth:`TAOClustering.fit`.
    **parameters
        Further parameters of :class:`TAOClustering`: `n_init`, `reference`, `random_state`, ...
        The direct form is used whatever `algorithm` is.

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
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import tao_path
    >>> models = tao_path(load_iris().data, 3, depth=2, random_state=0)
    >>> sizes = [model.tree_.n_parameters for model in models]
    >>> sizes[0] > sizes[-1]
    True
    """
    return TAOClustering(n_clusters, depth=depth, **parameters).fit_path(
        X, lambdas, sample_weight, embedding
    )


def knee(models, *, max_parameters=None, max_cost_increase=None):
    """Choose one of some fitted models.

    Parameters
    ----------
    models : list of fitted estimators with `tree_` and `cost_increase_`
        Those of infinite cost increase, where the free clustering costs nothing, do not count.
    max_parameters : int, optional
        Least cost with at most so many parameters.
    max_cost_increase : float, optional
        Fewest parameters with at most so many percent of cost increase.
        Without either, the knee of the curve: the model with the least sum of log(1 + cost) and
        log(parameters), each scaled to 0..1 over the models.

    Returns
    -------
    One of the models

    Raises
    ------
    ValueError
        If both limits are given, or there are no models.

    Warns
    -----
    UserWarning
        If no model keeps to the limit; then the nearest one is returned.
    """
    models = [model for model in models if np.isfinite(model.cost_increase_)]
    if len(models) == 0:
        raise ValueError("There are no models of finite cost to choose from.")
    costs = [model.cost_increase_ for model in models]
    trees = [model.tree_ for model in models]
    goal = goal_of(max_parameters, max_cost_increase)
    return models[_bend(costs, trees) if goal is None else goal.choose(costs, trees)]


def _bend(costs, trees):
    """Position of the point nearest to the corner of low cost and few parameters."""
    x = np.log([tree.n_parameters for tree in trees])
    y = np.log1p(np.maximum(costs, 0.0))
    width, height = np.ptp(x), np.ptp(y)
    if width == 0 or height == 0:
        return int(np.lexsort((x, y))[0])
    return int(((x - x.min()) / width + (y - y.min()) / height).argmin())
