"""Parameters: parts by name or as objects, what these need not declare, and plain numbers."""

import copy
from numbers import Integral, Real

import numpy as np

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
    defaults = {} if protocol is None else _options(protocol)
    missing = {name: default for name, default in defaults.items() if not hasattr(part, name)}
    return _Completed(part, missing) if missing else part


def name_of(part):
    """The name of a part's class, as sentences give it."""
    return type(part.part if isinstance(part, _Completed) else part).__name__


def _options(protocol):
    """Options of a protocol that have a default."""
    return {
        name: vars(protocol)[name] for name in protocol.__annotations__ if name in vars(protocol)
    }


class _Completed:
    """A part with the options that it does not declare itself."""

    def __init__(self, part, options):
        self.part = part
        vars(self).update(options)

    def __getattr__(self, name):
        return getattr(self.part, name)

    def __copy__(self):
        options = {name: value for name, value in vars(self).items() if name != "part"}
        return _Completed(copy.copy(self.part), options)


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
        If a truth value stands where a number should, or a number is larger than floats are.
    """
    constraints, changed = estimator._parameter_constraints, {}
    for name, value in estimator.get_params(deep=False).items():
        plain = _plain(name, value, constraints.get(name, ()))
        if plain is not value:
            changed[name] = plain
    if not changed:
        return estimator
    other = copy.copy(estimator)
    vars(other).update(changed)
    return other


def _plain(name, value, constraints):
    if isinstance(value, bool | np.bool_):
        if any(kind in constraints for kind in _OF_TRUTH):
            return value
        raise ValueError(f"{name}={value} is a truth value, where a number should be.")
    if type(value) is float or not isinstance(value, Real):
        return value
    try:
        as_float = float(value)
    except OverflowError:
        raise ValueError(f"{name} is larger than any float, about 1.8e308.") from None
    if type(value) is int:
        return value
    return int(value) if isinstance(value, Integral) else as_float
