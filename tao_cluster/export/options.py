"""Options of the exports, checked in one place: a sentence for each."""

from numbers import Integral

from sklearn.utils._param_validation import Interval, validate_parameter_constraints

_CONSTRAINTS = {
    "precision": [Interval(Integral, 1, 17, closed="both")],  # a float has no more digits
    "max_terms": [None, Interval(Integral, 1, None, closed="left")],
    "scaled": ["boolean"],
    "table": [None, str],
}


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
