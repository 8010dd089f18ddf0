"""Options of pictures: depth, orientation, highlighted paths, weights; signatures of methods."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from matplotlib.patches import FancyBboxPatch, PathPatch

from tao_cluster import Tree, plot
from tao_cluster.export import Indicator
from tao_cluster.plot import cluster_color, plot_tree


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def stairs():
    """x0 <= 1: cluster 0; <= 2: cluster 1; <= 3: cluster 2; else 1. The last two test 2 x0 - x1."""
    splits = [([0], [1.0]), None, ([0], [-1.0]), ([0, 1], [2.0, -1.0]), None, None, None]
    children = [1, -1, 3, 5, -1, -1, -1], [2, -1, 4, 6, -1, -1, -1]
    return Tree.from_splits(
        *children, splits, [1.0, 0, -2.0, 3.0, 0, 0, 0], [-1, 0, -1, -1, 1, 2, 1], 2
    )


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def test_edges_show_which_side_meets_the_condition(stairs):
    shown = texts_of(plot_tree(stairs, feature_names=["a", "b"]))
    assert [t for t in shown if t in ("yes", "no")] == ["yes", "no"] * 3
    assert {"a ≤ 1", "a ≥ 2", "sum ≤ 3"} <= set(shown)
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 1
    )
    shown = texts_of(plot_tree(tree, feature_names=[Indicator("plan", "gold")]))
    assert "plan is not gold" in shown


@pytest.mark.slow
def test_a_subtree_is_a_box_with_its_clusters(stairs):
    X = np.array([[0.0, 0], [3, 0], [3, 0], [3, 9], [1.5, 0]])
    ax = plot_tree(stairs, X, max_depth=1)
    shown = texts_of(ax)
    assert {"3 leaves", "4 rows", "cluster 1", "75 %", "cluster 2", "25 %"} <= set(shown)
    strip = {
        bar.get_facecolor()[:3]: bar.get_width()
        for bar in ax.patches
        if hasattr(bar, "get_width") and bar.get_height() == pytest.approx(0.11)
    }
    assert set(strip) == {cluster_color(1), cluster_color(2)}
    assert strip[cluster_color(1)] == pytest.approx(3 * strip[cluster_color(2)])
    bare = texts_of(plot_tree(stairs, max_depth=1))  # shares of the leaves
    assert {"67 %", "33 %"} <= set(bare)
    assert {"4 leaves"} <= set(texts_of(plot_tree(stairs, max_depth=0)))
    assert "leaves" not in " ".join(texts_of(plot_tree(stairs, max_depth=3)))
    many = random_tree(np.random.default_rng(0), n_nodes=63, n_clusters=20)
    n_more = len(np.unique(many.leaf_label[many.leaves])) - 4
    assert f"{n_more} more" in texts_of(plot_tree(many, max_depth=0))


def test_horizontal_trees_grow_to_the_right(stairs):
    ax = plot_tree(stairs, orientation="horizontal", feature_names=["a", "b"])
    (root, _), (left, up), (right, down) = (
        next(t for t in ax.texts if t.get_text() == text).get_position()
        for text in ("a ≤ 1", "cluster 0", "a ≥ 2")
    )
    assert root < min(left, right)
    assert up > down  # the left child is the upper one
    assert "push a row down" in ax.get_title()


def strong_edges(ax):
    return [
        patch
        for patch in ax.patches
        if isinstance(patch, PathPatch) and patch.get_edgecolor()[:3] == (0.0, 0.0, 0.0)
    ]


@pytest.mark.slow
def test_the_path_of_a_row_is_highlighted(stairs):
    X = np.array([[0.0, 0], [3.0, 0.5], [1.5, 0]])
    ax = plot_tree(stairs, X, highlight=1)
    assert {"value 3", "sum 5.5", "the row"} <= set(texts_of(ax))
    assert len(strong_edges(ax)) == 3
    frames = [p for p in ax.patches if isinstance(p, FancyBboxPatch)]
    assert len([p for p in frames if p.get_edgecolor()[:3] == (0.0, 0.0, 0.0)]) == 4
    for row in (X[1], X[1].tolist(), X[[1]], sp.csr_matrix(X[[1]]), -2):
        assert texts_of(plot_tree(stairs, X, highlight=row)) == texts_of(ax)
    assert len(strong_edges(plot_tree(stairs, highlight=[0.0, 0.0]))) == 1
    folded = plot_tree(stairs, X, highlight=1, max_depth=1)
    assert len(strong_edges(folded)) == 1
    assert "the row" in texts_of(folded)
    assert not strong_edges(plot_tree(stairs, X))


def test_values_close_to_a_threshold_have_enough_digits(stairs):
    shown = texts_of(plot_tree(stairs, highlight=[1.0001, 0.0]))
    assert "value 1.0001" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_depth": -1}, "max_depth must be an integer of at least 0; got -1"),
        ({"orientation": "sideways"}, "orientation must be one of .* got 'sideways'"),
        ({"highlight": 0}, "highlight=0 is the position of a row of X: pass X, too"),
        ({"highlight": 3, "X": np.zeros((3, 2))}, "highlight=3 .* from -3 to 2: X has 3 rows"),
        ({"sample_weight": [1.0]}, "sample_weight needs X"),
        ({"sample_weight": [1.0], "X": np.zeros((3, 2))}, "sample_weight has 1 entries"),
        ({"highlight": [1.0]}, "X has 1 features"),
        ({"highlight": np.zeros((2, 2))}, "Expected one row"),
    ],
)
def test_bad_options(stairs, options, message):
    with pytest.raises(ValueError, match=message):
        plot_tree(stairs, **options)


def test_plot_takes_rows_by_position_and_names_unknown_options(stairs, tmp_path):
    X = np.array([[0.0, 0], [3.0, 0.5], [1.5, 0]])
    assert texts_of(stairs.plot(X)) == texts_of(plot_tree(stairs, X=X))
    for draw in (stairs.plot, lambda **o: plot_tree(stairs, **o)):
        with pytest.raises(TypeError, match="colour"):
            draw(colour="red")
    names = [*inspect.signature(plot.save_tree).parameters]
    assert names == ["path", *inspect.signature(plot_tree).parameters]
    with pytest.raises(TypeError, match="colour"):
        plot.save_tree(tmp_path / "tree.png", stairs, colour="red")


@pytest.mark.parametrize("max_depth", [None, 1])
def test_weighted_pictures_show_rows_and_weights(stairs, max_depth):
    X = np.array([[0.0, 0], [3.0, 0.5], [1.5, 0], [2.5, 0.0], [2.4, 0.0]])
    weight = np.array([1.5, 2, 0, 3, 100])
    shown = texts_of(plot_tree(stairs, X, sample_weight=weight, max_depth=max_depth))
    below = ["3 rows", "weight 105"] if max_depth else ["3 rows", "weight 105", "0 rows"]
    for text in ["1 row", "weight 1.5", *below]:
        assert any(text in label.split("\n") for label in shown), text
    if max_depth is None:
        assert f"{100 * 105 / 106.5:.1f} %" in shown  # shares are of the weight
    repeated = texts_of(plot_tree(stairs, X, max_depth=max_depth))
    assert not any("weight " in text for text in repeated)
