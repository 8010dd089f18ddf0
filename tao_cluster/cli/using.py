"""Commands that use a fitted model: `predict`, `explain`, `plot`, `page` and `export`."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path

import numpy as np
import pandas as pd

from ..export import to_dot, to_onnx, to_sql
from ..plot import save_tree
from ..tree import tree_of
from .columns import Loaded
from .folder import PAGE, PICTURE, check_free, read_model, read_rows, write_labels
from .large import predict_large

PICTURES = {".png", ".pdf", ".svg"}


def add_parsers(commands):
    """Add the commands that use a model to the command line.

    Parameters
    ----------
    commands : result of `ArgumentParser.add_subparsers`
    """

    def add(name, text, run, *parents):
        parser = commands.add_parser(name, help=text, parents=parents)
        parser.set_defaults(run=run)
        return parser

    model, rows, drawn = (ArgumentParser(add_help=False) for _ in range(3))
    model.add_argument(
        "model", metavar="MODEL", help="folder that fit has written, or its model.json"
    )
    text = "file with the same columns as the one that was fitted"
    rows.add_argument("data", metavar="DATA", help=text)
    add_separator(rows)
    drawn.add_argument("data", metavar="DATA", nargs="?", help=text)
    add_separator(drawn)
    add_shape(drawn)

    text = "assign the rows of a file to the clusters of a fitted tree"
    predict = add("predict", text, _predict, model, rows)
    text = "read DATA in blocks, because it does not fit into memory: .parquet, a folder, or .npy"
    predict.add_argument("--out-of-core", action="store_true", help=text)
    add_out(predict, help="file to write the clusters to (default: the screen)")

    explain = add("explain", "explain why a row is in its cluster", _explain, model, rows)
    which = explain.add_mutually_exclusive_group(required=True)
    which.add_argument("--row", type=int, help="number of the row, counted from 0")
    which.add_argument("--id", help="name of the row, in the column that fit --id has set")

    plot = add("plot", "draw the tree", _plot, model, drawn)
    text = f"file of the picture: .png, .pdf or .svg (default: {PICTURE})"
    add_out(plot, default=PICTURE, help=text)

    page = add("page", "write an interactive HTML page of the tree", _page, model, drawn)
    add_out(page, default=PAGE, help=f"file of the page (default: {PAGE})")

    export = add("export", "write the tree as rules, SQL, DOT, JSON or ONNX", _export, model)
    export.add_argument("--format", choices=_WRITERS, default="rules", help="default: %(default)s")
    add_out(export, help="file to write (default: the screen; onnx needs a file)")


def add_shape(parser):
    """Add --image-shape."""
    text = "height and width of images, if the features are their pixels; for example 28x28"
    parser.add_argument("--image-shape", type=_shape, metavar="HxW", help=text)


def add_separator(parser):
    """Add --sep."""
    text = "character between the values of a line; TAB for a tab (default: by the file name)"
    parser.add_argument("--sep", dest="separator", metavar="SEP", type=_separator, help=text)


def add_out(parser, **settings):
    """Add --out, and --force to overwrite existing files."""
    parser.add_argument("--out", type=place, **settings)
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def place(text):
    """Return an argument as a path; reject an empty one, which would mean the current folder."""
    if not text:
        raise ArgumentTypeError("expected a name, got an empty string")
    return Path(text)


def _shape(text):
    """Return the height and width of images from a string such as 28x28."""
    height, width = text.lower().split("x")
    return int(height), int(width)


def _separator(text):
    """Return the separator for an argument, in which TAB stands for a tab."""
    mark = {"TAB": "\t", "tab": "\t", r"\t": "\t"}.get(text, text)
    if len(mark) != 1 or mark in '"\r\n':
        raise ArgumentTypeError(f"expected one character, or TAB, between values; got {text!r}")
    return mark


def _model_and_rows(options):
    """Return the model and the rows of the file; X is None if no file was given."""
    model, recipe = read_model(options.model)
    if options.data is None:
        return model, Loaded(None)
    return model, read_rows(options.data, model, recipe, options.separator)


def _predict(options):
    if options.out is not None:
        check_free([options.out], options.force)
    if options.out_of_core:
        predict_large(options)
        return
    model, data = _model_and_rows(options)
    out = sys.stdout if options.out is None else options.out
    leaf = model.apply(data.X)
    write_labels(out, model.predict(data.X), data.rows, data.ids, data.recipe, leaf=leaf)


def _explain(options):
    model, data = _model_and_rows(options)
    n_rows = data.X.shape[0]
    numbers = np.arange(n_rows) if data.rows is None else data.rows
    if options.id is None:
        found = np.flatnonzero(numbers == options.row)
        fault = (
            f"--row: row {options.row} does not exist or has missing values; rows are numbered "
            f"from 0 to {numbers[-1]}."
        )
    elif data.ids is None:
        raise ValueError(
            "--id: the model was fitted without a column of names; repeat the fit with --id COLUMN."
        )
    else:
        found = np.flatnonzero(data.ids.astype(str) == options.id)
        fault = f"--id: no row is named {options.id!r} in the column that names the rows."
    if len(found) == 0:
        raise ValueError(fault)
    row = found[:1]
    print(model.explain(data.X.iloc[row] if isinstance(data.X, pd.DataFrame) else data.X[row]))


def _plot(options):
    if options.out.suffix.lower() not in PICTURES:
        raise ValueError(f"{options.out}: expected a picture file, .png, .pdf or .svg.")
    check_free([options.out], options.force)
    model, data = _model_and_rows(options)
    save_tree(options.out, model, data.X, image_shape=options.image_shape)
    print(f"The tree is drawn in {options.out}")


def _page(options):
    check_free([options.out], options.force)
    model, data = _model_and_rows(options)
    model.to_html(options.out, X=data.X, image_shape=options.image_shape)
    print(f"The page is in {options.out}")


def _export(options):
    if options.format == "onnx" and options.out is None:
        raise ValueError("--format onnx needs --out FILE.")
    model, _ = read_model(options.model)
    content = _WRITERS[options.format](model)
    if options.out is None:
        print(content)
        return
    check_free([options.out], options.force)
    data = content if isinstance(content, bytes) else f"{content}\n".encode()
    options.out.write_bytes(data)
    print(f"The tree is in {options.out}")


# Functions that return the content of each format: str or bytes.
_WRITERS = {
    "text": lambda model: model.to_text(),
    "rules": lambda model: "\n".join(model.to_rules()),
    "sql": to_sql,
    "dot": to_dot,
    "json": lambda model: tree_of(model).to_json(indent=1),
    "onnx": lambda model: to_onnx(model).SerializeToString(),
}
