"""Arrays and CSR matrices: checks, canonical form, blocks of rows, moments of columns."""

import copy
import datetime
import weakref

import numpy as np
import scipy.sparse as sp
from sklearn import config_context
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import _check_sample_weight, check_array

from .frames import check_container, check_host, columns_of, in_columns, numeric_faults
from .warnings import warn

FLOATS = [np.float64, np.float32]

# Number of values, and minimum number of rows, that are processed at a time. A block of this size
# fits into the processor's cache and limits the memory of temporary arrays.
_BLOCK_VALUES, _MIN_BLOCK_ROWS = 200_000, 256

_MOMENT_ROWS = 512  # number of rows that `variances` copies at a time

# Values of at most LARGEST_VALUE have sums of squares that do not overflow. The largest difference
# of two rows must be at least `_ABOVE_LEAST` times the number whose square is the least normal
# float of their type, so that squares of smaller differences do not underflow, either.
LARGEST_VALUE = 1e150
_ABOVE_LEAST = 1e4
_LARGEST_COST, _LEAST_COST = 1e300, 1e-300

# If the variance of sparse rows is below this fraction of their squared mean, the distances between
# rows lose most of their significant digits.
_LEAST_SHARE = 1e-11

# The keys are numpy's letters (dtype.kind) for values that are not real numbers, although a
# conversion to floats may accept them. The values are the Python classes of each kind.
_NOT_ENCODED = ("sample_weight", "labels")  # arguments with one number per row
_DAYS = "numbers, for instance to days since a date"
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
_KINDS = {"M": _DATES, "c": (complex, np.complexfloating), "U": (str, bytes)}


def check_rows(X, name="X", **options):
    """Validate X and return it as an array of floats or a canonical CSR matrix of floats.

    X is not copied if it has this form already. Further options are passed to
    :func:`sklearn.utils.check_array`.

    Raises
    ------
    ValueError, TypeError
        If X is not a table, or has values that are not finite numbers. The message names the
        columns. Objects that cannot be converted to a number raise a TypeError, and all other
        faults a ValueError.
    """
    if X is None:
        raise ValueError(f"{name} is None; pass a table of numbers.")
    check_container(X, name)
    check_kind(X, name)
    options = {"accept_sparse": "csr", "dtype": FLOATS, "input_name": name, **options}
    try:
        return canonical(checked_array(X, **options))
    except (OverflowError, TypeError, ValueError) as error:
        _raise_faults(X, name, error)
        if isinstance(error, OverflowError):
            raise ValueError(f"{name} has numbers larger than any float.") from error
        if "Expected 2D array" in str(error):  # scikit-learn's message prints all numbers
            raise ValueError(_not_a_table(np.shape(X), name)) from None
        raise


def checked_array(values, **options):
    """Return the result of :func:`sklearn.utils.check_array` without its RuntimeWarning.

    scikit-learn adds all values to find out whether they are finite, so that numpy warns if both
    inf and -inf occur. It does so whatever the user's configuration, since kernels have no check.
    """
    with np.errstate(all="ignore"), config_context(assume_finite=False):
        return check_array(values, **options)


def check_weights(sample_weight, X):
    """Return the weights of the rows of X as a float64 array of shape (n,); ones for None.

    Raises
    ------
    ValueError
        If there is not one finite number per row, or one is negative.
    """
    check_kind(sample_weight, "sample_weight")
    with np.errstate(all="ignore"), config_context(assume_finite=False):  # as in checked_array
        return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def _not_a_table(shape, name):
    return (
        f"Expected 2D array, got {len(shape)}D array instead: {name} has the shape {shape}. "
        "Reshape your data: reshape(-1, 1) makes one column of it, reshape(1, -1) one row."
    )


def _raise_faults(X, name, error):
    """Raise an error that names the columns of X with values that are not finite numbers."""
    faults = numeric_faults(X)
    if "objects" in faults:
        # Scikit-learn's conventions require a TypeError for objects that are not numbers.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"{name} has values that are not numbers{faults['objects']} ({error}); convert them, "
            "or leave these columns out."
        ) from None
    if "too large" in faults:
        raise ValueError(
            f"{name} has numbers larger than any float, about 1.8e308,{faults['too large']}; "
            "rescale them."
        ) from None
    if faults:
        places = " and ".join(fault + where for fault, where in faults.items())
        example = " (for example with sklearn.impute.SimpleImputer)" if "NaN" in faults else ""
        raise ValueError(
            f"{name} contains {places}; replace such values{example} or leave out their rows."
        ) from None


def check_kind(values, name="X", instead=_DAYS, *, has_strings=False):
    """Raise a ValueError for values that numpy cannot read, or would silently convert to floats.

    numpy cannot read values on a GPU. Values that it would convert are dates, durations, masked
    entries and strings of digits. A masked array without masked entries is accepted.

    Parameters
    ----------
    values : array-like, sparse matrix, DataFrame or None
    name : str, name of the values in error messages
    instead : str, the values that the error message recommends instead of dates
    has_strings : bool, whether strings are accepted, as for labels

    Raises
    ------
    ValueError
        If there are such values or complex numbers, or if a sparse matrix has indices outside its
        shape.
    """
    if values is None:
        return
    if isinstance(values, str):
        raise ValueError(
            f"{name} is the string {values!r:.80}; pass the values themselves, such as a column of "
            "the table."
        )
    if sp.issparse(values):
        _check_indices(values, name)
        return
    check_host(values, name)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked entries; fill them (numpy.ma.filled) or leave out their rows."
        )
    kinds = _kinds(values)
    if not kinds.isdisjoint("mM"):
        raise ValueError(
            f"{name} has dates, times or durations{_where(values, 'mM')}; convert them to "
            f"{instead}."
        )
    if "c" in kinds:
        raise ValueError(
            f"Complex data not supported: {name} has complex numbers{_where(values, 'c')}."
        )
    if not has_strings and not kinds.isdisjoint("SU"):
        encode = " or encode them (sklearn.preprocessing.OneHotEncoder)"
        raise ValueError(
            f"{name} has strings{_where(values, 'SU')}, but only numbers are supported; convert "
            f"them (pandas.to_numeric){'' if name in _NOT_ENCODED else encode}."
        )


def _where(values, kinds):
    return in_columns(values, lambda column: not _kinds(column).isdisjoint(kinds))


def _check_indices(X, name):
    """Raise a ValueError if a sparse matrix has indices outside its shape.

    The compiled kernels do not check indices.
    """
    if not hasattr(X, "check_format"):
        return
    try:
        copy.copy(X).check_format(full_check=True)  # a copy, since the check may change index types
    except ValueError as error:
        raise ValueError(f"{name} is not a valid sparse matrix: {error}.") from error


def _kinds(values):
    """Return the set of the kinds of some values, as letters of numpy's `dtype.kind`.

    The elements of an array of Python objects are inspected.
    """
    dtypes = [values.dtype] if hasattr(values, "dtype") else getattr(values, "dtypes", [None])
    dtypes = dtypes if hasattr(dtypes, "__iter__") else [dtypes]
    kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
    if "O" not in kinds:
        return kinds
    columns = columns_of(values)
    if columns is not None:
        return set().union(*map(_kinds, columns))
    try:
        plain = np.asarray(values)
    except (TypeError, ValueError):  # rows of different lengths, which check_array reports
        return set()
    if plain.dtype.kind != "O":
        return {plain.dtype.kind}
    classes = set(map(type, plain.ravel()))
    found = {kind for kind, some in _KINDS.items() if any(issubclass(c, some) for c in classes)}
    return found | {"M" for each in classes if each.__name__ == "Period"}


def check_centers(centers, name="reference", largest=LARGEST_VALUE):
    """Return centres of clusters as a checked array.

    Parameters
    ----------
    centers : array-like of shape (k, m)
    name : str
        Name of the centres in error messages.
    largest : float
        Upper bound of the absolute values.

    Returns
    -------
    float64 array of shape (k, m)

    Raises
    ------
    ValueError
        If the centres are not a dense matrix of finite numbers, or squared distances between them
        would overflow or underflow.
    """
    if sp.issparse(centers):
        raise ValueError(f"{name} is sparse; centres must be a dense array, see toarray().")
    check_kind(centers, name)
    try:
        centers = checked_array(centers, dtype=np.float64, order="C", input_name=name)
    except (TypeError, OverflowError) as error:
        raise ValueError(
            f"{name} must be an array of numbers, one row per centre: {error}"
        ) from error
    if not np.abs(centers).max() <= largest:
        raise ValueError(
            f"{name} has centres with values beyond {largest:g}, so that squared distances "
            "overflow; rescale the data."
        )
    _check_spread(*ranges(centers), centers.dtype, f"{name} has centres that differ")
    return centers


def check_sizes(rows, weight):
    """Check that weighted sums of squared distances neither overflow nor underflow.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, m)
        The rows in the clustering space.
    weight : float64 array of shape (n,)

    Raises
    ------
    ValueError
        If a sum would overflow or underflow.

    Warns
    -----
    UserWarning
        If distances between sparse rows would have few correct digits, because all rows are far
        from 0 compared with their distances.
    """
    low, high = ranges(rows)
    largest = float(max(high.max(), -low.min()))
    if not largest <= LARGEST_VALUE:
        raise ValueError(
            f"The squared norms of the rows of X overflow {rows.dtype}; rescale the data."
        )
    if not float(weight.sum()) * largest**2 * rows.shape[1] < _LARGEST_COST:
        raise ValueError("Weights times squared norms of rows overflow; rescale one of the two.")
    spread = _check_spread(low, high, rows.dtype, "The rows of X differ")
    if spread and not float(weight.sum()) * spread**2 > _LEAST_COST:
        raise ValueError(
            "Weights times squared distances of rows underflow; rescale one of the two."
        )
    if sp.issparse(rows):
        _warn_of_lost_digits(rows)


def _warn_of_lost_digits(rows):
    """Warn if sparse rows are so far from 0 that rounding errors dominate their distances.

    The distance of a row x from a centre c is computed as |x|^2 - 2 x.c + |c|^2.
    """
    with np.errstate(over="ignore"):  # a variance that overflows is large enough
        means, spreads = mean_variance_axis(rows, axis=0)
    squares = means.astype(np.float64) ** 2
    if squares.sum() * _LEAST_SHARE > spreads.sum() > 0:
        warn(
            f"Column {squares.argmax()} of sparse X is so far from 0, compared with the "
            "differences of rows, that distances have few significant digits; subtract a constant "
            "from it, or pass X as an array."
        )


def _check_spread(low, high, dtype, what):
    """Return the largest difference in a column; raise a ValueError if its square underflows."""
    spread = float((high - low).max())
    least = _ABOVE_LEAST * np.sqrt(float(np.finfo(dtype).tiny))
    if 0 < spread < least:
        raise ValueError(
            f"{what} by less than {least:.1g}, so that squared distances underflow {dtype}; "
            "rescale the data."
        )
    return spread


def canonical(X):
    """Return a CSR matrix with sorted, unique indices, 32-bit if possible; an array unchanged.

    Norms, k-means and LIBLINEAR interpret repeated entries differently, and the k-means of
    scikit-learn needs indices of 32 bits. The matrix is copied only if it must be changed.
    """
    if not sp.issparse(X):
        return X
    X = canonical_csr(X)
    if X.nnz > np.iinfo(np.int32).max or X.indices.dtype == X.indptr.dtype == np.int32:
        return X
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)


def stored_by_rows(X):
    """Return X, or a copy in C order: the last bits of sums over rows differ in Fortran order."""
    return X if sp.issparse(X) else np.ascontiguousarray(X)


def canonical_csr(X):
    """Return a sparse X as CSR with sorted, unique indices; it is copied only if necessary."""
    X = X.tocsr()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def rows_of(X, space, rows):
    """Return some rows of X and of the clustering space.

    If X and `space` are the same object, the two results are the same object, too.
    """
    some = X[rows]
    return some, some if space is X else space[rows]


def row_blocks(X, n_values=_BLOCK_VALUES, least=_MIN_BLOCK_ROWS):
    """Yield slices of consecutive rows whose stored values fit into the cache.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    n_values : int
        Approximate number of stored values per slice.
    least : int
        Minimum number of rows per slice.
    """
    step = max(least, int(n_values / max(row_size(X), 1)))
    for start in range(0, X.shape[0], step):
        yield slice(start, start + step)


def rows_between(X, part):
    """Return the consecutive rows X[part], for CSR matrices without the copy that X[part] makes."""
    if not sp.issparse(X):
        return X[part]
    ends = X.indptr[part.start : part.stop + 1]
    values = slice(ends[0], ends[-1])
    parts = X.data[values], X.indices[values], ends - ends[0]
    return sp.csr_matrix(parts, shape=(len(ends) - 1, X.shape[1]))


def row_size(X):
    """Return the number of stored values per row; for a sparse matrix it is the mean."""
    return X.nnz / max(X.shape[0], 1) if sp.issparse(X) else X.shape[1]


def first_least(values, noise):
    """Return the position of the least value: the first of those that exceed it by at most `noise`.

    Values that differ by rounding errors are thus equal, and the first one wins.
    """
    return int(np.argmax(values <= values.min() + noise))


def spaced_rows(n_rows, most):
    """Return an int array of at most `most` evenly spaced row numbers."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp)


def as_array(rows):
    """Return a dense array of `rows`, which may be an array or a sparse matrix."""
    return rows.toarray() if sp.issparse(rows) else rows


def variances(X, weight=None):
    """Return the weighted variance of each column of X: float array of shape (d,)."""
    weight = None if weight is None or np.ptp(weight) == 0 else weight
    if sp.issparse(X):
        weight = None if weight is None else weight.astype(X.dtype)
        return mean_variance_axis(X, axis=0, weights=weight)[1]
    mean = X.mean(axis=0, dtype=np.float64)
    parts = [slice(start, start + _MOMENT_ROWS) for start in range(0, len(X), _MOMENT_ROWS)]
    if weight is not None:
        mean = sum(weight[part] @ X[part] for part in parts) / weight.sum()
    squares = np.zeros(X.shape[1])
    for part in parts:  # blocks of rows, because X.var() would copy the whole of X
        differences = (X[part] - mean) ** 2
        squares += differences.sum(axis=0) if weight is None else weight[part] @ differences
    return squares / (len(X) if weight is None else weight.sum())


def ranges(X):
    """Return the minimum and the maximum of each column, including the zeros of a sparse X."""
    low, high = min_max_axis(X, axis=0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    return low.astype(np.float64), high.astype(np.float64)


def power_of_two(size):
    """Return a power of two near a number (1 for 0), so that a division by it does not round."""
    return float(2.0 ** np.round(np.log2(size))) if size > 0 else 1.0


class _LastColumns:
    """Cache of the CSC form of the sparse X that was converted last, by weak references.

    A fit may build several initial trees of the same X, and each needs the CSC form. As long as
    one of them still refers to the arrays, the others get the same arrays.
    """

    def __init__(self):
        self._references = ()  # replaced as a whole, so that threads see a consistent state

    def convert(self, X):
        """Return the arrays (data, indices, indptr) of the CSC form of a sparse matrix."""
        rows, *arrays = [reference() for reference in self._references] or [None]
        if rows is X and all(array is not None for array in arrays):
            return tuple(arrays)
        columns = X.tocsc()
        arrays = columns.data, columns.indices, columns.indptr
        self._references = tuple(map(weakref.ref, (X, *arrays)))
        return arrays


_last_columns = _LastColumns()


def column_arrays(X):
    """Return the format of X that the cut kernels read: a dense X itself, or arrays in CSC form.

    For a sparse X the result is (data, indices, indptr). Repeated calls return the same arrays as
    long as something refers to them.
    """
    return _last_columns.convert(X) if sp.issparse(X) else X
