"""Time, and quality at fixed size, of fits by two versions of the code, in turn.

    git worktree add ../before v0.1.0
    python -m benchmarks.versions ../before
    python -m benchmarks.versions ../before --cases digits "digits, 20 axis leaves" --seeds 3
    python -m benchmarks.versions ../before --quality --data DIR
    python -m benchmarks.versions . --quality --changed "algorithm=DirectForm(n_init=16)"

The first version is the checkout that is named, the second one is the code in the current folder.

*Speed.* Each fit is done by both versions, one after the other and in one thread, after a fit that
compiles the kernels. Printed are medians of the CPU seconds over the seeds, their ratio, and the
mean costs (in percent above the free clustering) and sizes (in parameters). The last line is the
geometric mean of the ratios.

*Quality.* Half of the rows of each data set (at most 3000) are fitted, with the same free
clustering for both versions, and the others (at most 3000) are new. Trees have at most 3 k - 2, 6 k
and 12 k parameters. Printed are mean log ratios of (cost + 1), after over before, with standard
errors over the splits, and for all data sets over their means. Below 0 the second version is
better. `--changed` are parameters of TAOClustering for the second version only, with which
the effect of a setting is measured.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import scale

from benchmarks.datasets import DATA_DIR, load
from benchmarks.evidence.pages.words import averaged
from benchmarks.shared import free_clustering, halves, parser

_HERE = Path(__file__).parents[1]
_MOST_ROWS = 3000  # fitted rows, and new rows, of a data set whose quality is compared


def _blobs(n_samples=5000, k=8, std=4.0):
    return lambda _: make_blobs(n_samples, 10, centers=k, cluster_std=std, random_state=0)[0]


def _noise(n_rows):
    return lambda _: np.random.RandomState(0).standard_normal((n_rows, 2000))


def _named(name):
    """Return the function that loads a data set of `benchmarks.datasets`."""
    return lambda folder: load(name, folder=folder)[0]


def _table(folder):
    """Return 20 000 rows of a table: seven numbers, and three categories as codes."""
    del folder
    rng = np.random.RandomState(0)
    group = rng.randint(5, size=20_000)
    numbers = rng.standard_normal((20_000, 7)) + 2 * rng.standard_normal((5, 7))[group]
    codes = [np.where(rng.rand(20_000) < 0.7, group, rng.randint(6, size=20_000)) for _ in "abc"]
    return np.column_stack([numbers, *codes])


def _digits(_):
    return load_digits().data


_TO_LIMIT = {"max_cost_increase": 2}
_ONE_LAMBDA = {"lambda_": 10, "depth": 3}
# name: (function of the folder of data, number of clusters, parameters of TAOClustering). The
# parameters of a table are None: `table_pipeline` reads it.
CASES = {
    "iris": (lambda _: load_iris().data, 3, {}),
    "wine": (lambda _: scale(load_wine().data), 3, {}),
    "breast cancer": (lambda _: scale(load_breast_cancer().data), 4, {}),
    "digits": (_digits, 10, {}),
    "5000 x 10": (_blobs(), 8, {}),
    "letter": (_named("letter"), 26, {}),
    "anuran": (_named("anuran"), 10, {}),
    "digits, at most 2 %": (_digits, 10, _TO_LIMIT),
    "5000 x 10, at most 2 %": (_blobs(), 8, _TO_LIMIT),
    "digits, 20 axis leaves": (_digits, 10, {"split": "axis", "max_leaves": 20}),
    "letter, 52 axis leaves": (_named("letter"), 26, {"split": "axis", "max_leaves": 52}),
    "k = 100, axis": (_blobs(20_000, 100, 1.0), 100, {"split": "axis"}),
    "100 x 2000": (_noise(100), 3, _ONE_LAMBDA),
    "300 x 2000": (_noise(300), 3, _ONE_LAMBDA),
    "table of 20 000 rows": (_table, 5, None),
    "mnist": (_named("mnist"), 10, {}),
}
_SLOW = {"mnist": 1, "k = 100, axis": 1}  # number of seeds of cases that take a minute
QUALITY = ("iris", "wine", "breast_cancer", "digits", "anuran", "letter", "avila", "fifa19", "mice")


class _Version:
    """A process with one version of the code, and the changed parameters of its fits as text."""

    def __init__(self, folder, changed=""):
        self._changed = changed
        folder = Path(folder).resolve()
        variables = {"PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        # The program runs by its path, since the other version may not have it.
        command = [sys.executable, "-P", str(_HERE / "benchmarks" / "fit_server.py")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(  # noqa: S603
            command, env=os.environ | variables, cwd=folder, **pipes
        )

    def ask(self, rows, k, parameters, seed):
        """Start a fit to the rows in a file."""
        task = {"rows": str(rows), "k": k, "parameters": parameters, "seed": seed}
        task["changed"] = self._changed
        print(json.dumps(task), file=self._process.stdin, flush=True)

    def answer(self):
        """Return the CPU seconds, cost, number of parameters and cost on new rows of the fit."""
        return json.loads(self._process.stdout.readline())

    def fit(self, *task):
        """Fit, and return what :meth:`answer` returns."""
        self.ask(*task)
        return self.answer()


def _speed(versions, names, n_seeds, data, folder):
    """Print a line for each case, and the geometric mean of the ratios of time."""
    print(f"{'':24s}{'seconds':>16s}{'ratio':>8s}{'cost %':>16s}{'parameters':>18s}")
    ratios = []
    for name in names:
        make, k, parameters = CASES[name]
        rows, n = folder / "rows.npz", min(n_seeds, _SLOW.get(name, n_seeds))
        np.savez(rows, X=make(data))
        task = (rows, k, parameters)
        for version in versions if name not in _SLOW else ():
            version.fit(*task, n)  # compiles
        runs = [[version.fit(*task, s) for version in versions] for s in range(n)]
        seconds, costs, sizes, _ = np.moveaxis(np.array(runs), 2, 0)
        before, after = np.median(seconds, axis=0)
        ratios.append(after / before)
        cost, size = costs.mean(axis=0), sizes.mean(axis=0)
        print(
            f"{name:24s}{before:8.2f}{after:8.2f}{after / before:8.2f}"
            f"{cost[0]:8.2f}{cost[1]:8.2f}{size[0]:9.0f}{size[1]:9.0f}",
            flush=True,
        )
    print(f"{'geometric mean':40s}{np.exp(np.mean(np.log(ratios))):8.2f}")


def _quality(versions, names, splits, n_seeds, data, folder):
    """Print a line for each data set and kind of split, and the means over all data sets."""
    print(f"{'log ratio of (cost + 1)':28s}{'fitted rows':>20s}{'new rows':>20s}{'CPU':>8s}")
    for split in splits:
        means = []
        for name in names:
            ratios, seconds = _ratios(versions, name, split, n_seeds, data, folder)
            means.append(ratios.mean(axis=0))
            _print_ratios(f"{name}, {split}", ratios, f"{seconds:.2f}")
        _print_ratios(f"all, {split}", np.array(means))


def _ratios(versions, name, split, n_seeds, data, folder):
    """Return the log ratios (n_seeds, 2) of (cost + 1), and the ratio of the CPU seconds."""
    X, k, _ = load(name, folder=data)
    ratios, seconds = [], np.zeros(2)
    for seed, (seen, new) in enumerate(halves(X, n_seeds, _MOST_ROWS)):
        centers = free_clustering(seen, k, seed).cluster_centers_
        np.savez(folder / "rows.npz", X=seen, new=new, centers=centers)
        found = []
        for most in (3 * k - 2, 6 * k, 12 * k):
            for version in versions:  # both at once, because this compares no times
                parameters = {"split": split, "max_parameters": most}
                version.ask(folder / "rows.npz", k, parameters, seed)
            found.append([version.answer() for version in versions])
        found = np.array(found)  # sizes, versions, (seconds, cost, parameters, new cost)
        seconds += found[:, :, 0].sum(axis=0)
        logs = np.log1p(np.maximum(found[:, :, [1, 3]], 0))
        ratios.append((logs[:, 1] - logs[:, 0]).mean(axis=0))
    return np.array(ratios), seconds[1] / seconds[0]


def _print_ratios(name, ratios, seconds=""):
    fitted, new = (averaged(column, 3) for column in ratios.T)
    print(f"{name:28s}{fitted:>20s}{new:>20s}{seconds:>8s}", flush=True)


def main(arguments=None):
    """Print the table of times, or that of quality."""
    command = parser(__doc__)
    command.add_argument("before", type=Path, help="folder of the checkout of the other version")
    command.add_argument("--quality", action="store_true", help="compare costs at fixed size")
    command.add_argument("--splits", nargs="+", default=["oblique", "axis"], help="with --quality")
    command.add_argument("--cases", nargs="+", metavar="CASE", help="by default all")
    command.add_argument("--seeds", type=int, default=5)
    command.add_argument("--changed", default="", help="parameters of the second version's fits")
    command.add_argument("--data", type=Path, default=DATA_DIR, help="folder of the .npz files")
    options = command.parse_args(arguments)
    known = QUALITY if options.quality else CASES
    unknown = set(options.cases or ()) - set(known)
    if unknown:
        command.error(f"no such cases: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    versions = [_Version(options.before), _Version(_HERE, options.changed)]
    with tempfile.TemporaryDirectory() as folder:
        names, terms = options.cases or list(known), (options.seeds, options.data, Path(folder))
        if options.quality:
            _quality(versions, names, options.splits, *terms)
        else:
            _speed(versions, names, *terms)


if __name__ == "__main__":
    main()
