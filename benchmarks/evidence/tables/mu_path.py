"""kdd22-fig3: the objective of the published algorithm along mu."""

from functools import partial

from benchmarks.evidence.measures import compiled, timed, trees_of
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.oblique import CASE, STARTS, published, setting_of

NAME = "kdd22-fig3"
# In the column `work`: what a row is, or the stage of the fit.
DIRECT_FIT = "direct fit"
PUBLISHED = "published"
# data: depth and lambda
SETTINGS = {"digits": (5, 1.0), "letter": (6, 1.0), "mnist": (6, 10.0)}


def runs(plan):
    """Return one run per data set."""
    sets = {"digits": SETTINGS["digits"]} if plan.quick else SETTINGS
    return [
        Run(NAME, data, PUBLISHED, setting_of(*at) + STARTS, 0, history, {"make": make})
        for data, at in sets.items()
        for make in [partial(published, *at)]
    ]


def history(workshop, run):
    """Cost and size of each tree that was looked at, the mu of which is `point`.

    The first row of the penalty method is its direct fit, of mu = 0; the last row of all is the
    tree that is the result.
    """
    case = workshop.case(run.data, **CASE)
    model = run.options["make"]().set_params(
        n_clusters=case.n_clusters, reference=case.centers, random_state=run.seed
    )
    compiled(model, case.X)
    model, seconds = timed(lambda: model.fit(case.X))
    return trees_of(model, seconds)
