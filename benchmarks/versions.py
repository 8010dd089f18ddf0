"""CPU seconds, costs and sizes of fits by two versions of the code, in turn.

    git worktree add ../before v0.1.0
    python -m benchmarks.versions ../before
    python -m benchmarks.versions ../before --cases digits "digits, at most 2 %" --seeds 5

The first version is the checkout that is named, the second one is the code in the current folder.
Each fit is done by both, one after the other and in one thread, after a fit that compiles the
kernels. Printed are medians of the CPU seconds over the seeds, their ratio, and the mean costs (in
percent above the free clustering) and sizes (in parameters).
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import scale

_HERE = Path(__file__).parents[1]


def _blobs(n_samples=5000):
    return make_blobs(n_samples, 10, centers=8, cluster_std=4.0, random_state=0)[0]


def _noise(n_rows):
    return np.random.RandomState(0).standard_normal((n_rows, 2000))


_TO_LIMIT = {"max_cost_increase": 2}
_ONE_LAMBDA = {"lambda_": 10, "depth": 3}
_AXIS = {"split": "axis", "max_leaves": 20}
# name: (data, number of clusters, parameters of TAOClustering)
CASES = {
    "iris": (lambda: load_iris().data, 3, {}),
    "wine": (lambda: scale(load_wine().data), 3, {}),
    "breast cancer": (lambda: scale(load_breast_cancer().data), 4, {}),
    "digits": (lambda: load_digits().data, 10, {}),
    "5000 x 10": (_blobs, 8, {}),
    "digits, at most 2 %": (lambda: load_digits().data, 10, _TO_LIMIT),
    "5000 x 10, at most 2 %": (_blobs, 8, _TO_LIMIT),
    "digits, axis-aligned": (lambda: load_digits().data, 10, _AXIS),
    "100 x 2000": (lambda: _noise(100), 3, _ONE_LAMBDA),
    "300 x 2000": (lambda: _noise(300), 3, _ONE_LAMBDA),
}


def fits():
    """Fit what standard input names; write CPU seconds, cost and size to standard output."""
    from tao_cluster import TAOClustering

    warnings.simplefilter("ignore")
    for line in sys.stdin:
        name, seed = json.loads(line)
        make, k, parameters = CASES[name]
        model, X = TAOClustering(k, random_state=seed, **parameters), make()
        start = time.process_time()
        model.fit(X)
        found = time.process_time() - start, model.cost_increase_, model.tree_.n_parameters
        print(json.dumps(found), flush=True)


class _Version:
    """A process with one version of the code."""

    def __init__(self, folder):
        call = [sys.executable, "-c", "from versions import fits; fits()"]
        paths = os.pathsep.join([str(Path(folder).resolve()), str(_HERE / "benchmarks")])
        environment = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # The folder is that of the person who runs the benchmark.
        self._process = subprocess.Popen(  # noqa: S603
            call, env=os.environ | environment, cwd=folder, **pipes
        )

    def fit(self, name, seed):
        """Return the CPU seconds, the cost and the number of parameters of a fit."""
        print(json.dumps([name, seed]), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def main():
    """Print a line for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", type=Path, help="folder of the checkout of the other version")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), metavar="CASE")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    versions = [_Version(options.before), _Version(_HERE)]
    print(f"{'':24s}{'seconds':>16s}{'ratio':>8s}{'cost %':>16s}{'parameters':>18s}")
    for name in options.cases:
        for version in versions:
            version.fit(name, options.seeds)  # compiles
        runs = [[version.fit(name, s) for version in versions] for s in range(options.seeds)]
        seconds, costs, sizes = np.moveaxis(np.array(runs), 2, 0)
        before, after = np.median(seconds, axis=0)
        cost, size = costs.mean(axis=0), sizes.mean(axis=0)
        print(
            f"{name:24s}{before:8.2f}{after:8.2f}{after / before:8.2f}"
            f"{cost[0]:8.2f}{cost[1]:8.2f}{size[0]:9.0f}{size[1]:9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
