"""Reading a user's data file: .csv, .npy or .npz, with one clear sentence where it fails."""

import contextlib
import csv
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def load_data(path):
    """Numbers of a file.

    Parameters
    ----------
    path : str or Path
        .csv: comma-separated numbers, the first line may name the columns. .npy: a 2-D array.
        .npz: a sparse matrix written by scipy.sparse.save_npz, or an archive with an array `X`
        (or with a single array).

    Returns
    -------
    X : float array or CSR matrix of shape (n, d)
    feature_names : list of str, or None

    Raises
    ------
    ValueError
        If the file is missing, is not of these kinds or holds anything but numbers.
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".npy": _read_npy, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path}: expected a .csv, .npy or .npz file.")
    if not path.is_file():
        raise ValueError(f"{path}: no such file.")
    X, names = readers[path.suffix.lower()](path)
    if X.ndim != 2:
        raise ValueError(f"{path}: expected a table (rows x columns), got {X.ndim} dimension(s).")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: expected numbers, got values of type {X.dtype}.")
    return X, names


_FAULTS = (OSError, EOFError, ValueError, KeyError, csv.Error, zipfile.BadZipFile, zlib.error)


@contextlib.contextmanager
def _readable(path):
    """Name the file when it is not what its ending says."""
    try:
        yield
    except _FAULTS as error:
        raise ValueError(f"{path}: cannot be read as {path.suffix} ({error}).") from error


def _read_csv(path):
    with _readable(path), path.open(newline="", encoding="utf-8-sig") as file:
        head = next((line for line in csv.reader(file) if line), None)
    if head is None:
        raise ValueError(f"{path}: the file is empty.")
    names = None if all(_is_number(cell) for cell in head) else [cell.strip() for cell in head]
    options = {"delimiter": ",", "quotechar": '"', "comments": None, "ndmin": 2}
    try:
        with path.open(newline="", encoding="utf-8-sig") as file, warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)  # no rows
            X = np.loadtxt(file, skiprows=0 if names is None else 1, **options)
    except (ValueError, UserWarning):
        raise ValueError(_fault_in_csv(path, names)) from None
    if names is not None and len(names) != X.shape[1]:
        raise ValueError(_fault_in_csv(path, names))
    return X, names


def _fault_in_csv(path, names):
    """What is wrong with a file that is no table of numbers."""
    with _readable(path), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        lines = [(reader.line_num, line) for line in reader if line]
    lines = lines if names is None else lines[1:]
    if not lines:
        return f"{path}: the file has column names but no rows."
    width = len(names or lines[0][1])
    for number, line in lines:
        if len(line) != width:
            return f"{path}: line {number} has {len(line)} values, expected {width}."
        for column, cell in enumerate(line):
            if not _is_number(cell):
                where = names[column] if names else column + 1
                return (
                    f"{path}: line {number}, column {where}: {cell!r} is not a number; drop or "
                    "encode such columns and fill gaps first."
                )
    return f"{path}: cannot be read as .csv."


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_npy(path):
    with _readable(path):
        X = np.load(path, allow_pickle=False)
    if not isinstance(X, np.ndarray):
        raise ValueError(f"{path}: an .npz archive under the name of an .npy file.")
    return X, None


def _read_npz(path):
    with _readable(path):
        archive = np.load(path, allow_pickle=False)
    if isinstance(archive, np.ndarray):
        raise ValueError(f"{path}: an .npy array under the name of an .npz file.")
    with archive:
        keys = archive.files
        if {"format", "shape"} <= set(keys):
            with _readable(path):
                matrix = sp.csr_matrix(sp.load_npz(path))
                matrix.check_format(full_check=True)  # kernels trust the indices
                return matrix, None
        key = "X" if "X" in keys else keys[0] if len(keys) == 1 else None
        if key is None:
            raise ValueError(f"{path}: expected an array named X, found {', '.join(keys)}.")
        with _readable(path):
            return archive[key], None
