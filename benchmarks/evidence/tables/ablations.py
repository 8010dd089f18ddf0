"""ablations: effect of each setting of the method, one at a time, on four data sets."""

import contextlib
from dataclasses import replace
from unittest.mock import patch

from sklearn.preprocessing import StandardScaler

from benchmarks.evidence.measures import compiled, figures, timed
from benchmarks.evidence.runs import Run
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.optimize import oblique

NAME = "ablations"
# data: three lambdas, from larger trees to smaller ones
SETS = {
    "digits": (0.5, 2.0, 8.0),
    "anuran": (0.5, 2.0, 8.0),
    "avila": (10.0, 40.0, 160.0),
    "letter": (10.0, 30.0, 100.0),
}
HELD = {"case": {"held_out": True}}
# The penalty method is as sparse at a tenth of the lambda.
PENALTY_SHARE = 0.1

# Parameters of TAOClustering.
PARAMETERS = {
    "default": {},
    "one start": {"algorithm": DirectForm(n_init=1)},
    "16 starts": {"algorithm": DirectForm(n_init=16)},
    "no refits, tuning or search": {"algorithm": DirectForm(relax=False)},
    "search of four rounds": {"algorithm": DirectForm(search="fast")},
    "thorough search": {"algorithm": DirectForm(search="thorough")},
    "no noisy copies": {"algorithm": DirectForm(copies=0)},
}


def untuned(search, state, price, **options):
    """In place of passes on the true cost."""
    return state


# Parts of the library that have no parameter, and are changed for the time of a run.
CHANGES = {
    "no tuning to the true cost": [lambda: patch.object(oblique, "optimize_exact", untuned)],
    "no reweighting": [lambda: patch.object(oblique, "_N_REWEIGHTINGS", 0)],
    "refits with all of lambda": [lambda: patch.object(oblique, "_RELAXED_SHARE", 1.0)],
}
# The paper's equations with the 0/1 loss as the penalty, and changes of them.
PENALTIES = {
    "0/1 loss": {},
    "squared penalty": {"penalty": "squared"},
    "0/1 loss, then all of ours": {"refine": True},
}
# The interpretation of the paper that is nearest to its tables; its path has more lambdas, so that
# its costs cover those of the default.
PUBLISHED, PUBLISHED_SHARES = "published", (0.3, 1.0)
# Tests of standardised columns, which explain the same clusters; the other sets are standardised.
STANDARDISED, RAW_SETS = "tests of standardised columns", ("digits", "anuran", "digits:600")
# Settings that take long have only the first seeds.
SLOW = {"thorough search": 1, "squared penalty": 3, PUBLISHED: 3}


def runs(plan):
    """Return the runs of the table; each has the trees of three lambdas, or six."""
    sets = {"digits:600": SETS["digits"]} if plan.quick else SETS
    found = []
    for data, lambdas in sets.items():
        for name, (parameters, changes) in settings(plan.quick).items():
            shares = PUBLISHED_SHARES if name == PUBLISHED else (1.0,)
            shares = (PENALTY_SHARE,) if name in PENALTIES else shares
            options = HELD | {
                "parameters": parameters,
                "changes": changes,
                "lambdas": [share * value for share in shares for value in lambdas],
            }
            if name == STANDARDISED and data not in RAW_SETS:
                continue
            options["standardised"] = name == STANDARDISED
            seeds = list(plan.seeds(5))[: SLOW.get(name)]
            setting = f"{len(options['lambdas'])} lambdas"
            found += [Run(NAME, data, name, setting, s, fits, options) for s in seeds]
    return found


def settings(quick):
    """Name to (parameters of TAOClustering, changes)."""
    found = {name: (parameters, []) for name, parameters in PARAMETERS.items()}
    found |= {name: ({}, changes) for name, changes in CHANGES.items()}
    found[STANDARDISED] = ({}, [])
    found[PUBLISHED] = ({"algorithm": "published"}, [])
    published = PenaltyMethod(n_init=1, refine=False)
    for name, others in PENALTIES.items():
        parameters = {"algorithm": replace(published, **others), "init": "bisecting"}
        found[name] = (parameters, [])
    return {name: value for name, value in found.items() if not (quick and name in SLOW)}


def fits(workshop, run):
    """Return one row of figures per lambda."""
    case, found = workshop.case(run.data, **run.options["case"]), []
    with contextlib.ExitStack() as stack:
        for change in run.options["changes"]:
            stack.enter_context(change())
        for lambda_ in run.options["lambdas"]:
            model = TAOClustering(
                case.n_clusters,
                lambda_=lambda_,
                reference=case.centers,
                random_state=run.seed,
                **run.options["parameters"],
            )
            compiled(model, case.X)
            if run.options["standardised"]:
                found.append(_standardised(model, case, lambda_))
                continue
            model, seconds = timed(lambda model=model: model.fit(case.X))
            found.append(figures(model, case, seconds, lambda_))
    return found


def _standardised(model, case, lambda_):
    """Figures of a model whose tests see standardised columns; clusters and costs stay."""
    scaler = StandardScaler().fit(case.X)
    X, new = scaler.transform(case.X), scaler.transform(case.new)
    model, seconds = timed(lambda: model.fit(X, embedding=case.X))
    found = figures(model, replace(case, X=X, new=None), seconds, lambda_)
    return found | {"cost_new": model.cost_increase(new, embedding=case.new)}
