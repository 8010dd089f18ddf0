"""Pictures of single tests: which rows, sides, units and colours they show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.colors import to_hex
from matplotlib.patches import StepPatch

from tao_cluster import Tree, table_pipeline
from tao_cluster.columns import raw_view
from tao_cluster.export import Indicator
from tao_cluster.plot import cluster_color, plot_test, plot_tests

SHADE = "0.9"  # grey behind the rows that go left


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def tree():
    """2a - b <= 1 at the root; on its left a >= 0.5; on its right a + b + c <= 3."""
    splits = [([0, 1], [2.0, -1.0]), ([0], [-1.0]), ([0, 1, 2], [1.0, 1.0, 1.0]), *[None] * 4]
    children = [1, 3, 5, -1, -1, -1, -1], [2, 4, 6, -1, -1, -1, -1]
    return Tree.from_splits(
        *children, splits, [1.0, -0.5, 3.0, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 2, 0], 3
    )


@pytest.fixture
def X(rng):
    return rng.uniform(0, 3, size=(200, 3))


def labels_of(ax):
    """The entries of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars_of(ax):
    """Total height of the layers of a histogram by colour."""
    found = {}
    for patch in ax.patches:
        if isinstance(patch, StepPatch) and patch.get_fill():
            data = patch.get_data()
            color = to_hex(patch.get_facecolor())
            found[color] = found.get(color, 0.0) + np.sum(data.values - data.baseline)
    return found


def grey_side(ax):
    """The range of the axis that is grey, since its rows go left."""
    (side,) = [p for p in ax.patches if to_hex(p.get_facecolor()) == to_hex(SHADE)]
    return side.get_x(), side.get_x() + side.get_width()


@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_two_features_are_a_scatter_plot_with_the_line(tree, X, as_rows):
    ax = plot_test(tree, 0, as_rows(X), feature_names=["a", "b", "c"])
    (points,) = [c for c in ax.collections if len(c.get_offsets()) == len(X)]
    np.testing.assert_allclose(points.get_offsets(), X[:, :2])
    shown = points.get_facecolors()[:, :3]
    np.testing.assert_allclose(shown, [cluster_color(k) for k in tree.predict(X)])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    assert "2*a \N{MINUS SIGN} b ≤ 1" in ax.get_title(loc="left")
    lines = [p for c in ax.collections for p in c.get_paths() if len(c.get_offsets()) < 2]
    ends = np.concatenate([path.vertices for path in lines])
    assert np.any(np.abs(ends @ [2.0, -1.0] - 1) < 1e-6)
    filled = [c for c in ax.collections if len(c.get_facecolor())]
    grey = [c for c in filled if to_hex(c.get_facecolor()[0]) == to_hex(SHADE)]
    inside = [any(p.contains_point(x) for p in grey[0].get_paths()) for x in X[:, :2]]
    np.testing.assert_array_equal(inside, X[:, :2] @ [2.0, -1.0] <= 1)


@pytest.mark.slow
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_the_legend_covers_neither_points_nor_the_title(tree, X, n_columns):
    ax = plot_test(tree, 0, X)
    ax.figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
    assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.x1
    axes = plot_tests(tree, X, n_columns=n_columns)
    axes[0].figure.draw_without_rendering()
    (legend,) = axes[0].figure.legends
    title = axes[0].figure._suptitle.get_window_extent()
    assert title.x1 <= legend.get_window_extent().x0
    assert legend.get_window_extent().x0 >= max(ax.get_window_extent().x1 for ax in axes)


def test_one_feature_is_a_histogram_in_its_units(tree, X):
    ax = plot_test(tree, 1, X, feature_names=["width", "b", "c"])
    leaves = tree.apply(X)
    counts = {to_hex(cluster_color(k)): np.sum(leaves == 3 + k) for k in (0, 1)}
    assert bars_of(ax) == counts
    assert ax.get_xlabel() == "width"
    # The condition of the title is that of the tree: the left side has the large values.
    assert ax.get_title("left").endswith(" rows, left if width ≥ 0.5")
    assert [text.get_text() for text in ax.texts] == ["0.5"]
    start, end = grey_side(ax)  # width >= 0.5 goes left
    assert start == pytest.approx(0.5)
    assert end == pytest.approx(ax.get_xlim()[1])
    assert labels_of(ax)[0] == f"cluster 0: {np.sum(leaves == 3)} rows"


def test_larger_sums_are_histograms_of_the_sum(tree, X):
    weight = np.where(np.arange(len(X)) % 2, 2.5, 0.0)
    ax = plot_test(tree, 2, X, sample_weight=weight, feature_names=["a", "b", "c"])
    here = (tree.path_matrix[:, [2]].toarray().ravel() > 0)[tree.apply(X)]
    assert sum(bars_of(ax).values()) == pytest.approx(weight[here].sum())
    assert ax.get_xlabel().startswith("sum = ")
    assert set(ax.get_xlabel()[6:]) == set("a + b + c")
    assert ax.get_title("left").endswith("rows, left if sum ≤ 3")
    assert ax.get_ylabel() == "weight of the rows"
    low, high = ax.get_xlim()
    sums = X[here & (weight > 0)].sum(axis=1)
    assert low <= sums.min() <= sums.max() <= high
    assert grey_side(ax) == pytest.approx((low, 3.0))


def test_rows_at_the_threshold_are_on_their_side():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0], [1.0]), None, None], [2.0, 0, 0], [-1, 0, 1], 1
    )
    ax = plot_test(tree, 0, [[2.0], [2.0], [2.0], [3.0], [7.0]])
    layers = [p.get_data() for p in ax.patches if isinstance(p, StepPatch) and p.get_fill()]
    lower, upper = (edges[:-1][values > base] for values, edges, base in layers)
    assert np.all(lower < 2.0)
    assert np.all(upper >= 2.0)


def test_levels_of_a_column_are_bars():
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 1], [1.0, 1.0]), None, None], [0.5, 0, 0], [-1, 0, 1], 3
    )
    names = [Indicator("plan", value) for value in ("gold", "free", "old")]
    X = np.eye(3)[[0, 0, 0, 1, 2, 2]]
    ax = plot_test(tree, 0, X, feature_names=names)
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks == ["others", "gold", "free"]  # the levels that go left come first
    assert bars_of(ax) == {to_hex(cluster_color(0)): 2, to_hex(cluster_color(1)): 4}
    assert ax.get_xlabel() == "plan"
    lines = ax.get_title("left").split("\n")
    assert lines[0] == "node 0 (root)"
    assert lines[1] == "left to cluster 0, right to cluster 1"
    assert lines[2] == "6 rows, left if plan not in {gold, free}"
    assert labels_of(ax)[-1] == "rows here go left"  # there is no threshold
    assert grey_side(ax) == (0.0, 1.0)


@pytest.mark.slow
def test_pipelines_are_drawn_in_raw_units(rng):
    n = 120
    table = pd.DataFrame(
        {
            "height": np.where(np.arange(n) % 2, 160.0, 190.0) + rng.normal(size=n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) % 3 * 100, "D"),
        }
    )
    pipeline = table_pipeline(table, 6, split="axis", lambda_=1.0, depth=3, random_state=0)
    pipeline.fit(table)
    axes = plot_tests(pipeline, table)
    names = {ax.get_xlabel() for ax in axes}
    assert names <= {"height", "day"}
    axes[0].figure.canvas.draw()
    for ax in axes:
        texts = [label.get_text() for label in ax.get_xticklabels()]
        assert any("2024" in text for text in texts) == (ax.get_xlabel() == "day")
    assert len(axes) == len(raw_view(pipeline).tree_.decision_nodes)


@pytest.mark.slow
def test_grids_show_all_tests_or_some(tree, X):
    axes = plot_tests(tree, X, n_columns=2, title="all")
    assert len(axes) == 3
    places = ["node 0 (root)", "node 1 (left child of node 0)", "node 2 (right child of node 0)"]
    assert axes[0].figure.get_suptitle().split("\n")[0] == "all"
    assert plot_tests(tree, X)[0].figure.get_suptitle().startswith("The tests of the tree\nRows")
    some = plot_tests(tree, X, nodes=tree.decision_nodes[:1])[0].figure.get_suptitle()
    assert some.startswith(f"1 of the {len(tree.decision_nodes)} tests of the tree\n")
    assert [ax.get_title(loc="left").split("\n")[0] for ax in axes] == places
    assert len(plot_tests(tree, X, nodes=[2])) == 1


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda tree, X: plot_test(tree, 3, X), "node must be .* one of 0, 1, 2; got 3"),
        (lambda tree, X: plot_test(tree, True, X), "node must be .* got True"),
        (lambda tree, X: plot_test(tree, 0, None), "X is None; give the rows"),
        (lambda tree, X: plot_test(Tree.single_leaf(0, 3), 0, X), "the tree has none; got 0"),
        (lambda tree, X: plot_tests(Tree.single_leaf(0, 3), X), "there are 0"),
        (lambda tree, X: plot_tests(tree, X, nodes=[0] * 61), "there are 61. Name some"),
        (lambda tree, X: plot_test(tree, 0, X, sample_weight=[1.0]), "sample_weight has 1 entries"),
    ],
)
def test_bad_arguments(tree, X, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(tree, X)
