"""What fits of digits and letter cost, how large they are and how much work: kept, and compared.

    python -m benchmarks.guard            # beside what is kept
    python -m benchmarks.guard --write    # keeps what is measured, for this platform

A change that is meant to change trees writes them anew, so that a review sees by how much. Figures
are exact on one platform (processor's kernels and versions of what computes); on others they may
be somewhat worse, see `ALLOWED`. Work is counted, not timed: trees looked at ("passes"), fits of
nodes, steps of the node solver, and the values of X that these steps look at.
"""

import json
import platform
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from benchmarks.datasets import load
from benchmarks.shared import free_clustering, parser
from greedy import IMM, ExGreedy, ExKMC, ExShallow
from tao_cluster import DirectForm, TAOClustering
from tao_cluster.solvers import Newton

KEPT = Path(__file__).with_name("guard.json")
# By how much a figure may be worse elsewhere: a share of it, and something beside.
ALLOWED = {
    "cost": (0.15, 0.05),
    "parameters": (0.15, 2),
    "leaves": (0.15, 1),
    "passes": (0.25, 5),
    "fits": (0.25, 10),
    "steps": (0.25, 50),
    "values": (0.35, 0),
}
EXACT = 1e-6


@dataclass(frozen=True)
class Counting:
    """Our node solver, which counts: fits of nodes, steps, values of X that steps look at."""

    counts: dict = field(default_factory=lambda: {"fits": 0, "steps": 0, "values": 0})
    supports_weights = True
    supports_sparse = True
    deterministic = True

    def bind(self, X):
        """Our solver for X, which counts, too."""
        return _Bound(Newton().bind(X), self.counts, X.shape[1])


class _Bound:
    def __init__(self, bound, counts, n_columns):
        self._bound, self._counts, self._n_columns = bound, counts, n_columns

    def solve(self, problem):
        split, status = self._bound.solve(problem)
        n = self._n_columns if problem.features is None else len(problem.features)
        self._counts["fits"] += 1
        self._counts["steps"] += status.steps
        self._counts["values"] += status.steps * n * len(problem.rows)
        return split, status


def _tao(**parameters):
    return lambda: TAOClustering(
        algorithm=DirectForm(node_solver=Counting()), random_state=0, **parameters
    )


# name: (data set, function without arguments that makes an estimator)
CASES = {
    "digits, oblique, knee": ("digits", _tao(depth=5)),
    "digits, oblique, lambda 3": ("digits", _tao(depth=5, lambda_=3.0)),
    "digits, axis, 20 leaves": (
        "digits",
        lambda: TAOClustering(split="axis", max_leaves=20, random_state=0),
    ),
    "digits, IMM": ("digits", IMM),
    "digits, ExGreedy": ("digits", ExGreedy),
    "digits, ExShallow": ("digits", ExShallow),
    "digits, ExKMC, 20 leaves": ("digits", lambda: ExKMC(max_leaves=20)),
    "letter, 1500 rows, oblique, lambda 3": ("letter:1500", _tao(depth=7, lambda_=3.0)),
    "letter, 1500 rows, ExKMC": ("letter:1500", lambda: ExKMC(max_leaves=52)),
}


def measure(name):
    """Figures of a case: a dict. FileNotFoundError without its data."""
    data, make = CASES[name]
    X, k, _ = load(data)
    model = make()
    with threadpool_limits(limits=1):
        model.set_params(n_clusters=k, reference=free_clustering(X, k).cluster_centers_).fit(X)
    tree = model.tree_
    found = {
        "cost": float(f"{model.cost_increase_:.9g}"),
        "parameters": tree.n_parameters,
        "leaves": tree.n_leaves,
    }
    if isinstance(model, TAOClustering):
        found["passes"] = model.n_iter_
        if isinstance(solver := getattr(model.algorithm, "node_solver", None), Counting):
            found |= solver.counts
    return found


def platform_key():
    """Kernels of the processor and versions: where figures are exact."""
    kernels = sorted({str(part.get("architecture")) for part in threadpool_info()} - {"None"})
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    versions = [f"{name} {version(name)}" for name in packages]
    return ", ".join([platform.system(), platform.machine(), *kernels, *versions])


def kept():
    """What is kept: platform to name to figures."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}


def faults(found, before, is_exact):
    """What is not as it was: list of str.

    Parameters
    ----------
    found, before : dict of figures
    is_exact : bool, whether `before` is of this platform
    """
    told = []
    for name, value in before.items():
        share, beside = ALLOWED[name]
        low, high = value - EXACT * abs(value), value + EXACT * abs(value)
        if not is_exact:
            low, high = -np.inf, value + share * abs(value) + beside
        if not low <= found[name] <= high:
            told.append(f"{name} {found[name]} instead of {value}")
    return told


def main():
    """Print figures beside those that are kept, or keep them."""
    arguments = parser(__doc__)
    arguments.add_argument("--write", action="store_true")
    options = arguments.parse_args()
    here, store = platform_key(), kept()
    before = store.get(here, {})
    found = {}
    for name in CASES:
        try:
            found[name] = measure(name)
        except FileNotFoundError as error:
            print(f"{name}: left out, {error}")
            continue
        print(f"{name}: {found[name]} {faults(found[name], before.get(name, {}), True)}")
    if options.write:
        store[here] = before | found
        KEPT.write_text(json.dumps(store, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
