"""Out-of-core `fit` and `predict`: numeric columns of Parquet files are read in blocks."""

import sys
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
from . import arguments, folder
from .loading import cell_errors, note

# Kinds of columns that can be features, and number of rows from which the kind is determined.
_KINDS, _ROWS = ("number", "category", "constant"), 10_000
# Limits of a block. Each thread holds one block in memory, so the threads are limited, too.
_MOST_VALUES, _MOST_ROWS, _MOST_THREADS = 2**22, 2**18, 4


def fit_large(options, estimator, out):
    """Fit an estimator to Parquet files, and write the results into a folder.

    Parameters
    ----------
    options : argparse.Namespace
    estimator : TAOClustering, not fitted
    out : Path, the folder
    """
    reading = arguments.reading_of(options)
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
    print(f"{options.data}: {model.node_rows_[0]} rows, {len(names)} columns\n")
    print(Comparison.from_models({f"TAO {options.split}": model}))
    folder.write_model(out, model, reading, image_shape=options.image_shape)
    _write_labels(out / folder.LABELS, model, table, reading.id_column)


def predict_large(options):
    """Write the cluster and the leaf of each row of Parquet files."""
    model, reading = folder.read_model(options.model)
    with cell_errors(options.data):
        _check(options)
        if not hasattr(model, "tree_"):
            raise ValueError("the model was fitted in memory; leave out --out-of-core.")
        known = numeric_columns(options.data)
        table = ParquetTable.from_files(
            options.data, columns=list(getattr(model, "feature_names_in_", known))
        )
        id_column = reading.id_column if reading.id_column in known else None
        _write_labels(options.out or sys.stdout, model, table, id_column)


def _write_labels(file, model, table, id_column):
    """Write the cluster and leaf of each row, block by block; see :func:`.folder.write_labels`."""
    limits, start, parts = (_MOST_VALUES, _MOST_ROWS), 0, repeat(None)
    if id_column is not None:
        parts = table.read_column(id_column, *limits)
    for (block, *_), part in zip(table.read(*limits), parts, strict=False):
        X = pd.DataFrame(block, columns=table.X.names)
        ids = None if part is None else pd.Series(part, name=id_column)
        rows = folder.Rows(X, np.arange(start, start + len(X)), ids)
        folder.write_labels(file, rows, model, X, is_first=start == 0)
        start += len(X)


def _check(options):
    """Raise a ValueError for options that need all rows in memory, and for other kinds of files."""
    used = arguments.given(options, (*arguments.OF_TABLES, "categorical"))
    if used or getattr(options, "classes", None):
        used = "".join(f" --{name.replace('_', '-')}" for name in used) or " --classes"
        raise ValueError(f"{used} needs the rows in memory; leave out --out-of-core.")
    path = Path(options.data)
    if not path.exists():
        raise ValueError("no such file or folder.")
    if not (path.is_dir() or path.suffix.lower() == ".parquet"):
        raise ValueError("--out-of-core reads a .parquet file, or a folder of them.")


def _features(options):
    """Return the names of the columns to cluster by, and print which ones are left out."""
    are_numbers = numeric_columns(options.data)
    chosen = arguments.names_of(are_numbers, options)
    decisions = table_pipeline(first_rows(options.data, list(are_numbers), _ROWS), **chosen)
    kinds = decisions.decisions_.set_index("column")["kind"]
    names = [name for name in are_numbers if are_numbers[name] and kinds[name] in _KINDS]
    if not names:
        raise ValueError("no numeric column is left to cluster by.")
    others = [name for name in are_numbers if name not in names]
    if others:
        note(options.data, f"not numeric, not chosen or names of rows: {listed(others)}.")
    return names
