"""The columns of a table: how they become features, learned from one table, applied to others."""

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_integer_dtype, is_numeric_dtype

from .._utils.warnings import listed
from ..columns import Indicator

MISSING = ("refuse", "drop", "median", "indicator")
CATEGORIES = ("one-hot", "drop")
_MOST_CATEGORIES = 20
_ROW_NUMBERS = {"", "id", "index", "unnamed: 0", "rownames"}
# Numbers as spreadsheets show them: 12,345 or 1.234,5 or 0,5 or 45 %
_WRITTEN = re.compile(r"[+-]?(\d{1,3}([ ,.']\d{3})+([.,]\d+)?|\d+,\d+|\d+([.,]\d+)?(?=\s*%))\s*%?")


class NotANumberError(ValueError):
    """A cell that is no number in a column of numbers; it knows its `row`, a label of the index."""

    def __init__(self, row, column, cell, advice=""):
        super().__init__(f"column {column}: {cell!r} is not a number{advice}.")
        self.row = row


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
    """Rows of a file as features.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, d)
    recipe : Recipe, which makes such features of another table; None if the file has no columns
    rows : int array of shape (n,), numbers of the rows of the file, where some are left out
    ids : array of shape (n,), names of the rows; None without a column of them
    classes : array of shape (n,), or None; None and NaN where a row has no class
    notes : tuple of str, sentences that say what was done with the columns
    """

    X: Any
    recipe: Any = None
    rows: np.ndarray | None = None
    ids: np.ndarray | None = None
    classes: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    @property
    def feature_names(self):
        """Names of the features: list of str, or None."""
        return None if self.recipe is None else self.recipe.feature_names


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
    _check_cells(frame, [*features, *others])
    if choices.columns is None:
        features = without_row_numbers(features, notes)
    features = features.apply(_truth_as_text)
    if choices.categories == "drop":
        texts = [name for name in features if _is_text(features[name])]
        if texts:
            notes.append(f"texts, left out: {listed(texts)}.")
        features = features.drop(columns=texts)
    features = _without_useless(features, notes)
    rows = _usable_rows(features, choices.missing, notes)
    if len(rows) < len(frame):
        features = _without_useless(features.iloc[rows], notes)
    if features.shape[1] == 0:
        raise ValueError("no column is left to cluster by. " + " ".join(notes))
    is_told = choices.missing == "indicator"
    columns = [Column.of(features[name], name, is_told=is_told) for name in features]
    _tell_columns(columns, features, notes)
    recipe = Recipe(tuple(columns), choices.id_column)
    classes, ids = (
        None if name is None else frame[name].to_numpy()[rows]
        for name in (choices.classes, choices.id_column)
    )
    kept = None if len(rows) == len(frame) else rows
    return Loaded(recipe.features(features, []), recipe, kept, ids, classes, tuple(notes))


def without_row_numbers(frame, notes):
    """A table without the columns that number or name its rows; `notes` get a sentence of each."""
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
    if infer_dtype(column, skipna=True) != "boolean":
        return column
    return column.astype(object).map(str, na_action="ignore")


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
    for name in frame:
        _check_values(frame[name])
        n_kinds = counts[name]
        if _is_text(frame[name]) and n_kinds > max(2, min(_MOST_CATEGORIES, len(frame) / 2)):
            notes.append(f"column {name!r} has {n_kinds} different texts, no categories: left out.")
            dropped.append(name)
    return frame.drop(columns=dropped)


def _check_values(column):
    """NotANumberError at an infinite number, or a text if most are numbers or look like some."""
    filled = column.dropna()
    if _is_text(column):
        is_number = pd.to_numeric(filled, errors="coerce").notna()
        looks_so = is_number | filled.map(lambda cell: bool(_WRITTEN.fullmatch(str(cell).strip())))
        wrong = filled[~is_number & (looks_so.mean() >= 0.5)]
    else:
        wrong = filled[np.isinf(filled.to_numpy(dtype=float))]
    if len(wrong) > 0:
        cell, advice = wrong.tolist()[0], "mend it"
        if _WRITTEN.fullmatch(str(cell).strip()):
            advice = (
                "write numbers like 12345.6, without separators of thousands, decimal commas and %"
            )
        raise NotANumberError(wrong.index[0], column.name, cell, f"; {advice}, or use --drop")


def _usable_rows(frame, missing, notes):
    """Numbers of the rows that are kept; ValueError if missing values are refused, or everywhere.

    What is said about the values that replace missing ones is :func:`_tell_columns`' part.
    """
    is_complete = frame.notna().all(axis=1)
    n_rows, n_complete = len(frame), int(is_complete.sum())
    if n_complete == n_rows or missing in {"median", "indicator"}:
        return np.arange(n_rows)
    told = _told_gaps(frame)
    if missing == "refuse":
        raise ValueError(
            f"missing values in {told}; choose --missing drop (leaves {n_complete} of {n_rows} "
            "rows), --missing median, --missing indicator, or --drop of columns."
        )
    if n_complete == 0:
        raise ValueError(f"every row has a missing value: {told}; use --missing median.")
    notes.append(f"{n_rows - n_complete} of {n_rows} rows have missing values, {told}: left out.")
    return np.flatnonzero(is_complete)


def _told_gaps(frame):
    """The columns with missing values and how many they are, for a sentence."""
    gaps = frame.isna().sum()
    return listed([f"{name} ({count})" for name, count in gaps[gaps > 0].items()], quote=False)


def _tell_columns(columns, frame, notes):
    """Say what became of missing values and texts; ValueError if two features share a name."""
    fills = [f"{column.name} ({column.fill})" for column in columns if column.fill is not None]
    if fills:
        notes.append(
            "missing values replaced by the median, or the most frequent text: "
            f"{listed(fills, quote=False)}."
        )
    if any(column.is_told for column in columns):
        notes.append(f"a column of 0 and 1 says where they were missing: {_told_gaps(frame)}.")
    for name, known in ((c.name, c.known) for c in columns if c.kinds is not None):
        if len(known) == 2:
            notes.append(f"column {name!r} is {known[1]!r} (1) or {known[0]!r} (0).")
        else:
            notes.append(f"column {name!r} has {len(known)} categories: a column of 0 and 1 each.")
    names = Counter(name for column in columns for name in column.feature_names)
    (name, count), *_ = names.most_common(1)
    if count > 1:
        raise ValueError(
            f"a column is named {str(name)!r}, which is also a category of another; rename "
            "it, or use --drop."
        )


@dataclass(frozen=True)
class Column:
    """A column and the features that it becomes.

    Parameters
    ----------
    name : str
    kinds : tuple of str, optional
        Texts of a column of categories that get a feature of 0 and 1 each; None of numbers.
    known : tuple of str
        All texts that the table had.
    fill : float or str, optional
        What stands for missing values; None if they are refused or their rows left out.
    is_told : bool, default=False
        Whether a further feature says where values are missing.
    """

    name: str
    kinds: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()
    fill: float | str | None = None
    is_told: bool = False

    @classmethod
    def of(cls, column, name, *, is_told=False):
        """That of a column of a table; missing values become the median, or the commonest text.

        Parameters
        ----------
        column : Series
        name : str
        is_told : bool, whether a further feature says where values are missing, if any are
        """
        kinds, known, fill = None, (), None
        if _is_text(column):
            known = tuple(sorted(column.dropna().astype(str).unique()))
            kinds = known[1:] if len(known) == 2 else known
        if column.hasnans:
            fill = float(column.median()) if kinds is None else str(column.mode()[0])
        return cls(name, kinds, known, fill, is_told and fill is not None)

    @property
    def feature_names(self):
        """Names of the features: list of str."""
        own = [self.name] if self.kinds is None else [Indicator(self.name, k) for k in self.kinds]
        return own + ([Indicator(self.name, "missing")] if self.is_told else [])

    def features(self, column):
        """Values of the features, arrays of shape (n,), and texts that were never seen."""
        gaps = column.isna()
        told = [gaps.to_numpy(dtype=np.float64)] if self.is_told else []
        column = column if self.fill is None else column.fillna(self.fill)
        if self.kinds is None:
            return [column.to_numpy(dtype=np.float64), *told], set()
        texts = column.astype(str)
        new = set(texts.unique()) - set(self.known)
        return [(texts == kind).to_numpy(dtype=np.float64) for kind in self.kinds] + told, new


@dataclass(frozen=True)
class Recipe:
    """All columns of a table that become features, in their order.

    Parameters
    ----------
    columns : tuple of Column
    id_column : str, optional
        Column that names the rows.
    """

    columns: tuple[Column, ...]
    id_column: str | None = None

    @property
    def feature_names(self):
        """Names of all features: list of str."""
        return [name for column in self.columns for name in column.feature_names]

    def features(self, frame, notes):
        """Features of the rows of a table that are complete: float64 array of shape (n, d).

        Texts that the first table did not have are told in `notes`: their rows have 0 in every
        feature of the column.
        """
        arrays = []
        for column in self.columns:
            values, new = column.features(frame[column.name])
            arrays += values
            if new and column.known:
                notes.append(
                    f"column {column.name!r} has what the fit did not see, {listed(sorted(new))}: "
                    "none of its categories."
                )
        return np.column_stack(arrays)

    def applied(self, frame, notes):
        """Features of another table, and the numbers of its rows that have them.

        Parameters
        ----------
        frame : pandas.DataFrame
        notes : list of str, to which sentences are added

        Returns
        -------
        X : float64 array of shape (n, d)
        rows : int array of shape (n,)

        Raises
        ------
        ValueError
            If a column is missing, or one of numbers holds something else.
        """
        names = [column.name for column in self.columns]
        missing = [name for name in names if name not in frame]
        if missing:
            raise ValueError(f"no column {missing[0]!r}, which the model was fitted with.")
        _check_cells(frame, names)
        frame = frame[names].copy()
        for column in self.columns:
            values = frame[column.name]
            if column.kinds is not None:
                frame[column.name] = values.map(str, na_action="ignore")
            elif not is_numeric_dtype(values):
                frame[column.name] = pd.to_numeric(values, errors="coerce")
                wrong = values[frame[column.name].isna() & values.notna()]
                if len(wrong) > 0:
                    raise NotANumberError(wrong.index[0], column.name, wrong.iloc[0])
        needed = [column.name for column in self.columns if column.fill is None]
        rows = np.flatnonzero(frame[needed].notna().all(axis=1))
        if len(rows) < len(frame):
            notes.append(f"{len(frame) - len(rows)} of {len(frame)} rows have missing values.")
        if len(rows) == 0:
            raise ValueError("every row has a missing value.")
        return self.features(frame.iloc[rows], notes), rows

    def to_dict(self):
        """Plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        """The recipe of a result of :meth:`to_dict` that may have been to a file.

        Raises
        ------
        ValueError
            If it is not such a dict.
        """
        try:
            columns = [
                Column(**{**part, "kinds": part["kinds"] and tuple(part["kinds"])})
                for part in data["columns"]
            ]
            return cls(tuple(columns), data["id_column"])
        except (TypeError, KeyError) as error:
            raise ValueError(f"not the columns of a fit ({error}).") from error


def _is_text(column):
    """Whether a column holds texts: neither numbers nor truth values."""
    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def _check_cells(frame, names):
    """ValueError if one of some columns holds lists, dicts and the like, as Parquet files may."""
    for name in names:
        if frame[name].dtype == object:
            found = next((v for v in frame[name] if not isinstance(v, Hashable)), None)
            if found is not None:
                raise ValueError(
                    f"column {name!r} holds values with parts ({type(found).__name__}), neither "
                    "numbers nor texts; leave it out by --drop."
                )
