"""The facade: methods of trees and estimators that display, explain and save them.

Each method is a function of a higher layer, which gets the tree or estimator as its first argument.
The functions are names here, which are resolved at their first use, so that this file imports no
higher layer. `facade.pyi` shows the functions to type checkers and editors. A new method of trees
and estimators belongs into both files. Dask models have it, too. If its name begins with `to_`, the
command line writes it (`tao-cluster export --format`), and the shared tests of the exports run it.
"""

from importlib import import_module
from types import MethodType


class _Function:
    """Descriptor of a method that is a function of another module.

    Its signature and docstring are those of the function, for `help`.
    """

    def __init__(self, module, name):
        self.module, self.name = module, name

    def __get__(self, instance, owner=None):
        function = getattr(import_module(f"{__package__}.{self.module}"), self.name)
        return function if instance is None else MethodType(function, instance)


class Facade:
    """Base class of :class:`Tree` and of the estimators with a `tree_`."""

    to_text = _Function("export", "to_text")
    to_rules = _Function("export", "to_rules")
    to_query = _Function("export", "to_query")
    to_dot = _Function("export", "to_dot")
    to_sql = _Function("export", "to_sql")
    to_onnx = _Function("export", "to_onnx")
    to_dataframe = _Function("export", "to_dataframe")
    to_html = _Function("page", "to_html")
    plot = _Function("plot", "plot_tree")
    explain = _Function("explanations", "explain")
    describe = _Function("description", "describe")
    nearest_change = _Function("explanations", "nearest_change")
    save = _Function("saving", "save")

    def _frame(self):
        """Return the page of `to_html` in an iframe, for display in notebooks."""
        return self.to_html()._repr_html_()


# Names of the methods, and of the formats that `to_` begins.
METHODS = [name for name in vars(Facade) if not name.startswith("_")]
FORMATS = [name.removeprefix("to_") for name in METHODS if name.startswith("to_")]


class EstimatorFacade(Facade):
    """Base class of the estimators, whose clusters can be named; a :class:`Tree` never changes."""

    name_clusters = _Function("report", "name_clusters")
