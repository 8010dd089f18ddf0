"""What a new user gets: defaults on tables as they come, scaled to 0..1 and standardised."""

import warnings

import numpy as np
import pytest
from sklearn import datasets
from sklearn.preprocessing import MinMaxScaler, StandardScaler

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
SCALINGS = {
    "raw": lambda X: X,
    "0..1": lambda X: MinMaxScaler().fit_transform(X),
    "standardised": lambda X: StandardScaler().fit_transform(X),
}


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("name", BUNDLED)
def test_no_cluster_is_lost_and_no_tree_is_costly_without_a_warning(name, scaling):
    load, k = BUNDLED[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = TAOClustering(k, random_state=0).fit(SCALINGS[scaling](load()))
    caught = [str(warning.message) for warning in caught]
    n_free, n_kept = (len(np.unique(z)) for z in (model.free_labels_, model.labels_))
    assert n_kept == n_free or any("lost" in message for message in caught)
    assert model.cost_increase_ <= 3 or any("costs" in message for message in caught)
