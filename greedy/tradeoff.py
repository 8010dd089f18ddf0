"""Size against cost: what every tree on ExKMC's way costs, and the search for a depth factor."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from tao_cluster.measures import cost_increase
from tao_cluster.routing import kernel_view


def trace(task, points, growth, tree, n_base):
    """Surrogate and true cost of the trees of a growth, from the base on.

    Every tree's clusters are unions of the leaves of the last one, so that one pass over the
    rows is enough.

    Parameters
    ----------
    task : tao_cluster.base.Task
    points : Points
    growth : Growth
    tree : Tree, the last one
    n_base : int, leaves of the first one

    Returns
    -------
    list of dict
        leaves, surrogate (cost with the reference centres), cost (with optimal centres) and
        cost_increase (percent over the free clustering).
    """
    leaf_of_row = np.searchsorted(
        tree.leaves, tree.route(kernel_view(task.X), n_jobs=points.n_jobs)
    )
    n_rows, n_last = len(leaf_of_row), tree.n_leaves
    member = sp.csr_matrix((task.weight, (leaf_of_row, np.arange(n_rows))), (n_last, n_rows))
    mass, surrogate = np.asarray(member.sum(axis=1)).ravel(), member @ points.distances
    origin = np.zeros((n_last, task.space.shape[1]))
    means = task.objective.update_centers(task.data, leaf_of_row, task.weight, origin)
    within = task.objective.value(task.data, leaf_of_row, task.weight, means)

    node, label, parent = tree.leaves.copy(), np.array(growth.label), tree.parent
    records = []
    for n_leaves in range(n_last, n_base - 1, -1):
        undone = node >= 2 * n_leaves - 1
        node[undone] = parent[node[undone]]
        cost = within + _between(means, mass, label[node], surrogate.shape[1])
        records.append(
            {
                "leaves": n_leaves,
                "surrogate": float(surrogate[np.arange(len(node)), label[node]].sum()),
                "cost": cost,
                "cost_increase": cost_increase(cost, task.free.inertia),
            }
        )
    records.reverse()
    falling = np.minimum.accumulate([record["surrogate"] for record in records])
    for record, surrogate_cost in zip(records, falling.tolist(), strict=True):
        record["surrogate"] = surrogate_cost  # theorem 1 of the paper, against rounding
    return records


def _between(means, mass, labels, n_clusters):
    """Cost of moving every leaf's rows from the leaf's mean to the mean of its cluster."""
    member = sp.csr_matrix((mass, (labels, np.arange(len(labels)))), (n_clusters, len(labels)))
    total = np.maximum(np.asarray(member.sum(axis=1)), np.finfo(float).tiny)
    centers = (member @ means) / total
    return float(mass @ ((means - centers[labels]) ** 2).sum(axis=1))


def search_depth_factor(attempt, max_cost_increase, max_explanation_size, max_iter, start=0.03):
    """Depth factor that meets a goal for the cost and one for the size of explanations.

    Laber, Murtinho & Oliveira (2023), section 4.4: from `start`, lower the factor while the
    cost is above its goal, raise it while only the explanations are too long, by doubling and
    bisection. Where every tree so far costs too much, the last attempt is the factor 0.

    Parameters
    ----------
    attempt : callable, depth factor -> (cost increase, mean explanation size, result)
    max_cost_increase, max_explanation_size : float
    max_iter : int
    start : float > 0

    Returns
    -------
    (record, result) of the attempt that meets both goals; if there is none, of the one with the
    shortest explanations among those that meet the goal for the cost; if there is none, of the
    cheapest. And the list of all records: depth_factor, cost_increase, explanation_size.
    """
    low, high, factor, tried = 0.0, np.inf, start, []
    try:
        for i in range(max_iter):
            if low == 0.0 and i > 0 and i == max_iter - 1:
                factor = 0.0  # nothing met the goal for the cost: the last chance
            cost, size, result = attempt(factor)
            record = {"depth_factor": factor, "cost_increase": cost, "explanation_size": size}
            tried.append((record, result))
            if cost > max_cost_increase:
                high = factor
            elif size > max_explanation_size:
                low = factor
            else:
                break
            factor = 2 * low if high == np.inf else (low + high) / 2
    except KeyboardInterrupt:
        if not tried:
            raise
        warnings.warn(
            f"Interrupted: the best of {len(tried)} trees is kept.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def rank(entry):
        cost, size = entry[0]["cost_increase"], entry[0]["explanation_size"]
        if cost > max_cost_increase:
            return 2, cost, size
        return (0, 0.0, cost) if size <= max_explanation_size else (1, size, cost)

    return min(tried, key=rank), [record for record, _ in tried]
