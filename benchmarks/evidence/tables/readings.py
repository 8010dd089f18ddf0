"""kdd22-readings: interpretations of the TAO paper, for its table 2 and its figure 3."""

from functools import partial

from benchmarks.evidence.measures import one_history
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.oblique import CASE, GIVEN, PUBLISHED_SETTINGS, STARTS, setting_of
from tao_cluster import PenaltyMethod, TAOClustering
from tao_cluster.solvers import WeightedLiblinear

NAME = "kdd22-readings"

# Squared error: section 9.2 ("minimization of squared error plus regularization") and appendix A.2.
_SQUARED = {"penalty": "squared", "result": "last"}
_LAMBDA_MU = _SQUARED | {"accept": "always"}
_CONSTANT = _SQUARED | {"strength": "constant"}
_ALWAYS = _CONSTANT | {"accept": "always"}
RANDOM = "constant, always, random"  # the one whose first tree is random
NEARER = "lambda/max(mu,1), always"  # nearer to the printed trees of letter than the published one
# The parameters of PenaltyMethod. The common interpretations are run with all settings of letter.
COMMON = {
    "constant, always": _ALWAYS,
    "constant, if loss falls": _CONSTANT | {"accept": "if loss falls"},
    "lambda/mu, median, always": _LAMBDA_MU | {"initial_mu": "median"},
    NEARER: _LAMBDA_MU | {"strength": "lambda/max(mu,1)"},
    RANDOM: _ALWAYS,
}
OTHERS = {
    "constant, if better": _CONSTANT,
    "lambda/mu, least, always": _LAMBDA_MU,
    "lambda*mu_0/mu, always": _LAMBDA_MU | {"strength": "lambda*mu_0/mu"},
    "constant, always, 0/1": _ALWAYS | {"penalty": "zero-one"},
    "constant, always, LIBLINEAR 0.01": _ALWAYS | {"node_solver": WeightedLiblinear(0.01)},
    "0/1, lambda/mu, least, if better, best": {},
}
# The setting of the others: that of "constant, always" whose tree is nearest to a printed one.
SINGLE = (6, 5.0)
# One of the two printed trees, of Fashion-MNIST, whose setting the paper gives.
FASHION = ("fashion_mnist", 5.22)


def runs(plan):
    """Return the runs of each interpretation, with one seed each; a fit of images takes minutes."""
    data, settings, single = "letter", PUBLISHED_SETTINGS["letter"], SINGLE
    if plan.quick:
        data, settings, single = "digits", ((5, 1.0),), (5, 1.0)
    asked = [(data, name, setting) for name in COMMON for setting in settings]
    asked += [(data, name, single) for name in OTHERS]
    asked += [] if plan.quick else [(FASHION[0], NEARER, GIVEN[FASHION])]
    found = []
    for data, name, at in asked:
        options = {"make": partial(tree, name, *at), "case": CASE}
        found.append(Run(NAME, data, name, setting_of(*at) + STARTS, 0, one_history, options))
    return found


def tree(name, depth, lambda_, case=None):
    """Return the estimator of an interpretation; the case of the run does not matter."""
    del case
    algorithm = PenaltyMethod(n_init=1, refine=False, **(COMMON | OTHERS)[name])
    init = "random" if name == RANDOM else "bisecting"
    return TAOClustering(lambda_=lambda_, depth=depth, init=init, algorithm=algorithm)
