"""Supervised: trees for given labels beside scikit-learn's CART with as many leaves.

    python -m benchmarks.labels digits letter adult --splits 5

prints the percentage of correct labels on the fitted rows, two thirds of all, and on the new rows,
as means over random splits with standard errors. "TAO axis" starts from CART with as many leaves.
"TAO oblique" has at most as many leaves, and the lambda of the knee; "validated" has the lambda of
least error on a fifth of the fitted rows. In brackets are the mean leaves and parameters.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.datasets import DATA_DIR
from benchmarks.evidence.measures import timed
from benchmarks.evidence.pages.words import averaged, markdown
from benchmarks.shared import parser
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
    """Print the table."""
    arguments = parser(__doc__)
    arguments.add_argument("names", nargs="+", choices=LEAVES)
    arguments.add_argument("--splits", type=int, default=5, help="number of random splits")
    options = arguments.parse_args()
    lines = []
    for name in options.names:
        X, y = load(name)
        for n_leaves in LEAVES[name]:
            for method in methods(n_leaves):
                found = [measured(X, y, method, n_leaves, split) for split in range(options.splits)]
                fitted, new, leaves, parameters = np.array(found).T
                lines.append(
                    {
                        "data": f"{name}, {n_leaves} leaves",
                        "method": f"{method} ({leaves.mean():.0f}, {parameters.mean():.0f})",
                        "fitted %": averaged(fitted),
                        "new %": averaged(new),
                    }
                )
    print(markdown(lines))


def measured(X, y, method, n_leaves, split):
    """Fit a model to two thirds of the rows.

    Returns
    -------
    (float, float, int, int), percent of correct labels of fitted and of new rows, leaves,
    parameters
    """
    X_fitted, X_new, y_fitted, y_new = train_test_split(X, y, test_size=1 / 3, random_state=split)
    model = methods(n_leaves)[method]
    timed(lambda: model.fit(X_fitted, y_fitted))  # without its warnings of lost labels
    tree = from_sklearn(model) if method == "CART" else model.tree_
    fitted, new = (
        100 * np.mean(model.predict(rows) == labels)
        for rows, labels in ((X_fitted, y_fitted), (X_new, y_new))
    )
    return fitted, new, tree.n_leaves, tree.n_parameters


if __name__ == "__main__":
    main()
