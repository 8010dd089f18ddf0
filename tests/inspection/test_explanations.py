"""Explanations say what the tree did with a row, and what leads to a cluster."""

import json
import re
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedy import IMM
from tao_cluster import DirectForm, TAOClustering, Tree
from tao_cluster.explanations import explain
from tao_cluster.export import Indicator


@pytest.fixture(scope="module")
def model():
    return TAOClustering(3, lambda_=0.3, depth=3, random_state=0).fit(load_iris().data)


@pytest.fixture
def stairs():
    """Cluster 0: a <= 1; cluster 1: 1 < a <= 3; cluster 2: a > 3, or never by -b > 0."""
    return Tree.from_splits(
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [([0], [1.0]), ([0], [2.0]), ([0, 1], [1.0, -3.0]), None, None, None, None],
        [3.0, 2.0, 5.0, 0, 0, 0, 0],
        [-1, -1, -1, 0, 1, 2, 2],
        n_features=2,
    )


def test_path_of_every_row(model):
    X = load_iris().data
    tree = model.tree_
    leaves = model.apply(X)
    visited = model.decision_path(X)
    for i in range(0, len(X), 7):
        why = model.explain(X[i])
        assert why.leaf == leaves[i]
        assert why.cluster == model.labels_[i]
        assert [*(test.node for test in why.tests), why.leaf] == visited[[i]].indices.tolist()
        for test, child in zip(why.tests, visited[[i]].indices[1:], strict=True):
            children = tree.children_left if test.side == "left" else tree.children_right
            assert children[test.node] == child
            assert (test.margin > 0) == (test.side == "right")
            products = [term.product for term in test.contributions]
            np.testing.assert_allclose(sum(products), test.total)
            assert products == sorted(products, key=abs, reverse=True)


@pytest.mark.parametrize("density", [0, 0.5, 1])
def test_rows_of_every_kind(density):
    rng = np.random.default_rng(0)
    tree = random_tree(rng, density=density)
    x = rng.integers(-2, 3, tree.n_features)
    expected = explain(tree, x.astype(float))
    for row in (
        x,
        x.tolist(),
        [x.tolist()],
        x.astype(np.float32),
        sp.csr_matrix(x),
        sp.csc_array(x[None].astype(float)),
        sp.coo_array(x.astype(float)),
    ):
        assert explain(tree, row) == expected


def test_rows_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    data = load_iris(as_frame=True).data
    model = IMM(3, random_state=0).fit(data)
    why = model.explain(data.iloc[[60]])
    assert isinstance(data, pandas.DataFrame)
    assert why == model.explain(data.iloc[60]) == model.explain(data.to_numpy()[60])
    assert why.tests[0].contributions[0].name in data.columns
    with pytest.raises(ValueError, match="feature names"):
        model.explain(data.iloc[[60]].rename(columns=str.upper))


def test_text_of_a_path(stairs):
    assert str(explain(stairs, [4.0, 0.5], ["a", "b"])).splitlines() == [
        "a = 4 > 3 -> right",
        "a (4) + -3*b (-1.5) = 2.5 <= 5 -> left",
        "cluster 2 (leaf 5)",
    ]
    assert str(explain(stairs, [0.0, 0.5])).splitlines()[0] == "x0 = 0 <= 3 -> left"
    wide = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [(range(12), np.ones(12)), None, None], [0, 0, 0], [-1, 0, 1], 12
    )
    assert "x7 (1) + 4 more features (3) = 11 > 0" in str(
        explain(wide, [1.0] * 8 + [0.0] + [1.0] * 3)
    )


def words(n_rows=60, n_words=30, seed=0):
    """Sparse rows, each with a few words, and a tree of random tests of many of them."""
    rng = np.random.default_rng(seed)
    X = sp.random(n_rows, n_words, 0.2, "csr", rng=rng, data_rvs=lambda n: rng.gamma(1, 0.3, n))
    weights = rng.normal(size=(3, n_words)) * 10.0 ** rng.integers(-2, 2, (3, n_words))
    tree = Tree.from_splits(
        [1, 3, 5, -1, -1, -1, -1],
        [2, 4, 6, -1, -1, -1, -1],
        [*[(range(n_words), w) for w in weights], None, None, None, None],
        [*np.median(X @ weights.T, axis=0), 0, 0, 0, 0],
        [-1, -1, -1, 0, 1, 2, 3],
        n_words,
    )
    return tree, X


def standardised():
    X = StandardScaler().fit_transform(load_wine().data)
    return TAOClustering(3, lambda_=3, random_state=0).fit(X), X


def pixels():
    X = load_digits().data[::4]
    return TAOClustering(
        10, lambda_=30, depth=4, algorithm=DirectForm(n_init=1), random_state=0
    ).fit(X), X


@pytest.mark.slow
@pytest.mark.parametrize("make", [words, standardised, pixels])
def test_what_is_shown_adds_up(make):
    """Exactly, and within a unit of the last decimal of what each number stands for."""
    model, X = make()
    n_sums = 0
    for i in range(X.shape[0]):
        why = explain(model, X[[i]])
        for test, line in zip(why.tests, str(why).splitlines(), strict=False):
            left, compare, limit, arrow, side = line.partition(" (cut ")[0].rsplit(" ", 4)
            assert (arrow, side) == ("->", test.side)
            terms, _, total = left.rpartition(" = ")
            assert eval(f"{total} {compare} {limit}")  # noqa: S307
            if len(test.contributions) == 1:
                continue
            n_sums += 1
            shown = re.findall(r"\(([^()]*)\)(?: \+|$)", terms)
            assert sum(map(Decimal, shown)) == Decimal(total)
            decimals = max(len(number.partition(".")[2]) for number in (*shown, total, limit))
            for number, term in zip(shown, test.contributions[:8], strict=False):
                assert abs(float(number) - term.product) <= 1.0001 * 10.0**-decimals
            assert len(shown) == min(9, len(test.contributions))
            data = test.contributions
            assert sum(term.product for term in data) == pytest.approx(test.total)
            assert ("more" in terms) == (len(data) > 8)
    assert n_sums > 20
    data = explain(model, X[[0]]).to_dict()["tests"]
    for test in data:
        products = [term["product"] for term in test["contributions"]]
        assert sum(products) == pytest.approx(test["total"])
        assert test["margin"] == test["total"] - test["threshold"]


def test_absence_is_a_reason():
    tree = Tree.from_splits(
        [1, -1, -1],
        [2, -1, -1],
        [([0, 1, 2], [1.0, 2.0, -0.5]), None, None],
        [0.1, 0, 0],
        [-1, 0, 1],
        3,
    )
    names = ["graphics", "windows", "god"]
    assert str(explain(tree, [0, 0, 0], names)).startswith(
        "2*windows (0) + graphics (0) + -0.5*god (0) = 0 <= 0.1 -> left"
    )
    # By effect where rows are known; what adds something comes first.
    X = np.array([[5.0, 0, 1], [0, 1, 0], [0, 0, 0], [0, 0, 3]])
    model = IMM(2, random_state=0).fit(X)
    model.tree_ = tree
    visited = tree.decision_path(X).toarray().astype(bool)
    stds = [X[visited[:, i]][:, tree.split(i)[0]].std(axis=0) for i in tree.decision_nodes]
    model.split_stds_ = np.concatenate(stds)
    assert str(explain(model, [0, 0, 2], names)).startswith(
        "-0.5*god (-1) + graphics (0) + 2*windows (0) = -1 <= 0.1 -> left"
    )
    spread = X.std(axis=0)
    scaled = explain(model, [0, 0, 2], names, scaled=True)
    factors = [f"{weight:.3g}" for weight in (-0.5 * spread[2], spread[0])]
    assert str(scaled).startswith(
        f"{factors[0]}*god/sd (-1) + {factors[1]}*graphics/sd (0)"  # what the sum really is
    )
    with pytest.raises(ValueError, match="scaled=True multiplies weights by the standard"):
        explain(tree, [0, 0, 2], names, scaled=True)


def test_one_feature_is_a_value_and_its_bound():
    tree = Tree.from_splits(
        [1, 3, -1, -1, -1],
        [2, 4, -1, -1, -1],
        [([0], [-0.5]), ([1], [1.0]), None, None, None],
        [-478.5, 0.0, 0, 0, 0],
        [-1, -1, 0, 1, 2],
        2,
    )
    names = ["proline", Indicator("plan", "gold")]
    assert str(explain(tree, [1050, 1], names)).splitlines() == [
        "proline = 1050 >= 957 -> left",
        "plan is gold -> right",
        "cluster 2 (leaf 4)",
    ]
    assert "plan is not gold -> left" in str(explain(tree, [957, 0], names))
    assert "[plan is gold] = 0.5 > 0 -> right" in str(explain(tree, [957, 0.5], names))
    assert "proline = 956.99999 < 957 -> right" in str(explain(tree, [956.99999, 0], names))


def test_dicts_are_json(model, stairs):
    why = explain(stairs, [4.0, 0.5], ["a", "b"])
    data = json.loads(json.dumps(why.to_dict()))
    assert data["cluster"] == 2
    assert data["tests"][1]["margin"] == -2.5
    assert data["tests"][1]["side"] == "left"
    assert data["tests"][1]["contributions"][1] == {
        "feature": 1,
        "name": "b",
        "weight": -3.0,
        "spread": None,
        "shown": -3.0,
        "value": 0.5,
        "product": -1.5,
    }


def test_bad_rows(model, stairs):
    for rows in (3.0, np.ones((1, 1, 2)), np.ones((0, 2))):
        with pytest.raises(ValueError, match="a row or a table of rows, got data of shape"):
            explain(stairs, rows)
    for x in ([1.0], sp.csr_matrix([[1.0, 0, 0]])):
        with pytest.raises(ValueError, match=r"X has \d features, but this tree expects 2"):
            explain(stairs, x)
    with pytest.raises(ValueError, match="NaN"):
        explain(stairs, [np.nan, 1.0])
    with pytest.raises(ValueError, match="1 feature names for 4 features"):
        model.explain([1.0, 2, 3, 4], ["a"])
    with pytest.raises(NotFittedError):
        TAOClustering(3).explain([1.0])


NAMES = ["sepal", "petal", "depth", "height"]


@pytest.mark.slow
def test_named_values_are_taken_by_name():
    pandas = pytest.importorskip("pandas", reason="pandas is optional")
    X = load_iris().data
    table = pandas.DataFrame(X, columns=NAMES)
    fitted = IMM(3, random_state=0).fit(table)
    pipeline = make_pipeline(StandardScaler(), IMM(3, random_state=0)).fit(table)
    cases = [
        (fitted, None, fitted.apply(table)),
        (fitted.tree_, NAMES, fitted.apply(table)),
        (pipeline, None, pipeline[-1].apply(pipeline[:-1].transform(table))),
    ]
    for model, names, leaves in cases:
        for i in range(0, len(X), 7):
            backwards = table.iloc[i][::-1]
            for row in (backwards, backwards.to_dict(), X[i]):
                assert explain(model, row, names).leaf == leaves[i]
        for row in (backwards.drop("petal"), backwards.drop("petal").to_dict()):
            with pytest.raises(ValueError, match=r"^The row has no value of 'petal'\.$"):
                explain(model, row, names)


def test_contributions_are_pixels_over_the_image():
    """Red, blue and grey: the products, the tested pixels of value 0, and the image."""
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 1, 3], [2.0, -3.0, 1.0]), None, None], [-1, 0, 0],
        [-1, 0, 1], 4,
    )  # fmt: skip
    row = np.array([0.5, 1.0, 0.25, 0.0])
    for x in (row, sp.csr_matrix(row[None])):
        _, sums = explain(tree, x).plot(image_shape=(2, 2)).axes
        pixels = sums.figure.axes[0]
        image, products = (shown.get_array() for shown in pixels.images)
        np.testing.assert_array_equal(image, row.reshape(2, 2))
        np.testing.assert_array_equal(products.filled(0), [[1.0, -3.0], [0.0, 0.0]])
        (crosses,) = pixels.lines
        assert (crosses.get_xdata(), crosses.get_ydata()) == ([1], [1])
        minus = "\N{MINUS SIGN}"
        names = [label.get_text() for label in sums.get_yticklabels()]
        assert names == ["1 red pixel = 1", f"1 blue pixel = {minus}3", "sum"]
        assert [bar.get_width() for bar in sums.patches] == [1.0, -3.0, -2.0]
        assert "1 tested pixel is 0" in sums.get_xlabel()
    with pytest.raises(ValueError, match=r"image_shape \(3, 2\) does not hold 4 features"):
        explain(tree, row).plot(image_shape=(3, 2))
    assert len(explain(Tree.single_leaf(0, 4), row).plot(image_shape=(2, 2)).axes) == 2
    assert explain(tree, row) == explain(tree, row)
