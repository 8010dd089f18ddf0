"""CART by other settings of scikit-learn's tree: does one explain the figures of the paper?"""

import numpy as np
from sklearn.metrics import pairwise_distances_argmin
from sklearn.tree import DecisionTreeClassifier

from benchmarks.evidence.measures import timed
from benchmarks.evidence.runs import Run

# The paper's appendix names max_leaf_nodes alone. Method to what is not the default.
VARIANTS = {
    "CART, entropy": {"criterion": "entropy"},
    "CART, balanced classes": {"class_weight": "balanced"},
}


def variants(table, data, numbers_of_leaves, case):
    """Return the runs of the variants with some numbers of leaves.

    Parameters
    ----------
    table, data : str
    numbers_of_leaves : list of int
    case : dict, arguments of `Workshop.case`
    """
    for method, parameters in VARIANTS.items():
        for leaves in numbers_of_leaves:
            options = {"parameters": parameters, "leaves": leaves, "case": case}
            setting = f"{leaves} leaves, {case['n_init']} starts"
            yield Run(table, data, method, setting, 0, fit, options)


def fit(workshop, run):
    """A tree of the free labels, and what its clusters cost."""
    case = workshop.case(run.data, **run.options["case"])
    X = np.asarray(case.X, dtype=np.float64)
    labels = pairwise_distances_argmin(X, case.centers)
    cart = DecisionTreeClassifier(
        max_leaf_nodes=run.options["leaves"], random_state=0, **run.options["parameters"]
    )
    cart, seconds = timed(lambda: cart.fit(X, labels))
    leaves = int(cart.get_n_leaves())
    return {
        "point": run.options["leaves"],
        "rows": X.shape[0],
        "columns": X.shape[1],
        "clusters": case.n_clusters,
        "cost": 100 * (_scatter(X, cart.predict(X)) / _scatter(X, labels) - 1),
        "parameters": 3 * leaves - 2,
        "leaves": leaves,
        "depth": int(cart.get_depth()),
        "seconds": seconds,
    }


def _scatter(X, labels):
    """Sum of squared distances to the means of the clusters."""
    return sum(((X[labels == c] - X[labels == c].mean(axis=0)) ** 2).sum() for c in set(labels))
