"""The data sets of the benchmarks: bundled with scikit-learn, or .npz files in a directory."""

import os
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

# Where NAME.npz with arrays X (and y) lie; see CONTRIBUTING.md.
DATA_DIR = Path(os.environ.get("TAO_CLUSTER_DATA", Path(__file__).parents[2] / "shared" / "data"))

# name: (number of clusters, depth, factor or "standardise"), as in the KDD'22 paper's appendix A
DATASETS = {
    "digits": (10, 5, 1 / 16),
    "letter": (26, 6, "standardise"),
    "mnist": (10, 4, 1 / 255),
    "fashion_mnist": (10, 4, 1 / 255),
    "anuran": (10, 5, 1.0),
    "avila": (12, 5, "standardise"),
}


def load(name, dtype=np.float64):
    """Data set as the paper prepares it.

    Returns
    -------
    X : array of shape (n, d)
    n_clusters, depth : int

    Raises
    ------
    FileNotFoundError
        If the file is not in DATA_DIR.
    """
    n_clusters, depth, scaling = DATASETS[name]
    if name == "digits":
        X = load_digits().data
    else:
        with np.load(DATA_DIR / f"{name}.npz", allow_pickle=True) as file:
            X = file["X"]
    X = X.astype(dtype)
    if scaling == "standardise":
        X = StandardScaler(copy=False).fit_transform(X)
    else:
        X *= scaling
    return X, n_clusters, depth
