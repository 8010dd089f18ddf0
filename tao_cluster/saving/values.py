"""Values as JSON has them, and back, bit by bit; nothing in a file is ever run."""

import base64
import math
from dataclasses import fields

import numpy as np
from sklearn.base import BaseEstimator

from ..columns import Filled, Indicator
from ..tree import Tree
from .forms import of_kind
from .parts import OTHERS, PARTS

_DTYPES = {"|b1", "|u1", "|i1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f4", "<f8"}
_ODD_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_NAMES = {Indicator: "indicator", Filled: "filled"}
# What the names of features are made of; the value of an indicator may be missing.
_NAME_PARTS = {Indicator: (str, str | bool | int | float | None, bool), Filled: (str, float)}
_MOST_DEPTH = 20  # of values in values
_MOST_STRETCH = 64


class UnsavableError(ValueError):
    """A value that a file cannot hold."""


def to_json(value):
    """A value of lists, dicts, strings and numbers that JSON has.

    Numbers, strings, None, lists, tuples, dicts, arrays, trees and the known parts are held; what
    JSON does not have itself is a dict with a single key that says what it is.

    Raises
    ------
    UnsavableError
        Of anything else.
    """
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    raise UnsavableError(f"a {type(value).__name__}")


def _write_float(value):
    return float(value) if math.isfinite(value) else {"float": str(float(value))}


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
    return {_NAMES[type(name)]: [to_json(part) for part in name.__getnewargs__()]}


def _write_part(part):
    if type(part) is not PARTS.get(type(part).__name__):
        raise UnsavableError(f"a {type(part).__name__}")
    values = {f.name: to_json(getattr(part, f.name)) for f in fields(part) if f.init}
    return {"part": type(part).__name__, "fields": values}


def _write_other(estimator):
    if type(estimator) is not OTHERS.get(type(estimator).__name__):
        raise UnsavableError(f"a {type(estimator).__name__}")
    state = {
        # A generator only says what a fit would draw next.
        name: to_json(None if isinstance(value, np.random.RandomState) else value)
        for name, value in vars(estimator).items()
    }
    return {"scikit-learn": type(estimator).__name__, "state": state}


# In this order: a name is a string, too.
_WRITERS = (
    ((type(None), bool, np.bool_), lambda value: None if value is None else bool(value)),
    (tuple(_NAMES), _write_name),
    (str, str),
    ((int, np.integer), int),
    ((float, np.floating), _write_float),
    (list, lambda values: [to_json(value) for value in values]),
    (tuple, lambda values: {"tuple": [to_json(value) for value in values]}),
    (dict, _write_dict),
    (np.ndarray, _write_array),
    (Tree, lambda tree: {"tree": tree.to_dict()}),
    (tuple(PARTS.values()), _write_part),
    (BaseEstimator, _write_other),
)


def from_json(data, depth=0):
    """The value that :func:`to_json` has written.

    Raises
    ------
    ValueError
        If it is not of that form.
    """
    if depth > _MOST_DEPTH:
        raise ValueError("values lie too deep in each other")
    if isinstance(data, list):
        return [from_json(value, depth + 1) for value in data]
    if not isinstance(data, dict):
        return data
    kind = next(iter(data), None)
    if kind not in _READERS:
        raise ValueError(f"a value of unknown kind {kind!r}")
    read, keys = _READERS[kind]
    if set(data) != keys:
        raise ValueError(f"a value of kind {kind!r} has {sorted(data)}, not {sorted(keys)}")
    try:
        return read(data, depth + 1)
    except (TypeError, KeyError, AttributeError, OverflowError, IndexError) as error:
        raise ValueError(f"a value of kind {kind!r} is not of its form ({error})") from error


def _read_list(values, depth):
    if not isinstance(values, list):
        raise TypeError("expected a list")
    return [from_json(value, depth) for value in values]


def _read_dict(values, depth):
    if not isinstance(values, dict):
        raise TypeError("expected an object")
    return {name: from_json(value, depth) for name, value in values.items()}


def _read_array(data, depth):
    """An array of what the file holds: its size is that of the text."""
    del depth
    dtype, shape = data["array"]["dtype"], data["array"]["shape"]
    if dtype not in _DTYPES:
        raise ValueError(f"an array of unknown type {dtype!r}")
    text, dtype = base64.b64decode(data["array"]["data"], validate=True), np.dtype(dtype)
    is_whole = all(type(side) is int and side >= 0 for side in shape)
    if not is_whole or math.prod(shape) * dtype.itemsize != len(text):
        raise ValueError(f"an array of {len(text)} bytes does not have the shape {shape}")
    values = np.frombuffer(text, dtype)
    if dtype.kind == "b" and np.any(values.view(np.uint8) > 1):
        raise ValueError("an array of truth values has others than 0 and 1")
    return values.reshape(shape).astype(dtype.newbyteorder("="))  # a copy: can be written


def _read_values(data, depth):
    values = _read_list(data["values"], depth)
    if data["text"]:
        if not all(isinstance(value, str) for value in values):
            raise TypeError("expected strings")
        # An array of strings has room for the longest in each entry, whatever the file's length.
        if len(values) * max(map(len, values), default=0) <= _stretched(values):
            return np.array(values, dtype=str)
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _stretched(values):
    """Characters that an array of strings may take, in proportion to those of the strings."""
    return _MOST_STRETCH * (len(values) + sum(map(len, values)))


def _read_name(cls, parts, depth):
    """A name of a feature, of the parts that it was made of."""
    values = _read_list(parts, depth)
    kinds = _NAME_PARTS[cls]
    if len(values) != len(kinds) or not all(map(of_kind, values, kinds)):
        raise TypeError("other values than those of a name")
    return cls(*values)


def _read_part(data, depth):
    cls, values = PARTS[data["part"]], _read_dict(data["fields"], depth)
    known = {f.name: f.type for f in fields(cls) if f.init}
    if set(values) != set(known):
        raise ValueError(f"{data['part']} has the fields {sorted(values)}, not {sorted(known)}")
    for name, value in values.items():
        if not of_kind(value, known[name]):
            kind = getattr(known[name], "__name__", known[name])
            raise ValueError(f"{name} of {data['part']} must be a {kind}")
    return cls(**values)


def _read_other(data, depth):
    """An estimator of scikit-learn: its parameters as it checks them, its results as they are."""
    estimator = OTHERS[data["scikit-learn"]]()
    state, named = _read_dict(data["state"], depth), estimator.get_params(deep=False)
    if not set(named) <= set(state):
        raise ValueError(f"{data['scikit-learn']} lacks parameters")
    for name in set(state) - set(named):
        if name.startswith("__") or hasattr(type(estimator), name):
            raise ValueError(f"{data['scikit-learn']} has no attribute {name!r}")
    vars(estimator).update(state)
    estimator._validate_params()
    return estimator


_READERS = {
    "float": (lambda data, _: _ODD_FLOATS[data["float"]], {"float"}),
    "tuple": (lambda data, depth: tuple(_read_list(data["tuple"], depth)), {"tuple"}),
    "dict": (lambda data, depth: _read_dict(data["dict"], depth), {"dict"}),
    "array": (_read_array, {"array"}),
    "values": (_read_values, {"values", "text"}),
    "tree": (lambda data, _: Tree.from_dict(data["tree"]), {"tree"}),
    "indicator": (
        lambda data, depth: _read_name(Indicator, data["indicator"], depth),
        {"indicator"},
    ),
    "filled": (lambda data, depth: _read_name(Filled, data["filled"], depth), {"filled"}),
    "part": (_read_part, {"part", "fields"}),
    "scikit-learn": (_read_other, {"scikit-learn", "state"}),
}
