"""Exact conversion between Python values and JSON values, without running code from a file."""

import base64
import math
from dataclasses import dataclass, fields
from inspect import isclass
from types import UnionType
from typing import Any, ClassVar, get_args, get_origin

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.cluster import MiniBatchKMeans
from sklearn.mixture import GaussianMixture

import greedy

from .._utils.options import Part, name_of
from ..columns import Indicator, Numeric
from ..columns.readers import Reader
from ..columns.schema import READERS
from ..estimator import TAOClustering
from ..initial_trees import InTurn
from ..objectives import Objective
from ..problem.scaling import ClusteringSpace, Scaling
from ..tree import Split, Tree
from ..tree.growth import Growth


class UnsavableError(ValueError):
    """Error for a value of a type that the format does not support."""


@dataclass(frozen=True)
class UnsavedObjective(Objective):
    """Stands in a loaded model for the objective that its file does not hold.

    Parameters
    ----------
    name : str
        Name of the class of the objective.
    has_labels : bool
        Its attribute `explains_labels`.
    """

    name: str
    has_labels: bool = False
    is_missing: ClassVar[bool] = True

    @classmethod
    def from_objective(cls, objective):
        """Return the object that stands for an objective in a file."""
        return cls(name_of(objective), bool(getattr(objective, "explains_labels", False)))

    @property
    def explains_labels(self):  # type: ignore[override]
        """Whether the objective explains labels y that `fit` is given."""
        return self.has_labels

    def _raise(self, *arguments):
        raise ValueError(
            f"This model was loaded from a file that does not hold its objective {self.name}, "
            "which fit, transform, score and cost_increase need. Give it to load: "
            f"load(path, objective={self.name}(...))."
        )

    reference = prepare = distances = update_centers = value = as_distance = _raise


# ---------------------------------------------------------------------- classes in files


def _by_name(classes):
    return {cls.__name__: cls for cls in classes}


ESTIMATORS = _by_name([TAOClustering, *filter(isclass, map(greedy.__getattr__, greedy.__all__))])


def _parts(cls=Part):
    """Yield the parts of the library, without those that a user derives from them."""
    for part in cls.__subclasses__():
        if part.__module__.partition(".")[0] in ("greedy", "tao_cluster"):
            yield part
            yield from _parts(part)


# Data classes, which are saved as the values of their fields.
_OTHER_PARTS = (InTurn, Scaling, ClusteringSpace, UnsavedObjective, Split, Growth)
PARTS = _by_name([*_parts(), *_OTHER_PARTS, *READERS.values()])

# Estimators of scikit-learn that occur as parameters or results. Their state is numbers and arrays.
OTHERS = _by_name([SklearnKMeans, MiniBatchKMeans, GaussianMixture])

_DTYPES = {"|b1", "|u1", "|i1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8"}
# Classes of the feature names that pipelines give, by their keys in saved files. Each entry has the
# class, the types of its arguments, and the minimum number of arguments in a file. Files of older
# versions hold fewer arguments.
_CELL = str | bool | int | float | None
_NAMES = {
    "indicator": (
        Indicator,
        (str, _CELL, bool, tuple[_CELL, ...], bool, Reader | None, str),
        3,
    ),
    "numeric": (Numeric, (str, float | None, Reader | None, str), 2),
}


def to_json(value):
    """Return a value as a JSON value, from which :func:`from_json` restores it exactly.

    Numbers, strings, None, lists, tuples, dicts, arrays, trees and the classes above are
    supported. A type that JSON does not have becomes a dict whose first key names the type.

    Raises
    ------
    UnsavableError
        If the value, or a part of it, has another type.
    """
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    raise UnsavableError(f"a {type(value).__name__}")


def from_json(data):
    """Return the value from the result of :func:`to_json`.

    Raises
    ------
    ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError
        If `data` is not a result of :func:`to_json`.
    """
    if isinstance(data, list):
        return [from_json(value) for value in data]
    if not isinstance(data, dict):
        return data
    kind = next(iter(data), None)
    if kind not in _READERS:
        raise ValueError(f"a value of unknown kind {kind!r}")
    return _READERS[kind](data)


# ---------------------------------------------------------------------- writing


def _write_array(values):
    if values.dtype.kind in "OUS":
        return {"values": to_json(values.tolist()), "text": values.dtype.kind != "O"}
    values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    if values.dtype.str not in _DTYPES:
        raise UnsavableError(f"an array of {values.dtype}")
    data = base64.b64encode(values.tobytes()).decode("ascii")
    return {"array": {"dtype": values.dtype.str, "shape": list(values.shape), "data": data}}


def _write_dict(values):
    if not all(isinstance(key, str) for key in values):
        raise UnsavableError("a dict with keys that are no strings")
    return {"dict": {key: to_json(value) for key, value in values.items()}}


def _write_name(name):
    kind = next(kind for kind, (cls, *_) in _NAMES.items() if isinstance(name, cls))
    return {kind: [to_json(part) for part in name.__getnewargs__()]}


def _write_part(part):
    values = {f.name: to_json(getattr(part, f.name)) for f in fields(part) if f.init}
    return {"part": _listed(part, PARTS), "fields": values}


def _write_other(estimator):
    state = {
        # The state of a random generator has no effect on a fitted estimator.
        name: to_json(None if isinstance(value, np.random.RandomState) else value)
        for name, value in vars(estimator).items()
    }
    return {"scikit-learn": _listed(estimator, OTHERS), "state": state}


def _listed(value, classes):
    """Return the name of the class of a value; raise an error if `classes` does not list it."""
    name = type(value).__name__
    if type(value) is not classes.get(name):
        raise UnsavableError(f"a {name}")
    return name


# The first match is used: feature names are strings, and so must come before str.
_WRITERS = (
    ((type(None), bool, np.bool_), lambda value: None if value is None else bool(value)),
    ((Indicator, Numeric), _write_name),
    (str, str),
    ((int, np.integer), int),
    (
        (float, np.floating),
        lambda value: float(value) if math.isfinite(value) else {"float": str(float(value))},
    ),
    (list, lambda values: [to_json(value) for value in values]),
    (tuple, lambda values: {"tuple": [to_json(value) for value in values]}),
    (dict, _write_dict),
    (np.ndarray, _write_array),
    (Tree, lambda tree: {"tree": tree.to_dict()}),
    (tuple(PARTS.values()), _write_part),
    (BaseEstimator, _write_other),
)


# ---------------------------------------------------------------------- reading


def _read_dict(values):
    return {name: from_json(value) for name, value in values.items()}


def _read_array(data):
    """Return an array. Its size is limited by that of the file, whatever its shape claims."""
    dtype, shape = data["array"]["dtype"], data["array"]["shape"]
    if dtype not in _DTYPES:
        raise ValueError(f"an array of unknown type {dtype!r}")
    text, dtype = base64.b64decode(data["array"]["data"], validate=True), np.dtype(dtype)
    values = np.frombuffer(text, np.uint8 if dtype.kind == "b" else dtype).reshape(shape)
    return values.astype(dtype.newbyteorder("="))  # a copy, as `values` is read-only


def _read_values(data):
    values = [from_json(value) for value in data["values"]]
    if data["text"]:
        return np.array(values, dtype=str)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _read_name(data):
    (kind, parts), *_ = data.items()
    cls, kinds, least = _NAMES[kind]
    values = [from_json(part) for part in parts]
    if not least <= len(values) <= len(kinds) or not all(map(of_kind, values, kinds)):
        raise TypeError(f"{kind} must have the values of a feature name")
    return cls(*values)


def _read_part(data):
    cls, values = PARTS[data["part"]], _read_dict(data["fields"])
    known = {f.name: f.type for f in fields(cls) if f.init}
    for name, value in values.items():
        if not of_kind(value, known[name]):
            kind = getattr(known[name], "__name__", known[name])
            raise ValueError(f"{name} of {data['part']} must be a {kind}")
    return cls(**values)


def _read_other(data):
    """Return an estimator of scikit-learn. It checks its parameters, but not its attributes."""
    estimator = OTHERS[data["scikit-learn"]]()
    state, named = _read_dict(data["state"]), estimator.get_params(deep=False)
    set_attributes(estimator, state, named)
    estimator._validate_params()
    return estimator


def set_attributes(estimator, values, named=()):
    """Set the attributes of an estimator.

    Parameters
    ----------
    estimator : object
    values : dict
        Values by name.
    named : collection of str
        Names that are allowed in any case: the parameters.

    Raises
    ------
    ValueError
        If an attribute would replace a method or another attribute of the class.
    """
    for name in set(values) - set(named):
        if name.startswith("__") or hasattr(type(estimator), name):
            raise ValueError(f"{type(estimator).__name__} has no fitted attribute {name!r}")
    vars(estimator).update(values)


def of_kind(value, kind):
    """Return whether a value has the type that a field of a dataclass is annotated with.

    A bool does not count as an int, an int counts as a float, and floats must be finite.

    Parameters
    ----------
    value : object
    kind : type, union of types, ``tuple[type, ...]``, or Any

    Examples
    --------
    >>> from tao_cluster.saving.values import of_kind
    >>> of_kind(3, float), of_kind(True, int), of_kind(None, int | None)
    (True, False, True)
    """
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(of_kind(value, one) for one in get_args(kind))
    if get_origin(kind) is tuple:  # tuple[str, ...]
        return isinstance(value, tuple) and all(of_kind(v, get_args(kind)[0]) for v in value)
    if kind in (int, bool):
        return type(value) is kind
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    return isinstance(value, kind)


_READERS = {
    "float": lambda data: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[data["float"]],
    "tuple": lambda data: tuple(from_json(value) for value in data["tuple"]),
    "dict": lambda data: _read_dict(data["dict"]),
    "array": _read_array,
    "values": _read_values,
    "tree": lambda data: Tree.from_dict(data["tree"]),
    "indicator": _read_name,
    "numeric": _read_name,
    "part": _read_part,
    "scikit-learn": _read_other,
}
