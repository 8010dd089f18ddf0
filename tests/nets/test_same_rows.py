"""The same rows, told otherwise, give the same report: permuted, repeated, weighted, as lists.

Each function that takes rows has a line in `FITS`, `WEIGHTED` or `UNWEIGHTED`, and in `CALLS`.
"""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fits import FITS, QUICK, PerRow, Rows, facts_of_fit
from matplotlib import pyplot as plt
from scipy.cluster.hierarchy import linkage

from greedy import IMM, ExKMC
from tao_cluster import (
    TAOClustering,
    choose_n_clusters,
    compare,
    describe,
    fit_nested,
    measures,
    monitor,
    nested,
    outofcore,
    refit,
    stability,
    table_pipeline,
    tao_path,
)
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_query, to_rules
from tao_cluster.objectives import Trimmed
from tao_cluster.plot import plot_tests, plot_tree
from tao_cluster.report import report

POSITIONS = {"typical_row", "seconds"}  # columns of tables about a row number, or a time


def some_rows(n=120):
    rng = np.random.default_rng(4)
    group = rng.integers(0, 3, n)
    X = pd.DataFrame(np.eye(3, 4)[group] * 3 + rng.normal(size=(n, 4)), columns=[*"abcd"])
    X.index = rng.permutation(n) + 1000
    E = pd.DataFrame(X[["a", "b"]] * [1.0, 2.0] + rng.normal(size=(n, 2)) / 4)
    y = pd.Series(np.where(rng.random(n) < 0.9, group, (group + 1) % 3), X.index)
    weight = pd.Series(rng.integers(1, 4, n).astype(float), X.index)
    ids = pd.Series([f"{i:04}" for i in rng.permutation(n)], X.index)
    return Rows(X, y, weight, E, ids)


ROWS = some_rows()
ORDER = np.random.default_rng(0).permutation(len(ROWS.X))
MODEL = TAOClustering(3, max_leaves=4, split="axis", **QUICK).fit(ROWS.X)
GREEDY = ExKMC(3, max_leaves=4, random_state=0).fit(ROWS.X)
EMBEDDED = TAOClustering(3, **QUICK).fit(ROWS.X, embedding=ROWS.embedding)
LABELLED = TAOClustering(objective="labels", **QUICK).fit(ROWS.X, ROWS.y)
TRIMMED = TAOClustering(3, objective=Trimmed("kmeans", share=0.1), **QUICK).fit(ROWS.X)
MODELS = {"axis": MODEL, "greedy": GREEDY, "embedded": EMBEDDED, "trimmed": TRIMMED}
MODELS["labels"] = LABELLED


def table_of(X):
    """A raw table of the rows: a category and missing values."""
    kinds = pd.Series(np.where(X["d"] > 0, "gold", "free"), X.index)
    return X.assign(kind=kinds.where(X["a"] > -1), c=X["c"].where(X["c"] > -1))


PIPELINE = table_pipeline(table_of(ROWS.X), 3, split="axis", max_leaves=4, **QUICK)
PIPELINE.fit(table_of(ROWS.X))


# ---------------------------------------------------------------- what is compared


def flat(value, back=None):
    """A result as a list of texts and numbers; values per row are put into the order `back`."""
    if isinstance(value, PerRow):
        value = list(value) if back is None else [value[i] for i in back]
    elif isinstance(value, pd.DataFrame):
        kept = value.drop(columns=[*POSITIONS & {*value}])
        value = [kept.index.tolist(), *(kept[name].tolist() for name in kept)]
    elif isinstance(value, dict):
        value = [[str(key), value[key]] for key in value]
    elif isinstance(value, np.ndarray | pd.Series):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [part for each in value for part in flat(each, back)]
    if isinstance(value, str):
        return [re.sub(r"row \d+", "row ?", value)]
    return [np.nan if value is None or value is pd.NA else value]


def assert_same(one, other, back=None, rtol=1e-9):
    one, other = flat(one), flat(other, back)
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        if isinstance(a, float | np.floating) and not isinstance(b, str):
            np.testing.assert_allclose(b, a, rtol=rtol, atol=rtol)
        else:
            assert a == b


def weights(rows):
    return {} if rows.weight is None else {"sample_weight": rows.weight}


def further(name, rows):
    """What a model needs beside X."""
    return {"embedded": {"embedding": rows.embedding}, "labels": {"y": rows.y}}.get(name, {})


def of_describe(name):
    def facts(rows):
        found = describe(MODELS[name], rows.X, **further(name, rows), **weights(rows))
        lines = [re.sub(r"^\d+ segments of \d+ rows|\b\d+ rows\b", "", found.text)]
        table = found.table.drop(columns=[*{"rows", "weight", "sentence"} & {*found.table}])
        return [lines if rows.weight is None else [], table, found.differences]

    return facts


def of_refit(keep, model=MODEL):
    def facts(rows):
        new = refit(model, rows.X, keep, sample_weight=rows.weight, verbose=0)
        return [facts_of_fit(new, rows.X), new.refit_changes_]

    return facts


def of_monitor(rows):
    old, new = rows, ROWS.take(np.arange(0, 120, 2))
    found = monitor(MODEL, old.X, new.X, ids=(old.ids, new.ids))
    return [found.text, found.segments, found.columns, found.tests, found.groups]


def of_nested(rows):
    found = nested(GREEDY, rows.X, form="merges", sample_weight=rows.weight)
    table = found.table[["cost_increase", "n_leaves", "divided"]]
    return [found.levels, table, [PerRow(level.tolist()) for level in found.labels]]


def of_fit_nested(rows):
    dendrogram = linkage(ROWS.X.to_numpy(), "ward") if rows.X.index.equals(ROWS.X.index) else None
    dendrogram = linkage(rows.X.to_numpy(), "ward") if dendrogram is None else dendrogram
    found = fit_nested(rows.X, 3, reference=dendrogram, sample_weight=rows.weight, **QUICK)
    # The numbers of the clusters of a dendrogram are those of its own merges.
    return [found.agreement, found.table["cost_increase"], found.table["n_leaves"]]


def of_measures(rows):
    labels, free = MODEL.predict(rows.X), EMBEDDED.predict(rows.X)
    w = rows.weight
    return [
        measures.accuracy(labels, free, w, matched=True),
        measures.normalized_mutual_information(labels, free, w),
        measures.weighted_average_depth(MODEL, rows.X, w),
        measures.weighted_average_explanation_size(MODEL, rows.X, w),
        measures.feature_usage(MODEL, rows.X, w),
        measures.spacing(rows.X, labels),
    ]


def of_report(rows):
    nodes = report(MODEL, rows.X, sample_weight=rows.weight)["nodes"]
    return [[node[name] for name in ("share", "density", "threshold", "name")] for node in nodes]


def of_picture(rows):
    ax = plot_tree(MODEL, rows.X, y=rows.y, sample_weight=rows.weight)
    texts = [re.sub(r"\d+ rows|weight [\d.]+", "", text.get_text()) for text in ax.texts]
    plt.close(ax.figure)
    return [text.strip() for text in texts]


def of_pipeline(rows):
    table = table_of(rows.X)
    found = table_pipeline(table, 3, split="axis", max_leaves=4, **QUICK)
    found.fit(table, cluster__sample_weight=rows.weight)
    return [found[-1].tree_.threshold, PerRow(found.predict(table).tolist()), to_query(found)]


WEIGHTED = {
    **{f"describe {name}": of_describe(name) for name in MODELS},
    "cost_increase": lambda rows: [
        m.cost_increase(rows.X, **weights(rows), **further(name, rows))
        for name, m in MODELS.items()
    ],
    "refit tests": of_refit("tests"),
    "refit columns": of_refit("columns"),
    "refit nothing": of_refit("nothing"),
    "refit greedy": of_refit("nothing", GREEDY),
    "nested": of_nested,
    "measures": of_measures,
    "report": of_report,
    "picture": of_picture,
    "pipeline": of_pipeline,
    "path": lambda rows: [
        facts_of_fit(model, rows.X)
        for model in tao_path(
            rows.X, 3, leaves=[3, 5], split="axis", sample_weight=rows.weight, **QUICK
        )
    ],
}
UNWEIGHTED = {
    "contrast": lambda rows: describe(MODEL, rows.X).contrast(0, 1).table,
    "explain": lambda rows: PerRow(
        str(explain(MODEL, rows.X.iloc[[i]])) for i in range(len(rows.X))
    ),
    "nearest_change": lambda rows: PerRow(
        str(nearest_change(MODEL, rows.X.iloc[[i]], 0)) for i in range(len(rows.X))
    ),
    "choose_n_clusters": lambda rows: (
        choose_n_clusters(rows.X, [2, 3], embedding=rows.embedding, **QUICK).table
    ),
    "monitor": of_monitor,
    "fit_nested": of_fit_nested,
    "compare": lambda rows: compare(rows.X, 3, ["imm", "cart"], validation=0.3).table,
    "compare splits": lambda rows: compare(rows.X, 3, ["imm", "cart"], splits=2).table.drop(
        columns="seconds_se"
    ),
    "stability": lambda rows: [
        (found := stability(IMM(3, random_state=0), rows.X, n=2)).table,
        found.features,
    ],
    "tests": lambda rows: [ax.get_title() for ax in plot_tests(MODEL, rows.X).figure.axes],
}
REPORTS = {**WEIGHTED, **UNWEIGHTED}


@pytest.mark.spaced(quick=8, slow=20)
@pytest.mark.filterwarnings("ignore:.*lambda_", "ignore:.*clusters have rows")
@pytest.mark.parametrize("name", [*FITS, *REPORTS])
def test_the_order_of_rows_changes_nothing_but_the_order(name):
    facts = (FITS | REPORTS)[name]
    rows = replace(ROWS, weight=None) if name not in WEIGHTED else ROWS
    assert_same(facts(rows), facts(rows.take(ORDER)), np.argsort(ORDER))


@pytest.mark.spaced(quick=4, slow=12)
@pytest.mark.filterwarnings("ignore:.*lambda_", "ignore:.*clusters have rows")
@pytest.mark.parametrize("name", [*FITS, *WEIGHTED])
def test_a_constant_weight_is_no_weight(name):
    facts, rows = (FITS | WEIGHTED)[name], replace(ROWS, weight=None)
    plain = facts(rows)
    for weight in (1.0, 2.0, 1e-3):
        given = facts(rows.weighted(np.full(len(rows.X), weight)))
        if name.startswith("describe"):  # without its sentences, which count rows
            plain[0] = given[0] = []
        assert_same(plain, given, rtol=1e-6)


@pytest.mark.spaced(quick=4, slow=12)
@pytest.mark.filterwarnings("ignore:.*lambda_", "ignore:.*clusters have rows")
# The first steps of a pipeline do not use the weights.
@pytest.mark.parametrize("name", [name for name in [*FITS, *WEIGHTED] if name != "pipeline"])
def test_a_weight_is_a_number_of_repeats_and_zero_is_an_absent_row(name):
    counts = np.random.default_rng(1).integers(0, 3, len(ROWS.X))
    repeated = np.repeat(np.arange(len(counts)), counts)
    facts = (FITS | WEIGHTED)[name]
    rows = ROWS.weighted(counts)
    several = ROWS.take(repeated).weighted(np.ones(len(repeated)))
    first = np.unique(repeated, return_index=True)[1]
    without = without_absent(facts(rows), np.flatnonzero(counts))
    assert_same(without, without_absent(facts(several), first), rtol=1e-6)


def without_absent(value, kept):
    """A result with the values of some rows alone."""
    if isinstance(value, PerRow):
        return PerRow(value[i] for i in kept)
    if isinstance(value, dict):
        return {name: without_absent(each, kept) for name, each in value.items()}
    return [without_absent(each, kept) for each in value] if isinstance(value, list) else value


@pytest.mark.spaced(quick=1, slow=4)
@pytest.mark.filterwarnings("ignore:.*lambda_", "ignore:.*clusters have rows")
@pytest.mark.parametrize("name", FITS)
def test_the_form_of_rows_changes_nothing(name):
    facts, rows = FITS[name], replace(ROWS, weight=None)
    plain = facts(rows)
    for form in (np.asarray, np.asfortranarray, lambda X: X.to_numpy().tolist()):
        parts = {"X": form(rows.X), "embedding": form(rows.embedding), "y": rows.y.tolist()}
        assert_same(plain, facts(replace(rows, **parts)))


# ---------------------------------------------------------------- other rows, other arguments


@pytest.mark.parametrize("name", MODELS)
def test_costs_are_those_of_the_rows_although_their_labels_are_the_same(name):
    """Within each leaf, the rows get other values that reach the same leaf."""
    model, rows = MODELS[name], ROWS
    for scale in (1.0, 1.02):
        X = other_values(model, rows.X, scale)
        same = replace(rows, X=X, embedding=rows.embedding * scale)
        found = describe(model, X, **further(name, same))
        if name != "labels":  # whose cost is an error rate
            cost = model.cost_increase(X, **further(name, same))
            assert found.cost_increase == pytest.approx(cost)
            assert np.isnan(describe(model, X).cost_increase) == (name == "embedded")


def other_values(model, X, scale):
    """Rows in another order within their leaves and farther from the mean, in the same leaves."""
    leaves = model.apply(X)
    values = X.to_numpy().copy()
    for leaf in np.unique(leaves):
        values[leaves == leaf] = values[leaves == leaf][::-1]
    stretched = X.mean().to_numpy() + scale * (values - X.mean().to_numpy())
    kept = model.apply(pd.DataFrame(stretched, columns=X.columns)) == leaves
    values[kept] = stretched[kept]
    found = pd.DataFrame(values, index=X.index, columns=X.columns)
    np.testing.assert_array_equal(model.apply(found), leaves)
    return found


X, W, E, Y = ROWS.X, ROWS.weight, ROWS.embedding, ROWS.y
CALLS = {
    "fit": ("we", lambda w, e, y: TAOClustering(3, **QUICK).fit(X, sample_weight=w, embedding=e)),
    "fit labels": ("y", lambda w, e, y: LABELLED.fit(X, y)),
    "greedy": ("we", lambda w, e, y: IMM(3).fit(X, sample_weight=w, embedding=e)),
    "path": ("we", lambda w, e, y: tao_path(X, 3, sample_weight=w, embedding=e)),
    "pipeline": ("w", lambda w, e, y: PIPELINE.fit(table_of(X), cluster__sample_weight=w)),
    "score": ("we", lambda w, e, y: EMBEDDED.score(X, None, w, e)),
    "cost_increase": ("wy", lambda w, e, y: LABELLED.cost_increase(X, w, y=y)),
    "describe": ("we", lambda w, e, y: describe(EMBEDDED, X, sample_weight=w, embedding=e)),
    "describe labels": ("y", lambda w, e, y: describe(LABELLED, X, y=y)),
    "refit": (
        "we",
        lambda w, e, y: refit(EMBEDDED, X, sample_weight=w, embedding=e),
    ),
    "refit table": ("w", lambda w, e, y: refit(PIPELINE, table_of(X), sample_weight=w)),
    "refit labels": ("y", lambda w, e, y: refit(LABELLED, X, y=y)),
    "monitor": ("y", lambda w, e, y: monitor(LABELLED, X, X, y=(y, Y))),
    "nested": (
        "we",
        lambda w, e, y: nested(EMBEDDED, X, sample_weight=w, embedding=e),
    ),
    "fit_nested": ("we", lambda w, e, y: fit_nested(X, 3, sample_weight=w, embedding=e)),
    "choose_n_clusters": ("e", lambda w, e, y: choose_n_clusters(X, embedding=e)),
    "choose table": ("e", lambda w, e, y: choose_n_clusters(table_of(X), embedding=e)),
    "compare": ("wey", lambda w, e, y: compare(X, 3, ["imm"], sample_weight=w, embedding=e, y=y)),
    "stability": ("we", lambda w, e, y: stability(IMM(3), X, n=2, sample_weight=w, embedding=e)),
    "report": ("w", lambda w, e, y: report(MODEL, X, sample_weight=w)),
    "rules": ("w", lambda w, e, y: to_rules(MODEL, X=X, sample_weight=w)),
    "frame": ("w", lambda w, e, y: to_dataframe(MODEL, X=X, sample_weight=w)),
    "picture": ("wy", lambda w, e, y: plot_tree(MODEL, X, y=y, sample_weight=w)),
    "tests": ("w", lambda w, e, y: plot_tests(MODEL, X, sample_weight=w)),
    "page": ("wy", lambda w, e, y: MODEL.to_html(X=X, y=y, sample_weight=w)),
    "usage": ("w", lambda w, e, y: measures.feature_usage(MODEL, X, w)),
    "accuracy": ("wy", lambda w, e, y: measures.accuracy(Y, y, w)),
    "NMI": (
        "wy",
        lambda w, e, y: measures.normalized_mutual_information(Y, y, w),
    ),
    "ARI": ("wy", lambda w, e, y: measures.adjusted_rand_index(Y, y, w)),
    "spacing": ("wy", lambda w, e, y: measures.spacing(X, y, w)),
    "price": ("w", lambda w, e, y: measures.price_of_explainability(MODEL, X, sample_weight=w)),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_of_other_rows_raise(name):
    """Weights, embeddings and labels in another order, or of another number of rows."""
    (used, call), given = CALLS[name], {"w": W, "e": E, "y": Y}
    for i, kind in enumerate(given):
        if kind not in used:
            continue
        for other, message in [
            (given[kind].iloc[ORDER], "row labels of X in another order"),
            (given[kind].iloc[:-1], "119 entries, but X has 120"),
            (given[kind].to_numpy()[1:], "119 entries, but X has 120"),
        ]:
            arguments = [value if kind in used else None for kind, value in given.items()]
            arguments[i] = other
            with pytest.raises(ValueError, match=message):
                call(*arguments)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (int, float),
        (int, str),
        (str, int),
        (int, "{:06d}".format),
        (float, "{:06d}".format),
        ("{:06d}".format, "{:06d}".format),
        (str, str),
    ],
)
def test_ids_of_any_type_are_the_same_customer(old, new):
    ids = np.random.default_rng(0).permutation(len(X)) * 7
    then, now = [old(i) for i in ids.tolist()], [new(i) for i in ids[ORDER].tolist()]
    found = monitor(MODEL, X, X.iloc[ORDER], ids=(then, now))
    assert found.verdict.startswith("0.0 % changed segment")
    assert np.trace(found.transitions.to_numpy()) == len(X)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (([f"a{i}" for i in range(120)], list(range(120))), "No id is in both months"),
        (([f"{i:05}" for i in range(120)], [f"{i}" for i in range(120)]), "No id is in both"),
        (([None, *range(119)], list(range(120))), "must not be missing"),
        ((["01", "1", *map(str, range(2, 120))], list(range(120))), "must be distinct"),
    ],
)
def test_ids_that_cannot_be_the_same_raise(ids, message):
    with pytest.raises(ValueError, match=message):
        monitor(MODEL, X, X, ids=ids)


# ---------------------------------------------------------------- rows in blocks


def in_blocks(rows, order=None):
    order = np.arange(len(rows.X)) if order is None else order
    blocks = [rows.X.iloc[part] for part in np.array_split(order, 3)]
    given = None
    if rows.weight is not None:
        given = [rows.weight.iloc[part] for part in np.array_split(order, 3)]
    model = outofcore.fit(TAOClustering(3, **QUICK), blocks, sample_weight=given, random_state=0)
    return [model.tree_.threshold, model.cost_increase_, PerRow(model.predict(rows.X).tolist())]


@pytest.mark.slow
def test_rows_in_blocks():
    rows = replace(ROWS, weight=None)
    plain = in_blocks(rows)
    assert_same(plain, in_blocks(rows, ORDER), rtol=1e-6)
    for weight in (1.0, 2.0, 1e-3):
        assert_same(plain, in_blocks(rows.weighted(np.full(len(X), weight))), rtol=1e-6)
    counts = np.random.default_rng(1).integers(0, 3, len(X))
    repeated = np.repeat(np.arange(len(counts)), counts)
    weighted, several = (
        in_blocks(ROWS.weighted(counts)),
        in_blocks(replace(ROWS.take(repeated), weight=None)),
    )
    assert_same(weighted[:2], several[:2], rtol=1e-6)
