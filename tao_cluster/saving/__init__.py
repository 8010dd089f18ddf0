"""Fitted estimators as files of JSON, and back: no pickle, nothing in a file is ever run."""

import json
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
from ..tree import Tree
from ..tree.documents import FORMAT as TREE_FORMAT
from ..tree.documents import is_version, read_document
from .fitted import attributes_of, check_fitted
from .parts import ESTIMATORS
from .values import UnsavableError, from_json, to_json

__all__ = ["FORMAT", "FORMAT_VERSION", "load", "save"]

FORMAT = "tao-cluster model"
FORMAT_VERSION = 1

# Of values that no check foresaw: a file is refused by a sentence all the same.
_FAULTS = (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError)


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
        If it is no estimator of ours, an attribute is not what the estimators have, or a parameter
        is one that no fit would take.

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
    known = {name for forms in attributes_of(type(model).__name__) for name in forms}
    for name, value in vars(model).items():
        if name in constant:
            continue
        if name not in named and name not in known:
            raise ValueError(
                f"Cannot save {name}, which is no attribute of a fitted {type(model).__name__}."
            )
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
    check_fitted(cls.__name__, attributes)
    vars(model).update(attributes)
    return model


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
