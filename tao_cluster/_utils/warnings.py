"""Warnings that name the user's line, however deep in these packages they arise."""

import sys
import warnings

# contextlib calls what a context decorates.
_INSIDE = {"contextlib", "greedy", "sklearn", "tao_cluster"}


def tell(sentence, category=UserWarning):
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
