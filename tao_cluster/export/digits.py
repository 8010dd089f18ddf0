"""Digits of the numbers of a test: as few as put every known row on its side.

A test is written with its weights and its threshold, or with the bound of one feature. The digits
of these are chosen together: rounded weights move the sums of all rows, and the threshold follows.
"""

import heapq
import math
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_EXTRA_DIGITS = 3  # a bound has up to 3 digits more than `precision`, if that makes it exact
_SAFE_DIGITS = 14  # the rounding of a midpoint does not reach them
_ALL_DIGITS = 17  # they identify a float64
_ROUNDING = 2.0**-52  # of one addition or multiplication, as a share of its result
_LARGEST = 2.0**63  # integers below it are written in full


def number_text(number, precision):
    """Return a number with `precision` significant digits, but with all digits before the point."""
    if 10**precision <= abs(number) < _LARGEST:
        return f"{number:.0f}"
    return f"{number:.{precision}g}"


def bound_text(bound, between, precision, decimals=None):
    """Return the sign and the number of a bound as text; all displays of a test show these.

    It is the number itself, if up to three digits more than `precision` suffice for it. Otherwise
    it is the nearest number of the fewest digits that separates the rows alike. The sign is such
    that a row with the shown number is on its side: x <= 0.9999 is shown as x < 1.

    Parameters
    ----------
    bound : Bound
    between : pair of float or None
        Nearest values of rows below and above the bound; None if they are unknown.
    precision : int
        Least number of significant digits.
    decimals : int, optional
        Number of decimals of the values of the feature. The bound is rounded to it in the direction
        that keeps all such values on their side.

    Examples
    --------
    >>> from tao_cluster.tree.conditions import Bound
    >>> bound = Bound(0, 2003.5, is_upper=True, is_strict=False)
    >>> bound_text(bound, [2003, 2004], 3), bound_text(bound, [2003, 2004], 3, decimals=0)
    (('<=', '2003.5'), ('<=', '2003'))
    """
    value, fits = bound.value, _fits(bound, between)
    if decimals is not None and abs(value) < 1 / _ROUNDING:
        turn = ROUND_FLOOR if is_rounded_up(bound) else ROUND_CEILING
        rounded = Decimal(f"{value:.14g}").quantize(Decimal(1).scaleb(-decimals), turn)
        value = float(rounded) + 0.0 if fits(float(rounded)) else value
    text = short_text(value, precision, fits)
    return moved(bound, float(text)).sign, text


def moved(bound, value):
    """Return a bound with another value, such that a row with this value stays on its side."""
    if value == bound.value:
        return bound
    return replace(bound, value=value, is_strict=(value > bound.value) == bound.is_upper)


def _fits(bound, between):
    """Return the function that says whether a number separates the same rows as a bound."""
    low, high = _ends(between)
    if is_rounded_up(bound):
        return lambda number: low <= number < high
    return lambda number: low < number <= high


def without_rounding(bound, between):
    """Return a bound whose value has 14 digits instead of 17, if that separates the same rows.

    The digits are those of the largest value that is known. The midpoint of 49.4 and 49.5 is
    49.449999999999996, and becomes 49.45: x <= midpoint is then x < 49.45, as 49.45 is above it.

    Parameters
    ----------
    bound : Bound
    between : pair of float
        Nearest values of rows below and above the bound; infinite if they are unknown.
    """
    size = max(abs(x) for x in (*between, bound.value) if math.isfinite(x))
    value = round(bound.value, max(0, _SAFE_DIGITS - _n_digits(size))) + 0.0
    if value == bound.value or not _fits(bound, between)(value):
        return bound
    return moved(bound, value)


def short_text(number, precision, fits=lambda number: True):
    """Return the text of a number: exact if up to three more digits suffice, else rounded.

    The parameters are those of :func:`near_number`.
    """
    most = max(precision + _EXTRA_DIGITS, _n_digits(number) + 1)
    for digits in range(precision, min(most, _ALL_DIGITS) + 1):
        text = number_text(number, digits)
        if math.isclose(float(text), number, rel_tol=1e-14) and fits(float(text)):
            return text
    return near_number(number, precision, fits)


def is_rounded_up(bound):
    """Return whether a bound may be rounded up to the next row, which it excludes, but not down.

    This holds for an inclusive upper bound and a strict lower one. A row at such a bound is below
    it. For other bounds, it is above.
    """
    return bound.is_upper != bound.is_strict


def threshold_text(node, precision):
    """Return the threshold of a weighted sum as text, for weights that are not rounded.

    Parameters
    ----------
    node : dict
        Decision node of a report.
    precision : int
        Least number of significant digits.
    """
    low, high = _ends(node["between"])
    return near_number(node["threshold"], precision, lambda number: low <= number < high)


def sum_texts(tests, precision):
    """Return the weights and thresholds of tests of one weighted sum as strings.

    Every row whose values are in the known ranges of the columns is on the same side of the shown
    test as of the test itself, also if the rows are evaluated with the shown numbers.

    Parameters
    ----------
    tests : list of dict
        Decision nodes of a report whose weights are equal.
    precision : int
        Least number of significant digits of all numbers.

    Returns
    -------
    weights : list of str, in the order of the terms
    thresholds : list of str, one per test

    Notes
    -----
    Rounding weight j by e_j moves the sum of a row by the sum of e_j x_j, which lies between the
    sums of the smallest and of the largest values of e_j x_j. The weight for which these two
    are farthest apart gets one more digit, until the sums move by less than half of the gap between
    the rows on both sides. The other half is for the threshold, which moves by the mean change.
    """
    terms, ranges = tests[0]["terms"], tests[0]["ranges"]
    pairs = [_ends(test["between"]) for test in tests]
    texts = [number_text(term["shown"], precision) for term in terms]
    if None in ranges:
        limits = [threshold_text(test, precision) for test in tests]
        return texts, limits
    sizes = [abs(t["weight"]) * max(map(abs, r)) for t, r in zip(terms, ranges, strict=True)]
    noise = _ROUNDING * (len(terms) + 2) * math.fsum(sizes)
    least = min(high - low for low, high in pairs) - 2 * noise
    changes = [_change(*each) for each in zip(terms, ranges, texts, strict=True)]
    digits, widths = [precision] * len(terms), [high - low for low, high in changes]
    queue = [(-width, i) for i, width in enumerate(widths) if width]
    heapq.heapify(queue)
    width = math.fsum(widths)
    while queue and 2 * width > least:
        i = heapq.heappop(queue)[1]
        digits[i] += 1
        texts[i] = number_text(terms[i]["shown"], digits[i])
        changes[i] = _change(terms[i], ranges[i], texts[i])
        width += changes[i][1] - changes[i][0] - widths[i]
        widths[i] = changes[i][1] - changes[i][0]
        if widths[i] and digits[i] < _ALL_DIGITS:
            heapq.heappush(queue, (-widths[i], i))
    down, up = (math.fsum(change[side] for change in changes) for side in (0, 1))
    limits = []
    for test, pair in zip(tests, pairs, strict=True):
        low, high = pair[0] + up + noise, pair[1] + down - noise
        limit = test["threshold"] + (down + up) / 2
        if not low <= limit < high and math.isfinite(high - low):
            limit = low + (high - low) / 2
        limits.append(near_number(limit, precision, lambda x, a=low, b=high: a <= x < b))
    return texts, limits


def _change(term, limits, text):
    """Return the least and the largest change of a term by the rounding of its weight."""
    change = (float(text) / term["shown"] - 1.0) * term["weight"] if term["shown"] else 0.0
    first, second = (change * limit for limit in limits)
    return min(first, second), max(first, second)


def _ends(between):
    """Return the ends of an interval as floats; unknown ends are infinite."""
    low, high = between
    return -math.inf if low is None else low, math.inf if high is None else high


def exact_text(number, precision):
    """Return the shortest text of a float with at least `precision` digits."""
    return near_number(number, precision, number.__eq__)


def near_number(number, precision, fits):
    """Return the text of a number with the fewest digits, at least `precision`, that fit.

    Parameters
    ----------
    number : float
    precision : int
    fits : callable(float) -> bool
        Whether a rounded number may be shown.
    """
    if not math.isfinite(number):  # a sum of weights can overflow
        return repr(number)
    for digits in range(precision, _ALL_DIGITS + 1):
        text = number_text(number, digits)
        if fits(float(text)):
            return text
        # The next number of so many digits on the other side; integers are written in full.
        shift = _n_digits(number) - digits
        unit = 1.0 if shift > 0 and abs(number) < _LARGEST else 10.0**shift
        text = number_text(float(text) + math.copysign(unit, number - float(text)), digits)
        if fits(float(text)):
            return text
    return repr(number)


def _n_digits(number):
    """Return the number of digits before the point; it is negative for 0.001."""
    is_known = number and math.isfinite(number)
    return math.floor(math.log10(abs(number))) + 1 if is_known else 0
