"""Public modules under their short names: ``tao_cluster.measures`` is the one in `inspection`.

The one place for them. An alias is the module itself, not a copy, loaded when it is imported.
"""

import importlib
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

ALIASES = {
    "cart": "search.starts.cart",
    "columns": "inspection.columns",
    "comparison": "inspection.comparison",
    "dask": "outofcore.dask",
    "explanations": "inspection.explanations",
    "export": "inspection.export",
    "initial_trees": "search.starts",
    "measures": "inspection.measures",
    "node_solvers": "solvers",
    "objectives": "problem.objectives",
    "page": "inspection.page",
    "penalties": "problem.penalties",
    "plot": "inspection.plot",
    "reference": "problem.reference",
    "report": "inspection.report",
    "split_kinds": "search.split_kinds",
}


class _Finder(MetaPathFinder, Loader):
    """Finds PACKAGE.ALIAS, and modules below it, where they are."""

    def __init__(self, package):
        self._prefix = f"{package}."

    def find_spec(self, fullname, path=None, target=None):
        del path, target
        alias, dot, rest = fullname.removeprefix(self._prefix).partition(".")
        if not fullname.startswith(self._prefix) or alias not in ALIASES:
            return None
        return ModuleSpec(fullname, self, loader_state=self._prefix + ALIASES[alias] + dot + rest)

    def create_module(self, spec):
        module = importlib.import_module(spec.loader_state)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        # The import system has put the alias's specification in place of the module's own.
        module.__spec__ = module.__spec__.loader_state


def install(package):
    """Make the aliases of a package importable; once, however often it is called."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(package))
