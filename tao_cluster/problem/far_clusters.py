"""A warning of clusters that a few far rows make: often errors of entry."""

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .._utils.warnings import listed, warn
from ..objectives.trimmed import far_cost
from .levels import many_valued

_SMALL, _OF_MEAN = 0.01, 0.1  # a small cluster has less than these shares: of the rows, of the mean


def warn_of_far_clusters(problem, result, model, names):
    """Warn of small clusters that one column sets far apart from all others.

    A cluster is small if it has less than 1 % of the rows and less than a tenth of the mean size.
    It is far if its distance to the nearest other centre is, among the costs of rows and among the
    nearest distances of the other centres. Levels of categories, which may be rare, are no errors.

    Parameters
    ----------
    problem : Problem of k-means
    result : Result for the problem
    model : estimator with the attributes of the result
    names : sequence of str, or None
        The names of the columns.
    """
    leaves, centers = model.tree_.leaves, model._space.scaled_centers(model.cluster_centers_)
    k, counts = len(centers), model.node_counts_
    sizes = np.bincount(model.tree_.leaf_label[leaves], counts[leaves], k) / counts[0]
    is_small = sizes < min(_SMALL, _OF_MEAN / k)
    if not is_small.any():
        return
    labels = result.tree.leaf_label[result.leaves(problem, problem.n_jobs)]
    costs = problem.objective.distances(problem.data, centers)[np.arange(len(labels)), labels]
    others, far = centers[~is_small], far_cost(costs, problem.weight)
    if len(others) > 2:
        between = NearestNeighbors(n_neighbors=1).fit(others).kneighbors()[0][:, 0] ** 2
        far = max(far, far_cost(between, np.ones(len(between))))
    found = []
    for j in np.flatnonzero(is_small & (sizes > 0)):
        squares = (others - centers[j]) ** 2
        nearest = squares[squares.sum(axis=1).argmin()]
        column, is_far = nearest.argmax(), nearest.sum() > far and nearest.max() > nearest.sum() / 2
        if is_far and many_valued(problem.space[:, [column]])[0]:
            name = column if names is None else repr(str(names[column]))
            found.append(f"cluster {j} ({100 * sizes[j]:.2g} % of the rows; column {name})")
    if found:
        warn(
            f"Clusters of a few rows that are far from all others: {listed(found, quote=False)}. "
            'If these values are errors, use TAOClustering(objective="trimmed"), which leaves such '
            'rows out, or "kmedians" (on the command line, --objective).'
        )
