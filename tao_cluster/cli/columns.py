"""From the columns of a table to features, with a sentence about everything that was done."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_integer_dtype, is_numeric_dtype

from ..inspection.columns import Indicator

MISSING = ("refuse", "drop", "median")
_MOST_CATEGORIES = 20
_MOST_NAMED = 5  # columns in one sentence
_ROW_NUMBERS = {"", "id", "index", "unnamed: 0", "rownames"}
# Numbers as spreadsheets show them: 12,345 or 1.234,5 or 0,5 or 45 %
_WRITTEN = re.compile(r"[+-]?(\d{1,3}([ ,.']\d{3})+([.,]\d+)?|\d+,\d+|\d+([.,]\d+)?(?=\s*%))\s*%?")


@dataclass(frozen=True)
class Choices:
    """What a user wants of the columns.

    Parameters
    ----------
    columns : tuple of str, the only ones to use; None for all
    drop : tuple of str, not to be used
    missing : {"refuse", "drop", "median"}
        What to do with missing values: refuse them, drop their rows, or replace them by the
        column's median, of texts by the most frequent one.
    classes : str, a column of classes, which is not a feature; None for none
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    missing: str = "refuse"
    classes: str | None = None


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a file has to offer.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, d)
    feature_names : list of str, or None
    rows : int array of shape (n,), numbers of the rows of the file, where some are left out
    classes : array of shape (n,), or None; None and NaN where a row has no class
    notes : tuple of str, sentences that say what was done with the columns
    """

    X: Any
    feature_names: list[str] | None = None
    rows: np.ndarray | None = None
    classes: np.ndarray | None = None
    notes: tuple[str, ...] = ()


class NotANumberError(ValueError):
    """A cell that is no number in a column of numbers; it knows its `row`."""

    def __init__(self, row, column, cell):
        hint = "mend it"
        if _WRITTEN.fullmatch(str(cell).strip()):
            hint = (
                "write numbers like 12345.6, without separators of thousands, decimal commas and %"
            )
        super().__init__(f"column {column}: {cell!r} is not a number; {hint}, or use --drop.")
        self.row = row


def features_of(frame, choices):
    """The features of a table.

    Row numbers, constant columns and texts that are nearly all different are left out; texts of
    few categories get a column of 0 and 1 a category, those of two categories (and true and false)
    a single one; its name is an Indicator, read as ``plan is gold``.

    Parameters
    ----------
    frame : pandas.DataFrame of shape (n, m), with distinct column names
    choices : Choices

    Returns
    -------
    Loaded

    Raises
    ------
    ValueError
        If a chosen column does not exist, values are missing and nothing was said about that,
        nothing is left, two columns would have one name, or (NotANumberError) a column is neither
        numbers nor texts, or has infinite values.
    """
    named = [*(choices.columns or ()), *choices.drop, *filter(None, [choices.classes])]
    unknown = [name for name in named if name not in frame]
    if unknown:
        raise ValueError(f"no column {unknown[0]!r}; there are {_listed(frame.columns)}.")
    notes = []
    classes = None if choices.classes is None else frame[choices.classes]
    features = frame if choices.columns is None else frame[list(choices.columns)]
    features = features.drop(
        columns=[*choices.drop, *filter(None, [choices.classes])], errors="ignore"
    )
    if choices.columns is None:
        features = _without_row_numbers(features, notes)
    features = _without_useless(features.apply(_truth_as_text), notes)
    _check_finite(features)
    if features.shape[1] == 0:
        raise ValueError("no column is left to cluster by. " + " ".join(notes))
    features, rows = _complete(features, choices.missing, notes)
    X, names = _encoded(features, notes)
    if classes is not None:
        classes = classes.to_numpy()[slice(None) if rows is None else rows]
    return Loaded(X, names, rows, classes, tuple(notes))


def _without_row_numbers(frame, notes):
    """Without columns that number or name the rows."""
    dropped = []
    for place, name in enumerate(frame):
        column = frame[name]
        counts = place == 0 and len(frame) > 2 and is_integer_dtype(column)
        counts = counts and (np.diff(column) == 1).all()
        is_called = str(name).lower() in _ROW_NUMBERS and column.is_unique
        if counts or (is_called and (is_integer_dtype(column) or _is_text(column))):
            dropped.append(name)
            called = f"column {name!r}" if name else "the column without a name"
            notes.append(f"{called} numbers or names the rows: left out.")
    return frame.drop(columns=dropped)


def _truth_as_text(column):
    """True and False as categories; pandas has other types for them where some are missing."""
    is_truth = column.dropna().map(lambda value: isinstance(value, bool | np.bool_))
    if len(is_truth) == 0 or not is_truth.all():
        return column
    return column.astype(object).map(str, na_action="ignore")


def _check_finite(frame):
    """NotANumberError at the first infinite value."""
    for name in frame:
        if not _is_text(frame[name]):
            infinite = np.flatnonzero(np.isinf(frame[name].to_numpy(dtype=float)))
            if len(infinite):
                row = int(frame.index[infinite[0]])
                raise NotANumberError(row, name, float(frame[name].iloc[infinite[0]]))


def _without_useless(frame, notes):
    """Without empty and constant columns, and texts of too many kinds."""
    counts = frame.nunique()
    constant = list(counts.index[counts <= 1])
    if len(constant) == frame.shape[1] and len(frame) > 0 and frame.notna().all(axis=None):
        constant = []  # all rows are equal: a clustering all the same
    if constant:
        notes.append(f"constant or empty, left out: {_listed(constant)}.")
    frame = frame.drop(columns=constant)
    dropped = []
    for name in _texts(frame):
        _check_is_text(frame[name], name)
        n_kinds = counts[name]
        if n_kinds > max(2, min(_MOST_CATEGORIES, len(frame) / 2)):
            notes.append(f"column {name!r} has {n_kinds} different texts, no categories: left out.")
            dropped.append(name)
    return frame.drop(columns=dropped)


def _check_is_text(column, name):
    """NotANumberError if most values of a column that holds texts are numbers, or look so."""
    filled = column.dropna()
    is_number = pd.to_numeric(filled, errors="coerce").notna()
    looks_so = is_number | filled.map(lambda cell: bool(_WRITTEN.fullmatch(str(cell).strip())))
    if looks_so.mean() >= 0.5 and not is_number.all():
        row = filled.index[~is_number][0]
        raise NotANumberError(int(row), name, filled[row])


def _complete(frame, missing, notes):
    """Without missing values, and the rows that are left, None for all."""
    gaps = frame.isna().sum()
    gaps = gaps[gaps > 0]
    if len(gaps) == 0:
        return frame, None
    told = _listed([f"{name} ({count})" for name, count in gaps.items()], quote=False)
    if missing == "refuse":
        raise ValueError(
            f"missing values in {told}; choose --missing drop (leaves "
            f"{len(frame.dropna())} of {len(frame)} rows), --missing median, or --drop of columns."
        )
    if missing == "drop":
        rows = np.flatnonzero(frame.notna().all(axis=1))
        if len(rows) == 0:
            raise ValueError(f"every row has a missing value: {told}; use --missing median.")
        n_dropped = len(frame) - len(rows)
        notes.append(f"{n_dropped} of {len(frame)} rows have missing values, {told}: left out.")
        return frame.iloc[rows], rows
    values = {name: _typical(frame[name]) for name in gaps.index}
    by = _listed([f"{name} ({values[name]})" for name in gaps.index], quote=False)
    notes.append(f"missing values replaced by the median, or the most frequent text: {by}.")
    return frame.fillna(values), None


def _typical(column):
    return column.mode()[0] if _is_text(column) else column.median()


def _encoded(frame, notes):
    """Numbers of all columns, and their names."""
    names, columns = [], []
    for name in frame:
        column = frame[name]
        if not _is_text(column):
            names.append(str(name))
            columns.append(column)
            continue
        column = column.astype(str)
        kinds = sorted(column.unique())
        kept = kinds[1:] if len(kinds) == 2 else kinds
        names += [Indicator(name, kind) for kind in kept]
        columns += [column == kind for kind in kept]
        notes.append(
            f"column {name!r} is {kinds[1]!r} (1) or {kinds[0]!r} (0)."
            if len(kinds) == 2
            else f"column {name!r} has {len(kinds)} categories: a column of 0 and 1 each."
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"a column is named {str(twice[0])!r}, which is also a category of another; rename "
            "it, or use --drop."
        )
    X = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
    return X, names


def _is_text(column):
    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def _texts(frame):
    return [name for name in frame if _is_text(frame[name])]


def _listed(names, *, quote=True):
    """Some names in a sentence."""
    shown = [repr(str(name)) if quote else name for name in list(names)[:_MOST_NAMED]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
