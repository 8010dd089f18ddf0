"""Import of optional dependencies."""

import importlib


def import_optional(package, function, command):
    """Import an optional package, or a module of one.

    Raises
    ------
    ImportError
        If it is not installed. The message names the `function` that needs it and the `command`
        that installs it.
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{function} needs the package {package}: {command}") from error
