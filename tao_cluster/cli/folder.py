"""Write and read the folder that holds the results of a fit, also of one out of core."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from sklearn.pipeline import Pipeline

from .._utils.warnings import listed
from ..columns.schema import Schema
from ..columns.table_reader import reading_once
from ..columns.view import raw_view, shown
from ..comparison import Comparison
from ..export import to_text
from ..outofcore import fit
from ..outofcore.blocks import LocalBlocks
from ..outofcore.files import ParquetTable, frames_of, numeric_columns
from ..page import to_html
from ..plot import save_tree
from ..reading import cell_errors, file_of, reading_of
from ..report import cluster_names
from ..saving import load, save
from ..table import passed_on, table_pipeline
from ..tree import tree_of
from . import arguments
from .arguments import note

MODEL, SCHEMA, COLUMNS = "model.json", "schema.json", "columns.csv"
LABELS, TEXT, PICTURE, PAGE = "labels.csv", "tree.txt", "tree.png", "page.html"
OF_FIT = (MODEL, SCHEMA, COLUMNS, LABELS, TEXT, PICTURE, PAGE)
_MOST_DRAWN = 64  # the most leaves for which a picture is readable
# Kinds of columns that can be features, and number of rows from which the kind is determined.
_KINDS, _ROWS = ("number", "category", "constant"), 10_000
# Limits of a block. Each thread holds one block in memory, so the threads are limited, too.
_MOST_VALUES, _MOST_ROWS, _MOST_THREADS = 2**22, 2**18, 4


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows of a file that a model takes.

    Parameters
    ----------
    X : DataFrame of the raw columns, array or CSR matrix; None if there is no file
    numbers : int array of shape (n,), number of each row in the file, from 0
    ids : Series of shape (n,), names of the rows; None if there are none
    """

    X: Any
    numbers: np.ndarray | None = None
    ids: pd.Series | None = None

    @classmethod
    def from_table(cls, frame, kept, id_column):
        """Return the rows of a table for which the bool array `kept` is true."""
        ids = frame[id_column][kept] if id_column in frame else None
        return cls(frame if kept.all() else frame[kept], np.flatnonzero(kept), ids)


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
        return
    check_free([folder], force)
    folder.mkdir()  # raises an OSError if that is not possible
    folder.rmdir()


def write_model(folder, model, schema, X=None, image_shape=None, title=None):
    """Write all results of a fit except the labels.

    Parameters
    ----------
    folder : Path
    model : fitted pipeline or estimator
    schema : Schema, by which further files are read
    X : DataFrame, array or CSR matrix, optional
        Picture and page show statistics of these rows; otherwise those stored in the model.
    image_shape : (height, width), optional
    title : str, optional
        Title of the page.
    """
    folder.mkdir(exist_ok=True)
    save(model, folder / MODEL)
    schema.to_json(folder / SCHEMA)
    if isinstance(model, Pipeline):
        model.decisions_.to_csv(folder / COLUMNS, index=False)
    (folder / TEXT).write_text(to_text(model) + "\n", encoding="utf-8")
    if tree_of(shown(model)[0]).n_leaves <= _MOST_DRAWN:
        save_tree(folder / PICTURE, model, X, image_shape=image_shape)
    to_html(model, folder / PAGE, X=X, image_shape=image_shape, title=title)


def default_folder(options):
    """Return the folder of --out; by default, it has the name of the file."""
    return options.out or Path(f"{options.data.name.split('.')[0]}_tree")


def write_fit(folder, model, schema, rows, options):
    """Write all results of a fit to the FileRows `rows`; see :func:`write_model`."""
    with reading_once(model, rows.X):
        write_model(folder, model, schema, rows.X, options.image_shape, options.data.name)
        write_labels(folder / LABELS, rows, *transformed(model, rows.X))


def named(frame, estimator):
    """Add the column `name` to labels if the clusters are named."""
    if hasattr(estimator, "cluster_names_"):
        of_leaves = estimator.tree_.leaf_label[frame["leaf"].astype(int)]
        frame["name"] = np.array(cluster_names(estimator))[of_leaves]
    return frame


def write_labels(file, rows, estimator, Z, *, is_first=True):
    """Write a CSV line per row: its name, or its number in the file, its cluster and its leaf.

    If the clusters are named, a column `name` follows.

    Parameters
    ----------
    file : path or file
    rows : FileRows
    estimator : fitted estimator or Tree
    Z : the rows as the estimator takes them
    is_first : bool, default=True
        Whether these are the first lines of the file, which begin with the names of the columns.
    """
    first = pd.Series(rows.numbers, name="row") if rows.ids is None else rows.ids
    frame = first.reset_index(drop=True).to_frame()
    frame["cluster"], frame["leaf"] = estimator.predict(Z), estimator.apply(Z)
    frame = named(frame, estimator)
    frame.to_csv(file, index=False, header=is_first, mode="w" if is_first else "a")


def transformed(model, X, *, fits=False):
    """Return the estimator of a model, and the rows as this estimator takes them.

    Parameters
    ----------
    model : pipeline or estimator, or Tree
    X : raw rows
    fits : bool, default=False
        Whether to fit the steps before the estimator.
    """
    if not isinstance(model, Pipeline):
        return model, X
    return model[-1], passed_on(model, X, fits=fits)


def encoded(model, X):
    """Return the estimator of a fitted model, and the rows as its `predict` takes them.

    The columns that the tree does not test may be absent.
    """
    return (model[-1], model.encoded(X)) if isinstance(model, Pipeline) else (model, X)


def schema_of(model, options):
    """Return the schema of a fitted model: what its columns are, and how its file was read."""
    if isinstance(model, Pipeline):
        return model.schema_
    reading = arguments.reading_of(options)
    return Schema((), reading.na_values, file_of(reading))


def read_model(path):
    """Read a model from a folder or a file, and how further files are read.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    fitted pipeline or estimator, or Tree
    Schema
    """
    path = Path(path)
    file = path / MODEL if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"{file}: no such file; expected the folder that fit has written.")
    model, beside = load(file), file.with_name(SCHEMA)
    if isinstance(model, Pipeline):
        return model, model.schema_
    if file.name != MODEL or not beside.is_file():
        return model, Schema()
    return model, Schema.from_json(beside)


def rows_of(path, content, model, reading):
    """Return the FileRows of a table or array of a file, and print notes about unusual values."""
    if not isinstance(content, pd.DataFrame):
        return FileRows(content, np.arange(content.shape[0]))
    if not isinstance(model, Pipeline):
        ids = content.get(reading.id_column)
        return FileRows(_selected(content, model), np.arange(len(content)), ids)
    # Columns that had no missing values in the fit have no words for missing values, either. Such
    # words in new rows would be new levels, or errors, instead of missing values.
    texts = content.drop(columns=reading.id_column or [], errors="ignore")
    texts = texts.select_dtypes(exclude="number")
    content = content.assign(**texts.mask(texts.isin(reading.na_values)))
    tested = raw_view(model).tested_columns
    kept = model[0].usable_rows(content, tested)
    if not kept.any():
        raise ValueError("every row has a missing value in a column that had none in the fit.")
    if not kept.all():
        note(path, f"{(~kept).sum()} of {len(kept)} rows have missing values: left out.")
    _note_new_levels(path, model, content[kept], tested)
    return FileRows.from_table(content, kept, reading.id_column)


def _selected(content, model):
    """Return the columns that a model without steps names; all columns if it has no names."""
    if not hasattr(model, "feature_names_in_"):
        return content.to_numpy(dtype=np.float64)
    missing = [name for name in model.feature_names_in_ if name not in content]
    if missing:
        raise ValueError(f"there is no column {listed(missing)}, which the model uses.")
    return content[list(model.feature_names_in_)].astype(np.float64)


def _note_new_levels(path, pipeline, content, tested):
    """Print a note for each tested column with levels that the fit did not have."""
    encoder = pipeline[1].named_transformers_.get("levels")
    if encoder is None:
        return
    table = pipeline[0].transform(content, tested)
    for name, known in zip(encoder.feature_names_in_, encoder.categories_, strict=True):
        new = set(table[name].dropna()) - set(known)
        if new:
            levels = listed(sorted(map(str, new)))
            note(path, f"column {name!r} has levels that the fit did not have: {levels}.")


# ---------------------------------------------------------------------- out of core


def fit_large(options, estimator, out):
    """Fit an estimator to the numeric columns of Parquet files, and write the results.

    Parameters
    ----------
    options : argparse.Namespace
    estimator : TAOClustering, not fitted
    out : Path, the folder
    """
    with cell_errors(options.data):
        _check(options)
        names = _features(options)
        table = ParquetTable.from_files(options.data, columns=names)
        n_jobs = min(effective_n_jobs(-1), _MOST_THREADS)
        read = partial(table.read, _MOST_VALUES, _MOST_ROWS)
        model = fit(
            estimator,
            LocalBlocks(read, names, n_jobs=n_jobs),
            coreset_size=getattr(options, "max_rows", "auto"),
            random_state=options.reference_seed,
        )
    arguments.name_clusters(model, options)
    print(f"{options.data}: {model.node_rows_[0]} rows, {len(names)} columns\n")
    print(Comparison.from_models({f"TAO {options.split}": model}))
    shape, title = options.image_shape, options.data.name
    schema = schema_of(model, options)
    write_model(out, model, schema, image_shape=shape, title=title)
    _write_labels_in_blocks(out / LABELS, options.data, model, schema)


def predict_large(options):
    """Write the cluster and the leaf of each row of Parquet files, by any kind of model."""
    model, schema = read_model(options.model)
    with cell_errors(options.data):
        _check(options)
        _write_labels_in_blocks(options.out or sys.stdout, options.data, model, schema)


def _write_labels_in_blocks(file, path, model, schema):
    """Write the cluster and leaf of each row, block by block; see :func:`write_labels`."""
    columns, reading = list(numeric_columns(path)), reading_of(schema)
    used = getattr(model, "feature_names_in_", columns)
    names = [name for name in columns if name in {*used, reading.id_column}]
    start, n_rows = 0, min(_MOST_ROWS, _MOST_VALUES // max(len(names), 1))
    for frame in frames_of(path, names, n_rows):
        rows = rows_of(path, frame, model, reading)
        rows.numbers[:] += start
        write_labels(file, rows, *encoded(model, rows.X), is_first=start == 0)
        start += len(frame)


def _check(options):
    """Raise a ValueError for options that need all rows in memory, and for other kinds of files."""
    used = arguments.given(options, (*arguments.OF_TABLES, "categorical"))
    if used or getattr(options, "classes", None):
        name = next(iter(used), "classes").replace("_", "-")
        raise ValueError(f"--{name} needs the rows in memory; leave out --out-of-core.")
    if not options.data.exists():
        raise ValueError("no such file or folder.")
    if not (options.data.is_dir() or options.data.suffix.lower() == ".parquet"):
        raise ValueError("--out-of-core reads a .parquet file, or a folder of them.")


def _features(options):
    """Return the names of the columns to cluster by, and print which ones are left out."""
    are_numbers = numeric_columns(options.data)
    first = next(frames_of(options.data, list(are_numbers), _ROWS), pd.DataFrame())
    names = arguments.names_of(are_numbers, options)
    pipeline = table_pipeline(first, schema=options.schema, doubts=options.doubts, **names)
    kinds = pipeline.decisions_.set_index("column")["kind"]
    names = [name for name in are_numbers if are_numbers[name] and kinds[name] in _KINDS]
    if not names:
        raise ValueError("no numeric column is left to cluster by.")
    others = [name for name in are_numbers if name not in names]
    if others:
        note(options.data, f"not numeric, not chosen or names of rows: {listed(others)}.")
    return names
