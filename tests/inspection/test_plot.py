"""Pictures: the geometry, and what is drawn."""

import time

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, StepPatch

from tao_cluster import DirectForm, TAOClustering, Tree
from tao_cluster.inspection.palette import NEGATIVE, POSITIVE
from tao_cluster.plot import cluster_color, plot_tree
from tao_cluster.plot.glyphs import SIGNED, Words


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:A tree of at most 8 leaves")
def test_image_plot(digits, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a library does not call show"))
    before = plt.rcParams.copy()
    model = TAOClustering(10, lambda_=1, depth=3, random_state=0).fit(digits)
    ax = plot_tree(model, digits, image_shape=(8, 8), title="digits")
    assert plt.rcParams == before
    # Weights of a test over the mean of its rows, then the means at the leaves.
    assert len(ax.images) == model.tree_.n_nodes + len(model.tree_.decision_nodes)
    assert ax.images[0].get_zorder() > ax.images[1].get_zorder()
    np.testing.assert_allclose(ax.images[1].get_array().ravel(), digits.mean(axis=0))
    opacity = ax.images[0].get_alpha().ravel()
    np.testing.assert_array_equal(np.flatnonzero(opacity), model.tree_.split(0)[0])
    root = ax.images[0]
    low, high = root.get_clim()
    assert low == -high == -np.abs(model.tree_.split(0)[1]).max()
    assert SIGNED((0.0 - low) / (high - low)) == (1.0, 1.0, 1.0, 1.0)  # zero is white
    texts = [text.get_text() for text in ax.texts]
    leaves = model.apply(digits)
    for leaf in model.tree_.leaves:
        expected = f"cluster {model.tree_.leaf_label[leaf]}\n{np.sum(leaves == leaf)} rows"
        assert expected in texts
    assert "left" in ax.get_title()
    assert "where the weight is 0" in ax.caption
    assert "White is weight 0" in plot_tree(model, image_shape=(8, 8)).caption
    ax.figure.canvas.draw()
    same = model.tree_.plot(X=sp.csr_matrix(digits), image_shape=(8, 8), ax=plt.figure().gca())
    np.testing.assert_allclose(same.images[-1].get_array(), ax.images[-1].get_array())


def test_text_plot(rng):
    tree = random_tree(rng, n_nodes=9)
    ax = plot_tree(tree, feature_names=list("abcdef"))
    assert len(ax.images) == 0
    shown = " ".join(text.get_text() for text in ax.texts)
    assert all(f"cluster {label}" in shown for label in tree.leaf_label[tree.leaves])
    assert plot_tree(Tree.single_leaf(0, 3)).texts


def test_bad_shapes(rng):
    tree = random_tree(rng)
    with pytest.raises(ValueError, match=r"image_shape \(2, 2\) does not hold 6 features"):
        plot_tree(tree, image_shape=(2, 2))
    with pytest.raises(ValueError, match="5 feature names for 6 features"):
        plot_tree(tree, feature_names=list("abcde"))


# ---------------------------------------------------------------- glyphs, leaves and panels


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def two_tests(n_features=4):
    """2a - b + 0.5c <= 1 at the root, d <= 0.8 on its right."""
    splits = [([0, 1, 2], [2.0, -1.0, 0.5]), None, ([3], [1.0]), None, None]
    children = [1, -1, 3, -1, -1], [2, -1, 4, -1, -1]
    return Tree.from_splits(*children, splits, [1, 0, 0.8, 0, 0], [-1, 0, -1, 1, 0], n_features)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(60, 4))


def test_bars_name_and_order_the_weights(rows):
    ax = plot_tree(two_tests(), rows, feature_names=["a$", "b", "c", "petal width"])
    shown = texts_of(ax)
    minus = "\N{MINUS SIGN}"
    assert shown.index("a$") < shown.index("b") < shown.index("c")
    assert {"2", f"{minus}1", "0.5", "sum ≤ 1", "petal width ≤ 0.8"} <= set(shown)
    bars = [p for p in ax.patches if to_hex(p.get_facecolor()) in (POSITIVE, NEGATIVE)]
    assert [np.sign(bar.get_width()) for bar in bars] == [1, -1, 1]
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [POSITIVE, NEGATIVE, POSITIVE]
    assert ax.get_title().startswith("Red bars push a row right, blue bars")


def test_a_test_of_one_feature_is_a_condition():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([1], [-2.0]), None, None], [3.0, 0, 0], [-1, 0, 1], 2
    )
    ax = plot_tree(tree, feature_names=["a", "b"])
    assert "b ≥ \N{MINUS SIGN}1.5" in texts_of(ax)
    assert "bars" not in ax.get_title()


def test_words_are_red_then_blue_and_sized_by_weight(rows):
    names = ["god", "car", "bike", "file"]
    ax = plot_tree(two_tests(), sp.csr_matrix(np.abs(rows)), feature_names=names)
    words = [t for t in ax.texts if to_hex(t.get_color()) in (POSITIVE, NEGATIVE)]
    assert [w.get_text() for w in words] == ["god", "bike", "car", "file"]
    assert [to_hex(w.get_color()) for w in words] == [POSITIVE, POSITIVE, NEGATIVE, POSITIVE]
    assert words[0].get_fontsize() > words[2].get_fontsize() > words[1].get_fontsize()
    assert "sum ≤ 1" in texts_of(ax)
    at_leaves = [t for t in ax.texts if t.get_text() in names and t not in words]
    assert len(at_leaves) == 3 * 4
    few = plot_tree(two_tests(), nodes=Words(names, n_words=1))
    assert set(names) & set(texts_of(few)) == {"god", "file"}
    assert "3 words" in texts_of(few)
    assert "1 word" not in texts_of(few)  # the box shows it


def test_boxes_count_what_they_leave_out(rng):
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [(range(8), rng.normal(size=8)), None, None], [0.0, 0, 0],
        [-1, 0, 1], 8,
    )  # fmt: skip
    X = rng.normal(size=(50, 8))
    counts = {"words": "+ 2 more words", "bars": "+ 3 more features"}
    for nodes, count in counts.items():
        ax = plot_tree(tree, X, nodes=nodes)
        ax.figure.draw_without_rendering()
        boxes = {text.get_text(): text.get_window_extent() for text in ax.texts}
        assert not any(
            boxes[count].y0 < box.y1 - 3 and box.y0 + 3 < boxes[count].y1
            for name, box in boxes.items()
            if name != count
        )
    ax = plot_tree(tree, X, nodes="projection")
    assert any(text.endswith("+ 6 more features") for text in texts_of(ax))


def histograms_of(ax):
    """The layers of the histograms: (colour, heights of the bins, edges) of each."""
    layers = [p for p in ax.patches if isinstance(p, StepPatch) and p.get_fill()]
    data = [layer.get_data() for layer in layers]
    colors = [layer.get_facecolor()[:3] for layer in layers]
    return [(c, d.values - d.baseline, d.edges) for c, d in zip(colors, data, strict=True)]


def test_histograms_at_tests_are_stacked_by_cluster(rows):
    tree = two_tests()
    ax = plot_tree(tree, rows, nodes="projection")
    here = tree.predict(rows)
    layers = histograms_of(ax)[:2]
    assert [color for color, *_ in layers] == [cluster_color(0), cluster_color(1)]
    sums = [heights.sum() for _, heights, _ in layers]
    assert sums[1] / sums[0] == pytest.approx(np.sum(here == 1) / np.sum(here == 0))
    line = next(line for line in ax.lines if to_hex(line.get_color()) == "#000000").get_xdata()[0]
    edges = layers[0][2]
    is_lower = edges[1:] <= line + 1e-9
    total = sum(heights for _, heights, _ in layers)
    share = np.mean(rows @ [2.0, -1.0, 0.5, 0.0] <= 1)
    assert total[is_lower].sum() / total.sum() == pytest.approx(share)
    assert {"1", "0.8"} <= set(texts_of(ax))  # the thresholds
    assert "grey side of the threshold" in ax.get_title()


def test_own_glyphs(rows):
    class Plain:
        width, test_height, leaf_height = 0.5, 0.3, 0.2
        convention, leaf_convention = ("as told",), ()

        def draw_test(self, ax, box, split):
            box.write(ax, f"test {split.node}", 6)

        def draw_leaf(self, ax, box, leaf):
            box.write(ax, f"leaf {leaf.label}", 6)

    ax = plot_tree(two_tests(), rows, nodes=Plain())
    assert {"test 0", "test 2", "leaf 0", "leaf 1"} <= set(texts_of(ax))
    assert ax.get_title() == "As told."


@pytest.mark.slow
def test_leaves_show_true_classes(rows):
    tree = two_tests()
    y = np.where(tree.apply(rows) == 1, "b", "a")
    ax = plot_tree(tree, rows, y=y, class_names=["first", "second"])
    shown = texts_of(ax)
    assert shown.count("second") == 1
    assert shown.count("first") == 2
    assert shown.count("100 %") == 3
    share = 100 * np.mean(tree.apply(rows) == 1)
    assert f"{share:.1f} %" in shown
    assert "Grey bars are shares of the most frequent true class" in ax.caption
    assert {"a", "b"} <= set(texts_of(plot_tree(tree, rows, y=y)))


@pytest.mark.slow
def test_panels(digits):
    model = TAOClustering(
        10, lambda_=8, depth=4, algorithm=DirectForm(n_init=1), random_state=0
    ).fit(digits)
    ax = plot_tree(model, image_shape=(8, 8), panels=("mask", "centers", "history"))
    n_tests = len(model.tree_.decision_nodes)
    assert len(ax.images) == n_tests + 1 + 10
    mask = ax.images[n_tests].get_array()
    np.testing.assert_array_equal(np.flatnonzero(mask), model.tree_.used_features)
    np.testing.assert_array_equal(ax.images[-1].get_array().ravel(), model.free_centers_[-1])
    shown = texts_of(ax)
    assert f"{len(model.tree_.used_features)} of 64 pixels are used" in shown
    assert f"3: {np.sum(model.free_labels_ == 3)}" in shown
    assert len(ax.child_axes) == 1
    ax.figure.canvas.draw()
    inside = ax.get_window_extent()
    panel = ax.child_axes[0].get_tightbbox()
    assert panel.x1 <= inside.x1
    assert panel.y0 >= inside.y0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nodes": "picture"}, "nodes must be 'auto', 'image', 'words', 'bars', 'projection'"),
        ({"nodes": "image"}, "nodes='image' needs image_shape"),
        ({"nodes": "projection"}, "nodes='projection' needs X"),
        ({"y": [0, 1]}, "y needs X"),
        ({"X": np.zeros((3, 4)), "y": [0, 1]}, "y has 2 entries, but X has 3 rows"),
        (
            {"X": np.zeros((3, 4)), "y": [0, 1, 1], "class_names": ["a"]},
            "1 class names for 2 classes",
        ),
        ({"panels": ("curve",)}, "panels must be among mask, centers, history; got 'curve'"),
        ({"panels": ("centers",), "image_shape": (2, 2)}, "'centers' needs a fitted estimator"),
        ({"panels": ("history",)}, "'history' needs a fitted TAOClustering"),
    ],
)
def test_what_a_tree_picture_needs(options, message):
    with pytest.raises(ValueError, match=message):
        plot_tree(two_tests(), **options)


@pytest.mark.slow
def test_64_leaves_are_fast_and_nothing_overlaps(rng):
    tree = random_tree(rng, n_features=200, n_nodes=127, n_clusters=26, density=0.1)
    X = rng.normal(size=(500, 200))
    names = [f"a very long name of feature {j}" for j in range(200)]
    classes = rng.integers(0, 5, 500)
    seconds = []
    for _ in range(3):  # the first compiles kernels
        start = time.process_time()
        ax = plot_tree(tree, X, y=classes, nodes="words", feature_names=names)
        seconds.append(time.process_time() - start)
    start = time.process_time()
    ax.figure.canvas.draw()
    # Machines differ: what is ours takes less than what matplotlib takes to draw it.
    assert min(seconds) < time.process_time() - start
    boxes = np.array([text.get_window_extent().extents for text in ax.texts])
    assert_apart(boxes)
    frames = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    frames = np.array([p.get_window_extent().extents for p in frames])
    assert len(frames) == tree.n_nodes
    assert_apart(frames)
    low, high = ax.get_window_extent().extents.reshape(2, 2)
    assert np.all(boxes[:, :2] >= low)
    assert np.all(boxes[:, 2:] <= high)


def assert_apart(boxes):
    """Rectangles (left, bottom, right, top) in pixels do not overlap by more than the hinting."""
    shared = np.minimum(boxes[:, None, 2:], boxes[:, 2:]) - np.maximum(
        boxes[:, None, :2], boxes[:, :2]
    )
    overlaps = np.all(shared > 3, axis=2) & ~np.eye(len(boxes), dtype=bool)
    assert not overlaps.any(), np.argwhere(overlaps)
