"""The interactive page: one offline HTML file of trees, their weights and ways through them."""

import html
import json
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from ..report import names_of, report

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
):
    """A page that shows a tree, or the trees of a path, without anything from elsewhere.

    Pointing at a node shows all its weights, a click on a test folds what is below it, the way of
    a row can be traced (in the arithmetic of `predict`), and a slider goes through the models.

    Parameters
    ----------
    models : Tree, fitted estimator, or list of them over the same features
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
    names = names_of(models[0], feature_names)
    if image_shape is not None and image_shape[0] * image_shape[1] != len(names):
        raise ValueError(f"image_shape {tuple(image_shape)} does not hold {len(names)} features.")
    reports = [
        report(model, X, feature_names=names, sample_weight=sample_weight) for model in models
    ]
    data = {
        "models": [_packed(facts) for facts in reports],
        "names": names,
        "image_shape": None if image_shape is None else [int(side) for side in image_shape],
        "samples": [] if X is None else _samples(X),
    }
    page = Template(_part("page.html")).substitute(
        title=html.escape(title or _title(models)),
        style=_part("page.css"),
        script=_part("page.js"),
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
            }
        )
    return {"summary": facts["summary"], "nodes": nodes}


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
