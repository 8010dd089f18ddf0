"""Express each column that the steps of a pipeline compute as a function of one raw column."""

import operator
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from .names import is_missing, plain_cell
from .readers import Level, Reader
from .table_reader import TableReader

_INVERSE = {
    operator.add: operator.sub,
    operator.sub: operator.add,
    operator.mul: operator.truediv,
    operator.truediv: operator.mul,
}
# Monotone functions of numpy, each with its inverse.
_INVERSES: dict[Any, Callable] = {
    np.log: np.exp,
    np.log2: np.exp2,
    np.log10: lambda z: 10.0**z,
    np.log1p: np.expm1,
    np.sqrt: np.square,
    np.cbrt: lambda z: z**3,
    np.exp: np.log,
    np.arcsinh: np.sinh,
}
_PROBES = np.concatenate([-np.geomspace(1e6, 1e-6, 97), [0.0], np.geomspace(1e-6, 1e6, 97)])


@dataclass(frozen=True)
class Source:
    """The origin of a column: a raw column of numbers, or a level of a raw column of categories.

    Parameters
    ----------
    column : int, position of the raw column
    reader : Reader or None
        It turns the cells of the raw column into numbers or categories, if the pipeline begins with
        a TableReader.
    fill
        Value by which an imputer replaces missing values, in raw units. It is None without an
        imputer, and for a level.
    key : str, identifies the level in the raw column; empty for a column of numbers
    category : the level; None if it stands for missing values
    slot : int, position of the level in the list of levels of the raw column
    has_missing : bool, whether missing values of the raw column count as this level
    levels : tuple
        The values of the raw column that are this level.
    is_rest : bool
        Whether instead all other values are this level.
    cell : a value of the raw column that is this level
    """

    column: int
    reader: Reader | None = None
    fill: Any = None
    key: str = ""
    category: Any = field(default=None, compare=False)
    slot: int = field(default=0, compare=False)
    has_missing: bool = False
    levels: tuple = ()
    is_rest: bool = False
    cell: Any = field(default=None, compare=False)

    @property
    def is_category(self):
        """Whether the column has the value 1 for one category and 0 for all other categories."""
        return bool(self.key)


@dataclass(frozen=True, eq=False)
class Increasing:
    """An increasing function of one column, computed by a fitted transformer.

    Parameters
    ----------
    transform, undo : functions of a float array of shape (n, n_columns)
    j : int, position of the column in the input of the transformer
    n_columns : int
    sign : {1.0, -1.0}
        Factor of the values of the transformer; -1 turns a decreasing function into an increasing
        one.
    inside : float
        A number in the domain of the function. If the function is not defined, its value counts as
        minus infinity for arguments below `inside`, and as infinity for larger arguments.
    """

    transform: Callable
    undo: Callable
    j: int
    n_columns: int
    sign: float = 1.0
    inside: float = 1.0

    def __call__(self, x, _=None):
        """Return the values of the function: float or array of the shape of x."""
        x = np.asarray(x, dtype=np.float64)
        found = self.sign * self._evaluate(self.transform, x)
        found = np.where(np.isnan(found), np.where(x < self.inside, -np.inf, np.inf), found)
        return found if found.ndim else float(found)

    def inverse(self, z):
        """Return the arguments for which the function has the values z, up to rounding."""
        found = self._evaluate(self.undo, self.sign * np.asarray(z, dtype=np.float64))
        return found if found.ndim else float(found)

    def checked(self):
        """Return the function with its sign, or None if it is not known to be monotone.

        A continuous function with an inverse is monotone. Whether the inverse undoes the function
        is tested on many numbers. The values of a column must not depend on other rows or columns.
        """
        try:
            values = self._evaluate(self.transform, _PROBES)
            is_known = np.isfinite(values)
            back = self._evaluate(self.undo, values[is_known])
            beside = self._evaluate(self.transform, _PROBES[::2], others=2.0)
        except Exception:  # users' functions can raise any error for unusual numbers
            return None
        known, differences = _PROBES[is_known], np.diff(values[is_known])
        if len(known) < 2 or not np.array_equal(beside, values[::2], equal_nan=True):
            return None
        sign = 1.0 if differences.sum() > 0 else -1.0
        # It is enough if the inverse recovers more than half of the numbers: a function that
        # saturates, such as tanh, rounds all large arguments to the same value.
        is_undone = np.isclose(back, known, rtol=1e-6, atol=1e-9).mean() > 0.5
        if not (is_undone and np.all(sign * differences >= 0)):
            return None
        return replace(self, sign=sign, inside=known[0])

    def _evaluate(self, function, values, others=1.0):
        """Return a function of values; the other columns of the transformer have one value."""
        rows = np.full((values.size, self.n_columns), others)
        rows[:, self.j] = values.ravel()
        # Suppress warnings of overflow for the extreme numbers that a bisection tries, and of
        # missing column names.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                found = np.asarray(function(rows), dtype=np.float64)[:, self.j]
            except ValueError:  # for a number outside of the domain, or for infinity
                if values.size == 1:
                    return np.full(values.shape, np.nan)
                halves = np.array_split(values.ravel(), 2)
                found = np.concatenate([self._evaluate(function, h, others) for h in halves])
        return found.reshape(values.shape)


@dataclass(frozen=True)
class Column:
    """A column that a pipeline step takes or returns, as a monotone function of its source.

    The source is a raw column or a category of one. The function applies the elementary operations
    of the steps one after the other, and each of them rounds. For float64 numbers the result is
    therefore equal to that of the steps bit by bit. Each operation is monotone even after
    rounding, and so is the whole function.

    Parameters
    ----------
    source : Source
    operations : tuple of pairs
        Each pair is either a function of the module `operator` and its second argument (a float),
        or an :class:`Increasing` function and NaN.
    """

    source: Source
    operations: tuple = ()

    def then(self, function, number=np.nan):
        """Return the column after one more operation; `number` is its second argument, if any."""
        return replace(self, operations=(*self.operations, (function, float(number))))

    def __call__(self, x):
        """Return the values of this column for a float or an array of raw values."""
        with np.errstate(all="ignore"):
            for function, number in self.operations:
                x = function(x, number)
        return x

    def inverse(self, z):
        """Return the raw values for which this column has the values z, up to rounding."""
        for function, number in reversed(self.operations):
            if isinstance(function, Increasing):
                z = function.inverse(z)
            else:
                z = _INVERSE[function](z, number)
        return z

    @property
    def is_affine(self):
        """Whether the column is an affine function of its source (only arithmetic operations)."""
        return not any(isinstance(function, Increasing) for function, _ in self.operations)

    @property
    def slope(self):
        """Derivative of the column by its source, if the column is an affine function of it.

        Otherwise, only the sign is meaningful: it is positive for an increasing function.
        """
        slope = 1.0
        for function, number in self.operations:
            if function in (operator.mul, operator.truediv):
                slope = function(slope, number)
        return slope


class UnsupportedStepError(ValueError):
    """The tests of a tree cannot be expressed in the raw columns of its pipeline.

    Parameters
    ----------
    reason : str
    remedy : str, one or more sentences
    """

    def __init__(self, reason, remedy):
        super().__init__(f"{reason} {remedy}")
        self.reason, self.remedy = reason, remedy


BY_EMBEDDING = (
    "If all raw columns are numbers, you can also explain the clusters by them: "
    "model.fit(X, embedding=Z) with the raw columns X, Z = pipeline[:-1].transform(X) and an "
    "estimator that is not in a pipeline."
)


def _unsupported(step, name, reason):
    """Return the error for a step whose output cannot be expressed in raw columns."""
    return UnsupportedStepError(
        f"The step {name!r} ({type(step).__name__}) {reason}, so the tests of the tree cannot be "
        "expressed in the raw columns.",
        BY_EMBEDDING,
    )


@singledispatch
def through(step, columns, name):
    """Return the columns that a fitted step computes; more kinds of steps can be registered.

    Parameters
    ----------
    step : fitted transformer, "passthrough", "drop" or None
    columns : list of Column, the input of the step
    name : str, name of the step in its pipeline

    Returns
    -------
    list of Column

    Raises
    ------
    ValueError
        If a column that the step returns is not a supported function of a single raw column.
    """
    raise _unsupported(step, name, "does not transform columns one by one, or is not supported")


@through.register(str)
@through.register(type(None))
def _word(step, columns, name):
    return [] if step == "drop" else columns


@through.register(FunctionTransformer)
def _function(step, columns, name):
    if step.func is None:
        return columns
    undo = step.inverse_transform if step.inverse_func else _INVERSES.get(step.func)
    n = len(columns)
    functions = [undo and Increasing(step.transform, undo, j, n).checked() for j in range(n)]
    if not all(functions):
        reason = "applies a function that is not known to be monotone in each column"
        remedy = "functions such as numpy.log1p are known, others need an inverse_func"
        raise _unsupported(step, name, f"{reason} ({remedy})")
    # The increasing function times `sign` is the function of the step.
    pairs = zip(columns, functions, strict=True)
    return [column.then(each).then(operator.mul, each.sign) for column, each in pairs]


@through.register(Binarizer)
@through.register(PowerTransformer)
@through.register(QuantileTransformer)
def _increasing(step, columns, name):
    def threshold(z):
        return np.full(z.shape, float(step.threshold))

    undo = getattr(step, "inverse_transform", threshold)
    n = len(columns)
    return [c.then(Increasing(step.transform, undo, j, n)) for j, c in enumerate(columns)]


@through.register(KBinsDiscretizer)
def _bins(step, columns, name):
    if step.encode != "ordinal":
        raise _unsupported(step, name, f"encodes bins as {step.encode!r}, not as 'ordinal'")
    return _increasing(step, columns, name)


@through.register(StandardScaler)
@through.register(RobustScaler)
@through.register(MinMaxScaler)
@through.register(MaxAbsScaler)
def _scale(step, columns, name):
    if getattr(step, "clip", False):  # an old MaxAbsScaler has no option clip
        return _increasing(step, columns, name)
    if isinstance(step, MinMaxScaler):
        operations = (operator.mul, step.scale_), (operator.add, step.min_)
    else:
        center = getattr(step, "mean_" if hasattr(step, "mean_") else "center_", None)
        center = center if getattr(step, "with_mean", True) else None
        operations = (operator.sub, center), (operator.truediv, step.scale_)
    for function, numbers in operations:
        if numbers is not None:
            columns = [c.then(function, number) for c, number in zip(columns, numbers, strict=True)]
    return columns


@through.register(SelectorMixin)
def _selector(step, columns, name):
    return [columns[j] for j in step.get_support(indices=True)]


@through.register(TableReader)
def _reader(step, columns, name):
    places = {column: j for j, column in enumerate(step.feature_names_in_)}
    return [Column(replace(columns[places[c]].source, reader=r)) for _, c, r in step.outputs()]


@through.register(OneHotEncoder)
def _one_hot(step, columns, name):
    dropped = [None] * len(columns) if step.drop_idx_ is None else step.drop_idx_
    found = []
    for column, (values, few), drop in zip(columns, encoded_levels(step), dropped, strict=True):
        is_indicator = column.source.is_category
        if column.operations or (is_indicator and few):
            raise _unsupported(step, name, "encodes columns that a step before it has transformed")
        if is_indicator:  # 1, or 1 in place of 0 and 0 in place of 1
            opposite = column.then(operator.mul, -1.0).then(operator.add, 1.0)
            found += [column if v else opposite for slot, v in enumerate(values) if slot != drop]
        else:
            found += _levels(column.source, values, few, drop, step.handle_unknown != "ignore")
    return found


def encoded_levels(encoder):
    """Return all levels of each column of a OneHotEncoder, and those with one feature together."""
    rare = getattr(encoder, "infrequent_categories_", [None] * len(encoder.categories_))
    pairs = zip(encoder.categories_, rare, strict=True)
    return [(values.tolist(), [] if few is None else few.tolist()) for values, few in pairs]


def _levels(source, values, rare, drop, has_unknown):
    """Return the columns of the levels of one raw column.

    Parameters
    ----------
    source : Source, the raw column
    values : list, all levels in the order of the encoder
    rare : list of the levels that have one column together
    drop : int or None
        Position of a level without a column. If it is rare, no rare level has a column.
    has_unknown : bool
        Whether levels that the fit has not seen count as rare.
    """
    keys, rare_keys = [*map(level_key, values)], {*map(level_key, rare)}
    kept = [slot for slot, key in enumerate(keys) if key not in rare_keys]
    # Missing values are a level of their own or, if an imputer replaces them, that of their fill.
    missing = next((slot for slot, value in enumerate(values) if is_missing(value)), None)
    if missing is None and source.fill is not None:
        missing = next((slot for slot, value in enumerate(values) if value == source.fill), None)
    found = [
        _level(source, keys[slot], plain_cell(values[slot]), slot, slot == missing)
        for slot in kept
        if slot != drop
    ]
    if rare and (drop is None or drop in kept):
        own, cells = _cells(values[slot] for slot in kept), _cells(rare)
        text = "other (rare levels)" if "other" in map(str, own) else "other"
        parts = {"levels": own if has_unknown else cells, "is_rest": has_unknown}
        has_missing = has_unknown if missing is None else missing not in kept
        cell = cells[0] if cells else np.nan
        found.append(_level(source, "rare", text, len(values), has_missing, cell=cell, **parts))
    return found


def _level(source, key, category, slot, has_missing, **parts):
    levels = () if category is None else (category,)
    parts = {"levels": levels, "cell": np.nan if category is None else category, **parts}
    level = Source(source.column, source.reader, None, key, category, slot, has_missing, **parts)
    return Column(level)


def level_key(value):
    """Return a string that identifies a level; all missing values are one level."""
    value = plain_cell(value)
    return "missing" if value is None else repr(value)


def _cells(values):
    """Return the levels that are not missing: tuple."""
    return tuple(plain_cell(value) for value in values if not is_missing(value))


@through.register(SimpleImputer)
def _imputer(step, columns, name):
    _check_marks_missing(step, name, "replaces")
    filled = [
        _filled(column, plain_cell(value))
        for column, value in zip(columns, step.statistics_.tolist(), strict=True)
        # The imputer drops columns without values, unless keep_empty_features=True.
        if step.keep_empty_features or not is_missing(value)
    ]
    return filled + (through(step.indicator_, columns, name) if step.add_indicator else [])


def _check_marks_missing(step, name, verb):
    """Raise an error if a step looks for another value than NaN and the like."""
    if not is_missing(step.missing_values):
        raise _unsupported(step, name, f"{verb} the values {step.missing_values!r}, not NaN")


def _filled(column, value):
    source = column.source
    if source.is_category or source.fill is not None:
        return column  # an encoder or an earlier imputer has left no missing values
    fill = column.inverse(value) if column.operations else value
    return replace(column, source=replace(source, fill=fill))


@through.register(MissingIndicator)
def _missing(step, columns, name):
    _check_marks_missing(step, name, "marks")
    sources = [columns[j].source for j in step.features_]
    if any(source.is_category or source.fill is not None for source in sources):
        reason = "marks missing values that a step before it has replaced (add_indicator=True can)"
        raise _unsupported(step, name, reason)
    return [
        # Readers of one raw column, such as a date and its month, have the same missing values.
        _level(replace(s, reader=s.reader and Level(s.reader.missing)), "missing", None, 0, True)
        for s in sources
    ]


@through.register(Pipeline)
def _chain(step, columns, name):
    return columns_of(step.steps, columns)


@through.register(ColumnTransformer)
def _parts(step, columns, name):
    # Positions of the columns of each part. The user may have selected them by name, slice, mask
    # or callable; scikit-learn has converted all of these to positions.
    inputs, weights = step._transformer_to_input_indices, step.transformer_weights or {}
    parts = []
    for below, part, _ in step.transformers_:
        chosen = [columns[j] for j in inputs[below]]
        if chosen:  # scikit-learn does not fit a part without columns
            found, weight = through(part, chosen, below), weights.get(below)
            if weight == 0:
                raise _unsupported(part, below, 'has the weight 0 (use "drop" in its place)')
            parts += found if weight is None else [c.then(operator.mul, weight) for c in found]
    return parts


def columns_of(steps, columns):
    """Return the columns that steps compute.

    Parameters
    ----------
    steps : list of (str, fitted transformer)
    columns : list of Column, or number of raw columns
    """
    if isinstance(columns, int):
        columns = [Column(Source(j)) for j in range(columns)]
    for name, step in steps:
        columns = through(step, columns, name)
    return columns


def split_text_steps(steps):
    """Split steps into a vectorizer of strings or dicts at the start, and all other steps.

    Returns
    -------
    (list, list)
        The vectorizer and the TfidfTransformers behind it, and the other steps. The first list is
        empty if the first step is not a vectorizer.
    """
    vectorizers = CountVectorizer | HashingVectorizer | DictVectorizer
    n = int(bool(steps) and isinstance(steps[0][1], vectorizers))
    while 0 < n < len(steps) and isinstance(steps[n][1], TfidfTransformer):
        n += 1
    return steps[:n], steps[n:]
