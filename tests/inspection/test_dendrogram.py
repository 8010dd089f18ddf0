"""The picture of nested clusterings: its levels, tests and clusters, and no texts that overlap."""

import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits, load_wine, make_blobs, make_circles

from greedy import IMM
from tao_cluster import TAOClustering, nested, table_pipeline

ROUNDING = 1.5  # pixels


def leaf_per_cluster(k, **options):
    return TAOClustering(k, **{"max_leaves": k, "split": "axis", "random_state": 0, **options})


def texts_of(ax):
    """The texts of a picture; none overlaps another one or leaves the figure."""
    figure = ax.figure
    figure.draw_without_rendering()
    texts = [text for text in (*ax.texts, ax.title) if text.get_text()]
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    for name, box in boxes:
        assert figure.bbox.x0 - 1 < box.x0 < box.x1 < figure.bbox.x1 + 1, name
        assert figure.bbox.y0 - 1 < box.y0 < box.y1 < figure.bbox.y1 + 1, name
    for (name, a), (other, b) in itertools.combinations(boxes, 2):
        width = min(a.x1, b.x1) - max(a.x0, b.x0)
        height = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(width, height) < ROUNDING, (name, other)
    return [name for name, _ in boxes[:-1]]


@pytest.fixture
def wine():
    return load_wine(as_frame=True).data.rename(columns=lambda name: name[:12])


@pytest.mark.slow
def test_levels_tests_and_clusters_in_the_units_of_the_columns(wine):
    model = leaf_per_cluster(4, standardize=True).fit(wine).name_clusters({0: "Light wines"})
    trees = nested(model, wine)
    ax = trees.plot(title="Wine")
    texts, cost = texts_of(ax), trees.table["cost"]
    assert ax.get_title().startswith("Wine\n")
    for k in range(1, 5):
        assert texts[texts.index(str(k)) + 1] == f"{100 * cost[k] / cost[1]:.1f} %"
    labels, names = trees.labels[-1], trees.model.cluster_names_
    assert "Light wines" in names
    off = wine.groupby(labels).mean().sub(wine.mean()) / wine.std()
    for c, name in enumerate(names):
        share, column, numbers = texts[texts.index(name) + 1 : texts.index(name) + 4]
        assert share == f"{100 * np.mean(labels == c):.0f} %"
        assert column == off.loc[c].abs().idxmax()
        mean = wine[column][labels == c].mean()
        assert float(numbers.split(" (")[0]) == pytest.approx(mean, abs=wine[column].std() / 10)


@pytest.mark.slow
def test_chosen_levels(wine):
    trees = nested(leaf_per_cluster(4).fit(wine), wine)
    assert {"1", "2", "3", "4"} & set(texts_of(trees.plot(levels=[2, 4]))) == {"2", "4"}
    assert trees.plot(width=5).figure.get_size_inches()[0] == pytest.approx(5)
    small = plt.figure(figsize=(4, 3), layout="constrained").gca()
    assert {"3", "cluster 3"} <= set(texts_of(trees.plot(ax=small)))
    with pytest.raises(ValueError, match="levels must be numbers of clusters from 1 to 4"):
        trees.plot(levels=[5])
    with pytest.raises(ValueError, match="does not hold 13 features"):
        trees.plot(image_shape=(2, 2))


@pytest.mark.slow
def test_the_left_side_of_a_test_is_on_the_left(rng):
    X = rng.normal(size=(150, 3))
    trees = nested(leaf_per_cluster(7, split="oblique").fit(X), X)
    tree = trees.model.tree_
    at = {text.get_text(): text.get_position()[0] for text in trees.plot().texts}
    place = np.array([at.get(f"cluster {c}", at.get(str(c))) for c in range(trees.n_clusters)])
    for node in tree.decision_nodes:
        sides = (tree.children_left[node], tree.children_right[node])
        left, right = (tree.leaf_label[tree.path_matrix[:, [i]].nonzero()[0]] for i in sides)
        assert place[left[left >= 0]].max() < place[right[right >= 0]].min()


@pytest.mark.slow
def test_several_tests_of_one_division():
    X = make_circles(300, factor=0.4, random_state=0)[0]
    model = TAOClustering(5, split="axis", max_leaves=20, random_state=0).fit(X)
    trees = nested(model, X, form="merges")
    assert texts_of(trees.plot()).count("several tests") == np.sum(trees.nodes < 0) > 0


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 2, 12])
def test_texts_can_be_read_at_the_default_size(k, rng):
    wine, digits = load_wine(as_frame=True).data[::2], load_digits(n_class=6).data[::5]
    table = pd.DataFrame(
        {
            "income of the whole household": rng.lognormal(10, 1, 200),
            "plan": rng.choice(["gold", "silver", "iron"], 200),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, 200), "D"),
        }
    )
    options = {"n_clusters": k, "split": "axis", "max_leaves": k, "random_state": 0}
    pipeline = table_pipeline(table, **options).fit(table)
    long = {0: "The very long name of a cluster that needs several lines"}
    named = leaf_per_cluster(k, split="oblique", standardize=True).fit(wine).name_clusters(long)
    for model, X in ((named, wine), (pipeline, table)):
        assert "100.0 %" in texts_of(nested(model, X).plot(title="A title"))
    trees = nested(leaf_per_cluster(k).fit(digits), digits)
    ax = trees.plot(image_shape=(8, 8))
    assert "100.0 %" in texts_of(ax)
    assert len(ax.images) == k + 3 * (k - 1)  # means, and tests over means


@pytest.mark.slow
def test_many_clusters():
    X = make_blobs(150, 3, centers=26, random_state=0)[0]
    texts = texts_of(nested(leaf_per_cluster(26).fit(X), X).plot())
    assert set(map(str, range(1, 27))) <= set(texts)


@pytest.mark.parametrize("k", [3, 5, 8])
def test_shares_are_whole_numbers_at_any_width(k):
    X, _ = make_blobs(240, 4, centers=k, random_state=k)
    X = pd.DataFrame(X, columns=[f"a rather long name of column {j}" for j in range(4)])
    trees = nested(IMM(k, random_state=0).fit(X), X)
    try:
        ax = trees.plot(width=3.3)
    except ValueError as error:  # the size that it names suffices
        least = re.search(r"width=([\d.]+) and height=([\d.]+)", str(error))
        ax = trees.plot(width=float(least[1]))
    texts = texts_of(ax)
    shares = [f"{100 * np.mean(trees.labels[-1] == c):.0f} %" for c in range(k)]
    assert sorted(text for text in texts if re.fullmatch(r"\d+ %", text)) == sorted(shares)
    assert not [text for text in texts if re.search("\u2026 ?%|\\d\u2026", text)]
    plt.close(ax.figure)
