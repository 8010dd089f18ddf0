"""The style of pictures, as a context in which they are drawn."""

from contextlib import contextmanager

import matplotlib as mpl

STYLE = {"font.size": 8, "font.family": "sans-serif", "axes.spines.top": False}
STYLE |= {"axes.spines.right": False, "axes.grid": True, "grid.color": "0.92"}


@contextmanager
def drawn_with(parameters):
    """Draw with parameters of Matplotlib; afterwards all have their old values again.

    The first figure of a notebook loads the backend, which turns the interactive mode on. This must
    last, because the notebook would not show later figures without it.

    Parameters
    ----------
    parameters : dict, of Matplotlib
    """
    with mpl.rc_context(parameters):
        yield
        is_interactive = mpl.is_interactive()
    mpl.interactive(is_interactive)
