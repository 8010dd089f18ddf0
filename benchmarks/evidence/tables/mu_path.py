"""kdd22-fig3: the objective along mu, of the published algorithm and of what goes past it."""

from benchmarks.evidence.measures import compiled, timed, trees_of
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.oblique import CASE, STARTS, published
from tao_cluster import DirectForm, TAOClustering

NAME = "kdd22-fig3"
# In the column `work`: what a row is, or the stage of the fit.
DIRECT_FIT = "direct fit"
PUBLISHED = "published"
# data: (depth, lambda of the published algorithm, that of the direct form, which is as sparse at
# about ten times the lambda)
SETTINGS = {"digits": (5, 1.0, 3.0), "letter": (6, 1.0, 3.0), "mnist": (6, 10.0, 100.0)}


def methods(depth, lambda_, direct):
    """Name to a function that makes an estimator."""
    own = {"lambda_": direct, "depth": depth}
    return {
        PUBLISHED: lambda: published(depth, lambda_),
        "direct form": lambda: TAOClustering(algorithm=DirectForm(relax=False), **own),
        "direct form, refits, true cost and search": lambda: TAOClustering(**own),
    }


def runs(plan):
    """A history each."""
    found = []
    for data in ["digits"] if plan.quick else list(SETTINGS):
        for name, make in methods(*SETTINGS[data]).items():
            depth, *lambdas = SETTINGS[data]
            setting = f"depth={depth}, lambda={lambdas[name != PUBLISHED]:g}{STARTS}"
            found.append(Run(NAME, data, name, setting, 0, history, {"make": make}))
    return found


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
