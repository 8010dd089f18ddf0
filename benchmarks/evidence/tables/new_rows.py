"""new-rows: the cost of all methods on rows that were not fitted; which runs there are."""

from benchmarks.evidence.measures import one_path
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.field import GOAL, LARGE, PARAMETERS, PATHS, SMALL, sizes, with_goal
from tao_cluster.comparison import METHODS

NAME = "new-rows"
QUICK = ("iris", "wine", "breast_cancer")
# The other scalings of these data have columns of very different variance, and rows far away.
OTHER_SCALINGS = ("wine_raw", "breast_cancer_raw", "avila_raw", "avila_01", "letter_raw")
SETS = SMALL + LARGE + OTHER_SCALINGS
N_SPLITS = 5


def runs(plan):
    """Return one run per data set, split, and method; one per budget of oblique trees as well.

    The seed of a run is the number of its split.
    """
    splits = plan.seeds(N_SPLITS)
    return [
        run
        for data in plan.sets or (QUICK if plan.quick else SETS)
        for split in splits
        for run in _runs_of(data, split)
    ]


def _runs_of(data, split):
    case = {"case": {"half": split}}
    for method in METHODS.values():
        terms = NAME, data, method.title
        if not method.is_path:
            yield Run(*terms, "sizes", split, sizes, case | {"method": method})
            continue
        yield Run(*terms, PATHS[0], split, one_path, case)
        for size in PARAMETERS:
            setting = f"{GOAL}, {size} parameters"
            yield Run(*terms, setting, split, with_goal, case | {"size": size})
