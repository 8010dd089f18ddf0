"""Reading a user's data file: .csv, .npy or .npz, with one clear sentence where it fails."""

import contextlib
import csv
import warnings
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.utils.fixes import parse_version

from .columns import Choices, Loaded, NotANumberError, features_of


def load_data(path, choices=None):
    """Features of a file.

    Parameters
    ----------
    path : str or Path
        .csv: comma-separated values, the first line may name the columns; for row numbers, texts
        and missing values see :func:`.columns.features_of`. .npy: a 2-D array of numbers. .npz: a
        sparse matrix written by scipy.sparse.save_npz, or an archive with an array `X` (or with
        a single array).
    choices : Choices, optional
        What to do with the columns of a .csv.

    Returns
    -------
    Loaded

    Raises
    ------
    ValueError
        If the file is missing, is not of these kinds or holds what cannot be used.
    """
    path, choices = Path(path), Choices() if choices is None else choices
    readers = {".npy": _read_npy, ".npz": _read_npz}
    if path.suffix.lower() not in {".csv", *readers}:
        raise ValueError(f"{path}: expected a .csv, .npy or .npz file.")
    if not path.is_file():
        raise ValueError(f"{path}: no such file.")
    if path.suffix.lower() == ".csv":
        return _read_csv(path, choices)
    if choices != Choices():
        raise ValueError(f"{path}: columns and missing values can be chosen of a .csv only.")
    X = readers[path.suffix.lower()](path)
    if X.ndim != 2:
        raise ValueError(f"{path}: expected a table (rows x columns), got {X.ndim} dimension(s).")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: expected numbers, got values of type {X.dtype}.")
    return Loaded(X)


# How pandas reads numbers to the last bit; from 3.1 on it does so, and dislikes to be told.
_IS_EXACT = parse_version(pd.__version__) >= parse_version("3.1")
_BIT_BY_BIT = {} if _IS_EXACT else {"float_precision": "round_trip"}
_FAULTS = (OSError, EOFError, ValueError, KeyError, csv.Error, zipfile.BadZipFile, zlib.error)


@contextlib.contextmanager
def _readable(path):
    """Name the file when it is not what its ending says."""
    try:
        yield
    except _FAULTS as error:
        raise ValueError(f"{path}: cannot be read as {path.suffix} ({error}).") from error


def _read_csv(path, choices):
    with _readable(path), path.open(newline="", encoding="utf-8-sig") as file:
        lines = (line for line in csv.reader(file) if line)
        first, second = next(lines, None), next(lines, None)
    if first is None:
        raise ValueError(f"{path}: the file is empty.")
    _check_separator(path, first)
    has_names = _are_names(first, second)
    if has_names and second is None:
        raise ValueError(f"{path}: the file has column names but no rows.")
    names = [cell.strip() for cell in first] if has_names else [f"x{j}" for j in range(len(first))]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{path}: several columns are named {twice[0]!r}.")
    frame = _read_frame(path, has_names, len(names))
    frame.columns = names
    try:
        return features_of(frame, choices)
    except NotANumberError as error:
        line = _line_of(path, error.row + has_names)
        raise ValueError(f"{path}: line {line}, {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _check_separator(path, first):
    """ValueError if the first line seems to be separated by something else than commas."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs")):
        if len(first) == 1 and mark in first[0]:
            raise ValueError(
                f"{path}: values seem to be separated by {name}; expected commas between them, "
                "and points in numbers."
            )


def _are_names(first, second):
    """Whether the first line names the columns: no numbers, or words above numbers."""
    is_number = [_is_number(cell) for cell in first]
    words = [j for j, cell in enumerate(first) if cell.strip() and not is_number[j]]
    if not any(is_number) or not words:
        return not any(is_number)
    return second is not None and any(_is_number(second[j]) for j in words if j < len(second))


def _read_frame(path, has_names, width):
    """The lines as columns of numbers or texts; "?" and what pandas takes for it is missing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a line is too long
            frame = pd.read_csv(
                path,
                header=0 if has_names else None,
                index_col=False,
                na_values=["?"],
                skipinitialspace=True,
                **_BIT_BY_BIT,
                encoding="utf-8-sig",
                low_memory=False,
            )
    except (ValueError, pd.errors.ParserWarning) as error:
        _check_lines(path, width)
        raise ValueError(f"{path}: cannot be read as .csv ({error}).") from error
    if frame.iloc[:, -1].isna().any():  # perhaps of lines that are too short
        _check_lines(path, width)
    return frame


def _check_lines(path, width):
    """ValueError at the first line that has another number of values."""
    with _readable(path), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        for line in filter(None, reader):
            if len(line) != width:
                raise ValueError(f"line {reader.line_num} has {len(line)} values, expected {width}")


def _line_of(path, row):
    """Number of the line on which a row, counted from 0 without blank lines, ends."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        for position, _ in enumerate(filter(None, reader)):
            if position == row:
                return reader.line_num
    return row + 1


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
    return X


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
                return matrix
        key = "X" if "X" in keys else keys[0] if len(keys) == 1 else None
        if key is None:
            raise ValueError(f"{path}: expected an array named X, found {', '.join(keys)}.")
        with _readable(path):
            return archive[key]
