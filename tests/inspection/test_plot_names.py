"""Pictures of long names, of names in other scripts, and of trees of many levels."""

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import chain
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.font_manager import fontManager
from matplotlib.patches import FancyBboxPatch, PathPatch

from tao_cluster import Tree
from tao_cluster.columns.names import Abbreviation
from tao_cluster.explanations import explain
from tao_cluster.export import Indicator
from tao_cluster.plot import plot_test, plot_tests, plot_tree
from tao_cluster.plot.boxes import SMALLEST
from tao_cluster.plot.layout import Layout

# 80 characters, different only in the middle; no beginning of words is shared.
QUESTIONS = [f"{word} " * 4 + f"number {j} " + "and all the rest of it" * 2 for j, word in
             enumerate(["alpha", "bravo", "charl", "delta"])]  # fmt: skip
# A beginning that all share.
SURVEY = [f"In the last twelve months, how often did you and your family buy {x}?" for x in
          ("fresh vegetables", "frozen vegetables", "bread", "milk")]  # fmt: skip
CJK = ["年齢", "世帯収入", "通勤時間", "満足度"]


def three_tests():
    """A sum of three features, x3 >= -1234.5, and a sum of two features."""
    splits = [([0, 1, 2], [2.0, -181.0, 0.000123]), ([3], [-1.0]), ([0, 2], [1.0, 1.0])]
    children = [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]
    labels, limits = [-1, -1, -1, 0, 1, 2, 0], [1.5, 1234.5, 0.25, 0, 0, 0, 0]
    return Tree.from_splits(*children, [*splits, None, None, None, None], limits, labels, 4)


@pytest.fixture
def X(rng):
    rows = rng.normal(size=(300, 4))
    rows[:, 3] *= 2000
    return rows


def boxes_of(ax):
    """Extents of the frames of nodes, and of the texts: arrays (n, 4), in pixels."""
    ax.figure.draw_without_rendering()
    frames = [p.get_window_extent().extents for p in ax.patches if isinstance(p, FancyBboxPatch)]
    texts = [text.get_window_extent().extents for text in ax.texts]
    return np.array(frames), np.array(texts)


def check_texts_stay_in_their_boxes(ax):
    frames, texts = boxes_of(ax)
    middle = (texts[:, :2] + texts[:, 2:]) / 2
    for text, place, artist in zip(texts, middle, ax.texts, strict=True):
        for frame in frames:
            if np.all(place > frame[:2]) and np.all(place < frame[2:]):
                assert np.all(text[:2] >= frame[:2] - 2), artist
                assert np.all(text[2:] <= frame[2:] + 2), artist


def check_apart(boxes):
    for a, b in itertools.combinations(boxes, 2):
        shared = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
        assert not np.all(shared > 3)


def shown(ax):
    return [text.get_text() for text in ax.texts]


@pytest.mark.spaced(quick=2)
@pytest.mark.parametrize("names", [QUESTIONS, SURVEY, CJK, ["a_b" * 30] * 4], ids=range(4))
@pytest.mark.parametrize(
    "nodes", ["bars", "projection", pytest.param("words", marks=pytest.mark.slow)]
)
def test_thresholds_survive_long_names(X, names, nodes):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No installed font", UserWarning)
        ax = plot_tree(three_tests(), X, feature_names=names, nodes=nodes)
    check_texts_stay_in_their_boxes(ax)
    assert any(text.endswith("≥ \N{MINUS SIGN}1234.5") for text in shown(ax))
    if nodes != "projection":
        assert any(text.endswith("≤ 1.5") for text in shown(ax))
    if nodes == "bars":  # numbers are rounded and not shrunk
        weights = [t for t in ax.texts if t.get_text() in {"\N{MINUS SIGN}181", "0.0001"}]
        assert len(weights) == 2
        assert min(t.get_fontsize() for t in weights) > 0.98 * SMALLEST


def test_a_shared_beginning_is_dropped_and_explained(X):
    ax = plot_tree(three_tests(), X, feature_names=SURVEY)
    title = " ".join(ax.get_title().split())
    assert (
        '… stands for "In the last twelve months, how often did you and your family buy"' in title
    )
    assert "…bread?" in shown(ax)
    assert not any("twelve" in text for text in shown(ax))
    assert "stands for" in plot_test(three_tests(), 0, X, feature_names=SURVEY).get_xlabel()
    why = explain(three_tests(), X[0], SURVEY).plot()
    labels = [t.get_text() for ax in why.axes for t in ax.get_yticklabels()]
    assert any("…bread?" in label.replace("\n", "") for label in labels)


@pytest.mark.parametrize(
    ("names", "prefix"),
    [
        (["mean radius", "mean area"], ""),  # short names stay
        (["worst fractal dimension x", "worst concave points at all"], ""),  # short beginning
        ([f"How satisfied are you with {x}?" for x in "ab"], "How satisfied are you with "),
        ([f"survey_2024_question_number_{x}" for x in "ab"], "survey_2024_question_number_"),
        (
            [*(f"How satisfied are you with {x}?" for x in "ab"), "age"],
            "How satisfied are you with ",
        ),
        (["one long name that stands alone", "another long name that differs"], ""),
    ],
)
def test_beginnings_that_names_share(names, prefix):
    abbreviate = Abbreviation.from_names(names)
    assert abbreviate.prefix == prefix
    assert len({abbreviate(name) for name in names}) == len(names)


@pytest.mark.slow
def test_characters_without_a_font_give_one_warning(X):
    for draw in (
        lambda: plot_tree(three_tests(), X, feature_names=CJK),
        lambda: plot_tests(three_tests(), X, feature_names=CJK)[0],
        lambda: explain(three_tests(), X[0], CJK).plot(),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            draw().figure.canvas.draw()
        messages = {str(warning.message) for warning in caught}
        if not any("CJK" in entry.name for entry in fontManager.ttflist):
            assert len(caught) == 1
            assert "No installed font has the characters" in messages.pop()


@pytest.mark.slow
def test_characters_of_another_installed_font_are_drawn(X, tmp_path, monkeypatch):
    monkeypatch.setattr(fontManager, "ttflist", list(fontManager.ttflist))
    private = [chr(0x10F000), chr(0x10F001)]  # no other font has them
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "one", "two"])
    builder.setupCharacterMap({ord(c): g for c, g in zip(private, ("one", "two"), strict=True)})
    builder.setupGlyf({name: TTGlyphPen(None).glyph() for name in (".notdef", "one", "two")})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "one", "two"), (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Test Signs", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(tmp_path / "signs.ttf")
    fontManager.addfont(tmp_path / "signs.ttf")
    ax = plot_tree(three_tests(), X, feature_names=["a", "b", "c", "".join(private)])
    drawn = [text for text in ax.texts if private[0] in text.get_text()]
    assert drawn
    assert all("Test Signs" in text.get_fontfamily() for text in drawn)
    ax.figure.canvas.draw()


# ---------------------------------------------------------------- trees of many levels


@pytest.mark.slow
@pytest.mark.parametrize("orientation", ["vertical", "horizontal"])
@pytest.mark.parametrize("nodes", ["bars", pytest.param("projection", marks=pytest.mark.slow)])
def test_chains_are_folded_into_columns(rng, orientation, nodes):
    X = rng.random((400, 4))
    options = {"nodes": nodes, "orientation": orientation, "highlight": 3}
    ax = plot_tree(chain(20), X, **options)
    width, height = ax.figure.get_size_inches()
    assert max(width, height) < 17
    frames, texts = boxes_of(ax)
    check_apart(texts)
    leaves = [f for f in frames if np.ptp(f[[0, 2]]) > 20]
    low, high = ax.get_window_extent().extents.reshape(2, 2)
    assert np.all(texts[:, :2] >= low)
    assert np.all(texts[:, 2:] <= high)
    check_edges_avoid_boxes(ax, np.array(leaves))
    check_texts_stay_in_their_boxes(ax)


def check_edges_avoid_boxes(ax, frames):
    """The straight lines between columns cross no box."""
    lines = [p for p in ax.patches if type(p) is PathPatch and len(p.get_path().vertices) > 5]
    assert lines
    for line in lines:
        corners = ax.transData.transform(line.get_path().vertices)[4:-1]
        for a, b in itertools.pairwise(corners):
            low, high = np.minimum(a, b), np.maximum(a, b)
            is_crossed = np.all((frames[:, :2] < high - 1) & (frames[:, 2:] > low + 1), axis=1)
            assert not is_crossed.any()


@pytest.mark.parametrize("n_leaves", [6, 12, 40])
def test_a_chain_is_a_straight_column(n_leaves):
    tree = chain(n_leaves)
    heights = np.where(tree.children_left < 0, 1.0, 0.5)
    layout = Layout.compact(tree, 1.2, heights, 0.14, False)
    if n_leaves == 6:  # few levels: drawn as other trees are
        np.testing.assert_array_equal(layout.across, Layout(tree, 1.2, heights, 0.14, False).across)
        return
    plain = Layout(tree, 1.2, heights, 0.14, False)
    assert max(layout.right, -layout.bottom) < max(plain.right, -plain.bottom)
    moved = [node for node in range(tree.n_nodes) if layout.connection(node)]
    assert moved
    for node in tree.decision_nodes[:-1]:
        below = tree.children_left[node]
        if below not in moved and tree.children_left[below] >= 0:
            assert layout.across[below] == pytest.approx(layout.across[node])
    for node in moved:
        assert layout.edge(tree.parent[node], node, 0.0)[-1] == layout.connection(node)[0]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


CATEGORIES = [
    ["Dream", "Biscoe", "Torgersen"],
    ["a level with a long name", "another jagged, groggy level", "gypsy quay: gauge"],
]


@pytest.mark.slow
@pytest.mark.parametrize("levels", CATEGORIES, ids=["short", "long"])
@pytest.mark.parametrize("nodes", ["bars", "projection"])
def test_no_tick_crosses_text(rng, levels, nodes):
    """Zero lines, thresholds and marks of overall shares stay outside all texts."""
    column = "island" if levels is CATEGORIES[0] else "where the egg lay, in the end"
    names = [*(Indicator(column, level) for level in levels), "body_mass_g (gypsy)"]
    splits = [([0], [1.0]), ([3], [-1.0]), ([1], [1.0]), *[None] * 4]
    children = [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]
    labels, limits = [-1, -1, -1, 0, 1, 2, 0], [0.5, -5.5, 0.5, 0, 0, 0, 0]
    tree = Tree.from_splits(*children, splits, limits, labels, 4)
    X = np.column_stack([np.eye(3)[rng.integers(3, size=300)], rng.normal(5, 2, size=300)])
    ax = plot_tree(tree, X, feature_names=names, nodes=nodes)
    ax.figure.draw_without_rendering()
    marks = [line.get_window_extent().extents for line in ax.lines]
    assert len(marks) > 6
    for text in ax.texts:
        box = text.get_window_extent().extents
        height = box[3] - box[1]
        for mark in marks:
            shared = np.minimum(box[2:], mark[2:]) - np.maximum(box[:2], mark[:2])
            # The box of a text has empty space above and below its letters.
            assert not (shared[0] > -1 and shared[1] > 0.2 * height), text
