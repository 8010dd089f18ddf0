"""One rule per cluster: Cluster-Explorer (Ofek & Somech, VLDB 2025) beside the leaves of trees.

    python -m venv explorer && explorer/bin/pip install Cluster-Explorer
    python -m benchmarks.rules --python explorer/bin/python

All methods explain the same labels, those of KMeans(k, n_init=10) of the fitted half of the rows.
TAO has objective="labels". The labels of new rows are those of the nearest centres. The rule of a
cluster with the highest F1 on fitted rows counts; a cluster without a rule has F1 = 0. Each leaf of
a tree is a rule, and "all leaves" joins the leaves of a cluster by "or". Columns are those that a
rule tests. The first table has means over the data sets with standard errors. The second one has
the F1 of each data set on fitted and on new rows.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load
from benchmarks.evidence.measures import timed
from benchmarks.evidence.pages.words import averaged, markdown, title
from benchmarks.shared import free_clustering, halves, parser
from greedy import ExKMC, ExShallow
from tao_cluster import TAOClustering

DATA = ("iris", "wine", "breast_cancer", "digits", "mice", "anuran")
HEADS = ("F1, fitted", "F1, new", "columns", "without a rule, %", "CPU s")
PAPER = {"coverage_threshold": 0.8, "conciseness_threshold": 0.2, "separation_threshold": 0.3}
EXPLORERS = {"Cluster-Explorer, defaults": {}, "Cluster-Explorer, as in its paper": PAPER}
LABELS = {"objective": "labels", "split": "axis", "random_state": 0}
TREES = {
    "ExShallow, k leaves": lambda k, free: ExShallow(k, reference=free),
    "TAO axis, k leaves": lambda k, _: TAOClustering(k, max_leaves=k, **LABELS),
    "ExKMC, 2 k leaves": lambda k, free: ExKMC(k, max_leaves=2 * k, reference=free),
    "TAO axis, 2 k leaves": lambda k, _: TAOClustering(k, max_leaves=2 * k, **LABELS),
}
# Program of the other interpreter: a file of rows and labels, a file for the rules, the settings.
_EXPLORE = """
import ast, sys, time, warnings
import numpy as np, pandas as pd
from cluster_explorer import Explainer, ScoreMetrics, utils
warnings.simplefilter("ignore")
task = np.load(sys.argv[1])
rows = [pd.DataFrame(task[name]).add_prefix("x") for name in ("fitted", "new")]
start = time.process_time()
explainer = Explainer(rows[0].copy(), pd.Series(task["labels"]))
found = explainer.generate_explanations(**ast.literal_eval(sys.argv[3]))
seconds = time.process_time() - start
rules = [utils.str_rule_to_list(rule) for rule in found["rule"]]
uses = np.zeros((len(rules), rows[0].shape[1]), bool)
for i, rule in enumerate(rules):
    for name in [condition[0] for condition in rule if len(condition) == 3]:
        column, _, value = name.partition("_")  # "x3_1.0" is 1 where the few values of x3 are 1.0
        uses[i, int(column[1:])] = True
        for table in rows if value else ():
            table[name] = (table[column].astype(str) == value).astype(float)
inside = [[ScoreMetrics.condition_generator(t, [rule]) for rule in rules] for t in rows]
np.savez(sys.argv[2], found["Cluster"].to_numpy(int), uses, *map(np.array, inside), seconds)
"""


class Rules(NamedTuple):
    """Cluster of each rule, the columns that it uses, the rows inside it, and the CPU seconds."""

    cluster: np.ndarray
    uses: np.ndarray
    fitted: np.ndarray
    new: np.ndarray
    seconds: float


def explored(python, settings, X, X_new, labels):
    """Return the rules of Cluster-Explorer, from another interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        rows, rules = Path(folder, "rows.npz"), Path(folder, "rules.npz")
        np.savez(rows, fitted=X, new=X_new, labels=labels)
        command = [python, "-c", _EXPLORE, rows, rules, repr(settings)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        return Rules(*np.load(rules).values())


def leaves(model, X, X_new, labels):
    """Fit a tree, and return its leaves as rules."""
    tree, seconds = timed(lambda: model.fit(X, labels).tree_)
    features = np.zeros((tree.n_nodes, X.shape[1]), bool)
    features[tree.decision_nodes, tree.split_indices] = True
    uses = tree.paths(tree.leaves).toarray().astype(bool) @ features
    inside = (tree.apply(rows) == tree.leaves[:, None] for rows in (X, X_new))
    return Rules(tree.leaf_label[tree.leaves], uses, *inside, seconds)


def joined(rules, k):
    """Join the leaves of each cluster to one rule."""
    own = rules.cluster == np.arange(k)[:, None]
    parts = (own @ part for part in (rules.uses, rules.fitted, rules.new))
    return Rules(np.arange(k), *parts, rules.seconds)


def figures(rules, labels, labels_new, k):
    """Return means over the clusters: F1, columns, % without a rule; and the seconds."""
    found = np.tile([0.0, 0.0, np.nan, 100.0], (k, 1))
    for c in set(rules.cluster):
        own = np.flatnonzero(rules.cluster == c)
        pairs = (rules.fitted[own], labels == c), (rules.new[own], labels_new == c)
        with np.errstate(invalid="ignore"):  # no new row in the rule, and none in the cluster
            scores = np.array([2 * (a & b).sum(1) / (a.sum(1) + b.sum()) for a, b in pairs])
        best = np.argmax(scores[0])
        found[c] = (*scores[:, best], rules.uses[own[best]].sum(), 0)
    return np.array([*np.nanmean(found, axis=0), rules.seconds])


def measured(python, X, X_new, k):
    """Return {method: figures} for a split."""
    free = free_clustering(X, k)
    rules = {m: explored(python, terms, X, X_new, free.labels_) for m, terms in EXPLORERS.items()}
    for method, make in TREES.items():
        rules[method] = leaves(make(k, free), X, X_new, free.labels_)
        if "2 k" in method:
            rules[f"{method}, all leaves"] = joined(rules[method], k)
    return {m: figures(each, free.labels_, free.predict(X_new), k) for m, each in rules.items()}


def main():
    """Print the tables."""
    arguments = parser(__doc__)
    arguments.add_argument("--python", default=sys.executable, help="has Cluster-Explorer")
    arguments.add_argument("--rows", type=int, default=600, help="at most, fitted and new")
    options = arguments.parse_args()
    means, each = {}, {}
    with threadpool_limits(limits=1):
        X = load("iris")[0]
        for make in TREES.values():
            make(2, None).fit(X, X[:, 2] > 2)  # compiles
        for name in DATA:
            X, k, _ = load(f"{name}:{options.rows}")
            runs = [measured(options.python, *pair, k) for pair in halves(X, 3)]
            for method in runs[0]:
                mean = np.mean([run[method] for run in runs], axis=0)
                means.setdefault(method, []).append(mean)
                each.setdefault(method, {})[title(name)] = f"{mean[0]:.2f} / {mean[1]:.2f}"
    heads = {m: dict(zip(HEADS, map(averaged, np.transpose(means[m])), strict=True)) for m in means}
    for columns in (heads, each):
        print(markdown([{"method": m} | line for m, line in columns.items()]), end="\n\n")


if __name__ == "__main__":
    main()
