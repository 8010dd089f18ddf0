"""Imports of optional packages and of progress bars at the time of their first use."""

import importlib

from tqdm.std import tqdm


def import_optional(package, function, command):
    """Import and return an optional package or one of its modules.

    Parameters
    ----------
    package : str
    function : str
        Name of the function that needs the package, for the error message.
    command : str
        Command that installs the package, for the error message.

    Raises
    ------
    ImportError
        If the package is not installed. The message names the function and the command.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{function} needs the package {package}: {command}") from error


def progress_bar(iterable=None, *, disable=False, **options):
    """Return a tqdm progress bar for a notebook or a terminal; options are passed to tqdm.

    `tqdm.auto` warns at its import if a notebook lacks ipywidgets, so it is imported only when a
    bar is shown.
    """
    bar = tqdm if disable else importlib.import_module("tqdm.auto").tqdm
    return bar(iterable, disable=disable, **options)
