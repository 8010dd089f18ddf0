"""Trees as plain Python values and as JSON, bit by bit, and JSON that is read strictly."""

import json
import math
from collections import Counter
from dataclasses import fields

import numpy as np

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
    for name in (*_WHOLE, *_REAL):
        kind, kinds = ("whole", {int}) if name in _WHOLE else ("finite", {int, float})
        if not _holds(data[name], kinds):
            raise ValueError(f"Not a tree: {name} must be a list of {kind} numbers.")
    rows = data["leaf_value"]
    is_table = rows is None or (_holds(rows, {list}) and len(set(map(len, rows))) == 1)
    if not is_table or not all(_holds(row, {int, float}) for row in rows or ()):
        raise ValueError("Not a tree: leaf_value must be null, or equal lists of finite numbers.")
    n_clusters = max(_MOST_CLUSTERS, len(data["leaf_label"]))
    if max(data["leaf_label"], default=0) >= n_clusters:
        raise ValueError(f"Not a tree: a leaf_label must be less than {n_clusters}.")


def _holds(values, kinds):
    """Whether it is a list of values of these types (true is no number), all of them finite."""
    if type(values) is not list or not kinds.issuperset(map(type, values)):
        return False
    return float not in kinds or all(map(math.isfinite, values))


def _names(cls):
    return [field.name for field in fields(cls)]


def read_document(text):
    """The values of a text of JSON.

    Parameters
    ----------
    text : str or bytes

    Raises
    ------
    ValueError
        If it is no JSON, an object has a key twice, of which the standard library takes the last
        and others the first, or it has NaN or Infinity, which JSON does not know.

    Examples
    --------
    >>> from tao_cluster.tree.serialization import read_document
    >>> read_document('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    """
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def is_version(value, version):
    """Whether a version is this one; true and 1.0 equal 1, and are no versions."""
    return type(value) is int and value == version


def _no_constant(name):
    raise ValueError(f"{name} is no number of JSON")


def _object(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the key {twice[:80]!r} twice")
    return found
