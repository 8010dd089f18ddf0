"""Warnings that point to the line of code of the user, and lists of names for messages."""

import sys
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

# Stack frames of these packages are skipped to find the user's line. contextlib and numpy are among
# them, because they call the functions that a context manager decorates.
_INSIDE = {"contextlib", "greedy", "numpy", "sklearn", "tao_cluster"}


class InterruptedWarning(ConvergenceWarning):
    """Ctrl-C has cut off a computation, which returns its best result so far.

    Functions that run several fits recognise by this category that one of them is not complete.
    """


def warn(message, category=UserWarning):
    """Issue a warning that points to the innermost line outside of this project and scikit-learn.

    Parameters
    ----------
    message : str
    category : subclass of Warning
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package_of(frame) in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def numpy_errors():
    """Return a context, also a decorator, in which floating-point errors only warn.

    These are numpy's defaults. Fits and methods have this context, so that no setting of
    `np.seterr` lets them fail where a tiny number is rounded to zero. Functions whose numbers can
    only underflow have ``np.errstate(under="ignore")``.
    """
    return np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")


def _package_of(frame):
    return frame.f_globals.get("__name__", "").split(".")[0]


def listed(names, *, quote=True, most=5):
    """Join names for a message: at most `most` names, followed by the number of the others.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    shown = [repr(str(name)) if quote else str(name) for name in names[:most]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
