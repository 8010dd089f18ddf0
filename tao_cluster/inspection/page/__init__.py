"""The interactive page: one offline HTML file of trees, their weights and ways through them."""

import html
import json
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from ..columns import numbers_of, shown
from ..export.names import condition_text, factor_name, typeset
from ..report import report

_MOST_SAMPLES = 20
_FRAME = (
    '<iframe srcdoc="{}" sandbox="allow-scripts" title="tree" loading="lazy" '
    'style="width: 100%; height: 620px; border: 0"></iframe>'
)


def to_html(
    models,
    path=None,
    *,
    X=None,
    feature_names=None,
    image_shape=None,
    title=None,
    sample_weight=None,
    scaled=False,
):
    """A page that shows a tree, or the trees of a path, without anything from elsewhere.

    Pointing at a node shows all its weights, a click on a test folds what is below it, the way of
    a row can be traced (in the arithmetic of `predict`), and a slider goes through the models.

    Parameters
    ----------
    models : Tree, fitted estimator or pipeline, or list of them over the same features
    path : path-like, optional
        Where to write the page.
    X : array-like or CSR matrix of shape (n, n_features), optional
        Rows to count at the nodes (default those of the fit); some are offered for tracing.
    feature_names : sequence of str, optional
        Default `feature_names_in_`, or x0, x1, ...
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
    str, the page

    Raises
    ------
    ValueError
        If there is no model, their numbers of features differ, or names, image_shape or X do
        not fit them.

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
    page_title = title or _title(models)
    views = [shown(model, feature_names) for model in models]
    models, names = [view for view, _ in views], views[0][1]
    if image_shape is not None and image_shape[0] * image_shape[1] != len(names):
        raise ValueError(f"image_shape {tuple(image_shape)} does not hold {len(names)} features.")
    options = {"feature_names": names, "sample_weight": sample_weight, "scaled": scaled}
    reports = [report(model, X, **options) for model in models]
    data = {
        "models": [_packed(facts) for facts in reports],
        "scaled": scaled,
        "names": [factor_name(name) for name in names],
        "image_shape": None if image_shape is None else [int(side) for side in image_shape],
        "samples": [] if X is None else _samples(numbers_of(models[0], X)),
    }
    page = Template(_part("page.html")).substitute(
        title=html.escape(page_title),
        style=_part("page.css"),
        script=_part("page.js"),
        reading=_reading(reports, scaled),
        # "</script>" in a name would end the element that holds the data.
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    )
    if path is not None:
        Path(path).write_text(page, encoding="utf-8")
    return page


def to_frame(model, **options):
    """The page in a frame of its own, as notebooks show it: str.

    Parameters as for :func:`to_html`.
    """
    return _FRAME.format(html.escape(to_html(model, **options)))


def _part(name):
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _title(models):
    kind = type(models[0]).__name__
    return kind if len(models) == 1 else f"{len(models)} models of {kind}"


def _reading(reports, scaled):
    """How to read the tests that there are."""
    n_terms = {len(node["terms"]) for facts in reports for node in facts["nodes"]} - {0}
    phrases = []
    if n_terms:
        phrases.append("The left branch is for rows that meet the test, the right one for others.")
    if n_terms - {1}:
        weights = "weights times spread (feature/sd)" if scaled else "weights"
        phrases.append(
            "A weighted sum is at most its threshold there: red weights push a row right, blue "
            "ones left. Features stand by their effect, weight times spread, which the bars of a "
            f"node's list show, with their {weights}."
        )
    return " ".join(phrases)


def _packed(facts):
    """The report with terms as two lists a node: a name is not repeated at every node."""
    nodes = []
    for node in facts["nodes"]:
        terms = node["terms"]
        nodes.append(
            {key: value for key, value in node.items() if key != "terms"}
            | {
                "features": [term["feature"] for term in terms],
                "weights": [term["weight"] for term in terms],
                "spreads": _spreads(terms),
                "test": _test_of_one_feature(node),
            }
        )
    clusters = [part["name"] for part in facts["clusters"]]
    return {"summary": facts["summary"], "nodes": nodes, "clusters": clusters}


def _spreads(terms):
    """Short numbers, since they only rank; None where they are not known."""
    spreads = [term["spread"] for term in terms]
    return None if None in spreads else [float(f"{spread:.4g}") for spread in spreads]


def _test_of_one_feature(node):
    """Conditions to go left and right, and the first one in two lines; None of other nodes."""
    if len(node["terms"]) != 1:
        return None
    left, right = (typeset(condition_text(node, 3, is_left=side)) for side in (True, False))
    name = node["terms"][0]["name"]
    column = getattr(name, "column", name)
    return {"left": left, "right": right, "lines": [column, left.removeprefix(f"{column} ")]}


def _samples(X):
    """Non-zero values of some rows, evenly spaced."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    samples = []
    for row in np.unique(np.linspace(0, X.shape[0] - 1, _MOST_SAMPLES).astype(int)):
        values = X[[row]]
        values = (values.toarray() if sp.issparse(values) else values)[0].astype(np.float64)
        used = np.flatnonzero(values)
        samples.append(
            {"row": int(row), "features": used.tolist(), "values": values[used].tolist()}
        )
    return samples
