"""A tree as plain Python values, and back; bit by bit, also through JSON."""

import math
from dataclasses import fields

import numpy as np

from .documents import is_version, read_document

FORMAT = "tao-cluster tree"
FORMAT_VERSION = 1

# What a few characters may claim: as much as is worked with, and no more. A fit to more features
# keeps a gigabyte of centres, and no tree that is read has so many clusters.
MOST_FEATURES, _MOST_CLUSTERS = 2**24, 2**16

_WHOLE = ("children_left", "children_right", "split_indptr", "split_indices", "leaf_label")
_REAL = ("split_weights", "threshold")


def to_plain(tree):
    """Lists and numbers that give the tree back.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    dict; `format` and `version` say how to read the rest
    """
    values = {name: getattr(tree, name) for name in _names(type(tree))}
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        **{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()},
    }


def from_plain(cls, data):
    """Tree from the result of :func:`to_plain`; docs/guide/tree_json.md says what is asked.

    Types and sizes are checked before any array is made, since the values may be of a file that
    somebody else wrote.

    Parameters
    ----------
    cls : class of trees
    data : dict

    Raises
    ------
    ValueError
        If `data` is not such a dict, does not describe a tree or is of another version.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"Not a tree: expected a dict with format {FORMAT!r}.")
    if not is_version(data.get("version"), FORMAT_VERSION):
        raise ValueError(
            f"Tree format version {data.get('version')!r} cannot be read; "
            f"this release reads version {FORMAT_VERSION}."
        )
    missing = [name for name in _names(cls) if name not in data]
    if missing:
        raise ValueError(f"Not a tree: missing {', '.join(missing)}.")
    try:
        _check_fields(data)
        return cls(**{name: data[name] for name in _names(cls)})
    except (AttributeError, OverflowError, TypeError, IndexError) as error:
        raise ValueError(f"Not a tree: values of a wrong type or size ({error}).") from error


def from_text(cls, text):
    """Tree from the JSON text of the result of :func:`to_plain`.

    Parameters
    ----------
    cls : class of trees
    text : str or bytes

    Raises
    ------
    ValueError
        If the text is no JSON, or not that of a tree.
    """
    try:
        data = read_document(text)
    except ValueError as error:
        raise ValueError(f"Not a tree: expected a text of JSON ({error}).") from error
    return from_plain(cls, data)


def _check_fields(data):
    """ValueError if a field is of another type than `to_plain` gives, or claims what is not there.

    What the fields have to do with each other is left to the invariants of trees.
    """
    n_features = data["n_features"]
    if type(n_features) is not int or not 1 <= n_features <= MOST_FEATURES:
        raise ValueError(
            f"Not a tree: n_features must be a whole number from 1 to {MOST_FEATURES}."
        )
    for name in _WHOLE:
        if not _holds(data[name], {int}):
            raise ValueError(f"Not a tree: {name} must be a list of whole numbers.")
    for name in _REAL:
        if not _holds(data[name], {int, float}):
            raise ValueError(f"Not a tree: {name} must be a list of finite numbers.")
    if not (data["leaf_value"] is None or _are_histograms(data["leaf_value"])):
        raise ValueError("Not a tree: leaf_value must be null, or equal lists of finite numbers.")
    labels = data["leaf_label"]
    n_clusters = max(_MOST_CLUSTERS, len(labels))
    if max(labels, default=0) >= n_clusters:
        raise ValueError(f"Not a tree: a leaf_label must be less than {n_clusters}.")


def _are_histograms(rows):
    is_table = _holds(rows, {list}) and len(set(map(len, rows))) == 1
    return is_table and all(_holds(row, {int, float}) for row in rows)


def _holds(values, kinds):
    """Whether it is a list of values of these types (true is no number), all of them finite."""
    if type(values) is not list or not kinds.issuperset(map(type, values)):
        return False
    return float not in kinds or all(map(math.isfinite, values))


def _names(cls):
    return [field.name for field in fields(cls)]
