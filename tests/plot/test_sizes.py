"""Pictures of trees in the sizes of a column, a slide and a screen, measured from the renderer."""

import re
import warnings

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from conftest import random_tree
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from tao_cluster import DirectForm, TAOClustering, Tree, describe, table_pipeline
from tao_cluster.plot import plot_tests, plot_tree

TARGETS = {
    "paper": {"style": "paper", "width": 3.3, "font_size": 8},
    "slide": {"style": "slide"},
    "screen": {},
}
LEAST = {"paper": 8, "slide": 16, "screen": 5}  # points
LONG = [f"In the last twelve months, how often did you and your family buy {x}?"
        for x in ("fresh vegetables", "frozen vegetables", "bread", "milk")]  # fmt: skip
WORDS = [
    f"{word}{end}" for word in ("space", "god", "car", "file", "game") for end in ("", "s", "ly")
]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def balanced(n_leaves, n_features, rng, n_terms=1, n_clusters=26):
    """A tree whose leaves have one of two depths, each of another cluster."""
    n, left = 2 * n_leaves - 1, np.full(2 * n_leaves - 1, -1)
    left[: n_leaves - 1] = 2 * np.arange(n_leaves - 1) + 1
    splits = [
        (np.sort(rng.choice(n_features, n_terms, replace=False)), rng.normal(size=n_terms))
        for _ in range(n_leaves - 1)
    ]
    labels = np.where(left < 0, (np.arange(n) - n_leaves + 1) % n_clusters, -1)
    threshold = np.where(left < 0, 0.0, rng.normal(size=n).round(2))
    right = np.where(left < 0, -1, left + 1)
    return Tree.from_splits(
        left, right, [*splits, *[None] * n_leaves], threshold, labels, n_features
    )


def customers(rng, n=400):
    kind = rng.choice(3, n)
    return pd.DataFrame({
        "income": np.array([30_000, 45_000, 83_000])[kind] * np.exp(0.1 * rng.normal(size=n)),
        "last_order": pd.Timestamp("2024-09-01")
        - pd.to_timedelta(np.array([30, 200, 60])[kind] + rng.integers(20, size=n), unit="D"),
        "loyalty": np.array(["none", "silver", "platinum"])[kind],
    })  # fmt: skip


def tree_pictures():
    """The arguments of plot_tree for each tree, by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    wine, digits = load_wine(as_frame=True).data, load_digits().data
    texts = sp.csr_matrix(np.abs(rng.normal(size=(300, 15))) * (rng.random((300, 15)) < 0.3))
    images = balanced(40, 64, rng, n_terms=6, n_clusters=10)
    names = list(wine.columns)
    return {
        "digits, 10 leaves": (balanced(10, 64, rng, 6), digits, {"image_shape": (8, 8)}),
        "digits, 40 leaves": (images, digits, {"image_shape": (8, 8)}),
        "wine, oblique": (balanced(4, 13, rng, 5), wine.to_numpy(), {"feature_names": names}),
        "words": (balanced(8, 15, rng, 7), texts, {"feature_names": WORDS}),
        "long names": (balanced(4, 4, rng, 3), X, {"feature_names": LONG}),
        "histograms": (balanced(3, 4, rng, 2), X, {"nodes": "projection"}),
    }


def fitted_pictures():
    """The arguments of plot_tree for fitted models, by name; dearer than those of given trees."""
    wine, table = load_wine(as_frame=True).data, customers(np.random.default_rng(0))
    fit = {"random_state": 0, "split": "axis"}
    few = TAOClustering(3, standardize=True, max_leaves=4, **fit).fit(wine)
    return {
        "wine": (few, wine, {}),
        "customers": (table_pipeline(table, 3, max_leaves=4, **fit).fit(table), table, {}),
    }


@pytest.fixture(scope="module")
def given():
    return tree_pictures()


@pytest.fixture(scope="module")
def pictures(given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits with few leaves
        return given | fitted_pictures()


def check(ax, least, fills=0.8):
    """Texts have their size, are apart and in the figure; the drawing fills most of one side."""
    figure = ax.figure
    figure.draw_without_rendering()
    texts = [t for t in (*ax.texts, ax.title) if t.get_text().strip()]
    assert min(t.get_fontsize() for t in texts) > least - 0.01
    boxes = np.array([t.get_window_extent().extents for t in texts])
    page, line = figure.bbox.extents, least * figure.dpi / 72
    assert np.all(boxes[:, :2] >= page[:2] - 1)
    assert np.all(boxes[:, 2:] <= page[2:] + 1)
    # Boxes have space for the ends of letters such as "g" also where there are none.
    shared = np.minimum(boxes[:, None, 2:], boxes[:, 2:]) - np.maximum(
        boxes[:, None, :2], boxes[:, :2]
    )
    overlaps = np.argwhere(np.all(shared > 0.3 * line, axis=2) & ~np.eye(len(boxes), dtype=bool))
    assert not len(overlaps), [[texts[i].get_text() for i in pair] for pair in overlaps[:3]]
    labels = [found for text in texts if (found := text.get_bbox_patch())]
    drawn = [patch.get_window_extent().extents for patch in (*ax.patches, *labels)]
    boxes = np.array([*boxes, *drawn])
    sides = np.ptp([boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)], axis=0)
    assert max(sides / (page[2:] - page[:2])) >= fills


NAMES = [
    "digits, 10 leaves",
    "digits, 40 leaves",
    "wine",
    "customers",
    "words",
    "long names",
    "histograms",
]


@pytest.mark.parametrize(("target", "n_bars"), [("paper", 5), ("slide", 4), ("screen", 5)])
def test_sums_signs_and_sizes_of_a_given_tree(given, target, n_bars):
    ax = check_target(given, "wine, oblique", target)
    shown = [t.get_text() for t in ax.texts]
    counted = [int(found[1]) for text in shown if (found := re.match(r"\+ (\d+) more", text))]
    assert counted == [5 - n_bars] * (3 if n_bars < 5 else 0)  # the terms that are left out
    assert sum(text in ("yes", "no") for text in shown) == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("standardize", "size"), [(False, {}), (True, {"width": 3.3, "font_size": 8})]
)
def test_sums_on_paper_have_all_their_terms_with_weights(standardize, size):
    X = load_breast_cancer(as_frame=True).data
    quick = {"algorithm": DirectForm(n_init=1, search="none", copies=0), "random_state": 0}
    model = TAOClustering(4, max_parameters=20, standardize=standardize, **quick).fit(X)
    ax = plot_tree(model, X, style="paper", **size)
    shown = [t.get_text().replace("\N{MINUS SIGN}", "-") for t in ax.texts]
    assert not [text for text in shown if "more" in text]
    splits = [model.tree_.split(node) for node in model.tree_.decision_nodes]
    terms = [pair for split in splits if len(split[0]) > 1 for pair in zip(*split[:2], strict=True)]
    assert len(terms) > 2
    for j, weight in terms:
        starts = [text.split()[0] for text in shown if X.columns[j].split()[-1] in " ".join(shown)]
        numbers = [float(start) for start in starts if re.fullmatch(r"-?[\d.]+", start)]
        assert np.any(np.isclose(numbers, weight, rtol=0.06)), (X.columns[j], weight, shown)


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_trees_can_be_read_at_the_size_of_their_target(pictures, name, target):
    check_target(pictures, name, target)


def check_target(pictures, name, target):
    model, X, options = pictures[name]
    ax = plot_tree(model, X, **TARGETS[target], **options)
    check(ax, LEAST[target], 0.85 if target == "slide" else 0.8)
    assert ax.caption or ax.figure.caption == ""
    size = ax.figure.get_size_inches()
    if target == "paper":
        assert size[0] == pytest.approx(3.3)
        assert not ax.get_title()
    if target == "slide":
        np.testing.assert_allclose(size, (40 / 3, 7.5))
    return ax


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_least_size_that_an_error_names_suffices(rng, seed):
    rng = np.random.default_rng(seed)
    n_terms = int(rng.integers(1, 4))
    tree, X = (
        random_tree(rng, n_nodes=15 + 4 * seed, density=n_terms / 6),
        rng.normal(size=(200, 6)),
    )
    options = {"font_size": float(rng.uniform(7, 14)), "style": rng.choice(["paper", "screen"])}
    sizes = {"width": 0.8} if seed % 2 else {"width": 1.5, "height": 1.0}
    with pytest.raises(ValueError, match="needs at least width") as raised:
        plot_tree(tree, X, **sizes, **options)
    found = re.findall(r"(width|height)=([\d.]+)", str(raised.value).split("at least")[1])
    sizes |= {name: float(value) for name, value in found}
    check(plot_tree(tree, X, **sizes, **options), options["font_size"], 0.5)


@pytest.mark.slow
def test_given_axes_and_figsize(given):
    model, X, options = given["wine, oblique"]
    ax = plt.figure(figsize=(6, 5)).add_axes((0, 0, 1, 1))
    assert plot_tree(model, X, ax=ax, style="paper", font_size=8, **options) is ax
    check(ax, 8)
    assert ax.caption == ax.figure.caption != ""
    by_figsize = plot_tree(model, X, figsize=(6, 5), style="paper", font_size=8, **options)
    assert by_figsize.figure.get_size_inches().tolist() == [6, 5]
    texts = [sorted(t.get_text() for t in each.texts) for each in (ax, by_figsize)]
    assert texts[0] == texts[1]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"root": 1}, {"max_depth": 1}])
def test_parts_of_a_tree(rng, options):
    tree, X = balanced(7, 4, np.random.default_rng(1)), rng.normal(size=(300, 4))
    for target, least in LEAST.items():
        check(plot_tree(tree, X, **options, **TARGETS[target]), least, 0.5)
    ax = plot_tree(tree, X, **options)
    shown = {line for t in ax.texts for line in t.get_text().split("\n")}
    n = np.count_nonzero(tree.decision_path(X)[:, [options.get("root", 0)]].toarray())
    rows = [int(text.split()[0]) for text in shown if re.fullmatch(r"\d+ rows?", text)]
    assert sum(rows) <= n
    if "max_depth" not in options:
        assert f"rows of node {options['root']}" in " ".join(shown)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"style": "poster"}, "style must be one of paper, slide, screen; got 'poster'"),
        ({"width": 0}, "width must be finite and greater than 0; got 0"),
        ({"font_size": "large"}, "font_size must be finite and greater than 0; got 'large'"),
        ({"figsize": 3}, "figsize must be"),
        ({"figsize": (3, 4), "width": 3}, "either width or figsize, not both"),
        ({"root": 99}, "root must be a node, from 0 to .*; got 99"),
    ],
)
def test_bad_sizes(rng, options, message):
    with pytest.raises(ValueError, match=message):
        plot_tree(balanced(3, 4, rng), **options)


@pytest.mark.slow
def test_leaves_of_tables_have_raw_units_and_dates(pictures):
    model, X, _ = pictures["customers"]
    shown = " ".join(t.get_text() for t in plot_tree(model, X).texts)
    assert re.search(r"\d\d\u00a0000 \(\d\d\u00a0000\)", shown)  # income
    assert re.search(r"2024-\d\d-\d\d \(2024-\d\d-\d\d\)", shown)
    assert re.search(r"100 % \(\d\d %\) loyalty: platinum", shown)


def drawn_texts(figure):
    """The texts of a figure that are drawn."""
    found = [t for t in figure.findobj(mpl.text.Text) if t.get_text().strip() and t.get_visible()]
    return [t for t in found if t.axes is None or t.axes.axison or t in t.axes.texts]


@pytest.mark.slow
@pytest.mark.parametrize("target", ["paper", "slide"])
def test_grids_of_tests_and_cards(pictures, target):
    model, X, _ = pictures["wine"]
    cards = describe(model, X).plot(**TARGETS[target])
    tests = plot_tests(model, X, **TARGETS[target])[0].figure
    for figure in (cards, tests):
        for text in drawn_texts(figure):
            assert text.get_fontsize() > (LEAST[target] if figure is tests else 7.4) - 0.01
        inside = figure.get_tightbbox()
        assert min(inside.x0, figure.get_size_inches()[0] - inside.x1) > -0.02
        assert figure.caption
        assert figure.get_size_inches()[0] == pytest.approx(3.3 if target == "paper" else 40 / 3)
    with pytest.raises(ValueError, match="cannot be read at this size"):
        plot_tests(model, X, width=1, font_size=8)
    with pytest.raises(ValueError, match=r"cannot be read at this size .* at least width=2\.2"):
        describe(model, X).plot(width=1, font_size=8)


def test_a_figure_on_paper_is_a_vector_picture_in_its_size(given, tmp_path):
    _, X, options = given["digits, 10 leaves"]
    tree = balanced(3, 64, np.random.default_rng(0), 6)
    ax = plot_tree(tree, X, style="paper", width=3.3, font_size=8, **options)
    ax.figure.savefig(tmp_path / "tree.pdf")
    content = (tmp_path / "tree.pdf").read_bytes()
    width, _ = map(float, re.search(rb"/MediaBox \[ 0 0 ([\d.]+) ([\d.]+) \]", content).groups())
    assert width == pytest.approx(3.3 * 72, abs=0.1)
    assert b"/Font" in content
    pixels = [int(n) for n in re.findall(rb"/Width (\d+)", content)]
    assert min(pixels) >= 3.2 * 250  # one bitmap of all images, of at least 250 dots per inch
