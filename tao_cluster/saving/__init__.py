"""Fitted estimators as files of JSON, and back: no pickle, nothing in a file is ever run."""

import json
import math
import os
import platform
import uuid
from pathlib import Path

import numpy as np
import sklearn
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._utils.warnings import warn
from ..problem.scaling import ClusteringSpace
from ..tree import Tree
from ..tree.serialization import FORMAT as TREE_FORMAT
from ..tree.serialization import is_version, read_document
from .parts import ESTIMATORS
from .values import UnsavableError, from_json, set_attributes, to_json

__all__ = ["FORMAT", "FORMAT_VERSION", "load", "save"]

FORMAT = "tao-cluster model"
FORMAT_VERSION = 1

# What values of other types and sizes than a fit gives make of the checks: `load` raises a
# ValueError all the same.
_FAULTS = (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError)

# What every fitted estimator has, besides what is for display only.
_ARRAYS = ("cluster_centers_", "free_centers_", "node_counts_", "split_stds_", "split_gaps_")
_NUMBERS = ("inertia_", "free_inertia_", "cost_increase_", "n_iter_")
_FITTED = {"tree_", "_space", "n_features_in_", *_NUMBERS, *_ARRAYS}


def save(model, path):
    """Write a fitted estimator, or a tree, to a file.

    The file is JSON: the name of the class, its parameters, all fitted attributes, bit by bit, and
    the versions of what wrote it. It is put in place when it is whole, so that a file that was
    there is never half overwritten.

    Parameters
    ----------
    model : fitted estimator of tao_cluster or greedy, or Tree
    path : path-like

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If it is no estimator of ours, an attribute is something that a file cannot hold, or a
        parameter is one that no fit would take.

    Warns
    -----
    UserWarning
        If a parameter is something that a file cannot hold (a random generator, a function, an
        estimator of another library): it will have its default; what was fitted is not touched.

    Examples
    --------
    >>> import os, tempfile
    >>> import tao_cluster
    >>> from sklearn.datasets import load_iris
    >>> from tao_cluster import TAOClustering
    >>> X = load_iris().data
    >>> model = TAOClustering(3, lambda_=5, depth=2, random_state=0).fit(X)
    >>> path = os.path.join(tempfile.mkdtemp(), "iris.json")
    >>> model.save(path)
    >>> bool((tao_cluster.load(path).predict(X) == model.labels_).all())
    True
    """
    if isinstance(model, Tree):
        _write(Path(path), model.to_json())
        return
    if type(model) is not ESTIMATORS.get(type(model).__name__):
        raise ValueError(
            f"Cannot save a {type(model).__name__}: expected a Tree or a fitted estimator of "
            "tao_cluster or greedy."
        )
    check_is_fitted(model)
    model._validate_params()  # or it could not be loaded
    parameters, attributes = _state(model)
    document = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "class": type(model).__name__,
        "written_by": {
            "tao_cluster": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "parameters": parameters,
        "attributes": attributes,
    }
    _write(Path(path), json.dumps(document, allow_nan=False, indent=1))


def load(path):
    """The fitted estimator, or tree, that ``save`` has written.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator or Tree

    Raises
    ------
    ValueError
        If the file is not of that form, of a newer version, or its parts do not fit each other.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import tao_cluster
    >>> from greedy import IMM
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> IMM(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]]).save(path)
    >>> tao_cluster.load(path).tree_.n_leaves
    2
    """
    text = Path(path).read_bytes()
    try:
        data = read_document(text)
    except ValueError as error:
        raise ValueError(f"{path}: not a model, as it is no JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, TREE_FORMAT):
        raise ValueError(f"{path}: not a model: expected JSON with format {FORMAT!r}.")
    try:
        return Tree.from_dict(data) if data["format"] == TREE_FORMAT else _model(data)
    except (ValueError, *_FAULTS) as error:
        raise ValueError(f"{path}: not a model that can be used: {error}") from error


def _state(model):
    """Parameters and fitted attributes as JSON has them."""
    named, parameters, attributes, lost = model.get_params(deep=False), {}, {}, []
    constant = set(vars(type(model)())) - set(named)  # no parameter, and yet set by __init__
    for name, value in vars(model).items():
        if name in constant:
            continue
        try:
            (parameters if name in named else attributes)[name] = to_json(value)
        except UnsavableError as error:
            if name not in named:
                raise ValueError(f"Cannot save {name}, {error}.") from error
            lost.append(f"{name} ({error})")
    if lost:
        warn(
            f"The file does not hold the parameter {', '.join(lost)}: it will have its default "
            "when the model is loaded. What was fitted is saved."
        )
    return parameters, attributes


def _model(data):
    """The estimator of a document."""
    if not is_version(data.get("version"), FORMAT_VERSION):
        raise ValueError(
            f"it has version {data.get('version')!r}; this release reads version {FORMAT_VERSION}."
        )
    cls = ESTIMATORS.get(str(data.get("class")))
    if cls is None:
        raise ValueError(f"there is no estimator {data.get('class')!r}.")
    parameters, attributes = (
        {name: from_json(value) for name, value in data[part].items()}
        for part in ("parameters", "attributes")
    )
    model = cls(**parameters)
    model._validate_params()
    effective_n_jobs(model.n_jobs)  # ValueError for 0, which only it knows to be no number of jobs
    _check_fitted(attributes)
    set_attributes(model, attributes)
    if cls is ESTIMATORS["ExKMC"]:
        _check_growth(model)
    return model


# ---------------------------------------------------------------------- what fits each other


def _check_fitted(attributes):
    """Raise an error if fitted attributes are missing or do not fit the tree.

    Trees and spaces have checked their own fields.
    """
    missing = sorted(_FITTED - set(attributes))
    if missing:
        raise ValueError(f"the attribute {missing[0]} is missing.")
    tree, space = attributes["tree_"], attributes["_space"]
    for name, cls in (("tree_", Tree), ("_space", ClusteringSpace)):
        _require(isinstance(attributes[name], cls), f"{name} must be a {cls.__name__}")
    centers, classes = np.asarray(attributes["cluster_centers_"]), space.classes
    k = len(centers) if classes is None else len(classes)
    m = centers.shape[1] if space.has_embedding else tree.n_features
    _require(tree.leaf_label.max() < k, "the tree has a cluster without a centre")
    shapes = ((k, m), (k, m), (tree.n_nodes,), (tree.n_nonzero,), (tree.n_nodes,))
    for name, shape in zip(_ARRAYS, shapes, strict=True):
        value = attributes[name]
        fits = isinstance(value, np.ndarray) and value.dtype == np.float64
        _require(fits and value.shape == shape, f"{name} must be numbers of shape {shape}")
        fits = np.isfinite(value) if len(shape) == 2 else ~(value < 0)
        _require(fits.all(), f"{name} must be finite, and not negative but for centres")
    for name in (*_NUMBERS, "best_lambda_"):
        value = attributes.get(name, 0)
        is_number = type(value) in (int, float) and not math.isnan(value)
        _require(is_number, f"{name} must be a number")
    # Counts are sums of weights, which are rounded.
    counts = attributes["node_counts_"]
    is_rooted = 0 < counts[0] * (1 + 1e-9) >= counts.max() and math.isfinite(counts[0])
    _require(is_rooted, "node_counts_ must be largest at the root, where all rows are")
    if tree.leaf_value is not None:
        has_all = tree.leaf_value.shape[1] == k
        _require(has_all, "the histograms of the tree are of another number of clusters")
    _check_columns(attributes, tree.n_features)
    _check_space(space, attributes.get("classes_"), tree.n_features)
    for name in filter(attributes.__contains__, ("labels_", "free_labels_")):
        labels = attributes[name]
        fits = labels.ndim == 1
        if classes is not None:
            fits = fits and {*labels.tolist()} <= {*classes.tolist(), -1, None}
        _require(fits, f"{name} must be one known label per row")


def _require(condition, sentence):
    if not condition:
        raise ValueError(f"{sentence}.")


def _check_columns(attributes, n_features):
    """Number and names of columns are those of the tree."""
    found, names = attributes["n_features_in_"], attributes.get("feature_names_in_")
    is_same = type(found) is int and found == n_features
    _require(is_same, "the tree has another number of features than n_features_in_")
    if names is not None:
        are_names = isinstance(names, np.ndarray) and names.shape == (n_features,)
        are_names = are_names and all(isinstance(name, str) for name in names)
        _require(are_names, f"feature_names_in_ must be {n_features} strings")
    names = attributes.get("_column_names", [""] * n_features)
    are_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    _require(are_names and len(names) == n_features, f"_column_names must be {n_features} strings")


def _check_space(space, classes, n_features):
    """Classes are those of the objective, and scales are there for every column."""
    has_classes = space.classes is not None
    if not space.objective.explains_labels == has_classes == (classes is not None):
        raise ValueError("classes_ are those of an objective that explains labels.")
    if space.has_embedding and (space.scaling is not None or has_classes):
        raise ValueError("an embedding has neither a scaling nor classes.")
    if has_classes:
        is_same = classes.dtype == space.classes.dtype and np.array_equal(classes, space.classes)
        is_sorted = np.array_equal(np.unique(classes), classes)
        _require(is_sorted and is_same, "classes_ must be the sorted labels of _space")
    if space.scaling is not None:
        for values in (space.scaling.offset, space.scaling.scale):
            fits = values.shape == (n_features,) and values.dtype == np.float64
            _require(fits and np.isfinite(values).all(), "a scaling is one number per column")
        _require((space.scaling.scale > 0).all(), "the scales of columns must be above 0")


def _check_growth(model):
    """The trees of an expansion are prefixes of its nodes, and the last one is the tree."""
    growth, n_clusters = model._growth, len(model.cluster_centers_)
    leaves = [step["leaves"] for step in model.trace_]
    _require(
        growth.to_tree(model.n_features_in_) == model.tree_
        and len(growth.label) == model.tree_.n_nodes
        and all(type(label) is int and 0 <= label < n_clusters for label in growth.label)
        and leaves == list(range(min(leaves), growth.n_leaves + 1))
        and type(model._max_leaves) is int,
        "_growth and trace_ must be those of the tree",
    )


def _write(path, text):
    """Put a text into a file, all of it or none."""
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
