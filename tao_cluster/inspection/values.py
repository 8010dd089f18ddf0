"""Values of the columns of any table, and their means in groups of rows."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.pipeline import Pipeline
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._utils.frames import are_default, as_pandas, display_names
from .._utils.matrices import FLOATS, check_rows, checked_array
from ..columns.decide import Options, decide, with_careful_answer
from ..columns.names import Indicator, Numbered, Numeric, check_feature_names, printable
from ..columns.readers import Level, Number, Reader
from ..columns.schema import NA_VALUES, Schema
from ..columns.steps import split_text_steps
from ..columns.table_reader import TableReader
from ..columns.view import RawView, as_frame, flat_steps, transformed
from ..export.format import percent_text, tested_name
from ..objectives.base import cluster_sums

_MOST_LEVELS = 100  # levels of a column whose shares are computed, the most frequent first
_OPTIONS = Options("median", NA_VALUES, _MOST_LEVELS, None, (), (), (), (), Schema())
_MOST_DECIMALS = 6
_GROUP = "\N{NO-BREAK SPACE}"  # between thousands


class Feature(NamedTuple):
    """What is compared between groups: a column of numbers, or the share of a level or of gaps.

    Parameters
    ----------
    column : str
    label : str
        "age", "weight (kg)", "plan is gold" or "income is missing".
    is_share : bool
        Whether the values are 0 and 1.
    is_level : bool
        Whether it is a level, or the missing values, of a column.
    reader : Reader, optional
        Reader of numbers, which knows dates.
    """

    column: str
    label: str
    is_share: bool = False
    is_level: bool = False
    reader: Reader | None = None

    @property
    def phrase(self):
        """The label as the beginning of a phrase about shares or means."""
        return f"{self.label} in" if self.is_level else self.label

    def text(self, value, std, *, is_step=False):
        """Return a mean as text, to about a tenth of a standard deviation: "83 000", "84 %".

        With `is_step`, it is the difference of two means: "35 days", "12 points".
        """
        if not math.isfinite(value):
            return "unknown"
        if self.is_share:
            return f"{100 * value:.0f} points" if is_step else percent_text(value)
        steps, unit = getattr(self.reader, "steps", ()), ""
        if steps and not is_step and self.reader.text(value):
            step = next((step for step in steps if 10 * step <= std), steps[-1])
            return self.reader.text(round(value / step) * step)
        if steps:
            unit = f" {self.reader.unit.split(' ')[0]}"
        decimals = 1 - math.floor(math.log10(std)) if std > 0 else 3
        if decimals > _MOST_DECIMALS or abs(value) >= 1e15:
            return f"{value:.3g}{unit}"
        return grouped(f"{round(value, decimals) + 0.0:.{max(decimals, 0)}f}") + unit


def grouped(text):
    """Return the text of a number with spaces between thousands, from 10 000 on.

    Examples
    --------
    >>> grouped("83000.5").replace("\N{NO-BREAK SPACE}", "_"), grouped("2472"), grouped("1e+30")
    ('83_000.5', '2472', '1e+30')
    """
    whole, point, rest = text.partition(".")
    if len(whole.removeprefix("-")) < 5 or not whole.removeprefix("-").isdigit():
        return text
    return f"{int(whole):,}".replace(",", _GROUP) + point + rest


@dataclass(frozen=True, eq=False)
class Values:
    """The columns of a table as numbers, and as 0/1 features of levels and of missing values.

    Parameters
    ----------
    features : list of Feature, first those of `numbers`
    numbers : float array, which may have NaN, or CSR matrix of shape (n, n_numbers)
    marks : CSR matrix of shape (n, n_marks), of 0 and 1
    """

    features: list[Feature]
    numbers: Any
    marks: Any

    @classmethod
    def from_rows(cls, model, view, X, names):
        """Read the rows that a model takes.

        Parameters
        ----------
        model : Tree, fitted estimator or pipeline
        view : RawView of a pipeline, or the model
        X : rows as the model takes them
        names : sequence of str or None, of the columns of X if it has none
        """
        kept = None
        if isinstance(model, Pipeline):
            steps = flat_steps(model)[:-1]
            n_text = len(split_text_steps(steps)[0])
            is_view = isinstance(view, RawView)
            X = view.vectorized(X) if is_view else transformed(steps[:n_text], X)
            if steps and isinstance(steps[0][1], TableReader):
                reader, table = steps[0][1], steps[0][1].transform(X)
                return cls._from_table(table, {name: each for name, _, each in reader.outputs()})
            if is_view and view.fit_names and not view.text_steps:
                X = X if hasattr(X, "columns") else as_frame(X, view.fit_names)
                kept = view.used_columns
            if n_text:
                has_names = hasattr(steps[0][1], "get_feature_names_out")
                names = steps[0][1].get_feature_names_out() if has_names else None
            elif is_view:
                names = view.raw_names
        X = as_pandas(X) if hasattr(X, "shape") else np.asarray(X)
        if hasattr(X, "iloc"):
            return cls._from_frame(X, kept)
        if getattr(getattr(X, "dtype", None), "kind", "") in "OUS":
            return cls._from_frame(as_frame(X, check_feature_names(names, X.shape[1])), kept)
        if sp.issparse(X):
            X = check_rows(X)
        else:
            X = checked_array(X, dtype=FLOATS, ensure_all_finite="allow-nan")
        names = check_feature_names(names, X.shape[1])
        is_binary = np.zeros(X.shape[1], dtype=bool)
        if not sp.issparse(X):
            is_binary = ((X == 0) | (X == 1)).all(axis=0)
        features = [
            Feature(str(name), printable(str(name)), is_share=bool(is_share))
            for name, is_share in zip(names, is_binary, strict=True)
        ]
        return cls._with_marks(features, X, [])

    @classmethod
    def _from_frame(cls, table, kept):
        """Read a DataFrame whose columns have no readers; names and identifiers are left out."""
        names, readers, columns = display_names(table), {}, {}
        for j, name in enumerate(Numbered(len(names)) if are_default(names) else names):
            column = table.iloc[:, j]
            reader = _reader_of(column, name) if kept is None or name in kept else None
            if reader is not None:
                readers[name], columns[name] = reader, reader.read(column)
        return cls._from_table(pd.DataFrame(columns, index=table.index), readers)

    @classmethod
    def _from_table(cls, table, readers):
        """Return the values of columns that were read: floats, or levels as objects."""
        features, numbers, marks = [], [], []
        for name, reader in readers.items():
            cells = table[name]
            if isinstance(reader, Level):
                codes, kinds = pd.factorize(cells)
                order = cells.value_counts().index[:_MOST_LEVELS]
                marks += [
                    (Feature(name, str(Indicator(name, kind)), True, True), codes == i)
                    for i, kind in enumerate(kinds)
                    if kind in order
                ]
            else:
                label = tested_name(Numeric(printable(name), None, reader))
                is_binary = bool(cells.isin((0.0, 1.0)).all())
                features.append(Feature(name, label, is_binary, reader=reader))
                numbers.append(cells.to_numpy(np.float64))
            is_missing = cells.isna().to_numpy()
            marks.append((Feature(name, str(Indicator(name, None)), True, True), is_missing))
        block = np.column_stack(numbers) if numbers else np.empty((len(table), 0))
        return cls._with_marks(features, block, marks)

    @classmethod
    def _with_marks(cls, features, numbers, marks):
        """Return values with the 0/1 features `marks`: list of (Feature, bool array)."""
        marks = [(feature, is_here) for feature, is_here in marks if is_here.any()]
        columns = [sp.csc_matrix(is_here[:, None].astype(np.float64)) for _, is_here in marks]
        empty = sp.csr_matrix((numbers.shape[0], 0))
        block = sp.hstack(columns, format="csr") if columns else empty
        return cls([*features, *(feature for feature, _ in marks)], numbers, block)

    @property
    def n_rows(self):
        """Number of rows."""
        return self.numbers.shape[0]

    @cached_property
    def _is_known(self):
        """Where numbers are known: float array, or None if all are."""
        if sp.issparse(self.numbers) or not np.isnan(self.numbers).any():
            return None
        return (~np.isnan(self.numbers)).astype(np.float64)

    def means(self, groups, weight, n_groups):
        """Return the means of all features in groups of rows, and over all rows: Means.

        Parameters
        ----------
        groups : int array of shape (n,), each below `n_groups`; -1 stands for the last group
        weight : float64 array of shape (n,)
        n_groups : int
        """
        groups = np.where(groups < 0, n_groups - 1, groups)
        totals = np.bincount(groups, weight, n_groups)[:, None]
        known, filled = self._is_known, self.numbers
        sizes = np.broadcast_to(totals, (n_groups, filled.shape[1]))
        if known is not None:
            filled = np.where(known > 0, filled, 0.0)
            sizes = cluster_sums(known, groups, weight, n_groups)
        sums = cluster_sums(filled, groups, weight, n_groups)
        marked = cluster_sums(self.marks, groups, weight, n_groups)
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            mean = np.hstack([sums / sizes, marked / totals])
            overall = np.hstack([sums.sum(0) / sizes.sum(0), marked.sum(0) / totals.sum()])
        center, share = np.split(overall, [filled.shape[1]])
        if sp.issparse(filled):
            variance = mean_variance_axis(filled, axis=0, weights=weight)[1]
        else:
            squares = (np.where(True if known is None else known > 0, filled, center) - center) ** 2
            variance = weight @ squares / np.maximum(sizes.sum(0), np.finfo(float).tiny)
        std = np.sqrt(np.hstack([variance, share * (1 - share)]))
        return Means(self.features, mean, overall, std)

    def columns(self, which, here):
        """Return some features of the rows in a mask as a float array, with NaN for gaps."""
        n = self.numbers.shape[1]
        parts = [(self.numbers, j) if j < n else (self.marks, j - n) for j in which]
        found = [block[here][:, [j]] for block, j in parts]
        found = [c.toarray() if sp.issparse(c) else c for c in found]
        return np.hstack([np.empty((int(here.sum()), 0)), *found])


@dataclass(frozen=True, eq=False)
class Means:
    """Means of features in groups, their means over all rows, and their standard deviations.

    Parameters
    ----------
    features : list of Feature
    mean : float64 array of shape (n_groups, n_features); NaN where no value is known
    overall, std : float64 arrays of shape (n_features,)
    """

    features: list[Feature]
    mean: np.ndarray
    overall: np.ndarray
    std: np.ndarray

    def deviations(self, first, second=None):
        """Return the differences of a group from another, or from all rows, in deviations."""
        other = self.overall if second is None else self.mean[second]
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            found = (self.mean[first] - other) / self.std
            is_known = (self.std > 1e-9 * np.abs(self.overall)) & np.isfinite(found)
        # A standard deviation of rounding errors makes no difference.
        return np.where(is_known, found, 0.0)

    def largest(self, deviations, n):
        """Return the positions of the largest deviations, at most one level per column: list."""
        found, seen = [], set()
        # Of the two levels of a column, the one with the larger share.
        for j in np.lexsort((-deviations, -np.round(np.abs(deviations), 9))).tolist():
            feature = self.features[j]
            key = (feature.column, feature.is_level)
            if len(found) == n or deviations[j] == 0:
                break
            if key not in seen:
                seen.add(key)
                found.append(j)
        return found

    def text(self, j, value, *, is_step=False):
        """Return the text of a mean of a feature, or of the difference of two means."""
        return self.features[j].text(float(value), float(self.std[j]), is_step=is_step)


def _reader_of(column, name):
    """Return the reader of a raw column, or None if it is left out: names, lists, ..."""
    if is_numeric_dtype(column) and not is_bool_dtype(column):
        return Number()
    found = decide(column, name, _OPTIONS)
    if found.question:
        found = with_careful_answer(column, found.question, _OPTIONS)
    return next(iter(found.readers), None)
