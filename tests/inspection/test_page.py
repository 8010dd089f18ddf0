"""The interactive page: its data are exact and small, and names cannot break it."""

import base64
import html
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from matplotlib.colors import to_hex
from sight import DEFICIENCIES, luminance, oklab
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine

from greedy import ExKMC
from tao_cluster import DirectForm, TAOClustering, Tree, describe, monitor, refit, tao_path
from tao_cluster.columns import Indicator
from tao_cluster.objectives.trimmed import Trimmed
from tao_cluster.page import to_frame, to_html
from tao_cluster.plot import cluster_color, plot_tree
from tao_cluster.report import cluster_names


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_leaves_show_what_pictures_show(path, digits):
    digits_y = load_digits().target
    tree = path[0].tree_
    weight = np.arange(len(digits)) % 3.0
    leaf_of_row = tree.apply(digits)
    options = {"X": digits, "y": digits_y, "sample_weight": weight}
    facts = data_of(to_html(path[0], image_shape=(8, 8), **options))
    text = data_of(to_html(path[0], **options | {"X": sp.csr_matrix(digits)}))
    assert (facts["kind"], text["kind"]) == ("image", "words")
    low, high = facts["limits"]
    for leaf in tree.leaves:
        found = facts["models"][0]["nodes"][leaf]
        image = np.frombuffer(base64.b64decode(found["top"]["image"]), np.uint8)
        mean = np.average(digits, axis=0, weights=weight * (leaf_of_row == leaf))
        np.testing.assert_allclose(low + image / 255 * (high - low), mean, atol=0.5 / 255 + 1e-12)
        share = np.bincount(digits_y, weight * (leaf_of_row == leaf), 10)
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


# ---------------------------------------------------------------- samples at tests


def sample_of(node):
    """Return the values on the axes and the clusters of the sample of a test."""
    sample = node["sample"]
    axes = [
        axis["low"] + np.frombuffer(base64.b64decode(axis["values"]), "<f4")
        for axis in sample["axes"]
    ]
    return np.array(axes), np.frombuffer(base64.b64decode(sample["clusters"]), "<u2")


@pytest.mark.parametrize("n_terms", [1, 2, 4])
def test_samples_are_the_rows_of_the_node(rng, n_terms):
    X = rng.normal(size=(200, 4)) * 10.0 ** rng.integers(-3, 6, 4)
    terms = range(n_terms), rng.normal(size=n_terms) / X.std(axis=0)[:n_terms]
    splits = [terms, ([0], [-1.0]), None, None, None]
    children = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    tree = Tree.from_splits(*children, splits, [0.1, 0.0, 0, 0, 0], [-1, -1, 2, 0, 1], 4)
    facts = data_of(to_html(tree, X=X))
    for node in (0, 1):
        here = tree.path_matrix[:, [node]].toarray().ravel()[tree.apply(X)] > 0
        indices, weights = tree.split(node)
        goes_left = X[here][:, indices] @ weights <= tree.threshold[node]
        shown = facts["models"][0]["nodes"][node]
        axes, clusters = sample_of(shown)
        assert shown["sample"]["n"] == here.sum() == len(clusters)
        assert shown["sample"]["n_left"] == goes_left.sum()
        assert np.bincount(clusters).tolist() == np.bincount(tree.predict(X[here])).tolist()
        expected = [X[here] @ np.bincount(indices, weights, 4)]
        if len(indices) <= 2:
            expected = [X[here, j] for j in shown["features"]]
        for axis, values in zip(axes, expected, strict=True):
            close = {"rtol": 1e-6, "atol": 1e-6 * np.ptp(values)}
            np.testing.assert_allclose(np.sort(axis), np.sort(values), **close)


def test_samples_follow_the_weights_and_the_sides(rng):
    X = rng.normal(size=(2000, 1))
    weight = np.where(X[:, 0] > 1, 0.0, np.where(X[:, 0] > 0.5, 5.0, 1.0))
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 1
    )
    node = data_of(to_html(tree, X=X, sample_weight=weight))["models"][0]["nodes"][0]
    (values,), clusters = sample_of(node)
    assert len(values) == 300
    assert values.max() <= 1
    assert np.all(clusters == (values > 0.5))
    share = weight[X[:, 0] > 0.5].sum() / weight.sum()
    assert np.mean(values > 0.5) == pytest.approx(share, abs=1 / 300 + 1e-9)
    assert node["sample"]["n_left"] == np.sum(values <= 0.5)


def test_samples_of_levels_know_which_levels_go_left():
    names = [Indicator("island", level) for level in ("Biscoe", "Dream", "Torgersen")]
    X = np.eye(3)[np.arange(30) % 3]
    X[0] = 0  # a level without a feature
    for weight, threshold in ((1.0, 0.5), (-1.0, -0.5)):
        tree = Tree.from_splits(
            [1, -1, -1],
            [2, -1, -1],
            [([1], [weight]), None, None],
            [threshold, 0, 0],
            [-1, 0, 1],
            3,
        )
        sample = data_of(to_html(tree, X=X, feature_names=names))["models"][0]["nodes"][0]
        (codes,), clusters = sample_of(sample)
        assert np.all(np.isin(codes, sample["sample"]["left"]) == (clusters == 0))
        assert np.bincount(codes.astype(int) + 1).tolist() == [1, 9, 10, 10]


@pytest.mark.slow
def test_samples_of_many_tests_are_small(rng):
    tree = random_tree(rng, n_features=5, n_nodes=1001, density=0.5)
    X = rng.normal(size=(5000, 5))
    size = [len(to_html([tree] * n, X=X)) for n in (1, 2)]
    nodes = data_of(to_html(tree, X=X))["models"][0]["nodes"]
    samples = [node["sample"] for node in nodes if "sample" in node]
    assert max(len(sample_of(node)[1]) for node in nodes if "sample" in node) == 36
    assert len(json.dumps(samples)) < 400_000
    assert size[1] < 2 * size[0]


# ---------------------------------------------------------------- sizes


@pytest.mark.slow
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
    with pytest.raises(ValueError, match="y has 1 entries"):
        to_html(tree, X=np.zeros((2, 6)), y=[0])
    with pytest.raises(ValueError, match="2 class names for 1 classes"):
        to_html(tree, X=np.zeros((2, 6)), y=[0, 0], class_names=["a", "b"])


def test_notebooks_show_the_tree_once_there_is_one(path):
    model = path[0]
    shown = model._repr_mimebundle_()["text/html"]
    assert 'sandbox="allow-scripts"' in shown
    assert "srcdoc" not in clone(model)._repr_mimebundle_()["text/html"]
    assert "srcdoc" in model.tree_._repr_html_()


def test_the_title_is_the_name_of_the_data():
    table = load_wine(as_frame=True).data
    model = ExKMC(3, random_state=0).fit(table)
    titles = {}
    for name, options in (("default", {}), ("given", {"title": "Barolo"})):
        titles[name] = re.search("<title>(.*)</title>", to_html(model, X=table, **options))[1]
    table.attrs["name"] = "wines of three growers"
    titles["named"] = re.search("<title>(.*)</title>", to_html(model, X=table))[1]
    wanted = "Tree of 3 clusters", "Barolo", "wines of three growers"
    assert tuple(titles.values()) == wanted


def test_browsers_restore_nothing_and_images_need_no_canvas():
    page = to_html(Tree.single_leaf(0, 4), X=np.ones((2, 4)), image_shape=(2, 2))
    fields = re.findall(r"<(?:input|textarea)[^>]*>", page)
    assert len(fields) == 4
    assert all('autocomplete="off"' in field for field in fields)
    assert not re.search("toDataURL|ImageData|toBlob", page)


# ---------------------------------------------------------------- colours


def contrast(one, other):
    """Return the contrast of two colours "#rrggbb" as WCAG 2.2 defines it."""
    parts = [[int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)] for text in (one, other)]
    dark, light = sorted(luminance(rgb) for rgb in parts)
    return (light + 0.05) / (dark + 0.05)


GRAPHICS = [
    *(
        ("edge", "stage"),
        ("line", "box"),
        ("line", "paper"),
        ("line", "stage"),
        ("accent", "paper"),
    ),
    *(("accent", "stage"), ("mark", "stage"), ("red", "box"), ("blue", "box"), ("red", "paper")),
    *(("blue", "paper"), ("pale", "box"), ("pale", "side"), ("ink", "side")),
]
TEXTS = [("ink", "paper"), ("ink", "share"), ("pale", "paper"), ("pale", "stage"), ("pale", "box")]
TEXTS += [("pale", "share"), ("pale", "side"), ("accent", "paper"), ("red", "paper")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_the_style_have_enough_contrast(scheme):
    style = re.search("<style>(.*?)</style>", to_html(Tree.single_leaf(0, 1)), re.S)[1]
    blocks = re.findall(r":root \{(.*?)\}", style, re.S)
    colors = dict(re.findall(r"--(\w+): (#\w{6})", blocks[["light", "dark"].index(scheme)]))
    for pairs, least in ((GRAPHICS, 3.0), (TEXTS, 4.5)):
        found = {pair: contrast(*map(colors.get, pair)) for pair in pairs}
        assert min(found.values()) >= least, found


def test_clusters_are_distinct_with_every_kind_of_vision():
    """In normal vision up to 36, with each deficiency up to 12, and none is as grey as -1."""
    colors = np.array([cluster_color(label) for label in range(-1, 36)])
    for sight, n, least in (
        (None, 12, 0.12),
        (None, 36, 0.04),
        *((s, 12, 0.07) for s in DEFICIENCIES),
    ):
        places = oklab(colors[1 : n + 1], sight)
        distances = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(n)
        assert distances.min() > least, sight
        assert np.linalg.norm(places[:12] - oklab(colors[0], sight), axis=1).min() > 0.039, sight
    lightness, *sides = oklab(colors[1:13]).T
    assert 0.6 < lightness.min() + 0.005 < lightness.max() < 0.85  # even
    assert np.hypot(*sides).max() < 0.135  # calm
    assert cluster_color(36) == cluster_color(0)


@pytest.mark.slow
def test_a_cluster_has_one_colour_in_all_pictures_and_after_a_refit():
    X = load_wine(as_frame=True).data
    objective = Trimmed("kmeans", share=0.1)
    model = TAOClustering(3, objective=objective, standardize=True, random_state=0).fit(X)
    model.name_clusters({0: "light", 1: "rich"})
    numbers = dict(zip(cluster_names(model), [0, 1, 2, -1], strict=True))
    expected = {name: to_hex(cluster_color(number)) for name, number in numbers.items()}
    for one in (model, refit(model, X[::2])):
        clusters = data_of(to_html(one))["models"][0]["clusters"]
        assert {part["name"]: part["color"] for part in clusters} == expected
    for ax in (plot_tree(model, X), describe(model, X).plot().axes[0]):
        names = [text for text in ax.texts if text.get_text().split("\n")[0] in expected]
        assert len(names) >= 4
        for text in names:
            color = expected[text.get_text().split("\n")[0]]
            behind = text.get_bbox_patch()
            assert behind is None or to_hex(behind.get_facecolor()) == color
            assert color in {
                to_hex(patch.get_facecolor()) for patch in [*ax.patches, behind] if patch
            }
    bars = monitor(model, X[::2], X[1::2]).plot()[0].patches
    assert [to_hex(bar.get_facecolor()) for bar in bars[4:8]] == list(expected.values())
