"""Feature names and weighted sums as text, shared by every readable export."""


def check_feature_names(feature_names, n_features):
    """List of names; x0, x1, ... by default.

    Raises
    ------
    ValueError
        If the number of names is not `n_features`.
    """
    if feature_names is None:
        return [f"x{j}" for j in range(n_features)]
    names = [str(name) for name in feature_names]
    if len(names) != n_features:
        raise ValueError(f"Got {len(names)} feature names for {n_features} features.")
    return names


def weighted_sum(indices, weights, feature_names, precision, max_terms=None):
    """The sum w.x, largest weights first: "0.5*a - 2*b"; "0" without weights.

    Parameters
    ----------
    max_terms : int, optional
        Show only that many and say how many are left out.
    """
    if len(indices) == 0:
        return "0"
    terms = sorted(zip(indices, weights, strict=True), key=lambda term: (-abs(term[1]), term[0]))
    shown = terms[:max_terms]
    text = ""
    for j, weight in shown:
        sign = ("" if weight > 0 else "-") if not text else (" + " if weight > 0 else " - ")
        factor = "" if abs(weight) == 1 else f"{abs(weight):.{precision}g}*"
        text += f"{sign}{factor}{feature_names[j]}"
    hidden = len(terms) - len(shown)
    return text + (f" + {hidden} more" if hidden else "")
