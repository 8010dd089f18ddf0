"""What the steps of a pipeline make of raw columns: each column an affine map of one of them."""

import operator
from dataclasses import dataclass, field, replace
from functools import partial, singledispatch
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

_INVERSE = {
    operator.add: operator.sub,
    operator.sub: operator.add,
    operator.mul: operator.truediv,
    operator.truediv: operator.mul,
}


@dataclass(frozen=True)
class Source:
    """What a column is computed from: a raw column of numbers, or whether it is a category.

    Parameters
    ----------
    column : int, position of the raw column
    key : str, what tells the categories of a column apart; empty for a number
    category : the category, None if it stands for missing values
    slot : int, position of the category among those of the column
    fill : what an imputer puts where a value is missing, in raw units; None if missing values stay
    """

    column: int
    key: str = ""
    category: Any = field(default=None, compare=False)
    slot: int = field(default=0, compare=False)
    fill: Any = None

    @property
    def is_category(self):
        """Whether it is 1 for a category and 0 for others."""
        return bool(self.key)


@dataclass(frozen=True)
class Column:
    """A column of numbers on its way through the steps: slope * source + intercept.

    The map is kept as the elementary operations that scalers do, in order, with the rounding of
    each: for float64 numbers it gives bit by bit what the scalers give. Each operation rounds
    monotonically, hence so does the map.

    Parameters
    ----------
    source : Source
    operations : tuple of (function of the module operator, float)
    """

    source: Source
    operations: tuple = ()

    def then(self, function, number):
        """The column after one operation more."""
        return replace(self, operations=(*self.operations, (function, float(number))))

    def __call__(self, x):
        """What a float or an array becomes."""
        for function, number in self.operations:
            x = function(x, number)
        return x

    def inverse(self, z):
        """What becomes z, up to rounding."""
        for function, number in reversed(self.operations):
            z = _INVERSE[function](z, number)
        return z

    @property
    def slope(self):
        """By what a difference is multiplied."""
        slope = 1.0
        for function, number in self.operations:
            if function in (operator.mul, operator.truediv):
                slope = function(slope, number)
        return slope


@singledispatch
def through(step, columns, name):
    """The columns that a fitted step makes of some; further kinds of steps can be registered.

    Parameters
    ----------
    step : fitted transformer, "passthrough", "drop" or None
    columns : list of Column
    name : str, of the step in its pipeline

    Returns
    -------
    list of Column

    Raises
    ------
    ValueError
        If a column that the step makes is no affine map of one raw column.
    """
    raise _refusal(step, name, "does not map columns one by one, and linearly")


def _refusal(step, name, reason):
    return ValueError(
        f"The step {name!r} ({type(step).__name__}) {reason}, so that the tree has no tests in "
        f"the raw columns; explain what the steps give by the raw columns instead: "
        f"fit(X, embedding=Z) with the raw columns X and Z = pipeline[:-1].transform(X)."
    )


@through.register(str)
@through.register(type(None))
def _word(step, columns, name):
    return [] if step == "drop" else columns


@through.register(FunctionTransformer)
def _function(step, columns, name):
    if step.func is not None:
        raise _refusal(step, name, "applies a function that is not known to be linear")
    return columns


def _scale(operations, step, columns, name):
    """The columns after a scaler's operations: (function, attribute of its numbers, option)."""
    if getattr(step, "clip", False):  # of MaxAbsScaler only in newer scikit-learn
        raise _refusal(step, name, "clips its values (clip=True)")
    for function, attribute, option in operations:
        if getattr(step, option, True):  # not turned off
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


@through.register(OneHotEncoder)
def _one_hot(step, columns, name):
    if step.min_frequency is not None or step.max_categories is not None:
        raise _refusal(step, name, "puts infrequent categories together")
    if any(column.operations or column.source.is_category for column in columns):
        raise _refusal(step, name, "encodes columns that were scaled or encoded before")
    dropped = [None] * len(columns) if step.drop_idx_ is None else step.drop_idx_
    return [
        Column(_category(column.source, slot, value))
        for column, values, drop in zip(columns, step.categories_, dropped, strict=True)
        for slot, value in enumerate(values.tolist())
        if slot != drop
    ]


def _category(source, slot, value):
    fill = source.fill if source.fill == value else None
    return Source(source.column, repr(value), None if _is_missing(value) else value, slot, fill)


def _is_missing(value):
    return value is None or value != value  # noqa: PLR0124  NaN, which may be an object


@through.register(SimpleImputer)
def _imputer(step, columns, name):
    if not _is_missing(step.missing_values):
        raise _refusal(step, name, f"replaces the values {step.missing_values!r}")
    filled = [
        _filled(column, value)
        for column, value in zip(columns, step.statistics_.tolist(), strict=True)
        if step.keep_empty_features or not _is_missing(value)  # others are dropped
    ]
    gaps = step.indicator_.features_ if step.add_indicator else ()
    return filled + [Column(Source(columns[j].source.column, "missing", None)) for j in gaps]


def _filled(column, value):
    source = column.source
    if source.is_category or source.fill is not None:
        return column  # nothing is missing any more
    fill = column.inverse(value) if column.operations else value
    return replace(column, source=replace(source, fill=fill))


@through.register(Pipeline)
def _chain(step, columns, name):
    for below, part in step.steps:
        columns = through(part, columns, below)
    return columns


@through.register(ColumnTransformer)
def _parts(step, columns, name):
    # scikit-learn's own reading of names, slices, masks and callables.
    inputs = step._transformer_to_input_indices
    parts = []
    for below, part, _ in step.transformers_:
        chosen = [columns[j] for j in inputs[below]]
        if chosen:  # without columns a part is not fitted
            parts += through(part, chosen, below)
    return parts


def columns_of(steps, n_raw):
    """The columns that steps make of raw ones.

    Parameters
    ----------
    steps : list of (str, fitted transformer)
    n_raw : int

    Returns
    -------
    list of Column
    """
    columns = [Column(Source(j)) for j in range(n_raw)]
    for name, step in steps:
        columns = through(step, columns, name)
    return columns


def raw_input(steps):
    """Number of raw columns, and their names or None, as the first of some steps has seen them."""
    first = next(step for _, step in steps if hasattr(step, "n_features_in_"))
    names = getattr(first, "feature_names_in_", None)
    return first.n_features_in_, None if names is None else [str(name) for name in names]
