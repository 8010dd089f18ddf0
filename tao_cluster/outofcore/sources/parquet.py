"""Rows of Parquet files, some at a time: of a file only what the next rows need is in memory."""

import contextlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..._utils.optional import need

# Bytes of a column that are read ahead; rows that are put into an array at a time, so that columns
# become rows in the cache and not in memory.
_BUFFER, _TILE = 2**20, 2**11

_CHOOSE = "choose the features by parquet_blocks(..., columns=[...])"


@dataclass(frozen=True, eq=False)
class File:
    """A Parquet file.

    Parameters
    ----------
    name : str
    source : str, its path, or a fragment of a Dataset of pyarrow
    """

    name: str
    source: Any

    @contextlib.contextmanager
    def opened(self):
        """Context with a ParquetFile of pyarrow; what goes wrong in it names the file.

        Raises
        ------
        ValueError
        """
        parquet = need("pyarrow.parquet", "A Parquet file", "pip install pyarrow")
        try:
            source = self.source if isinstance(self.source, str) else self.source.open()
            # Read in advance, all row groups that were read would stay in memory.
            options = {"buffer_size": _BUFFER, "pre_buffer": False}
            with parquet.ParquetFile(source, **options) as content:
                yield content
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise ValueError(f"{self.name}: {error}") from error


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
class Table:
    """Columns of Parquet files, to be read again and again.

    Parameters
    ----------
    files : list of File, in the order of the rows
    X, weight, embedding : Part; None if there is none
    """

    files: list
    X: Part
    weight: Part | None
    embedding: Part | None

    @classmethod
    def of(cls, source, weight=None, embedding=None, columns=None):
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
        schemas = [schema_of(file) for file in files]
        if columns is None:
            taken = {name for names in beside for name in names or ()}
            columns = [name for name in _common_names(files, schemas) if name not in taken]
        parts = [
            None if names is None else Part(names, _dtype(files, schemas, names))
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
        names = self._names()
        for place in self._places(list(dict.fromkeys(names)), most_values, most_rows):
            arrays = [None if part is None else part.array(place.batch) for part in parts]
            if not all(values is None or _is_finite(values) for values in arrays):
                place.check_values()
            X, weight, embedding = arrays
            yield X, None if weight is None else weight[:, 0], embedding

    def read_beside(self, name, most_values, most_rows):
        """Yield the values of another column for the rows that :meth:`read` yields: arrays."""
        for place in self._places([name], most_values, most_rows):
            yield place.batch.column(0).to_pandas().to_numpy()

    def _names(self):
        """Names of all columns that become arrays, perhaps of more than one."""
        parts = (self.X, self.weight, self.embedding)
        return [name for part in parts if part is not None for name in part.names]

    def _places(self, wanted, most_values, most_rows):
        """Yield some columns of the rows, in order, as :class:`Place`."""
        step = max(1, min(most_rows, most_values // len(self._names())))
        for file in self.files:
            start = 0
            with file.opened() as content:
                for batch in content.iter_batches(step, columns=wanted, use_threads=False):
                    yield Place(file, batch, start, content.metadata)
                    start += batch.num_rows


@dataclass(frozen=True, eq=False)
class Place:
    """Some rows of a file.

    Parameters
    ----------
    file : File
    batch : RecordBatch of pyarrow
    start : int, number of the first row in its file
    metadata : FileMetaData of pyarrow
    """

    file: File
    batch: Any
    start: int
    metadata: Any

    def check_values(self):
        """ValueError at a value that is missing or infinite."""
        for name in self.batch.schema.names:
            wrong = np.flatnonzero(~np.isfinite(_numbers(self.batch.column(name))))
            if len(wrong):
                row, groups = self.start + int(wrong[0]), range(self.metadata.num_row_groups)
                ends = np.cumsum([self.metadata.row_group(i).num_rows for i in groups])
                group = int(np.searchsorted(ends, row, side="right"))
                raise ValueError(
                    f"{self.file.name}: row {row} (in row group {group}) has no finite number in "
                    f"column {name!r}; leave out such rows or columns, or fill them, when the file "
                    "is written."
                )
        raise ValueError(f"{self.file.name}: its columns have other types than they had.")


def _files(source):
    """The files of a source, in order."""
    if hasattr(source, "get_fragments"):
        found = [File(fragment.path, fragment) for fragment in source.get_fragments()]
        return sorted(found, key=lambda file: file.name)
    paths = source if isinstance(source, list | tuple) else [source]
    return [File(str(path), str(path)) for given in paths for path in _paths(Path(given))]


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
    """Columns of a file, a schema of pyarrow, without those that pandas has put in as an index."""
    with file.opened() as content:
        schema = content.schema_arrow
    try:
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        index = {name for name in about.get("index_columns", ()) if isinstance(name, str)}
    except (AttributeError, TypeError, ValueError, RecursionError):
        index = set()  # whatever wrote it was not pandas: all columns are columns
    kept = [field for field in schema if field.name not in index]
    return need("pyarrow", "A Parquet file", "pip install pyarrow").schema(kept)


def numbers_of(source):
    """Whether a column holds numbers or truth values: dict of str to bool, for the first file."""
    schema = schema_of(_files(source)[0])
    return {field.name: dtype_of(field.type) is not None for field in schema}


def first_rows(source, names, n_rows):
    """Some columns of the first rows of a file, or of the first of several: DataFrame."""
    with _files(source)[0].opened() as content:
        for batch in content.iter_batches(n_rows, columns=names, use_threads=False):
            # What the file says of pandas may be anything: only its values count.
            return batch.replace_schema_metadata(None).to_pandas()
    return pd.DataFrame(columns=names)


def _common_names(files, schemas):
    """Names of all columns, those of the first file; ValueError if others have others."""
    names = schemas[0].names
    for file, schema in zip(files, schemas, strict=True):
        apart = {*schema.names} ^ {*names}
        if apart:
            raise ValueError(
                f"{file.name}: only one of it and {files[0].name} has a column {min(apart)!r}; "
                f"{_CHOOSE}."
            )
    return names


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


def _dtype(files, schemas, names):
    """What holds the values of some columns of all files."""
    kinds = set()
    for file, schema in zip(files, schemas, strict=True):
        for name in names:
            if schema.names.count(name) != 1:
                fault = "no column" if name not in schema.names else "several columns"
                raise ValueError(f"{file.name}: {fault} {name!r}.")
            kind = dtype_of(schema.field(name).type)
            if kind is None:
                raise ValueError(
                    f"{file.name}: column {name!r} holds {schema.field(name).type}, no numbers; "
                    f"{_CHOOSE}, or encode it first."
                )
            kinds.add(kind)
    dtype = np.result_type(*kinds)
    return dtype if dtype == np.float32 else np.dtype(np.float64)


def dtype_of(kind):
    """Type in numpy of a type of pyarrow's numbers or truth values; None of others."""
    types = need("pyarrow", "A Parquet file", "pip install pyarrow").types
    if types.is_decimal(kind):
        return np.dtype(np.float64)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)
    return np.dtype(kind.to_pandas_dtype()) if is_number else None


def _numbers(column):
    """Values of a column as an array, NaN for nulls."""
    if not np.issubdtype(column.type.to_pandas_dtype(), np.number):  # truth values, decimals
        column = column.cast("int8" if column.type == "bool" else "float64")
    return column.to_numpy(zero_copy_only=False)


def _is_finite(values):
    """Whether all values are finite; their sum, which may overflow, says where to look closely."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.isfinite(values.sum()) or np.isfinite(values).all()
