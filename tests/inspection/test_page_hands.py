"""The page in a browser: touch, keys, accessibility, dark and printed pages, frames."""

import base64
import os
import re
import time
from pathlib import Path

import numpy as np
import pytest
from browsing import DESK, PHONE, Page, file_of_digits, path_of_digits, started_browser
from sight import luminance

from greedy import ExKMC
from tao_cluster.page import to_frame, to_html

pytestmark = pytest.mark.slow
browser = pytest.fixture(scope="module")(started_browser)

UP, DOWN, LEFT, RIGHT = "\ue013", "\ue015", "\ue012", "\ue014"
ENTER, SPACE, TAB, HOME = "\ue007", "\ue00d", "\ue004", "\ue011"


path = pytest.fixture(scope="module")(path_of_digits)
file = pytest.fixture(scope="module")(file_of_digits)


@pytest.fixture
def desk(browser, file):
    page = Page(browser, file, DESK)
    yield page
    assert page.faults() == []


@pytest.fixture
def phone(browser, file):
    page = Page(browser, file, PHONE)
    yield page
    assert page.faults() == []


def middle(page, selector):
    box = page.box(selector)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


# ---------------------------------------------------------------- touch


def test_a_tap_shows_a_node_and_folds_nothing(phone):
    before = phone.nodes()
    phone.touch("touchStart", middle(phone, '[data-node="0"] .box'))
    phone.touch("touchEnd")
    assert phone.one("#details h2").text == "test 0"
    assert phone.nodes() == before


@pytest.mark.parametrize("way", ["long press", "knob"])
def test_a_long_press_or_the_knob_folds(phone, way):
    assert len(phone.nodes()) > 1
    selector = '[data-node="0"] .box' if way == "long press" else '[data-toggle="0"] .knob'
    phone.touch("touchStart", middle(phone, selector))
    time.sleep(0.7 if way == "long press" else 0.05)
    phone.touch("touchEnd")
    assert phone.nodes() == {0}
    assert phone.all("#details h2") == []


def test_a_finger_moves_and_two_zoom(phone):
    x, y = middle(phone, '[data-node="0"] .box')
    before, scale = phone.box('[data-node="0"] .box'), phone.scale()
    phone.touch("touchStart", (x, y))
    for step in (15, 40):
        phone.touch("touchMove", (x - step, y + step))
    phone.touch("touchEnd")
    after = phone.box('[data-node="0"] .box')
    assert (after["x"] - before["x"], after["y"] - before["y"]) == pytest.approx((-40, 40), abs=1)
    stage = middle(phone, "#stage")
    fingers = [[(stage[0] - d, stage[1]), (stage[0] + d, stage[1])] for d in (40, 50, 60)]
    phone.touch("touchStart", *fingers[0])
    for pair in fingers[1:]:
        phone.touch("touchMove", *pair)
    phone.touch("touchEnd")
    assert phone.scale() == pytest.approx(1.5 * scale, rel=0.05)
    assert phone.all("#details h2") == []


def test_a_phone_needs_no_sideways_scrolling(phone):
    assert phone.run("return document.documentElement.scrollWidth") <= PHONE[0]
    assert phone.box("#panel")["y"] >= phone.box("#stage")["y"] + phone.box("#stage")["height"]
    assert phone.box("#stage")["height"] > 400


# ---------------------------------------------------------------- keys


def test_the_tab_key_comes_to_the_root_first(desk):
    desk.run("document.getElementById('stage').focus()")
    desk.press(TAB)
    assert desk.focused() == 0
    outline = (
        "return getComputedStyle(document.querySelector('[data-node=\"0\"] .box')).strokeWidth"
    )
    assert desk.run(outline) == "4px"
    assert [group.get_attribute("tabindex") for group in desk.all("g.node")].count("0") == 1
    desk.press(TAB)
    assert desk.focused() is None


def test_arrows_walk_the_tree(desk, path):
    tree = path[0].tree_
    desk.one("#unfold").click()
    desk.run("document.querySelector('[data-node=\"0\"]').focus()")
    desk.press(DOWN)
    left, right = int(tree.children_left[0]), int(tree.children_right[0])
    assert desk.focused() == left
    desk.press(RIGHT)
    assert desk.focused() == right
    desk.press(LEFT, LEFT)
    assert desk.focused() == left
    desk.press(UP)
    assert desk.focused() == 0
    desk.press(UP, DOWN, HOME)
    assert desk.focused() == 0
    desk.press(ENTER)
    assert desk.one("#details h2").text == "test 0"
    desk.press(SPACE)
    assert desk.nodes() == {0}
    desk.press(DOWN)  # opens what is folded
    assert (desk.focused(), desk.nodes()) == (left, {0, left, right})


# ---------------------------------------------------------------- accessibility


def test_roles_say_what_is_seen(desk, path):
    tree = path[0].tree_
    desk.one("#unfold").click()
    desk.node(0).click()
    for group in desk.all("g.node"):
        node = int(group.get_attribute("data-node"))
        assert group.get_attribute("role") == "treeitem"
        assert int(group.get_attribute("aria-level")) == tree.depth[node] + 1
        is_test = tree.children_left[node] >= 0
        assert group.get_attribute("aria-expanded") == ("true" if is_test else None)
        assert group.get_attribute("aria-selected") == ("true" if node == 0 else "false")
        kind = "test" if is_test else "leaf"
        assert group.accessible_name.startswith(f"{kind} {node}")
    desk.one('[data-toggle="0"]').click()
    assert desk.node(0).get_attribute("aria-expanded") == "false"


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_no_serious_fault(browser, file, size, dark):
    found = os.environ.get("AXE_PATH", "node_modules/axe-core/axe.min.js")
    if not Path(found).is_file():
        pytest.skip("axe-core is not there: npm install axe-core, or AXE_PATH=axe.min.js")
    page = Page(browser, file, size, dark)
    page.run(Path(found).read_text(encoding="utf-8"))
    check = """const done = arguments[arguments.length - 1];
        axe.run().then(({ violations }) => done(violations.map((one) => [one.impact, one.id,
          one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])));"""
    serious = []
    page.node(0).click()
    serious += page.run_later(check)
    page.one("#rowTab").click()
    page.all("#rows button")[2].click()
    serious += page.run_later(check)
    assert [fault for fault in serious if fault[0] in {"serious", "critical"}] == []


def brightness(page, selector, what):
    color = page.one(selector).value_of_css_property(what)
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


def test_a_dark_page_is_dark(browser, file):
    page = Page(browser, file)
    light = [brightness(page, "body", what) for what in ("background-color", "color")]
    assert light[0] > 240
    assert light[1] < 60
    dark = Page(browser, file, dark=True)
    assert brightness(dark, "body", "background-color") < 40
    assert brightness(dark, "g.test .box", "fill") < 80
    assert brightness(dark, "g.node text", "fill") > 120


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_coloured_marks_are_seen_on_their_boxes(browser, file, dark):
    """A mark, or the line around it, has a contrast of at least 3 to its background."""
    page = Page(browser, file, DESK, dark)
    page.one("#unfold").click()
    page.node(0).click()
    read = """const style = getComputedStyle, boxes = arguments[0];
        const back = style(document.querySelector(boxes[1])).getPropertyValue(boxes[2]);
        return [...document.querySelectorAll(boxes[0])].map((one) => { const own = style(one);
          return [back, own.fill, own.stroke, own.backgroundColor, own.borderTopColor]; })"""
    n_marks = 0
    for selector, ground, what in (
        (".node .part", "g.node .box", "fill"),
        (".mark, .chart .part", "body", "background-color"),
        ("path.edge", "#stage", "background-color"),
        ("#search, #fit", "body", "background-color"),
    ):
        is_html = selector in {"#search, #fit", ".mark, .chart .part"}
        for back, *colors in page.run(read, [selector, ground, what]):
            used = colors if is_html else colors[:2]
            assert max(contrast_of(color, back) for color in used) >= 3, (selector, colors, back)
            n_marks += 1
    assert n_marks > 30


def contrast_of(one, other):
    """Return the contrast of two computed colours; 1 for a transparent one."""
    parts = [[float(x) for x in re.findall(r"[\d.]+", text)] for text in (one, other)]
    if any(len(rgb) not in {3, 4} or rgb[3:] == [0] for rgb in parts):
        return 1.0
    dark, light = sorted(luminance(np.array(rgb[:3]) / 255) for rgb in parts)
    return (light + 0.05) / (dark + 0.05)


def test_chips_keep_their_colours_in_forced_colours(desk):
    desk.one("#rowTab").click()
    desk.all("#rows button")[0].click()
    read = """return [...document.querySelectorAll('.chip')]
        .map((chip) => getComputedStyle(chip).backgroundColor)"""
    before = desk.run(read)
    forced = {"name": "forced-colors", "value": "active"}
    desk.devtools("Emulation.setEmulatedMedia", media="", features=[forced])
    assert desk.run("return matchMedia('(forced-colors: active)').matches")
    assert desk.run(read) == before
    assert len(set(before)) > 1


# ---------------------------------------------------------------- paper and frames


def test_many_leaves_are_printed_legibly_on_several_sheets(browser, digits, tmp_path):
    tree = ExKMC(30, max_leaves=84, random_state=0).fit(digits).tree_
    file = tmp_path / "wide.html"
    to_html(tree, file, X=digits, image_shape=(8, 8))
    page = Page(browser, file)
    page.one("#unfold").click()
    place = page.box('[data-node="0"] .box')
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.show_as("print")
    numbers = "return [...document.querySelectorAll('.printed g.leaf')].map((g) => +g.dataset.node)"
    assert sorted(page.run(numbers)) == sorted(tree.leaves.tolist())
    parts = page.all(".printed")
    for number, part in enumerate(parts):
        assert part.rect["width"] < 1047  # of a landscape sheet with its margins, in pixels
        assert part.rect["height"] < 640
        title = part.find_element("css selector", "p").text
        if number:
            above = int(re.search(r"of part (\d+)$", title)[1])
            assert f"part {number + 1}" in parts[above - 1].text
    read = "return [...document.querySelectorAll('.printed svg')].map((s) => s.getScreenCTM().a)"
    assert min(page.run(read)) >= 0.5
    assert not page.one("#stage").is_displayed()
    page.show_as("")
    page.run("dispatchEvent(new Event('afterprint'))")
    assert page.box('[data-node="0"] .box') == pytest.approx(place)
    sheets = base64.b64decode(page.devtools("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert 1 < len(re.findall(rb"/Type\s*/Page\b", sheets)) < len(parts)
    assert page.all(".printed") == []
    assert page.faults() == []


def test_a_printed_page_is_one_sheet(desk):
    for _ in range(6):
        desk.one("#closer").click()
    before = desk.box('[data-node="0"] .box')
    sheet = base64.b64decode(desk.devtools("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 1
    width, height = map(float, re.search(rb"/MediaBox \[0 0 (\S+) (\S+)\]", sheet).groups())
    assert (width, height) == pytest.approx((842, 595), abs=1)  # A4 landscape, in points
    assert desk.box('[data-node="0"] .box') == pytest.approx(before)


def test_the_tree_on_paper_is_whole_and_alone(desk):
    for _ in range(6):
        desk.one("#closer").click()
    desk.show_as("print")
    stage = desk.box("#stage")
    assert stage["width"] > 0
    for box in (group.rect for group in desk.all("g.node .box")):
        assert stage["x"] <= box["x"] <= box["x"] + box["width"] <= stage["x"] + stage["width"]
        assert stage["y"] <= box["y"] <= box["y"] + box["height"] <= stage["y"] + stage["height"]
    for selector in (".controls", "#panel", "#map", ".toggle", ".unprinted"):
        assert not desk.one(selector).is_displayed()
    assert desk.one("#summary").is_displayed()


def test_a_notebook_shows_it_in_a_sandbox(browser, path, digits, tmp_path):
    file = tmp_path / "notebook.html"
    frame = to_frame(path[0], X=digits, image_shape=(8, 8)).replace('loading="lazy" ', "")
    file.write_text(f"<!DOCTYPE html><title>notebook</title>{frame}", encoding="utf-8")
    page = Page(browser, file)
    browser.switch_to.frame(page.one("iframe"))
    try:
        assert 0 in page.nodes()
        page.node(0).click()
        assert page.one("#details h2").text == "test 0"
        assert np.isclose(
            page.box("#stage")["width"] + page.box("#panel")["width"], DESK[0], atol=40
        )
    finally:
        browser.switch_to.default_content()
    assert page.faults() == []
