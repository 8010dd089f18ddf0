"""Numbers as text: few digits, but as many as it takes to see what holds."""

import math
from decimal import Decimal
from fractions import Fraction

_EXACT_DIGITS = 3  # of a feature's bound, beyond the precision, where they make it exact
_MOST_DIGITS = 15  # that a float has in any case


def number_text(number, precision):
    """A number with so many significant digits, but never fewer than its whole part has."""
    if 10**precision <= abs(number) < 1e15:
        return f"{number:.0f}"
    return f"{number:.{precision}g}"


def bound_number(number, precision, tolerance=math.inf, side=0):
    """A bound that values are compared with: exact where some more digits make it so.

    Parameters
    ----------
    number : float
    precision : int, significant digits, the fewest
    tolerance : float
        The largest error; as many digits as that takes.
    side : {0, 1, -1}
        Where the shown number may lie: 1 not below it, -1 not above it, 0 on either side.
    """
    for digits in range(precision, precision + _EXACT_DIGITS + 1):
        text = number_text(number, digits)
        if math.isclose(float(text), number, rel_tol=1e-12):
            return text
    return near_number(number, precision, tolerance, side if tolerance < math.inf else 0)


def near_number(number, precision, tolerance, side=0):
    """A number with the fewest significant digits, but so many, that have at most that error."""
    if not math.isfinite(number):  # sums of weights near the largest float
        return repr(number)
    for digits in range(precision, _MOST_DIGITS + 1):
        text = number_text(number, digits)
        if side * (float(text) - number) < 0:
            unit = 10.0 ** (math.floor(math.log10(abs(number))) + 1 - digits)
            text = number_text(float(text) + side * unit, digits)
        if abs(float(text) - number) <= tolerance and side * (float(text) - number) >= 0:
            return text
    return repr(number)


def weight_digits(threshold, tolerance, precision):
    """Digits of the weights of a sum: their error in it stays within ten times the tolerance.

    A sum near a threshold that is far above the spread of the sum needs more of them.
    """
    if not tolerance or not threshold or not math.isfinite(tolerance):
        return precision
    needed = math.ceil(math.log10(abs(threshold)) - math.log10(tolerance)) - 1
    return min(max(precision, needed), _MOST_DIGITS)


def decimals_of(total, threshold, largest, compare, precision):
    """Decimals for all numbers of a line: enough for its sum, and to tell it from the threshold."""
    size = max(abs(total), abs(threshold)) or largest
    least = max(0, precision - 1 - math.floor(math.log10(size))) if size else 0
    for decimals in range(least, least + _MOST_DIGITS):
        if _are_told(total, threshold, compare, *(round(x, decimals) for x in (total, threshold))):
            return decimals
    return least


def told_apart(value, limit, sign, precision):
    """Texts of a value and of the limit that it keeps, with digits enough to see that it does."""
    for digits in range(precision, _MOST_DIGITS):
        texts = bound_number(value, digits), bound_number(limit, digits)
        if _are_told(value, limit, sign, *map(float, texts)):
            return texts
    return repr(value), repr(limit)


def _are_told(a, b, sign, shown_a, shown_b):
    """Whether shown numbers compare as those that they stand for, and differ where those do."""
    return _holds(shown_a, sign, shown_b) and (shown_a != shown_b or a == b)


def _holds(a, sign, b):
    return {"<=": a <= b, "<": a < b, ">=": a >= b, ">": a > b}[sign]


def rounded(number, decimals):
    """A number to so many decimals, without zeros at its end; "0.00" is small, "0" is none."""
    short = round(number, decimals)
    if short == 0:
        return f"{0:.{min(decimals, 6)}f}" if number else "0"
    return f"{short:.{_MOST_DIGITS}g}"


def summands(numbers, total, decimals):
    """Texts of numbers and of their total, to so many decimals, such that they add up exactly.

    Numbers are rounded down, and what is then missing to the rounded total goes to those that
    lost most (the method of largest remainders): each is within a unit of its last decimal.

    Examples
    --------
    >>> summands([0.4, 0.4, 0.4], 1.2, 0)
    (['1', '0', '0'], '1')
    """
    exact = [Fraction(number) * 10**decimals for number in numbers]
    units = [math.floor(number) for number in exact]
    whole = round(Fraction(total) * 10**decimals)
    order = sorted(range(len(units)), key=lambda i: units[i] - exact[i])
    for i in order[: whole - sum(units)]:
        units[i] += 1
    texts = [_of_units(u, decimals, number) for u, number in zip(units, numbers, strict=True)]
    return texts, _of_units(whole, decimals, total)


def _of_units(units, decimals, number):
    """So many units of the last decimal as text, in the manner of :func:`rounded`."""
    if units == 0:
        return f"{0:.{min(decimals, 6)}f}" if number else "0"
    text = f"{Decimal(units).scaleb(-decimals):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
