"""kdd22-table1: axis-aligned trees of equal size on FIFA19, Adult and letter."""

from dataclasses import replace

import numpy as np

from benchmarks.evidence.free import STARTS_OF_PAPER
from benchmarks.evidence.measures import one_fit
from benchmarks.evidence.runs import Run
from greedy import CART, IMM, ExGreedy, ExKMC, ExShallow
from tao_cluster import TAOClustering

NAME = "kdd22-table1"
TAO, PUBLISHED, BALANCED = "TAO", "published", "CART, balanced"
# How many times k leaves.
TIMES = (1, 2, 4)
CASE = {"n_init": STARTS_OF_PAPER}


class BalancedCART(CART):
    """CART with the same total weight for each free cluster; the cost is that of equal rows."""

    def _fit_tree(self, problem):
        labels, weight = problem.free.labels, problem.weight
        totals = np.bincount(labels, weight)
        return super()._fit_tree(replace(problem, weight=weight / totals[labels]))


def estimators(n):
    """Name to a function that makes an estimator of n leaves."""
    return {
        "CART": lambda case: CART(max_leaves=n),
        BALANCED: lambda case: BalancedCART(max_leaves=n),
        "ExKMC": lambda case: ExKMC(max_leaves=n),
        # Any price would prune most tests while mu is small.
        PUBLISHED: lambda case: TAOClustering(
            split="axis",
            init=ExKMC(max_leaves=n, midpoints=False),
            algorithm="published",
            lambda_=0.0,
        ),
        TAO: lambda case: TAOClustering(split="axis", max_leaves=n),
    }


# One leaf per cluster.
WITH_K_LEAVES = {
    "IMM": lambda case: IMM(midpoints=False),
    "ExGreedy": lambda case: ExGreedy(midpoints=False),
    "ExShallow": lambda case: ExShallow(midpoints=False),
}


def runs(plan):
    """Return all methods with k, 2 k and 4 k leaves; TAO alone is random."""
    sets = {"digits": 10} if plan.quick else {"fifa19": 10, "adult": 10, "letter": 26}
    found = []
    for data, n in [(data, times * k) for data, k in sets.items() for times in TIMES]:
        makers = estimators(n) | (WITH_K_LEAVES if n == sets[data] else {})
        for name, make in makers.items():
            options = {"make": make, "point": n, "case": CASE}
            seeds = plan.seeds(5) if name == TAO else (0,)
            found += [Run(NAME, data, name, setting_of(n), s, one_fit, options) for s in seeds]
    return found


def setting_of(leaves):
    """Name of a setting, with the number of starts of the free clustering."""
    return f"{leaves} leaves, {STARTS_OF_PAPER} starts"
