"""The method of TAOClustering: settings, and the progress bar of a fit."""

from dataclasses import dataclass
from typing import Any

from tqdm.auto import tqdm

from .fit import fit_path, fit_tree
from .settings import Settings, check_path

_SHOWN = ("stage", "lambda", "mu", "cost_increase", "leaves", "non_zeros")


@dataclass(frozen=True)
class Method:
    """What fits trees to problems.

    Parameters
    ----------
    settings : Settings
    random_state : int, RandomState instance or None
    verbose : int, above 0 for a progress bar
    """

    settings: Settings
    random_state: Any
    verbose: int

    @property
    def objective(self):
        """Objective of the problems."""
        return self.settings.objective

    @property
    def validation(self):
        """Rows to hold out, as a share or by number, or None."""
        return self.settings.validation

    @property
    def improves(self):
        """Whether nodes of the tree may be changed where that lowers the cost of further rows."""
        return self.settings.relax

    @property
    def midpoints(self):
        """Whether thresholds lie halfway between rows."""
        return self.settings.split_kind.midpoints

    def check_data(self, X, weight):
        """Fail early if the settings do not go with the data; see Settings."""
        self.settings.check_data(X, weight)

    def fit_tree(self, problem):
        """See :func:`.fit.fit_tree`."""
        with self._bar() as bar:
            return fit_tree(problem, self.settings, self.random_state, _shown_in(bar))

    def check_path(self):
        """ValueError if the settings ask for what a path along lambda does not do."""
        check_path(self.settings)

    def fit_path(self, problem, lambdas):
        """See :func:`.fit.fit_path`."""
        with self._bar() as bar:
            on_record = _shown_in(bar)
            yield from fit_path(problem, self.settings, lambdas, self.random_state, on_record)

    def _bar(self):
        return tqdm(desc="trees", disable=not self.verbose)


def _shown_in(bar):
    """What a progress bar does with a record."""

    def show(record):
        bar.set_postfix({name: record[name] for name in _SHOWN})
        bar.update()

    return show
