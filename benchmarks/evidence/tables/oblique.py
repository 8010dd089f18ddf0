"""kdd22-table2: oblique trees of MNIST, Fashion-MNIST and letter beside those of the paper."""

import itertools
from dataclasses import replace

import numpy as np

from benchmarks.evidence.measures import figures, fitted, one_fit, one_path
from benchmarks.evidence.runs import Run
from benchmarks.evidence.tables.cart import variants
from greedy import CART, IMM, ExGreedy, ExKMC, ExShallow
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering
from tao_cluster.solvers import Liblinear

NAME = "kdd22-table2"
PATH, THOROUGH, GOAL = "TAO, path", "TAO, path, thorough search", "TAO, goal"
LIBLINEAR, NEWTON = "TAO, published (LIBLINEAR)", "TAO, published (our solver)"
# In the column `work`: the last tree along mu, where the result is the one of least objective.
LAST = "last along mu"

# data: parameters of the paths, and their lambdas from nearly free trees to tiny ones
PATHS = {
    "letter": ({"depth": 7, "algorithm": DirectForm(n_init=10)}, np.geomspace(3, 500, 14)),
    "mnist": ({"depth": 5}, np.geomspace(5, 8000, 16)),
    "fashion_mnist": ({"depth": 5}, np.geomspace(4, 8000, 16)),
    "digits": ({"depth": 5}, np.geomspace(0.1, 20, 10)),
}
# The paper's grid of (depth, lambda); for two rows of Fashion-MNIST alone it says which they are.
GRID = tuple(itertools.product((4, 5, 6), (100.0, 10.0, 5.0, 1.0, 0.5, 0.1)))
# Some of them on the images, where a fit takes minutes.
PUBLISHED = {
    "letter": GRID,
    "mnist": [(4, 10.0), (5, 10.0), (4, 100.0), (5, 100.0)],
    "fashion_mnist": [(4, 10.0), (5, 100.0), (4, 100.0), (5, 10.0)],
    "digits": [(5, 0.1), (5, 0.5), (5, 1.0)],
}
# Those of letter that have five seeds.
SPREAD = ((6, 0.1), (6, 1.0), (5, 1.0))
# of LIBLINEAR, which is dear
PUBLISHED_REFERENCE = {
    "letter": [(6, 0.1), (6, 1.0)],
    "mnist": [(4, 10.0)],
    "fashion_mnist": [(4, 10.0)],
    "digits": [(5, 0.1), (5, 0.5), (5, 1.0)],
}
# data: leaves of CART and ExKMC
LEAVES = {
    "letter": (26, 1024),
    "mnist": (10, 1024),
    "fashion_mnist": (10, 1024),
    "digits": (10, 40),
}


def published(depth, lambda_, solver):
    """The paper's algorithm at its own settings, with the 0/1 loss and the strength lambda / mu."""
    return TAOClustering(
        lambda_=lambda_,
        depth=depth,
        algorithm=PenaltyMethod(n_init=1, node_solver=solver, refine=False),
        init="bisecting",
    )


def runs(plan):
    """Direct form along a path, the published algorithm, and the axis-aligned trees beside them."""
    found = []
    for data in ["digits"] if plan.quick else ["letter", "mnist", "fashion_mnist"]:
        parameters, lambdas = PATHS[data]
        path = {"parameters": parameters, "lambdas": lambdas}
        setting = ", ".join(f"{name}={value}" for name, value in parameters.items())
        found += [Run(NAME, data, PATH, setting, s, one_path, path) for s in plan.seeds(5)]
        found += [
            Run(NAME, data, name, f"{leaves} leaves", 0, one_fit, {"make": make, "point": leaves})
            for name, make, leaves in axis_aligned(data)
        ]
        found += variants(NAME, data, LEAVES[data])
        for method, solver, settings in (
            (NEWTON, "newton", PUBLISHED[data]),
            (LIBLINEAR, Liblinear(), PUBLISHED_REFERENCE[data]),
        ):
            found += [
                Run(
                    NAME,
                    data,
                    method,
                    f"depth={depth}, lambda={lambda_:g}",
                    seed,
                    with_last,
                    {"make": lambda d=depth, v=lambda_, s=solver: published(d, v, s)}
                    | {"point": lambda_},
                )
                for depth, lambda_ in settings
                for seed in plan.seeds(5 if _has_spread(method, data, depth, lambda_) else 1)
            ]
        direct = replace(parameters.get("algorithm", DirectForm()), search="thorough")
        thorough = path | {"parameters": parameters | {"algorithm": direct}}
        seeds = () if plan.quick else plan.seeds(1)
        found += [Run(NAME, data, THOROUGH, setting, s, one_path, thorough) for s in seeds]
    return found


def _has_spread(method, data, depth, lambda_):
    return (method, data) == (NEWTON, "letter") and (depth, lambda_) in SPREAD


def with_last(workshop, run):
    """A fit of the published algorithm: its result, and the last tree along mu, the paper's."""
    case = workshop.case(run.data)
    model, seconds = fitted(run.options["make"](), case, run.seed)
    result = figures(model, case, seconds, run.options["point"])
    along = [record for record in model.history_ if 0 < record["mu"] < np.inf]
    if not along:
        return result
    last = along[-1]
    found = {name: result[name] for name in ("point", "rows", "columns", "clusters")}
    found |= {"cost": last["cost_increase"], "leaves": last["leaves"], "work": LAST}
    found["non_zeros"] = last["non_zeros"]
    # Thresholds and leaves besides the weights.
    found["parameters"] = last["non_zeros"] + 2 * last["leaves"] - 1
    return [result, found]


def axis_aligned(data):
    """(method, estimator of a case, leaves) of the trees that the paper compares with."""
    k_leaves, many = LEAVES[data]
    yield "IMM", lambda case: IMM(midpoints=False), k_leaves
    yield "ExGreedy", lambda case: ExGreedy(midpoints=False), k_leaves
    yield "ExShallow", lambda case: ExShallow(midpoints=False), k_leaves
    yield "CART", lambda case: CART(max_leaves=k_leaves), k_leaves
    yield "CART", lambda case: CART(max_leaves=many), many
    yield "ExKMC", lambda case: ExKMC(max_leaves=many, midpoints=False), many
