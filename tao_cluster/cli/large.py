"""Out-of-core `fit` and `predict`: files that do not fit into memory are read in blocks."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from .._utils.warnings import listed
from ..outofcore import blocks_of, fit
from ..outofcore.blocks import LocalBlocks
from ..outofcore.files import ParquetTable, first_rows, numeric_columns, read_npy
from .columns import CATEGORIES, MISSING, Choices, Column, Recipe, without_row_numbers
from .folder import (
    LABELS,
    check_shape,
    check_width,
    named,
    read_model,
    report_fit,
    write_labels,
    write_tree,
)
from .loading import warn

# Limits of a block. Each thread holds one block in memory, so the threads are limited, too.
_MOST_VALUES, _MOST_ROWS, _MOST_THREADS = 2**22, 2**18, 4


def fit_large(options, estimator, choices, folder):
    """Fit an estimator to a file, and write the results into a folder.

    Parameters
    ----------
    options : argparse.Namespace
    estimator : TAOClustering, not fitted
    choices : Choices
    folder : Path
    """
    path = options.data
    _check_options(options)
    if not _is_array(path):
        large = LargeFile.of(path, _recipe(path, choices))
    elif choices == Choices():
        large = LargeFile.of(path)
    else:
        raise ValueError(
            f"{path}: options for columns apply to tables only; an array has no columns by name."
        )
    start = time.perf_counter()
    check_shape(options.image_shape, large.n_features)
    model = fit(
        estimator,
        large.blocks,
        coreset_size="auto" if options.max_rows is None else options.max_rows,
        random_state=options.reference_seed,
    )
    seconds = time.perf_counter() - start
    n_rows = int(model.node_rows_[0])
    print(f"{path}: {n_rows} rows, {model.n_features_in_} features\n")
    report_fit(model, seconds)
    write_tree(folder, model, large.recipe, image_shape=options.image_shape)
    with (folder / LABELS).open("w", encoding="utf-8", newline="") as file:
        large.write_labels(file, model, with_leaf=False)
    print(f"\nThe labels, model, text, picture and page are in {folder}")


def predict_large(options):
    """Write the cluster and the leaf of each row of a file."""
    _check_options(options)
    model, recipe = read_model(options.model)
    large = LargeFile.of(options.data, recipe)
    check_width(options.data, large.n_features, model)
    if options.out is None:
        large.write_labels(sys.stdout, model, with_leaf=True)
        return
    with options.out.open("w", encoding="utf-8", newline="") as file:
        large.write_labels(file, model, with_leaf=True)


@dataclass(frozen=True, eq=False)
class LargeFile:
    """A file or folder that is read in blocks of rows.

    Parameters
    ----------
    path : str
    recipe : Recipe, or None
        Columns that are features; None if all columns are.
    table : ParquetTable, or None
        None for an array.
    """

    path: str
    recipe: Recipe | None = None
    table: Any = None

    @classmethod
    def of(cls, path, recipe=None):
        """Open the file or folder of a path, with the columns of a recipe.

        Raises
        ------
        ValueError
            If the file cannot be read in blocks, or lacks columns.
        """
        if _is_array(path):
            return cls(path)
        if recipe is None:
            return cls(path, None, ParquetTable.from_files(path))
        for column in recipe.columns:
            if column.kinds is not None or column.fill is not None:
                raise ValueError(
                    f"--out-of-core: column {column.name!r} had categories or missing values in "
                    "the fit, which need the table in memory; leave out --out-of-core."
                )
        if recipe.id_column not in numeric_columns(path):  # new rows need not have names
            recipe = replace(recipe, id_column=None)
        return cls(path, recipe, ParquetTable.from_files(path, columns=recipe.feature_names))

    @property
    def blocks(self):
        """Blocks of the rows of the file, for `outofcore.fit`."""
        n_jobs = min(effective_n_jobs(-1), _MOST_THREADS)
        if self.table is None:
            return blocks_of(self.path, n_jobs=n_jobs)
        return LocalBlocks(self._read, self.table.X.names, n_jobs=n_jobs)

    @property
    def n_features(self):
        """Number of features."""
        if self.table is None:
            return int(np.prod(read_npy(self.path, "r").shape[1:]))
        return len(self.table.X.names)

    def _read(self):
        return self.table.read(_MOST_VALUES, _MOST_ROWS)

    def _rows_and_ids(self):
        """Yield (rows, their names or None) of each block."""
        if self.table is None:
            yield from ((X, None) for X in self.blocks.results(lambda block, _: block.X, None))
        elif self.recipe is None or self.recipe.id_column is None:
            yield from ((X, None) for X, *_ in self._read())
        else:
            ids = self.table.read_column(self.recipe.id_column, _MOST_VALUES, _MOST_ROWS)
            yield from ((X, part) for (X, *_), part in zip(self._read(), ids, strict=True))

    def write_labels(self, file, model, *, with_leaf):
        """Write the cluster of each row, block by block; see :func:`.folder.write_labels`."""
        names = getattr(model, "feature_names_in_", None)
        for part, (rows, ids) in enumerate(self._rows_and_ids()):
            X = named(rows, names)
            leaf = {"leaf": model.apply(X)} if with_leaf else {}
            labels = model.predict(X)
            write_labels(file, labels, None, ids, self.recipe, header=part == 0, **leaf)


def _is_array(path):
    return Path(path).suffix.lower() == ".npy"


def _check_options(options):
    """Raise a ValueError for options that need all rows in memory, and for other kinds of files."""
    for flag, value in (
        ("classes", getattr(options, "classes", None)),
        ("missing", getattr(options, "missing", MISSING[0]) != MISSING[0]),
        ("sep", options.separator),
    ):
        if value:
            raise ValueError(
                f"--{flag} needs the rows in memory; leave out --{flag} or --out-of-core."
            )
    path = Path(options.data)
    if not path.exists():
        raise ValueError(f"{path}: no such file or folder.")
    if not (path.is_dir() or path.suffix.lower() in {".parquet", ".npy"}):
        raise ValueError(
            f"{path}: --out-of-core reads a .parquet file, a folder of them, or an .npy file."
        )


def _recipe(path, choices):
    """Return the numeric columns that become features, and print which ones are left out."""
    are_numbers, notes = numeric_columns(path), []
    features = are_numbers if choices.columns is None else choices.columns
    features = [name for name in features if name not in {*choices.drop, choices.id_column}]
    if choices.columns is None:
        features = list(without_row_numbers(first_rows(path, features, _MOST_ROWS), notes))
    try:
        choices.check_names(are_numbers)
        texts = [name for name in features if not are_numbers[name]]
        if texts and choices.categories == CATEGORIES[0]:
            raise ValueError(
                f"column {texts[0]!r} is not numeric, and --out-of-core needs numbers: leave out "
                "such columns with --categories drop, --columns or --drop."
            )
        if texts:
            notes.append(f"columns that are not numeric, left out: {listed(texts)}.")
        features = [name for name in features if are_numbers[name]]
        if not features:
            raise ValueError(
                "no column is left to cluster by: use fewer --drop, or other --columns."
            )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    for note in notes:
        warn(f"{path}: {note}")
    return Recipe(tuple(map(Column, features)), choices.id_column)
