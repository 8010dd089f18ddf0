"""Parameters of estimators: parts given by name or as objects, and numbers of any type."""

import copy
from dataclasses import fields
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints

# Constraints of scikit-learn that accept booleans.
_BOOLEAN_CONSTRAINTS = ("boolean", "verbose")


def resolve(value, named, protocol=None):
    """Return the object that a parameter stands for, for example ``KMeans()`` for "kmeans".

    Parameters
    ----------
    value : str or object
        A name, or an object that implements the protocol.
    named : dict of str to object
        The objects that have names.
    protocol : class, optional
        Attributes of the protocol that have a default may be missing in an object. Such an object
        is wrapped, so that it has the default.

    Returns
    -------
    object

    Raises
    ------
    ValueError
        If the value is a class.
    """
    if isinstance(value, type):
        raise ValueError(f"{value.__name__} is a class; give an object, {value.__name__}().")
    part = named[value] if isinstance(value, str) else value
    options = () if protocol is None else protocol.__annotations__
    missing = [name for name in options if hasattr(protocol, name) and not hasattr(part, name)]
    return _Completed(part, protocol) if missing else part


def name_of(part):
    """Return the name of the class of a part, for messages."""
    return type(part.part if isinstance(part, _Completed) else part).__name__


class _Completed:
    """Wrapper of a part that takes missing attributes from the protocol."""

    def __init__(self, part, protocol):
        self.part, self.protocol = part, protocol

    def __getattr__(self, name):
        return getattr(self.part if hasattr(self.part, name) else self.protocol, name)

    def __copy__(self):
        return _Completed(copy.copy(self.part), self.protocol)


def with_plain_numbers(estimator):
    """Return the estimator, or a copy in which all numeric parameters are int or float.

    Parameters may be numpy scalars, but these have the limits of their type: an int8 overflows at
    128, and numpy integers lack some methods of int. The estimator itself keeps its parameters, as
    `get_params` requires.

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
    """Return the repr of a dataclass with only the fields that differ from their default."""
    changed = [
        f"{field.name}={getattr(part, field.name)!r}"
        for field in fields(part)
        if repr(getattr(part, field.name)) != repr(field.default)
    ]
    return f"{type(part).__name__}({', '.join(changed)})"


def _plain_numbers(values, constraints):
    """Return the values that are numbers of other types, converted to int or float: a dict."""
    changed = {}
    for name, value in values.items():
        if isinstance(value, bool | np.bool_):
            if not any(kind in constraints.get(name, ()) for kind in _BOOLEAN_CONSTRAINTS):
                raise ValueError(f"{name}={value} is a boolean; {name} must be a number.")
        elif isinstance(value, Real) and type(value) not in (int, float):
            changed[name] = int(value) if isinstance(value, Integral) else float(value)
    return changed
