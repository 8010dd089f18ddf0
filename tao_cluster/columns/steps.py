"""Express each column that the steps of a pipeline compute as a function of one raw column."""

import operator
import warnings
from dataclasses import dataclass, field, replace
from functools import partial, singledispatch
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
)
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
    OrdinalEncoder,
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
# Increasing functions, each with its inverse and the number below which it is not defined.
_INCREASING: dict[Any, Any] = {
    np.log: (np.exp, 0.0),
    np.log2: (np.exp2, 0.0),
    np.log10: (lambda z: 10.0**z, 0.0),
    np.log1p: (np.expm1, -1.0),
    np.sqrt: (np.square, 0.0),
    np.cbrt: (lambda z: z**3, -np.inf),
    np.exp: (np.log, -np.inf),
    np.exp2: (np.log2, -np.inf),
    np.expm1: (np.log1p, -np.inf),
    np.sinh: (np.arcsinh, -np.inf),
    np.arcsinh: (np.sinh, -np.inf),
    np.arctan: (np.tan, -np.inf),
    np.tanh: (np.arctanh, -np.inf),
}


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


_FUNCTIONS = tuple(_INCREASING)
_PROBES = np.concatenate([-np.geomspace(1e6, 1e-6, 97), [0.0], np.geomspace(1e-6, 1e6, 97)])


@dataclass(frozen=True, eq=False)
class Increasing:
    """An increasing function of one column, computed by numpy or by a fitted transformer.

    Parameters
    ----------
    function : numpy function of one argument, or fitted transformer with `inverse_transform`
        A Binarizer has no inverse; :meth:`inverse` returns its threshold for both of its values.
    j : int, position of the column in the input of the transformer; not used for numpy functions
    lowest : float
        The function is not defined below this number. There its value counts as minus infinity.
    sign : {1.0, -1.0}
        Factor of the values of the transformer; -1 turns a decreasing function into an increasing
        one.
    inside : float
        A number in the domain of the function. If the function returns NaN, its value counts as
        minus infinity for arguments below `inside`, and as infinity for larger arguments.
    """

    function: Any
    j: int = 0
    lowest: float = -np.inf
    sign: float = 1.0
    inside: float = 1.0

    def __call__(self, x, _=None):
        """Return the values of the function: float or array of the shape of x."""
        x = np.asarray(x, dtype=np.float64)
        is_inside = x >= self.lowest
        with np.errstate(all="ignore"):
            found = self.sign * self._evaluate(np.where(is_inside, x, self.inside), "transform")
        found = np.where(
            is_inside & ~np.isnan(found), found, np.where(x < self.inside, -np.inf, np.inf)
        )
        return found if found.ndim else float(found)

    def inverse(self, z):
        """Return the arguments for which the function has the values z, up to rounding."""
        with np.errstate(all="ignore"):
            found = self._evaluate(self.sign * np.asarray(z, dtype=np.float64), "inverse_transform")
        return found if np.ndim(found) else float(found)

    @classmethod
    def from_inverse(cls, step, j):
        """Return the function of column j of a FunctionTransformer that has an `inverse_func`.

        A continuous function with an inverse is monotone. Whether the inverse undoes the function
        is tested on many numbers. The result is None if it does not, or if the values of a column
        depend on other rows or columns.
        """
        function, probes = cls(step, j), _PROBES
        try:
            values = function._evaluate(probes, "transform")
            is_known = np.isfinite(values)
            back = function._evaluate(values[is_known], "inverse_transform")
            beside = function._evaluate(probes[::2], "transform", others=2.0)
        except Exception:  # users' functions can raise any error for unusual numbers
            return None
        known, differences = probes[is_known], np.diff(values[is_known])
        if len(known) < 2 or not np.array_equal(beside, values[::2], equal_nan=True):
            return None
        sign = 1.0 if differences.sum() > 0 else -1.0
        # It is enough if the inverse recovers more than half of the numbers: a function that
        # saturates, such as tanh, rounds all large arguments to the same value.
        is_undone = np.isclose(back, known, rtol=1e-6, atol=1e-9).mean() > 0.5
        is_monotone = np.all(sign * differences >= 0)
        return cls(step, j, sign=sign, inside=known[0]) if is_undone and is_monotone else None

    def _evaluate(self, values, method, others=1.0):
        """Return the values of a method; the other columns of the transformer have one value."""
        if self.function in _FUNCTIONS:
            return (self.function if method == "transform" else _INCREASING[self.function][0])(
                values
            )
        if isinstance(self.function, Binarizer) and method == "inverse_transform":
            return np.full(np.shape(values), float(self.function.threshold))
        rows = np.full((values.size, self.function.n_features_in_), others)
        rows[:, self.j] = values.ravel()
        with warnings.catch_warnings():
            # Suppress warnings of overflow for the extreme numbers that a bisection tries, and of
            # missing column names.
            warnings.simplefilter("ignore")
            try:
                found = getattr(self.function, method)(rows)
            except ValueError:
                # A scaler inside of the step may refuse infinity, to which such a number overflows.
                if values.size == 1:
                    return np.full(values.shape, np.nan)
                halves = np.array_split(values.ravel(), 2)
                found = np.concatenate([self._evaluate(half, method, others) for half in halves])
                return found.reshape(values.shape)
        return np.asarray(found, dtype=np.float64)[:, self.j].reshape(values.shape)


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

    def raw_distances(self, z, distance):
        """Convert a distance below and above the value z of the column to raw units: two floats."""
        if self.is_affine:
            return (distance / abs(self.slope),) * 2
        below, middle, above = self.inverse(np.array([z - distance, z, z + distance]))
        return abs(middle - below), abs(above - middle)


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
    raise _unsupported(step, name, "does not transform columns one by one")


class UnsupportedStepError(ValueError):
    """The tests of a tree cannot be expressed in the raw columns of its pipeline.

    Parameters
    ----------
    reason : str, one sentence
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


def _unsupported(step, name, reason, remedy=BY_EMBEDDING):
    """Return the error for a step whose output cannot be expressed in raw columns."""
    return UnsupportedStepError(
        f"The step {name!r} ({type(step).__name__}) {reason}, so the tests of the tree cannot be "
        "expressed in the raw columns.",
        remedy,
    )


_FUNCTION_REMEDY = (
    f"Supported are {', '.join(f'numpy.{function.__name__}' for function in _INCREASING)}, and "
    "monotone functions of each column alone for which the FunctionTransformer has an "
    'inverse_func. With feature_names_out="one-to-one", it keeps the names of the columns.'
)


@through.register(str)
@through.register(type(None))
def _word(step, columns, name):
    return [] if step == "drop" else columns


@through.register(FunctionTransformer)
def _function(step, columns, name):
    if step.func is None:
        return columns
    if step.func in _FUNCTIONS and not step.kw_args:
        function = Increasing(step.func, lowest=_INCREASING[step.func][1])
        return [column.then(function) for column in columns]
    is_undone = step.inverse_func is not None
    functions = [
        Increasing.from_inverse(step, j) if is_undone else None for j in range(len(columns))
    ]
    if None in functions:
        reason = "applies a function that is not known to be monotone in each column"
        raise _unsupported(step, name, reason, _FUNCTION_REMEDY)
    # `function` is increasing. If the function of the step is decreasing, `function` is its
    # negative, and `sign` is -1. Multiplying by `sign` gives the function of the step.
    return [
        column.then(function).then(operator.mul, function.sign)
        for column, function in zip(columns, functions, strict=True)
    ]


@through.register(Binarizer)
@through.register(PowerTransformer)
@through.register(QuantileTransformer)
def _increasing(step, columns, name):
    # A Box-Cox transformation takes positive numbers only.
    lowest = np.nextafter(0.0, 1.0) if getattr(step, "method", "") == "box-cox" else -np.inf
    return [c.then(Increasing(step, j, lowest)) for j, c in enumerate(columns)]


@through.register(KBinsDiscretizer)
def _bins(step, columns, name):
    if step.encode != "ordinal":
        remedy = 'KBinsDiscretizer(encode="ordinal") is supported.'
        raise _unsupported(step, name, f"encodes bins as {step.encode!r}", remedy)
    return _increasing(step, columns, name)


@through.register(OrdinalEncoder)
def _ordinal(step, columns, name):
    remedy = "OneHotEncoder is supported in its place."
    raise _unsupported(step, name, "replaces categories by numbers", remedy)


@through.register(DictVectorizer)
@through.register(CountVectorizer)
@through.register(HashingVectorizer)
def _vectorizer(step, columns, name):
    remedy = "A vectorizer is supported as the first step of a pipeline, for all columns at once."
    raise _unsupported(step, name, "converts rows to counts of words or of keys", remedy)


def _scale(operations, step, columns, name):
    """Return the columns that a fitted scaler computes.

    Each of `operations` is a tuple (function, attribute, option), for example
    (operator.truediv, "scale_", "with_std"):

    - function: of two arguments, from the module `operator`; the first one is the column;
    - attribute: name of the fitted attribute that holds the second argument for each column;
    - option: name of the parameter that turns the operation off if it is False, "" if there is
      none.
    """
    if getattr(step, "clip", False):  # an old MaxAbsScaler has no option clip
        return _increasing(step, columns, name)
    for function, attribute, option in operations:
        if getattr(step, option, True):
            numbers = getattr(step, attribute)
            columns = [c.then(function, number) for c, number in zip(columns, numbers, strict=True)]
    return columns


_SUBTRACT, _DIVIDE = operator.sub, operator.truediv
for _scaler, _operations in (
    (StandardScaler, [(_SUBTRACT, "mean_", "with_mean"), (_DIVIDE, "scale_", "with_std")]),
    (RobustScaler, [(_SUBTRACT, "center_", "with_centering"), (_DIVIDE, "scale_", "with_scaling")]),
    (MinMaxScaler, [(operator.mul, "scale_", ""), (operator.add, "min_", "")]),
    (MaxAbsScaler, [(_DIVIDE, "scale_", "")]),
):
    through.register(_scaler, partial(_scale, _operations))


@through.register(SelectorMixin)
def _selector(step, columns, name):
    return [columns[j] for j in step.get_support(indices=True)]


@through.register(TableReader)
def _reader(step, columns, name):
    places = {column: j for j, column in enumerate(step.feature_names_in_)}
    return [Column(replace(columns[places[c]].source, reader=r)) for _, c, r in step.outputs()]


@through.register(OneHotEncoder)
def _one_hot(step, columns, name):
    if any(column.operations for column in columns):
        remedy = "Apply OneHotEncoder to raw columns, for example in a ColumnTransformer."
        reason = "encodes columns that a step before it has transformed"
        raise _unsupported(step, name, reason, remedy)
    dropped = [None] * len(columns) if step.drop_idx_ is None else step.drop_idx_
    rare = getattr(step, "infrequent_categories_", [None] * len(columns))
    found = []
    categories = [values.tolist() for values in step.categories_]
    rare = [[] if values is None else values.tolist() for values in rare]
    for column, values, few, drop in zip(columns, categories, rare, dropped, strict=True):
        if not column.source.is_category:
            found += _levels(column.source, values, few, drop, step.handle_unknown != "ignore")
        elif few:
            remedy = "Leave the indicator out of the encoder: it is a 0/1 column already."
            raise _unsupported(step, name, "combines the values of an indicator", remedy)
        else:
            kept = (value for slot, value in enumerate(values) if slot != drop)
            found += [column if value else _negated(column) for value in kept]
    return found


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
    keys, rare_keys = [_key(value) for value in values], {_key(value) for value in rare}
    kept = [slot for slot, key in enumerate(keys) if key not in rare_keys]
    missing = next((slot for slot, value in enumerate(values) if is_missing(value)), None)
    # `missing` is the position of the level of missing values: a level of their own or, if an
    # imputer replaces them, the level that replaces them.
    if missing is None and source.fill is not None:
        missing = next((slot for slot, value in enumerate(values) if value == source.fill), None)
    found = [
        _level(source, keys[slot], plain_cell(values[slot]), slot, has_missing=slot == missing)
        for slot in kept
        if slot != drop
    ]
    if rare and drop not in set(range(len(values))) - set(kept):
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


def _key(value):
    """Return a string that identifies a level; None and NaN are different levels."""
    value = None if value is None else plain_cell(value)
    return "missing" if value is None else repr(value)


def _cells(values):
    """Return the levels that are not missing: tuple."""
    return tuple(plain_cell(value) for value in values if not is_missing(value))


def _negated(column):
    """Return the column with 1 in place of 0 and 0 in place of 1."""
    return column.then(operator.mul, -1.0).then(operator.add, 1.0)


@through.register(SimpleImputer)
def _imputer(step, columns, name):
    if not is_missing(step.missing_values):
        remedy = "Replace these values by NaN before the fit: SimpleImputer then replaces NaN."
        raise _unsupported(step, name, f"replaces the values {step.missing_values!r}", remedy)
    filled = [
        _filled(column, plain_cell(value))
        for column, value in zip(columns, step.statistics_.tolist(), strict=True)
        # The imputer drops columns without values, unless keep_empty_features=True.
        if step.keep_empty_features or not is_missing(value)
    ]
    return filled + (through(step.indicator_, columns, name) if step.add_indicator else [])


def _filled(column, value):
    source = column.source
    if source.is_category or source.fill is not None:
        return column  # an encoder or an earlier imputer has left no missing values
    fill = column.inverse(value) if column.operations else value
    return replace(column, source=replace(source, fill=fill))


@through.register(MissingIndicator)
def _missing(step, columns, name):
    if not is_missing(step.missing_values):
        remedy = "Replace these values by NaN before the fit: MissingIndicator then marks NaN."
        raise _unsupported(step, name, f"marks the values {step.missing_values!r}", remedy)
    sources = [columns[j].source for j in step.features_]
    if any(source.is_category or source.fill is not None for source in sources):
        remedy = "SimpleImputer(add_indicator=True) marks the values that it replaces."
        reason = "marks missing values that a step before it has replaced"
        raise _unsupported(step, name, reason, remedy)
    return [
        # Readers of one raw column, such as a date and its month, have the same missing values.
        _level(replace(s, reader=s.reader and Level(s.reader.missing)), "missing", None, 0, True)
        for s in sources
    ]


@through.register(Pipeline)
def _chain(step, columns, name):
    for below, part in step.steps:
        columns = through(part, columns, below)
    return columns


@through.register(ColumnTransformer)
def _parts(step, columns, name):
    # Positions of the columns of each part. The user may have selected them by name, slice, mask
    # or callable; scikit-learn has converted all of these to positions.
    inputs, weights = step._transformer_to_input_indices, step.transformer_weights or {}
    parts = []
    for below, part, _ in step.transformers_:
        chosen = [columns[j] for j in inputs[below]]
        if chosen:  # scikit-learn does not fit a part without columns
            found = through(part, chosen, below)
            weight = weights.get(below)
            if weight == 0:
                remedy = 'Use "drop" in place of a transformer with the weight 0.'
                raise _unsupported(part, below, "has the weight 0", remedy)
            parts += found if weight is None else [c.then(operator.mul, weight) for c in found]
    return parts


def columns_of(steps, n_raw):
    """Return the columns that the steps compute from raw columns.

    Parameters
    ----------
    steps : list of (str, fitted transformer)
    n_raw : int, number of raw columns

    Returns
    -------
    list of Column
    """
    columns = [Column(Source(j)) for j in range(n_raw)]
    for name, step in steps:
        columns = through(step, columns, name)
    return columns


def raw_input(steps):
    """Return the number of raw columns and their names (or None), which the first step stores."""
    first = next(step for _, step in steps if hasattr(step, "n_features_in_"))
    names = getattr(first, "feature_names_in_", None)
    return first.n_features_in_, None if names is None else [str(name) for name in names]


def split_text_steps(steps):
    """Split steps into a vectorizer of strings or dicts at the start, and all other steps.

    Returns
    -------
    (list, list)
        The vectorizer and the TfidfTransformers behind it, and the other steps. The first list is
        empty if the first step is not a vectorizer.
    """
    if not steps or not isinstance(
        steps[0][1], CountVectorizer | HashingVectorizer | DictVectorizer
    ):
        return [], steps
    n = 1
    while n < len(steps) and isinstance(steps[n][1], TfidfTransformer):
        n += 1
    return steps[:n], steps[n:]
