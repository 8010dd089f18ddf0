"""Imports at the first use: of optional packages, progress bars, and the names of a package."""

import ast
from importlib import import_module
from importlib.resources import files


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
        return import_module(package)
    except ImportError as error:
        raise ImportError(f"{function} needs the package {package}: {command}") from error


def progress_bar(iterable=None, *, disable=False, **options):
    """Return a tqdm progress bar for a notebook or a terminal; options are passed to tqdm.

    `tqdm.auto` warns at its import if a notebook lacks ipywidgets, so it is imported only when a
    bar is shown.
    """
    bar = import_module("tqdm.std" if disable else "tqdm.auto").tqdm
    return bar(iterable, disable=disable, **options)


def load_at_first_use(package):
    """Return the functions `__getattr__` and `__dir__`, and the list `__all__`, of a package.

    The stub `__init__.pyi` lists the names and their modules for readers and type checkers. It is
    read as a resource, so that the package can also be imported from a zip file. lazy_loader cannot
    replace this function: it needs a stub outside of zip files, and with EAGER_IMPORT set it loads
    all names at once, which fails for two packages that import modules of each other.

    Parameters
    ----------
    package : str, name of the package
    """
    stub = files(package).joinpath("__init__.pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    homes = {alias.name: node.module for node in imports for alias in node.names}

    def load(name):
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name] or name}")
        return getattr(module, name) if homes[name] else module  # a submodule has no other home

    return load, lambda: sorted(homes), sorted(homes)
