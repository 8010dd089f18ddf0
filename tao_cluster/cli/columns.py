"""From the columns of a table to features, with a sentence about everything that was done."""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_integer_dtype

from .._utils.warnings import listed
from .recipe import Column, NotANumberError, Recipe, check_cells, is_text

MISSING = ("refuse", "drop", "median", "indicator")
CATEGORIES = ("one-hot", "drop")
_MOST_CATEGORIES = 20
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
    missing : {"refuse", "drop", "median", "indicator"}
        What to do with missing values: refuse them, drop their rows, or replace them by the
        column's median, of texts by the most frequent one; "indicator" also adds a feature that is
        1 where they are missing.
    classes : str, a column of classes, which is not a feature; None for none
    id_column : str, a column that names the rows, which is not a feature; None for none
    categories : {"one-hot", "drop"}
        What to do with columns of texts.
    separator : str, between the values of a line; None for what the file's name says
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    missing: str = "refuse"
    classes: str | None = None
    id_column: str | None = None
    categories: str = "one-hot"
    separator: str | None = None

    def check_names(self, names):
        """ValueError if a column that is named is not in a table, or is to be used twice."""
        beside = filter(None, [self.classes, self.id_column])
        for name in (*(self.columns or ()), *self.drop, *beside):
            if name not in names:
                raise ValueError(f"no column {name!r}; there are {listed(names)}.")
        twice = [name for name, count in Counter(self.columns or ()).items() if count > 1]
        if twice:
            raise ValueError(f"--columns has {listed(twice)} more than once.")


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
    ids : array of shape (n,), names of the rows; None without a column of them
    recipe : Recipe, which makes such features of another table; None if the file has no columns
    """

    X: Any
    feature_names: list[str] | None = None
    rows: np.ndarray | None = None
    classes: np.ndarray | None = None
    notes: tuple[str, ...] = ()
    ids: np.ndarray | None = None
    recipe: Recipe | None = None


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
    others = list(filter(None, [choices.classes, choices.id_column]))
    choices.check_names(frame.columns)
    notes = []
    features = frame if choices.columns is None else frame[list(choices.columns)]
    features = features.drop(columns=[*choices.drop, *others], errors="ignore")
    check_cells(features)
    check_cells(frame[others])
    if choices.columns is None:
        features = without_row_numbers(features, notes)
    features = _without_texts(features.apply(truth_as_text), choices.categories, notes)
    features = _without_useless(features, notes)
    _check_finite(features)
    if features.shape[1] == 0:
        raise ValueError("no column is left to cluster by. " + " ".join(notes))
    columns = [Column.of(features[name], name) for name in features]
    columns = _with_fills(columns, features, choices.missing, notes)
    recipe = Recipe(tuple(columns), choices.id_column)
    rows = recipe.complete_rows(features)
    complete = features.iloc[rows]
    if len(rows) < len(features):
        complete = _without_useless(complete, notes)
        columns = [column for column in columns if column.name in complete]
    # Texts that only rows with missing values have are no categories.
    columns = [c if c.fill is not None else Column.of(complete[c.name], c.name) for c in columns]
    recipe = Recipe(tuple(columns), choices.id_column)
    _tell_categories(recipe, notes)
    X, kept = recipe.features(complete, []), None if len(rows) == len(frame) else rows
    classes, ids = (_values(frame, name, rows) for name in (choices.classes, choices.id_column))
    return Loaded(X, recipe.feature_names, kept, classes, tuple(notes), ids, recipe)


def _values(frame, name, rows):
    return None if name is None else frame[name].to_numpy()[rows]


def _without_texts(frame, categories, notes):
    """Without columns of texts, if they are not wanted."""
    texts = _texts(frame) if categories == "drop" else []
    if texts:
        notes.append(f"texts, left out: {listed(texts)}.")
    return frame.drop(columns=texts)


def without_row_numbers(frame, notes):
    """A table without the columns that number or name its rows; `notes` get a sentence of each."""
    dropped = []
    for place, name in enumerate(frame):
        column = frame[name]
        counts = place == 0 and len(frame) > 2 and is_integer_dtype(column)
        counts = counts and (np.diff(column) == 1).all()
        is_called = str(name).lower() in _ROW_NUMBERS and column.is_unique
        if counts or (is_called and (is_integer_dtype(column) or is_text(column))):
            dropped.append(name)
            called = f"column {name!r}" if name else "the column without a name"
            notes.append(f"{called} numbers or names the rows: left out.")
    return frame.drop(columns=dropped)


def truth_as_text(column):
    """True and False as categories; pandas has other types for them where some are missing."""
    is_truth = column.dropna().map(lambda value: isinstance(value, bool | np.bool_))
    if len(is_truth) == 0 or not is_truth.all():
        return column
    return column.astype(object).map(str, na_action="ignore")


def _check_finite(frame):
    """NotANumberError at the first infinite value."""
    for name in frame:
        if not is_text(frame[name]):
            infinite = np.flatnonzero(np.isinf(frame[name].to_numpy(dtype=float)))
            if len(infinite):
                row = int(frame.index[infinite[0]])
                raise _not_a_number(row, name, float(frame[name].iloc[infinite[0]]))


def _without_useless(frame, notes):
    """Without empty and constant columns, and texts of too many kinds."""
    counts = frame.nunique()
    constant = list(counts.index[counts <= 1])
    if len(constant) == frame.shape[1] and len(frame) > 0 and frame.notna().all(axis=None):
        constant = []  # all rows are equal: a clustering all the same
    if constant:
        notes.append(f"constant or empty, left out: {listed(constant)}.")
    frame = frame.drop(columns=constant)
    dropped = []
    for name in _texts(frame):
        _check_texts(frame[name], name)
        n_kinds = counts[name]
        if n_kinds > max(2, min(_MOST_CATEGORIES, len(frame) / 2)):
            notes.append(f"column {name!r} has {n_kinds} different texts, no categories: left out.")
            dropped.append(name)
    return frame.drop(columns=dropped)


def _check_texts(column, name):
    """NotANumberError if most values of a column that holds texts are numbers, or look so."""
    filled = column.dropna()
    is_number = pd.to_numeric(filled, errors="coerce").notna()
    looks_so = is_number | filled.map(lambda cell: bool(_WRITTEN.fullmatch(str(cell).strip())))
    if looks_so.mean() >= 0.5 and not is_number.all():
        row = filled.index[~is_number][0]
        raise _not_a_number(int(row), name, filled[row])


def _not_a_number(row, name, cell):
    """The error of a cell, which says what to do about it."""
    advice = "mend it"
    if _WRITTEN.fullmatch(str(cell).strip()):
        advice = "write numbers like 12345.6, without separators of thousands, decimal commas and %"
    return NotANumberError(row, name, cell, f"; {advice}, or use --drop")


def _with_fills(columns, frame, missing, notes):
    """The columns, with what stands for missing values where something does."""
    gaps = frame.isna().sum()
    gaps = gaps[gaps > 0]
    if len(gaps) == 0:
        return columns
    told = listed([f"{name} ({count})" for name, count in gaps.items()], quote=False)
    if missing == "refuse":
        raise ValueError(
            f"missing values in {told}; choose --missing drop (leaves "
            f"{len(frame.dropna())} of {len(frame)} rows), --missing median, --missing indicator, "
            "or --drop of columns."
        )
    if missing == "drop":
        n_dropped = int(frame.isna().any(axis=1).sum())
        if n_dropped == len(frame):
            raise ValueError(f"every row has a missing value: {told}; use --missing median.")
        notes.append(f"{n_dropped} of {len(frame)} rows have missing values, {told}: left out.")
        return columns
    is_told = missing == "indicator"
    columns = [
        column.filled(frame[column.name], is_told=is_told) if column.name in gaps else column
        for column in columns
    ]
    values = [f"{c.name} ({c.fill})" for c in columns if c.fill is not None]
    notes.append(
        "missing values replaced by the median, or the most frequent text: "
        f"{listed(values, quote=False)}."
    )
    if is_told:
        notes.append(f"a column of 0 and 1 says where they were missing: {told}.")
    return columns


def _tell_categories(recipe, notes):
    """Say what became of texts; ValueError if two features would have one name."""
    for column in recipe.columns:
        if column.kinds is None:
            continue
        notes.append(
            f"column {column.name!r} is {column.known[1]!r} (1) or {column.known[0]!r} (0)."
            if len(column.known) == 2
            else f"column {column.name!r} has {len(column.known)} categories: a column of 0 and 1 "
            "each."
        )
    names = recipe.feature_names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"a column is named {str(twice[0])!r}, which is also a category of another; rename "
            "it, or use --drop."
        )


def _texts(frame):
    return [name for name in frame if is_text(frame[name])]
