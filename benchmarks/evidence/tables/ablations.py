"""ablations: effect of each setting of the method, one at a time, on four data sets."""

import contextlib
from unittest.mock import patch

from benchmarks.evidence.measures import compiled, figures, timed
from benchmarks.evidence.runs import Run
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.optimize import oblique

NAME = "ablations"
PUBLISHED, PENALTY = "published", "0/1 loss"
# data: three lambdas for the default, the published algorithm and the penalty method, with which
# their costs are similar. The 0/1 loss reaches the costs of the default on the first two only.
SETS = {
    "digits": ((0.5, 2.0, 8.0), (0.15, 0.8, 5.0), (0.05, 0.2, 0.8)),
    "anuran": ((0.5, 2.0, 8.0), (0.5, 2.0, 8.0), (0.2, 0.8, 3.2)),
    "avila:5000": ((2.5, 10.0, 40.0), (0.75, 4.0, 24.0), (0.25, 1.0, 4.0)),
    "letter:5000": ((2.5, 7.5, 25.0), (0.75, 3.0, 15.0), (0.25, 0.75, 2.5)),
}
HELD = {"held_out": True}
# Parameters of TAOClustering.
PARAMETERS = {
    "default": {},
    "one start": {"algorithm": DirectForm(n_init=1)},
    "first passes only": {"algorithm": DirectForm(relax=False)},
    "search of four rounds": {"algorithm": DirectForm(search="fast")},
    "no noisy copies": {"algorithm": DirectForm(copies=0)},
    PUBLISHED: {"algorithm": "published"},
    # The paper's equations with the 0/1 loss as the penalty.
    PENALTY: {"algorithm": PenaltyMethod(n_init=1, refine=False), "init": "bisecting"},
}
# Parts of the library that have no parameter, and are changed for the time of a run.
CHANGES = {
    "no tuning to the true cost": lambda: patch.object(oblique, "optimize_exact", untuned),
    "no reweighting": lambda: patch.object(oblique, "_N_REWEIGHTINGS", 0),
}


def untuned(search, state, price, **options):
    """In place of passes on the true cost."""
    return state


def runs(plan):
    """Return the runs of the table; each has the trees of three lambdas."""
    sets = {"digits:600": SETS["digits"]} if plan.quick else SETS
    found = []
    for data, (usual, published, penalty) in sets.items():
        for name in [*PARAMETERS, *CHANGES]:
            options = {"lambdas": {PUBLISHED: published, PENALTY: penalty}.get(name, usual)}
            seeds = plan.seeds(5)
            found += [Run(NAME, data, name, "three lambdas", s, fits, options) for s in seeds]
    return found


def fits(workshop, run):
    """Return one row of figures per lambda."""
    case, found = workshop.case(run.data, **HELD), []
    with CHANGES.get(run.method, contextlib.nullcontext)():
        for lambda_ in run.options["lambdas"]:
            model = TAOClustering(
                case.n_clusters,
                lambda_=lambda_,
                reference=case.centers,
                random_state=run.seed,
                **PARAMETERS.get(run.method, {}),
            )
            compiled(model, case.X)
            model, seconds = timed(lambda model=model: model.fit(case.X))
            found.append(figures(model, case, seconds, lambda_))
    return found
