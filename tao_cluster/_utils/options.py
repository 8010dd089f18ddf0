"""Parameters of estimators: nested settings, names of objects, and numbers of any type."""

import copy
from collections import defaultdict
from dataclasses import fields, replace
from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints

# Parameter constraints of scikit-learn under which a boolean is a valid value.
_BOOLEAN_CONSTRAINTS = ("boolean", "verbose")


class Part:
    """Base class of frozen dataclasses that are parameters of estimators, such as `DirectForm`.

    The fields are parameters in the sense of scikit-learn, so that `get_params`, `set_params` and
    `GridSearchCV` of an estimator reach them: ``model.set_params(algorithm__n_init=2)``. Parts are
    shared and never change. An estimator with :class:`NestedParameters` gets a new part instead.
    """

    _constraints: ClassVar[dict] = {}  # allowed values of fields, in scikit-learn's form
    _named_parts: ClassVar[dict] = {}  # see `NestedParameters`

    def __post_init__(self):
        """Check the fields with `_constraints`, and convert their numbers to int and float."""
        values = {name: getattr(self, name) for name in self._constraints}
        numbers = _plain_numbers(values, self._constraints)
        validate_parameter_constraints(self._constraints, values, type(self).__name__)
        vars(self).update(numbers)

    def __repr__(self):
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if repr(getattr(self, field.name)) != repr(field.default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def get_params(self, deep=True):
        """Return the parameters by name, with ``deep=True`` also those of nested parts."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.init}
        return {**own, **_nested(own, self._named_parts)} if deep else own

    def set_params(self, **params):
        """Return a copy with other parameters, because the object itself cannot change.

        Raises
        ------
        ValueError
            If a parameter does not exist, or its value is not allowed.
        """
        return replace(self, **_changes(self, params, self._named_parts))


class NestedParameters:
    """Mixin of estimators whose parameters can be parts, or strings that stand for parts.

    `_named_parts` has, for each parameter that can be such a string, a dict of the parts by string.
    """

    _named_parts: ClassVar[dict] = {}

    def get_params(self, deep=True):
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Also return the settings of objects that are parameters, and of the objects that strings
            stand for, with names such as ``algorithm__n_init``.

        Returns
        -------
        dict
        """
        own = super().get_params(deep=False)
        return {**own, **_nested(own, self._named_parts)} if deep else own

    def set_params(self, **params):
        """Set parameters, also nested ones such as ``algorithm__n_init=2``.

        Objects such as :class:`tao_cluster.DirectForm` are shared and never change. A nested name
        replaces the object, or the string that stands for it, by a changed copy.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter does not exist. The message names those that exist.
        """
        for name, value in _changes(self, params, self._named_parts).items():
            setattr(self, name, value)
        return self


def _nested(values, named_parts):
    """Return the parameters of those values that have parameters, with names such as "a__b"."""
    parts = {name: _part(value, named_parts.get(name)) for name, value in values.items()}
    return {
        f"{name}__{inner}": value
        for name, part in parts.items()
        if hasattr(part, "get_params") and not isinstance(part, type)
        for inner, value in part.get_params().items()
    }


def _part(value, named):
    """Return the part that a parameter stands for, or the value itself if it stands for none."""
    is_name = named is not None and isinstance(value, str | bool)
    return named.get(value, value) if is_name else value


def _changes(owner, params, named_parts):
    """Return the parameters of a part or estimator that change if `params` are set.

    A nested parameter changes the part that has it. An estimator among the parameters changes in
    place, as in scikit-learn.
    """
    values, changes, nested = owner.get_params(deep=False), {}, defaultdict(dict)
    for key, value in params.items():
        name, is_nested, inner = key.partition("__")
        if name not in values:
            raise ValueError(
                f"Invalid parameter {name!r} for {type(owner).__name__}. Valid parameters are: "
                f"{list(values)!r}."
            )
        if is_nested:
            nested[name][inner] = value
        else:
            changes[name] = value
    for name, inner in nested.items():
        value = changes.get(name, values[name])
        part = _part(value, named_parts.get(name))
        if not hasattr(part, "set_params"):
            raise ValueError(
                f"{name}={value!r} has no parameters, so {name}__{next(iter(inner))} cannot be set."
            )
        changed = part.set_params(**inner)
        if isinstance(part, Part) and changed != part:
            changes[name] = changed
    return changes


def resolve(value, named, protocol=None):
    """Return the object that a parameter stands for, for example ``KMeans()`` for "kmeans".

    Parameters
    ----------
    value : str or object
        A name, or an object that implements the protocol.
    named : dict of str to object
        The object of each name.
    protocol : class, optional
        Class that defines default values of attributes. If an object lacks some of these
        attributes, it is wrapped in an object that has them.

    Returns
    -------
    object

    Raises
    ------
    ValueError
        If the value is a class instead of an instance.
    """
    if isinstance(value, type):
        raise ValueError(f"{value.__name__} is a class; give an object, {value.__name__}().")
    part = named[value] if isinstance(value, str) else value
    options = () if protocol is None else protocol.__annotations__
    missing = [name for name in options if hasattr(protocol, name) and not hasattr(part, name)]
    return _Completed(part, protocol) if missing else part


def name_of(part):
    """Return the class name of an object for messages.

    For an object in a :class:`_Completed` wrapper, it is the class name of the object itself.
    """
    return type(part.part if isinstance(part, _Completed) else part).__name__


class _Completed:
    """Wrapper of an object that takes missing attributes from a protocol class."""

    def __init__(self, part, protocol):
        self.part, self.protocol = part, protocol

    def __getattr__(self, name):
        return getattr(self.part if hasattr(self.part, name) else self.protocol, name)

    def __copy__(self):
        return _Completed(copy.copy(self.part), self.protocol)


def with_plain_numbers(estimator):
    """Return the estimator, or a copy in which all numeric parameters are int or float.

    Users may pass numpy scalars as parameters. Computations with them could fail: an int8
    overflows at 128, and numpy integers lack some methods of int. The estimator itself keeps its
    parameters, as `get_params` requires.

    Parameters
    ----------
    estimator : estimator with `_parameter_constraints`

    Returns
    -------
    estimator of the same class

    Raises
    ------
    ValueError
        If a numeric parameter is a boolean.
    """
    parameters = estimator.get_params(deep=False)
    changed = _plain_numbers(parameters, estimator._parameter_constraints)
    if not changed:
        return estimator
    other = copy.copy(estimator)
    vars(other).update(changed)
    return other


def _plain_numbers(values, constraints):
    """Return a dict of the values that are numbers of types other than int and float, converted.

    Values that are already int or float are left out.
    """
    changed = {}
    for name, value in values.items():
        if isinstance(value, bool | np.bool_):
            if not any(kind in constraints.get(name, ()) for kind in _BOOLEAN_CONSTRAINTS):
                raise ValueError(f"{name}={value} is a boolean; {name} must be a number.")
        elif isinstance(value, Real) and type(value) not in (int, float):
            changed[name] = int(value) if isinstance(value, Integral) else float(value)
    return changed
