"""What a fitted model is used for: predict, explain, plot, page, export."""

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
    commands : what argparse's `add_subparsers` returns
    """

    def add(name, text, run, *parents):
        parser = commands.add_parser(name, help=text, parents=parents)
        parser.set_defaults(run=run)
        return parser

    model, rows, drawn = (ArgumentParser(add_help=False) for _ in range(3))
    model.add_argument("model", metavar="MODEL", help="folder of a fit, or its model.json")
    text = "rows as those of the fit"
    rows.add_argument("data", metavar="DATA", help=text)
    add_separator(rows)
    drawn.add_argument("data", metavar="DATA", nargs="?", help=text)
    add_separator(drawn)
    add_shape(drawn)

    text = "the clusters of a file's rows, by a fitted tree"
    predict = add("predict", text, _predict, model, rows)
    text = "DATA is larger than memory: .parquet, a folder of such, or .npy"
    predict.add_argument("--out-of-core", action="store_true", help=text)
    add_out(predict, help="labels to write (default: to the screen)")

    explain = add("explain", "why a row is in its cluster", _explain, model, rows)
    which = explain.add_mutually_exclusive_group(required=True)
    which.add_argument("--row", type=int, help="number of the row, from 0")
    which.add_argument("--id", help="name of the row, in the column of names of the fit")

    plot = add("plot", "draw the tree", _plot, model, drawn)
    text = f"picture, .png, .pdf or .svg (default {PICTURE})"
    add_out(plot, default=PICTURE, help=text)

    page = add("page", "an interactive page of the tree", _page, model, drawn)
    add_out(page, default=PAGE, help=f"page (default {PAGE})")

    export = add("export", "the tree in another language", _export, model)
    export.add_argument("--format", choices=_WRITERS, default="rules", help="default %(default)s")
    add_out(export, help="file (default: to the screen; needed by onnx)")


def add_shape(parser):
    """Add --image-shape."""
    text = "features are pixels, as in 28x28"
    parser.add_argument("--image-shape", type=_shape, metavar="HxW", help=text)


def add_separator(parser):
    """Add --sep."""
    text = "between the values of a line"
    parser.add_argument("--sep", dest="separator", metavar="SEP", type=_separator, help=text)


def add_out(parser, **settings):
    """Add --out, and --force to overwrite what is there."""
    parser.add_argument("--out", type=place, **settings)
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def place(text):
    """Where something is to be written: a path; no name would be the folder that one is in."""
    if not text:
        raise ArgumentTypeError("expected a name, got an empty text")
    return Path(text)


def _shape(text):
    """Height and width of images from a text like 28x28."""
    height, width = text.lower().split("x")
    return int(height), int(width)


def _separator(text):
    """A separator as typed: TAB has a name."""
    mark = {"TAB": "\t", "tab": "\t", r"\t": "\t"}.get(text, text)
    if len(mark) != 1 or mark in '"\r\n':
        raise ArgumentTypeError(f"expected one character, or TAB, between values; got {text!r}")
    return mark


def _model_and_rows(options):
    """The model of the options, and the rows of their file; X is None without a file."""
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
        fault = f"--row: there is no usable row {options.row}; they end at {numbers[-1]}."
    elif data.ids is None:
        raise ValueError("--id: the fit had no column of names; give --id COLUMN to fit.")
    else:
        found = np.flatnonzero(data.ids.astype(str) == options.id)
        fault = f"--id: no row is named {options.id!r}."
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
    print(f"Tree drawn in {options.out}")


def _page(options):
    check_free([options.out], options.force)
    model, data = _model_and_rows(options)
    model.to_html(options.out, X=data.X, image_shape=options.image_shape)
    print(f"Page in {options.out}")


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
    print(f"Tree in {options.out}")


# What each format writes: text, or bytes.
_WRITERS = {
    "text": lambda model: model.to_text(),
    "rules": lambda model: "\n".join(model.to_rules()),
    "sql": to_sql,
    "dot": to_dot,
    "json": lambda model: tree_of(model).to_json(indent=1),
    "onnx": lambda model: to_onnx(model).SerializeToString(),
}
