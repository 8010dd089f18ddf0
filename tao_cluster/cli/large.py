"""Files that memory does not hold: how they are fitted, and the clusters of their rows."""

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from .._utils.warnings import listed
from ..comparison import Comparison
from ..outofcore import blocks_of, fit
from ..outofcore.blocks import LocalBlocks
from ..outofcore.files import Table, first_rows, numbers_of, read_npy
from .columns import CATEGORIES, MISSING, Choices, without_row_numbers
from .folder import LABELS, n_features_of, named, read_model, write_labels, write_tree
from .recipe import Column, Recipe

# Of a block; so many blocks as threads are in memory, which is why these are not more.
_MOST_VALUES, _MOST_ROWS, _MOST_THREADS = 2**22, 2**18, 4


def _threads():
    return min(effective_n_jobs(-1), _MOST_THREADS)


@dataclass(frozen=True, eq=False)
class Large:
    """A file or folder, of which some rows are read at a time.

    Parameters
    ----------
    path : str
    recipe : Recipe of its columns; None of an array
    table : Table, or None of an array
    """

    path: str
    recipe: Recipe | None = None
    table: Any = None

    @classmethod
    def of(cls, path, recipe=None):
        """What a path leads to, with the columns of a recipe.

        Raises
        ------
        ValueError
            If it is none of the files that can be read in parts, or lacks columns.
        """
        if Path(path).suffix.lower() == ".npy":
            return cls(path)
        made = [] if recipe is None else [c for c in recipe.columns if c != Column(c.name)]
        if made:
            raise ValueError(
                f"--out-of-core: column {made[0].name!r} has categories or missing values, for "
                "which the fit had the table in memory; leave out --out-of-core."
            )
        if recipe is None:
            return cls(path, None, Table.of(path))
        if recipe.id_column not in numbers_of(path):  # new rows need not have names
            recipe = replace(recipe, id_column=None)
        return cls(path, recipe, Table.of(path, columns=recipe.feature_names))

    @property
    def blocks(self):
        """The rows for a fit."""
        if self.table is None:
            return blocks_of(self.path, n_jobs=_threads())
        return LocalBlocks(self._read, self.table.X.names, n_jobs=_threads())

    @property
    def n_features(self):
        """Number of features."""
        if self.table is None:
            return int(np.prod(read_npy(self.path, "r").shape[1:]))
        return len(self.table.X.names)

    def _read(self):
        return self.table.read(_MOST_VALUES, _MOST_ROWS)

    def rows(self, names):
        """Yield (rows, their names or None), some at a time, with these names of features."""
        if self.table is None:
            for X in self.blocks.results(lambda block, _: block.X, None):
                yield named(X, names), None
            return
        column = None if self.recipe is None else self.recipe.id_column
        if column is None:
            yield from ((named(X, names), None) for X, *_ in self._read())
            return
        beside = self.table.read_beside(column, _MOST_VALUES, _MOST_ROWS)
        yield from (
            (named(X, names), ids) for (X, *_), ids in zip(self._read(), beside, strict=True)
        )

    def write_labels(self, file, model, *, with_leaf):
        """Write the cluster of each row, some rows at a time; see :func:`.folder.write_labels`."""
        for part, (X, ids) in enumerate(self.rows(getattr(model, "feature_names_in_", None))):
            leaf = {"leaf": model.apply(X)} if with_leaf else {}
            labels = model.predict(X)
            write_labels(file, labels, None, ids, self.recipe, header=part == 0, **leaf)


def fit_large(options, estimator, choices, folder, tell):
    """Fit an estimator to a file, and write everything into a folder.

    Parameters
    ----------
    options : namespace of argparse
    estimator : not fitted
    choices : Choices
    folder : Path
    tell : callable(str), for sentences beside the output
    """
    path = options.data
    is_array = Path(path).suffix.lower() == ".npy"
    if is_array and choices != Choices():
        raise ValueError(f"{path}: columns can be chosen of a table only.")
    large = Large.of(path, None if is_array else _recipe(path, choices, tell))
    start = time.perf_counter()
    check_shape(options.image_shape, large.n_features)
    model = fit(
        estimator.set_params(verbose=int(sys.stderr.isatty())),
        large.blocks,
        coreset_size="auto" if options.max_rows is None else options.max_rows,
        random_state=options.reference_seed,
    )
    name, n_rows = f"TAO {options.split}", int(model.node_counts_[0])
    print(f"{path}: {n_rows} rows, {model.n_features_in_} features\n")
    print(Comparison.of({name: model}, seconds={name: time.perf_counter() - start}))
    print("\n" + model.to_text(max_terms=8))
    write_tree(folder, model, large.recipe, image_shape=options.image_shape)
    with (folder / LABELS).open("w", encoding="utf-8", newline="") as file:
        large.write_labels(file, model, with_leaf=False)
    print(f"\nLabels, model, text, picture and page in {folder}")


def predict_large(options):
    """Write the cluster and the leaf of each row of a file."""
    check_options(options)
    model, recipe = read_model(options.model)
    large = Large.of(options.data, recipe)
    if large.n_features != n_features_of(model):
        raise ValueError(
            f"{options.data}: {large.n_features} columns, but the model has "
            f"{n_features_of(model)} features."
        )
    if options.out is None:
        large.write_labels(sys.stdout, model, with_leaf=True)
        return
    with options.out.open("w", encoding="utf-8", newline="") as file:
        large.write_labels(file, model, with_leaf=True)


def check_options(options):
    """ValueError for what only rows in memory allow, or a file that cannot be read in parts."""
    for flag, usual in (
        ("classes", (None,)),
        ("missing", (None, MISSING[0])),
        ("sep", (None,)),
    ):
        if getattr(options, flag, None) not in usual:
            raise ValueError(f"--{flag} needs the rows in memory; leave it or --out-of-core out.")
    path = Path(options.data)
    if not path.exists():
        raise ValueError(f"{path}: no such file or folder.")
    if not (path.is_dir() or path.suffix.lower() in {".parquet", ".npy"}):
        raise ValueError(f"{path}: --out-of-core reads .parquet, a folder of such, or .npy.")


def check_shape(image_shape, n_features):
    """ValueError if images of a shape do not have so many pixels."""
    if image_shape is not None and image_shape[0] * image_shape[1] != n_features:
        raise ValueError(
            f"--image-shape {image_shape[0]}x{image_shape[1]} does not hold {n_features} features."
        )


def _recipe(path, choices, tell):
    """The columns of numbers that are features; what is left out is told."""
    try:
        return _chosen(path, choices, tell)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def _chosen(path, choices, tell):
    are_numbers, notes = numbers_of(path), []
    choices.check_names(are_numbers)
    features = list(are_numbers) if choices.columns is None else list(choices.columns)
    features = [name for name in features if name not in {*choices.drop, choices.id_column}]
    texts = [name for name in features if not are_numbers[name]]
    if choices.columns is None:
        features = list(without_row_numbers(first_rows(path, features, _MOST_ROWS), notes))
        texts = [name for name in texts if name in features]
    if texts and choices.categories == CATEGORIES[0]:
        raise ValueError(
            f"column {texts[0]!r} holds no numbers; out of core only numbers can be used: leave "
            "such columns out by --categories drop, --columns or --drop."
        )
    if texts:
        notes.append(f"no numbers, left out: {listed(texts)}.")
    features = [name for name in features if are_numbers[name]]
    for note in notes:
        tell(f"{path}: {note}")
    if not features:
        raise ValueError("no column is left to cluster by.")
    return Recipe(tuple(map(Column, features)), choices.id_column)
