"""The folder that a fit leaves: what is written there, and how other commands read it."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

from .._utils.warnings import listed
from ..comparison import Comparison
from ..plot import save_tree
from ..saving import load
from ..tree import Tree
from ..tree.serialization import read_document
from .columns import Loaded, Recipe
from .loading import read_file, warn

MODEL, COLUMNS = "model.json", "columns.json"
LABELS, TEXT, PICTURE, PAGE = "labels.csv", "tree.txt", "tree.png", "page.html"
OF_FIT = (MODEL, COLUMNS, LABELS, TEXT, PICTURE, PAGE)
_MOST_DRAWN = 64  # leaves of a picture that can be read


def check_free(paths, force):
    """Fail before the work, not after it: where there is no folder, or a file is in the way.

    Parameters
    ----------
    paths : iterable of Path, files to be written
    force : bool, whether files may be overwritten
    """
    for path in paths:
        if not path.parent.is_dir():
            raise ValueError(f"{path.parent}: no such folder to write to.")
        if path.exists() and not force:
            raise ValueError(f"{path}: is there already; --force overwrites it.")


def check_folder(folder, files, force):
    """Fail before the work if some files cannot be put into a folder, which need not be there."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file, not a folder.")
    if folder.is_dir():
        check_free([folder / name for name in files], force)
    elif not folder.parent.is_dir():
        raise ValueError(f"{folder.parent}: no such folder to write to.")
    else:
        try:
            folder.mkdir()
            folder.rmdir()
        except OSError as error:
            raise ValueError(f"{folder}: no such folder can be made ({error.strerror}).") from error


def check_shape(image_shape, n_features):
    """ValueError if images of a shape do not have so many pixels."""
    if image_shape is not None and image_shape[0] * image_shape[1] != n_features:
        raise ValueError(
            f"--image-shape {image_shape[0]}x{image_shape[1]} does not hold {n_features} features."
        )


def named(X, names):
    """Rows with the names of their features, as estimators take them."""
    return X if names is None else pd.DataFrame(X, columns=[str(name) for name in names])


def report_fit(model, seconds, rows=None, names=None):
    """Print the measures of a fit and its tree.

    Parameters
    ----------
    model : fitted estimator
    seconds : float, of the fit
    rows : array, CSR matrix or DataFrame, optional
        More is told with the rows than without.
    names : list of str, optional
        Names of the features; default those that the model has.
    """
    name = f"TAO {model.split}"
    print(Comparison.from_models({name: model}, rows, seconds={name: seconds}))
    print("\n" + model.to_text(names, max_terms=8))


def write_fit(folder, model, data, image_shape=None):
    """Write everything of a fit.

    Parameters
    ----------
    folder : Path
    model : fitted estimator
    data : Loaded, that it was fitted to
    image_shape : (height, width), optional
    """
    if data.feature_names is not None:
        # Names that know the column and the text they stand for: rules are read by them.
        model.feature_names_in_ = np.array([*data.feature_names, None], dtype=object)[:-1]
    write_tree(folder, model, data.recipe, named(data.X, data.feature_names), image_shape)
    write_labels(folder / LABELS, model.labels_, data.rows, data.ids, data.recipe)


def write_tree(folder, model, recipe, rows=None, image_shape=None):
    """Write everything of a fit but its labels.

    Parameters
    ----------
    folder : Path
    model : fitted estimator
    recipe : Recipe, or None
    rows : array, CSR matrix or DataFrame, optional
        What picture and page tell about the nodes; without them what the model knows.
    image_shape : (height, width), optional
    """
    folder.mkdir(exist_ok=True)
    model.save(folder / MODEL)
    if recipe is not None:
        text = json.dumps(recipe.to_dict(), indent=1)
        (folder / COLUMNS).write_text(text, encoding="utf-8")
    (folder / TEXT).write_text(model.to_text() + "\n", encoding="utf-8")
    if model.tree_.n_leaves <= _MOST_DRAWN:
        save_tree(folder / PICTURE, model, rows, image_shape=image_shape)
    model.to_html(folder / PAGE, X=rows, image_shape=image_shape)


def write_labels(file, labels, rows=None, ids=None, recipe=None, *, header=True, **columns):
    """A cluster a line, after the name of the row, or its number from 0 where some are left out."""
    table = {} if rows is None else {"row": rows}
    if ids is not None:
        table[recipe.id_column] = ids
    frame = pd.DataFrame({**table, "cluster": labels, **columns})
    frame.to_csv(file, index=False, header=header)


def read_model(path):
    """The model of a folder, or of a file, and the recipe of its columns.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator or Tree
    Recipe, or None if there are no columns
    """
    path = Path(path)
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"{file}: no such file; expected the folder of a fit, or its {MODEL}.")
    model, columns = load(file), file.with_name(COLUMNS)
    if not columns.is_file() or file.name != MODEL:
        return model, None
    try:
        recipe = Recipe.from_dict(read_document(columns.read_bytes()))
    except ValueError as error:
        raise ValueError(f"{columns}: {error}") from error
    n_names = len(recipe.feature_names)
    if n_names != n_features_of(model):
        raise ValueError(f"{columns}: {n_names} features, the model has {n_features_of(model)}.")
    return model, recipe


def n_features_of(model):
    """Number of features of an estimator or a tree."""
    return model.n_features if isinstance(model, Tree) else model.n_features_in_


def check_width(path, n_columns, model):
    """ValueError if a file has not as many columns as a model has features."""
    n_features = n_features_of(model)
    if n_columns != n_features:
        raise ValueError(f"{path}: {n_columns} columns, but the model has {n_features} features.")


def read_rows(path, model, recipe, separator):
    """Rows of a file as a model takes them; what is odd about them is told.

    Parameters
    ----------
    path : str
    model : estimator or Tree
    recipe : Recipe or None
    separator : str or None

    Returns
    -------
    Loaded, X with names where the model has some
    """
    content = read_file(Path(path), separator)
    if not isinstance(content, pd.DataFrame):
        data = Loaded(content)
    else:
        try:
            data = (
                _by_name(content, model) if recipe is None else _by_recipe(content, model, recipe)
            )
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    for note in data.notes:
        warn(f"{path}: {note}")
    check_width(path, data.X.shape[1], model)
    return data


def _by_name(content, model):
    """The columns that a model without its recipe names; all of them where it names none."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    missing = [name for name in names if name not in content]
    if missing:
        raise ValueError(
            f"it has no column {listed(missing)}, which the model has; where a fit has made some "
            f"of others, its {COLUMNS} must lie beside its {MODEL}."
        )
    numbers = (content[names] if names else content).astype(np.float64)
    return Loaded(numbers if names else numbers.to_numpy())


def _by_recipe(content, model, recipe):
    """The features that a recipe makes of a table; new rows need not have names."""
    notes = []
    X, rows = recipe.applied(content, notes)
    has_ids = recipe.id_column is not None and recipe.id_column in content
    return Loaded(
        named(X, recipe.feature_names if hasattr(model, "feature_names_in_") else None),
        recipe,
        None if len(rows) == len(content) else rows,
        content[recipe.id_column].to_numpy()[rows] if has_ids else None,
        notes=tuple(notes),
    )
