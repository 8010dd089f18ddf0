"""Texts of JSON, read strictly: what two readers could understand differently is refused."""

import json
from collections import Counter


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
    >>> from tao_cluster.tree.documents import read_document
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
