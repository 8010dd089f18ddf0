"""Pictures: the geometry, and what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from tao_cluster import TAOClustering, Tree
from tao_cluster.plot import plot_tree
from tao_cluster.plot.glyphs import SIGNED
from tao_cluster.plot.layout import tidy_positions


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_leaves=st.sampled_from([1, 2, 5, 20, 64]))
def test_layout_is_tidy(seed, n_leaves):
    tree = random_tree(np.random.default_rng(seed), n_nodes=2 * n_leaves - 1)
    x, depth = tidy_positions(tree)
    assert x.min() == 0
    np.testing.assert_array_equal(depth, tree.depth)
    for level in range(depth.max() + 1):
        gaps = np.diff(np.sort(x[depth == level]))
        assert np.all(gaps >= 1 - 1e-9)  # nothing overlaps
    inner = tree.decision_nodes
    middle = (x[tree.children_left[inner]] + x[tree.children_right[inner]]) / 2
    np.testing.assert_allclose(x[inner], middle)
    assert np.all(x[tree.children_left[inner]] < x[tree.children_right[inner]])
    assert x.max() <= n_leaves - 1 + 1e-9 or n_leaves == 1


def test_mirrored_trees_have_mirrored_layouts(rng):
    tree = random_tree(rng, n_nodes=31)
    mirrored = Tree(
        tree.children_right,
        tree.children_left,
        tree.split_indptr,
        tree.split_indices,
        tree.split_weights,
        tree.threshold,
        tree.leaf_label,
        tree.n_features,
    )
    x, _ = tidy_positions(tree)
    np.testing.assert_allclose(tidy_positions(mirrored)[0], x.max() - x)


def test_image_plot(digits, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a library does not call show"))
    before = plt.rcParams.copy()
    model = TAOClustering(10, lambda_=1, depth=3, random_state=0, n_mu_steps=10).fit(digits)
    ax = plot_tree(model, digits, image_shape=(8, 8), title="digits")
    assert plt.rcParams == before
    assert len(ax.images) == model.tree_.n_nodes
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
    assert "white is weight 0" in ax.get_title()
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
