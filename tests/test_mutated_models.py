"""Mutated model files: loading raises a clear error, or every use of the model works."""

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from conftest import as_json, rest_in_sweeps
from sklearn.datasets import load_iris

import greedy
from tao_cluster import PenaltyMethod, TAOClustering, Tree, load
from tao_cluster.export import to_dataframe, to_dot, to_rules, to_sql, to_text

FRAME = load_iris(as_frame=True).data
NAMES = np.array(["red", "green", "blue"])[load_iris().target]
ROWS = FRAME.iloc[::10]
MODELS = {
    "standardized": lambda: TAOClustering(3, depth=2, lambda_=1, standardize=True, random_state=0),
    "labels": lambda: TAOClustering(objective="labels", lambda_=0.01, random_state=0),
    "embedding": lambda: TAOClustering(3, depth=2, lambda_=1, random_state=0),
    "spherical": lambda: TAOClustering(3, lambda_=0.1, objective="spherical", random_state=0),
    "kmedoids": lambda: TAOClustering(3, objective="kmedoids", split="axis", random_state=0),
    "histograms": lambda: TAOClustering(
        3, lambda_=1, algorithm=PenaltyMethod(penalty="squared", refine=False), random_state=0
    ),
    "ExKMC": lambda: greedy.ExKMC(3, max_leaves=5, random_state=0),
    "MixtureTree": lambda: greedy.MixtureTree(3, random_state=0),
    "ExSingleLink": lambda: greedy.ExSingleLink(3),
    "SpEx": lambda: greedy.SpEx(3, random_state=0),
}
ARRAYS = [
    np.full((3, 4), np.nan),
    np.full((3, 4), 1e308),
    np.full((3, 4), np.inf),
    np.ones((3, 4), dtype=bool),
    np.ones((3, 4), dtype=np.float32),
    np.zeros((3, 4), dtype=np.int64),
    np.zeros((3, 0)),
    np.zeros((3, 7)),
    np.zeros((65_536, 0)),
    np.zeros(()),
    np.zeros(5),
    np.full(5, -1e300),
    np.array([99, 99, 99]),
    np.array(["a", "b"]),
    np.array([None, "a", 1.5], dtype=object),
]
ODD = [None, -1, 0, 3, 4.0, 10**15, 10**400, -(2**63), 1e308, 5e-324, "x", "", [], [1], {}, True]
ODD += [[[[]]], {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": {}}]
ODD += [{"filled": ["a", 1.0]}, {"indicator": ["a", "b", False]}, *as_json(ARRAYS)]


@pytest.fixture(
    scope="module", params=rest_in_sweeps(sorted(MODELS), "ExKMC", "histograms", "labels")
)
def document(request, tmp_path_factory):
    model, file = MODELS[request.param](), tmp_path_factory.mktemp("models") / "model.json"
    options = {"embedding": FRAME.to_numpy()[:, :2]} if request.param == "embedding" else {}
    model.fit(FRAME, NAMES, **options).save(file)
    return json.loads(file.read_text(encoding="utf-8"))


def mutated(document, rng):
    """Return a copy in which one value is changed, removed or duplicated."""
    data = copy.deepcopy(document)
    place = data["attributes"] if rng.random() < 0.9 else data
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        if key == "history_" and rng.random() < 0.8:
            continue
        inner = place[key]
        is_last = not (isinstance(inner, dict | list) and len(inner))
        if is_last or rng.random() < 0.3:
            break
        place = inner
    how = rng.random()
    if how < 0.1:
        del place[key]
    elif how < 0.2 and isinstance(place, list):
        place.insert(key, copy.deepcopy(inner))
    elif how < 0.3:
        names = list(data["attributes"])
        place[key] = copy.deepcopy(data["attributes"][names[rng.integers(len(names))]])
    else:
        place[key] = copy.deepcopy(ODD[rng.integers(len(ODD))])
    return data


def use(model, folder):
    """Call every method of a model."""
    names, rows, y = getattr(model, "feature_names_in_", None), ROWS.to_numpy(), NAMES[::10]
    n_columns = model.cluster_centers_.shape[1]
    embedding = rows[:, :n_columns] if model._space.has_embedding else None
    rows = rows if names is None else pd.DataFrame(rows, columns=names)
    model.predict(rows)
    model.transform(rows if embedding is None else embedding)
    model.score(rows, y, embedding=embedding)
    model.cost_increase(rows, embedding=embedding, y=None if model._space.classes is None else y)
    for write in (to_text, to_rules, to_dot, to_dataframe):
        write(model)
    to_sql(model, list("abcd"))  # raises for names that SQL does not support
    model.to_html()
    model.to_html(X=rows)
    str(model.explain(rows[:1]))
    str(model.describe(rows, embedding=embedding))
    model.get_feature_names_out()
    repr(model)
    if isinstance(model, greedy.ExKMC):
        for step in model.trace_:
            assert model.tree_at(step["leaves"]).n_leaves == step["leaves"]
    model.save(folder / "again.json")
    load(folder / "again.json")


def check(data, folder):
    """Load a document; return whether it is accepted. An accepted model must work."""
    (folder / "model.json").write_text(json.dumps(data), encoding="utf-8")
    try:
        model = load(folder / "model.json")
    except ValueError as error:
        assert "not a model" in str(error)  # noqa: PT017
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # sums of huge numbers overflow
        use(model, folder)
    return True


@pytest.mark.slow
def test_mutated_models_raise_or_work(document, rng, tmp_path):
    """If any single value of a file changes, loading raises, or every use works."""
    accepted = [check(mutated(document, rng), tmp_path) for _ in range(20)]
    assert sum(accepted) < 12


@pytest.mark.sweep
def test_thousands_of_mutated_models(document, rng, tmp_path):
    for _ in range(500):
        check(mutated(document, rng), tmp_path)


def put(name, value):
    """Return a function that sets an attribute to a JSON value or an array."""
    written = as_json(value) if isinstance(value, np.ndarray) else value
    return lambda data: data["attributes"].__setitem__(name, written)


def in_space(name, value):
    return lambda data: data["attributes"]["_space"]["fields"].__setitem__(name, value)


def without(name):
    return lambda data: data["attributes"].pop(name)


def parameter(name, value):
    return lambda data: data["parameters"].__setitem__(name, value)


_K = 3
# Changes that `load` accepted in the past, and a part of the message that they must raise now.
FOUND = {
    "names 3": (put("feature_names_in_", 3), "feature_names_in_ must be"),
    "another space": (put("_space", {"filled": ["a", 1.0]}), "_space must be a ClusteringSpace"),
    "a text for a space": (put("_space", "x"), "_space must be a ClusteringSpace"),
    "scaling false": (in_space("scaling", False), "scaling of ClusteringSpace"),
    "objective true": (in_space("objective", True), "objective of ClusteringSpace"),
    "counts []": (put("node_counts_", []), "node_counts_ must be"),
    "counts of another tree": (put("node_counts_", np.ones(4)), "node_counts_ must be"),
    "rows []": (put("node_rows_", []), "node_rows_ must be"),
    "rows as floats": (put("node_rows_", np.full(5, 150.0)), "node_rows_ must be"),
    "more rows below": (put("node_rows_", np.arange(1, 6)), "node_rows_ must be"),
    "importances 5": (put("feature_importances_", np.full(4, 5.0)), "feature_importances_ must"),
    "inertia x": (put("inertia_", "x"), "inertia_ must be a number"),
    "increase x": (put("cost_increase_", "x"), "cost_increase_ must be a number"),
    "no sides": (put("split_sides_", np.ones(5)), "split_sides_ must"),
    "densities above 1": (put("split_densities_", np.full(5, 2.0)), "split_densities_ must"),
    "sides turned": (put("split_sides_", np.tile([2.0, 1.0], (5, 1))), "split_sides_ must"),
    "spreads of texts": (put("split_stds_", np.array(["a"])), "split_stds_ must be"),
    "free labels": (put("free_labels_", np.ones((2, 2))), "free_labels_ must be"),
    "no free centres": (without("free_centers_"), "free_centers_ is missing"),
    "free centres of text": (put("free_centers_", np.array(["a"] * _K)), "free_centers_ must"),
    "a scalar of free centres": (
        put("free_centers_", np.ones(())),
        "free_centers_",
    ),
    "centres NaN": (put("cluster_centers_", np.full((_K, 4), np.nan)), "cluster_centers_ must be"),
    "centres of bool": (put("cluster_centers_", np.ones((_K, 4), bool)), "cluster_centers_ must"),
    "centres (3, 0)": (put("cluster_centers_", np.ones((_K, 0))), "cluster_centers_ must"),
    "centres (3, 7)": (put("cluster_centers_", np.ones((_K, 7))), "cluster_centers_ must"),
    "centres (65536, 0)": (put("cluster_centers_", np.ones((65_536, 0))), "cluster_centers_ must"),
    "features 4.0": (put("n_features_in_", 4.0), "number of features than n_features_in_"),
    "n_clusters -3": (parameter("n_clusters", -3), "'n_clusters' parameter"),
    "depth x": (parameter("depth", "x"), "'depth' parameter"),
    "lambda NaN": (parameter("lambda_", {"float": "nan"}), "'lambda_' parameter"),
    "n_jobs 0": (parameter("n_jobs", 0), "n_jobs"),
    "n_jobs ()": (parameter("n_jobs", {"tuple": []}), "'n_jobs' parameter"),
}


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("document", ["standardized"], indirect=True)
def test_what_load_once_accepted_raises(document, name, tmp_path):
    change, sentence = FOUND[name]
    data = copy.deepcopy(document)
    change(data)
    (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match="not a model that can be used: .*" + sentence):
        load(tmp_path / "model.json")


# The same for some kinds of models.
FOUND_OF = {
    ("labels", "classes_"): np.array(["a", "b", "c"]),
    ("ExKMC", "trace_"): [],
    ("ExKMC", "_growth"): 3,
    ("ExKMC", "_max_leaves"): "x",
}


@pytest.mark.parametrize(("document", "name"), FOUND_OF, indirect=["document"])
def test_what_load_once_accepted_of_one_kind_raises(document, name, request, tmp_path):
    kind = request.node.callspec.params["document"]
    data = copy.deepcopy(document)
    put(name, FOUND_OF[kind, name])(data)
    (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match="not a model that can be used"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize("document", ["labels"], indirect=True)
def test_classes_of_another_space_raise(document, tmp_path):
    data = copy.deepcopy(document)
    in_space("classes", as_json(np.array(["red"])))(data)
    (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match="cluster without a centre"):
        load(tmp_path / "model.json")


@pytest.mark.parametrize("document", ["standardized"], indirect=True)
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (',"class":"IMM","parameters":{}}', "key 'class' twice"),
        (',"note":NaN}', "NaN is no number"),
        (',"note":[-Infinity]}', "-Infinity is no number"),
    ],
)
def test_what_readers_interpret_differently_raises(document, more, sentence, tmp_path):
    (tmp_path / "model.json").write_text(json.dumps(document)[:-1] + more, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        load(tmp_path / "model.json")
    text = Tree.single_leaf(0, 2).to_json(indent=None)[:-1] + ',"class":"Tree"' + more
    with pytest.raises(ValueError, match=sentence):
        Tree.from_json(text)


@pytest.mark.parametrize("document", ["standardized"], indirect=True)
@pytest.mark.parametrize("version", [True, 1.0, "1"])
def test_true_is_no_version(document, version, tmp_path):
    data = json.dumps({**document, "version": version})
    (tmp_path / "model.json").write_text(data, encoding="utf-8")
    with pytest.raises(ValueError, match="it has version"):
        load(tmp_path / "model.json")
    with pytest.raises(ValueError, match="cannot be read"):
        Tree.from_dict({**Tree.single_leaf(0, 2).to_dict(), "version": version})
