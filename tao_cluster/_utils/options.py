"""Conversion of estimator parameters: names to objects, and numbers of any type to int or float."""

import copy
from dataclasses import fields
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints

# Parameter constraints of scikit-learn under which a boolean is a valid value.
_BOOLEAN_CONSTRAINTS = ("boolean", "verbose")


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


def check_fields(part):
    """Check the fields of a frozen dataclass, and convert its numbers to int and float.

    Parameters
    ----------
    part : dataclass with `_constraints`, in scikit-learn's form

    Raises
    ------
    ValueError
        If a field has a value that is not allowed.
    """
    numbers = _plain_numbers(vars(part), part._constraints)
    validate_parameter_constraints(part._constraints, vars(part), type(part).__name__)
    vars(part).update(numbers)


def repr_of_changes(part):
    """Return the repr of a dataclass, with only those fields that differ from their defaults."""
    changed = [
        f"{field.name}={getattr(part, field.name)!r}"
        for field in fields(part)
        if repr(getattr(part, field.name)) != repr(field.default)
    ]
    return f"{type(part).__name__}({', '.join(changed)})"


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
