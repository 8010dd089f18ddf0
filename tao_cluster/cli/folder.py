"""Write and read the files in the folder that holds the results of a fit."""

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
_MOST_DRAWN = 64  # the most leaves for which a picture is readable


def check_free(paths, force):
    """Raise an error before the fit if files cannot be written: no folder, or a file exists.

    Parameters
    ----------
    paths : iterable of Path, files to be written
    force : bool, whether files may be overwritten
    """
    for path in paths:
        if not path.parent.is_dir():
            raise ValueError(f"{path.parent}: no such folder to write to; create it first.")
        if path.exists() and not force:
            raise ValueError(f"{path}: the file exists already; --force overwrites it.")


def check_folder(folder, files, force):
    """Raise an error before the fit if files cannot be written to a folder, which may be new."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: is a file, not a folder; choose another --out.")
    if folder.is_dir():
        check_free([folder / name for name in files], force)
    elif not folder.parent.is_dir():
        raise ValueError(f"{folder.parent}: no such folder to write to; create it first.")
    else:
        try:
            folder.mkdir()
            folder.rmdir()
        except OSError as error:
            raise ValueError(
                f"{folder}: the folder cannot be created ({error.strerror})."
            ) from error


def check_shape(image_shape, n_features):
    """Raise a ValueError if images of a shape do not have `n_features` pixels."""
    if image_shape is not None and image_shape[0] * image_shape[1] != n_features:
        raise ValueError(
            f"--image-shape {image_shape[0]}x{image_shape[1]} has {np.prod(image_shape)} pixels, "
            f"but the data have {n_features} features."
        )


def named(X, names):
    """Return the rows as a DataFrame with names of features, or unchanged if there are no names."""
    return X if names is None else pd.DataFrame(X, columns=[str(name) for name in names])


def report_fit(model, seconds, rows=None, names=None):
    """Print the measures of a fit and its tree.

    Parameters
    ----------
    model : fitted estimator
    seconds : float
        Time of the fit.
    rows : array, CSR matrix or DataFrame, optional
        Rows of the fit. Without them, the measures that need the rows are left out.
    names : list of str, optional
        Names of the features; by default those of the model.
    """
    name = f"TAO {model.split}"
    print(Comparison.from_models({name: model}, rows, seconds={name: seconds}))
    print("\n" + model.to_text(names, max_terms=8))


def write_fit(folder, model, data, image_shape=None):
    """Write all results of a fit.

    Parameters
    ----------
    folder : Path
    model : fitted estimator
    data : Loaded
        The data that the model was fitted to.
    image_shape : (height, width), optional
    """
    if data.feature_names is not None:
        # Indicators keep the column and the category, so that rules read `plan is gold`.
        model.feature_names_in_ = np.array([*data.feature_names, None], dtype=object)[:-1]
    write_tree(folder, model, data.recipe, named(data.X, data.feature_names), image_shape)
    write_labels(folder / LABELS, model.labels_, data.rows, data.ids, data.recipe)


def write_tree(folder, model, recipe, rows=None, image_shape=None):
    """Write all results of a fit except the labels.

    Parameters
    ----------
    folder : Path
    model : fitted estimator
    recipe : Recipe, or None
    rows : array, CSR matrix or DataFrame, optional
        Picture and page show statistics of these rows; otherwise those stored in the model.
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
    """Write a CSV line per row: the cluster and the further columns.

    The number of the row comes first if `rows` is given, then its name if `ids` is given.
    """
    table = {} if rows is None else {"row": rows}
    if ids is not None:
        table[recipe.id_column] = ids
    frame = pd.DataFrame({**table, "cluster": labels, **columns})
    frame.to_csv(file, index=False, header=header)


def read_model(path):
    """Read a model from a folder or a file, and the recipe of its columns.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    estimator or Tree
    Recipe, or None if the folder has no recipe
    """
    path = Path(path)
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        raise ValueError(
            f"{file}: no such file; expected the folder that fit has written, or its {MODEL}."
        )
    model, columns = load(file), file.with_name(COLUMNS)
    if not columns.is_file() or file.name != MODEL:
        return model, None
    try:
        recipe = Recipe.from_dict(read_document(columns.read_bytes()))
    except ValueError as error:
        raise ValueError(f"{columns}: {error}") from error
    n_names = len(recipe.feature_names)
    if n_names != n_features_of(model):
        raise ValueError(
            f"{columns}: has {n_names} features, but the model has {n_features_of(model)}; both "
            "files must come from the same fit."
        )
    return model, recipe


def n_features_of(model):
    """Return the number of features of an estimator or a tree."""
    return model.n_features if isinstance(model, Tree) else model.n_features_in_


def check_width(path, n_columns, model):
    """Raise a ValueError if a file has another number of columns than the model has features."""
    n_features = n_features_of(model)
    if n_columns != n_features:
        raise ValueError(
            f"{path}: has {n_columns} columns, but the model has {n_features} features."
        )


def read_rows(path, model, recipe, separator):
    """Read rows of a file for a model, and print notes about unusual values.

    Parameters
    ----------
    path : str
    model : estimator or Tree
    recipe : Recipe or None
    separator : str or None

    Returns
    -------
    Loaded
        X is a DataFrame if the model has names of features.
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
    """Select the columns that the model names; all columns if it has no names."""
    names = [str(name) for name in getattr(model, "feature_names_in_", ())]
    missing = [name for name in names if name not in content]
    if missing:
        raise ValueError(
            f"there is no column {listed(missing)}, which the model uses. If the model comes from "
            f"tao-cluster fit, put its {COLUMNS} next to its {MODEL}."
        )
    numbers = (content[names] if names else content).astype(np.float64)
    return Loaded(numbers if names else numbers.to_numpy())


def _by_recipe(content, model, recipe):
    """Compute the features of a table by a recipe; the column of row names may be missing."""
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
