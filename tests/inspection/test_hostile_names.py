"""Names of columns, clusters and classes that break lines, encodings, quotes or markup."""

import functools
import html.parser
import io
import json
import sqlite3
import warnings
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from conftest import rest_in_sweeps

from greedy import ExKMC
from tao_cluster import Tree, describe, load
from tao_cluster.columns import Indicator
from tao_cluster.explanations import explain, nearest_change
from tao_cluster.export import to_dataframe, to_dot, to_onnx, to_rules, to_sql, to_text
from tao_cluster.page import to_html
from tao_cluster.plot import plot_test, plot_tests, plot_tree
from tao_cluster.report import report

BREAKS = [
    *("a\nb", "\n", "a\r\nb", "a\rb", "a\tb", "a\vb", "a\fb"),
    *("a\x1cb", "a\x1db", "a\x1eb", "a\x85b", "a\u2028b", "a\u2029b"),
]
CONTROLS = [
    *("a\0b", "\0", "a\x01b", "a\x08b", "\x1b[31mred", "\x1b]0;title\x07", "a\x7fb", "a\x9bb"),
    *("a\u202eb", "a\u2066b", "\ufeffa", "a\ufffeb", "a\uffffb"),
]
HALVES = ["\ud800", "a\udfffb", "\udc80\udcff"]
MARKUP = [
    *("</script><script>alert(1)</script>", "<b>a</b>", "&lt;", "&#0;", "]]>", "<!--", "-->"),
    *('"', "'", '""', "a'b\"c", "\\", "\\N", "a\\", "a`b", "{", "}", "{0}", "%s", "${title}"),
    *("$x$", "$\\frac{1}{", "a$b", "_a", "x^2"),
]
OTHERS = ["", " ", "a;DROP TABLE points;--", "if", "größe μ", "花弁", "👩\u200d🔬", "x" * 10_000]
HOSTILE = [*BREAKS, *CONTROLS, *HALVES, *MARKUP, *OTHERS]
assert len(HOSTILE) == len(set(HOSTILE)) >= 53
ROWS = np.random.default_rng(0).integers(0, 9, (60, 2)).astype(float)


def tree_of_two():
    """A weighted sum, then a test of the first feature."""
    splits = [([0, 1], [1.0, -2.0]), ([0], [1.0]), None, None, None]
    children = [1, 3, -1, -1, -1], [2, 4, -1, -1, -1]
    return Tree.from_splits(*children, splits, [0.0, 4.0, 0, 0, 0], [-1, -1, 2, 0, 1], 2)


TREE = tree_of_two()


@functools.cache
def models():
    return [ExKMC(k, random_state=0).fit(ROWS) for k in (2, 3)]


@pytest.fixture(params=HOSTILE, ids=[f"{i}" for i in range(len(HOSTILE))])
def names(request):
    return [request.param, "b"]


@pytest.fixture(params=rest_in_sweeps(HOSTILE, *HOSTILE[::4]), ids=range(len(HOSTILE)))
def some_names(request):
    """For what takes longer: every fourth name, the others in sweeps."""
    return [request.param, "b"]


def check_line(text):
    """One line that can be encoded, without what steers a terminal."""
    assert len(text.splitlines()) == 1
    text.encode()
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)


def test_text_rules_and_dot_have_the_lines_of_plain_names(names):
    for export in (to_text, to_dot):
        found, plain = export(TREE, names), export(TREE, ["a", "b"])
        assert len(found.splitlines()) == len(plain.splitlines())
        for line in found.splitlines():
            check_line(line)
    for rule in to_rules(TREE, names):
        check_line(rule)
    if names[0] not in [*BREAKS, *CONTROLS, *HALVES, "", " "]:
        assert names[0] in to_text(TREE, names)  # what can be shown is not touched


def test_report_and_dataframe(names):
    facts = report(TREE, ROWS, feature_names=names)
    json.dumps(facts, ensure_ascii=False).encode()
    frame = to_dataframe(TREE, names, X=ROWS)
    for test in frame["test"][:2]:
        check_line(test)
    frame.to_csv(io.BytesIO(), encoding="utf-8")


def test_explanations(some_names):
    names = some_names
    with_names = {"feature_names": names}
    why = explain(TREE, ROWS[0], names)
    change = nearest_change(TREE, ROWS[0], 1, **with_names)
    all_clusters = describe(TREE, ROWS, **with_names)
    plain = explain(TREE, ROWS[0]), nearest_change(TREE, ROWS[0], 1), describe(TREE, ROWS)
    for found, usual in zip((why, change, all_clusters), plain, strict=True):
        assert len(str(found).splitlines()) == len(str(usual).splitlines())
        for line in filter(None, str(found).splitlines()):
            check_line(line)
        markup = found._repr_html_()
        markup.encode()
        assert "<script" not in markup
    # Columns are looked up by the names they have, not by those that are shown.
    assert nearest_change(TREE, dict(zip(names, ROWS[0], strict=True)), 1, **with_names)
    fixed = nearest_change(TREE, [4.0, 0.0], 0, fixed=[names[0]], **with_names)
    assert [changed.feature for changed in fixed.changes] == [1]


def test_sql_gives_the_clusters_or_a_sentence(names):
    if not names[0] or "\0" in names[0] or names[0] in HALVES:
        with pytest.raises(ValueError, match=r"empty name|SQL cannot hold"):
            to_sql(TREE, names)
        return
    connection = sqlite3.connect(":memory:")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    connection.execute(f"CREATE TABLE points ({columns})")
    connection.executemany("INSERT INTO points VALUES (?, ?)", ROWS.tolist())
    query = f"{to_sql(TREE, names, table='points')} ORDER BY rowid"
    found = [row[-1] for row in connection.execute(query)]
    connection.close()
    assert found == TREE.predict(ROWS).tolist()


class Scripts(html.parser.HTMLParser):
    """Texts of the title and of the script elements of a page."""

    def __init__(self):
        super().__init__()
        self.found, self.inside = {"script": [], "title": [""]}, None

    def handle_starttag(self, tag, attributes):
        del attributes
        self.inside = tag if tag in self.found else None
        if tag == "script":
            self.found["script"].append("")

    def handle_endtag(self, tag):
        if tag == self.inside:
            self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.found[self.inside][-1] += data


def test_page(some_names, tmp_path):
    names = some_names
    path = tmp_path / "page.html"
    y = np.where(ROWS[:, 0] > 4, "yes", "no")
    options = {"X": ROWS, "y": y, "class_names": names}
    to_html(TREE, path, feature_names=names, title=names[0] or None, **options)
    parts, usual = Scripts(), Scripts()
    parts.feed(path.read_text(encoding="utf-8"))
    usual.feed(to_html(TREE, X=ROWS))
    assert len(parts.found["script"]) == len(usual.found["script"])
    data = max(parts.found["script"], key=lambda script: script.startswith("{"))
    packed = json.loads(data)
    for name in (*packed["names"], *packed["classes"], *packed["models"][0]["nodes"][1]["test"]):
        check_line(name)
    check_line(parts.found["title"][0].strip())


def svg_of(figure):
    """The picture, read as XML: its texts."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)  # of curves
        with plt.rc_context({"svg.fonttype": "none"}):
            figure.savefig(file, format="svg")
    plt.close(figure)
    return [text for text in ET.fromstring(file.getvalue()).itertext() if text.strip()]  # noqa: S314


@pytest.mark.spaced(quick=0, slow=2)
def test_pictures(some_names):
    names = some_names
    y = np.where(ROWS[:, 0] > 4, "yes", "no")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No installed font has", UserWarning)
        ax = plot_tree(TREE, ROWS, y=y, feature_names=names, class_names=names, title=names[0])
        way = explain(TREE, ROWS[0], names).plot()
        cards = describe(TREE, ROWS, feature_names=names).plot()
        test, tests = plot_test(TREE, 0, ROWS, feature_names=names), plot_tests(TREE, ROWS)[0]
    for figure in (ax.figure, way, cards, test.figure, tests.figure):
        assert svg_of(figure)


# ---------------------------------------------------------------- clusters, categories, models


class Labelled:
    """A model that explains labels with these names, or whose clusters have these names."""

    def __init__(self, names, attribute):
        self.tree_ = TREE
        setattr(self, attribute, names)

    def apply(self, X):
        return TREE.apply(X)


@pytest.mark.spaced(quick=0, slow=4)
@pytest.mark.parametrize("attribute", ["classes_", "cluster_names_"])
def test_labels(some_names, attribute):
    names = some_names
    model = Labelled([*names, "c"], attribute)
    assert len(to_text(model).splitlines()) == len(to_text(TREE).splitlines())
    for rule in to_rules(model, X=ROWS):
        check_line(rule)
    assert len(to_dot(model).splitlines()) == len(to_dot(TREE).splitlines())
    json.dumps(report(model, ROWS), ensure_ascii=False).encode()
    to_html(model, X=ROWS).encode()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No installed font has", UserWarning)
        ax = plot_tree(model)
    assert svg_of(ax.figure)
    if "\0" in names[0] or names[0] in HALVES:
        with pytest.raises(ValueError, match="SQL cannot hold"):
            to_sql(model)
        return
    connection = sqlite3.connect(":memory:")
    row = "SELECT 9.0 AS x0, 9.0 AS x1"
    query = f"SELECT {to_sql(model)} FROM ({row})"  # noqa: S608
    assert connection.execute(query).fetchone() == ([*names, "c"][TREE.predict([[9.0, 9.0]])[0]],)
    connection.close()


def test_models_keep_the_names_they_were_fitted_to(tmp_path):
    """In files of JSON, in ONNX and in what predict compares, nothing is printable but texts."""
    n = len(HOSTILE)
    X = np.random.default_rng(0).normal(size=(80, n))
    frame = pd.DataFrame(X, columns=pd.Index(HOSTILE, dtype=object))
    model = ExKMC(3, max_leaves=12, random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == HOSTILE
    path = tmp_path / "model.json"
    model.save(path)
    again = load(path)
    assert again.feature_names_in_.tolist() == HOSTILE
    np.testing.assert_array_equal(again.predict(frame), model.labels_)
    assert len(to_rules(again)) == model.tree_.n_leaves
    pytest.importorskip("onnx", reason="onnx is optional")
    assert to_onnx(model) == to_onnx(model.tree_)


# ---------------------------------------------------------------- names that SQL takes for one


@pytest.mark.parametrize("pair", [("A", "a"), ("É", "é"), ("Width", "WIDTH")])
def test_sql_of_names_that_differ_by_case_only(pair):
    with pytest.raises(ValueError, match=r"differ only by case, which SQL does not distinguish"):
        to_sql(TREE, pair)
    single = Tree.from_splits([1, -1, -1], [2, -1, -1], [([2], [1.0])] + [None] * 2, [0.5, 0, 0],
                              [-1, 0, 1], 3)  # fmt: skip
    assert '"b"' in to_sql(single, [*pair, "b"])  # neither is tested
    with pytest.raises(ValueError, match="differ only by case"):
        to_sql(single, ["b", *pair])
    with pytest.raises(ValueError, match="differ only by case"):
        to_sql(single, ["b", Indicator(pair[0], "x"), Indicator(pair[1], "x")])
    assert '"A"' in to_sql(single, ["b", Indicator("A", "x"), Indicator("A", "X")])
