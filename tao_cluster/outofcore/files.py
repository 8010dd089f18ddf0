"""Files of numpy, scipy and Parquet: what their rows are, read whole or some rows at a time."""

import contextlib
import textwrap
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._utils.optional import import_optional

# Bytes of a column that are read ahead; rows that are put into an array at a time, so that columns
# become rows in the cache and not in memory.
_BUFFER, _TILE = 2**20, 2**11

_CHOOSE = "choose the features by parquet_blocks(..., columns=[...])"


@dataclass(frozen=True, eq=False)
class Part:
    """Columns that become one array.

    Parameters
    ----------
    names : list of str
    dtype : float32 if no column needs more, else float64
    """

    names: list
    dtype: Any

    def array(self, batch):
        """Those columns of some rows, as an array of shape (m, len(names))."""
        columns = [_numbers(batch.column(name)) for name in self.names]
        out = np.empty((batch.num_rows, len(columns)), self.dtype)
        for start in range(0, len(out), _TILE):
            rows = slice(start, start + _TILE)
            for j, column in enumerate(columns):
                out[rows, j] = column[rows]
        return out


@dataclass(frozen=True, eq=False)
class ParquetTable:
    """Columns of Parquet files, to be read again and again.

    Parameters
    ----------
    files : list of str, paths in the order of the rows; or of fragments of a Dataset of pyarrow
    X, weight, embedding : Part; None if there is none
    """

    files: list
    X: Part
    weight: Part | None
    embedding: Part | None

    @classmethod
    def from_files(cls, source, weight=None, embedding=None, columns=None):
        """What files have, after a look at their footers.

        Parameters
        ----------
        source : path-like, list of such, or Dataset of pyarrow
            A file, or a folder: the files `*.parquet` in it and in folders below it, sorted by
            path. Of a Dataset, too, only columns that the files themselves have are read.
        weight : str, optional
            Column with the weights of the rows; no feature.
        embedding : list of str, optional
            Columns in which the rows are clustered; no features.
        columns : list of str, optional
            Features; default all others, in the order of the first file.

        Raises
        ------
        ValueError
            If there are no files, one is not Parquet, or a column is missing or no numbers.
        """
        if not (weight is None or isinstance(weight, str)):
            raise ValueError("sample_weight of a Parquet file must be the name of a column.")
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
        """Yield (X, weight or None, embedding or None) of consecutive rows, as arrays.

        Parameters
        ----------
        most_values : int, of the arrays, unless a single row has more
        most_rows : int

        Raises
        ------
        ValueError
            If a value is missing or infinite; it names the file, the row and the column.
        """
        parts = (self.X, self.weight, self.embedding)
        for batch, place in self._batches(self._names, most_values, most_rows):
            arrays = [None if part is None else part.array(batch) for part in parts]
            if not all(values is None or np.isfinite(values).all() for values in arrays):
                _tell_missing(batch, *place)
            X, weight, embedding = arrays
            yield X, None if weight is None else weight[:, 0], embedding

    def read_column(self, name, most_values, most_rows):
        """Yield the values of another column for the rows that :meth:`read` yields: arrays."""
        for batch, _ in self._batches([name], most_values, most_rows):
            yield batch.column(0).to_pandas().to_numpy()

    @property
    def _names(self):
        """Names of all columns that become arrays, perhaps of more than one."""
        parts = (self.X, self.weight, self.embedding)
        return [name for part in parts if part is not None for name in part.names]

    def _batches(self, names, most_values, most_rows):
        """Yield some columns of the rows, in order, and (file name, number of the first row)."""
        step = max(1, min(most_rows, most_values // len(self._names)))
        names = list(dict.fromkeys(names))
        for file in self.files:
            start = 0
            with _opened(file) as content:
                for batch in content.iter_batches(step, columns=names, use_threads=False):
                    yield batch, (_name_of(file), start)
                    start += batch.num_rows


def _tell_missing(batch, file, start):
    """Raise a ValueError for the first missing or infinite value of some rows of a file."""
    for name in batch.schema.names:
        wrong = np.flatnonzero(~np.isfinite(_numbers(batch.column(name))))
        if len(wrong):
            raise ValueError(
                f"{file}: row {start + int(wrong[0])} has no finite number in column {name!r}; "
                "leave out such rows or columns, or fill them, when the file is written."
            )


@contextlib.contextmanager
def _opened(file):
    """Context with a ParquetFile of pyarrow; what goes wrong in it is a ValueError with its name.

    Parameters
    ----------
    file : str, or fragment of a Dataset of pyarrow
    """
    parquet = import_optional("pyarrow.parquet", "A Parquet file", "pip install pyarrow")
    try:
        source = file if isinstance(file, str) else file.open()
        # Read in advance, all row groups that were read would stay in memory.
        options = {"buffer_size": _BUFFER, "pre_buffer": False}
        with parquet.ParquetFile(source, **options) as content:
            yield content
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise ValueError(f"{_name_of(file)}: {error}") from error


def _name_of(file):
    return file if isinstance(file, str) else file.path


def _files(source):
    """The files of a source, in order: paths, or fragments of a Dataset."""
    if hasattr(source, "get_fragments"):
        return sorted(source.get_fragments(), key=_name_of)
    paths = source if isinstance(source, list | tuple) else [source]
    return [str(path) for given in paths for path in _paths(Path(given))]


def _paths(path):
    """A file itself, or the files of a folder but for hidden ones, as other programs leave."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ValueError(
            f"{path}: no such file or folder; of another file system pass a Dataset of pyarrow."
        )
    found = [
        file
        for file in sorted(path.rglob("*.parquet"))
        if file.is_file()
        and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
    ]
    if not found:
        raise ValueError(f"{path}: a folder without files named *.parquet.")
    return found


def schema_of(file):
    """Types of the columns of a file, without those that pandas has put in as an index.

    Returns
    -------
    dict of name to type of pyarrow

    Raises
    ------
    ValueError
        If two columns have one name.
    """
    with _opened(file) as content:
        schema = content.schema_arrow
        twice = [name for name, count in Counter(schema.names).items() if count > 1]
        if twice:
            raise ValueError(f"several columns {twice[0]!r}.")
        index = (schema.pandas_metadata or {}).get("index_columns") or ()
    return {field.name: field.type for field in schema if field.name not in index}


def numeric_columns(source):
    """Whether a column holds numbers or truth values: dict of str to bool, for the first file."""
    schema = schema_of(_files(source)[0])
    return {name: dtype_of(kind) is not None for name, kind in schema.items()}


def first_rows(source, names, n_rows):
    """Some columns of the first rows of a file, or of the first of several: DataFrame."""
    with _opened(_files(source)[0]) as content:
        for batch in content.iter_batches(n_rows, columns=names, use_threads=False):
            # What the file says of pandas may be anything: only its values count.
            return batch.replace_schema_metadata(None).to_pandas()
    return pd.DataFrame(columns=names)


def _common_names(schemas):
    """Names of all columns, those of the first file; ValueError if others have others."""
    (first, names), *others = schemas.items()
    for file, schema in others:
        apart = {*schema} ^ {*names}
        if apart:
            raise ValueError(
                f"{file}: only one of it and {first} has a column {min(apart)!r}; {_CHOOSE}."
            )
    return list(names)


def _listed(names, name):
    """Some names of columns as a list."""
    if isinstance(names, str) or not all(isinstance(each, str) for each in names):
        raise ValueError(f"{name} of a Parquet file must be a list of names of columns.")
    names = list(names)
    twice = [each for each, count in Counter(names).items() if count > 1]
    if twice:
        raise ValueError(f"{name}: column {twice[0]!r} is there twice.")
    if not names:
        raise ValueError(f"{name}: there is no column.")
    return names


def _dtype(schemas, names):
    """What holds the values of some columns of all files."""
    kinds = set()
    for file, schema in schemas.items():
        for name in names:
            if name not in schema:
                raise ValueError(f"{file}: no column {name!r}.")
            kind = dtype_of(schema[name])
            if kind is None:
                raise ValueError(
                    f"{file}: column {name!r} holds {schema[name]}, no numbers; {_CHOOSE}, or "
                    "encode it first."
                )
            kinds.add(kind)
    dtype = np.result_type(*kinds)
    return dtype if dtype == np.float32 else np.dtype(np.float64)


def dtype_of(kind):
    """Type in numpy of a type of pyarrow's numbers or truth values; None of others."""
    types = import_optional("pyarrow", "A Parquet file", "pip install pyarrow").types
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return np.dtype(kind.to_pandas_dtype()) if is_number else None


def _numbers(column):
    """Values of a column as an array, NaN for nulls."""
    if not np.issubdtype(column.type.to_pandas_dtype(), np.number):  # truth values, decimals
        column = column.cast("int8" if column.type == "bool" else "float64")
    return column.to_numpy(zero_copy_only=False)


def read_npy(path, mmap_mode=None):
    """The array of a file .npy; with mmap_mode="r" it is read where it is looked at.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    with file_errors(path):
        found = np.load(path, mmap_mode, allow_pickle=False)
        if not isinstance(found, np.ndarray):
            found.close()
            raise ValueError("it is an .npz archive under the name of an .npy file")
        return found


def read_npz(path):
    """The sparse matrix of an archive, as CSR, or its array X, or the one that it has.

    Raises
    ------
    ValueError
        If it cannot be read, or has no such array.
    """
    with file_errors(path), Path(path).open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("it is an .npy array under the name of an .npz file")
        names = archive.files
        if {"format", "shape"} <= set(names):
            matrix = sp.load_npz(path)
            if hasattr(matrix, "check_format"):
                matrix.check_format(full_check=True)  # scipy's conversions and our kernels trust it
            return sp.csr_matrix(matrix)
        chosen = names if len(names) == 1 else [name for name in names if name == "X"]
        found = archive[chosen[0]] if chosen else None
        if not isinstance(found, np.ndarray):
            raise ValueError(f"expected an array named X, found {', '.join(sorted(names))}")
        return found


@contextlib.contextmanager
def file_errors(path):
    """Context in which any error of a reader becomes a ValueError that names the file."""
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{path}: there is not enough memory to read it.") from error
    except ImportError:
        raise  # what must be installed, not what is wrong with the file
    except Exception as error:
        reason = textwrap.shorten(str(error), 240)  # some are whole paragraphs
        raise ValueError(f"{path}: cannot be read as {Path(path).suffix} ({reason}).") from error
