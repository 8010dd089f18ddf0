"""The page in a browser: decision paths of rows, their sums, the table of rows, nearest changes."""

import re

import numpy as np
import pandas as pd
import pytest
from browsing import DESK, Page, file_of_digits, open_page, path_of_digits, started_browser
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from greedy import ExKMC
from tao_cluster import TAOClustering, Tree
from tao_cluster.columns import Indicator
from tao_cluster.page import to_html

pytestmark = pytest.mark.slow
browser = pytest.fixture(scope="module")(started_browser)
path = pytest.fixture(scope="module")(path_of_digits)
file = pytest.fixture(scope="module")(file_of_digits)
page = pytest.fixture(params=[DESK], ids=["desk"])(open_page)


def choose(page, row):
    """Find a row by its number and click on it."""
    page.one("#rowTab").click()
    page.type("#find", str(row))
    page.one(f'tr[data-row="{row}"] button').click()


def carried(page):
    """Return the numbers of the rows of the page."""
    return page.run("return JSON.parse(document.getElementById('data').textContent).rows.ids")


def sums_of(tree, x):
    """Return the sums of the tests on the path of a row, by node, and its leaf."""
    node, sums = 0, {}
    while tree.children_left[node] >= 0:
        total = 0.0
        for j, weight in zip(*tree.split(node), strict=True):
            total += float(weight) * float(x[j])
        sums[node] = total
        children = tree.children_left if total <= tree.threshold[node] else tree.children_right
        node = int(children[node])
    return sums, node


def traced(page):
    """Return the sums that the page shows, by node."""
    return {
        int(step.get_attribute("data-step")): float(step.get_attribute("data-sum"))
        for step in page.all("#trace [data-sum]")
    }


def test_rows_take_the_way_that_predict_says(page, path, digits):
    rows = carried(page)[:: len(carried(page)) // 5]
    for model, position in ((path[0], 0), (path[1], 1)):
        page.slide(position)
        for row in rows:
            choose(page, row)
            leaf, cluster = model.apply(digits[[row]])[0], model.predict(digits[[row]])[0]
            assert page.one("#message").text.endswith(f"leaf {leaf}: cluster {cluster}")
            sums, end = sums_of(model.tree_, digits[row])
            assert (traced(page), leaf) == (sums, end)  # bit by bit
            assert len(page.all("g.node.on")) == model.tree_.depth[leaf] + 1
    page.one("#clear").click()
    assert page.all("g.node.on") == []
    assert page.one("#trace").text == ""


def test_bars_add_up_to_the_sum(page, path, digits):
    row = carried(page)[3]
    choose(page, row)
    for step in page.all("#trace [data-sum]"):
        drawing = step.find_elements("css selector", "svg")
        if not drawing:
            continue
        script = """return [...arguments[0].querySelectorAll('rect')].map((r) => ({
            x: +r.getAttribute('x'), width: +r.getAttribute('width'),
            side: r.className.baseVal}))"""
        *bars, total = page.run(script, drawing[0])
        moves = [bar["width"] * (1 if bar["side"] == "right" else -1) for bar in bars]
        positive = float(step.get_attribute("data-sum")) > 0
        # A bar has at least one pixel, so that it is visible.
        expected = total["width"] * (1 if positive else -1)
        assert sum(moves) == pytest.approx(expected, abs=len(bars) + 0.5)
        assert len(bars) <= 9  # eight terms, and the others


def test_a_change_of_one_feature_crosses(page, path, digits):
    model = path[0]
    n_found = 0
    for row in carried(page)[1:200:10]:
        choose(page, row)
        before = model.apply(digits[[row]])[0]
        for text in page.all("#change[data-value], #other"):
            changed = digits[[row]].copy()
            feature = int(text.get_attribute("data-feature"))
            changed[0, feature] = float(text.get_attribute("data-value"))
            assert 0 <= changed[0, feature] <= 1
            end = model.apply(changed)[0]
            assert end == int(text.get_attribute("data-leaf")) != before
            if text.get_attribute("id") == "other":
                assert model.predict(changed)[0] != model.predict(digits[[row]])[0]
            n_found += 1
    assert n_found >= 3


def test_rows_are_found_by_number_leaf_cluster_and_class(page, path, digits):
    page.one("#rowTab").click()
    ids, model = np.array(carried(page)), path[0]
    leaf = int(model.tree_.leaves[2])
    where = {
        f"leaf {leaf}": model.apply(digits[ids]) == leaf,
        "cluster 1": model.predict(digits[ids]) == 1,
        "17": np.char.startswith(ids.astype(str), "17"),
    }
    for query, mask in where.items():
        page.type("#find", query)
        listed = [int(line.get_attribute("data-row")) for line in page.all("#rows tr")]
        assert listed == ids[mask][:100].tolist(), query
        assert page.one("#found").text.startswith(f"{mask.sum()} of")
    assert len(page.all("#rows img")) == len(page.all("#rows tr"))


def test_typed_rows_are_followed_or_told_what_is_wrong(page, path, digits):
    page.one("#rowTab").click()
    page.one("#typed summary").click()
    faults = {
        "1, 2": "2 values for 64 features",
        "a," * 64: "“a” is not a number",
        "x1 = b": "“b” is not a number",
        "y = 1": "No feature here is called “y”",
    }
    for text, said in faults.items():
        page.type("#values", text)
        page.one("#go").click()
        assert said in page.one("#message").text
    row = digits[3]
    named = "; ".join(f"x{j} = {row[j]!r}" for j in np.flatnonzero(row)).replace("np.float64", "")
    for text in (", ".join(map(repr, row.tolist())), named.replace("(", "").replace(")", "")):
        page.type("#values", text)
        page.one("#go").click()
        assert page.one("#message").text.endswith(f"cluster {path[0].predict(digits[[3]])[0]}")
        assert traced(page) == sums_of(path[0].tree_, row)[0]


def test_levels_names_with_commas_and_printed_numbers_are_typed(browser, tmp_path):
    names = [
        "bill, length = mm",
        "bill",
        *(Indicator("island", level) for level in ("Biscoe", "Dream, north", "Torgersen")),
    ]
    splits = [([0], [1.0]), ([3], [1.0]), None, None, None]
    children = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    tree = Tree.from_splits(*children, splits, [-2.5, 0.5, 0, 0, 0], [-1, -1, 2, 0, 1], 5)
    file = tmp_path / "typed.html"
    to_html(tree, file, X=np.eye(5), feature_names=names)
    page = Page(browser, file)
    page.one("#rowTab").click()
    page.one("#typed summary").click()
    said = {
        "bill, length = mm = \u22123, island = Dream, north": "leaf 4: cluster 1",
        "island=dream, north; bill = 7, bill, length = mm = -3": "leaf 4: cluster 1",
        "bill, length = mm = \u22123; island = Biscoe,": "leaf 3: cluster 0",
        "island = Dream, north, bill, length = mm = 0": "leaf 2: cluster 2",
        "island = Mainau": "“Mainau” is not a level of island; it has Biscoe, Dream, north, T",
        "bill = 3, beak = 4": "No feature here is called “beak”",
    }
    for text, end in said.items():
        page.type("#values", text)
        page.one("#go").click()
        assert end in page.one("#message").text, text
    page.type("#values", "\u22123 0 0 1 0")
    page.one("#go").click()
    assert page.one("#message").text.endswith("leaf 4: cluster 1")
    assert page.faults() == []


def test_the_list_of_rows_has_headers_and_one_tab_stop(page):
    page.one("#rowTab").click()
    headers = [cell.text for cell in page.all("#headers th")]
    assert headers == ["image", "row", "leaf", "cluster", "class"]
    stops = [button.get_attribute("tabindex") for button in page.all("#rows button")]
    assert (stops.count("0"), len(stops)) == (1, 100)
    page.run("document.getElementById('find').focus()")
    page.press("\ue004")
    focused = "return document.activeElement.textContent"
    rows = [button.text for button in page.all("#rows button")]
    assert page.run(focused) == rows[0]
    page.press("\ue015", "\ue015")  # down
    assert page.run(focused) == rows[2]
    page.press("\ue010")  # End
    assert page.run(focused) == rows[-1]
    page.press("\ue004")
    assert page.run("return document.activeElement.closest('#list')") is None


def test_a_table_of_categories_in_its_own_columns(browser, tmp_path):
    wine = load_wine(as_frame=True).data.rename(columns={"proline": "proline (mg/l)"})
    table = wine.assign(plan=np.array(["gold", "free", "none"])[np.arange(178) % 3])
    table["hue"] += 20 * (table["plan"] == "gold")
    steps = make_column_transformer((OneHotEncoder(), ["plan"]), remainder=StandardScaler())
    pipeline = make_pipeline(steps, ExKMC(4, random_state=0)).fit(pd.DataFrame(table))
    file = tmp_path / "table.html"
    to_html(pipeline, file, X=table)
    page = Page(browser, file)
    for row in (0, 50, 177):
        choose(page, row)
        assert page.one("#message").text.endswith(
            f"cluster {pipeline.predict(table[row : row + 1])[0]}"
        )
        value = float(page.one("#change").get_attribute("data-value"))
        text = page.one("#change").text
        assert " is " not in text.split(" from ")[0] or value in {0.0, 1.0}
    assert page.faults() == []


def test_the_nearest_change_is_another_level(browser, tmp_path):
    rng = np.random.default_rng(0)
    regions = ["north", "east", "south", "west", "centre"]
    table = pd.DataFrame({"region": rng.choice(regions, 200), "plan": rng.choice(["a", "b"], 200)})
    is_left = table["region"].isin(["north", "west"])
    embedding = np.column_stack([3.0 * is_left, 2.0 * (table["plan"] == "a")])
    steps = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["region", "plan"]), verbose_feature_names_out=False
    ).set_output(transform="pandas")
    model = TAOClustering(4, split="axis", max_leaves=4, random_state=0)
    pipeline = make_pipeline(steps, model).fit(table, taoclustering__embedding=embedding)
    file = tmp_path / "levels.html"
    to_html(pipeline, file, X=table)
    page = Page(browser, file)
    columns = set()
    for row in (0, 5, 10, 15):
        choose(page, row)
        text = page.one("#change").text
        column, before, after = re.match(
            r"Nearest change: (\w+) from (\w+) to (\w+) crosses", text
        ).groups()
        assert before == table[column][row]
        moved = table[row : row + 1].assign(**{column: after})
        leaf = int(page.one("#change").get_attribute("data-leaf"))
        assert leaf == model.apply(steps.transform(moved))[0]
        assert leaf != model.apply(steps.transform(table[row : row + 1]))[0]
        steps_text = page.one("#trace").text
        assert f"plan is {table['plan'][row]}" in steps_text
        columns.add(column)
    assert columns
    assert "in {" in page.one("#trace").text
    assert page.faults() == []
