"""A tree as plain Python values, and back; bit by bit, also through JSON."""

from dataclasses import fields

import numpy as np

FORMAT = "tao-cluster tree"
FORMAT_VERSION = 1


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
    """Tree from the result of :func:`to_plain`.

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
    if data.get("version") != FORMAT_VERSION:
        raise ValueError(
            f"Tree format version {data.get('version')!r} cannot be read; "
            f"this release reads version {FORMAT_VERSION}."
        )
    missing = [name for name in _names(cls) if name not in data]
    if missing:
        raise ValueError(f"Not a tree: missing {', '.join(missing)}.")
    try:
        return cls(**{name: data[name] for name in _names(cls)})
    except (AttributeError, OverflowError, TypeError, IndexError) as error:
        raise ValueError(f"Not a tree: values of a wrong type or size ({error}).") from error


def _names(cls):
    return [field.name for field in fields(cls)]
