"""Names and submodules of a package that are loaded at their first use (PEP 562)."""

import ast
from importlib import import_module
from importlib.resources import files


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
