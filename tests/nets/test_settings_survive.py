"""Every setting holds in the result of every road to a model, or an error names the setting.

A case is a setting and a road: a fit, a path, a copy, a file, a refit, nested trees, pipelines, the
command line. What is tested is a property of the resulting tree, clusters and costs.
"""

import functools
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import greedy
from tao_cluster import (
    Constraints,
    DirectForm,
    PenaltyMethod,
    TAOClustering,
    fit_nested,
    load,
    nested,
    outofcore,
    refit,
    table_pipeline,
)
from tao_cluster.cli import main
from tao_cluster.columns import raw_view
from tao_cluster.objectives import KMeans, KMedoids, Labels, Trimmed
from tao_cluster.optimize.algorithms import AxisAligned
from tao_cluster.saving import save
from tao_cluster.table import TablePipeline, passed_on

NAMES = ["Loyal", "New", "At risk", "Far away"]
UNITS = np.array([8, 0.5, 2.5, 60])
CENTERS = np.array([[40.0, 0.5, 2.0, 100.0], [45.0, 2.0, 9.0, 300.0], [60.0, 3.5, 4.0, 500.0]])


def month(seed, n_rows=90):
    """Customers in three groups, three of them far from all others, and labels, -1 for noise."""
    rng = np.random.default_rng(seed)
    group = rng.integers(3, size=n_rows)
    values = CENTERS[group] + rng.normal(size=(n_rows, 4)) * UNITS
    is_far = rng.permutation(n_rows) < 3
    values[is_far] += 30 * UNITS
    table = pd.DataFrame(values, columns=["age", "spend", "visits", "since"])
    table = table.round({"age": 0, "spend": 2, "visits": 1, "since": 0})
    return table, np.where(is_far, -1, 5 + 2 * group)


(X, Y), (X_NEW, Y_NEW) = month(0), month(1)


# ---------------------------------------------------------------- properties of results


@dataclass(frozen=True)
class Found:
    """A model at the end of a road.

    Parameters
    ----------
    model : fitted estimator or pipeline
    X, y : the rows that its attributes are about, and their labels
    origin : the rows from which standardised columns have their scales
    is_fitted : bool
        Whether the tree was chosen for these rows. It is not if a refit keeps its tests or columns,
        or if it is cut from a larger tree. Limits that depend on rows cannot hold then.
    """

    model: Any
    X: pd.DataFrame = field(default_factory=lambda: X)
    y: np.ndarray = field(default_factory=lambda: Y)
    origin: pd.DataFrame = field(default_factory=lambda: X)
    is_fitted: bool = True

    @property
    def last(self):
        return self.model[-1] if isinstance(self.model, Pipeline) else self.model

    @property
    def view(self):
        return raw_view(self.model) if isinstance(self.model, Pipeline) else self.model

    @property
    def labels(self):
        return np.asarray(self.model.predict(self.X))

    @property
    def tests(self):
        """The names of the columns, the weights and the threshold of each test, in raw units."""
        tree, names = self.view.tree_, [str(name) for name in self.view.feature_names_in_]
        splits = [(*tree.split(node), tree.threshold[node]) for node in tree.decision_nodes]
        return [([names[j] for j in indices], *numbers) for indices, *numbers in splits]

    def passed(self, rows):
        """Rows as the last step gets them."""
        is_pipeline = isinstance(self.model, Pipeline)
        return np.asarray(self.model[:-1].transform(rows) if is_pipeline else rows)


def at_most(name, most):
    return lambda found: getattr(found.view.tree_, name) <= most


def of_rows(holds):
    """A property that only trees that were chosen for their rows promise."""
    return lambda found: not found.is_fitted or holds(found)


def costs_at_most(percent):
    return of_rows(lambda found: found.last.cost_increase_ <= percent + 1e-9)


def has_leaves_of(least):
    return of_rows(lambda found: found.last.node_rows_[found.last.tree_.leaves].min() >= least)


def uses_only(*names):
    return lambda found: {name for test in found.tests for name in test[0]} <= {*names}


def begins_with(name):
    return lambda found: not found.tests or found.tests[0][0] == [name]


def has_sparse_tests(most):
    return lambda found: all(len(names) <= most for names, *_ in found.tests)


def is_on_grid(steps):
    def holds(found):
        lines = [t / w[0] / steps[names[0]] for names, w, t in found.tests]
        return np.allclose(lines, np.round(lines), rtol=0, atol=1e-9)

    return holds


def repeats_at_most(most):
    def holds(found):
        times = Counter(name for test in found.tests for name in test[0])
        return max(times.values(), default=0) <= most

    return holds


@of_rows
def has_thresholds_of_rows(found):
    """Each threshold is a value of a fitted row, up to the rounding of a scaler."""
    gaps = [np.abs(found.X[names[0]] - t / w[0]).min() for names, w, t in found.tests]
    return has_sparse_tests(1)(found) and max(gaps, default=0) < 1e-9


def costs_by(distance, best=None, *, is_standard=False):
    """The cost of the model is that of its labels, with the centres of the model or best ones."""

    def holds(found):
        rows, cost = found.passed(found.X), 0.0
        if is_standard:
            rows = rows / found.passed(found.origin).std(axis=0)
        for k, center in enumerate(found.last.cluster_centers_):
            own = rows[found.labels == k]
            if len(own):
                cost += distance(own, center if best is None else best(own)).sum()
        cost += getattr(found.last, "trimming_price_", 0.0) * (found.labels == -1).sum()
        return np.isclose(found.last.inertia_, cost, rtol=1e-6)

    return holds


def mean(rows):
    return rows.mean(axis=0)


def squared(rows, center):
    return ((rows - center) ** 2).sum(axis=1)


def absolute(rows, center):
    return np.abs(rows - center).sum(axis=1)


def cosine(rows, center):
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return 1 - rows @ center / np.linalg.norm(center)


def has_centers_among_rows(found):
    centers = found.last.cluster_centers_[np.unique(found.labels)]
    gaps = [absolute(found.passed(found.X), center).min() for center in centers]
    return max(gaps) < 1e-9


def costs_labels(found):
    is_known = np.isin(found.y, found.last.classes_)
    return found.last.inertia_ == (found.labels != found.y)[is_known].sum()


def predicts(*labels):
    return lambda found: {*found.model.predict(X), *found.model.predict(X_NEW)} <= {*labels}


def leaves_out(share):
    def holds(found):
        left_out = np.mean(found.labels == -1)
        is_known = np.isclose(left_out, found.last.trimmed_share_)
        return is_known and (not found.is_fitted or left_out <= share + 1e-9)

    return holds


def has_free_centers(found):
    """They are the given ones, unless the model has another number of clusters."""
    centers = found.last.free_centers_
    return len(centers) < 3 or np.allclose(np.sort(centers, axis=0), np.sort(CENTERS, axis=0))


def has_records(stage, test):
    return of_rows(lambda found: test([r for r in found.last.history_ if r["stage"] == stage]))


def are_samples(records):
    return all(record["sampled"] for record in records)


def has_histograms(found):
    shares = found.last.predict_proba(found.passed(X))
    return np.allclose(shares.sum(axis=1), 1)


def both(*properties):
    return lambda found: all(holds(found) for holds in properties)


# ---------------------------------------------------------------- settings


@dataclass(frozen=True)
class Doubled(KMeans):
    """An objective of the user, which files do not hold."""

    def distances(self, data, centers):
        return 2 * super().distances(data, centers)

    def value(self, data, labels, weight, centers):
        return 2 * super().value(data, labels, weight, centers)


@dataclass(frozen=True, eq=False)
class Setting:
    """Parameters, the property that they promise, and options of the command line, if it has them.

    With `is_named`, the clusters of a fitted model get names before it goes on.
    """

    parameters: dict
    holds: Callable
    options: str | None = None
    is_named: bool = False

    @property
    def needs_labels(self):
        objective = self.parameters.get("objective")
        return objective == "labels" or isinstance(objective, Labels)


QUICK = DirectForm(n_init=1, search="none", copies=0)
AXIS = {"split": "axis"}
STEPS = {"age": 5, "spend": 0.25, "visits": 2.5, "since": 30}
ON_GRID = both(is_on_grid(STEPS), at_most("max_depth", 3))
GRID = {**AXIS, "constraints": Constraints(steps=STEPS, max_depth=3)}
IN_STEPS = " ".join(f"--step {name}={step}" for name, step in STEPS.items())
TRIMMED = both(predicts(-1, 0, 1, 2), leaves_out(0.05))


def rules(holds, options, **constraints):
    return Setting({"constraints": Constraints(**constraints)}, holds, options)


def direct(holds, options=None, **changes):
    return Setting({"algorithm": replace(QUICK, **changes)}, holds, options)


def objective(name, holds, **options):
    return Setting({"objective": name}, holds, **options)


SETTINGS = {
    "defaults": Setting({"algorithm": "direct"}, costs_by(squared, mean), ""),
    "n_clusters": Setting({"n_clusters": 2}, predicts(0, 1), "-k 2"),
    "lambda": Setting({"lambda_": 3.0}, lambda found: found.last.best_lambda_ == 3, "--lambda 3"),
    "depth": Setting({"depth": 2}, at_most("max_depth", 2), "--depth 2"),
    "leaves, axis": Setting(
        {**AXIS, "max_leaves": 3}, at_most("n_leaves", 3), "--split axis --max-leaves 3"
    ),
    "parameters": Setting({"max_parameters": 9}, at_most("n_parameters", 9), "--max-parameters 9"),
    "cost": Setting({"max_cost_increase": 9.0}, costs_at_most(9), "--max-cost-increase 9"),
    "validation": Setting(
        {"validation": 0.3}, of_rows(lambda found: found.last.validation_cost_increase_ < np.inf)
    ),
    "share of leaves": Setting({**AXIS, "min_samples_leaf": 0.1}, has_leaves_of(9)),
    "columns": rules(uses_only("age", "visits"), "--tested age,visits", columns=["age", "visits"]),
    "first": rules(begins_with("visits"), "--first visits", first="visits"),
    "columns, axis": Setting(
        {**AXIS, "constraints": Constraints(columns=["visits"], max_tests_per_column=2)},
        both(uses_only("visits"), repeats_at_most(2)),
        "--split axis --tested visits --max-tests-per-column 2",
    ),
    "tests of a column": rules(
        repeats_at_most(1), "--max-tests-per-column 1", max_tests_per_column=1
    ),
    "steps": Setting(GRID, ON_GRID, f"--split axis --max-depth 3 {IN_STEPS}"),
    "steps, standardised": Setting({**GRID, "standardize": True}, ON_GRID),
    "split": Setting(AXIS, both(has_sparse_tests(1), costs_by(squared, mean)), "--split axis"),
    "values of rows": Setting({"split": AxisAligned(midpoints=False)}, has_thresholds_of_rows),
    "standardised": Setting(
        {"standardize": True}, costs_by(squared, mean, is_standard=True), is_named=True
    ),
    "initial tree": Setting({**AXIS, "init": greedy.ExKMC(max_leaves=4)}, at_most("n_leaves", 4)),
    "reference": Setting({"reference": CENTERS}, has_free_centers),
    "spherical": objective("spherical", costs_by(cosine), options="--objective spherical"),
    "medians": objective(
        "kmedians",
        costs_by(absolute, lambda own: np.median(own, axis=0)),
        options="--objective kmedians",
        is_named=True,
    ),
    "own objective": objective(Doubled(), costs_by(lambda *terms: 2 * squared(*terms), mean)),
    "other medoids": objective(
        KMedoids(metric="cityblock"),
        both(costs_by(absolute), has_centers_among_rows),
        is_named=True,
    ),
    "labels": objective("labels", both(predicts(-1, 5, 7, 9), costs_labels), is_named=True),
    "noise": objective(
        Labels(noise="explain"), both(predicts(-1, 5, 7, 9), costs_labels), is_named=True
    ),
    "trimmed": objective(
        Trimmed(share=0.05), both(TRIMMED, costs_by(squared, mean)), is_named=True
    ),
    "histograms": Setting(
        {"algorithm": PenaltyMethod(n_mu_steps=3, penalty="squared"), "lambda_": 1.0},
        has_histograms,
    ),
    "features of a test": direct(has_sparse_tests(2), max_features_per_test=2),
    "sample, axis": Setting(
        {**AXIS, "algorithm": replace(QUICK, max_rows=60)},
        has_records("start", are_samples),
        "--split axis --max-rows 60",
    ),
    "starts": Setting(
        {"init": "random", "algorithm": replace(QUICK, n_init=3)},
        has_records("start", lambda found: len(found) > 2),
    ),
    "without refits": direct(has_records("exact", lambda found: not found), relax=False),
}


# ---------------------------------------------------------------- roads


def new_model(setting, *, is_table=False):
    """The unfitted estimator or pipeline of a setting."""
    given = {"n_clusters": 3, "random_state": 0, "algorithm": QUICK, **setting.parameters}
    return table_pipeline(X, **given) if is_table else TAOClustering(**given)


def labels_of(setting, y=Y):
    return y if setting.needs_labels else None


@functools.cache
def fitted(setting, is_table):
    """A fitted model, whose clusters have names if the setting wants that."""
    model = new_model(setting, is_table=is_table).fit(X, labels_of(setting))
    return named(model) if setting.is_named else model


def named(model):
    return model.name_clusters(NAMES[: len(Found(model).last.cluster_centers_)])


def fit(setting, is_table, _):
    return [Found(fitted(setting, is_table))]


def copy(setting, is_table, _):
    """A clone learns the setting again, and a pickle is the model itself."""
    model = fitted(setting, is_table)
    again = clone(model).fit(X, labels_of(setting))
    same = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert again[-1].tree_ == same[-1].tree_ if is_table else again.tree_ == same.tree_
    return [Found(named(again) if setting.is_named else again), Found(same)]


def loaded(setting, model, folder):
    save(model, folder / "model.json")
    own = setting.parameters.get("objective")
    return load(folder / "model.json", objective=own if isinstance(own, Doubled) else None)


def file(setting, is_table, folder):
    return [Found(loaded(setting, fitted(setting, is_table), folder))]


def file_and_fit(setting, is_table, folder):
    """The parameters are those of the file, too."""
    model = loaded(setting, fitted(setting, is_table), folder)
    later = refit(model, X_NEW, "nothing", y=labels_of(setting, Y_NEW), verbose=0)
    return [Found(later, X_NEW, Y_NEW, origin=X_NEW)]


def refitted(keep):
    def road(setting, is_table, folder):
        old = fitted(setting, is_table)
        model = refit(old, X_NEW, keep, y=labels_of(setting, Y_NEW), verbose=0)
        is_new = keep == "nothing"
        found = Found(model, X_NEW, Y_NEW, origin=X_NEW if is_new else X, is_fitted=is_new)
        return [found, replace(found, model=loaded(setting, model, folder))]

    return road


def cuts(setting, is_table, folder):
    trees = nested(fitted(setting, is_table), X)
    found = [Found(trees.cut(k), is_fitted=False) for k in range(1, trees.n_clusters + 1)]
    return [*found, replace(found[-1], model=loaded(setting, found[-1].model, folder))]


def trained_cuts(setting, is_table, _):
    """Trees that are fitted for all numbers of clusters."""
    model = new_model(setting, is_table=is_table)
    trees = fit_nested(X, estimator=model)
    return [Found(trees.model), Found(trees.cut(2), is_fitted=False)]


def path(setting, is_table, _):
    """A path of the last step, as the command line makes it."""
    if not is_table:
        return [Found(each) for each in new_model(setting).fit_path(X, y=labels_of(setting))]
    *steps, (name, last) = fitted(setting, is_table).steps
    models = clone(last).fit_path(passed_on(fitted(setting, is_table), X), y=labels_of(setting))
    return [Found(TablePipeline([*steps, (name, each)])) for each in models]


def command_line(setting, _, folder):
    if setting.options is None:
        pytest.skip("the command line has no such option")
    X.to_csv(folder / "rows.csv", index=False)
    options = ["fit", str(folder / "rows.csv"), "-k", "3", *setting.options.split()]
    options += ["--names", ",".join(NAMES[:3])] * setting.is_named
    main([*options, "--out", str(folder / "out")])
    return [Found(load(folder / "out" / "model.json"))]


def plain_pipeline(setting, _, __):
    steps = StandardScaler().set_output(transform="pandas"), new_model(setting)
    return [Found(make_pipeline(*steps).fit(X, labels_of(setting)))]


def out_of_core(setting, _, __):
    if setting.needs_labels:
        return [Found(outofcore.fit(new_model(setting), [X[:40].assign(y=Y[:40])]))]
    return [Found(outofcore.fit(new_model(setting), [X[:40], X[40:]]))]


ROADS = {
    "fit": fit,
    "copy": copy,
    "file": file,
    "file, then fit": file_and_fit,
    "refit of centres": refitted("tests"),
    "refit of numbers": refitted("columns"),
    "refit of all": refitted("nothing"),
    "cuts": cuts,
    "trained cuts": trained_cuts,
    "path": path,
}
ONCE = {"command line": command_line, "plain pipeline": plain_pipeline, "out of core": out_of_core}
CASES = [
    (name, road, is_table) for name in SETTINGS for road in ROADS for is_table in (False, True)
]
CASES += [(name, road, False) for name in SETTINGS for road in ONCE]
# Errors that say why a road does not support a setting, and what to do. Any other one is a fault.
REASONS = {
    "path": ["would not be used", "A path needs", "A path has no goal", "leave out"],
    "cuts": ["nested needs an objective"],
    "trained cuts": ["fit_nested needs objective"],
    "out of core": ["out of core", "out-of-core fit"],
    "plain pipeline": ["table_pipeline"],
}
NEW = ("path", "trained cuts", "plain pipeline", "out of core")  # a new fit has no names
WITHOUT_HISTOGRAMS = ("cuts", "trained cuts")  # as their documentation says


def results_of(setting, road, is_table, folder):
    """The models at the end of a road, or none if an error says why there are none."""
    try:
        return (ROADS | ONCE)[road](setting, is_table, folder)
    except ValueError as error:
        if not any(reason in str(error) for reason in REASONS.get(road, ())):
            raise
        return []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.spaced(quick=8, slow=40)
@pytest.mark.parametrize(("name", "road", "is_table"), CASES)
def test_a_setting_survives_a_road(name, road, is_table, tmp_path):
    setting = SETTINGS[name]
    if name == "histograms" and road in WITHOUT_HISTOGRAMS:
        pytest.skip("nested trees have no histograms")
    for found in results_of(setting, road, is_table, tmp_path):
        assert setting.holds(found)
        labels = getattr(found.last, "labels_", found.labels)  # there are none out of core
        np.testing.assert_array_equal(labels, found.labels)
        if setting.is_named and road not in NEW:
            ends = [rule.partition(" then ")[2] for rule in found.view.to_rules()]
            names = {name for end in ends for name in end.partition(" (")[0].split(" + ")}
            assert names <= {*NAMES, "no segment"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.spaced(quick=1, slow=4)
@pytest.mark.parametrize("road", ROADS | ONCE)
@pytest.mark.parametrize("split", ["axis", "oblique"])
def test_the_seed_alone_determines_the_tree(split, road, tmp_path):
    """It is the same for any number of threads, and again at the second time."""
    trees = []
    for at, n_jobs in enumerate((None, None, 2)):
        setting = Setting({"split": split, "n_jobs": n_jobs}, bool, f"--split {split}")
        (folder := tmp_path / str(at)).mkdir()
        found = results_of(setting, road, split == "axis" and road in ROADS, folder)
        assert all(each.last.n_jobs == n_jobs for each in found if road != "command line")
        trees.append([each.last.tree_ for each in found])
    assert trees[0] == trees[1] == trees[2] != []
