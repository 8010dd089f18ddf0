"""kdd22-table3: spherical k-means of newsgroups, explained by words."""

import numpy as np

from benchmarks.evidence.measures import figures, one_path, timed
from benchmarks.evidence.runs import Run
from greedy import CART

NAME = "kdd22-table3"
CASE = {"spherical": True}
LEAVES = (20, 64, 256, 1024)
PATH = "TAO, path"


def runs(plan):
    """Return CART of several sizes and paths of oblique trees."""
    data = "newsgroups_a1:1500" if plan.quick else "newsgroups_a1"
    path = {
        "case": CASE,
        "parameters": {"objective": "spherical", "depth": 6},
        "lambdas": np.geomspace(0.005, 0.4, 4 if plan.quick else 10),
    }
    found = [Run(NAME, data, PATH, "depth=6", seed, one_path, path) for seed in plan.seeds(3)]
    for n in LEAVES:
        options = {"case": CASE, "leaves": n}
        found.append(Run(NAME, data, "CART", f"{n} leaves", 0, cart, options))
    return found


def cart(workshop, run):
    """Scikit-learn's tree of the free labels."""
    case, leaves = workshop.case(run.data, **run.options["case"]), run.options["leaves"]
    model = CART(case.n_clusters, max_leaves=leaves, reference=case.centers, objective="spherical")
    model, seconds = timed(lambda: model.fit(case.X))
    return figures(model, case, seconds, leaves)
