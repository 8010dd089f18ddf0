"""speed: CPU seconds beside a yardstick of the same run, growth with n, d and k, peak memory."""

from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.builders import BUILDERS, best_times, blobs, builds, growths
from benchmarks.evidence.free import Case
from benchmarks.evidence.measures import compiled, timed
from benchmarks.evidence.runs import Run
from benchmarks.shared import in_new_process
from tao_cluster import DirectForm, TAOClustering

NAME = "speed"
SIZE = (5000, 20, 10)
# A lambda of trees of a usual size.
LAMBDAS = {"digits": 3.0, "anuran": 2.0, "letter": 30.0, "mnist": 300.0}


def fits(lambda_):
    """Name to parameters of TAOClustering."""
    return {
        "oblique, defaults": {},
        "oblique, one lambda": {"lambda_": lambda_},
        "oblique, one lambda, no refits": {
            "lambda_": lambda_,
            "algorithm": DirectForm(relax=False),
        },
        "axis-aligned": {"split": "axis"},
    }


# Whose seconds are followed along n, d and k; sizes of axis-aligned trees are 2 ** depth leaves.
GROWN = {
    "oblique, one lambda": {"lambda_": 300.0},
    "oblique, one lambda, no refits": {"lambda_": 300.0, "algorithm": DirectForm(relax=False)},
    "axis-aligned": {"split": "axis"},
}
PEAKS = ("oblique-float64", "oblique-float32", "axis-float64", "oblique-sparse")


def runs(plan):
    """Return builders beside CART, TAO beside its free clustering, growth, and peaks."""
    size = (1000, 10, 5) if plan.quick else SIZE
    found = []
    for times in growths(size):
        data = "blobs {} x {}, k={}".format(*times)
        found.append(Run(NAME, data, "builders", "beside CART", 0, builders, {"size": times}))
        found += [
            Run(NAME, data, f"TAO {name}", "growth", 0, grown, {"size": times, "parameters": own})
            for name, own in GROWN.items()
        ]
    for data in ("digits",) if plan.quick else LAMBDAS:
        for name, parameters in fits(LAMBDAS[data]).items():
            if data == "mnist" and parameters.get("split") == "axis":
                continue  # minutes of a search that images do not suit
            options = {"parameters": parameters}
            found.append(Run(NAME, data, f"TAO {name}", "beside k-means", 0, tao, options))
    kinds = () if plan.quick else PEAKS
    found += [Run(NAME, "blobs", f"TAO {kind}", "peak", 0, peak, {"kind": kind}) for kind in kinds]
    return found


def builders(workshop, run):
    """A row a builder: its least seconds of two, and those of CART of k leaves."""
    with threadpool_limits(limits=1):
        for build in builds(200, run.options["size"][1], 5).values():
            build()  # compiles
        seconds = best_times(builds(*run.options["size"]), 2)
    n, d, k = run.options["size"]
    shared = {"rows": n, "columns": d, "clusters": k, "yardstick": seconds["CART"]}
    names = ("CART", *BUILDERS)
    return [shared | {"point": name, "seconds": seconds[name]} for name in names]


def grown(workshop, run):
    """A fit to blobs that overlap, as the builders are given, beside k-means of ten starts."""
    n, d, k = run.options["size"]
    X, reference = blobs(n, d, k)
    model = TAOClustering(
        k, reference=reference.cluster_centers_, random_state=0, **run.options["parameters"]
    )
    compiled(model, X)
    return _beside_kmeans(Case(X, k, 5, reference.cluster_centers_), model)


def tao(workshop, run):
    """A fit to given centres beside k-means of ten starts, as the free clustering is found."""
    case = workshop.case(run.data)
    model = TAOClustering(
        case.n_clusters, reference=case.centers, random_state=0, **run.options["parameters"]
    )
    compiled(model, case.X)
    return _beside_kmeans(case, model)


def _beside_kmeans(case, model):
    """Figures of a fit, whose yardstick is k-means of ten starts."""
    with threadpool_limits(limits=1):
        _, yardstick = timed(lambda: KMeans(case.n_clusters, n_init=10, random_state=0).fit(case.X))
        model, seconds = timed(lambda: model.fit(case.X))
    return {
        "rows": case.X.shape[0],
        "columns": case.X.shape[1],
        "clusters": case.n_clusters,
        "cost": model.cost_increase_,
        "parameters": model.tree_.n_parameters,
        "leaves": model.tree_.n_leaves,
        "seconds": seconds,
        "yardstick": yardstick,
    }


def peak(workshop, run):
    """Peak memory beside X of a fit in a process of its own, in MB; `yardstick` is X."""
    found = in_new_process("benchmarks.peaks", name=run.options["kind"], rows=None, columns=None)
    shared = {name: found[name] for name in ("cost", "parameters", "leaves", "seconds")}
    size = found["bytes"] / 1e6
    return shared | {"memory": found["grown"] / 1e6, "yardstick": size}
