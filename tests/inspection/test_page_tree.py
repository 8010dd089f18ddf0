"""The page in a browser: drawing, folding, moving, zooming, the map, the search."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from browsing import DESK, Page, file_of_digits, open_page, path_of_digits, started_browser
from sklearn.datasets import load_wine

from greedy import ExKMC
from tao_cluster import PenaltyMethod, TAOClustering, Tree, table_pipeline
from tao_cluster.page import to_html

pytestmark = pytest.mark.slow
browser = pytest.fixture(scope="module")(started_browser)
path = pytest.fixture(scope="module")(path_of_digits)
file = pytest.fixture(scope="module")(file_of_digits)
page = pytest.fixture(params=[DESK], ids=["desk"])(open_page)


@pytest.fixture(scope="module")
def wide(digits, tmp_path_factory):
    """Return a tree of 84 leaves and its page."""
    tree = ExKMC(30, max_leaves=84, random_state=0).fit(digits).tree_
    assert tree.n_leaves == 84
    file = tmp_path_factory.mktemp("wide") / "wide.html"
    to_html(tree, file, X=digits, image_shape=(8, 8))
    return tree, file


def overlap(a, b):
    apart_x = a["x"] >= b["x"] + b["width"] or b["x"] >= a["x"] + a["width"]
    return not (apart_x or a["y"] >= b["y"] + b["height"] or b["y"] >= a["y"] + a["height"])


def test_every_node_is_drawn_and_none_overlaps(page, path):
    page.one("#unfold").click()
    tree = path[0].tree_
    assert page.nodes() == set(range(tree.n_nodes))
    boxes = [element.rect for element in page.all("g.node rect.box")]
    assert not any(overlap(a, b) for a, b in itertools.combinations(boxes, 2))
    signs = [sign.text for sign in page.all("text.sign")]
    assert signs.count("yes") == signs.count("no") == len(tree.decision_nodes)


def test_a_choice_shows_all_weights(page, path):
    page.node(0).click()
    indices, weights = path[0].tree_.split(0)
    assert page.one("#details h2").text == "test 0"
    spreads = path[0].split_stds_[: len(indices)]
    largest = indices[np.abs(weights * spreads).argmax()]
    assert page.all("#details td.name")[0].text == f"x{largest}"
    text = page.run("return document.getElementById('details').textContent")
    for j, weight in zip(indices, weights, strict=True):
        assert f"x{j}" in text
        if j == largest:
            assert f"{weight:.4g}".replace("-", "\N{MINUS SIGN}") in text
    assert re.search("(Left|Upper branch) if the sum is at most", text)


def test_folding_opens_one_level_and_stays_in_place(page, path):
    tree = path[0].tree_
    page.one("#unfold").click()
    page.one("#fold").click()
    assert page.nodes() == {0, int(tree.children_left[0]), int(tree.children_right[0])}
    child = max(page.nodes(), key=lambda node: tree.path_matrix[:, node].sum() * (node > 0))
    before = page.box(f'[data-node="{child}"] .box')
    page.one(f'[data-toggle="{child}"]').click()
    after = page.box(f'[data-node="{child}"] .box')
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"]), abs=1.0)
    assert len(page.nodes()) == 5
    page.one(f'[data-toggle="{child}"]').click()
    assert len(page.nodes()) == 3
    page.one('[data-toggle="0"]').click()
    assert page.nodes() == {0}


# ---------------------------------------------------------------- charts and names


def test_a_test_shows_its_rows(browser, tmp_path):
    """Two features: a scatter plot with the line; one or more of them: a histogram."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    splits = [([0, 1], [1.0, -2.0]), ([0, 1, 2], [1.0, 1.0, 1.0]), ([2], [-1.0]), *[None] * 4]
    children = [1, 3, 5, *[-1] * 4], [2, 4, 6, *[-1] * 4]
    tree = Tree.from_splits(
        *children, splits, [0.2, 0, 0.3, 0, 0, 0, 0], [-1, -1, -1, 0, 1, 2, 3], 3
    )
    file = tmp_path / "charts.html"
    to_html(tree, file, X=X)
    page = Page(browser, file)
    here = tree.path_matrix[tree.apply(X)].toarray() > 0
    page.node(0).click()
    assert len(page.all(".chart circle")) == 80
    inside = """const line = document.querySelector('.chart .cut');
        const shape = document.querySelector('.chart .side');
        return [...document.querySelectorAll('.chart circle')].map((c) => {
          const at = line.ownerSVGElement.createSVGPoint();
          at.x = +c.getAttribute('cx'); at.y = +c.getAttribute('cy');
          return shape.isPointInFill(at); }).filter(Boolean).length"""
    assert page.run(inside) == here[:, 1].sum()
    widths = """const middle = +document.querySelector('.chart .cut').getAttribute('x1');
        return [...document.querySelectorAll('.chart .part')].map((r) => [
          +r.getAttribute('x') + r.getAttribute('width') / 2 < middle,
          +r.getAttribute('height')])"""
    for node in (1, 2):
        page.node(node).click()
        bars = page.run(widths)
        left_is_lower = tree.split(node)[1][0] > 0
        left = sum(height for is_lower, height in bars if is_lower == left_is_lower)
        child = int(tree.children_left[node])
        share = here[:, child].sum() / here[:, node].sum()
        assert left / sum(height for _, height in bars) == pytest.approx(share)
        label = page.one(".chart").get_attribute("aria-label")
        assert f"{here[:, child].sum()} to the " in label
    assert "\N{MINUS SIGN}0.3" in page.one(".chart").text
    assert page.faults() == []


def test_long_names_are_inside_their_boxes_with_the_threshold(browser, tmp_path):
    begin = "How satisfied are you, all things considered, with your "
    names = [f"{begin}{end}?" for end in ("home and the place where you live", "work", "花" * 40)]
    names += [
        "a_very_long_column_name_of_a_data_base_that_somebody_generated_in_cm",
        "bill_length_mm",
    ]
    X = np.random.default_rng(0).normal(size=(60, 5))
    splits = [(range(5), np.ones(5)), ([0], [1.0]), ([3], [-1.0]), *[None] * 4]
    children = [1, 3, 5, *[-1] * 4], [2, 4, 6, *[-1] * 4]
    limits = [0.1, 1234.5678, -0.4321, 0, 0, 0, 0]
    tree = Tree.from_splits(*children, splits, limits, [-1, -1, -1, 0, 1, 2, 3], 5)
    file = tmp_path / "names.html"
    to_html(tree, file, X=X, feature_names=names)
    page = Page(browser, file)
    for group in page.all("g.node"):
        box = group.find_element("css selector", ".box").rect
        for text in group.find_elements(
            "css selector", ":scope > text, :scope > g:not(.toggle) text"
        ):
            assert text.rect["x"] >= box["x"] - 1, text.text
            assert text.rect["x"] + text.rect["width"] <= box["x"] + box["width"] + 1, text.text
    for node, limit in ((0, "≤ 0.1"), (1, "< 1235"), (2, "≥ 0.4321")):
        assert limit in page.node(node).text
    drawn = [text.text for text in page.node(0).find_elements("css selector", "g > text.name")]
    assert len(set(drawn)) == len(drawn)
    assert begin.strip() in page.one("footer").text
    page.node(0).click()
    assert {cell.text for cell in page.all("#details td.name")} >= set(names)
    heights = {piece.rect["height"] for piece in page.all("#details td.name .piece")}
    assert len(heights) == 1  # no line breaks inside of a short piece such as a unit
    assert page.run("return document.documentElement.scrollWidth") <= DESK[0]
    assert page.faults() == []


@pytest.fixture(scope="module")
def views(path, file, wide, tmp_path_factory):
    """Return (file, tree) of ordinary trees, which are seen as a whole, and of a wide one."""
    folder, rng = tmp_path_factory.mktemp("views"), np.random.default_rng(0)
    kind, n = rng.integers(5, size=600), rng.integers(90, size=(2, 600))
    joined = pd.Timestamp("2015-01-01") + pd.to_timedelta(700 * kind + n[0], "D")
    customers = pd.DataFrame({"joined": joined, "annual income (EUR)": 25_000 * (kind % 3) + n[1]})
    customers["loyalty"] = np.array(["bronze", "gold", "none"])[(kind + (n[0] > 60)) % 3]
    table = table_pipeline(customers, 5, random_state=0).fit(customers)
    table[-1].name_clusters({0: "Young savers of the first years", 1: "Loyal"})
    to_html(table, folder / "customers.html", X=customers)
    return {
        "digits": (file, path[0].tree_),
        "wide": (wide[1], wide[0]),
        "customers": (folder / "customers.html", table[-1].tree_),
    }


@pytest.mark.parametrize(
    ("name", "size"), [("digits", (390, 844)), ("customers", (390, 844)), ("wide", (1280, 720))]
)
def test_the_first_view_shows_the_tree_legibly(browser, views, name, size):
    """All open nodes are inside, with texts of at least 10 pixels; the legend fits the form."""
    file, tree = views[name]
    page = Page(browser, file, size)
    n_open = len(page.nodes())
    assert n_open == tree.n_nodes if name != "wide" else 10 < n_open < tree.n_nodes
    read = """const stage = document.getElementById('stage').getBoundingClientRect();
        const scale = document.getElementById('world').getCTM().a, out = [], sizes = [];
        const right = Math.min(stage.right, innerWidth);
        const bottom = Math.min(stage.bottom, innerHeight);
        for (const group of document.querySelectorAll('g.node')) {
          const box = group.querySelector('.box').getBoundingClientRect();
          if (box.left < stage.left || box.top < stage.top || box.right > right + 0.5
            || box.bottom > bottom + 0.5) out.push(group.dataset.node);
          for (const text of group.querySelectorAll(':scope > text, g:not(.toggle) > text')) {
            const own = text.getBoundingClientRect();
            sizes.push(parseFloat(getComputedStyle(text).fontSize) * scale);
            if (own.left < box.left - 1 || own.right > box.right + 1) out.push(text.textContent);
          } }
        return [out, Math.min(...sizes)]"""
    out, smallest = page.run(read)
    assert out == []
    assert smallest >= 10
    assert page.run("return document.documentElement.scrollWidth") <= size[0]
    root, first = (page.box(f'[data-node="{i}"] .box') for i in (0, tree.children_left[0]))
    is_down = first["x"] + first["width"] / 2 < root["x"] + root["width"] / 2
    legend = page.one("footer").text
    assert ("go left" in legend, "the upper branch" in legend) == (is_down, not is_down)
    assert ("push it right" in legend) <= is_down
    if name == "customers":
        overlaps = """const boxes = [...document.querySelectorAll('g.node .box')].map((one) =>
              one.getBoundingClientRect());
            return [...document.querySelectorAll('text.sign')].map((one) => {
              const own = one.getBoundingClientRect();
              return boxes.filter((box) => own.left < box.right - 1 && own.right > box.left + 1
                && own.top < box.bottom - 4 && own.bottom > box.top + 4).length; })"""
        assert set(page.run(overlaps)) == {0}
        page.node(int(tree.leaves[0])).click()
        told = r".+, 1 leaf, \d+ rows \(\d+\.\d %\): .+ overall.*\. Rule: "
        assert re.match(told, page.one("#details .sentence").text)
        assert re.search(r"joined.*\d{4}-\d\d", page.one("#details table").text)
    if name == "wide":
        page.one("#unfold").click()
        assert len(page.nodes()) == tree.n_nodes
        for _ in range(4):
            page.one("#closer").click()
        assert page.one("#map").is_displayed() == (size[0] > 800)  # it would cover nodes
    assert page.faults() == []


def test_the_map_moves_the_tree(browser, wide):
    page = Page(browser, wide[1])
    page.one("#unfold").click()
    for _ in range(12):
        page.one("#closer").click()
    box = page.box("#mapNodes rect")  # the root
    for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        page.devtools(
            "Input.dispatchMouseEvent",
            type=kind,
            button="left",
            buttons=buttons,
            clickCount=1,
            **place,
        )
    assert overlap(page.box('[data-node="0"] .box'), page.box("#stage"))
    assert page.faults() == []


def test_dragging_moves_and_chooses_nothing(browser, file):
    page = Page(browser, file)
    before = page.box('[data-node="0"] .box')
    x, y = before["x"] + 10, before["y"] + 10
    for kind, dx in (
        ("mousePressed", 0),
        ("mouseMoved", 30),
        ("mouseMoved", 70),
        ("mouseReleased", 70),
    ):
        mouse = {"button": "left", "buttons": 1, "clickCount": 1}
        page.devtools("Input.dispatchMouseEvent", type=kind, x=x + dx, y=y + dx, **mouse)
    after = page.box('[data-node="0"] .box')
    assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((70, 70), abs=1)
    assert page.all("g.selected") == []


def test_a_part_alone_and_the_way_back(page, path):
    tree = path[0].tree_
    page.one("#unfold").click()
    node = next(i for i in tree.decision_nodes if i)
    page.run("document.querySelector(`[data-node='${arguments[0]}']`).focus()", int(node))
    page.press("\ue007")
    page.one("#details button.focus").click()
    page.one("#unfold").click()
    below = np.flatnonzero(tree.path_matrix[:, [node]].toarray().ravel())
    assert page.nodes() == set(below.tolist())
    crumbs = page.all("#crumbs button")
    assert [crumbs[0].text, crumbs[-1].text] == ["whole tree", f"test {node}"]
    crumbs[0].click()
    assert 0 in page.nodes()
    assert not page.one("#crumbs").is_displayed()


def test_search_finds_the_tests_of_a_feature(page, path):
    tree = path[0].tree_
    page.one("#unfold").click()
    feature = int(tree.split(0)[0][0])
    page.type("#search", f"x{feature}")
    names = [f"x{j}" for j in range(64)]
    wanted = {
        int(node)
        for node in tree.decision_nodes
        if any(f"x{feature}" in names[j] for j in tree.split(node)[0])
    }
    found = {int(group.get_attribute("data-node")) for group in page.all("g.hit")}
    assert found == wanted
    assert page.one("#message").text.startswith(f"{len(wanted)} test")
    page.one("#fold").click()
    for number in sorted(wanted):
        page.one("#search").send_keys("\ue007")  # Enter: the next one, opened
        assert page.one("#details h2").text == f"test {number}"
        assert number in page.nodes()
    page.type("#search", "")


def test_the_slider_goes_through_the_models(page, path):
    for position, model in enumerate(path):
        page.slide(position)
        page.one("#unfold").click()
        assert f"{model.tree_.n_leaves} leaves" in page.one("#summary").text
        assert f"{model.cost_increase_:.2f} %" in page.one("#summary").text
        assert len(page.nodes()) == model.tree_.n_nodes


KINDS = {
    "axis": lambda X: ExKMC(5, random_state=0).fit(X),
    "histograms": lambda X: TAOClustering(
        5, algorithm=PenaltyMethod(penalty="squared", refine=False), random_state=0
    ).fit(X),
}


@pytest.mark.parametrize(("kind", "has_rows"), [("axis", True), ("histograms", False)])
def test_other_trees(browser, digits, tmp_path, kind, has_rows):
    X = load_wine().data if kind == "axis" else digits
    model = KINDS[kind](X)
    file = tmp_path / "page.html"
    to_html(model, file, X=X if has_rows else None)
    page = Page(browser, file)
    tree = getattr(model, "tree_", model)
    page.one("#unfold").click()
    assert len(page.nodes()) == tree.n_nodes
    leaf = int(tree.leaves[0])
    page.node(leaf).click()
    assert page.one("#details h2").text == f"leaf {leaf}: cluster {tree.leaf_label[leaf]}"
    assert ("Clusters of its rows" in page.one("#details").text) == (kind == "histograms")
    assert bool(page.all("#details section td.bar")) == (has_rows or kind == "histograms")
    assert page.faults() == []


def test_the_first_view_follows_the_size_until_hands_are_there(browser, file):
    """A frame in a notebook gets its size late; this does not undo the choices of the reader."""

    def view(page):
        return page.run("return document.getElementById('world').getAttribute('transform')")

    def resized(page, width):
        screen = {"width": width, "height": 700, "deviceScaleFactor": 1, "mobile": False}
        page.devtools("Emulation.setDeviceMetricsOverride", **screen)
        page.run_later("const done = arguments[0]; setTimeout(done, 300);")
        return view(page)

    narrow = view(Page(browser, file, (800, 700)))
    page = Page(browser, file, DESK)
    assert view(page) != narrow
    assert resized(page, 800) == narrow
    page.one("#closer").click()
    chosen = view(page)
    assert resized(page, 1300) == chosen != narrow
