"""Fitted estimators as files of JSON, and back: no pickle, nothing in a file is ever run."""

import json
import math
import os
import platform
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import sklearn
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._utils.warnings import tell
from ..problem.scaling import Space
from ..tree import Tree
from ..tree.documents import FORMAT as TREE_FORMAT
from ..tree.documents import is_version, read_document
from .parts import ESTIMATORS
from .values import UnsavableError, from_json, set_attributes, to_json

__all__ = ["FORMAT", "FORMAT_VERSION", "load", "save"]

FORMAT = "tao-cluster model"
FORMAT_VERSION = 1

# What values of other types and sizes than a fit gives make of the checks: `load` raises a
# ValueError all the same.
_FAULTS = (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError)

# Arrays of fitted estimators: the type of their numbers and the sides of their shape, by the names
# of `_sizes`; and the attributes that are a number. What is not listed here is for display only.
_ARRAYS = {
    "cluster_centers_": (np.float64, "k", "m"),
    "free_centers_": (np.float64, "k", "m"),
    "node_counts_": (np.float64, "nodes"),
    "split_spreads_": (np.float64, "weights"),
    "split_gaps_": (np.float64, "nodes"),
    "component_labels_": (np.integer, "k"),
}
_NUMBERS = ("inertia_", "free_inertia_", "cost_increase_", "n_iter_", "best_lambda_")
_OF_SOME = {"best_lambda_", "component_labels_"}  # estimators
_FITTED = {"tree_", "_space", "n_features_in_", *_NUMBERS, *_ARRAYS} - _OF_SOME


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
        tell(
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
    cls = ESTIMATORS.get(data.get("class")) if isinstance(data.get("class"), str) else None
    if cls is None:
        raise ValueError(f"there is no estimator {data.get('class')!r}.")
    parts = [data.get(name) for name in ("parameters", "attributes")]
    if not all(isinstance(part, dict) for part in parts):
        raise ValueError("parameters and attributes must be objects.")
    parameters, attributes = ({k: from_json(v) for k, v in part.items()} for part in parts)
    unknown = set(parameters) - set(cls().get_params(deep=False))
    if unknown:
        raise ValueError(f"{cls.__name__} has no parameter {min(unknown)!r}.")
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
    for name, cls in (("tree_", Tree), ("_space", Space)):
        _require(isinstance(attributes[name], cls), f"{name} must be a {cls.__name__}")
    sizes = _sizes(tree, space, np.asarray(attributes["cluster_centers_"]))
    for name in filter(attributes.__contains__, _ARRAYS):
        dtype, *sides = _ARRAYS[name]
        shape, value = tuple(sizes[side] for side in sides), attributes[name]
        fits = isinstance(value, np.ndarray) and np.issubdtype(value.dtype, dtype)
        _require(fits and value.shape == shape, f"{name} must be numbers of shape {shape}")
    for name in filter(attributes.__contains__, _NUMBERS):
        value = attributes[name]
        is_number = type(value) in (int, float) and not math.isnan(value)
        _require(is_number, f"{name} must be a number")
    _check_values(attributes, sizes)
    _check_space(attributes, sizes)
    for name in filter(attributes.__contains__, ("labels_", "free_labels_")):
        labels, classes = attributes[name], space.classes
        fits = labels.ndim == 1
        if classes is not None:
            fits = fits and {*labels.tolist()} <= {*classes.tolist(), -1, None}
        _require(fits, f"{name} must be one known label per row")


def _require(condition, sentence):
    if not condition:
        raise ValueError(f"{sentence}.")


def _sizes(tree, space, centers):
    """Sizes of a model, as its tree, space and centres have them."""
    n_clusters = len(centers) if space.classes is None else len(space.classes)
    _require(tree.leaf_label.max() < n_clusters, "the tree has a cluster without a centre")
    return {
        "d": tree.n_features,
        "m": centers.shape[1] if space.has_embedding else tree.n_features,
        "k": n_clusters,
        "nodes": tree.n_nodes,
        "weights": tree.n_nonzero,
    }


def _check_values(attributes, sizes):
    """Ranges of values, without which formatting and measures fail."""
    tree, counts = attributes["tree_"], attributes["node_counts_"]
    n_features = attributes["n_features_in_"]
    is_same = type(n_features) is int and n_features == sizes["d"]
    _require(is_same, "the tree has another number of features than n_features_in_")
    for name in ("cluster_centers_", "free_centers_"):
        _require(np.isfinite(attributes[name]).all(), f"{name} must be finite")
    for name in ("node_counts_", "split_spreads_", "split_gaps_"):
        _require(not (attributes[name] < 0).any(), f"{name} must not be negative")
    # Counts are sums of weights, which are rounded.
    is_rooted = 0 < counts[0] * (1 + 1e-9) >= counts.max() and math.isfinite(counts[0])
    _require(is_rooted, "node_counts_ must be largest at the root, where all rows are")
    if tree.leaf_value is not None:
        has_all = tree.leaf_value.shape[1] == sizes["k"]
        _require(has_all, "the histograms of the tree are of another number of clusters")
    names = attributes.get("feature_names_in_")
    if names is not None:
        are_names = isinstance(names, np.ndarray) and names.shape == (sizes["d"],)
        are_names = are_names and all(isinstance(name, str) for name in names)
        _require(are_names, f"feature_names_in_ must be {sizes['d']} strings")


def _check_space(attributes, sizes):
    space, classes = attributes["_space"], attributes.get("classes_")
    has_classes = space.classes is not None
    if not space.objective.explains_labels == has_classes == (classes is not None):
        raise ValueError("classes_ are those of an objective that explains labels.")
    if space.has_embedding and (space.scaling is not None or has_classes):
        raise ValueError("an embedding has neither a scaling nor classes.")
    if has_classes:
        of_kinds = {str}, {int, float, bool}
        is_one_kind = any(set(map(type, classes.tolist())) <= kinds for kinds in of_kinds)
        is_sorted = is_one_kind and np.array_equal(np.unique(classes), classes)
        is_same = classes.dtype == space.classes.dtype and np.array_equal(classes, space.classes)
        _require(is_sorted and is_same, "classes_ must be the sorted labels of _space")
    if space.scaling is not None:
        offset, scale = space.scaling.offset, space.scaling.scale
        for values in (offset, scale):
            fits = values.shape == (sizes["d"],) and values.dtype == np.float64
            _require(fits and np.isfinite(values).all(), "a scaling is one number per column")
        _require((scale > 0).all(), "the scales of columns must be above 0")


def _check_growth(model):
    """The trees of an expansion are prefixes of its nodes, and the last one is the tree."""
    growth, n_nodes = model._growth, model.tree_.n_nodes
    columns = (growth.left, growth.right, growth.splits, growth.label)
    pairs = sorted(pair for pair in zip(growth.left, growth.right, strict=True) if pair != (-1, -1))
    n_clusters = len(model.cluster_centers_)
    leaves = [step["leaves"] for step in model.trace_]
    _require(
        {len(column) for column in columns} == {n_nodes}
        and pairs == [(node, node + 1) for node in range(1, n_nodes, 2)]
        and all(type(label) is int and 0 <= label < n_clusters for label in growth.label)
        and growth.to_tree(model.n_features_in_) == model.tree_
        and leaves == list(range(min(leaves), growth.n_leaves + 1))
        and type(model._max_leaves) is int,
        "_growth and trace_ must be those of the tree",
    )


def _write(path, text):
    """Put a text into a file, all of it or none."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())  # that of a file written in place
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
