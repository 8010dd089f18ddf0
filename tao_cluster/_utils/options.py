"""Parameters: parts by name or as objects, what these need not declare, and plain numbers."""

import copy
from dataclasses import fields
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import validate_parameter_constraints

# Constraints of scikit-learn that a truth value meets as such.
_OF_TRUTH = ("boolean", "verbose")


def resolve(value, named, protocol=None):
    """The part that a parameter stands for.

    Parameters
    ----------
    value : str, or an object with the methods of a part
    named : dict of str to object
    protocol : class, optional
        Its options are attributes with a default. An object that does not declare one, and does
        not inherit from the protocol, is wrapped by one that does.

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
    """The name of a part's class, as sentences give it."""
    return type(part.part if isinstance(part, _Completed) else part).__name__


class _Completed:
    """A part for which a protocol answers where the part does not declare an option itself."""

    def __init__(self, part, protocol):
        self.part, self.protocol = part, protocol

    def __getattr__(self, name):
        return getattr(self.part if hasattr(self.part, name) else self.protocol, name)

    def __copy__(self):
        return _Completed(copy.copy(self.part), self.protocol)


def with_plain_numbers(estimator):
    """The estimator, or a copy of it whose numbers are int and float where some are not.

    Numbers of numpy are those of their type: sums of an int8 wrap around at 128, and they lack
    methods of int. The estimator keeps what it was given.

    Parameters
    ----------
    estimator : estimator with `_parameter_constraints`

    Returns
    -------
    estimator of the same class

    Raises
    ------
    ValueError
        If a truth value stands where a number should.
    """
    parameters = estimator.get_params(deep=False)
    changed = _plain_numbers(parameters, estimator._parameter_constraints)
    if not changed:
        return estimator
    other = copy.copy(estimator)
    vars(other).update(changed)
    return other


def check_fields(part):
    """Check the fields of a frozen dataclass, and make its numbers int and float.

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
    """Return the call that makes a dataclass, with the fields that are not at their default."""
    changed = [
        f"{field.name}={getattr(part, field.name)!r}"
        for field in fields(part)
        if repr(getattr(part, field.name)) != repr(field.default)
    ]
    return f"{type(part).__name__}({', '.join(changed)})"


def _plain_numbers(values, constraints):
    """Return the numbers of other types among some values as int and float: a dict."""
    changed = {}
    for name, value in values.items():
        if isinstance(value, bool | np.bool_):
            if not any(kind in constraints.get(name, ()) for kind in _OF_TRUTH):
                raise ValueError(f"{name}={value} is a boolean; {name} must be a number.")
        elif isinstance(value, Real) and type(value) not in (int, float):
            changed[name] = int(value) if isinstance(value, Integral) else float(value)
    return changed
