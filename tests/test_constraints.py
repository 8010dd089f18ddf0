"""Constraints: every tree of a fit keeps them, and impossible ones raise before the fit."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import greedy
from tao_cluster import (
    Constraints,
    DirectForm,
    PenaltyMethod,
    TAOClustering,
    load,
    outofcore,
    refit,
    table_pipeline,
    tao_path,
)
from tao_cluster.cli import main
from tao_cluster.columns import raw_view
from tao_cluster.objectives import Labels

COLUMNS = ["age", "spend", "plan", "visits", "since"]
STEPS = {"age": 5, "spend": 0.1, "visits": 2.5, "since": 30}


def table(seed, n_rows=90, *, mixed=True):
    """Customers in four groups; without `mixed` all columns are numbers."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n_rows)
    days = (group % 3 * 200 + rng.integers(0, 300, n_rows)).astype(int)
    plan = np.where(rng.random(n_rows) < 0.7, group, rng.integers(4, size=n_rows))
    data = {
        "age": rng.integers(18, 80, n_rows) + 10 * (group == 2),
        "spend": (group + rng.gamma(2.0, 0.4, n_rows)).round(2),
        "plan": np.array(["free", "gold", "plus", "team"])[plan] if mixed else plan,
        "visits": rng.normal(10 * (group % 2), 4).round(1),
        "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(days, "D") if mixed else days,
    }
    return pd.DataFrame(data)[COLUMNS]


def random_constraints(rng, *, split, columns=COLUMNS):
    """Constraints that some tree with three leaves keeps."""
    parts, free = {}, list(rng.permutation(columns))
    if rng.random() < 0.5:
        n_left_out = int(rng.integers(1, 3))
        parts["not_tested"], free = free[:n_left_out], free[n_left_out:]
        if rng.random() < 0.3:
            parts = {"columns": free}
    if rng.random() < 0.5:
        parts["first"] = free[0]
    if split == "axis" and rng.random() < 0.6:
        parts["steps"] = {name: STEPS[name] for name in free if name in STEPS}
    if rng.random() < 0.5:
        parts["max_depth"] = int(rng.integers(2, 4))
    if rng.random() < 0.5:
        parts["max_tests_per_column"] = int(rng.integers(1, 3))
    return Constraints(**parts)


def check(model, constraints, X):
    """The tree of a model or pipeline keeps the constraints, and predicts its labels."""
    estimator = model[-1] if hasattr(model, "steps") else model
    shown = raw_view(model) if hasattr(model, "steps") else model
    tree, names = shown.tree_, list(shown.feature_names_in_)
    owner = [getattr(name, "raw", str(name)) for name in names]
    used = [{owner[j] for j in tree.split(node)[0]} for node in tree.decision_nodes]
    uses = Counter(name for test in used for name in test)
    assert not uses.keys() & set(constraints.not_tested or ())
    assert constraints.columns is None or uses.keys() <= set(constraints.columns)
    if constraints.first is not None and used:
        assert used[0] == {constraints.first}
    assert tree.max_depth <= (constraints.max_depth or np.inf)
    assert max(uses.values(), default=0) <= (constraints.max_tests_per_column or np.inf)
    for node in tree.decision_nodes:
        (indices, weights), threshold = tree.split(node), tree.threshold[node]
        step = (constraints.steps or {}).get(owner[indices[0]]) if len(indices) == 1 else None
        if step is not None:
            line = round(-threshold / step) * step
            assert weights[0] == -1
            assert np.isclose(-threshold, line, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), estimator.labels_)


@pytest.mark.spaced(quick=1, slow=4)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(30))
def test_a_random_fit_keeps_its_constraints(seed):
    rng = np.random.default_rng(seed)
    split, is_table = rng.choice(["axis", "oblique"]), bool(rng.random() < 0.3)
    X = table(seed, int(rng.integers(40, 70)), mixed=is_table)
    constraints = random_constraints(rng, split=split)
    options = {"split": split, "random_state": 0, "constraints": constraints}
    options["min_samples_leaf"] = int(rng.choice([1, 1, 5]))
    kind = rng.integers(5)
    if kind == 0:
        options["max_leaves"] = int(rng.integers(3, 8))
    elif kind == 1:
        options["max_parameters"] = int(rng.integers(7, 20))
    elif kind == 2:
        options["max_cost_increase"] = 10.0
    elif kind == 3:
        options["algorithm"] = DirectForm(max_rows=30)
    if is_table:
        check(table_pipeline(X, 3, **options).fit(X), constraints, X)
        return
    options["standardize"] = bool(rng.random() < 0.5)
    model = TAOClustering(3, **options).fit(X)
    check(model, constraints, X)
    size = np.bincount(model.apply(X))[model.tree_.leaves]
    assert len(size) == 1 or size.min() >= options["min_samples_leaf"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_columns_that_are_not_tested_shape_the_clusters():
    X = table(2, mixed=False)
    free = TAOClustering(3, random_state=0).fit(X)
    model = TAOClustering(3, random_state=0, constraints=Constraints(not_tested=["since"])).fit(X)
    np.testing.assert_array_equal(free.free_labels_, model.free_labels_)
    other = X.assign(since=0)
    np.testing.assert_array_equal(model.predict(other), model.labels_)


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.float32, sp.csr_matrix])
def test_rows_on_a_line_of_the_grid_go_where_the_rule_says(form):
    """Rows at a threshold of the form 0.1 k go where the printed rule says."""
    X = np.round(np.random.default_rng(0).uniform(0, 2, (200, 2)), 1)
    rules = Constraints(steps={0: 0.1, 1: 0.1})
    for standardize in (False, True):
        model = TAOClustering(3, split="axis", random_state=0, standardize=standardize)
        tree = model.set_params(constraints=rules).fit(form(X)).tree_
        line, column = -tree.threshold[0], tree.split(0)[0][0]
        assert line == round(line, 1)
        is_left = [tree.children_left[0] in tree.path(leaf) for leaf in model.apply(form(X))]
        values = np.asarray(form(X).todense() if sp.issparse(form(X)) else form(X))[:, column]
        np.testing.assert_array_equal(is_left, values >= line)


@pytest.mark.slow
def test_paths_files_and_dimensions(tmp_path):
    X = table(3, mixed=False)
    rules = Constraints(first="spend", steps={"age": 5}, max_depth=3)
    for model in tao_path(X, 3, leaves=[3, 5], split="axis", random_state=0, constraints=rules):
        check(model, rules, X)
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").constraints == rules


@pytest.mark.parametrize("method", [greedy.IMM, greedy.ExKMC, greedy.ExShallow])
def test_greedy_methods_test_only_the_allowed_columns(method):
    X = table(4, mixed=False)
    rules = Constraints(not_tested=["spend", "plan"])
    model = method(3, random_state=0, standardize=True, constraints=rules).fit(X)
    check(model, rules, X)
    np.testing.assert_array_equal(
        model.free_labels_, method(3, random_state=0, standardize=True).fit(X).free_labels_
    )
    check(refit(model, table(5, mixed=False), "nothing", verbose=0), rules, table(5, mixed=False))
    with pytest.raises(ValueError, match="keeps columns and not_tested, but not 'max_depth'"):
        method(3, constraints=Constraints(max_depth=3)).fit(X)


def test_out_of_core_fits_reject_constraints():
    X = table(5, mixed=False).to_numpy()
    with pytest.raises(ValueError, match="not supported out of core"):
        outofcore.fit(TAOClustering(3, constraints=Constraints(max_depth=3)), [X])


@pytest.mark.slow
def test_command_line(tmp_path):
    X = table(6)
    X.to_csv(tmp_path / "t.csv", index=False)
    options = ["-k", "3", "--split", "axis", "--not-tested", "visits,plan", "--first", "spend"]
    options += ["--step", "age=5", "--step", "spend=0.1", "--max-depth", "3", "--max-leaves", "4"]
    for command in ("fit", "path"):
        out = tmp_path / command
        main([command, str(tmp_path / "t.csv"), *options, "--out", str(out)])
    rules = Constraints(
        not_tested=["visits", "plan"], first="spend", steps={"age": 5, "spend": 0.1}, max_depth=3
    )
    for path in (tmp_path / "fit" / "model.json", *(tmp_path / "path").glob("*_model.json")):
        shown = raw_view(load(path))
        assert shown.model.constraints == rules
        names = [getattr(name, "raw", str(name)) for name in shown.feature_names_in_]
        assert not {names[j] for j in shown.tree_.used_features} & {"visits", "plan"}
        assert names[shown.tree_.split(0)[0][0]] == "spend"
        assert shown.tree_.max_depth <= 3


BAD = {
    "columns or not_tested": lambda: Constraints(columns=["a"], not_tested=["b"]),
    "first='age' conflicts with not_tested": lambda: Constraints(first="age", not_tested=["age"]),
    "steps of 'age' conflicts with columns": lambda: Constraints(columns=["b"], steps={"age": 5}),
    "must be > 0": lambda: Constraints(steps={"age": 0}),
    "must be a list": lambda: Constraints(columns="age"),
}
IMPOSSIBLE = {
    "max_depth=1 conflicts with n_clusters=3": {"max_depth": 1},
    "no column 'height'": {"first": "height"},
    "leaves no column": {"not_tested": COLUMNS},
    "max_tests_per_column=1 conflicts with n_clusters=3": {
        "columns": ["age"],
        "max_tests_per_column": 1,
    },
    "no multiple of 500": {"steps": {"age": 500}},
    "use split='axis'": {"steps": {"age": 5}, "split": "oblique"},
    "use algorithm='direct'": {"max_depth": 3, "algorithm": PenaltyMethod()},
}


@pytest.mark.parametrize("message", BAD)
def test_contradictions_raise(message):
    with pytest.raises(ValueError, match=message):
        BAD[message]()


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_impossible_constraints_raise_before_the_fit(message):
    parts = dict(IMPOSSIBLE[message])
    options = {name: parts.pop(name) for name in ("split", "algorithm") if name in parts}
    model = TAOClustering(3, constraints=Constraints(**parts), **{"split": "axis"} | options)
    with pytest.raises(ValueError, match=message):
        model.fit(table(0, mixed=False))
    assert not hasattr(model, "tree_")


SCALED = {
    "frame": lambda X: StandardScaler().set_output(transform="pandas").fit_transform(X),
    "sparse": lambda X: StandardScaler(with_mean=False).fit_transform(sp.csr_matrix(X)),
}


@pytest.mark.parametrize("form", SCALED)
def test_steps_of_scaled_columns_raise(form):
    """Whether rows are repeated or left out, for a fit and for a path."""
    X = pd.concat([table(7, mixed=False)] * 2)
    rules = Constraints(steps={"spend" if form == "frame" else 1: 0.5})
    model = TAOClustering(3, split="axis", objective=Labels(), constraints=rules)
    for run in (model.fit, model.fit_path):
        with pytest.raises(ValueError, match="table_pipeline, whose constraints are in raw units"):
            run(SCALED[form](X), y=X["plan"].where(X["plan"] < 2, -1))


@pytest.mark.parametrize("values", [[-1, 1], [2, 4, 4, 6], [0.1, 0.9, 2.3, 3.1]])
def test_columns_in_their_own_units_have_steps(values):
    """Integers can have the standard deviation 1, too."""
    X = np.repeat(values, 10)[:, None] + np.zeros((10 * len(values), 2))
    model = TAOClustering(2, split="axis", constraints=Constraints(steps={0: 1}), random_state=0)
    assert model.fit(X).tree_.threshold[0] % 1 == 0


def test_a_plain_pipeline_of_the_same_steps_keeps_constraints_on_raw_columns():
    X = table(0)
    limits = Constraints(first="age", steps={"age": 5}, not_tested=["plan"])
    pipeline = table_pipeline(X, 3, split="axis", constraints=limits, random_state=0)
    plain = Pipeline(clone(pipeline).steps).fit(X)
    assert raw_view(plain).tree_ == raw_view(pipeline.fit(X)).tree_
    np.testing.assert_array_equal(plain[-1].labels_, pipeline.predict(X))
