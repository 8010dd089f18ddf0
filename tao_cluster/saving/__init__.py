"""Fitted estimators, trees and pipelines as JSON files. Loading a file never runs code from it."""

import json
import math
import os
import platform
import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from joblib import effective_n_jobs
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .. import __version__
from .._utils.options import name_of, resolve
from .._utils.warnings import warn
from ..columns import TableReader
from ..columns.names import level_name
from ..columns.schema import Schema
from ..columns.steps import encoded_levels, level_key
from ..objectives import Objective
from ..optimize.settings import OBJECTIVES
from ..problem.scaling import ClusteringSpace
from ..table import TableEncoder, TablePipeline
from ..tree import Tree
from ..tree.serialization import FORMAT as TREE_FORMAT
from ..tree.serialization import is_version, read_document
from .values import (
    ESTIMATORS,
    UnsavableError,
    UnsavedObjective,
    from_json,
    set_attributes,
    to_json,
)

__all__ = ["FORMAT", "FORMAT_VERSION", "load", "save"]

FORMAT = "tao-cluster model"
FORMAT_VERSION = 1

_STEPS = {
    step.__name__: step for step in (StandardScaler, SimpleImputer, MissingIndicator, OneHotEncoder)
}
_SCALES = ("mean_", "var_", "scale_")
_ADVICE = "Only pipelines of tao_cluster.table_pipeline can be saved"

# Errors that values of unexpected types and sizes cause in the checks below. `load` turns them into
# a ValueError.
_FAULTS = (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError)

_NUMBERS = ("inertia_", "free_inertia_", "cost_increase_", "n_iter_")
_OPTIONAL_NUMBERS = ("best_lambda_", "n_noise_", "trimmed_share_", "trimming_price_")
_ARRAYS = ("cluster_centers_", "free_centers_", "node_counts_", "split_stds_", "split_sides_")
_LEAST, _LARGEST = 5e-324, np.finfo(np.float64).max  # positive floats
# Attributes of every fitted estimator.
_FITTED = {"tree_", "_space", "n_features_in_", "node_rows_", *_NUMBERS, *_ARRAYS}


def save(model, path):
    """Write a fitted estimator, a tree or a fitted pipeline to a JSON file.

    The file holds the name of the class, the parameters, the exact values of all fitted attributes
    and the versions of the packages. It is written under a temporary name and then renamed, so
    that an existing file is replaced completely or not at all.

    Parameters
    ----------
    model : Tree, fitted estimator of tao_cluster or greedy, or fitted pipeline
        The pipeline must come from :func:`tao_cluster.table_pipeline`.
    path : path-like
        An existing file of this name is replaced.

    Raises
    ------
    NotFittedError
        If the estimator is not fitted.
    ValueError
        If the estimator is of another package, the pipeline has other steps, a fitted attribute
        has a type that the format does not support, or a parameter is invalid.
    OSError
        If the file cannot be written, for example because its folder does not exist.

    Warns
    -----
    UserWarning
        If a parameter has a type that the format does not support: a random generator, a function,
        an object of your own, or an estimator of another library. The loaded model has the default
        of this parameter. Its fitted attributes are not affected. If the parameter is the
        `objective`, methods that compute costs and distances need it again: see :func:`load`.

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
    steps = _pipeline_document(model) if isinstance(model, Pipeline) else None
    document = _document(model if steps is None else model[-1])
    if steps is not None:
        document["pipeline"] = steps
    _write(Path(path), json.dumps(document, allow_nan=False, indent=1))


def _document(model):
    """Return a fitted estimator as a dict of JSON values."""
    if type(model) is not ESTIMATORS.get(type(model).__name__):
        raise ValueError(
            f"Cannot save a {type(model).__name__}: expected a Tree, a fitted estimator of "
            "tao_cluster or greedy, or a fitted pipeline of tao_cluster.table_pipeline."
        )
    check_is_fitted(model)
    model._validate_params()  # a file with invalid parameters could not be loaded
    parameters, attributes = _state(model)
    return {
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


def load(path, objective=None):
    """Read a fitted estimator, a tree or a pipeline from a file that ``save`` has written.

    Parameters
    ----------
    path : path-like
    objective : object, optional
        The objective of the model, if the file does not hold it, because it is an object of your
        own or contains a function. Without it, the loaded model predicts and is displayed as
        before, and methods that compute costs or distances raise a ValueError.

    Returns
    -------
    fitted estimator, Tree, or fitted pipeline

    Raises
    ------
    ValueError
        If the file has another format or a newer version, or if its parts contradict each other;
        also if `objective` is not needed, or has another class than in the fit.
    OSError
        If the file cannot be read.

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
        raise ValueError(f"{path}: not a model, because the file is not JSON ({error}).") from error
    if not isinstance(data, dict) or data.get("format") not in (FORMAT, TREE_FORMAT):
        raise ValueError(f"{path}: not a model; expected JSON with the format {FORMAT!r}.")
    try:
        model = Tree.from_dict(data) if data["format"] == TREE_FORMAT else _model(data)
        steps = _pipeline(data["pipeline"], model) if "pipeline" in data else model
    except (ValueError, *_FAULTS) as error:
        raise ValueError(f"{path}: not a model that can be used: {error}{_origin(data)}") from error
    if objective is not None:
        _set_objective(model, objective)
    return steps


def _origin(data):
    """Return a hint for error messages if another version of the package wrote the file."""
    written_by = data.get("written_by")
    version = written_by.get("tao_cluster") if isinstance(written_by, dict) else None
    if version in (None, __version__):
        return ""
    return f" The file was written by tao_cluster {version!s:.20}; this is {__version__}."


def _set_objective(model, objective):
    """Give a loaded model the objective that its file does not hold."""
    unsaved = getattr(getattr(model, "_space", None), "objective", None)
    if not isinstance(unsaved, UnsavedObjective):
        raise ValueError("This file needs no objective; leave out objective=...")
    given = resolve(objective, OBJECTIVES, Objective)
    if UnsavedObjective.from_objective(given) != unsaved:
        raise ValueError(
            f"The model was fitted with the objective {unsaved.name}, got {name_of(given)}."
        )
    model._space = replace(model._space, objective=given)
    model.set_params(objective=objective)


def _state(model):
    """Return parameters and fitted attributes as JSON values."""
    named, parameters, attributes, lost = model.get_params(deep=False), {}, {}, []
    unsaved = None
    # Attributes that __init__ sets although they are no parameters need not be saved.
    constant = set(vars(type(model)())) - set(named)
    for name, value in vars(model).items():
        if name in constant:
            continue
        if name == "_embedder":  # transformers of other libraries cannot be stored as JSON
            lost.append("reference (its transformers are not saved: give new rows their embedding)")
            attributes["_embedder_is_lost"] = True
            continue
        try:
            (parameters if name in named else attributes)[name] = to_json(value)
        except UnsavableError as error:
            if name == "_space":
                unsaved = UnsavedObjective.from_objective(value.objective)
                attributes[name] = to_json(replace(value, objective=unsaved))
            elif name == "objective":
                parameters[name] = to_json(UnsavedObjective.from_objective(value))
            elif name in named:
                lost.append(f"{name} ({error})")
            else:
                raise ValueError(f"Cannot save {name}, {error}.") from error
    _warn_of_loss(lost, unsaved)
    return parameters, attributes


def _warn_of_loss(lost, unsaved):
    """Warn of parameters, and of an objective, that a file does not hold."""
    messages = []
    if lost:
        messages.append(
            f"The file does not hold the parameter {', '.join(lost)}: the loaded model will have "
            "its default. All fitted attributes are saved."
        )
    if unsaved is not None:
        messages.append(
            f"The file does not hold the objective {unsaved.name}, which is an object of your own "
            "or contains a function. The loaded model predicts and is displayed as before, but "
            "fit, transform, score and cost_increase need the objective: load(path, objective=...)."
        )
    if messages:
        warn(" ".join(messages))


def _model(data):
    """Return the estimator that the dict of a saved file describes."""
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
    effective_n_jobs(model.n_jobs)  # raises a ValueError for 0, which the constraints allow
    _check_fitted(attributes)
    set_attributes(model, attributes)
    if {"_growth", "trace_"} & set(attributes):  # ExKMC, from which no leaves were removed
        is_same = model._growth.to_tree(model.n_features_in_) == model.tree_
        is_same = is_same and model.trace_[-1]["leaves"] == model.tree_.n_leaves
        _require(is_same, "_growth and trace_ must be those of the tree")
    return model


# ---------------------------------------------------------------------- consistency


def _check_fitted(attributes):
    """Raise an error if fitted attributes are missing or do not fit the tree.

    The fields of trees and spaces are checked when these objects are made.
    """
    missing = sorted(_FITTED - set(attributes))
    if missing:
        raise ValueError(f"the attribute {missing[0]} is missing.")
    tree, space = attributes["tree_"], attributes["_space"]
    for name, cls in (("tree_", Tree), ("_space", ClusteringSpace)):
        _require(isinstance(attributes[name], cls), f"{name} must be a {cls.__name__}")
    centers, classes = np.asarray(attributes["cluster_centers_"]), space.classes
    k = len(centers) if classes is None else len(classes)
    n_labels, n_features = k + (space.noise is not None), tree.n_features
    _require(space.noise in (None, k), "the number of rows without a cluster must come last")
    _require(tree.leaf_label.max() < n_labels, "the tree has a cluster without a centre")
    _require(("trimmed_share_" in attributes) == (n_labels > k), "trimmed_share_ needs noise")
    has_all = tree.leaf_value is None or tree.leaf_value.shape[1] == n_labels
    _require(has_all, "the histograms of the tree have another number of clusters")
    for name in (*_NUMBERS, *_OPTIONAL_NUMBERS):
        value = attributes.get(name, 0)
        is_number = type(value) in (int, float) and not math.isnan(value)
        _require(is_number, f"{name} must be a number")
    of_centers = k, centers.shape[1] if space.has_embedding else n_features
    for name, limits in _arrays(tree, of_centers).items():
        if name in attributes:  # files of older versions lack some of them
            _check_array(name, attributes[name], *limits)
    for name in ("node_counts_", "node_rows_"):
        counts = attributes[name]  # those of weights have rounding errors
        _require(0 < counts[0] * (1 + 1e-9) >= counts.max(), f"{name} must be largest at the root")
    sides = attributes["split_sides_"]
    _require(not (sides[:, 0] > sides[:, 1]).any(), "split_sides_ must be in increasing order")
    is_same = (
        type(attributes["n_features_in_"]) is int and attributes["n_features_in_"] == n_features
    )
    _require(is_same, "the tree has another number of features than n_features_in_")
    for name, kind, n in (
        ("feature_names_in_", np.ndarray, n_features),
        ("_column_names", list, n_features),
        ("cluster_names_", list, n_labels),
    ):
        names = attributes.get(name)
        are_names = type(names) is kind and np.shape(names) == (n,)
        are_names = are_names and all(isinstance(each, str) for each in names)
        _require(are_names or name not in attributes, f"{name} must be {n} strings")
    different = set(attributes.get("cluster_names_", ()))
    _require(len(different) in (0, n_labels), "cluster_names_ must be different names")
    _check_space(space, attributes.get("classes_"), n_features)
    for name in filter(attributes.__contains__, ("labels_", "free_labels_")):
        labels = attributes[name]
        fits = labels.ndim == 1
        if classes is not None:
            fits = fits and {*labels.tolist()} <= {*classes.tolist(), -1, None}
        _require(fits, f"{name} must be one known label per row")


def _arrays(tree, of_centers):
    """Return the type, the shape, and the least and the largest value of arrays, by name."""
    of_nodes, of_columns = (tree.n_nodes,), (tree.n_features,)
    return {
        "cluster_centers_": (np.float64, of_centers, -_LARGEST, _LARGEST),
        "free_centers_": (np.float64, of_centers, -_LARGEST, _LARGEST),
        "node_counts_": (np.float64, of_nodes, 0, _LARGEST),
        "node_rows_": (np.int64, of_nodes, 0, math.inf),
        "split_stds_": (np.float64, (tree.n_nonzero,), 0, math.inf),
        "split_sides_": (np.float64, (tree.n_nodes, 2), -math.inf, math.inf),
        "split_densities_": (np.float64, of_nodes, 0, 1),
        "feature_importances_": (np.float64, of_columns, 0, 1.001),
        "_column_range": (np.float64, (2, *of_columns), -math.inf, math.inf),
        "_column_is_integer": (np.bool_, of_columns, 0, 1),
        "_column_group": (None, of_columns, -math.inf, math.inf),
    }


def _check_array(name, values, dtype, shape, least, largest):
    """Raise an error if an array has another type or shape, or a value outside of its limits."""
    fits = isinstance(values, np.ndarray) and values.shape == shape
    fits = fits and dtype in (None, values.dtype)
    if fits:
        is_unknown = np.isnan(values) & name.startswith("split_")
        fits = (is_unknown | ((values >= least) & (values <= largest))).all()
    _require(fits, f"{name} must be numbers of shape {shape} from {least} to {largest}")


def _require(condition, message):
    if not condition:
        raise ValueError(f"{message}.")


def _check_space(space, classes, n_features):
    """Raise an error if parts of the clustering space that a file contains contradict each other.

    The model has `classes` (the attribute `classes_`) exactly if its objective explains labels. A
    scaling has an offset and a positive scale for each column. A model with an embedding has
    neither classes nor a scaling.
    """
    has_classes = space.classes is not None
    if not space.objective.explains_labels == has_classes == (classes is not None):
        raise ValueError("classes_ and an objective that explains labels require each other.")
    if space.has_embedding and (space.scaling is not None or has_classes):
        raise ValueError("a model with an embedding has neither a scaling nor classes.")
    if has_classes:
        is_same = classes.dtype == space.classes.dtype and np.array_equal(classes, space.classes)
        is_sorted = np.array_equal(np.unique(classes), classes)
        _require(is_sorted and is_same, "classes_ must be the sorted labels of _space")
    if space.scaling is not None:
        columns = np.float64, (n_features,)
        _check_array("the offset", space.scaling.offset, *columns, -_LARGEST, _LARGEST)
        _check_array("the scale", space.scaling.scale, *columns, _LEAST, _LARGEST)


def _write(path, text):
    """Write a text to a file; if that fails, an existing file of this name is unchanged.

    Raises
    ------
    OSError
        If the file cannot be written; the message names it, not the temporary file.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot write {path}: the folder {path.parent} does not exist. Create it first."
        )
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise OSError(error.errno, f"Cannot write the file: {error.strerror}", str(path)) from error
    finally:
        if part.exists():
            part.unlink()


# ---------------------------------------------------------------------- pipelines

# A ColumnTransformer has private state that differs between versions of scikit-learn. Therefore the
# file holds what its steps have learned: medians, levels, means and scales. `_pipeline` fits the
# steps to a table of a few rows from which they learn the same medians and levels, and then sets
# the means and scales.


def _pipeline_document(pipeline):
    """Return the steps of a fitted pipeline before its last one as JSON values.

    Parameters
    ----------
    pipeline : fitted sklearn.pipeline.Pipeline of a TableReader, a ColumnTransformer of the steps
        that `table_pipeline` uses, and an estimator

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the pipeline has other steps.
    """
    kinds = [TableReader, TableEncoder]
    if len(pipeline) != 3 or [type(step) for _, step in pipeline.steps[:-1]] != kinds:
        names = ", ".join(type(step).__name__ for _, step in pipeline.steps)
        raise ValueError(f"{_ADVICE}, got one of the steps {names}.")
    check_is_fitted(pipeline)
    reader, encoder = pipeline[0], pipeline[1]
    return {
        "names": [name for name, _ in pipeline.steps],
        "schema": reader.schema.to_dict(),
        "missing": reader.n_missing_,
        "transformers": [
            {"name": name, "step": _write_step(step), "columns": list(columns)}
            for name, step, columns in encoder.transformers
        ],
        "weights": encoder.transformer_weights,
        "learned": to_json(_learned(encoder)),
    }


def _pipeline(data, model):
    """Return the fitted pipeline of a result of :func:`_pipeline_document` and an estimator.

    Raises
    ------
    ValueError, TypeError, LookupError, AttributeError
        If `data` is not a result of :func:`_pipeline_document`.
    """
    learned = from_json(data["learned"])
    if not all(map(math.isfinite, learned["medians"].values())):
        raise ValueError("medians must be finite numbers")
    reader = TableReader(Schema.from_dict(data["schema"]))
    n_missing = {name: int(data["missing"][name]) for name in reader.readers}
    reader.set_learned(
        n_missing, {name: own + rare for name, (own, rare) in learned["levels"].items()}
    )
    encoder = TableEncoder(
        [
            (part["name"], _read_step(part["step"]), list(map(str, part["columns"])))
            for part in data["transformers"]
        ],
        transformer_weights={name: float(w) for name, w in data["weights"].items()},
        outputs=reader.outputs(),
    ).set_output(transform="pandas")
    with np.errstate(all="ignore"):  # the means and scales of this fit are replaced below
        encoder.fit(_small_table(reader.get_feature_names_out(), learned))
    for name, values in learned["scales"].items():
        _set_scales(encoder.named_transformers_[name], values)
    names = encoder.get_feature_names_out()
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"the steps return {len(names)} columns, but the tree has {model.n_features_in_}"
        )
    steps = [reader, encoder, model]
    return TablePipeline(list(zip(map(str, data["names"]), steps, strict=True)))


def _write_step(step):
    """Return an unfitted step as a JSON value: its class, and its parameters that are not default.

    A Pipeline becomes the list of its steps with their names.
    """
    if isinstance(step, str):
        return step
    if isinstance(step, Pipeline):
        return [[name, _write_step(part)] for name, part in step.steps]
    cls = _STEPS.get(type(step).__name__)
    if type(step) is not cls:
        raise ValueError(f"{_ADVICE}; a step is a {type(step).__name__}.")
    default, parameters = cls().get_params(), {}
    for name, value in step.get_params().items():
        if value is level_name:
            parameters[name] = "level_name"
        elif value is not default[name] and value != default[name]:
            parameters[name] = _parameter(step, name, value)
    return {"class": cls.__name__, "parameters": parameters}


def _parameter(step, name, value):
    try:
        return to_json(value)
    except UnsavableError as error:
        raise ValueError(
            f"Cannot save the parameter {name} of {type(step).__name__}, {error}."
        ) from error


def _read_step(data):
    """Return the unfitted pipeline step that a result of :func:`_write_step` describes."""
    if data == "passthrough":
        return data
    if isinstance(data, list):
        return Pipeline([(str(name), _read_step(part)) for name, part in data])
    parameters = {name: from_json(value) for name, value in data["parameters"].items()}
    if parameters.get("feature_name_combiner") == "level_name":
        parameters["feature_name_combiner"] = level_name
    return _STEPS[data["class"]](**parameters)


def _learned(encoder):
    """Return what the steps of a fitted ColumnTransformer have learned.

    Returns
    -------
    dict of
        ``medians``: dict of float, by column;
        ``levels``: dict of pairs, by column: the levels with a feature of their own, and the levels
        of the feature "other";
        ``scales``: dict, by name of the transformer: mean, variance and scale per column.
    """
    medians, levels, scales = {}, {}, {}
    for name, transformer, columns in encoder.transformers_:
        steps = [step for _, step in transformer.steps] if isinstance(transformer, Pipeline) else []
        for step in steps or [transformer]:
            if isinstance(step, SimpleImputer):
                medians.update(zip(columns, step.statistics_.tolist(), strict=True))
            elif isinstance(step, StandardScaler):
                scales[name] = [getattr(step, part) for part in _SCALES]
            elif isinstance(step, OneHotEncoder):
                levels.update(zip(columns, _levels(step), strict=True))
    return {"medians": medians, "levels": levels, "scales": scales}


def _levels(encoder):
    """Yield (levels with a feature, levels of the feature "other") of each column: two lists."""
    for levels, rare in encoded_levels(encoder):
        keys = {*map(level_key, rare)}
        yield [level for level in levels if level_key(level) not in keys], rare


def _small_table(names, learned):
    """Return a table from which the steps learn the same medians, gaps and levels.

    A level with a feature of its own occurs twice, and a level of the feature "other" once. So
    OneHotEncoder, which keeps the most frequent levels, finds the same ones.
    """
    cells = {name: [0.0, 1.0] for name in names}
    cells |= {name: [median, math.nan] for name, median in learned["medians"].items()}
    cells |= {name: 2 * own + rare for name, (own, rare) in learned["levels"].items()}
    n_rows = max(map(len, cells.values()))
    return pd.DataFrame(
        {
            name: pd.Series(
                values + values[:1] * (n_rows - len(values)),
                dtype=object if name in learned["levels"] else np.float64,
            )
            for name, values in cells.items()
        }
    )


def _set_scales(transformer, values):
    """Set mean, variance and scale of the StandardScaler in a fitted transformer."""
    scaler = transformer[-1] if isinstance(transformer, Pipeline) else transformer
    if not isinstance(scaler, StandardScaler):
        raise ValueError("scales belong to a StandardScaler")
    for part, scales in zip(_SCALES, values, strict=True):
        numbers = np.asarray(scales, dtype=np.float64)
        if numbers.shape != scaler.scale_.shape or not np.isfinite(numbers).all():
            raise ValueError("there must be one finite scale per column")
        setattr(scaler, part, numbers)
