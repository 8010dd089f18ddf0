"""Columns of a table as features: learned from the table of the fit, applied to other tables."""

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
# Numbers in the format of spreadsheets: 12,345 or 1.234,5 or 0,5 or 45 %
_WRITTEN = re.compile(r"[+-]?(\d{1,3}([ ,.']\d{3})+([.,]\d+)?|\d+,\d+|\d+([.,]\d+)?(?=\s*%))\s*%?")


class NotANumberError(ValueError):
    """A cell of a numeric column is not a number; `row` is its label in the index of the table."""

    def __init__(self, row, column, cell, advice=""):
        super().__init__(f"column {column}: {cell!r} is not a number{advice}.")
        self.row = row


@dataclass(frozen=True)
class Choices:
    """Options of the user for the columns of a table.

    Parameters
    ----------
    columns : tuple of str, optional
        The columns to use; None for all.
    drop : tuple of str
        Columns to leave out.
    missing : {"refuse", "drop", "median", "indicator"}
        Missing values raise an error ("refuse"), their rows are left out ("drop"), or they are
        replaced by the median of the column, or by the most frequent string ("median").
        "indicator" also adds a feature that is 1 where a value is missing.
    classes : str, optional
        Column of classes, which is not a feature.
    id_column : str, optional
        Column that names the rows, which is not a feature.
    categories : {"one-hot", "drop"}
        What to do with string columns.
    separator : str, optional
        Character between the values of a line; by default that of the file name.
    """

    columns: tuple[str, ...] | None = None
    drop: tuple[str, ...] = ()
    missing: str = "refuse"
    classes: str | None = None
    id_column: str | None = None
    categories: str = "one-hot"
    separator: str | None = None

    def check_names(self, names):
        """Raise a ValueError if a named column is not in the table, or --columns repeats one."""
        beside = filter(None, [self.classes, self.id_column])
        for name in (*(self.columns or ()), *self.drop, *beside):
            if name not in names:
                raise ValueError(f"no column {name!r}; the columns are {listed(names)}.")
        twice = [name for name, count in Counter(self.columns or ()).items() if count > 1]
        if twice:
            raise ValueError(f"--columns names {listed(twice)} more than once.")


@dataclass(frozen=True, eq=False)
class Loaded:
    """Features that were computed from the rows of a file.

    Parameters
    ----------
    X : float array or CSR matrix of shape (n, d)
    recipe : Recipe, optional
        Computes the same features for another table; None if the file is an array.
    rows : int array of shape (n,), optional
        Number of each row of X in the file; None if no rows were left out.
    ids : array of shape (n,), optional
        Names of the rows.
    classes : array of shape (n,), optional
        None or NaN for rows without a class.
    notes : tuple of str
        Messages about what was done with the columns.
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
    """Turn the columns of a table into features.

    Row numbers and constant columns are left out, and string columns with more than 20 categories,
    or more than two categories and more than half as many as rows. Other string columns become one
    feature of 0 and 1 per category, or a single feature if there are two categories (also true and
    false). The name of such a feature is an Indicator, shown as ``plan is gold``.

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
        If a chosen column does not exist, values are missing and `missing` is "refuse", no column
        is left, or two features would have the same name.
    NotANumberError
        If a column mixes numbers and strings, or has infinite values.
    """
    others = list(filter(None, [choices.classes, choices.id_column]))
    choices.check_names(frame.columns)
    notes = []
    features = frame if choices.columns is None else frame[list(choices.columns)]
    features = features.drop(columns=[*choices.drop, *others], errors="ignore")
    _check_cells(frame, features, "; leave it out with --drop")
    _check_cells(frame, others, "; choose another column")
    if choices.columns is None:
        features = without_row_numbers(features, notes)
    features = features.apply(_truth_as_text)
    if choices.categories == "drop":
        texts = [name for name in features if _is_text(features[name])]
        if texts:
            notes.append(f"string columns, left out: {listed(texts)}.")
        features = features.drop(columns=texts)
    features = _without_useless(features, notes)
    rows = _usable_rows(features, choices.missing, notes)
    if len(rows) < len(frame):
        features = _without_useless(features.iloc[rows], notes)
    if features.shape[1] == 0:
        raise ValueError(
            "no column is left to cluster by: use fewer --drop, or other --columns. "
            + " ".join(notes)
        )
    flags = choices.missing == "indicator"
    columns = [Column.from_values(features[name], name, flags_missing=flags) for name in features]
    _describe_columns(columns, features, notes)
    recipe = Recipe(tuple(columns), choices.id_column)
    classes, ids = (
        None if name is None else frame[name].to_numpy()[rows]
        for name in (choices.classes, choices.id_column)
    )
    kept = None if len(rows) == len(frame) else rows
    return Loaded(recipe.features(features, []), recipe, kept, ids, classes, tuple(notes))


def without_row_numbers(frame, notes):
    """Return the table without columns that number or name its rows, and add a note for each."""
    dropped = []
    for place, name in enumerate(frame):
        column = frame[name]
        counts = place == 0 and len(frame) > 2 and is_integer_dtype(column)
        counts = counts and (np.diff(column) == 1).all()
        is_called = str(name).lower() in _ROW_NUMBERS and column.is_unique
        if counts or (is_called and (is_integer_dtype(column) or _is_text(column))):
            dropped.append(name)
            called = f"column {name!r}" if name else "the column without a name"
            notes.append(f"{called} numbers or names the rows, so it is left out.")
    return frame.drop(columns=dropped)


def _truth_as_text(column):
    """Return a boolean column as strings; with missing values its dtype varies in pandas."""
    if infer_dtype(column, skipna=True) != "boolean":
        return column
    return column.astype(object).map(str, na_action="ignore")


def _without_useless(frame, notes):
    """Return the table without empty and constant columns and strings of too many categories."""
    counts = frame.nunique()
    constant = list(counts.index[counts <= 1])
    if len(constant) == frame.shape[1] and len(frame) > 0 and frame.notna().all(axis=None):
        constant = []  # all rows are equal, which can still be clustered
    if constant:
        notes.append(f"constant or empty columns, left out: {listed(constant)}.")
    frame = frame.drop(columns=constant)
    dropped = []
    for name in frame:
        _check_values(frame[name])
        n_kinds = counts[name]
        if _is_text(frame[name]) and n_kinds > max(2, min(_MOST_CATEGORIES, len(frame) / 2)):
            notes.append(
                f"column {name!r} has {n_kinds} different strings, too many for categories, so it "
                "is left out."
            )
            dropped.append(name)
    return frame.drop(columns=dropped)


def _check_values(column):
    """Raise NotANumberError at an infinite value, or at a string if most values are numbers."""
    filled = column.dropna()
    if _is_text(column):
        is_number = pd.to_numeric(filled, errors="coerce").notna()
        looks_so = is_number | filled.map(lambda cell: bool(_WRITTEN.fullmatch(str(cell).strip())))
        wrong = filled[~is_number & (looks_so.mean() >= 0.5)]
    else:
        wrong = filled[np.isinf(filled.to_numpy(dtype=float))]
    if len(wrong) > 0:
        cell, advice = wrong.tolist()[0], "correct it"
        if _WRITTEN.fullmatch(str(cell).strip()):
            advice = (
                "write numbers like 12345.6, without thousands separators, decimal commas and %"
            )
        raise NotANumberError(
            wrong.index[0], column.name, cell, f"; {advice}, or leave out the column with --drop"
        )


def _usable_rows(frame, missing, notes):
    """Return the numbers of the rows to keep.

    A ValueError is raised if missing values are not allowed, or if every row has one. Notes about
    replaced values are added by :func:`_describe_columns`.
    """
    is_complete = frame.notna().all(axis=1)
    n_rows, n_complete = len(frame), int(is_complete.sum())
    if n_complete == n_rows or missing in {"median", "indicator"}:
        return np.arange(n_rows)
    counts = _missing_counts(frame)
    if missing == "refuse":
        raise ValueError(
            f"missing values in {counts}; choose --missing drop (leaves {n_complete} of {n_rows} "
            "rows), --missing median, --missing indicator, or leave out the columns with --drop."
        )
    if n_complete == 0:
        raise ValueError(f"every row has a missing value: {counts}; use --missing median.")
    notes.append(f"{n_rows - n_complete} of {n_rows} rows have missing values, {counts}: left out.")
    return np.flatnonzero(is_complete)


def _missing_counts(frame):
    """Return the columns with missing values and their numbers, for a message."""
    gaps = frame.isna().sum()
    return listed([f"{name} ({count})" for name, count in gaps[gaps > 0].items()], quote=False)


def _describe_columns(columns, frame, notes):
    """Add notes on missing values and categories; raise a ValueError if two names are equal."""
    fills = [f"{column.name} ({column.fill})" for column in columns if column.fill is not None]
    if fills:
        notes.append(
            "missing values are replaced by the median, or the most frequent string: "
            f"{listed(fills, quote=False)}."
        )
    if any(column.flags_missing for column in columns):
        notes.append(f"features of 0 and 1 mark missing values: {_missing_counts(frame)}.")
    for name, known in ((c.name, c.known) for c in columns if c.kinds is not None):
        if len(known) == 2:
            notes.append(f"column {name!r} is {known[1]!r} (1) or {known[0]!r} (0).")
        else:
            notes.append(
                f"column {name!r} has {len(known)} categories: one feature of 0 and 1 each."
            )
    names = Counter(name for column in columns for name in column.feature_names)
    (name, count), *_ = names.most_common(1)
    if count > 1:
        raise ValueError(
            f"a column is named {str(name)!r}, which is also a category of another one; rename it, "
            "or leave it out with --drop."
        )


@dataclass(frozen=True)
class Column:
    """A column of a table and the features that it becomes.

    Parameters
    ----------
    name : str
    kinds : tuple of str, optional
        Categories that get a feature of 0 and 1 each; None for a numeric column.
    known : tuple of str
        All categories in the table of the fit.
    fill : float or str, optional
        Value that replaces missing values; None if missing values are not replaced.
    flags_missing : bool, default=False
        Whether a further feature is 1 where values are missing.
    """

    name: str
    kinds: tuple[str, ...] | None = None
    known: tuple[str, ...] = ()
    fill: float | str | None = None
    flags_missing: bool = False

    @classmethod
    def from_values(cls, column, name, *, flags_missing=False):
        """Learn the features of a column, and its median or most frequent string to fill gaps.

        Parameters
        ----------
        column : Series
        name : str
        flags_missing : bool
            Whether a further feature is 1 where values are missing, if any are.
        """
        kinds, known, fill = None, (), None
        if _is_text(column):
            known = tuple(sorted(column.dropna().astype(str).unique()))
            kinds = known[1:] if len(known) == 2 else known
        if column.hasnans:
            fill = float(column.median()) if kinds is None else str(column.mode()[0])
        return cls(name, kinds, known, fill, flags_missing and fill is not None)

    @property
    def feature_names(self):
        """Names of the features: list of str."""
        own = [self.name] if self.kinds is None else [Indicator(self.name, k) for k in self.kinds]
        return own + ([Indicator(self.name, "missing")] if self.flags_missing else [])

    def features(self, column):
        """Return a list of feature arrays of shape (n,), and the set of unknown categories."""
        gaps = column.isna()
        flags = [gaps.to_numpy(dtype=np.float64)] if self.flags_missing else []
        column = column if self.fill is None else column.fillna(self.fill)
        if self.kinds is None:
            return [column.to_numpy(dtype=np.float64), *flags], set()
        texts = column.astype(str)
        new = set(texts.unique()) - set(self.known)
        return [(texts == kind).to_numpy(dtype=np.float64) for kind in self.kinds] + flags, new


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
        """Return the features of the complete rows of a table: float64 array of shape (n, d).

        Rows with a category that the table of the fit did not have are 0 in every feature of the
        column, and `notes` gets a message.
        """
        arrays = []
        for column in self.columns:
            values, new = column.features(frame[column.name])
            arrays += values
            if new and column.known:
                notes.append(
                    f"column {column.name!r} has categories that the fit did not have, "
                    f"{listed(sorted(new))}: their rows belong to none of its categories."
                )
        return np.column_stack(arrays)

    def applied(self, frame, notes):
        """Return the features of another table, and the numbers of its complete rows.

        Parameters
        ----------
        frame : pandas.DataFrame
        notes : list of str
            Messages are appended.

        Returns
        -------
        X : float64 array of shape (n, d)
        rows : int array of shape (n,)

        Raises
        ------
        ValueError
            If a column does not exist, or a numeric column has other values.
        """
        names = [column.name for column in self.columns]
        missing = [name for name in names if name not in frame]
        if missing:
            raise ValueError(f"no column {missing[0]!r}, which the model was fitted to.")
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
            notes.append(
                f"{len(frame) - len(rows)} of {len(frame)} rows have missing values: left out."
            )
        if len(rows) == 0:
            raise ValueError("every row has a missing value in a column of the model.")
        return self.features(frame.iloc[rows], notes), rows

    def to_dict(self):
        """Return the recipe as a dict of plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data):
        """Return the recipe of a dict that :meth:`to_dict` has returned.

        Raises
        ------
        ValueError
            If the dict has other entries.
        """
        try:
            columns = [
                Column(**{**part, "kinds": part["kinds"] and tuple(part["kinds"])})
                for part in data["columns"]
            ]
            return cls(tuple(columns), data["id_column"])
        except (TypeError, KeyError) as error:
            raise ValueError(
                f"the file does not describe the columns of a fit ({error})."
            ) from error


def _is_text(column):
    """Return whether a column has strings: neither numbers nor booleans."""
    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def _check_cells(frame, names, advice=""):
    """Raise a ValueError if a column has lists, dicts or the like, as Parquet files may."""
    for name in names:
        if frame[name].dtype == object:
            found = next((v for v in frame[name] if not isinstance(v, Hashable)), None)
            if found is not None:
                raise ValueError(
                    f"column {name!r} has values of type {type(found).__name__}, which are neither "
                    f"numbers nor strings{advice}."
                )
