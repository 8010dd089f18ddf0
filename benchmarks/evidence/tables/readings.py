"""kdd22-readings: interpretations of the TAO paper, for its table 2 and its figure 3."""

from dataclasses import dataclass
from functools import partial

from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.mu_path import history
from benchmarks.evidence.tables.oblique import PUBLISHED_SETTINGS, STARTS, setting_of
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
        Whether it is run with all settings of letter, instead of with one.
    """

    options: dict
    init: str = "bisecting"
    is_common: bool = False

    def oblique(self, depth, lambda_):
        """Return the estimator for an oblique tree."""
        algorithm = PenaltyMethod(n_init=1, refine=False, **self.options)
        return TAOClustering(lambda_=lambda_, depth=depth, init=self.init, algorithm=algorithm)


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

# The settings of the common interpretations, and that of the others: the one of "constant, always"
# whose tree is nearest to a printed one. A fit of images takes up to a quarter of an hour.
SETTINGS = {"letter": PUBLISHED_SETTINGS["letter"]}
SINGLE = ("letter", 6, 5.0)
QUICK = {"digits": ((5, 1.0),)}


def runs(plan):
    """Return the runs of each interpretation, with one seed each."""
    return [
        Run(
            NAME,
            data,
            name,
            setting_of(*setting) + STARTS,
            0,
            history,
            {"make": partial(reading.oblique, *setting)},
        )
        for name, reading in READINGS.items()
        for data, settings in (QUICK if plan.quick else SETTINGS).items()
        for setting in settings
        if reading.is_common or (data, *setting) == SINGLE
    ]
