"""new-rows: the cost of all methods on rows that were not fitted; which runs there are."""

from benchmarks.datasets import R_TABLES
from benchmarks.evidence.measures import figures, fitted, one_path
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.field import (
    GOAL,
    LARGE,
    OF_NESTED,
    PARAMETERS,
    PATHS,
    SMALL,
    sizes,
    with_goal,
)
from tao_cluster import TAOClustering
from tao_cluster.comparison import METHODS

NAME, FRESH = "new-rows", "fresh-data"
QUICK = ("iris", "wine", "breast_cancer")
# The other scalings of these data have columns of very different variance, and rows far away.
OTHER_SCALINGS = ("wine_raw", "breast_cancer_raw", "avila_raw", "avila_01", "letter_raw")
SETS = SMALL + LARGE + OTHER_SCALINGS
N_SPLITS = 5
PUBLISHED = "TAO published"


def fresh_runs(plan):
    """Return the runs of new-rows on data that played no part in the design."""
    return runs(plan, FRESH, ("hawks", "olive") if plan.quick else tuple(R_TABLES))


def runs(plan, name=NAME, sets=None):
    """Return one run per data set, split, and method; one per budget of oblique trees as well.

    The published algorithm has one run for all its values of lambda. The seed of a run is the
    number of its split.
    """
    splits = plan.seeds(N_SPLITS)
    return [
        run
        for data in plan.sets or sets or (QUICK if plan.quick else SETS)
        for split in splits
        for run in _runs_of(name, data, split)
    ]


def _runs_of(name, data, split):
    case = {"case": {"half": split}}
    for key, method in METHODS.items():
        if key == OF_NESTED:
            continue
        terms = name, data, method.title
        if not method.is_path:
            yield Run(*terms, "sizes", split, sizes, case | {"method": method})
            continue
        yield Run(*terms, PATHS[0], split, one_path, case)
        for size in PARAMETERS:
            setting = f"{GOAL}, {size} parameters"
            yield Run(*terms, setting, split, with_goal, case | {"size": size})
    yield Run(name, data, PUBLISHED, PATHS[0], split, published_trees, case)


def published_trees(workshop, run):
    """Fit the published algorithm with the ten lambdas of the default: a list of figures."""
    case = workshop.case(run.data, **run.options["case"])
    default = TAOClustering(case.n_clusters, reference=case.centers, random_state=run.seed)
    found = []
    for lambda_ in (model.lambda_ for model in default.fit_path(case.X)):
        tao = TAOClustering(lambda_=lambda_, algorithm="published")
        model, seconds = fitted(tao, case, run.seed)
        found.append(figures(model, case, seconds, float(f"{lambda_:.4g}")))
    return found
