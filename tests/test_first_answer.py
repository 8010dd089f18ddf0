"""What a new user gets: defaults on tables as they come, scaled to 0..1 and standardised.

Prints a table (``pytest -s``): no cluster is lost, and no tree is dear, without a warning.
"""

import warnings

import numpy as np
import pytest
from sklearn import datasets
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from benchmarks.datasets import DATA_DIR
from tao_cluster import TAOClustering

BUNDLED = {
    "iris": (lambda: datasets.load_iris().data, 3),
    "iris, k = 8": (lambda: datasets.load_iris().data, 8),
    "wine": (lambda: datasets.load_wine().data, 3),
    "breast cancer": (lambda: datasets.load_breast_cancer().data, 4),
    "digits": (lambda: datasets.load_digits().data[::2], 10),
    "diabetes": (lambda: datasets.load_diabetes(scaled=False).data, 8),
    "linnerud": (lambda: datasets.load_linnerud().data, 3),
    "blobs": (lambda: datasets.make_blobs(200, centers=8, random_state=0)[0], 8),
}
# (clusters, rows drawn)
OTHERS = {
    "mice": (8, None),
    "anuran": (10, None),
    "avila": (12, 5000),
    "letter": (26, 5000),
    "adult": (10, 5000),
    "fifa19": (10, 5000),
}
SCALINGS = {
    "raw": lambda X: X,
    "0..1": lambda X: MinMaxScaler().fit_transform(X),
    "standardised": lambda X: StandardScaler().fit_transform(X),
}


def first_answer(name, X, k):
    """Fit with defaults to the data in three scales; print and check what comes out."""
    for scaling, scaled in SCALINGS.items():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model = TAOClustering(k, random_state=0).fit(scaled(X))
        told = [str(warning.message) for warning in told]
        n_free, n_kept = (len(np.unique(z)) for z in (model.free_labels_, model.labels_))
        print(
            f"\n{name:14} {scaling:13} {n_kept:2} of {n_free:2} clusters, "
            f"{model.cost_increase_:6.2f} %, {model.tree_.n_leaves:2} leaves, "
            f"{model.tree_.n_parameters:4} parameters {' '.join(told)}",
            end="",
        )
        assert n_kept == n_free or any("lost" in sentence for sentence in told)
        assert model.cost_increase_ <= 3 or any("costs" in sentence for sentence in told)


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize("name", BUNDLED)
def test_first_answer_on_bundled_data(name):
    load, k = BUNDLED[name]
    first_answer(name, load(), k)


@pytest.mark.sweep
@pytest.mark.parametrize("name", OTHERS)
def test_first_answer_on_benchmark_data(name):
    path = DATA_DIR / f"{name}.npz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    k, n_rows = OTHERS[name]
    with np.load(path, allow_pickle=True) as archive:
        X = archive["X"].astype(np.float64)
    if n_rows is not None:
        X = X[np.random.default_rng(0).choice(len(X), n_rows, replace=False)]
    first_answer(name, X, k)
