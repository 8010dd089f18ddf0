"""The facade: methods of trees and estimators that display, explain and save them.

Each method is a function of a higher layer, which gets the tree or estimator as its first argument.
This is the only file that imports higher layers, inside its methods, so that the import graph has
no cycles. A new method of trees and estimators belongs here. Dask models have it, too. If its name
begins with `to_`, the command line writes it (`tao-cluster export --format`), and the shared tests
of the exports run it.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable)


class _Delegate:
    """Descriptor of a method that is a function of another module; see `_delegate`."""

    def __init__(self, load):
        self._load = load

    def __get__(self, instance, owner=None):
        function = self._load(instance)
        return function if instance is None else MethodType(function, instance)


def _delegate(load: Callable[[Any], Function]) -> Function:
    """Return a method that is the function which `load` imports.

    Its signature and docstring are those of the function, for `help` and for editors. The function
    is imported when the method is first used.
    """
    return _Delegate(load)  # type: ignore[return-value]


class Facade:
    """Base class of :class:`Tree` and of the estimators with a `tree_`."""

    @_delegate
    def to_text(self):
        from .export import to_text

        return to_text

    @_delegate
    def to_rules(self):
        from .export import to_rules

        return to_rules

    @_delegate
    def to_query(self):
        from .export import to_query

        return to_query

    @_delegate
    def to_dot(self):
        from .export import to_dot

        return to_dot

    @_delegate
    def to_sql(self):
        from .export import to_sql

        return to_sql

    @_delegate
    def to_onnx(self):
        from .export import to_onnx

        return to_onnx

    @_delegate
    def to_dataframe(self):
        from .export import to_dataframe

        return to_dataframe

    @_delegate
    def to_html(self):
        from .page import to_html

        return to_html

    @_delegate
    def plot(self):
        from .plot import plot_tree

        return plot_tree

    @_delegate
    def explain(self):
        from .explanations import explain

        return explain

    @_delegate
    def describe(self):
        from .description import describe

        return describe

    @_delegate
    def nearest_change(self):
        from .explanations import nearest_change

        return nearest_change

    @_delegate
    def save(self):
        from .saving import save

        return save

    def _frame(self):
        """Return the page of `to_html` in an iframe, for display in notebooks."""
        return self.to_html()._repr_html_()


# Names of the methods, and of the formats that `to_` begins.
METHODS = [name for name in vars(Facade) if not name.startswith("_")]
FORMATS = [name.removeprefix("to_") for name in METHODS if name.startswith("to_")]


class EstimatorFacade(Facade):
    """Base class of the estimators, whose clusters can be named; a :class:`Tree` never changes."""

    @_delegate
    def name_clusters(self):
        from .report import name_clusters

        return name_clusters
