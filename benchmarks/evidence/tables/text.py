"""kdd22-table3: spherical k-means of newsgroups, explained by words."""

import numpy as np

from benchmarks.evidence.measures import figures, one_path, timed
from benchmarks.evidence.runs import Run
from greedy import CART
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.objectives import SphericalKMeans

NAME = "kdd22-table3"
CASE = {"spherical": True}
LEAVES = (20, 64, 256, 1024)
PATH = "TAO, path"


def runs(plan):
    """Random labels, CART of several sizes, paths of oblique trees."""
    data = "newsgroups_a1:1500" if plan.quick else "newsgroups_a1"
    path = {
        "case": CASE,
        "parameters": {"objective": "spherical", "depth": 6},
        "lambdas": np.geomspace(0.005, 0.4, 4 if plan.quick else 10),
    }
    return [
        Run(NAME, data, "random", "labels", 0, random_labels, {"case": CASE}),
        Run(NAME, data, "free", "another seed", 1, other_clustering, {"case": CASE}),
        *(
            Run(NAME, data, "CART", f"{n} leaves", 0, cart, {"case": CASE, "leaves": n})
            for n in LEAVES
        ),
        *(Run(NAME, data, PATH, "depth=6", seed, one_path, path) for seed in plan.seeds(3)),
    ]


def cart(workshop, run):
    """Scikit-learn's tree of the free labels."""
    case, leaves = workshop.case(run.data, **run.options["case"]), run.options["leaves"]
    model = CART(case.n_clusters, max_leaves=leaves, reference=case.centers, objective="spherical")
    model, seconds = timed(lambda: model.fit(case.X))
    return figures(model, case, seconds, leaves)


def random_labels(workshop, run):
    """What labels by lot cost: no tree at all."""
    case = workshop.case(run.data, **run.options["case"])
    labels = np.random.default_rng(run.seed).integers(case.n_clusters, size=case.X.shape[0])
    return {"cost": 100 * (_cost(case.X, labels, case.n_clusters) / _free(case) - 1)}


def other_clustering(workshop, run):
    """Another free clustering: how much costs of free clusterings differ."""
    case = workshop.case(run.data, **run.options["case"])
    other = SphericalKMeans(n_init=1).reference(case.n_clusters, run.seed).fit(case.X)
    cost = _cost(case.X, other.labels_, case.n_clusters)
    return {"cost": 100 * (cost / _free(case) - 1)}


def _free(case):
    tao = TAOClustering(
        case.n_clusters,
        objective="spherical",
        reference=case.centers,
        lambda_=1e9,
        depth=0,
        algorithm=DirectForm(relax=False, n_init=1),
    )
    return timed(lambda: tao.fit(case.X))[0].free_inertia_


def _cost(X, labels, n_clusters):
    """Sum of cosine distances to the mean vectors of clusters."""
    members = np.zeros((X.shape[0], n_clusters))
    members[np.arange(X.shape[0]), labels] = 1
    sums = X.T @ members
    # Rows have norm 1: the cosines of a cluster add up to the norm of the sum of its rows.
    return X.shape[0] - np.linalg.norm(sums, axis=0).sum()
