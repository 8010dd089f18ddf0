"""Sentences for users: warnings that name their line of code, and lists of names."""

import sys
import warnings

# contextlib calls what a context decorates.
_INSIDE = {"contextlib", "greedy", "sklearn", "tao_cluster"}


def warn(sentence, category=UserWarning):
    """Warn, at the innermost line that is neither in these packages nor in scikit-learn.

    Parameters
    ----------
    sentence : str
    category : class of warnings
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _package_of(frame) in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(sentence, category, stacklevel=level)


def _package_of(frame):
    return frame.f_globals.get("__name__", "").split(".")[0]


def listed(names, *, quote=True, most=5):
    """Some names in a sentence, of many the first ones and how many more there are: str.

    Examples
    --------
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    shown = [repr(str(name)) if quote else str(name) for name in names[:most]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
