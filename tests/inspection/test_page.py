"""The interactive page: what is in it, and how it behaves in a browser."""

import json
import re
import shutil

import numpy as np
import pytest
from conftest import random_tree
from sklearn.base import clone

from greedy import ExKMC
from tao_cluster import TAOClustering, Tree, tao_path
from tao_cluster.inspection.page import to_frame, to_html


def data_of(page):
    """What the page's script reads."""
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


@pytest.fixture(scope="module")
def path(digits, digits_reference):
    return tao_path(digits, 10, [0.5, 10], reference=digits_reference, n_init=1, random_state=0)


def test_page_needs_nothing_from_elsewhere(path, digits):
    page = to_html(path, X=digits, image_shape=(8, 8))
    assert re.findall(r"https?://[^\"\s]+", page) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<link|<img|@import|url\(|<script[^>]* src", page)
    facts = data_of(page)
    assert len(facts["models"]) == 2
    assert len(facts["samples"]) == 20
    for model, shown in zip(path, facts["models"], strict=True):
        tree = model.tree_
        for node in tree.decision_nodes:
            found = shown["nodes"][node]
            order = np.argsort(found["features"])
            np.testing.assert_array_equal(np.array(found["features"])[order], tree.split(node)[0])
            np.testing.assert_array_equal(np.array(found["weights"])[order], tree.split(node)[1])
            assert found["threshold"] == tree.threshold[node]


def test_page_of_a_large_tree_is_small(rng):
    tree = random_tree(rng, n_features=784, n_nodes=127, density=1.0)
    features = {i: tree.split(i)[0] for i in tree.decision_nodes}
    tree = tree.with_splits(
        {i: ((j, rng.normal(size=len(j))), tree.threshold[i]) for i, j in features.items()}
    )
    assert tree.n_leaves == 64
    assert len(to_html(tree, image_shape=(28, 28))) < 2_000_000


def test_names_cannot_break_out_of_the_page():
    names = ["</script><script>alert(1)</script>", "a & <b>"]
    tree = Tree.from_splits(
        [1, -1, -1], [2, -1, -1], [([0, 1], [1.0, 2.0]), None, None], [0, 0, 0], [-1, 0, 1], 2
    )
    page = to_html(tree, feature_names=names, title="<i>")
    assert data_of(page)["names"] == names
    assert page.count("<script") == 2
    assert "<i>" not in page
    assert "<script" not in to_frame(tree, feature_names=names)


def test_bad_input():
    tree = Tree.single_leaf(0, 6)
    with pytest.raises(ValueError, match="no model"):
        to_html([])
    with pytest.raises(ValueError, match=r"\(2, 2\) does not hold 6"):
        to_html(tree, image_shape=(2, 2))
    with pytest.raises(ValueError, match="names for 5 features"):
        to_html([tree, Tree.single_leaf(0, 5)])


def test_notebooks_show_the_tree_once_there_is_one(path, tmp_path):
    model = path[0]
    shown = model._repr_mimebundle_()["text/html"]
    assert "srcdoc" in shown
    assert "srcdoc" not in clone(model)._repr_mimebundle_()["text/html"]
    assert "srcdoc" in model.tree_._repr_html_()
    file = tmp_path / "tree.html"
    assert file.write_text("") == 0
    assert model.to_html(file) == file.read_text(encoding="utf-8")


# ---------------------------------------------------------------- in a browser

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1300,950",
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    driver, binary = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or binary is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    profile = tmp_path_factory.mktemp("profile")
    for option in [*OPTIONS, f"--user-data-dir={profile}"]:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()


class Page:
    """A page that is open in a browser."""

    def __init__(self, browser, file):
        self._browser = browser
        browser.get(file.as_uri())

    def all(self, selector):
        return self._browser.find_elements("css selector", selector)

    def one(self, selector):
        return self._browser.find_element("css selector", selector)

    def point_at(self, element):
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self._browser).move_to_element(element).perform()

    def slide(self, value):
        script = "const s = document.getElementById('slider'); s.value = arguments[0];"
        self._browser.execute_script(script + "s.dispatchEvent(new Event('input'))", value)

    def faults(self):
        return self._browser.get_log("browser")


@pytest.fixture
def page(browser, path, digits, tmp_path):
    file = tmp_path / "page.html"
    to_html(path, file, X=digits, image_shape=(8, 8))
    page = Page(browser, file)
    yield page
    assert page.faults() == []


def test_every_node_is_drawn_and_none_overlaps(page, path):
    assert len(page.all("g.node")) == path[0].tree_.n_nodes
    boxes = [element.rect for element in page.all("g.node rect.box")]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            apart_x = a["x"] >= b["x"] + b["width"] or b["x"] >= a["x"] + a["width"]
            apart_y = a["y"] >= b["y"] + b["height"] or b["y"] >= a["y"] + a["height"]
            assert apart_x or apart_y


def test_pointing_shows_all_weights(page, path):
    tip = page.one("#tip")
    assert not tip.is_displayed()
    page.point_at(page.one('[data-node="0"]'))
    assert tip.is_displayed()
    indices, weights = path[0].tree_.split(0)
    assert len(page.all("#tip tr")) == min(len(indices), 25)
    spreads = path[0].split_spreads_[: len(indices)]
    largest = indices[np.abs(weights * spreads).argmax()]
    assert page.all("#tip td.name")[0].text == f"x{largest}"
    for j in indices:
        assert f"x{j} " in f"{tip.text} "
    page.point_at(page.one("#title"))
    assert not tip.is_displayed()


def test_a_click_folds_and_unfolds(page, path):
    tree = path[0].tree_
    below = int(tree.path_matrix[:, 1].sum()) - 1
    page.one('[data-node="1"]').click()
    assert len(page.all("g.node")) == tree.n_nodes - below
    assert page.all(".fold")[0].text.endswith("leaves folded")
    page.one('[data-node="1"]').click()
    assert len(page.all("g.node")) == tree.n_nodes
    page.one("#fold").click()
    assert len(page.all("g.node")) == 3
    page.one("#unfold").click()
    assert len(page.all("g.node")) == tree.n_nodes


def test_rows_take_the_way_that_predict_says(page, path, digits):
    for model, position in ((path[0], 0), (path[1], 1)):
        page.slide(position)
        for option in page.all("#sample option")[1::4]:
            row = int(option.text)
            option.click()
            leaf, cluster = model.apply(digits[[row]])[0], model.predict(digits[[row]])[0]
            assert page.one("#message").text.endswith(f"leaf {leaf}: cluster {cluster}")
            assert len(page.all("g.node.on")) == model.tree_.depth[leaf] + 1
    page.one("#clear").click()
    assert page.all("g.node.on") == []


def test_typed_rows_are_traced_or_told_what_is_wrong(page, path, digits):
    values = page.one("#values")
    for text, said in (("1, 2", "2 values for 64 features"), ("a," * 64, "“a” is not a number")):
        values.clear()
        values.send_keys(text)
        page.one("#trace").click()
        assert said in page.one("#message").text
    values.clear()
    values.send_keys(", ".join(map(repr, digits[3].tolist())))
    page.one("#trace").click()
    assert page.one("#message").text.endswith(f"cluster {path[0].predict(digits[[3]])[0]}")


def test_the_slider_goes_through_the_models(page, path):
    for position, model in enumerate(path):
        page.slide(position)
        assert f"{model.tree_.n_leaves} leaves" in page.one("#summary").text
        assert f"{model.cost_increase_:.2f} %" in page.one("#summary").text
        assert len(page.all("g.node")) == model.tree_.n_nodes


@pytest.mark.parametrize("kind", ["single leaf", "axis", "histograms"])
def test_other_trees(browser, digits, tmp_path, kind):
    model = {
        "single leaf": lambda: Tree.single_leaf(3, 64),
        "axis": lambda: ExKMC(5, random_state=0).fit(digits),
        "histograms": lambda: TAOClustering(5, penalty="squared", random_state=0).fit(digits),
    }[kind]()
    file = tmp_path / "page.html"
    to_html(model, file)
    page = Page(browser, file)
    tree = getattr(model, "tree_", model)
    assert len(page.all("g.node")) == tree.n_nodes
    page.point_at(page.all("g.node.leaf")[0])
    assert "cluster" in page.one("#tip").text
    assert page.faults() == []
