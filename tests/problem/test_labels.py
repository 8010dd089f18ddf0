"""Given labels: which rows have one, the cost of a tree, the names that users get back."""

import enum
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from conftest import small
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import accuracy_score
from sklearn.tree import DecisionTreeClassifier

from tao_cluster import DirectForm, Tree, knee, load, tao_path
from tao_cluster.objectives import Labels, encode

IRIS = load_iris()
NAMES = IRIS.target_names[IRIS.target]


def explained(**options):
    return small(objective="labels", **{"lambda_": "auto", **options})


def test_codes_of_labels():
    for y, codes, classes in (
        ([3, 1, -1, 3], [1, 0, -1, 1], [1, 3]),
        ([0.5, np.nan, 0.25], [1, -1, 0], [0.25, 0.5]),
        (np.array(["b", None, "a", np.nan, -1], dtype=object), [1, -1, 0, -1, -1], ["a", "b"]),
        ([True, False], [1, 0], [False, True]),
        ([], [], []),
    ):
        found, names = encode(y)
        np.testing.assert_array_equal(found, codes)
        np.testing.assert_array_equal(names, classes)
    np.testing.assert_array_equal(encode(["b", "x", "a"], np.array(["a", "b"]))[0], [1, 2, 0])


N = len(IRIS.data)
OF_IRIS = {"numbers": IRIS.target, "halves": IRIS.target / 2, "flags": IRIS.target > 0}


def containers(values):
    """Yield the same labels, of which the first is missing, in the containers that users have."""
    first, *rest = values.tolist()
    del first
    dtype = {"i": "Int64", "f": "Float64", "b": "boolean", "U": "string"}[values.dtype.kind]
    arrow = pa.array([None, *rest])
    yield [None, *rest]
    yield np.array([None, *rest], dtype=object)
    yield pd.array([None, *rest], dtype=dtype)
    yield pd.Series([None, *rest], dtype=dtype, index=np.arange(N)[::-1])
    yield pd.DataFrame({"y": pd.array([None, *rest], dtype=dtype)})
    yield pd.Series(pd.Categorical([None, *rest]))
    yield pd.Series([None, *rest], dtype=pd.ArrowDtype(arrow.type))
    yield arrow
    yield pa.chunked_array([arrow[:7], arrow[7:]])
    yield pa.table({"y": arrow})
    yield [[label] for label in (None, *rest)]


@pytest.mark.spaced(quick=0, slow=2)
@pytest.mark.parametrize("values", [*OF_IRIS.values(), NAMES], ids=[*OF_IRIS, "names"])
def test_labels_in_any_container_are_those_of_a_list(values, tmp_path):
    """The labels keep their type, a missing one is no label, and a loaded model returns them."""
    trees = set()
    for y in containers(values):
        model = explained(lambda_=0.1).fit(IRIS.data, y)
        trees.add(model.tree_.to_json())
        assert model.classes_.dtype == values.dtype
        np.testing.assert_array_equal(model.classes_, np.unique(values))
        assert model.free_labels_[0] == (-1 if values.dtype.kind in "if" else None)
        np.testing.assert_array_equal(model.free_labels_[1:], values[1:])
        assert model.score(IRIS.data, y) == -model.inertia_
        model.save(tmp_path / "model.json")
        loaded = load(tmp_path / "model.json")
        assert loaded.predict(IRIS.data).dtype == model.labels_.dtype
        np.testing.assert_array_equal(loaded.predict(IRIS.data), model.labels_)
        assert loaded.to_text() == model.to_text()
    assert len(trees) == 1


class Color(enum.Enum):
    RED, GREEN, BLUE = range(3)


OTHERS = {
    **{f"{kind.__name__}": IRIS.target.astype(kind) for kind in (np.float16, np.int8, np.uint64)},
    "long double": IRIS.target.astype(np.longdouble),
    "big integers": [10**30 + int(label) for label in IRIS.target],
    "intervals": pd.cut(IRIS.data[:, 0], 3),
    "bytes": NAMES.astype("S"),
    "times": pd.to_datetime(IRIS.target, unit="D"),
    "periods": pd.PeriodIndex(pd.to_datetime(IRIS.target, unit="D"), freq="D"),
    "tuples": [(int(label), "a") for label in IRIS.target],
    "two columns": pd.DataFrame({"a": NAMES, "b": NAMES}),
    "enum": [Color(label) for label in IRIS.target],
    "mixed": [label or "none" for label in IRIS.target.tolist()],
    "complex": IRIS.target + 1j,
    "records": np.array([(label,) for label in IRIS.target], dtype=[("a", "i4")]),
    "nothing": [None] * N,
}
if hasattr(np.dtypes, "StringDType"):  # since numpy 2
    OTHERS["strings of any length"] = NAMES.astype(np.dtypes.StringDType())


@pytest.mark.parametrize("kind", OTHERS)
def test_labels_of_any_other_kind_raise_in_fit_or_can_be_saved(kind, tmp_path):
    y = OTHERS[kind]
    try:
        model = explained(lambda_=0.1).fit(IRIS.data, y)
    except ValueError as error:
        message = str(error)
        assert message.startswith(("y ", "Complex data not supported: y "))
        assert len(message) < 250
    else:
        assert model.score(IRIS.data, y) == -model.inertia_
        model.save(tmp_path / "model.json")
        found = load(tmp_path / "model.json").predict(IRIS.data)
        assert found.dtype == model.labels_.dtype
        np.testing.assert_array_equal(found, model.labels_)
        assert np.mean(model.labels_ == np.asarray(y)) > 0.9


@pytest.mark.parametrize(
    ("kind", "remedy"),
    {
        "intervals": r"of type Interval; convert them to strings, for example with y.astype\(str\)",
        "bytes": r"y.astype\(str\)",
        "enum": r"\[str\(label\) for label in y\]",
        "mixed": r"mix strings with other values; convert all of them to strings",
        "times": r"convert them to strings",
        "tuples": r"one label per row, got data of shape \(150, 2\); join",
    }.items(),
)
def test_labels_that_cannot_be_explained_raise_with_a_remedy(kind, remedy):
    with pytest.raises(ValueError, match=remedy):
        explained().fit(IRIS.data, OTHERS[kind])


def test_new_labels_have_the_type_of_the_fit_or_raise():
    model = explained(lambda_=0.1).fit(IRIS.data, NAMES)
    with pytest.raises(ValueError, match="another type than the labels of the fit"):
        model.score(IRIS.data, IRIS.target)
    assert model.cost_increase(IRIS.data, y=np.full(N, "lily")) == 100  # unknown to the tree
    with pytest.raises(ValueError, match="one label per row"):
        model.score(IRIS.data, np.zeros((N, 2)))


def test_objective_is_the_weight_that_disagrees(rng):
    codes, weight = rng.integers(-1, 4, 60), rng.random(60)
    objective = Labels()
    data, centers = objective.prepare(codes[:, None].astype(float)), objective.reference(4, 0)
    expected = np.array([[float(c not in (-1, k)) for k in range(4)] for c in codes])
    np.testing.assert_array_equal(objective.distances(data, centers), expected)
    labels = rng.integers(0, 4, 60)
    cost = sum(w for w, c, z in zip(weight, codes, labels, strict=True) if c not in (-1, z))
    assert objective.value(data, labels, weight, centers) == pytest.approx(cost)


@pytest.mark.slow
@pytest.mark.parametrize("split", ["oblique", "axis"])
def test_users_get_their_own_labels_back(split):
    model = explained(split=split).fit(IRIS.data, NAMES)
    assert set(model.classes_) == set(IRIS.target_names)
    np.testing.assert_array_equal(model.predict(IRIS.data), model.labels_)
    wrong = np.mean(model.labels_ != NAMES)
    assert model.cost_increase_ == pytest.approx(100 * wrong)
    assert model.inertia_ == 150 * wrong == -model.score(IRIS.data, NAMES)
    assert model.cost_increase(IRIS.data, y=NAMES) == pytest.approx(100 * wrong)
    assert wrong < 0.05
    np.testing.assert_array_equal(model.free_labels_, NAMES)
    np.testing.assert_allclose(
        model.free_centers_, [IRIS.data[name == NAMES].mean(axis=0) for name in model.classes_]
    )
    assert model.transform(IRIS.data).shape == (150, 3)
    # Numbers instead of names: the same tree.
    numbers = explained(split=split).fit(IRIS.data, IRIS.target)
    assert numbers.tree_ == model.tree_
    assert explained(split=split).fit_predict(IRIS.data, NAMES)[0] == "setosa"


@pytest.mark.slow
def test_noise_does_not_count():
    noisy = IRIS.target.copy()
    noisy[::7] = -1
    model = explained().fit(IRIS.data, noisy)
    without = explained().fit(IRIS.data[noisy >= 0], IRIS.target[noisy >= 0])
    assert model.tree_ == without.tree_
    assert model.cost_increase_ == without.cost_increase_
    assert model.cost_increase(IRIS.data, y=noisy) == pytest.approx(model.cost_increase_)
    np.testing.assert_array_equal(model.free_labels_, noisy)
    assert set(model.labels_) <= {0, 1, 2}  # the tree has an answer for noise, too
    named = np.where(noisy < 0, None, NAMES)
    assert explained().fit(IRIS.data, named).tree_ == model.tree_
    assert all(name is None for name in explained().fit(IRIS.data, named).free_labels_[::7])


@pytest.mark.slow
def test_sparse_rows_paths_goals_and_standardised_columns():
    X, y = load_digits().data[::3], load_digits().target[::3]
    dense = explained(depth=5, lambda_=2.0).fit(X, y)
    sparse = explained(depth=5, lambda_=2.0).fit(sp.csr_matrix(X), y)
    assert sparse.cost_increase_ == pytest.approx(dense.cost_increase_, abs=2)
    models = tao_path(
        X, depth=5, objective="labels", y=y, random_state=0, algorithm=DirectForm(n_init=1)
    )
    # Costs along lambda can fall a little, because the passes also count noisy copies of the rows.
    assert knee(models).cost_increase_ < models[-1].cost_increase_
    assert models[0].cost_increase_ <= knee(models).cost_increase_ + 0.5
    goal = explained(depth=5, lambda_="auto", max_parameters=100, standardize=True).fit(X, y)
    assert goal.tree_.n_parameters <= 100
    np.testing.assert_array_equal(goal.labels_, goal.predict(X))


@pytest.mark.slow
def test_axis_aligned_trees_are_no_worse_than_the_cart_they_start_from():
    X, y = load_digits().data, load_digits().target
    for n_leaves in (10, 40):
        cart = DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(X, y)
        model = explained(split="axis", max_leaves=n_leaves).fit(X, y)
        assert model.tree_.n_leaves <= n_leaves
        assert accuracy_score(y, model.labels_) >= cart.score(X, y)


def test_what_is_wrong_gets_a_sentence():
    X = IRIS.data
    for arguments, options, sentence in (
        ((X,), {}, "give them as y"),
        ((X, NAMES[:9]), {}, "9 entries, but X has 150"),
        ((X, np.full(150, -1)), {}, "every row of positive weight is noise"),
        ((X, NAMES), {"reference": X[:3]}, "explains the labels y"),
    ):
        with pytest.raises(ValueError, match=sentence):
            explained(**options).fit(*arguments)
    with pytest.raises(ValueError, match="explains the labels y"):
        explained().fit(X, NAMES, embedding=X)


@pytest.mark.slow
def test_degenerate_labels():
    X = IRIS.data
    one = explained().fit(X, ["only"] * 150)
    assert one.tree_ == Tree.single_leaf(0, 4)
    assert one.cost_increase_ == 0
    assert list(one.predict(X[:1])) == ["only"]
    with pytest.raises(ValueError, match="None of the rows has a label"):
        explained().fit(X, NAMES).cost_increase(X, y=[None] * 150)
    # A label that only rows of weight 0 have is none.
    weight = (IRIS.target != 1).astype(float)
    model = explained().fit(X, NAMES, sample_weight=weight)
    assert list(model.classes_) == ["setosa", "virginica"]
    assert model.cost_increase(X[:1], y=["other"]) == 100
    for a, b in itertools.pairwise([explained().fit(X, NAMES) for _ in range(2)]):
        assert a.tree_ == b.tree_
