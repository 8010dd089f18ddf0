"""Out-of-core `fit` and `predict`: numeric columns of Parquet files are read in blocks."""

import sys
from contextlib import nullcontext
from functools import partial
from itertools import repeat
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import effective_n_jobs

from .._utils.warnings import listed
from ..comparison import Comparison
from ..outofcore import fit
from ..outofcore.blocks import LocalBlocks
from ..outofcore.files import ParquetTable, first_rows, numeric_columns
from ..table import table_pipeline
from .folder import LABELS, Rows, read_model, write_labels, write_model
from .loading import cell_errors, note
from .options import OF_TABLES, given, names_of, reading_of

# Limits of a block. Each thread holds one block in memory, so the threads are limited, too.
_MOST_VALUES, _MOST_ROWS, _MOST_THREADS = 2**22, 2**18, 4


def fit_large(options, estimator, folder):
    """Fit an estimator to Parquet files, and write the results into a folder.

    Parameters
    ----------
    options : argparse.Namespace
    estimator : TAOClustering, not fitted
    folder : Path
    """
    reading = reading_of(options)
    with cell_errors(options.data):
        _check(options)
        names = _features(options, reading.id_column)
        table = ParquetTable.from_files(options.data, columns=names)
        n_jobs = min(effective_n_jobs(-1), _MOST_THREADS)
        read = partial(table.read, _MOST_VALUES, _MOST_ROWS)
        model = fit(
            estimator,
            LocalBlocks(read, names, n_jobs=n_jobs),
            coreset_size=getattr(options, "max_rows", "auto"),
            random_state=options.reference_seed,
        )
    print(f"{options.data}: {model.node_rows_[0]} rows, {len(names)} columns\n")
    print(Comparison.from_models({f"TAO {options.split}": model}))
    write_model(folder, model, reading, image_shape=options.image_shape)
    with _written(folder / LABELS) as file:
        _write_labels(file, model, table, reading.id_column, with_leaf=False)


def predict_large(options):
    """Write the cluster and the leaf of each row of Parquet files."""
    model, reading = read_model(options.model)
    with cell_errors(options.data):
        _check(options)
        if not hasattr(model, "feature_names_in_"):
            raise ValueError("the model was fitted in memory; leave out --out-of-core.")
        names = list(model.feature_names_in_)
        table = ParquetTable.from_files(options.data, columns=names)
        has_ids = reading.id_column in numeric_columns(options.data)
        id_column = reading.id_column if has_ids else None
        with _written(options.out) as file:
            _write_labels(file, model, table, id_column, with_leaf=True)


def _written(path):
    """Return a context manager of a file to write to; the screen if there is no path."""
    return nullcontext(sys.stdout) if path is None else path.open("w", encoding="utf-8", newline="")


def _write_labels(file, model, table, id_column, *, with_leaf):
    """Write the cluster of each row, block by block; see :func:`.folder.write_labels`."""
    limits, start, parts = (_MOST_VALUES, _MOST_ROWS), 0, repeat(None)
    if id_column is not None:
        parts = table.read_column(id_column, *limits)
    for (block, *_), part in zip(table.read(*limits), parts, strict=False):
        X = pd.DataFrame(block, columns=table.X.names)
        leaf = {"leaf": model.apply(X)} if with_leaf else {}
        ids = None if part is None else pd.Series(part, name=id_column)
        rows = Rows(X, np.arange(start, start + len(X)), ids)
        write_labels(file, rows, header=start == 0, cluster=model.predict(X), **leaf)
        start += len(X)


def _check(options):
    """Raise a ValueError for options that need all rows in memory, and for other kinds of files."""
    used = [*given(options, (*OF_TABLES, "separator", "categorical"))]
    if getattr(options, "classes", None):
        used.append("classes")
    if used:
        raise ValueError(f"--{used[0]} needs the rows in memory; leave out --out-of-core.")
    path = Path(options.data)
    if not path.exists():
        raise ValueError("no such file or folder.")
    if not (path.is_dir() or path.suffix.lower() == ".parquet"):
        raise ValueError("--out-of-core reads a .parquet file, or a folder of them.")


def _features(options, id_column):
    """Return the names of the columns to cluster by, and print which ones are left out."""
    are_numbers = numeric_columns(options.data)
    chosen = names_of(are_numbers, options)
    beside = {id_column, *chosen.get("drop", ())}
    used = [name for name in chosen.get("columns", are_numbers) if name not in beside]
    others = [name for name in used if not are_numbers[name]]
    if others:
        note(options.data, f"columns that are not numeric, left out: {listed(others)}.")
    names = [name for name in used if are_numbers[name]]
    if not names:
        raise ValueError("no numeric column is left to cluster by.")
    if "columns" in chosen:
        return names
    first = first_rows(options.data, names, _MOST_ROWS)
    decisions = table_pipeline(first, keep=chosen.get("keep", ())).decisions_
    for row in decisions[decisions["kind"] == "name"].itertuples():
        note(options.data, f"{row.column}: left out ({row.why}).")
    return list(decisions["column"][decisions["kind"] != "name"])
