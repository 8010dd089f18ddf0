"""Pictures: the geometry, and what is drawn."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from conftest import random_tree
from hypothesis import given, settings
from hypothesis import strategies as st

from greedy import IMM, ExKMC
from tao_cluster import TAOClustering, Tree, tao_path
from tao_cluster.plot import plot_history, plot_path, plot_regions, plot_tradeoff, plot_tree
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


# ---------------------------------------------------------------- curves and regions


@pytest.fixture(scope="module")
def path():
    X = np.random.default_rng(0).normal(size=(300, 4))
    return X, tao_path(X, 4, [0.1, 1, 10, 40], depth=3, random_state=0)


def test_path_shows_every_tree_and_the_knee(path):
    _, models = path
    ax = plot_path(models, title="a path")
    x, y = ax.lines[0].get_data()
    np.testing.assert_array_equal(x, [model.tree_.n_parameters for model in models])
    np.testing.assert_array_equal(y, [model.cost_increase_ for model in models])
    assert ax.get_legend().get_texts()[0].get_text() == "knee"
    assert plot_path(models[:1], ax=ax) is ax


@pytest.mark.parametrize("size", ["leaves", "parameters", "explanation_size"])
def test_tradeoff_joins_models_of_a_label(path, size):
    X, models = path
    reference = models[0].free_centers_
    others = [ExKMC(4, max_leaves=n, reference=reference).fit(X) for n in (12, 4)]
    others.append(IMM(4, reference=reference).fit(X))
    ax = plot_tradeoff([*models, *others], size=size, X=X)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "TAOClustering",
        "ExKMC",
        "IMM",
    ]
    x, y = ax.lines[1].get_data()
    assert x[0] < x[1]
    assert set(y) == {model.cost_increase_ for model in others[:2]}


def test_tradeoff_says_what_it_needs(path):
    _, models = path
    with pytest.raises(ValueError, match="needs X"):
        plot_tradeoff(models, size="explanation_size")
    with pytest.raises(ValueError, match="leaves, parameters, explanation_size"):
        plot_tradeoff(models, size="nodes")
    with pytest.raises(ValueError, match="1 labels for 4 models"):
        plot_tradeoff(models, labels=["one"])


def test_history_by_stage_and_along_mu(path):
    X, models = path
    ax = plot_history(models[-1])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == list(dict.fromkeys(record["stage"] for record in models[-1].history_))
    penalty = TAOClustering(4, lambda_=1, algorithm="penalty", refine=False, random_state=0).fit(X)
    assert plot_history(penalty).get_xscale() == "log"
    still = TAOClustering(1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="no records"):
        plot_history(still)


def test_regions_of_the_plane(blobs):
    model = TAOClustering(4, random_state=0).fit(blobs[:, :2])
    axes = plot_regions(model, blobs[:, :2], title="blobs")
    assert len(axes) == 2
    assert "4 leaves" in axes[1].get_title(loc="left")
    for ax in axes:
        shown = ax.collections[0].get_array()
        assert len(np.unique(shown)) == 4
    with pytest.raises(ValueError, match="two features only"):
        plot_regions(model, blobs)


def test_style_is_left_alone(path):
    before = dict(plt.rcParams)
    plot_path(path[1])
    plot_history(path[1][0])
    assert dict(plt.rcParams) == before
