"""Imports at the time of use: optional packages, and progress bars."""

import importlib

from tqdm.std import tqdm


def need(package, function, command):
    """Import an optional package or a module of it.

    Parameters
    ----------
    package : str
    function : str
        Name of the function that needs it.
    command : str
        Command that installs it.

    Raises
    ------
    ImportError
        If it is not installed. The message names the function and the command.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{function} needs the package {package}: {command}") from error


def progress_bar(iterable=None, *, disable=False, **options):
    """Return a tqdm bar in the style of the notebook or terminal; options as tqdm's.

    `tqdm.auto` warns at its import if a notebook lacks ipywidgets, so it is imported only when a
    bar is shown.
    """
    bar = tqdm if disable else importlib.import_module("tqdm.auto").tqdm
    return bar(iterable, disable=disable, **options)
