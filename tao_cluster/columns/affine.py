"""Affine maps of one number in the arithmetic of the scalers."""

import operator
from dataclasses import dataclass

_INVERSE = {
    operator.add: operator.sub,
    operator.sub: operator.add,
    operator.mul: operator.truediv,
    operator.truediv: operator.mul,
}


@dataclass(frozen=True)
class Affine:
    """x -> slope * x + intercept, as the elementary operations that a scaler does, in order.

    The rounding of every operation is kept: a map of float64 numbers gives bit by bit what the
    scalers give. Each operation rounds monotonically, hence so does the map.

    Parameters
    ----------
    operations : tuple of (function of the module operator, float)
    """

    operations: tuple = ()

    def then(self, function, number):
        """One operation more."""
        return Affine((*self.operations, (function, float(number))))

    def __call__(self, x):
        """The map of a float or of an array."""
        for function, number in self.operations:
            x = function(x, number)
        return x

    def inverse(self, z):
        """What is mapped to z, up to rounding."""
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

    @property
    def intercept(self):
        """What 0 is mapped to."""
        return self(0.0)
