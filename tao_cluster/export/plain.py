"""The tree as plain Python values, and back."""

from dataclasses import fields

import numpy as np

from ..report import tree_of
from ..tree import Tree

FORMAT = "tao-cluster tree"
FORMAT_VERSION = 1
_NAMES = [field.name for field in fields(Tree)]


def to_dict(tree):
    """Lists and numbers that give the tree back bit by bit, also through JSON.

    Parameters
    ----------
    tree : Tree, or fitted estimator with `tree_`

    Returns
    -------
    dict; `format` and `version` say how to read the rest
    """
    tree = tree_of(tree)
    values = {name: getattr(tree, name) for name in _NAMES}
    return {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        **{k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()},
    }


def from_dict(data):
    """Tree from the result of `to_dict`.

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
    missing = [name for name in _NAMES if name not in data]
    if missing:
        raise ValueError(f"Not a tree: missing {', '.join(missing)}.")
    try:
        return Tree(**{name: data[name] for name in _NAMES})
    except (AttributeError, OverflowError, TypeError, IndexError) as error:
        raise ValueError(f"Not a tree: values of a wrong type or size ({error}).") from error
