"""Saved models: the same predictions and explanations after loading, and bad files raise."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops.io as skops_io
from conftest import ESTIMATORS, as_json, rest_in_sweeps
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import greedy
from tao_cluster import (
    DirectForm,
    PenaltyMethod,
    TAOClustering,
    Tree,
    __version__,
    load,
    outofcore,
    save,
    table_pipeline,
)
from tao_cluster.columns import Numeric
from tao_cluster.export import Indicator
from tao_cluster.initial_trees import Bisecting
from tao_cluster.objectives import KMeans as KMeansObjective
from tao_cluster.objectives import KMedians, KMedoids, Labels
from tao_cluster.solvers import Newton

KEPT = Path(__file__).with_name("models_version_1.json")
FRAME = load_iris(as_frame=True).data
LABELS = load_iris().target
NAMES = np.array(["red", "green", "blue"])[LABELS]
TREE = Tree.from_splits(
    [1, -1, 3, -1, -1],
    [2, -1, 4, -1, -1],
    [([2], [1.0]), None, ([2], [1.0]), None, None],
    [2.5, 0, 4.9, 0, 0],
    [-1, 1, -1, 0, 2],
    n_features=4,
)

# Every objective and split, and parameters that are objects.
VARIANTS = {
    "defaults": {},
    "standardized": {"standardize": True, "max_cost_increase": 5, "validation": 0.3},
    "axis": {"split": "axis"},
    "spherical": {"objective": "spherical"},
    "kmedians": {"objective": KMedians()},
    "kmedoids": {"objective": "kmedoids", "split": "axis"},
    "penalty": {"algorithm": PenaltyMethod(penalty="squared", refine=False), "lambda_": 1},
    "objects": {
        "algorithm": DirectForm(node_solver=Newton(), max_features_per_test=2),
        "objective": KMeansObjective(n_init=2),
        "init": Bisecting(2),
        "lambda_": 2.0,
    },
    "a tree": {"init": TREE, "lambda_": 0.1},
    "centres": {"reference": FRAME.to_numpy()[[0, 60, 120]]},
    "an estimator": {"reference": KMeans(3, random_state=0, n_init=1)},
}


def model_of(name):
    if name in VARIANTS:
        return TAOClustering(3, depth=3, random_state=0, **VARIANTS[name]).fit(FRAME)
    if name == "labels":
        return TAOClustering(objective="labels", random_state=0).fit(FRAME, NAMES)
    if name == "embedding":
        return TAOClustering(3, random_state=0).fit(FRAME, embedding=FRAME.to_numpy()[:, :2])
    return ESTIMATORS[name]().set_params(n_clusters=3, random_state=0).fit(FRAME)


def same(one, other):
    """Return whether two values are equal to the last bit; arrays must have the same dtype."""
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        return (
            np.array_equal(one, other)
            if one.dtype == object
            else one.tobytes() == (other.tobytes())
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or (one != one and other != other)  # noqa: PLR0124


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    rest_in_sweeps(
        [*VARIANTS, "labels", "embedding", *ESTIMATORS],
        *("standardized", "penalty", "objects", "a tree", "an estimator", "labels", "embedding"),
        *("ExKMC", "MixtureTree", "SpEx"),
    ),
)
def test_a_loaded_model_is_the_saved_one(name, tmp_path):
    model = model_of(name)
    model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json")
    assert type(other) is type(model)
    public = [key for key in vars(model) if key.endswith("_") and key != "mixture_"]
    for key in public:
        assert same(getattr(model, key), getattr(other, key)), key
    assert repr(other.get_params(deep=False)) == repr(model.get_params(deep=False))
    np.testing.assert_array_equal(model.predict(FRAME), other.predict(FRAME))
    np.testing.assert_array_equal(model.get_feature_names_out(), other.get_feature_names_out())
    assert str(model.explain(FRAME.iloc[[70]])) == str(other.explain(FRAME.iloc[[70]]))
    assert str(model.describe(FRAME)) == str(other.describe(FRAME))
    assert model.to_html(X=FRAME) == other.to_html(X=FRAME)
    if name not in ("embedding", "labels"):
        assert model.score(FRAME) == other.score(FRAME)
        assert model.cost_increase(FRAME) == other.cost_increase(FRAME)
    other.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


@pytest.mark.slow
def test_models_of_this_version_load_for_ever(tmp_path):
    """The file has the format of the first release of this version and must stay loadable."""
    for name, part in json.loads(KEPT.read_text(encoding="utf-8")).items():
        (tmp_path / name).write_text(json.dumps(part["model"]), encoding="utf-8")
        model = load(tmp_path / name)
        rows = pd.DataFrame(part["rows"], columns=FRAME.columns)
        np.testing.assert_array_equal(model.predict(rows), part["clusters"], err_msg=name)


@pytest.mark.slow
def test_another_process_reads_it(tmp_path):
    model = model_of("standardized")
    model.save(tmp_path / "model.json")
    X = tmp_path / "X.csv"
    FRAME.to_csv(X, index=False)
    code = (
        "import pandas, tao_cluster, sys\n"
        "model = tao_cluster.load(sys.argv[1])\n"
        "print(*model.predict(pandas.read_csv(sys.argv[2])))\n"
    )
    command = [sys.executable, "-c", code, tmp_path / "model.json", X]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stdout.split() == [str(label) for label in model.labels_]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["standardized", "labels", "MixtureTree"])
def test_skops_keeps_it_too(name):
    """skops files list their types, each of which the reader has to trust."""
    model = model_of(name)
    data = skops_io.dumps(model)
    own = {"greedy", "sklearn", "tao_cluster"}
    types = skops_io.get_untrusted_types(data=data)
    assert {name.partition(".")[0] for name in types} <= own
    other = skops_io.loads(data, trusted=types)
    assert other.tree_ == model.tree_
    np.testing.assert_array_equal(other.predict(FRAME), model.predict(FRAME))


def test_a_tree_and_an_expanded_one(tmp_path):
    save(TREE, tmp_path / "tree.json")
    assert load(tmp_path / "tree.json") == TREE
    model = greedy.ExKMC(3, max_leaves=6, random_state=0).fit(FRAME)
    model.save(tmp_path / "model.json")
    for n_leaves in (3, 5):
        other = load(tmp_path / "model.json")
        assert other.tree_at(n_leaves) == model.tree_at(n_leaves)


@pytest.mark.parametrize(
    "value",
    [
        np.inf,
        -np.inf,
        (1, "a", None, True),
        [Indicator("plan", "gold"), Indicator("plan", None), Numeric("income", 3.5)],
        [Indicator("plan", "other", True, (1, 2.5, False, "x"), True, None, "Plan")],
        {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.array([True, False])},
        np.array([0.5, 65504.0, -0.0], dtype=np.float16),
        np.array(["x", None, 3], dtype=object),
        np.array(["x", "yy"]),
        np.zeros((0, 3)),
    ],
)
def test_values_come_back(value, tmp_path):
    model = greedy.IMM(1).fit([[0.0], [1.0]])
    model.value_ = value
    model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json").value_
    assert same(value, other)
    assert type(other) is type(value)
    if isinstance(value, list):
        assert [vars(name) for name in value] == [vars(name) for name in other]


def test_what_a_file_cannot_hold(tmp_path):
    model = TAOClustering(3, lambda_=5, random_state=np.random.RandomState(0)).fit(FRAME)
    with pytest.warns(UserWarning, match=r"does not hold the parameter random_state"):
        model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json")
    assert other.random_state is None
    np.testing.assert_array_equal(other.predict(FRAME), model.labels_)
    with pytest.raises(NotFittedError):
        clone(model).save(tmp_path / "model.json")
    with pytest.raises(ValueError, match="Cannot save a KMeans"):
        save(KMeans(), tmp_path / "model.json")
    model.notes_ = object()
    before = (tmp_path / "model.json").read_bytes()
    model.set_params(random_state=0)
    with pytest.raises(ValueError, match="Cannot save notes_, a object"):
        model.save(tmp_path / "model.json")
    assert (tmp_path / "model.json").read_bytes() == before
    with pytest.raises(OSError, match="No such file"):
        load(tmp_path / "none.json")
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]


def taxicab(one, other):
    """A metric of our own."""
    return float(np.abs(one - other).sum())


class Doubled(KMeansObjective):
    """An objective of our own, with the centres of k-means."""

    def distances(self, data, centers):
        return 2 * super().distances(data, centers)


class Bare:
    """An objective of our own that implements only what it must."""

    def __init__(self):
        for name in ("reference", "prepare", "distances", "update_centers", "value", "as_distance"):
            setattr(self, name, getattr(KMeansObjective(), name))


class OwnLabels(Labels):
    """An objective of our own that explains labels."""


FEW = FRAME[::3]
OWN = {
    "metric": {"objective": KMedoids(metric=taxicab, n_init=1), "split": "axis"},
    "class": {"objective": Doubled(), "standardize": True, "lambda_": 1.0},
    "bare": {"objective": Bare(), "lambda_": 1.0},
    "labels": {"objective": OwnLabels(), "lambda_": 0.1},
}


def fitted_to(name):
    y = NAMES[::3] if name == "labels" else None
    return TAOClustering(3, random_state=0, **OWN[name]).fit(FEW, y), y


@pytest.mark.spaced(quick=0, slow=3)
@pytest.mark.parametrize("name", OWN)
def test_a_model_with_an_objective_of_ones_own_is_saved_without_it(name, tmp_path):
    model, y = fitted_to(name)
    path, again = tmp_path / "model.json", tmp_path / "again.json"
    with pytest.warns(
        UserWarning, match=r"does not hold the objective .*load\(path, obj"
    ) as caught:
        model.save(path)
    assert len(caught) == 1
    other = load(path)
    for key in (key for key in vars(model) if key.endswith("_")):
        assert same(getattr(model, key), getattr(other, key)), key
    np.testing.assert_array_equal(other.predict(FEW), model.predict(FEW))
    for show in (
        *(lambda m: m.to_text(), lambda m: m.to_sql(), lambda m: m.to_html(X=FEW)),
        *(lambda m: str(m.explain(FEW[:9])), lambda m: m.to_rules(X=FEW)),
        lambda m: m.tree_.to_dict(),
    ):
        assert show(other) == show(model)
    for use in (
        *(lambda: other.score(FEW, y), lambda: other.cost_increase(FEW, y=y)),
        *(lambda: other.fit(FEW, y), lambda: clone(other).fit(FEW, y)),
        *([] if y is not None else [lambda: other.transform(FEW)]),
    ):
        with pytest.raises(ValueError, match=r"does not hold its objective .*: load\(path, obj"):
            use()
    other.save(again)  # which warns no more: nothing further is lost
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize("name", OWN)
def test_load_takes_the_objective_that_the_file_does_not_hold(name, tmp_path):
    model, y = fitted_to(name)
    with pytest.warns(UserWarning, match="does not hold the objective"):
        model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json", objective=model.objective)
    assert other.objective is model.objective
    assert other.score(FEW, y) == model.score(FEW, y)
    assert other.cost_increase(FEW, y=y) == model.cost_increase(FEW, y=y)
    np.testing.assert_array_equal(other.transform(FEW), model.transform(FEW))
    assert other.fit(FEW, y).tree_ == model.tree_
    for wrong in ("kmeans", KMedians()):
        with pytest.raises(ValueError, match=r"fitted with the objective \w+, got K"):
            load(tmp_path / "model.json", objective=wrong)


def test_an_objective_that_the_file_holds_is_not_given(tmp_path):
    greedy.IMM(2).fit(FRAME).save(tmp_path / "model.json")
    TREE.save(tmp_path / "tree.json")
    for name in ("model.json", "tree.json"):
        with pytest.raises(ValueError, match="needs no objective"):
            load(tmp_path / name, objective=KMedians())


def test_a_pipeline_with_an_objective_of_ones_own(tmp_path):
    table = FRAME.assign(name=NAMES)
    pipeline = table_pipeline(table, 3, objective=Doubled(), lambda_=1, random_state=0).fit(table)
    with pytest.warns(UserWarning, match="does not hold the objective Doubled"):
        save(pipeline, tmp_path / "model.json")
    np.testing.assert_array_equal(
        load(tmp_path / "model.json").predict(table), pipeline.predict(table)
    )
    other = load(tmp_path / "model.json", objective=Doubled())
    assert other.score(table) == pipeline.score(table)


class OwnStart(Bisecting):
    """An initial tree of our own."""


class OwnSolver(Newton):
    """A node solver of our own."""


def test_other_parts_of_ones_own_become_the_defaults(tmp_path):
    parts = {"init": OwnStart(), "algorithm": DirectForm(node_solver=OwnSolver())}
    model = TAOClustering(3, lambda_=1.0, random_state=0, **parts).fit(FRAME)
    with pytest.warns(UserWarning, match=r"init \(a OwnStart\), algorithm \(a OwnSolver\)"):
        model.save(tmp_path / "model.json")
    other = load(tmp_path / "model.json")
    assert (other.init, other.algorithm) == ("auto", "direct")
    assert other.score(FRAME) == model.score(FRAME)
    np.testing.assert_array_equal(other.predict(FRAME), model.labels_)


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    missing, folder = tmp_path / "none", tmp_path / "folder"
    folder.mkdir()
    for save_it in (TREE.save, TAOClustering(3, lambda_=5, random_state=0).fit(FRAME).save):
        with pytest.raises(FileNotFoundError) as error:
            save_it(missing / "model.json")
        assert str(error.value).endswith(f"the folder {missing} does not exist. Create it first.")
        with pytest.raises(OSError, match="Cannot write the file") as error:
            save_it(folder)
        assert Path(error.value.filename) == folder
        assert "folder." not in str(error.value)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def without(name):
    return lambda data: data["attributes"].pop(name)


def put(value, *keys):
    def change(data):
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value

    return change


BAD = {
    "a newer version": (put(2, "version"), "reads version"),
    "a version that is true": (put(True, "version"), "it has version"),
    "another class": (put("Popen", "class"), "no estimator 'Popen'"),
    "another parameter": (put(1, "parameters", "n_trees"), "argument 'n_trees'"),
    "another attribute": (put(1, "attributes", "predict"), "no fitted attribute 'predict'"),
    "no tree": (without("tree_"), "tree_ is missing"),
    "another tree": (put(3, "attributes", "tree_"), "tree_ must be a Tree"),
    "other features": (put(7, "attributes", "n_features_in_"), "another number of features"),
    "no centre": (
        put(as_json(np.zeros((1, 4))), "attributes", "cluster_centers_"),
        "without a centre",
    ),
    "counts of another tree": (
        put(as_json(np.ones(99)), "attributes", "node_counts_"),
        "node_counts_ must be",
    ),
    "an unknown kind": (put({"pickle": "gAR9"}, "parameters", "init"), "unknown kind 'pickle'"),
    "half an array": (put("AAA=", "attributes", "labels_", "array", "data"), "buffer size"),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("saved") / "model.json"
    model_of("standardized").save(file)
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(BAD))
def test_a_file_that_is_no_model_raises(saved, name, tmp_path):
    change, sentence = BAD[name]
    data = json.loads(saved)
    change(data)
    (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match=sentence) as caught:
        load(tmp_path / "model.json")
    assert str(caught.value).startswith(f"{tmp_path / 'model.json'}: not a model")


def test_an_expansion_of_another_tree_raises(tmp_path):
    path = tmp_path / "model.json"
    greedy.ExKMC(3, max_leaves=5, random_state=0).fit(FRAME).save(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    put(3.0, "attributes", "_growth", "fields", "splits", 0, "fields", "threshold")(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(ValueError, match="not a model that can be used"):
        load(path)


def test_messages_name_the_version_that_wrote_a_file(saved, tmp_path):
    for version, sentence in (
        ("99.1", r" The file was written by tao_cluster 99\.1; this is "),
        (__version__, "reads version 1.$"),
    ):
        data = json.loads(saved) | {"version": 2, "written_by": {"tao_cluster": version}}
        (tmp_path / "model.json").write_text(json.dumps(data), encoding="utf-8")
        with pytest.raises(ValueError, match=sentence):
            load(tmp_path / "model.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", "NaN", '{"format": 1, "format": 2}'])
def test_a_file_that_is_not_json_raises(text, tmp_path):
    (tmp_path / "model.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="not a model"):
        load(tmp_path / "model.json")


# Rows and labels of other types, which determine the types of fitted attributes.
FITS = {
    "float32": lambda: TAOClustering(2, random_state=0).fit(FRAME.astype(np.float32)),
    "sparse": lambda: TAOClustering(2, random_state=0).fit(sp.csr_matrix(FRAME)),
    "equal rows": lambda: TAOClustering(1).fit(np.zeros((9, 2))),
    "huge": lambda: greedy.ExSingleLink(2).fit(FRAME.to_numpy() * 1e100),
    "one cluster": lambda: greedy.ExKMC(1).fit(FRAME),
    "no weight": lambda: greedy.IMM(2).fit(FRAME, sample_weight=LABELS),
    "blocks": lambda: outofcore.fit(greedy.IMM(2), [FRAME[::2], FRAME[1::2]], random_state=0),
    "output": lambda: greedy.IMM(2).set_output(transform="pandas").fit(FRAME),
    **{
        f"labels {kind}": lambda y=y: TAOClustering(objective="labels", lambda_=0.01).fit(FRAME, y)
        for kind, y in {
            "int": np.where(LABELS == 0, -1, LABELS),
            "float": np.where(LABELS == 0, np.nan, LABELS),
            "bool": LABELS > 0,
            "texts": np.where(LABELS == 0, None, NAMES),
        }.items()
    },
}


@pytest.mark.spaced(quick=0, slow=5)
@pytest.mark.parametrize("name", FITS)
def test_models_of_any_fit_can_be_loaded(name, tmp_path):
    """The checks of `load` accept the attributes of every kind of fit."""
    model = FITS[name]()
    model.save(tmp_path / "model.json")
    assert load(tmp_path / "model.json").tree_ == model.tree_
