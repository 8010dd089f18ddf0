"""Out-of-core `fit` and `predict`: Parquet files are read in blocks."""

import sys
from functools import partial

import pandas as pd
from joblib import effective_n_jobs

from .._utils.warnings import listed
from ..comparison import Comparison
from ..outofcore import fit
from ..outofcore.blocks import LocalBlocks
from ..outofcore.files import ParquetTable, frames_of, numeric_columns
from ..reading import cell_errors, reading_of
from ..table import table_pipeline
from . import arguments, folder
from .arguments import note

# Kinds of columns that can be features, and number of rows from which the kind is determined.
_KINDS, _ROWS = ("number", "category", "constant"), 10_000
# Limits of a block. Each thread holds one block in memory, so the threads are limited, too.
_MOST_VALUES, _MOST_ROWS, _MOST_THREADS = 2**22, 2**18, 4


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
    schema = folder.schema_of(model, options)
    folder.write_model(out, model, schema, image_shape=shape, title=title)
    _write_labels(out / folder.LABELS, options.data, model, schema)


def predict_large(options):
    """Write the cluster and the leaf of each row of Parquet files, by any kind of model."""
    model, schema = folder.read_model(options.model)
    with cell_errors(options.data):
        _check(options)
        _write_labels(options.out or sys.stdout, options.data, model, schema)


def _write_labels(file, path, model, schema):
    """Write the cluster and leaf of each row, block by block; see :func:`.folder.write_labels`."""
    columns, reading = list(numeric_columns(path)), reading_of(schema)
    used = getattr(model, "feature_names_in_", columns)
    names = [name for name in columns if name in {*used, reading.id_column}]
    start, n_rows = 0, min(_MOST_ROWS, _MOST_VALUES // max(len(names), 1))
    for frame in frames_of(path, names, n_rows):
        rows = folder.rows_of(path, frame, model, reading)
        rows.numbers[:] += start
        folder.write_labels(file, rows, *folder.encoded(model, rows.X), is_first=start == 0)
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
