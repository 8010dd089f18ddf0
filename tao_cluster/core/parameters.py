"""Parameters of an estimator as Python's own numbers."""

import copy
from numbers import Integral, Real

import numpy as np

# Constraints of scikit-learn that a truth value meets as such.
_OF_TRUTH = ("boolean", "verbose")


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
