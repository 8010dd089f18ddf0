"""Read data files, tables or arrays, with an error message that names the file and the line."""

import csv
import gzip
import itertools
import sys
import warnings
from pathlib import Path

import pandas as pd
from pandas.api.types import infer_dtype
from sklearn.utils.fixes import parse_version

from ..outofcore.files import file_errors, read_npy, read_npz
from .columns import Choices, Loaded, NotANumberError, features_of


def warn(sentence):
    """Print one line to the standard error stream."""
    print("tao-cluster:", " ".join(sentence.split()), file=sys.stderr)


def load_data(path, choices=None):
    """Read the features of a file.

    Parameters
    ----------
    path : str or Path
        - .csv, .tsv: values separated by commas or tabs, optionally compressed (.gz). The first
          line may name the columns.
        - .parquet, .feather: a table (needs pyarrow).
        - .npy: a 2-D array of numbers.
        - .npz: a sparse matrix written by scipy.sparse.save_npz, or an archive with an array `X`
          (or with a single array).

        See :func:`.columns.features_of` for row numbers, strings and missing values of tables.
    choices : Choices, optional
        What to do with the columns of a table.

    Returns
    -------
    Loaded

    Raises
    ------
    ValueError
        If the file is missing, has another format, or has values that cannot be used.
    """
    path, choices = Path(path), Choices() if choices is None else choices
    content = read_file(path, choices.separator)
    if not isinstance(content, pd.DataFrame):
        if choices != Choices():
            raise ValueError(
                f"{path}: options for columns and missing values apply to tables only."
            )
        return Loaded(content)
    try:
        return features_of(content, choices)
    except NotANumberError as error:
        place = _place(path, error.row, choices.separator)
        raise ValueError(f"{path}: {place}, {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_file(path, separator=None):
    """Read the table, array or CSR matrix of a file; see :func:`load_data`.

    Parameters
    ----------
    path : Path
    separator : str, optional
        Character between the values of a line. By default, the file extension determines it.
    """
    kind = _kind(path)
    if kind not in {*_SEPARATORS, *_TABLES, *_ARRAYS}:
        raise ValueError(
            f"{path}: expected a .csv, .tsv (or one of these .gz), .parquet, .feather, .npy or "
            ".npz file."
        )
    if not path.is_file():
        raise ValueError(f"{path}: no such file.")
    if kind in _SEPARATORS:
        return _read_csv(path, separator or _SEPARATORS[kind])
    if kind in _TABLES:
        return _read_table(path, _TABLES[kind])
    X = _ARRAYS[kind](path)
    if X.ndim != 2:
        raise ValueError(f"{path}: expected a table (rows x columns), got {X.ndim} dimension(s).")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: expected numbers, got values of type {X.dtype}.")
    return X


def _kind(path):
    """Return the ending of a file name, in lower case; for `data.csv.gz` it is `.csv`."""
    return Path(path.stem if _is_packed(path) else path.name).suffix.lower()


def _is_packed(path):
    return path.suffix.lower() == ".gz"


def _read_table(path, read):
    try:
        with file_errors(path):
            frame = read(path)
    except ImportError as error:
        raise ValueError(
            f"{path}: reading {path.suffix} needs pyarrow (pip install pyarrow)."
        ) from error
    frame.columns = frame.columns.map(str)
    _check_names(path, frame.columns)
    for name in frame:
        if infer_dtype(frame[name], skipna=True) == "decimal":
            frame[name] = frame[name].astype(float)
    return frame.reset_index(drop=True)


def _check_names(path, names):
    names = pd.Index(names)
    if names.has_duplicates:
        raise ValueError(f"{path}: several columns are named {min(names[names.duplicated()])!r}.")


# pandas before 3.1 parses floats exactly only with this option, which later versions deprecate.
_IS_EXACT = parse_version(pd.__version__) >= parse_version("3.1")
_BIT_BY_BIT = {} if _IS_EXACT else {"float_precision": "round_trip"}


def _read_csv(path, separator):
    """Read a text file as a table, whose index counts the lines that are not empty."""
    with file_errors(path):
        begin = [line for _, line in itertools.islice(_lines(path, separator), 2)]
    if not begin:
        raise ValueError(f"{path}: the file is empty.")
    first = begin[0]
    _check_separator(path, first)
    has_names = _are_names(*begin)
    if has_names and len(begin) == 1:
        raise ValueError(f"{path}: the file has column names but no rows.")
    names = [cell.strip() for cell in first] if has_names else [f"x{j}" for j in range(len(first))]
    _check_names(path, names)
    try:
        with file_errors(path), warnings.catch_warnings():
            warnings.simplefilter(
                "error", pd.errors.ParserWarning
            )  # raised for lines with too many values
            # "?" means missing, in addition to the strings that pandas knows.
            frame = pd.read_csv(
                path,
                sep=separator,
                header=0 if has_names else None,
                index_col=False,
                na_values=["?"],
                skipinitialspace=True,
                **_BIT_BY_BIT,
                encoding="utf-8-sig",
                low_memory=False,
            )
    except ValueError:
        _check_lines(path, separator, len(names))
        raise
    if frame.iloc[:, -1].isna().any():  # because a line has too few values, or a value is missing
        _check_lines(path, separator, len(names))
    frame.columns = names
    frame.index += int(has_names)
    return frame


def _lines(path, separator):
    """Yield (number of its last line, values) of each record of a text file; skip empty lines.

    A record has several lines if a quoted value has line breaks.
    """
    open_text = gzip.open if _is_packed(path) else Path.open
    with open_text(path, "rt", newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=separator)
        yield from ((reader.line_num, line) for line in reader if line)


def _check_lines(path, separator, width):
    """Raise a ValueError at the first line that does not have `width` values."""
    with file_errors(path):
        for number, line in _lines(path, separator):
            if len(line) != width:
                raise ValueError(f"line {number} has {len(line)} values, expected {width}")


def _place(path, row, separator):
    """Return the place of a row: the line of a text file, or the row number of another file."""
    if _kind(path) not in _SEPARATORS:
        return f"row {row}"
    with file_errors(path):
        lines = _lines(path, separator or _SEPARATORS[_kind(path)])
        number, _ = next(itertools.islice(lines, row, None))
    return f"line {number}"


def _check_separator(path, first):
    """Raise a ValueError if the first line seems to have another separator."""
    for mark, name in ((";", "semicolons"), ("\t", "tabs"), (",", "commas")):
        if len(first) == 1 and mark in first[0]:
            raise ValueError(
                f"{path}: values seem to be separated by {name}; use --sep "
                f"{'TAB' if mark == chr(9) else repr(mark)} (numbers need decimal points)."
            )


def _are_names(first, second=()):
    """Return whether the first line names columns.

    This is so if it has no numbers, or if the second line has a number below one of its words.
    """
    is_number = [_is_number(cell) for cell in first]
    words = [j for j, cell in enumerate(first) if cell.strip() and not is_number[j]]
    if not any(is_number) or not words:
        return not any(is_number)
    return any(_is_number(second[j]) for j in words if j < len(second))


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


# Separators and readers by the ending of the file name.
_SEPARATORS = {".csv": ",", ".tsv": "\t"}
_TABLES = {".parquet": pd.read_parquet, ".feather": pd.read_feather}
_ARRAYS = {".npy": read_npy, ".npz": read_npz}
