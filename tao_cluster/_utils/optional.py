"""Packages that single parts need and the rest does not."""

import importlib


def need(package, function, command):
    """Import a package, or a module of it, or say how to get it.

    Raises
    ------
    ImportError
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{function} needs the package {package}: {command}") from error
