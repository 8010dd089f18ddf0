"""How far a shown threshold may be from the exact one, so that it divides the same rows."""

import math

from ..tree.conditions import Condition

_OF_SPREAD = 1e-3
_OF_ROWS = 0.999  # of the gap to the next row, which itself is on the other side
_OF_GAP = 0.25  # below a half, thresholds keep their order


def tolerances(tree, nodes, gaps=None):
    """The largest errors of shown thresholds.

    Parameters
    ----------
    tree : Tree
    nodes : list of dict, the nodes of its report with their terms and counts
    gaps : float array of shape (n_nodes,), optional
        `split_gaps_` of a fitted estimator.

    Returns
    -------
    dict of float, by node
        In units of the feature, or of the sum of several. Nodes whose threshold may be shown with
        any error, since neither rows nor other thresholds of it are known, have no entry.

    Notes
    -----
    A quarter of the distance to the next threshold of the same feature or sum, and the gap to the
    next row; where that is not known, a thousandth of the spread: of a sum's largest term, or of a
    feature over the number of rows, which is a thousandth of what usually is between neighbouring
    rows.
    """
    conditions = {}
    for node in tree.decision_nodes:
        condition = Condition.at(tree, node)
        if len(condition.indices):
            conditions.setdefault(condition.sum, []).append(condition)
    found = {}
    for group in conditions.values():
        values = sorted({_value(condition) for condition in group})
        for condition in group:
            errors = [_OF_GAP * gap for gap in _gaps(values, _value(condition))]
            gap = math.nan if gaps is None else gaps[condition.node]
            errors += _of_rows(nodes[condition.node]) if math.isnan(gap) else [_OF_ROWS * gap]
            if errors:
                found[condition.node] = min(errors)
    return found


def _value(condition):
    """The limit of the feature, or of the sum."""
    return condition.threshold if condition.bound is None else condition.bound.value


def _gaps(values, value):
    """Distances to the neighbours of one of some sorted values."""
    near = values[max(values.index(value) - 1, 0) :][:3]
    return [abs(other - value) for other in near if other != value]


def _of_rows(node):
    """What the rows of a node allow, in a list; empty where they do not vary or are not known."""
    terms = node["terms"]
    if len(terms) == 1:
        size = (terms[0]["spread"] or 0.0) / max(node["count"] or 1.0, 1.0)
    else:
        size = max(abs(term["weight"]) * (term["spread"] or 0.0) for term in terms)
    return [_OF_SPREAD * size] if size else []
