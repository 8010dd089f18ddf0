"""What a fitted model is used for: predict, explain, plot, page, export."""

import sys
from argparse import ArgumentTypeError
from pathlib import Path

import numpy as np
import pandas as pd

from ..export import to_dot, to_onnx, to_sql
from ..plot import save_tree
from ..tree import tree_of
from .folder import PAGE, PICTURE, check_free, n_features_of, read_model, read_rows, write_labels
from .large import predict_large

_PICTURES = {".png", ".pdf", ".svg"}


def add_parsers(commands, tell):
    """Add the commands that use a model to the command line.

    Parameters
    ----------
    commands : what argparse's `add_subparsers` returns
    tell : callable(str), for sentences beside the output
    """

    def add(name, text, run):
        parser = commands.add_parser(name, help=text)
        parser.add_argument("model", metavar="MODEL", help="folder of a fit, or its model.json")
        parser.set_defaults(run=lambda options: run(options, tell))
        return parser

    predict = add("predict", "the clusters of a file's rows, by a fitted tree", _predict)
    _add_rows(predict)
    predict.add_argument(
        "--out-of-core",
        action="store_true",
        help="DATA is larger than memory: .parquet, a folder of such, or .npy",
    )
    _add_out(predict, "labels to write (default: to the screen)")

    explain = add("explain", "why a row is in its cluster", _explain)
    _add_rows(explain)
    which = explain.add_mutually_exclusive_group(required=True)
    which.add_argument("--row", type=int, help="number of the row, from 0")
    which.add_argument("--id", help="name of the row, in the column of names of the fit")

    plot = add("plot", "draw the tree", _plot)
    _add_rows(plot, is_needed=False)
    _add_images(plot)
    _add_out(plot, f"picture, .png, .pdf or .svg (default {PICTURE})", PICTURE)

    page = add("page", "an interactive page of the tree", _page)
    _add_rows(page, is_needed=False)
    _add_images(page)
    _add_out(page, f"page (default {PAGE})", PAGE)

    export = add("export", "the tree in another language", _export)
    export.add_argument("--format", choices=_WRITERS, default="rules", help="default %(default)s")
    _add_out(export, "file (default: to the screen; needed by onnx)")


def shape(text):
    """Height and width of images from a text like 28x28."""
    height, width = text.lower().split("x")
    return int(height), int(width)


def _add_rows(parser, *, is_needed=True):
    parser.add_argument(
        "data", metavar="DATA", nargs=None if is_needed else "?", help="rows as those of the fit"
    )
    parser.add_argument("--sep", type=separator, help="between the values of a line")


def _add_images(parser):
    parser.add_argument(
        "--image-shape", type=shape, metavar="HxW", help="features are pixels, as in 28x28"
    )


def _add_out(parser, text, default=None):
    parser.add_argument("--out", type=place, default=default and Path(default), help=text)
    parser.add_argument("--force", action="store_true", help="overwrite what is there")


def separator(text):
    """A separator as typed: TAB has a name."""
    mark = {"TAB": "\t", "tab": "\t", r"\t": "\t"}.get(text, text)
    if len(mark) != 1 or mark in '"\r\n':
        raise ArgumentTypeError(f"expected one character, or TAB, between values; got {text!r}")
    return mark


def place(text):
    """Where something is to be written: a path; no name would be the folder that one is in."""
    if not text:
        raise ArgumentTypeError("expected a name, got an empty text")
    return Path(text)


def _rows(options, tell):
    """The model of the options, and the rows of their file, their numbers and names."""
    model, recipe = read_model(options.model)
    if options.data is None:
        return model, None, None, None, recipe
    notes = []
    X, rows, ids = read_rows(Path(options.data), model, recipe, options.sep, notes)
    for note in notes:
        tell(f"{options.data}: {note}")
    if X.shape[1] != n_features_of(model):
        raise ValueError(
            f"{options.data}: {X.shape[1]} columns, but the model has {n_features_of(model)} "
            "features."
        )
    return model, X, rows, ids, recipe


def _predict(options, tell):
    if options.out is not None:
        check_free([options.out], options.force)
    if options.out_of_core:
        predict_large(options)
        return
    model, X, rows, ids, recipe = _rows(options, tell)
    out = sys.stdout if options.out is None else options.out
    write_labels(out, model.predict(X), rows, ids, recipe, leaf=model.apply(X))


def _explain(options, tell):
    model, X, rows, ids, _ = _rows(options, tell)
    row = _row(options, X.shape[0], rows, ids)
    x = X.iloc[[row]] if isinstance(X, pd.DataFrame) else X[[row]]
    print(model.explain(x))


def _row(options, n_rows, rows, ids):
    """Place of the row that is asked for among those that have features."""
    if options.id is not None:
        if ids is None:
            raise ValueError("--id: the fit had no column of names; give --id COLUMN to fit.")
        found = np.flatnonzero(ids.astype(str) == options.id)
        if len(found) == 0:
            raise ValueError(f"--id: no row is named {options.id!r}.")
        return int(found[0])
    numbers = np.arange(n_rows) if rows is None else rows
    found = np.flatnonzero(numbers == options.row)
    if len(found) == 0:
        raise ValueError(f"--row: there is no usable row {options.row}; they end at {numbers[-1]}.")
    return int(found[0])


def _plot(options, tell):
    if options.out.suffix.lower() not in _PICTURES:
        raise ValueError(f"{options.out}: expected a picture file, .png, .pdf or .svg.")
    check_free([options.out], options.force)
    model, X, *_ = _rows(options, tell)
    save_tree(options.out, model, X, image_shape=options.image_shape)
    print(f"Tree drawn in {options.out}")


def _page(options, tell):
    check_free([options.out], options.force)
    model, X, *_ = _rows(options, tell)
    model.to_html(options.out, X=X, image_shape=options.image_shape)
    print(f"Page in {options.out}")


def _export(options, tell):
    del tell
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
