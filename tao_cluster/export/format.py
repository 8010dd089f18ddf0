"""How trees are written: names, sums, tests, counts and numbers as text; options of the exports."""

import math
import operator
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from ..columns.names import Indicator
from ..tree.conditions import Bound

_CONSTRAINTS = {
    "precision": [Interval(Integral, 1, 17, closed="both")],  # a float has no more digits
    "max_terms": [None, Interval(Integral, 1, None, closed="left")],
    "scaled": ["boolean"],
    "table": [None, str],
}
_COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}
_PRINTED = {" <= ": " ≤ ", " >= ": " ≥ "}
_EXACT_DIGITS = 3  # of a feature's bound, beyond the precision, where they make it exact
_MOST_DIGITS = 15  # that a float has in any case


def check_options(caller, **options):
    """ValueError if an option of an export is not what it may be.

    Parameters
    ----------
    caller : str, name of the function that has the options
    **options : their values, by their names
    """
    validate_parameter_constraints(
        {name: _CONSTRAINTS[name] for name in options}, options, caller_name=caller
    )


def factor_name(name):
    """The name of a feature as a factor of a sum."""
    return f"[{name}]" if isinstance(name, Indicator) else str(name)


def factor_of(name, shown, weight):
    """What a shown weight multiplies: the feature, over its spread where the weight holds that.

    "sd" is the standard deviation of the feature over the rows of the node, so that the sum is
    the same one, whose threshold stands beside it.
    """
    return factor_name(name) if shown == weight else f"{factor_name(name)}/sd"


def terms_text(terms, precision, max_terms=None):
    """The weighted sum of terms of a report, in their order: "0.5*a - 2*b"; "0" without any.

    Parameters
    ----------
    terms : list of dict
    precision : int, significant digits
    max_terms : int, optional
        Show only that many and say how many are left out.
    """
    if not terms:
        return "0"
    shown = terms[:max_terms]
    text = ""
    for term in shown:
        weight = term["shown"]
        sign = ("" if weight >= 0 else "-") if not text else (" + " if weight >= 0 else " - ")
        factor = "" if abs(weight) == 1 else f"{number_text(abs(weight), precision)}*"
        text += f"{sign}{factor}{factor_of(term['name'], weight, term['weight'])}"
    hidden = len(terms) - len(shown)
    return text + (f" + {hidden} more" if hidden else "")


def condition_text(node, precision, max_terms=None, *, is_left=True):
    """What a decision node of a report asks: "0.5*a - 2*b <= 3", of one feature "a >= 2".

    Parameters
    ----------
    node : dict
    precision, max_terms
        As for :func:`terms_text`.
    is_left : bool
        The condition to go left, or to go right.
    """
    if len(node["terms"]) == 1:
        name, tolerance = node["terms"][0]["name"], node["tolerance"]
        return bounds_text(name, [bound_of(node, is_left)], precision, [tolerance])
    total = sum_text(node, precision, max_terms)
    return f"{total} {'<=' if is_left else '>'} {threshold_text(node, precision)}"


def sum_text(node, precision, max_terms=None):
    """The weighted sum of a node, with digits enough for its threshold to divide the rows."""
    digits = weight_digits(node["threshold"], node["tolerance"], precision)
    return terms_text(node["terms"], digits, max_terms)


def threshold_text(node, precision):
    """The threshold of a weighted sum."""
    return near_number(node["threshold"], precision, node["tolerance"] or math.inf)


def bound_of(node, is_left=True):
    """What the rows that take a side of a test of one feature have in common: Bound."""
    (term,) = node["terms"]
    return Bound.from_test(term["feature"], term["weight"], node["threshold"], is_left)


def edge_signs(node):
    """What the edges to the left and to the right say of the test that a box states: two str.

    Parameters
    ----------
    node : dict with the `terms` and `threshold` of a test
    """
    if len(node["terms"]) != 1:
        return "\N{LESS-THAN OR EQUAL TO}", ">"
    left, right = (bound_of(node, is_left) for is_left in (True, False))
    if fact_text(node["terms"][0]["name"], left) is not None:
        return "yes", "no"
    return tuple(typeset(f" {bound.sign} ").strip() for bound in (left, right))


def bounds_text(name, bounds, precision, tolerances):
    """One or both bounds of a feature: "a >= 2", "2 <= a < 5", "plan is gold".

    Parameters
    ----------
    name : str, maybe an Indicator
    bounds : list of Bound, one a direction
    precision : int, significant digits; up to three more where these make a bound exact
    tolerances : list of float or None, how far what is shown of each bound may be from it
    """
    facts = [fact_text(name, bound) for bound in bounds]
    if any(facts):
        texts = (
            fact or bounds_text(name, [bound], precision, [tolerance])
            for fact, bound, tolerance in zip(facts, bounds, tolerances, strict=True)
        )
        return " and ".join(dict.fromkeys(texts))
    # Where what is shown of a bound may lie: rows at the bound itself stay on their side.
    sides = [1 if bound.is_upper != bound.is_strict else -1 for bound in bounds]
    limits = [
        bound_number(bound.value, precision, tolerance or math.inf, side)
        for bound, tolerance, side in zip(bounds, tolerances, sides, strict=True)
    ]
    if len(bounds) == 1:
        return f"{factor_name(name)} {bounds[0].sign} {limits[0]}"
    low, high = (1, 0) if bounds[0].is_upper else (0, 1)
    compare = bounds[low].sign.replace(">", "<")
    return f"{limits[low]} {compare} {factor_name(name)} {bounds[high].sign} {limits[high]}"


def fact_text(name, bound):
    """What a bound says of an indicator, "plan is gold"; None if it says nothing of the kind."""
    if not isinstance(name, Indicator) or (0.0 in bound) == (1.0 in bound):
        return None
    return str(name) if 1.0 in bound else name.contrary


def typeset(text):
    """A condition as pictures show it, with the signs of print."""
    for typed, printed in _PRINTED.items():
        text = text.replace(typed, printed)
    return text


def rows_text(count, share, counted="rows"):
    """How many rows, as "120 rows, 6.7 %"; a row of weight 2 is two rows."""
    return f"{count:.10g} {counted[:-1] if count == 1 else counted}, {100 * share:.1f} %"


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
    return _COMPARISONS[sign](shown_a, shown_b) and (shown_a != shown_b or a == b)


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
