"""Files of numpy and scipy, .npy and .npz, whose headers are held against the file's length first.

A header of some bytes may claim any number of rows, and an archive may unpack to a thousand times
its length: both are seen before memory is asked for.
"""

import contextlib
import csv
import lzma
import math
import struct
import textwrap
import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy

from ...tree.documents import MOST_FEATURES

# What numpy, zipfile, scipy and other readers raise at files that are not what they claim.
_FAULTS: tuple[type[Exception], ...]
_FAULTS = (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, SyntaxError)
_FAULTS += (RuntimeError, OverflowError, struct.error, tokenize.TokenError)
_FAULTS += (zipfile.BadZipFile, zlib.error, lzma.LZMAError, csv.Error)
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MOST_TIMES = 1000  # what is packed may be longer than the file; zlib's limit is 1032
_SMALL = 2**20  # bytes that may be packed as tight as they like
_OF_SPARSE = {"format", "shape", "data", "indices", "indptr", "row", "col", "offsets"}


class FileFaultError(ValueError):
    """The file is something else than its name says: the message is the whole sentence."""


def mapped(path):
    """The array of a file .npy, which is read where it is looked at.

    Raises
    ------
    ValueError
        If it cannot be read.
    """
    with readable(path):
        _check_npy(path)
        return np.load(path, mmap_mode="r", allow_pickle=False)


def read_npy(path):
    """The array of a file .npy; errors as for :func:`mapped`."""
    with readable(path):
        _check_npy(path)
        return np.load(path, allow_pickle=False)


def read_npz(path):
    """The sparse matrix of an archive, as CSR, or its array X, or the one that it has.

    Raises
    ------
    ValueError
        If it cannot be read, or has no such array.
    """
    with readable(path):
        if _starts_with(path, npy.MAGIC_PREFIX):
            raise FileFaultError(f"{path}: an .npy array under the name of an .npz file.")
        with zipfile.ZipFile(path) as archive:
            parts = {name.removesuffix(".npy") for name in archive.namelist() if _is_array(name)}
            is_sparse = {"format", "shape"} <= parts
            used = parts & _OF_SPARSE if is_sparse else {_key(path, parts)}
            for key in sorted(used):
                _check_packed(archive, f"{key}.npy", Path(path).stat().st_size)
        if is_sparse:
            return _sparse(path)
        with np.load(path, allow_pickle=False) as arrays:
            return arrays[f"{used.pop()}.npy"]


@contextlib.contextmanager
def readable(path):
    """Name the file when it is not what its ending says."""
    kind = Path(path).suffix
    try:
        yield
    except FileFaultError:
        raise
    except MemoryError as error:
        raise ValueError(f"{path}: there is not enough memory to read it.") from error
    except _FAULTS as error:
        reason = textwrap.shorten(str(error), 240)  # some are whole paragraphs
        raise ValueError(f"{path}: cannot be read as {kind} ({reason}).") from error


def _starts_with(path, magic):
    with Path(path).open("rb") as file:
        return file.read(len(magic)) == magic


def _is_array(name):
    return name.endswith(".npy")


def _key(path, parts):
    """The name of the array that is meant."""
    if "X" in parts:
        return "X"
    if len(parts) != 1:
        found = ", ".join(sorted(parts)) or "no array"
        raise FileFaultError(f"{path}: expected an array named X, found {found}.")
    return next(iter(parts))


def _check_npy(path):
    if _starts_with(path, b"PK"):
        raise FileFaultError(f"{path}: an .npz archive under the name of an .npy file.")
    with Path(path).open("rb") as file:
        _check_header(file, Path(path).stat().st_size)


def _check_packed(archive, name, length):
    """ValueError if an entry of an archive claims more than it can hold."""
    entry = archive.getinfo(name)
    room = max(_SMALL, _MOST_TIMES * min(entry.compress_size, length))
    if entry.file_size > room:
        raise ValueError(
            f"{name} claims to unpack {entry.compress_size} bytes to {entry.file_size}, more than "
            f"{_MOST_TIMES} times as many"
        )
    with archive.open(entry) as file:
        _check_header(file, entry.file_size)


def _check_header(file, length):
    """ValueError unless a file of this length can hold the array that its header describes."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"it has the unknown version {version}")
    shape, _, dtype = _HEADERS[version](file)
    rest = length - file.tell()
    n_bytes = math.prod(shape) * max(dtype.itemsize, 1)
    if min(shape, default=0) < 0 or max(shape, default=0) > length or n_bytes > rest:
        sides = " x ".join(map(str, shape))
        raise ValueError(
            f"its header claims {sides or 'one'} values of {dtype}, but {rest} bytes follow"
        )


def _sparse(path):
    """A matrix of scipy; of formats that name entries by column, too, each row takes memory."""
    with np.load(path, allow_pickle=False) as arrays:
        sides = arrays["shape"].tolist()
    room, claim = max(_SMALL, _MOST_TIMES * Path(path).stat().st_size), " x ".join(map(str, sides))
    if max(sides) > room:
        raise ValueError(f"it claims {claim} values in a file of its length")
    if sides[-1] > MOST_FEATURES:  # each centre, and there are no few, has a value for all of them
        raise ValueError(f"it has {claim} values; at most {MOST_FEATURES} columns can be used")
    matrix = sp.load_npz(path)
    if hasattr(matrix, "check_format"):
        matrix.check_format(full_check=True)  # scipy's conversions and our kernels trust indices
    return sp.csr_matrix(matrix)
