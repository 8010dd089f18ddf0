"""Bisection over all float64 numbers."""

import struct
import sys

_LARGEST = sys.float_info.max


def largest_float_where(holds):
    """Return the largest float that satisfies a predicate.

    The predicate must be monotone: true up to some float, and false for all larger ones. The
    function bisects the finite floats in 64 steps. So the result is exact even if the predicate
    computes with rounding, as long as the rounded operations are monotone.

    Parameters
    ----------
    holds : callable(float) -> bool

    Returns
    -------
    float
        The smallest (most negative) finite float if no float satisfies the predicate.

    Examples
    --------
    >>> largest_float_where(lambda x: x + 1.0 <= 1.0)  # what rounding hides
    1.1102230246251565e-16
    """
    low, above = _rank(-_LARGEST), _rank(_LARGEST) + 1
    while above - low > 1:
        middle = (low + above) // 2
        low, above = (middle, above) if holds(_at_rank(middle)) else (low, middle)
    return _at_rank(low)


def _rank(x):
    """Return the position of a finite float among all floats in increasing order, 0 for x = 0."""
    bits = struct.unpack("<q", struct.pack("<d", abs(x)))[0]
    return bits if x > 0 else -bits


def _at_rank(rank):
    x = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return x if rank >= 0 else -x
