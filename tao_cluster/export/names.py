"""Names, weighted sums, tests and counts as text, shared by everything that people read."""

import math

from ..columns import Indicator
from ..tree.conditions import Bound
from .numbers import bound_number, near_number, number_text, weight_digits

_COMPARE = {"<=": "≤", ">=": "≥"}


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
    return Bound.of_test(term["feature"], term["weight"], node["threshold"], is_left)


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
    limits = [
        bound_number(bound.value, precision, tolerance or math.inf, _side_of(bound))
        for bound, tolerance in zip(bounds, tolerances, strict=True)
    ]
    if len(bounds) == 1:
        return f"{factor_name(name)} {bounds[0].sign} {limits[0]}"
    low, high = (1, 0) if bounds[0].is_upper else (0, 1)
    compare = bounds[low].sign.replace(">", "<")
    return f"{limits[low]} {compare} {factor_name(name)} {bounds[high].sign} {limits[high]}"


def _side_of(bound):
    """The side where what is shown of a bound may lie: rows at the bound itself stay theirs."""
    return 1 if bound.is_upper != bound.is_strict else -1


def fact_text(name, bound):
    """What a bound says of an indicator, "plan is gold"; None if it says nothing of the kind."""
    if not isinstance(name, Indicator) or (0.0 in bound) == (1.0 in bound):
        return None
    return str(name) if 1.0 in bound else name.contrary


def without_implied(names, texts):
    """Texts of the conditions of a rule, without "is not" where another value of the column is.

    Parameters
    ----------
    names : list of str, maybe Indicators; None for a sum of several features
    texts : list of str

    Returns
    -------
    list of str
    """
    pairs = list(zip(names, texts, strict=True))
    known = {
        name.column for name, text in pairs if isinstance(name, Indicator) and text == str(name)
    }
    return [
        text
        for name, text in pairs
        if not (isinstance(name, Indicator) and text == name.contrary and name.column in known)
    ]


def typeset(text):
    """A condition as pictures show it, with the signs of print."""
    for typed, printed in _COMPARE.items():
        text = text.replace(f" {typed} ", f" {printed} ")
    return text


def rows_text(count, share, counted="rows"):
    """How many rows, as "120 rows, 6.7 %"; a row of weight 2 is two rows."""
    return f"{count:.10g} {counted[:-1] if count == 1 else counted}, {100 * share:.1f} %"
