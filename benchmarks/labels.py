"""Supervised: trees for given labels beside scikit-learn's CART with as many leaves.

``python -m benchmarks.labels digits letter adult`` prints the accuracy on rows that the trees have
seen and on a third of the rows that they have not. CART and both kinds of TAO trees see the same
rows; "TAO axis" starts from CART with as many leaves, "TAO oblique" has at most as many leaves
and the lambda of the knee, or of least error on a fifth of the rows that are seen ("validated").
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.datasets import DATA_DIR
from tao_cluster import TAOClustering
from tao_cluster.initial_trees.cart import from_sklearn

LEAVES = {"digits": (10, 20, 40), "letter": (26, 52, 104), "adult": (4, 8, 16)}


def load(name):
    """Rows and numbers of their labels."""
    if name == "digits":
        return load_digits(return_X_y=True)
    with np.load(DATA_DIR / f"{name}.npz", allow_pickle=True) as archive:
        X, y = archive["X"].astype(np.float64), archive["y"]
    return X, np.unique(y, return_inverse=True)[1]


def methods(n_leaves):
    """Name to unfitted estimator."""
    depth = int(np.ceil(np.log2(n_leaves))) + 1
    options = {"objective": "labels", "max_leaves": n_leaves, "depth": depth, "random_state": 0}
    standardized = {**options, "standardize": True}
    return {
        "CART": DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0),
        "TAO axis": TAOClustering(split="axis", **options),
        "TAO oblique": TAOClustering(**standardized),
        "TAO oblique, validated": TAOClustering(
            **standardized, validation=0.2, max_cost_increase=0
        ),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="+", choices=LEAVES)
    for name in parser.parse_args().names:
        X, y = load(name)
        X_seen, X_new, y_seen, y_new = train_test_split(X, y, test_size=1 / 3, random_state=0)
        TAOClustering(objective="labels", random_state=0, depth=2).fit(X_seen[:200], y_seen[:200])
        print(f"{name}: {len(X_seen)} rows seen, {len(X_new)} new, {len(np.unique(y))} labels")
        print(f"{'method':24} leaves parameters  seen %   new %  seconds")
        for n_leaves in LEAVES[name]:
            for method, model in methods(n_leaves).items():
                report(method, model, X_seen, y_seen, X_new, y_new)


def report(method, model, X_seen, y_seen, X_new, y_new):
    """Fit a model and print its line."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # goals of no error, rare labels without a leaf
        model.fit(X_seen, y_seen)
    seconds = time.process_time() - start
    tree = from_sklearn(model) if method == "CART" else model.tree_
    seen, new = (
        100 * np.mean(model.predict(rows) == labels)
        for rows, labels in ((X_seen, y_seen), (X_new, y_new))
    )
    print(
        f"{method:24} {tree.n_leaves:6} {tree.n_parameters:10} {seen:7.2f} {new:7.2f} "
        f"{seconds:8.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
