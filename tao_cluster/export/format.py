"""Text of tests, weighted sums, numbers and row counts, and checks of the options of exports."""

import math
import operator
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from sklearn.utils._param_validation import Interval, validate_parameter_constraints

from ..columns.names import Indicator, levels_text, printable
from ..tree.conditions import Bound
from ..tree.split_statistics import CROWD, GAP
from .digits import bound_text, exact_text, is_rounded_up, moved, number_text, short_text, sum_texts

_CONSTRAINTS = {
    "precision": [Interval(Integral, 1, 17, closed="both")],  # 17 digits identify a float64
    "max_terms": [None, Interval(Integral, 1, None, closed="left")],
    "scaled": ["boolean"],
    "names": ["boolean"],
    "table": [None, str],
}
_COMPARISONS = {"<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt}
_PRINTED = {" <= ": " ≤ ", " >= ": " ≥ "}
_NEGATIVE_SIGN = re.compile(r"(?<= )-(?= ?[\d.])")  # of a number, unlike the hyphens of a date
_MOST_DIGITS = 15  # different decimal numbers of up to 15 digits are different float64
_WEIGHT_DIGITS = 6  # significant digits of a sum of sample weights


def check_options(caller, **options):
    """Check options that several exports share.

    Parameters
    ----------
    caller : str
        Name of the export, for the error message.
    **options
        Values by name: precision, max_terms, scaled, names or table.

    Raises
    ------
    ValueError
        If a value is not allowed.
    """
    validate_parameter_constraints(
        {name: _CONSTRAINTS[name] for name in options}, options, caller_name=caller
    )


def factor_name(name):
    """Return the name of a feature as a factor of a sum: "weight (kg)", or "[plan is gold]"."""
    return f"[{name}]" if isinstance(name, Indicator) else name_with_unit(name)


def name_with_unit(name):
    """Return the name of a feature with its unit, if it is known: "width", "weight (kg)"."""
    unit = getattr(getattr(name, "reader", None), "unit", "")
    if not unit:
        return str(name)
    part = unit.split(" ")[0]  # a part of a date, such as "weekday (0 = Monday)"
    return f"{name.removesuffix(part)}{unit}" if name.endswith(f" {part}") else f"{name} ({unit})"


def tested_name(name):
    """Return the name of a feature beside its bound; dates and times of day need no unit."""
    return str(name) if _steps(name) else factor_name(name)


def _steps(name):
    """Return the steps (day, hour, ...) to which dates of a feature are rounded in strings.

    They are in units of the feature, the longest first. The result is empty for other features.
    """
    return getattr(getattr(name, "reader", None), "steps", ())


def factor_of(name, shown, weight):
    """Return what a shown weight multiplies: "width", or "width/sd" for a scaled weight.

    A scaled weight is the weight times the standard deviation (sd) of the feature over the rows of
    the node. Dividing the feature by sd keeps the value of the sum, so that it can be compared
    with the threshold shown beside it.
    """
    return factor_name(name) if shown == weight else f"{factor_name(name)}/sd"


def terms_text(terms, precision, max_terms=None, weights=None):
    """Return the weighted sum of some terms, such as "0.5*a - 2*b", or "0" without terms.

    Parameters
    ----------
    terms : list of dict
        Terms of a node of a report, shown in this order.
    precision : int
        Significant digits of the weights.
    max_terms : int, optional
        Show only the first terms and the number of the others: "0.5*a + 3 more".
    weights : list of str, optional
        Texts of the weights, as :func:`.sum_texts` returns them.
    """
    if not terms:
        return "0"
    shown = terms[:max_terms]
    if weights is None:
        weights = [number_text(term["shown"], precision) for term in shown]
    text = ""
    for term, weight in zip(shown, weights, strict=False):
        size = weight.removeprefix("-")
        sign = ("" if size == weight else "-") if not text else (" + " if size == weight else " - ")
        factor = "" if size == "1" else f"{size}*"
        text += f"{sign}{factor}{factor_of(term['name'], term['shown'], term['weight'])}"
    hidden = len(terms) - len(shown)
    return text + (f" + {hidden} more" if hidden else "")


def condition_text(node, precision, max_terms=None, *, is_left=True):
    """Return the condition of one side of a test.

    It reads "0.5*a - 2*b <= 3", "a >= 2", "plan is gold" or "plan in {gold, silver}".

    Parameters
    ----------
    node : dict
        Decision node of a report.
    precision, max_terms
        As for :func:`terms_text`.
    is_left : bool
        Whether to return the condition of the left side or of the right side.
    """
    levels = node["levels"]
    if levels is not None:
        listed = levels["is_left"] == is_left
        return levels_text(levels["column"], levels["names"], is_listed=listed)
    return bounds_text([node], [is_left], precision, max_terms)


def bounds_text(nodes, sides, precision, max_terms=None):
    """Return one or two bounds of a feature or a weighted sum as text: "a >= 2", "2 <= a < 5".

    Parameters
    ----------
    nodes : list of dict
        Decision nodes of a report that test the same feature or sum: at most one upper bound and
        one lower bound.
    sides : list of bool
        Whether each test sends the rows to the left.
    precision, max_terms
        As for :func:`terms_text`. The bound of a feature gets up to three more digits if these
        make it exact.
    """
    total, bounds = compared(nodes, sides, precision, max_terms)
    if len(bounds) == 1:
        ((sign, limit),) = bounds
        return f"{total} {sign} {limit}"
    (below, low), (above, high) = bounds
    return f"{low} {below.replace('>', '<')} {total} {above} {high}"


def compared(nodes, sides, precision, max_terms=None):
    """Return the text of a feature or a weighted sum, and signs and strings of its bounds: list.

    A lower bound is first. The parameters are those of :func:`bounds_text`.
    """
    terms = nodes[0]["terms"]
    if len(terms) == 1:
        name, bounds = terms[0]["name"], [*map(bound_of, nodes, sides)]
        shown = [
            _shown_bound(name, bound, precision, node["between"], node["decimals"])
            for node, bound in zip(nodes, bounds, strict=True)
        ]
        return tested_name(name), shown[::-1] if bounds[0].is_upper else shown
    weights, limits = sum_texts(nodes, precision)
    signs = ["<=" if is_left else ">" for is_left in sides]
    bounds = sorted(zip(signs, limits, strict=True), reverse=True)
    return terms_text(terms, precision, max_terms, weights), bounds


def condition_parts(node, precision, *, is_left=True):
    """Return what a test of one feature or of levels compares, and the comparison.

    They are for example ("a", "≥ 2") or ("plan", "in {gold, silver}"). Negative numbers have a
    minus sign instead of a hyphen. The parameters are those of :func:`condition_text`.
    """
    levels = node["levels"]
    column = printable(levels["column"]) if levels else tested_name(node["terms"][0]["name"])
    text = typeset(condition_text(node, precision, is_left=is_left)).removeprefix(f"{column} ")
    return column, text if levels else minus_signs(text)


def minus_signs(text):
    """Return a comparison whose negative numbers have a minus sign instead of a hyphen."""
    return _NEGATIVE_SIGN.sub("\N{MINUS SIGN}", text)


_CUTS = {"gap": "in a gap", "thin": "in a thin part", "crowd": "in a crowd"}


def cut_word(node):
    """Return where the cut of a test lies: "gap", "thin" or "crowd".

    It is None if the density is unknown, and for a test of levels, which always has a gap.

    Parameters
    ----------
    node : dict with the `density` and `levels` of a node of a report
    """
    density = node["density"]
    if density is None or node["levels"] is not None:
        return None
    return "gap" if density <= GAP else "thin" if density <= CROWD else "crowd"


def cut_text(node):
    """Return where the cut of a test lies, such as "in a gap"; None as for :func:`cut_word`."""
    return _CUTS.get(cut_word(node))


def more_text(n, counted="feature"):
    """Return the text that counts features, or words, that are not shown: "3 more features"."""
    return f"{n} more {counted}{'s' if n != 1 else ''}"


def bound_of(node, is_left=True):
    """Return the Bound that holds for the rows on one side of a test of one feature."""
    (term,) = node["terms"]
    return Bound.from_test(term["feature"], term["weight"], node["threshold"], is_left)


def _shown_bound(name, bound, precision, between, decimals):
    """Return the sign of a bound and its value as text; see :func:`.bound_text`."""
    if _steps(name):
        bound = _rounded_date(name, bound, between)
        return bound.sign, value_text(name, bound.value)
    return bound_text(bound, between, precision, decimals)


def _rounded_date(name, bound, between, value=None):
    """Round a bound to a whole day or, if that is too far away, to a whole hour, minute or second.

    If the bound is not a multiple of such units, its comparison also changes between strict and
    inclusive, for example from x <= bound to x < date. Both conditions select the same rows if no
    row lies between the bound and the date.

    Parameters
    ----------
    name : str with the attribute `reader`
        Name of a feature whose reader (a Date) converts numbers to dates or times of day.
    bound : Bound
    between : pair of float or None
        Nearest values of rows below and above the bound; None if they are unknown. Dates are
        between them, except for whole seconds.
    value : float, optional
        A value that satisfies the bound. A unit is skipped if the value does not satisfy the
        rounded bound, except for the last unit (seconds).
    """
    # A date at the nearest row is allowed, since the comparison changes with the rounding (x <=
    # bound to x < date).
    next_row = between[is_rounded_up(bound)]
    near = math.inf if next_row is None else 1.001 * abs(next_row - bound.value)
    turn = math.ceil if is_rounded_up(bound) else math.floor
    for step in _steps(name):
        n_steps = bound.value / step
        is_whole = abs(n_steps - round(n_steps)) < 1e-6  # up to rounding
        rounded = moved(bound, (round if is_whole else turn)(n_steps) * step)
        is_kept = value is None or value in rounded
        if is_kept and abs(rounded.value - bound.value) <= near:
            break
    return rounded


def value_text(name, value):
    """Return a value of a feature as a date or time of day; empty if its values are numbers."""
    return (name.reader.text(value) or repr(value)) if _steps(name) else ""


def comparison_text(name, value, bound, precision, between, decimals=None):
    """Return how the value of a feature compares with its bound: "3 > 2.5".

    Parameters
    ----------
    name : str
        Name of the feature; one with a reader may have dates as values.
    value : float
    bound : Bound, which the value satisfies
    precision : int
        Least number of significant digits of numbers.
    between, decimals
        As for :func:`.bound_text`.
    """
    if _steps(name):
        bound = _rounded_date(name, bound, between, value)
        return f"{value_text(name, value)} {bound.sign} {value_text(name, bound.value)}"
    sign, shown = bound_text(bound, between, precision, decimals)
    number = float(shown)
    if not _COMPARISONS[sign](value, number):  # the value lies between the bound and this number
        sign, number, shown = bound.sign, bound.value, None
    value, limit = comparable_texts(value, number, sign, precision, shown)
    return f"{value} {sign} {limit}"


def change_text(name, before, after, precision):
    """Return the change of a number: "width 2 -> 5 (+3)", "day 2020-01-31 -> 2020-02-01 (+1 day)".

    Parameters
    ----------
    name : str
        Name of the feature; one with a reader may have dates as values.
    before, after : float, different numbers
    precision : int
        Least number of significant digits.
    """
    step = number_text(after - before, precision)
    step = step if step.startswith("-") else f"+{step}"
    if _steps(name):
        texts = [value_text(name, value) for value in (before, after)]
        unit = name.reader.unit.split(" ")[0]  # "days" of "days since 2020-01-31"
        step = f"{step} {unit.removesuffix('s') if abs(after - before) == 1 else unit}"
    else:
        # The new value has all its digits, so that the printed number leads to the cluster.
        shown = exact_text(after, precision)
        texts = comparable_texts(before, after, ">" if before > after else "<", precision, shown)
    return f"{tested_name(name)} {texts[0]} -> {texts[1]} ({step})"


def typeset(text):
    """Return a condition with the signs ≤ and ≥ in place of <= and >=."""
    for typed, printed in _PRINTED.items():
        text = text.replace(typed, printed)
    return text


def rows_text(part):
    """Return how many rows there are and their share.

    Without sample weights it reads "120 rows, 6.7 %". With sample weights it reads
    "120 rows, weight 1834.5, 6.7 % of the weight".

    Parameters
    ----------
    part : dict
        A node or cluster of a report, or anything else with its keys `rows`, `weight`, `share`
        and `counted`; see :func:`tao_cluster.report.report`.
    """
    share = f"{100 * part['share']:.1f} %"
    if part["weight"] is None:
        return f"{count_text(part)}, {share}"
    return f"{count_text(part)}, {share} of the weight"


def percent_text(share):
    """Return a share as a whole percentage; "<1 %" and ">99 %" are neither none nor all.

    Examples
    --------
    >>> percent_text(0.8417), percent_text(0.002), percent_text(1.0)
    ('84 %', '<1 %', '100 %')
    """
    share = round(float(share), 9)
    if 0 < share < 0.01:
        return "<1 %"
    return ">99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def count_text(part):
    """Return the number of rows and, with sample weights, their weight: "59 rows, weight 120.5".

    The parameter is that of :func:`rows_text`; the key `share` is not needed.
    """
    rows, counted, weight = part["rows"], part["counted"], part["weight"]
    text = f"{rows} {counted[:-1] if rows == 1 else counted}"
    return text if weight is None else f"{text}, weight {number_text(weight, _WEIGHT_DIGITS)}"


def decimals_of(total, threshold, largest, compare, precision):
    """Return the number of decimals that show on which side of the threshold a sum lies.

    Parameters
    ----------
    total, threshold : float
        Sum and threshold that are compared.
    largest : float
        Size of the largest term, used if both are 0.
    compare : {"<=", "<", ">=", ">"}
        Comparison that holds between them.
    precision : int
        Least number of significant digits.
    """
    size = max(abs(total), abs(threshold)) or largest
    least = max(0, precision - 1 - math.floor(math.log10(size))) if size else 0
    for decimals in range(least, least + _MOST_DIGITS):
        if _compare_alike(
            total, threshold, compare, *(round(x, decimals) for x in (total, threshold))
        ):
            return decimals
    return least


def comparable_texts(value, limit, sign, precision, shown=None):
    """Return a value and a limit as strings with enough digits to see how they compare.

    Parameters
    ----------
    value, limit : float
    sign : {"<=", "<", ">=", ">"}
        Comparison that holds between them.
    precision : int
        Least number of significant digits.
    shown : str, optional
        Text of the limit in other displays. It is used if the value compares with it in the same
        way.
    """
    for digits in range(precision, _MOST_DIGITS if shown else 0):
        text = short_text(value, digits)
        is_same = _COMPARISONS[sign](value, float(shown))
        if is_same and _compare_alike(value, limit, sign, float(text), float(shown)):
            return text, shown
    for digits in range(precision, _MOST_DIGITS):
        texts = short_text(value, digits), short_text(limit, digits)
        if _compare_alike(value, limit, sign, *map(float, texts)):
            return texts
    return repr(value), repr(limit)


def _compare_alike(a, b, sign, shown_a, shown_b):
    """Return whether the rounded numbers of `a` and `b` compare like `a` and `b`.

    `a sign b` holds. The rounded numbers `shown_a` and `shown_b` must compare in the same way, and
    must differ if `a` and `b` differ.
    """
    return _COMPARISONS[sign](shown_a, shown_b) and (shown_a != shown_b or a == b)


def rounded(number, decimals):
    """Return a rounded number as text, without trailing zeros.

    A number that is rounded to 0 is written with all decimals, as "0.00"; only 0 itself is "0".
    """
    short = round(number, decimals)
    if short == 0:
        return f"{0:.{min(decimals, 6)}f}" if number else "0"
    return f"{short:.{_MOST_DIGITS}g}"


def summands(numbers, total, decimals):
    """Return numbers and their total as strings that add up exactly.

    Numbers are rounded down. The units that are then missing to the rounded total are added to the
    numbers with the largest remainders (the largest remainder method), so that each text is within
    one unit of its last decimal.

    Parameters
    ----------
    numbers : list of float
    total : float
        Their sum.
    decimals : int

    Returns
    -------
    texts : list of str
    total : str

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
    """Return units / 10**decimals as text; a result of 0 is written as by :func:`rounded`."""
    if units == 0:
        return f"{0:.{min(decimals, 6)}f}" if number else "0"
    text = f"{Decimal(units).scaleb(-decimals):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
