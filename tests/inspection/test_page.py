"""The interactive page: its data are exact and small, and names cannot break it."""

import base64
import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from sight import DEFICIENCIES, oklab
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

from greedy import ExKMC
from tao_cluster import DirectForm, TAOClustering, Tree, tao_path
from tao_cluster.inspection.palette import (
    cluster_color,
    hex_color,
    luminance,
    text_color,
)
from tao_cluster.inspection.rows import Rows
from tao_cluster.page import to_frame, to_html


def data_of(page):
    """Return the data that the script of a page reads."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def doubles(text):
    return np.frombuffer(base64.b64decode(text), "<f8")


@pytest.fixture(scope="module")
def path(digits, digits_reference):
    return tao_path(
        digits,
        10,
        [0.5, 10],
        reference=digits_reference,
        algorithm=DirectForm(n_init=1),
        random_state=0,
    )


def test_a_page_is_a_string_that_notebooks_show(tmp_path):
    tree = Tree.single_leaf(0, 2)
    page = to_html(tree)
    assert isinstance(page, str)
    assert len(page) > 50_000
    assert len(repr(page)) < 100
    frame = page._repr_html_()
    assert frame == to_frame(tree)
    assert frame.startswith("<iframe ")
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == page
    assert to_html(tree, tmp_path / "tree.html") is None
    assert (tmp_path / "tree.html").read_text(encoding="utf-8") == page


@pytest.mark.slow
def test_page_needs_nothing_from_elsewhere(path, digits):
    page = to_html(path, X=digits, image_shape=(8, 8))
    assert re.findall(r"https?://[^\"\s]+", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<link|<img|@import|url\(|<script[^>]* src", page)


def test_tests_are_exact(path, digits):
    facts = data_of(to_html(path, X=digits, image_shape=(8, 8)))
    assert len(facts["models"]) == 2
    for model, shown in zip(path, facts["models"], strict=True):
        tree = model.tree_
        for node in tree.decision_nodes:
            found = shown["nodes"][node]
            order = np.argsort(found["features"])
            np.testing.assert_array_equal(np.array(found["features"])[order], tree.split(node)[0])
            np.testing.assert_array_equal(doubles(found["weights"])[order], tree.split(node)[1])
            assert found["threshold"] == tree.threshold[node]


def rows_of(facts):
    """Return the rows of a page, unpacked as by its script."""
    rows, n = facts["rows"], len(facts["names"])
    if "codes" in rows:
        codes = np.frombuffer(base64.b64decode(rows["codes"]), np.uint8).reshape(-1, n)
        return np.array(rows["levels"])[codes]
    dense = np.zeros((len(rows["ids"]), n))
    for row, (features, values) in zip(dense, rows["values"], strict=True):
        row[features] = doubles(values)
    return dense


@pytest.mark.parametrize(
    "form", ["levels", "dense", pytest.param("float32", marks=pytest.mark.slow), "csr"]
)
def test_rows_are_exact_and_every_leaf_has_one(digits, form):
    X = digits if form == "levels" else load_wine().data
    X = {"float32": lambda: X.astype(np.float32), "csr": lambda: sp.csr_matrix(X)}.get(
        form, lambda: X
    )()
    model = ExKMC(5, max_leaves=9, random_state=0).fit(X)
    facts = data_of(to_html(model, X=X))
    assert ("codes" in facts["rows"]) == (form == "levels")
    ids = np.array(facts["rows"]["ids"])
    assert np.all(np.diff(ids) > 0)
    dense = X.toarray() if sp.issparse(X) else X
    np.testing.assert_array_equal(rows_of(facts), dense[ids].astype(np.float64))
    assert set(model.apply(X)) == set(model.apply(X[ids]))


def test_leaves_show_what_pictures_show(path, digits):
    digits_y = load_digits().target
    tree = path[0].tree_
    weight = np.arange(len(digits)) % 3.0
    rows = Rows.from_data(tree, digits, digits_y, weight=weight)
    options = {"X": digits, "y": digits_y, "sample_weight": weight}
    facts = data_of(to_html(path[0], image_shape=(8, 8), **options))
    text = data_of(to_html(path[0], **options | {"X": sp.csr_matrix(digits)}))
    assert (facts["kind"], text["kind"]) == ("image", "words")
    low, high = facts["limits"]
    for leaf in tree.leaves:
        found = facts["models"][0]["nodes"][leaf]
        image = np.frombuffer(base64.b64decode(found["top"]["image"]), np.uint8)
        mean = np.average(digits, axis=0, weights=weight * (rows.leaf_of_row == leaf))
        np.testing.assert_allclose(low + image / 255 * (high - low), mean, atol=0.5 / 255 + 1e-12)
        share = np.bincount(digits_y, weight * (rows.leaf_of_row == leaf), 10)
        np.testing.assert_allclose(found["classes"], share / share.sum(), rtol=1e-3)
        words = text["models"][0]["nodes"][leaf]["top"]
        assert words["of"][0] == np.argmax(mean)
        assert words["values"] == sorted(words["values"], reverse=True)


def test_weight_two_is_the_row_twice(rng):
    X, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)
    weight = rng.integers(0, 3, size=60)
    tree = ExKMC(4, random_state=0).fit(X).tree_
    often = np.repeat(np.arange(60), weight)
    one = data_of(to_html(tree, X=X, y=y, sample_weight=weight))
    other = data_of(to_html(tree, X=X[often], y=y[often]))
    for a, b in zip(one["models"][0]["nodes"], other["models"][0]["nodes"], strict=True):
        assert a.get("classes") == b.get("classes")
        assert a["count"] == b["count"]
        if a.get("top"):
            np.testing.assert_allclose(a["top"]["values"], b["top"]["values"], rtol=2e-3)


def test_a_table_shows_deviations_in_spreads():
    wine = load_wine(as_frame=True)
    model = ExKMC(3, random_state=0).fit(wine.data)
    facts = data_of(to_html(model, X=wine.data))
    assert facts["kind"] == "bars"
    z = (wine.data - wine.data.mean()) / wine.data.std(ddof=0)
    for leaf in model.tree_.leaves:
        top = facts["models"][0]["nodes"][leaf]["top"]
        mean = z[model.apply(wine.data) == leaf].mean().to_numpy()
        np.testing.assert_allclose(top["values"], mean[top["of"]], rtol=1e-3)
        assert abs(top["values"][0]) == pytest.approx(np.abs(mean).max(), rel=1e-3)


def test_equal_rows_and_empty_leaves():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 2
    )
    facts = data_of(to_html(tree, X=np.zeros((1, 2)), image_shape=(1, 2)))
    assert "top" not in facts["models"][0]["nodes"][2]
    assert facts["models"][0]["nodes"][2]["count"] == 0
    facts = data_of(to_html(tree, X=np.ones((5, 2))))
    assert facts["models"][0]["nodes"][2]["top"]["values"] == [0.0, 0.0]


# ---------------------------------------------------------------- sizes


def test_page_of_a_large_tree_is_small(rng):
    tree = random_tree(rng, n_features=784, n_nodes=127, density=1.0)
    features = {i: tree.split(i)[0] for i in tree.decision_nodes}
    tree = tree.with_splits(
        {i: ((j, rng.normal(size=len(j))), tree.threshold[i]) for i, j in features.items()}
    )
    assert tree.n_leaves == 64
    X = rng.integers(0, 256, size=(300, 784)) / 255
    assert len(to_html(tree, X=X, y=np.arange(300) % 10, image_shape=(28, 28))) < 2_000_000


@pytest.mark.slow
def test_page_of_a_wide_vocabulary_has_the_words_it_needs(rng):
    words = [f"word{j}" for j in range(30_000)]
    X = sp.random(400, 30_000, 0.003, "csr", random_state=0)
    tree = random_tree(rng, n_features=30_000, n_nodes=127, density=0.001)
    page = to_html(tree, X=X, feature_names=words)
    assert len(page) < 400_000
    facts = data_of(page)
    assert facts["kind"] == "words"
    assert facts["names"] == [words[j] for j in facts["features"]]
    assert set(tree.used_features) <= set(facts["features"])
    for node in tree.decision_nodes:
        found = facts["models"][0]["nodes"][node]["features"]
        assert sorted(facts["features"][j] for j in found) == tree.split(node)[0].tolist()
    for leaf in tree.leaves:
        top = facts["models"][0]["nodes"][leaf].get("top", {"of": []})
        mean = np.asarray(X[tree.apply(X) == leaf].mean(axis=0)).ravel() if top["of"] else []
        values = [mean[facts["features"][j]] for j in top["of"]]
        assert values == pytest.approx(np.sort(mean)[::-1][: len(values)].tolist())


# ---------------------------------------------------------------- safety and style


def test_names_cannot_break_out_of_the_page():
    names = ["</script><script>alert(1)</script>", "a & <b>"]
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 1], [1.0, 2.0]), None, None], [0, 0, 0], [-1, 0, 1], 2
    )
    page = to_html(tree, feature_names=names, title='<i>"$x')
    assert data_of(page)["names"] == names
    assert page.count("<script") == 2
    assert "<i>" not in page
    assert 'label="&lt;i&gt;&quot;$x"' in page
    assert "<script" not in to_frame(tree, feature_names=names)


def test_edges_are_labelled_with_the_condition_of_the_test():
    signs = {}
    for weight in (1.0, -1.0):
        tree = Tree.from_splits(
            [1, -1, -1], [2, -1, -1], [([0], [weight]), None, None], [2, 0, 0], [-1, 0, 1], 1
        )
        test = data_of(to_html(tree, feature_names=["width"]))["models"][0]["nodes"][0]["test"]
        signs[weight] = test["lines"][1][0], *test["signs"]
    assert signs == {1.0: ("≤", "≤", ">"), -1.0: ("≥", "≥", "<")}


def test_bad_input():
    tree = Tree.single_leaf(0, 6)
    with pytest.raises(ValueError, match="models is empty"):
        to_html([])
    with pytest.raises(ValueError, match=r"\(2, 2\) does not hold 6"):
        to_html(tree, image_shape=(2, 2))
    with pytest.raises(ValueError, match="names for 5 features"):
        to_html([tree, Tree.single_leaf(0, 5)])
    with pytest.raises(ValueError, match="y needs X"):
        to_html(tree, y=[0])
    with pytest.raises(ValueError, match="y has shape"):
        to_html(tree, X=np.zeros((2, 6)), y=[0])
    with pytest.raises(ValueError, match="2 class names for 1 classes"):
        to_html(tree, X=np.zeros((2, 6)), y=[0, 0], class_names=["a", "b"])


def test_a_page_is_written_or_returned(path, tmp_path):
    model, file = path[0], tmp_path / "tree.html"
    page = model.to_html()
    for one in (model, model.tree_):
        assert one.to_html(file) is None
        assert file.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    model.to_html(file)
    assert file.read_text(encoding="utf-8") == page


def test_notebooks_show_the_tree_once_there_is_one(path):
    model = path[0]
    shown = model._repr_mimebundle_()["text/html"]
    assert 'sandbox="allow-scripts"' in shown
    assert "srcdoc" not in clone(model)._repr_mimebundle_()["text/html"]
    assert "srcdoc" in model.tree_._repr_html_()


@pytest.mark.slow
def test_the_script_is_plain_and_in_small_files():
    from importlib.resources import files

    node = shutil.which("node")
    folder = files("tao_cluster.page").joinpath("js")
    page = to_html(Tree.single_leaf(0, 1))
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8")
        assert text.startswith("// ")
        assert len(text.splitlines()) <= 400
        assert text in page, f"{file.name} is in no page"
        if node is not None:
            subprocess.run([node, "--check", str(file)], check=True)  # noqa: S603


# ---------------------------------------------------------------- colours


def test_ten_colours_are_distinct_with_every_kind_of_vision():
    colors = np.array([cluster_color(label) for label in range(10)])
    for sight, least in ((None, 0.19), *((name, 0.13) for name in DEFICIENCIES)):
        places = oklab(colors, sight)
        distances = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(10)
        assert distances.min() > least, sight


def test_names_are_read_on_every_colour():
    for label in range(64):
        color = cluster_color(label)
        ink = {"white": 1.0, "black": 0.0}[text_color(color)]
        dark, light = sorted([luminance(color), ink])
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_page_has_the_colours_of_the_pictures():
    clusters = data_of(to_html(TAOClustering(3, random_state=0).fit(load_wine().data)))["models"][0]
    expected = [hex_color(cluster_color(k)) for k in range(3)]
    assert [part["color"] for part in clusters["clusters"]] == expected
