"""Read rows from .npy, .npz and Parquet files, all at once or in batches."""

import contextlib
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.imports import import_optional

# _BUFFER is the size in bytes of the buffer for reading a column. _TILE is the number of rows that
# are copied at a time from columns into an array. It is small, so that the copied rows stay in the
# cache of the processor.
_BUFFER, _TILE = 2**20, 2**11

_CHOOSE = "select the features by parquet_blocks(..., columns=[...])"


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that are read into one array.

    Parameters
    ----------
    names : list of str
    dtype : numpy dtype
        float32 if numpy promotes the types of the columns to float32, else float64.
    """

    names: list
    dtype: Any

    def array(self, batch):
        """Convert the columns of a batch to an array of shape (m, len(names))."""
        columns = [_numbers(batch.column(name)) for name in self.names]
        out = np.empty((batch.num_rows, len(columns)), self.dtype)
        for start in range(0, len(out), _TILE):
            rows = slice(start, start + _TILE)
            for j, column in enumerate(columns):
                out[rows, j] = column[rows]
        return out


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Columns of Parquet files, which can be read repeatedly.

    Parameters
    ----------
    files : list of str, or list of fragments of a pyarrow Dataset, in the order of the rows
    X : Part, columns of the features
    weight : Part with the column of the weights, or None
    embedding : Part with the coordinates in which the rows are clustered, or None
    """

    files: list
    X: Part
    weight: Part | None
    embedding: Part | None

    @classmethod
    def from_files(cls, source, weight=None, embedding=None, columns=None):
        """Select columns of Parquet files. Only the schemas in the file footers are read.

        Parameters
        ----------
        source : path-like, list of path-like, or pyarrow Dataset
            A file, or a folder, of which all files `*.parquet` are read, including those in
            subfolders, sorted by path. Partition columns of a Dataset, which are not in its files,
            are not read.
        weight : str, optional
            Column with the weights of the rows.
        embedding : list of str, optional
            Columns with the coordinates in which the rows are clustered.
        columns : list of str, optional
            Columns that are the features. Default: all other columns, in the order of the first
            file.

        Raises
        ------
        ValueError
            If there are no files, if a file is not Parquet, or if a column is missing or not
            numeric.
        """
        if not (weight is None or isinstance(weight, str)):
            raise ValueError(
                "sample_weight must be the name of a column of the Parquet files; got "
                f"{type(weight).__name__}."
            )
        beside = [
            None if names is None else _listed(names, name)
            for names, name in ((weight and [weight], "sample_weight"), (embedding, "embedding"))
        ]
        files = _files(source)
        schemas = {_name_of(file): schema_of(file) for file in files}
        if columns is None:
            taken = {name for names in beside for name in names or ()}
            columns = [name for name in _common_names(schemas) if name not in taken]
        parts = [
            None if names is None else Part(names, _dtype(schemas, names))
            for names in (_listed(columns, "columns"), *beside)
        ]
        return cls(files, *parts)

    def read(self, most_values, most_rows):
        """Yield (X, weight or None, embedding or None) for consecutive batches of rows.

        Parameters
        ----------
        most_values, most_rows : int
            Largest number of values and largest number of rows of a batch. A batch has at least one
            row.

        Raises
        ------
        ValueError
            If a value is missing or infinite. The message names the file, the row and the column.
        """
        parts = (self.X, self.weight, self.embedding)
        for batch, place in self._batches(self._names, most_values, most_rows):
            arrays = [None if part is None else part.array(batch) for part in parts]
            if not all(values is None or np.isfinite(values).all() for values in arrays):
                _raise_for_missing(batch, *place)
            X, weight, embedding = arrays
            yield X, None if weight is None else weight[:, 0], embedding

    @property
    def _names(self):
        """Names of the columns of X, weight and embedding; a name may occur in several of them."""
        parts = (self.X, self.weight, self.embedding)
        return [name for part in parts if part is not None for name in part.names]

    def _batches(self, names, most_values, most_rows):
        """Yield (batch, (file name, number of the first row of the batch in this file))."""
        step = max(1, min(most_rows, most_values // len(self._names)))
        names = list(dict.fromkeys(names))
        for file in self.files:
            start = 0
            with _opened(file) as content:
                for batch in content.iter_batches(step, columns=names, use_threads=False):
                    yield batch, (_name_of(file), start)
                    start += batch.num_rows


def _raise_for_missing(batch, file, start):
    """Raise a ValueError that names the row and the column of a missing or infinite value.

    Parameters
    ----------
    batch : pyarrow RecordBatch
    file : str, name of the file
    start : int, number of the first row of the batch in the file
    """
    for name in batch.schema.names:
        wrong = np.flatnonzero(~np.isfinite(_numbers(batch.column(name))))
        if len(wrong):
            raise ValueError(
                f"{file}: row {start + int(wrong[0])} has a missing or infinite value in column "
                f"{name!r}. Leave the column out with parquet_blocks(..., columns=[...]), or write "
                "a file in which such values are filled or their rows are left out."
            )


@contextlib.contextmanager
def _opened(file):
    """Context manager that opens a Parquet file; errors become a ValueError that names the file.

    Parameters
    ----------
    file : str, or fragment of a pyarrow Dataset
    """
    parquet = import_optional("pyarrow.parquet", "A Parquet file", "pip install pyarrow")
    try:
        source = file if isinstance(file, str) else file.open()
        # With pre_buffer=True, all row groups that were read would stay in memory.
        options = {"buffer_size": _BUFFER, "pre_buffer": False}
        with parquet.ParquetFile(source, **options) as content:
            yield content
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise ValueError(f"{_name_of(file)}: {error}") from error


def _name_of(file):
    return file if isinstance(file, str) else file.path


def _files(source):
    """Return the files of a source in order: paths, or fragments of a Dataset."""
    if hasattr(source, "get_fragments"):
        return sorted(source.get_fragments(), key=_name_of)
    paths = source if isinstance(source, list | tuple) else [source]
    return [str(path) for given in paths for path in _paths(Path(given))]


def _paths(path):
    """Return the paths of the Parquet files at a path: the file itself, or those in a folder.

    Files and subfolders of the folder whose names start with "." or "_" are left out.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ValueError(
            f"{path}: there is no such file or folder. For remote files, pass a pyarrow Dataset."
        )
    found = [
        file
        for file in sorted(path.rglob("*.parquet"))
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    ]
    if not found:
        raise ValueError(
            f"{path}: the folder has no files named *.parquet; pass a list of files if they have "
            "other names."
        )
    return found


def schema_of(file):
    """Return the types of the columns of a file, without the index columns of pandas.

    Returns
    -------
    dict of str to pyarrow type

    Raises
    ------
    ValueError
        If two columns have the same name.
    """
    with _opened(file) as content:
        schema = content.schema_arrow
        twice = [name for name, count in Counter(schema.names).items() if count > 1]
        if twice:
            raise ValueError(f"several columns have the name {twice[0]!r}.")
        index = (schema.pandas_metadata or {}).get("index_columns") or ()
    return {field.name: field.type for field in schema if field.name not in index}


def numeric_columns(source):
    """Return whether each column of the first file holds numbers or booleans: dict of bool."""
    schema = schema_of(_files(source)[0])
    return {name: dtype_of(kind) is not None for name, kind in schema.items()}


def frames_of(source, names, n_rows):
    """Yield the columns `names` of all files as DataFrames of at most `n_rows` consecutive rows.

    The columns may have any type. `source` is as for :meth:`ParquetTable.from_files`.
    """
    for file in _files(source):
        with _opened(file) as content:
            for batch in content.iter_batches(n_rows, columns=names, use_threads=False):
                # The metadata that pandas wrote may be invalid, so they are removed.
                yield batch.replace_schema_metadata(None).to_pandas()


def _common_names(schemas):
    """Return the column names of the files; raise a ValueError if they differ between files."""
    (first, names), *others = schemas.items()
    for file, schema in others:
        apart = {*schema} ^ {*names}
        if apart:
            raise ValueError(
                f"{file} and {first} have different columns: only one of them has {min(apart)!r}; "
                f"{_CHOOSE}."
            )
    return list(names)


def _listed(names, name):
    """Check that `names` are distinct names of columns, at least one, and return them as a list."""
    if isinstance(names, str) or not all(isinstance(each, str) for each in names):
        raise ValueError(f"{name} must be a list of names of columns of the Parquet files.")
    names = list(names)
    twice = [each for each, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{name} contains column {twice[0]!r} twice.")
    if not names:
        raise ValueError(f"{name} is empty; it must name at least one column.")
    return names


def _dtype(schemas, names):
    """Return float32 if numpy promotes the types of these columns to it, else float64."""
    kinds = set()
    for file, schema in schemas.items():
        for name in names:
            if name not in schema:
                raise ValueError(f"{file}: there is no column {name!r}.")
            kind = dtype_of(schema[name])
            if kind is None:
                raise ValueError(
                    f"{file}: column {name!r} has the type {schema[name]}, which is not numeric; "
                    f"{_CHOOSE}, or encode the column in the file."
                )
            kinds.add(kind)
    dtype = np.result_type(*kinds)
    return dtype if dtype == np.float32 else np.dtype(np.float64)


def dtype_of(kind):
    """Return the numpy dtype for a pyarrow type of numbers or booleans; None for other types."""
    types = import_optional("pyarrow", "A Parquet file", "pip install pyarrow").types
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return np.dtype(kind.to_pandas_dtype()) if is_number else None


def _numbers(column):
    """Return the values of a pyarrow column as a numpy array, with NaN for nulls."""
    if not np.issubdtype(column.type.to_pandas_dtype(), np.number):
        # The values are booleans or decimal numbers.
        column = column.cast("int8" if column.type == "bool" else "float64")
    return column.to_numpy(zero_copy_only=False)


def read_npy(path, mmap_mode=None):
    """Read the array of an .npy file; with mmap_mode="r" it is memory-mapped.

    Raises
    ------
    ValueError
        If the file cannot be read.
    """
    with file_errors(path):
        found = np.load(path, mmap_mode, allow_pickle=False)
        if not isinstance(found, np.ndarray):
            found.close()
            raise ValueError("the content is an .npz archive: rename the file to .npz")
        return found


def read_npz(path):
    """Read an .npz archive: its sparse matrix as CSR, else its only array, else its array X.

    Raises
    ------
    ValueError
        If the file cannot be read, or has no such array.
    """
    with file_errors(path), Path(path).open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("the content is an .npy array: rename the file to .npy")
        names = archive.files
        if {"format", "shape"} <= set(names):
            matrix = sp.load_npz(path)
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # neither scipy nor the kernels check indices
            return sp.csr_matrix(matrix)
        chosen = names if len(names) == 1 else [name for name in names if name == "X"]
        found = archive[chosen[0]] if chosen else None
        if not isinstance(found, np.ndarray):
            raise ValueError(
                "an archive of several arrays must have one named X; it has "
                f"{', '.join(sorted(names))}"
            )
        return found


@contextlib.contextmanager
def file_errors(path):
    """Context manager that turns errors of reading a file into a ValueError that names the file.

    An ImportError is raised again unchanged.
    """
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{path}: there is not enough memory to read it.") from error
    except ImportError:
        raise  # the message names the missing package
    except Exception as error:
        reason = textwrap.shorten(str(error), 240)  # some messages are very long
        raise ValueError(f"{path}: cannot be read as {Path(path).suffix} ({reason}).") from error
