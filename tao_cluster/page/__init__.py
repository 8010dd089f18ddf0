"""The interactive page: one offline HTML file of trees, their weights and ways through them."""

import html
import json
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from ..columns.names import printable
from ..columns.view import shown
from ..inspection.rows import Rows
from ..report import report
from ..tree import tree_of
from .packing import packed

__all__ = ["Page", "to_frame", "to_html"]

# In the order in which they run, all in one scope: a file owns one thing.
_SCRIPTS: tuple[str, ...] = ("data", "arithmetic", "state", "layout", "elements", "glyphs")
_SCRIPTS += ("drawing", "viewport", "details", "trace", "table", "keys", "main")
_MEANS = {
    "image": "Leaves show the mean of their rows.",
    "words": "Leaves show the words of largest mean.",
    "bars": "Leaves show how far their means are from those of all rows, in standard deviations.",
}
_FRAME = (
    '<iframe srcdoc="{}" sandbox="allow-scripts" title="tree" loading="lazy" '
    'style="width: 100%; height: 620px; border: 0"></iframe>'
)


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
    """A page that shows a tree, or the trees of a path, without anything from elsewhere.

    Tests show what they weigh, leaves what their rows have in common, as pictures, words or bars;
    a node's panel has all of it. The tree can be moved, zoomed, folded and searched, the way of a
    row followed from test to test in the arithmetic of `predict`, and a slider goes through the
    models. All of it works by mouse, touch and keys (``?`` lists them), in light and dark, and
    prints on one sheet.

    Parameters
    ----------
    models : Tree, fitted estimator or pipeline, or list of them over the same features
    path : path-like, optional
        Where to write the page; it is returned where there is none.
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count at the nodes (default those of the fit) and to show at the leaves; some are
        offered for tracing.
    y : array-like of shape (n,), optional
        True classes of the rows; a leaf shows their shares.
    feature_names : sequence of str, optional
        Default `feature_names_in_`, or x0, x1, ...
    class_names : sequence of str, optional
        In the order of the sorted distinct values of `y`; default these values.
    image_shape : (height, width), optional
        Draw features as pixels; height * width = n_features.
    title : str, optional
    sample_weight : array-like of shape (n,), optional
        Weights of the rows of X.
    scaled : bool, default=False
        Whether weights are shown times the spread of their feature at the node. Features are
        ranked by that product, their effect, in any case.

    Returns
    -------
    Page or None
        The page, a string that notebooks show as a page; None if it is written to `path`.

    Raises
    ------
    ValueError
        If there is no model, their numbers of features differ, or names, image_shape, X
        or y do not fit them.

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
        raise ValueError("There is no model to show.")
    page_title = printable(title or _title(models))
    views = [shown(model, feature_names) for model in models]
    models, names = [view for view, _ in views], views[0][1]
    options = {"feature_names": names, "sample_weight": sample_weight, "scaled": scaled}
    reports = [report(model, X, **options) for model in models]
    trees = [tree_of(model) for model in models]
    weight = None if sample_weight is None else np.asarray(sample_weight, np.float64)
    rows = [Rows.of(model, X, y, class_names, weight) for model in models]
    data = packed(reports, trees, names, rows, image_shape=image_shape, scaled=scaled)
    page = Template(_part("page.html")).substitute(
        title=html.escape(page_title),
        style=_part("page.css"),
        script="\n".join(_part(f"js/{name}.js") for name in _SCRIPTS),
        reading=_reading(reports, data["kind"], X is not None, scaled),
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
        """Return an iframe that holds the page and keeps its styles from the notebook's."""
        return _FRAME.format(html.escape(self))


def to_frame(model, **options):
    """The page in a frame of its own, as notebooks show it: str.

    Parameters as for :func:`to_html`.

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


def _title(models):
    kind = type(models[0]).__name__
    return kind if len(models) == 1 else f"{len(models)} models of {kind}"


def _reading(reports, kind, has_rows, scaled):
    """How to read what there is."""
    n_terms = {len(node["terms"]) for facts in reports for node in facts["nodes"]} - {0}
    phrases = []
    if n_terms:
        phrases.append(
            "The left branch is for rows that meet the test, the right one for others; the "
            "strip below a test shows the clusters that they end in."
        )
    if n_terms - {1}:
        weights = "weights times spread (feature/sd)" if scaled else "weights"
        phrases.append(
            "A weighted sum is at most its threshold there: red weights push a row right, blue "
            "ones left. Features stand by their effect, weight times spread, which the bars of a "
            f"node's list show, with their {weights}."
        )
    if has_rows:
        phrases.append(_MEANS[kind])
    return " ".join(phrases)
