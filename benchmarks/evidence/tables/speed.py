"""speed: CPU seconds of fits beside k-means and CART of the same run, and growth with n, d, k."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier

import greedy
from benchmarks.evidence.measures import figures, timed
from benchmarks.evidence.runs import Run
from benchmarks.shared import free_clustering
from greedy.baselines.mixture_tree import grow_mixture
from tao_cluster import DirectForm, TAOClustering

NAME = "speed"
SIZE = (5000, 20, 10)
# What grows, and how many times.
FACTOR, GROWTHS = 4, ("rows", "columns", "clusters")
# A lambda of trees of a usual size.
LAMBDAS = {"digits": 3.0, "anuran": 2.0, "letter": 30.0, "mnist": 300.0}
BESIDE, GROWTH = "beside k-means", "growth"
BUILDERS = {
    "IMM": greedy.IMM(),
    "EMN": greedy.EMN(),
    "ExGreedy": greedy.ExGreedy(),
    "ExShallow": greedy.ExShallow(),
    "ExKMC, 2 k leaves": greedy.ExKMC(),
    "DP tree": greedy.DPTree(),
    "100 random trees": greedy.RandomCuts(),
    "Ex-kCenter": greedy.ExKCenter(),
    "Kauri": greedy.Kauri(),
    "SpEx, clique": greedy.SpEx(),
    "SpEx, 20 neighbours": greedy.SpEx(graph="knn"),
    "k-d tree": greedy.KDTree(),
    "CUBT": greedy.CUBT(),
    "CLTree": greedy.CLTree(),
}
OURS = {
    "TAO oblique": {},
    "TAO oblique, no copies": {"algorithm": DirectForm(copies=0)},
    "TAO axis": {"split": "axis"},
}


def runs(plan):
    """Return one run per data set, and one per size of the blobs; each has a row per method."""
    size = (1000, 10, 5) if plan.quick else SIZE
    sets = ("digits",) if plan.quick else LAMBDAS
    found = [Run(NAME, data, "TAO", BESIDE, 0, beside_kmeans) for data in sets]
    for own in sizes(size):
        data = "blobs {} x {}, k={}".format(*own)
        found.append(Run(NAME, data, "all", GROWTH, 0, growth, {"size": own}))
    return found


def sizes(size):
    """Return a size, and those with four times the rows, columns and clusters."""
    return [size] + [
        tuple(FACTOR * n if i == axis else n for i, n in enumerate(size)) for axis in range(3)
    ]


def beside_kmeans(workshop, run):
    """Return a row per fit to given centres; the yardstick is k-means of ten starts."""
    case, lambda_ = workshop.case(run.data), LAMBDAS[run.data]
    bare = DirectForm(relax=False)
    parameters = {
        "oblique, defaults": {},
        "oblique, one lambda": {"lambda_": lambda_},
        "oblique, one lambda, no refits": {"lambda_": lambda_, "algorithm": bare},
        "axis-aligned": {"split": "axis"},
    }
    if run.data == "mnist":
        del parameters["axis-aligned"]  # takes minutes
    models = {name: tao(case.n_clusters, case.centers, own) for name, own in parameters.items()}
    for model in models.values():
        model.fit(case.X[:500])  # compiles
    kmeans = KMeans(case.n_clusters, n_init=10, random_state=0)
    fits = {"k-means": kmeans, **models}
    seconds = best_times({name: lambda each=each: each.fit(case.X) for name, each in fits.items()})
    shared = {"yardstick": seconds["k-means"]}
    return [figures(own, case, seconds[name], name) | shared for name, own in models.items()]


def growth(workshop, run):
    """Return a row per method for blobs of a size; the yardstick is CART of k leaves."""
    n, d, k = run.options["size"]
    for build in methods(500, d, 5).values():
        build()  # compiles
    seconds = best_times(methods(n, d, k))
    shared = {"rows": n, "columns": d, "clusters": k, "yardstick": seconds["CART"]}
    return [shared | {"point": name, "seconds": each} for name, each in seconds.items()]


def methods(n, d, k):
    """Return the function that fits each method to blobs that overlap and to their k-means."""
    X, _ = make_blobs(n, d, centers=2 * k, cluster_std=4, random_state=0)
    reference = free_clustering(X, k, n_init=1)
    centers, labels = reference.cluster_centers_, reference.labels_
    tree = DecisionTreeClassifier(max_leaf_nodes=k, random_state=0)
    scales = np.array([X[labels == c].std(axis=0) for c in range(k)])
    mixture = (np.bincount(labels) / n, centers, scales)
    found = {"CART": lambda: tree.fit(X, labels)}
    for name, method in BUILDERS.items():
        found[name] = lambda method=method: method.build(X, None, centers, None, rng=0)
    found["Ex-SingleLink"] = lambda: greedy.ExSingleLink(k).fit(X)
    found["tree of a mixture"] = lambda: grow_mixture(*mixture)
    for name, parameters in OURS.items():
        model = tao(k, centers, parameters)
        found[name] = lambda model=model: model.fit(X)
    return found


def best_times(functions):
    """Return the least CPU seconds of up to three calls of each function.

    The functions take turns, so that noise affects all alike. What has taken two seconds is not
    called again.
    """
    seconds = {name: [] for name in functions}
    for _ in range(3):
        for name, function in functions.items():
            if sum(seconds[name]) < 2:
                seconds[name].append(timed(function)[1])
    return {name: min(each) for name, each in seconds.items()}


def tao(k, centers, parameters):
    """Return TAOClustering for given centres."""
    return TAOClustering(k, reference=centers, random_state=0, **parameters)
