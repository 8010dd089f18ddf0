"""kdd22-readings: interpretations of the TAO paper, for its tables 1 and 2 and its figure 3."""

from dataclasses import dataclass
from functools import partial

from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.mu_path import history
from benchmarks.evidence.tables.oblique import (
    GIVEN,
    PUBLISHED_SETTINGS,
    STARTS,
    setting_of,
)
from greedy import ExKMC
from tao_cluster import PenaltyMethod, TAOClustering
from tao_cluster.solvers import WeightedLiblinear

NAME = "kdd22-readings"


@dataclass(frozen=True)
class Reading:
    """An interpretation of the paper.

    Parameters
    ----------
    options : dict, of PenaltyMethod
    init : str, builder of the initial oblique tree
    is_common : bool
        Whether it is run with all settings and data sets, instead of with one setting of letter.
    """

    options: dict
    init: str = "bisecting"
    is_common: bool = False

    @property
    def concerns_axis_aligned(self):
        """Whether the choices concern axis-aligned trees, too.

        Those have neither a random start nor a logistic regression.
        """
        return self.init == "bisecting" and "node_solver" not in self.options

    def oblique(self, depth, lambda_):
        """Return the estimator for an oblique tree."""
        return TAOClustering(
            lambda_=lambda_, depth=depth, init=self.init, algorithm=self._algorithm()
        )

    def axis_aligned(self, n_leaves):
        """Return the estimator for an axis-aligned tree from ExKMC without regularization."""
        return TAOClustering(
            split="axis",
            init=ExKMC(max_leaves=n_leaves, midpoints=False),
            lambda_=0.0,
            algorithm=self._algorithm(),
        )

    def _algorithm(self):
        return PenaltyMethod(n_init=1, refine=False, **self.options)


# Squared error: section 9.2 ("minimization of squared error plus regularization") and appendix A.2.
_SQUARED = {"penalty": "squared", "result": "last"}
_CONSTANT = _SQUARED | {"strength": "constant"}
_ALWAYS = _CONSTANT | {"accept": "always"}
READINGS = {
    "constant, always": Reading(_ALWAYS, is_common=True),
    "constant, if loss falls": Reading(_CONSTANT | {"accept": "if loss falls"}, is_common=True),
    "constant, if better": Reading(_CONSTANT),
    "lambda/mu, median, always": Reading(
        _SQUARED | {"initial_mu": "median", "accept": "always"}, is_common=True
    ),
    "lambda/mu, least, always": Reading(_SQUARED | {"accept": "always"}),
    "lambda/max(mu,1), always": Reading(
        _SQUARED | {"strength": "lambda/max(mu,1)", "accept": "always"}, is_common=True
    ),
    "lambda*mu_0/mu, always": Reading(
        _SQUARED | {"strength": "lambda*mu_0/mu", "accept": "always"}
    ),
    "constant, always, random": Reading(_ALWAYS, "random", is_common=True),
    "constant, always, 0/1": Reading(_ALWAYS | {"penalty": "zero-one"}),
    "constant, always, LIBLINEAR 0.01": Reading(_ALWAYS | {"node_solver": WeightedLiblinear(0.01)}),
    "0/1, lambda/mu, least, if better, best": Reading({}),
}

# Settings of common interpretations. Of the images, those whose depth and lambda the paper prints;
# a fit takes up to a quarter of an hour.
SETTINGS = {"letter": PUBLISHED_SETTINGS["letter"], "fashion_mnist": tuple(GIVEN.values())}
# The setting of the others: that of "constant, always" whose tree is nearest to a printed one.
SINGLE = ("letter", 6, 5.0)
AXIS = {"fifa19": (10, 20, 40), "adult": (10, 20, 40)}  # leaves of ExKMC's trees in table 1
QUICK = {"digits": ((5, 1.0),)}


def runs(plan):
    """Return the runs of each interpretation, with one seed each."""
    found = []
    for name, reading in READINGS.items():
        for data, settings in (QUICK if plan.quick else SETTINGS).items():
            found += [
                _run(data, name, setting_of(*setting), partial(reading.oblique, *setting))
                for setting in settings
                if reading.is_common or (data, *setting) == SINGLE
            ]
        for data, sizes in () if plan.quick else AXIS.items():
            found += [
                _run(data, name, f"{n} leaves", partial(reading.axis_aligned, n))
                for n in sizes
                if reading.is_common and reading.concerns_axis_aligned
            ]
    return found


def _run(data, name, setting, make):
    return Run(NAME, data, name, setting + STARTS, 0, history, {"make": make})
