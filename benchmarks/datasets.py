"""The data sets of the benchmarks: bundled with scikit-learn, or .npz files in a directory."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
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
    "fifa19": (10, 5, "standardise"),
    "adult": (10, 5, "standardise"),
    "mice": (8, 5, 1.0),
    "iris": (3, 3, 1.0),
    "wine": (3, 3, "standardise"),
}
BUNDLED = {"digits": load_digits, "iris": load_iris, "wine": load_wine}


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
    if name in BUNDLED:
        X = BUNDLED[name]().data
    else:
        with np.load(DATA_DIR / f"{name}.npz", allow_pickle=True) as file:
            X = file["X"]
    X = np.ascontiguousarray(X, dtype=dtype)
    if scaling == "standardise":
        X = StandardScaler(copy=False).fit_transform(X)
    else:
        X *= scaling
    return X, n_clusters, depth


def load_text(name="newsgroups_a1"):
    """Documents as tf-idf vectors of norm 1, those without words dropped (appendix A.1).

    Returns
    -------
    X : CSR matrix of shape (n, number of words)
    vocabulary : list of str

    Raises
    ------
    FileNotFoundError
        If the files NAME.npz and NAME.meta.npz are not in DATA_DIR.
    """
    counts = sp.load_npz(DATA_DIR / f"{name}.npz").tocsr()
    with np.load(DATA_DIR / f"{name}.meta.npz", allow_pickle=True) as file:
        vocabulary = [str(word) for word in file["vocabulary"]]
    counts = counts[np.diff(counts.indptr) > 0]
    return TfidfTransformer().fit_transform(counts), vocabulary
