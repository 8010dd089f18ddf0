"""Commands that use a fitted model, such as `predict`, `explain`, `monitor` and `export`."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from .._utils.warnings import listed
from ..columns.view import shown
from ..explanations import explain
from ..facade import FORMATS, Facade
from ..monitoring import monitor
from ..page import to_html
from ..plot import save_tree
from ..reading import Reading, cell_errors
from ..tree import tree_of
from . import arguments, folder
from .folder import PAGE, PICTURE, check_free

PICTURES = {".png", ".pdf", ".svg"}


def add_parsers(commands):
    """Add the commands that use a model to the command line.

    Parameters
    ----------
    commands : result of `ArgumentParser.add_subparsers`
    """
    model = ArgumentParser(add_help=False)
    model.add_argument("model", metavar="MODEL", help="folder that fit has written")
    add = partial(arguments.add_command, commands)
    rows, drawn = arguments.file_options(), arguments.file_options(nargs="?")
    arguments.add_shape(drawn)

    text = "assign the rows of a file to the clusters of a fitted tree"
    predict = add("predict", text, _predict, model, rows)
    text = "read a .parquet file, or a folder of them, in blocks"
    predict.add_argument("--out-of-core", action="store_true", default=False, help=text)
    arguments.add_out(predict, help="file to write the clusters to (default: the screen)")

    why = add("explain", "explain why a row is in its cluster", _explain, model, rows)
    which = why.add_mutually_exclusive_group(required=True)
    text = "number of the row in the file, counted from 0"
    which.add_argument("--row", type=int, default=None, help=text)
    text = "name of the row, in the column that fit --id has set"
    which.add_argument("--id", default=None, help=text)

    text = "compare the rows of two files, such as two months, by a fitted tree"
    both = add("monitor", text, _monitor, model, rows)
    both.add_argument("new", type=Path, metavar="NEW", help="file with the rows of now")

    plot = add("plot", "draw the tree", _plot, model, drawn)
    text = f"file of the picture: .png, .pdf or .svg (default: {PICTURE})"
    arguments.add_out(plot, default=PICTURE, help=text)

    page = add("page", "write an interactive HTML page of the tree", _page, model, drawn)
    arguments.add_out(page, default=PAGE, help=f"file of the page (default: {PAGE})")

    export = add("export", "write the tree in one of several formats", _export, model)
    formats = {"choices": [*FORMATS, "json"], "default": "rules", "help": "default: %(default)s"}
    export.add_argument("--format", **formats)
    text = "dialect of SQL, such as postgres, mysql or bigquery (default: sqlite)"
    export.add_argument("--dialect", help=text)
    arguments.add_out(export, help="file to write (default: the screen; onnx needs a file)")


def _model_and_rows(options):
    """Return the model and the rows of the file; X is None if no file was given."""
    model, schema = folder.read_model(options.model)
    if options.data is None:
        unused = arguments.given(options, [field.name for field in fields(Reading)])
        if unused:
            names = [f"--{name}".replace("separator", "sep").replace("_", "-") for name in unused]
            raise ValueError(f"{listed(names, quote=False)} needs DATA, the file to be read.")
        return model, folder.FileRows(None)
    reading = arguments.reading_of(options, schema)
    return model, folder.read_rows(options.data, model, reading, schema, options.doubts)


def _predict(options):
    if options.out is not None:
        check_free([options.out], options.force)
    if options.out_of_core:
        folder.predict_large(options)
        return
    model, rows = _model_and_rows(options)
    with cell_errors(options.data):
        folder.write_labels(options.out or sys.stdout, rows, *folder.encoded(model, rows.X))


def _explain(options):
    model, rows = _model_and_rows(options)
    keys, key = (rows.numbers, options.row) if options.id is None else (rows.ids, options.id)
    if keys is None:
        raise ValueError("--id: the model was fitted without names of rows; fit it with --id.")
    found = np.flatnonzero(np.asarray(keys).astype(str) == str(key))[:1]
    if len(found) == 0:
        raise ValueError(f"row {key!r} does not exist, or has missing values; rows count from 0.")
    print(explain(model, rows.X.iloc[found] if hasattr(rows.X, "iloc") else rows.X[found]))


def _monitor(options):
    model, old = _model_and_rows(options)
    options.data = options.new
    _, new = _model_and_rows(options)
    ids = None if old.ids is None or new.ids is None else (old.ids, new.ids)
    print(monitor(model, old.X, new.X, ids))


def _plot(options):
    if options.out.suffix.lower() not in PICTURES:
        raise ValueError(f"{options.out}: expected a picture file, .png, .pdf or .svg.")
    check_free([options.out], options.force)
    model, rows = _model_and_rows(options)
    save_tree(options.out, model, rows.X, image_shape=options.image_shape)
    print(f"The tree is drawn in {options.out}")


def _page(options):
    check_free([options.out], options.force)
    model, rows = _model_and_rows(options)
    title = None if options.data is None else options.data.name
    to_html(model, options.out, X=rows.X, image_shape=options.image_shape, title=title)
    print(f"The page is in {options.out}")


def _export(options):
    if options.format == "onnx" and options.out is None:
        raise ValueError("--format onnx needs --out FILE.")
    dialect = arguments.given(options, ("dialect",))
    if dialect and options.format != "sql":
        raise ValueError("--dialect is an option of --format sql.")
    model, _ = folder.read_model(options.model)
    text = content(model, options.format, **dialect)
    if options.out is None:
        print(text)
        return
    check_free([options.out], options.force)
    data = text if isinstance(text, bytes) else f"{text}\n".encode()
    options.out.write_bytes(data)
    print(f"The tree is in {options.out}")


def content(model, name, **options):
    """Return a model in the format of this name: str, or bytes if it is a binary format."""
    if name == "json":
        return tree_of(shown(model)[0]).to_json(indent=1)
    exported = getattr(Facade, f"to_{name}")(model, **options)
    if isinstance(exported, dict):
        return json.dumps(exported, ensure_ascii=False, indent=1)
    if isinstance(exported, list):
        return "\n".join(exported)
    if isinstance(exported, pd.DataFrame):
        return exported.to_csv(index=False)
    return exported if isinstance(exported, str) else exported.SerializeToString()
