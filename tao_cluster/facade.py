"""The facade: methods of trees and estimators that display, explain and save them.

Each method is a function of a higher layer, which gets the tree or estimator as its first argument.
The stub `facade.pyi` lists them, for type checkers, editors and this file, which resolves the
functions at their first use and so imports no higher layer. A new method is one line of the stub.
Dask models have it, too. If its name begins with `to_`, the command line writes it (`tao-cluster
export --format`), and the shared tests of the exports run it.
"""

import ast
from importlib import import_module
from importlib.resources import files
from types import MethodType

_STUB = ast.parse(files(__package__).joinpath("facade.pyi").read_text(encoding="utf-8"))


class _Function:
    """Descriptor of a method that is a function of another module.

    Its signature and docstring are those of the function, for `help`.
    """

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __get__(self, instance, owner=None):
        function = getattr(import_module(f"{__package__}.{self.module}"), self.name)
        return function if instance is None else MethodType(function, instance)


def _with_methods_of_the_stub(cls):
    """Give a class the methods that the stub assigns to it: ``to_text = export.to_text``."""
    (body,) = (part.body for part in _STUB.body if getattr(part, "name", None) == cls.__name__)
    for line in body:
        if isinstance(line, ast.Assign):
            method = _Function(line.value.value.id, line.value.attr)
            setattr(cls, line.targets[0].id, method)
    return cls


@_with_methods_of_the_stub
class Facade:
    """Base class of :class:`Tree` and of the estimators with a `tree_`."""

    def _frame(self):
        """Return the page of `to_html` in an iframe, for display in notebooks."""
        return self.to_html()._repr_html_()


# Names of the methods, and of the formats that `to_` begins.
METHODS = [name for name in vars(Facade) if not name.startswith("_")]
FORMATS = [name.removeprefix("to_") for name in METHODS if name.startswith("to_")]


@_with_methods_of_the_stub
class EstimatorFacade(Facade):
    """Base class of the estimators, whose clusters can be named; a :class:`Tree` never changes."""
