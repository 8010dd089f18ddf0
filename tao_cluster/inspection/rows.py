"""Statistics of rows, in the nodes of a tree and of the columns of any table; decision paths."""

import itertools
import math
import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.pipeline import Pipeline
from sklearn.utils.sparsefuncs import mean_variance_axis

from .._utils.frames import (
    are_default,
    as_pandas,
    check_aligned,
    check_list_of_names,
    display_names,
)
from .._utils.matrices import FLOATS, check_rows, checked_array
from ..columns.decide import Options, decide, with_careful_answer
from ..columns.names import (
    Indicator,
    Numbered,
    Numeric,
    check_feature_names,
    has_indicators,
    printable,
)
from ..columns.readers import Level, Number, Reader
from ..columns.schema import NA_VALUES, Schema
from ..columns.steps import split_text_steps
from ..columns.table_reader import TableReader
from ..columns.view import RawView, as_frame, flat_steps, numbers_of, transformed
from ..export.format import percent_text, tested_name
from ..objectives.base import cluster_sums
from ..tree import tree_of
from ..tree.routing import kernel_arrays, project

_MOST_LEVELS = 100  # levels of a column whose shares are computed, the most frequent first
_OPTIONS = Options("median", NA_VALUES, _MOST_LEVELS, None, (), (), (), (), Schema())
_MOST_DECIMALS = 6
_DECILES = 2.563  # standard deviations from the 10 % to the 90 % quantile of normal numbers
_GROUP = "\N{NO-BREAK SPACE}"  # between thousands
_NEGATIVE = re.compile(r"(?<!\w)-")  # not the hyphens of a date


def picture_kind(tree, rows, image_shape, feature_names):
    """Return how the nodes of a tree are best shown: as "image", "words" or "bars".

    Parameters
    ----------
    tree : Tree
    rows : Rows or None
    image_shape : (height, width) or None
    feature_names : list of str or Indicator

    Returns
    -------
    str
        "image" if there is an image shape. "words" if the rows are sparse and not one-hot encoded,
        since their features are then the words of a vocabulary. "bars" otherwise.

    Raises
    ------
    ValueError
        If the number of pixels is not the number of features.
    """
    if image_shape is not None:
        check_image_shape(image_shape, tree.n_features)
        return "image"
    is_table = has_indicators(feature_names)  # one-hot encoded columns are not words
    is_text = rows is not None and sp.issparse(rows.X) and not is_table
    return "words" if is_text else "bars"


def check_image_shape(image_shape, n_features):
    """Raise a ValueError if an image of shape (height, width) does not have a pixel per feature."""
    if image_shape[0] * image_shape[1] != n_features:
        raise ValueError(f"image_shape {tuple(image_shape)} does not hold {n_features} features.")


class Difference(NamedTuple):
    """The mean of a feature in a leaf, beside its mean over all rows.

    Parameters
    ----------
    feature : int
    name : str
        The name of the feature; for the level of a categorical column "island: Torgersen".
    deviation : float
        The difference of the means, in standard deviations of all rows.
    text : str
        Both means in the units of the column: "83 000 (47 000)", "84 % (15 %)" or two dates.
    """

    feature: int
    name: str
    deviation: float
    text: str


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows and the leaves of a tree that they reach.

    Parameters
    ----------
    tree : Tree
    X : array or CSR matrix of shape (n, n_features)
    leaf_of_row : int array of shape (n,)
        Leaf that each row reaches.
    classes : int array of shape (n,) or None
        Positions of the classes of the rows in `class_names`; None if they are unknown.
    class_names : list of str
    weight : float64 array of shape (n,), optional
        Sample weights; the default is 1 per row.
    known_clusters : int array of shape (n,), optional
        Clusters of the rows if they are not those of the leaves, as in a part of a tree.
    gaps : bool array of shape (n, n_features), optional
        Where values of X stand for missing ones, which means leave out.
    """

    tree: Any
    X: Any
    leaf_of_row: np.ndarray
    classes: np.ndarray | None
    class_names: list[str]
    weight: np.ndarray | None = None
    known_clusters: np.ndarray | None = None
    gaps: np.ndarray | None = None

    @classmethod
    def from_data(cls, model, X, y=None, class_names=None, weight=None):
        """Check rows and route them through the tree of a model.

        Returns
        -------
        Rows, or None if X is None

        Raises
        ------
        ValueError
            If X does not fit the tree, `y` does not fit X or `class_names` does not fit `y`.
        """
        if class_names is not None and y is None:
            raise ValueError("class_names needs y, the classes of the rows that it names.")
        if X is None and y is not None:
            raise ValueError("y needs X, the rows whose classes it gives.")
        if X is None:
            return None
        check_aligned(X, y=y)
        gaps = model.gaps(X) if isinstance(model, RawView) else None
        tree, X = tree_of(model), check_rows(numbers_of(model, X))
        leaf_of_row = tree.apply(X)
        if y is None:
            return cls(tree, X, leaf_of_row, None, [], weight, gaps=gaps)
        y = np.asarray(y)
        if y.shape != (X.shape[0],):
            raise ValueError(f"y has shape {y.shape}, but X has {X.shape[0]} rows.")
        values, classes = np.unique(y, return_inverse=True)
        check_list_of_names(class_names, "class_names")
        names = [printable(str(name)) for name in (values if class_names is None else class_names)]
        if len(names) != len(values):
            raise ValueError(f"Got {len(names)} class names for {len(values)} classes in y.")
        return cls(tree, X, leaf_of_row, classes, names, weight, gaps=gaps)

    def through(self, tree, stands_for):
        """Return a copy of the rows for another tree, such as the upper part of this tree.

        The rows of leaf i of this tree are in the leaf stands_for[i] of `tree`. They keep their
        clusters. Rows of leaves with stands_for[i] = -1 are left out.
        """
        leaf_of_row = stands_for[self.leaf_of_row]
        here = np.flatnonzero(leaf_of_row >= 0)
        kept = {"X": self.X, "leaf_of_row": leaf_of_row, "classes": self.classes}
        kept |= {"weight": self.weight, "known_clusters": self.clusters, "gaps": self.gaps}
        if len(here) < len(leaf_of_row):
            kept = {name: None if part is None else part[here] for name, part in kept.items()}
        return replace(self, tree=tree, **kept)

    @property
    def clusters(self):
        """Cluster of each row: int array of shape (n,)."""
        if self.known_clusters is not None:
            return self.known_clusters
        return self.tree.leaf_label[self.leaf_of_row]

    @cached_property
    def counts(self):
        """Sum of the weights of the rows that reach each node; without weights, their number."""
        return self.tree.node_counts(self.leaf_of_row, self.weight)

    @cached_property
    def limits(self):
        """Smallest and largest value of X, over all rows and features."""
        return float(self.X.min()), float(self.X.max())

    @cached_property
    def means(self):
        """Mean of the rows of each node: array (n_nodes, n_features), 0 at nodes without rows.

        It is NaN if all values of the rows are missing.
        """

        def sums(values):
            at_leaves = cluster_sums(values, self.leaf_of_row, weight, self.tree.n_nodes)
            return self.tree.path_matrix.T @ at_leaves

        weight = np.ones(len(self.leaf_of_row)) if self.weight is None else self.weight
        X, counts = self.X, self.counts[:, None]
        if self.gaps is not None:
            X, counts = np.where(self.gaps, 0.0, self.X), sums((~self.gaps).astype(np.float64))
        unknown = np.where(self.counts[:, None] > 0, np.nan, 1.0)
        return sums(X) / np.where(counts > 0, counts, unknown)

    @cached_property
    def moments(self):
        """Mean and standard deviation of every feature over all rows."""
        if sp.issparse(self.X):
            mean, variance = mean_variance_axis(self.X, axis=0, weights=self.weight)
            return mean, np.sqrt(variance)
        X = self.X if self.gaps is None else np.ma.array(self.X, mask=self.gaps)
        mean = np.ma.filled(np.ma.average(X, axis=0, weights=self.weight), 0.0)
        variance = np.ma.average((X - mean) ** 2, axis=0, weights=self.weight)
        return mean, np.sqrt(np.ma.filled(variance, 0.0))

    def words(self, leaf, n):
        """Return the n features with the largest positive mean in a leaf, and these means."""
        mean = self.means[leaf]
        most = np.argsort(-mean, kind="stable")[:n]
        most = most[mean[most] > 0]
        return most, mean[most]

    def differences(self, leaf, n, names):
        """Return the n features whose mean in a leaf deviates most from the mean of all rows.

        Deviations are compared in standard deviations of all rows.

        Parameters
        ----------
        leaf : int
        n : int
        names : sequence of str, names of all features

        Returns
        -------
        list of Difference, the largest deviation first
        """
        mean, deviation = self.moments
        off = np.zeros(len(mean))
        if self.counts[leaf] > 0:
            off = (self.means[leaf] - mean) / np.where(deviation > 0, deviation, 1.0)
            off[np.isnan(off)] = 0.0
        found = []
        for j in np.argsort(-np.abs(off), kind="stable")[:n].tolist():
            name, is_share = names[j], bool(self._is_binary[j])
            feature = Feature("", "", is_share=is_share, reader=getattr(name, "reader", None))
            numbers = float(self.means[leaf, j]), float(mean[j])
            both = (feature.text(number, float(deviation[j])) for number in numbers)
            text = _NEGATIVE.sub("\N{MINUS SIGN}", "{} ({})".format(*both))
            if is_share and isinstance(name, Indicator):
                name = f"{printable(name.column)}: {name.level}"
            found.append(Difference(j, str(name), float(off[j]), text))
        return found

    @cached_property
    def _is_binary(self):
        """Whether all values of each feature are 0 or 1: bool array of shape (n_features,)."""
        if sp.issparse(self.X):
            others = self.X.indices[(self.X.data != 0) & (self.X.data != 1)]
            return np.bincount(others, minlength=self.X.shape[1]) == 0
        return ((self.X == 0) | (self.X == 1)).all(axis=0)

    def class_shares(self, leaf):
        """Return the share of each class among the rows of a leaf."""
        here = self.leaf_of_row == leaf
        weight = None if self.weight is None else self.weight[here]
        counts = np.bincount(self.classes[here], weight, minlength=len(self.class_names))
        return counts / (counts.sum() or 1)

    def reaching(self, node):
        """Return a mask of the rows that reach a node."""
        return self.tree.path_matrix[:, [node]].toarray().ravel()[self.leaf_of_row] > 0


@dataclass(frozen=True, eq=False)
class DecisionPath:
    """Decision path of one row.

    Parameters
    ----------
    values : float64 array or CSR matrix of shape (1, n_features)
        The row.
    leaf : int
        Node number of its leaf.
    totals : dict of float
        Weighted sum of each test on the path by node number, in the order of the path. The terms
        of a sum are added in the same order as in `predict`.
    """

    values: Any
    leaf: int
    totals: dict


def decision_paths(model, table):
    """Return the decision path of each row.

    Parameters
    ----------
    model : Tree, fitted estimator or RawView of a pipeline
    table : result of :func:`tao_cluster.columns.some_rows`

    Returns
    -------
    list of DecisionPath
    """
    tree, rows = tree_of(model), numbers_of(model, table)
    # A table keeps its column names, which an estimator compares with those of the fit.
    leaves = model.apply(table) if hasattr(table, "columns") else tree.apply(rows)
    values = rows if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
    return [_path(tree, values[[i]], int(leaf)) for i, leaf in enumerate(leaves)]


def _path(tree, values, leaf):
    view, first = kernel_arrays(values), np.zeros(1, dtype=np.int64)
    nodes = [node for node, _ in itertools.pairwise(tree.path(leaf).tolist())]
    return DecisionPath(
        values, leaf, {i: float(project(view, first, *tree.split(i))[0]) for i in nodes}
    )


# ---------------------------------------------------------------- columns of any table


class Feature(NamedTuple):
    """A quantity to compare between groups: a column of numbers, or a share of a level or of gaps.

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
                return cls.from_table(table, {name: each for name, _, each in reader.outputs()})
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
        return cls.from_table(pd.DataFrame(columns, index=table.index), readers)

    @classmethod
    def from_table(cls, table, readers):
        """Return the values of columns that were read: floats, or levels as objects."""
        features, numbers, marks = [], [], []
        for name, reader in readers.items():
            cells = table[name]
            if isinstance(reader, Level):
                codes, kinds = pd.factorize(cells)
                order = cells.value_counts().index[:_MOST_LEVELS]
                marks += [
                    (Feature(name, Indicator(name, kind), True, True), codes == i)
                    for i, kind in enumerate(kinds)
                    if kind in order
                ]
            else:
                label = tested_name(Numeric(printable(name), None, reader))
                is_binary = bool(cells.isin((0.0, 1.0)).all())
                features.append(Feature(name, label, is_binary, reader=reader))
                numbers.append(cells.to_numpy(np.float64))
            is_missing = cells.isna().to_numpy()
            marks.append((Feature(name, Indicator(name, None), True, True), is_missing))
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

    def medians(self, groups, n_groups):
        """Return :meth:`means` with medians of numbers, and deviations that follow from deciles.

        Deviations of normal numbers are as usual, and 20 points of a share are half of one. Sparse
        numbers, and columns most of whose numbers are equal, keep means and deviations.
        """
        found, table = self.means(groups, np.ones(self.n_rows), n_groups), self.numbers
        if sp.issparse(table):
            return found
        low, middle, high = pd.DataFrame(table).quantile([0.1, 0.5, 0.9]).to_numpy()
        is_share = np.array([feature.is_share for feature in self.features], bool)
        robust = np.flatnonzero((high > low) & ~is_share[: len(low)])
        medians = pd.DataFrame(table[:, robust]).groupby(groups).median()
        found.mean[:, robust] = medians.reindex(np.arange(n_groups))
        found.overall[robust] = middle[robust]
        found.std[robust], found.std[is_share] = (high - low)[robust] / _DECILES, 1 / _DECILES
        return found

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
        # The one of the two levels of a column with the larger share.
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
