"""The float64 numbers in their order: where a condition on them turns."""

import struct
import sys

_LARGEST = sys.float_info.max


def boundary(holds):
    """The largest float of which a condition holds that holds up to some number, not above.

    By bisection over all finite floats, 64 steps; so it is exact for a condition on the rounded
    result of operations that are monotone.

    Parameters
    ----------
    holds : callable(float) -> bool

    Returns
    -------
    float; the least finite one also where it holds of none

    Examples
    --------
    >>> boundary(lambda x: x + 1.0 <= 1.0)  # what rounding hides
    1.1102230246251565e-16
    """
    low, above = _rank(-_LARGEST), _rank(_LARGEST) + 1
    while above - low > 1:
        middle = (low + above) // 2
        low, above = (middle, above) if holds(_at_rank(middle)) else (low, middle)
    return _at_rank(low)


def _rank(x):
    """Position of a finite float in the order of all floats, 0 for 0."""
    bits = struct.unpack("<q", struct.pack("<d", abs(x)))[0]
    return bits if x > 0 else -bits


def _at_rank(rank):
    x = struct.unpack("<d", struct.pack("<q", abs(rank)))[0]
    return x if rank >= 0 else -x
