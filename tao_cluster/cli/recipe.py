"""How the columns of a table become features: learned from one table, applied to others."""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from .._utils.warnings import listed
from ..columns import Indicator

_MISSING = "missing"  # what the feature of missing values is called


class NotANumberError(ValueError):
    """A cell that is no number in a column of numbers; it knows its `row`."""

    def __init__(self, row, column, cell, advice=""):
        super().__init__(f"column {column}: {cell!r} is not a number{advice}.")
        self.row = row


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
    def of(cls, column, name):
        """That of a column of a table, which still may have missing values."""
        if not is_text(column):
            return cls(name)
        known = tuple(sorted(column.dropna().astype(str).unique()))
        return cls(name, known[1:] if len(known) == 2 else known, known)

    def filled(self, column, *, is_told):
        """The same with a value that stands for missing ones: the median, or the commonest text."""
        typical = str(column.mode()[0]) if self.kinds is not None else float(column.median())
        return replace(self, fill=typical, is_told=is_told)

    @property
    def feature_names(self):
        """Names of the features: list of str."""
        own = [self.name] if self.kinds is None else [Indicator(self.name, k) for k in self.kinds]
        return own + ([Indicator(self.name, _MISSING)] if self.is_told else [])

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

    def complete_rows(self, frame):
        """Numbers of the rows of a table without missing values, where nothing stands for these."""
        open_ = [column.name for column in self.columns if column.fill is None]
        return np.flatnonzero(frame[open_].notna().all(axis=1))

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
        missing = [column.name for column in self.columns if column.name not in frame]
        if missing:
            raise ValueError(f"no column {missing[0]!r}, which the model was fitted with.")
        frame = frame[[column.name for column in self.columns]].copy()
        check_cells(frame)
        for column in self.columns:
            if column.kinds is not None:
                frame[column.name] = frame[column.name].map(str, na_action="ignore")
            elif not is_numeric_dtype(frame[column.name]):
                frame[column.name] = _as_numbers(frame[column.name])
        rows = self.complete_rows(frame)
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
            columns = tuple(
                Column(
                    str(part["name"]),
                    None if part["kinds"] is None else tuple(map(str, part["kinds"])),
                    tuple(map(str, part["known"])),
                    _fill(part["fill"], part["kinds"]),
                    bool(part["is_told"]),
                )
                for part in data["columns"]
            )
            return cls(columns, None if data["id_column"] is None else str(data["id_column"]))
        except (TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"not the columns of a fit ({error}).") from error


def _fill(value, kinds):
    """What stands for missing values: a text among categories, else a number."""
    if value is None or (kinds is not None and isinstance(value, str)):
        return value
    if kinds is None and type(value) in (int, float):
        return value
    raise TypeError(f"missing values as {value!r}")


def is_text(column):
    """Whether a column holds texts: neither numbers nor truth values."""
    return not (is_numeric_dtype(column) or is_bool_dtype(column))


def check_cells(frame):
    """ValueError if a column holds lists, dicts and the like, as Parquet files may."""
    for name in frame:
        odd = (v for v in frame[name] if not isinstance(v, Hashable))
        found = next(odd, None) if frame[name].dtype == object else None
        if found is not None:
            raise ValueError(
                f"column {name!r} holds values with parts ({type(found).__name__}), neither "
                "numbers nor texts; leave it out by --drop."
            )


def _as_numbers(column):
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = column[numbers.isna() & column.notna()]
    if len(wrong):
        raise NotANumberError(wrong.index[0], column.name, wrong.iloc[0])
    return numbers
