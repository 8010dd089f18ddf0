"""exkmc-fig3: cost ratio against the number of leaves, for all methods of the ExKMC paper."""

import numpy as np

from benchmarks.evidence.free import Case
from benchmarks.evidence.measures import figures, fitted
from benchmarks.evidence.runs import Run
from benchmarks.synthetic import synthetic_one, synthetic_two
from greedy import CART, CUBT, IMM, CLTree, ExKMC, KDTree

NAME = "exkmc-fig3"
SMALL = ("iris", "wine_raw", "breast_cancer_raw", "digits_raw", "mice", "anuran")
LARGE = ("avila_raw", "newsgroups_counts")
SYNTHETIC = {"synthetic I": synthetic_one, "synthetic II": synthetic_two}
# The paper ends runs of these after an hour, on its larger data.
SLOW = ("CUBT", "CLTree")
METHODS = {
    "CART": lambda n: CART(max_leaves=n),
    "k-d tree": lambda n: KDTree(max_leaves=n),
    "CUBT": lambda n: CUBT(max_leaves=n),
    "CLTree": lambda n: CLTree(max_leaves=n),
    "IMM": lambda n: IMM(midpoints=False),
    "ExKMC, base IMM": lambda n: ExKMC(max_leaves=n, midpoints=False),
    "ExKMC": lambda n: ExKMC(base="none", max_leaves=n, midpoints=False),
}
TIMES = (1, 1.5, 2, 3, 4)  # k leaves


def runs(plan):
    """A run has all sizes of a method; ExKMC's come from one trace."""
    sets = ("iris", "breast_cancer_raw", "digits_raw") if plan.quick else SMALL + LARGE
    sets = (*sets, *(() if plan.quick else SYNTHETIC))
    return [
        Run(NAME, data, method, "1 to 4 k leaves", seed, sizes)
        for data in sets
        for seed in plan.seeds(5)
        for method in METHODS
        if method not in SLOW or data in SMALL
    ]


def case_of(workshop, data, seed):
    """Rows and a free clustering; the synthetic sets know their centres."""
    if data not in SYNTHETIC:
        return workshop.case(data, seed=seed, n_init=1)
    X, _, centers = SYNTHETIC[data](random_state=seed)
    return Case(X, len(centers), 5, centers)


def sizes(workshop, run):
    """A row a number of leaves."""
    case = case_of(workshop, run.data, run.seed)
    asked = sorted({int(np.ceil(times * case.n_clusters)) for times in TIMES})
    make = METHODS[run.method]
    if run.method.startswith("ExKMC"):
        return _traced(make(asked[-1]), case)
    asked = asked[:1] if run.method == "IMM" else asked
    found = []
    for n in asked:
        model, seconds = fitted(make(n), case, run.seed)
        found.append(figures(model, case, seconds, n))
    return found


def _traced(estimator, case):
    model, seconds = fitted(estimator, case)
    last = figures(model, case, seconds, model.tree_.n_leaves)
    shared = {name: last[name] for name in ("rows", "columns", "clusters")}
    steps = [
        shared | {"point": step["leaves"], "leaves": step["leaves"], "cost": step["cost_increase"]}
        for step in model.trace_
        if step["leaves"] >= case.n_clusters
    ]
    return [*steps[:-1], last]
