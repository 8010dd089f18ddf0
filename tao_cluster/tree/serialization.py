"""Lossless conversion of trees to plain Python values and JSON, and a strict JSON reader."""

import json
import math
from collections import Counter
from dataclasses import fields

import numpy as np

FORMAT = "tao-cluster tree"
FORMAT_VERSION = 1

# Largest numbers of features and clusters that a file may contain. Without a limit, a small file
# could state a huge number, for which later code would allocate memory.
MOST_FEATURES, _MOST_CLUSTERS = 2**24, 2**16

_INTEGER = ("children_left", "children_right", "split_indptr", "split_indices", "leaf_label")
_FLOAT = ("split_weights", "threshold")


def to_plain(tree):
    """Convert a tree to a dict of lists and numbers, the inverse of :func:`from_plain`.

    Parameters
    ----------
    tree : Tree

    Returns
    -------
    dict, with the keys `format` and `version` and one key per field of the tree
    """
    values = {name: getattr(tree, name) for name in _names(type(tree))}
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        **{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()},
    }


def from_plain(cls, data):
    """Create a tree from the result of :func:`to_plain`; see docs/guide/exports.md.

    Types and sizes are validated before any array is allocated, since the values may come from an
    untrusted file.

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
    """Create a tree from the JSON text of the result of :func:`to_plain`.

    Parameters
    ----------
    cls : class of trees
    text : str or bytes

    Raises
    ------
    ValueError
        If the text is not JSON, or does not describe a tree.
    """
    try:
        data = read_document(text)
    except ValueError as error:
        raise ValueError(f"Not a tree: expected JSON ({error}).") from error
    return from_plain(cls, data)


def _check_fields(data):
    """Raise a ValueError if a field has another type than in `to_plain`, or an unreasonable size.

    The relations between the fields are checked by the tree itself.
    """
    n_features = data["n_features"]
    if type(n_features) is not int or not 1 <= n_features <= MOST_FEATURES:
        raise ValueError(f"Not a tree: n_features must be an integer from 1 to {MOST_FEATURES}.")
    for name in (*_INTEGER, *_FLOAT):
        kind, kinds = ("integers", {int}) if name in _INTEGER else ("finite numbers", {int, float})
        if not _holds(data[name], kinds):
            raise ValueError(f"Not a tree: {name} must be a list of {kind}.")
    rows = data["leaf_value"]
    is_table = rows is None or (_holds(rows, {list}) and len(set(map(len, rows))) == 1)
    if not is_table or not all(_holds(row, {int, float}) for row in rows or ()):
        raise ValueError("Not a tree: leaf_value must be null, or equal lists of finite numbers.")
    n_clusters = max(_MOST_CLUSTERS, len(data["leaf_label"]))
    if max(data["leaf_label"], default=0) >= n_clusters:
        raise ValueError(f"Not a tree: a leaf_label must be less than {n_clusters}.")


def _holds(values, kinds):
    """Return whether `values` is a list of finite values of these types (a bool is not an int)."""
    if type(values) is not list or not kinds.issuperset(map(type, values)):
        return False
    return float not in kinds or all(map(math.isfinite, values))


def _names(cls):
    return [field.name for field in fields(cls)]


def read_document(text):
    """Parse JSON strictly.

    Parameters
    ----------
    text : str or bytes

    Raises
    ------
    ValueError
        If the text is not JSON, contains NaN or Infinity (which JSON does not have), or repeats a
        key in an object (parsers disagree on which value counts).

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
    """Return whether a value is this version number; true and 1.0 equal 1, but are not versions."""
    return type(value) is int and value == version


def _no_constant(name):
    raise ValueError(f"{name} is no number of JSON")


def _object(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"an object has the key {twice[:80]!r} twice")
    return found
