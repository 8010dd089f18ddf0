"""The interactive page: trees, their weights and the paths of rows in one offline HTML file."""

import html
import json
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from ..columns.names import printable
from ..columns.table_reader import reads_once
from ..columns.view import shown
from ..description import describe
from ..export.format import minus_signs
from ..inspection.rows import Rows
from ..report import report
from ..tree import tree_of
from .packing import packed

__all__ = ["Page", "to_frame", "to_html"]

# The scripts run in this order and share one scope.
_SCRIPTS = (
    *("data", "arithmetic", "state", "layout", "elements", "glyphs", "forms", "drawing"),
    *("viewport", "paper", "charts", "details", "trace", "table", "typing", "keys", "main"),
)
_MEANS = {
    "image": "Leaves show the mean of their rows; tests show it in pale grey below the weights.",
    "words": "Leaves show the words of largest mean.",
    "bars": "Leaves show their means or shares (and those of all rows)",
}
_FRAME = (
    '<iframe srcdoc="{}" sandbox="allow-scripts" title="tree" loading="lazy" '
    'style="width: 100%; height: 620px; border: 0"></iframe>'
)


@np.errstate(under="ignore")
@reads_once
def to_html(
    models,
    path=None,
    *,
    X=None,
    y=None,
    feature_names=None,
    class_names=None,
    image_shape=None,
    title=None,
    sample_weight=None,
    scaled=False,
):
    """Return or write a page on which a tree, or several trees, can be explored.

    The page is one HTML file that loads nothing from elsewhere.

    - The first view shows the whole tree in text of at least 10 pixels, on a screen of 1280 x 720
      pixels as on a phone. If it does not fit downwards, it is drawn in columns or as an indented
      list. If a tree is too large for these, the parts with most rows are open.
    - Tests show their largest weights. Leaves show the mean of their rows, as pictures, words or
      values in the units of the columns. A panel lists everything about the selected node, and the
      sentence of :func:`tao_cluster.describe` about its cluster, with the rule at the end, unless
      the features are pixels.
    - For a selected test, the panel draws the values that it compares, in the colours of the
      clusters: a histogram of the tested column or of the weighted sum, bars for the levels of a
      categorical column, or for two features a scatter plot with the line of the test.
    - The tree can be moved, zoomed, folded and searched by mouse, touch and keys; ``?`` lists the
      keys. A slider selects the tree if there are several.
    - The decision path of a row is shown test by test, with the arithmetic of `predict`.
    - The page has a light and a dark style. The open nodes are printed on one sheet of A4 in
      landscape format, or in parts on several sheets if they would not be readable on one.

    The page has a bounded size. It stores the values of at most 1000 rows of X, in
    about 130 000 characters, and the first row of each leaf. The drawings of tests use a sample of
    at most 300 rows per test. All samples take about 240 000 characters; if there are very many
    tests, each has a sample of 20 rows.

    Parameters
    ----------
    models : Tree, fitted estimator or fitted pipeline, or list of them
        All models of a list must have the same features.
    path : path-like, optional
        File to write the page to. The default is to return the page.
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count at the nodes and to summarise at the leaves. Some of them can be traced. The
        default is to count the rows of the fit and to summarise none.
    y : array-like of shape (n,), optional
        True classes of the rows. Leaves show the share of each class.
    feature_names : sequence of str, optional
        Default `feature_names_in_`, or x0, x1, ...
    class_names : sequence of str, optional
        Names of the classes, in the order of the sorted distinct values of `y`. The default is
        these values.
    image_shape : (height, width), optional
        Draw features as pixels; height * width must be n_features.
    title : str, optional
        Title of the page. The default is the name of the data, which is ``X.attrs["name"]`` of a
        DataFrame, or else the number of clusters.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X. Nodes then show the weight beside the number of rows.
    scaled : bool, default=False
        Show weights times the standard deviation of their feature at the node. Features are ranked
        by this product, their effect, in either case.

    Returns
    -------
    Page or None
        The page, a string that notebooks show as a page; None if it is written to `path`.

    Raises
    ------
    ValueError
        If there is no model, if the models differ in their number of features, or if names,
        image_shape, X or y do not fit the models.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.page import to_html
    >>> page = to_html(Tree.single_leaf(0, 2), feature_names=["width", "height"])
    >>> page.startswith("<!DOCTYPE html>"), "http" in page.replace("http://www.w3.org/2000/svg", "")
    (True, False)
    """
    models = list(models) if isinstance(models, list | tuple) else [models]
    if not models:
        raise ValueError("models is empty; give at least one fitted model or Tree.")
    views = [shown(model, feature_names, X) for model in models]
    given, models, names = models, [view for view, _ in views], views[0][1]
    options = {"feature_names": names, "sample_weight": sample_weight, "scaled": scaled}
    reports = [report(model, X, **options) for model in models]
    trees = [tree_of(model) for model in models]
    page_title = printable(title or _title(trees, X))
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    rows = [Rows.from_data(model, X, y, class_names, weight) for model in models]
    data = packed(reports, trees, names, rows, image_shape=image_shape, scaled=scaled)
    if X is not None and data["kind"] != "image":  # features of an image are pixels
        for model, own in zip(given, data["models"], strict=True):
            options = {"feature_names": feature_names, "sample_weight": sample_weight}
            for segment in describe(model, X, **options).segments:
                own["clusters"][segment.number]["sentence"] = _sentence(segment)
    page = Template(_part("page.html")).substitute(
        title=html.escape(page_title),
        style=_part("page.css"),
        script="\n".join(_part(f"js/{name}.js") for name in _SCRIPTS),
        reading="".join(
            _reading(reports, data, X is not None, scaled, is_down) for is_down in (True, False)
        ),
        # "</script>" in a name would end the element that holds the data.
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    )
    if path is None:
        return Page(page)
    Path(path).write_text(page, encoding="utf-8")
    return None


class Page(str):
    """An HTML page as a string, which a notebook shows in a frame.

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> page = Tree.single_leaf(0, 2).to_html()
    >>> page[:15]
    '<!DOCTYPE html>'
    """

    __slots__ = ()

    def __repr__(self):
        return f"<Page of {len(self) / 1000:.0f} kB: to_html(path) writes it to a file>"

    def _repr_html_(self):
        """Return an iframe with the page, so that its styles do not affect the notebook."""
        return _FRAME.format(html.escape(self))


def to_frame(model, **options):
    """Return the page in an iframe, as notebooks show it.

    Parameters
    ----------
    model, **options
        As for :func:`to_html`, except `path`.

    Returns
    -------
    str

    Examples
    --------
    >>> from tao_cluster import Tree
    >>> from tao_cluster.page import to_frame
    >>> to_frame(Tree.single_leaf(0, 2))[:15]
    '<iframe srcdoc='
    """
    return to_html(model, **options)._repr_html_()


def _part(name):
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _title(trees, X):
    name = getattr(X, "attrs", {}).get("name")  # the metadata of a DataFrame
    if name:
        return str(name)
    n_clusters = len(np.unique(trees[0].leaf_label[trees[0].leaves]))
    clusters = "1 cluster" if n_clusters == 1 else f"{n_clusters} clusters"
    return f"Tree of {clusters}" if len(trees) == 1 else f"{len(trees)} trees of {clusters}"


def _sentence(segment):
    """Return the sentence of a segment with its rule, which can be long, at the end."""
    facts = segment.sentence.removeprefix(f"{segment.size}: {segment.rule}").removeprefix("; ")
    rule = f"{facts}. Rule: {segment.rule}" if facts else segment.rule
    return minus_signs(f"{segment.size}: {rule}")


def _reading(reports, data, has_rows, scaled, is_down):
    """Return the text below the tree, which explains the page if tests branch down, or across."""
    n_terms = {
        1 if node["levels"] is not None else len(node["terms"])
        for facts in reports
        for node in facts["nodes"]
    } - {0}
    both, to, away = (
        ("go left, all others go right", "left", "right")
        if is_down
        else ("take the upper branch, all others the lower one", "up", "down")
    )
    phrases = []
    if n_terms:
        phrases.append(
            f"Rows that meet the test {both}. The strip below a test shows the clusters of "
            "its rows."
        )
    if n_terms - {1}:
        weights = "weight times standard deviation (feature/sd)" if scaled else "weight"
        phrases.append(
            "A row meets a test if the weighted sum is at most the threshold: red weights push it "
            f"{away}, blue ones {to}. Features are sorted by effect, which is weight times "
            'standard deviation. <span class="unprinted">In the panel of a node, bars show the '
            f"effect and numbers the {weights}.</span>"
        )
    if has_rows:
        bars = ", and as bars how far these are apart in standard deviations" if is_down else ""
        phrases.append(_MEANS[data["kind"]] + (f"{bars}." if data["kind"] == "bars" else ""))
    if data["abbreviation"]["note"]:
        phrases.append(f"In the tree, {html.escape(data['abbreviation']['note'])}.")
    return f'<p class="reads-{"down" if is_down else "small"}">{" ".join(phrases)}</p>'
