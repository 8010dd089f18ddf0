"""Checks of the tables that users pass: container types, column names, invalid values."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

import narwhals
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples

from .warnings import listed

# Methods that copy values of libraries for GPUs to the host, and their calls. The first one that an
# object has is the one to recommend.
_TO_HOST = {
    "to_cupy": "to_pandas().to_numpy()",  # cudf
    "copy_to_host": "copy_to_host()",  # numba
    "get": "get()",  # CuPy
}


class InvalidRowsError(ValueError):
    """Error for rows that cannot be clustered; its message gives their number and the first row.

    Parameters
    ----------
    is_invalid : bool array of shape (n,)
    reason : str
        The rest of the sentence after "3 of 10 rows (the first is row 4, counting from 0)".
    """

    def __init__(self, is_invalid, reason):
        super().__init__(is_invalid, reason)
        self.is_invalid, self.reason = is_invalid, reason

    def __str__(self):
        first, count = int(self.is_invalid.argmax()), np.count_nonzero(self.is_invalid)
        return (
            f"{count} of {len(self.is_invalid)} rows (the first is row {first}, counting from 0) "
            f"{self.reason}"
        )


# ---------------------------------------------------------------------- containers


def check_container(X, name="X"):
    """Raise a ValueError if X is a file name, a mapping or another object that is not a table.

    The error message says how to obtain a table from this object.
    """
    check_host(X, name)
    kind, remedy = type(X).__name__, None
    if sp.issparse(X):  # before the test for Mapping, since a DOK matrix is one
        return
    if isinstance(X, str | bytes | os.PathLike):
        remedy = "read the file first, for example with pandas.read_csv"
    elif kind == "LazyFrame":
        remedy = "collect() it first"
    elif kind.endswith("GroupBy"):
        remedy = "aggregate it first, for example with mean()"
    elif hasattr(X, "to_frame") and len(getattr(X, "shape", ())) == 1:
        remedy = "pass a table: to_frame() makes one of a single column, to_frame().T one of a row"
    elif isinstance(X, Mapping):
        remedy = "pass a table, for example pandas.DataFrame of it"
    elif isinstance(X, Iterator):
        remedy = (
            "pass all rows at once, for example as a list; tao_cluster.outofcore.fit takes blocks"
        )
    if remedy is not None:
        raise ValueError(f"{name} is of type {kind}, not a table of rows; {remedy}.")


def as_pandas(X):
    """Return a table of polars, Arrow, DuckDB or another library as a pandas DataFrame.

    Objects that are no tables of one of the libraries that narwhals knows are returned unchanged.
    """
    if hasattr(X, "iloc") or not (hasattr(X, "columns") or hasattr(X, "column_names")):
        return X
    frame = narwhals.from_native(X, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        frame = frame.collect()
    return frame.to_pandas() if isinstance(frame, narwhals.DataFrame) else X


def check_aligned(X, **given):
    """Raise a ValueError if an argument does not belong to the rows of X, in their order.

    Parameters
    ----------
    X : table of n rows
    **given : array-likes with one entry or row per row of X, or None, by the name of the argument
        A pandas object must not have the row labels of X in another order.
    """
    check_host(X)
    for name, values in given.items():
        is_array = hasattr(values, "__len__") or hasattr(values, "shape")
        if not is_array or isinstance(values, str):  # None, or reported by other checks
            continue
        check_host(values, name)
        n_rows, n_values = _num_samples(X), _num_samples(values)
        if n_rows != n_values:
            raise ValueError(f"{name} has {n_values} entries, but X has {n_rows} rows.")
        if not (hasattr(X, "iloc") and hasattr(values, "iloc")):
            continue
        of_rows, own = X.index, values.index
        if not own.equals(of_rows) and own.isin(of_rows).all() and of_rows.isin(own).all():
            raise ValueError(
                f"{name} has the row labels of X in another order, but its entries are used by "
                f"position. {name}.loc[X.index] puts them into the order of X."
            )


def check_host(values, name="X"):
    """Raise a ValueError if values are on a GPU, or are a tensor that records gradients.

    numpy cannot read them. The error message says how to obtain an array.
    """
    if hasattr(values, "detach"):  # a tensor of torch
        is_on_cpu = values.device.type == "cpu"
        is_readable = is_on_cpu and not values.requires_grad
        where, how = f"on the device {values.device}", "detach().cpu().numpy()"
        if is_on_cpu:
            where, how = "that records gradients", "detach().numpy()"
    else:
        how = next((how for how in _TO_HOST if hasattr(values, how)), None)
        is_readable = how != "to_cupy" and not hasattr(values, "__cuda_array_interface__")
        where, how = "on a GPU", _TO_HOST.get(how, "get()")
    if not is_readable:
        raise ValueError(
            f"{name} is of type {type(values).__name__} {where}; convert it to a numpy array with "
            f".{how}."
        )


# ---------------------------------------------------------------------- names


def column_names(X):
    """Return the names of the columns of a DataFrame or an Arrow table as a list, else None."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    return None if names is None or callable(names) else list(names)


def display_names(X):
    """Return the names of the columns of X as strings, or None if X has no column names.

    Levels of a MultiIndex are joined, so that ``("sales", 2020)`` becomes ``sales / 2020``.
    """
    names = column_names(X)
    return None if names is None else displayed(names)


def displayed(names):
    """Return names of columns as displays show them: list of str; different names stay different.

    Names that are tuples are joined to one string. If two different tuples would give the same
    string, they keep the form of tuples.
    """
    shown = [display_name(name) for name in names]
    count = Counter(shown)
    if len(count) == len(shown) or len(count) == len(set(names)):
        return shown
    return [
        str(name) if isinstance(name, tuple) and count[text] > 1 else text
        for name, text in zip(names, shown, strict=True)
    ]


def fitted_names(model):
    """Return the names of the columns to which a model was fitted: sequence of str, or None.

    Names that were strings are stored in `feature_names_in_`, as in scikit-learn. Names of other
    types are stored as strings in `_column_names`. The result is None if X had no column names or
    only the default names 0, 1, ... of pandas.
    """
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = getattr(model, "_column_names", None)
        return None if names is None or are_default(names) else names
    return names


def set_fitted_names(model, names):
    """Store the column names of the fit in a model, where :func:`fitted_names` finds them.

    `names` must be all strings, or contain no string.
    """
    if all(isinstance(name, str) for name in names):
        model.feature_names_in_ = np.asarray(names, dtype=object)
    else:
        model._column_names = displayed(names)


def check_fitted_names(model, X):
    """Raise a ValueError if the column names of X differ from those in `fit`.

    The function only checks names that were not strings in `fit`, since scikit-learn itself checks
    names that are strings.
    """
    expected, found = getattr(model, "_column_names", None), display_names(X)
    if expected is None or found is None or are_default(found) or len(found) != len(expected):
        return
    if found == expected:
        return
    unexpected = [name for name in found if name not in set(expected)]
    missing = [name for name in expected if name not in set(found)]
    if are_default(expected) and unexpected:
        return  # pandas chose the names in fit, so the user did not define an order
    parts = [f"unseen in fit: {listed(unexpected)}"] if unexpected else []
    parts += [f"missing: {listed(missing)}"] if missing else []
    parts = parts or ["their order differs"]
    raise ValueError(
        f"The columns of X should be those of fit, in the same order ({'; '.join(parts)})."
    )


def display_name(name):
    """Return the name of a column as displays show it; a tuple becomes ``sales / 2020``."""
    if isinstance(name, tuple):
        return " / ".join(text for text in map(display_name, name) if text)
    # The name can be a Timestamp. If it is a date without a time of day, midnight is not shown.
    return str(name).removesuffix(" 00:00:00")


def are_default(names):
    """Return whether the names are 0, 1, 2, ... as strings, the default names of pandas."""
    return all(name == str(j) for j, name in enumerate(names))


def check_list_of_names(names, parameter):
    """Raise a ValueError if `names`, the value of a parameter, is one string instead of a list."""
    if isinstance(names, str):
        raise ValueError(f"{parameter} must be a list of names, got the string {names!r:.80}.")


# ---------------------------------------------------------------------- columns with faults


def numeric_faults(X):
    """Return the columns of X whose values cannot be converted to finite floats, and why.

    Returns
    -------
    dict of str
        The keys are the faults that X has, out of "NaN", "infinity", "too large" and "objects".
        Each value names the columns with this fault, in the form " in column 'age' (3 rows)".
    """
    found = defaultdict(list)
    for label, column in _labelled_columns(X):
        try:
            values = _floats(column)
        except OverflowError:
            found["too large"].append(label)
        except (TypeError, ValueError):
            found["objects"].append(label)
        else:
            for fault, is_fault in (("NaN", np.isnan(values)), ("infinity", np.isinf(values))):
                n_rows = np.count_nonzero(is_fault)
                if n_rows:
                    found[fault].append(f"{label} ({n_rows} row{'s' if n_rows > 1 else ''})")
    return {fault: _in_columns(labels) for fault, labels in found.items()}


def in_columns(X, has_fault):
    """Return the columns that satisfy a condition as a str such as " in column 'age'".

    `has_fault` is called with the values of each column. The result is the empty string if no
    column satisfies the condition, or if X has no columns.
    """
    return _in_columns([label for label, column in _labelled_columns(X) if has_fault(column)])


def _in_columns(labels):
    some = listed(labels, quote=False)
    return f" in column{'s' if len(labels) > 1 else ''} {some}" if labels else ""


def _floats(column):
    if hasattr(column, "iloc"):  # pandas has several types of missing values
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column, dtype=np.float64)


def columns_of(X):
    """Return an iterator over the columns of a DataFrame or Arrow table, or None for other data."""
    if column_names(X) is None or hasattr(X, "compute"):  # in dask, access to a column is costly
        return None
    if hasattr(X, "iloc"):
        return (X.iloc[:, j] for j in range(X.shape[1]))
    return (X.column(j) for j in range(X.shape[1])) if hasattr(X, "column") else iter(X)


def _labelled_columns(X):
    """Yield a label and the values of each column; of sparse data, only the stored values."""
    columns, names = columns_of(X), display_names(X)
    if columns is None and sp.issparse(X):
        by_columns = X.tocsc()
        bounds = by_columns.indptr
        for j in np.flatnonzero(np.diff(bounds)):
            yield str(j), by_columns.data[bounds[j] : bounds[j + 1]]
        return
    if columns is None:
        try:
            rows = X if hasattr(X, "shape") else np.asarray(X, dtype=object)
            columns = [rows[:, j] for j in range(rows.shape[1])]
        except (IndexError, TypeError, ValueError):  # X is not a two-dimensional table
            return
    for j, column in enumerate(columns):
        yield (str(j) if names is None else repr(names[j])), column
