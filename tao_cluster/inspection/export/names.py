"""Weighted sums, tests and counts as text, shared by every readable export."""

from ..report import sorted_terms


def weighted_sum(indices, weights, feature_names, precision, max_terms=None):
    """The sum w.x, largest weights first: "0.5*a - 2*b"; "0" without weights.

    Parameters
    ----------
    max_terms : int, optional
        Show only that many and say how many are left out.
    """
    return terms_text(sorted_terms(indices, weights, feature_names), precision, max_terms)


def terms_text(terms, precision, max_terms=None):
    """The same for terms of a report."""
    if not terms:
        return "0"
    shown = terms[:max_terms]
    text = ""
    for term in shown:
        weight = term["weight"]
        sign = ("" if weight > 0 else "-") if not text else (" + " if weight > 0 else " - ")
        factor = "" if abs(weight) == 1 else f"{abs(weight):.{precision}g}*"
        text += f"{sign}{factor}{term['name']}"
    hidden = len(terms) - len(shown)
    return text + (f" + {hidden} more" if hidden else "")


def condition_text(node, precision, max_terms=None):
    """The condition to go left at a decision node of a report: "0.5*a - 2*b <= 3"."""
    return f"{terms_text(node['terms'], precision, max_terms)} <= {node['threshold']:.{precision}g}"


def rows_text(count, share):
    """How many rows, as "120 rows, 6.7 %"; a row of weight 2 is two rows."""
    return f"{count:.10g} {'row' if count == 1 else 'rows'}, {100 * share:.1f} %"
