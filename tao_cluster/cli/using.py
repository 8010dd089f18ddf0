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
from ..description import describe
from ..explanations import explain, nearest_change
from ..facade import FORMATS, Facade
from ..monitoring import checked_ids, monitor
from ..page import to_html
from ..plot import save_tree
from ..reading import Reading, cell_errors, read_table
from ..refitting import KEEPS, last_step, refit
from ..report import cluster_names, cluster_values
from ..tree import Tree, tree_of
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
    which.add_argument("--row", type=int, default=None, help="number of the row, from 0")
    which.add_argument("--id", default=None, help="name of the row, in the column of fit --id")
    text = "name or number of the cluster that the nearest change leads to (default: any other)"
    why.add_argument("--to", metavar="CLUSTER", default=None, help=text)
    columns = {"type": arguments.list_of(str.strip), "help": "columns that it leaves as they are"}
    why.add_argument("--fixed", metavar="A,B", default=(), **columns)

    what = add("describe", "describe each cluster in words and numbers", _describe, model, rows)
    what.add_argument("--rows", metavar="WORD", default="rows", help="what the rows are: customers")
    text = "write a text that asks a language model for names instead"
    what.add_argument("--prompt", action="store_true", default=False, help=text)
    arguments.add_out(what, help="text, .md, .html, or cards for a slide as .png, .pdf or .svg")

    text = "name the clusters of a fit, or print their names"
    arguments.add_names(add("names", text, _names, model, drawn))

    text = "compare the rows of two files, such as two months, by a fitted tree"
    both = add("monitor", text, _monitor, model, rows)
    both.add_argument("new", type=Path, metavar="NEW", help="file with the rows of now")

    later = add("refit", "fit the model of another month to a new file", _refit, model, rows)
    later.add_argument("--keep", choices=KEEPS, default="tests", help="default: %(default)s")
    later.add_argument("--classes", metavar="COLUMN", default=None, help="labels to explain")
    arguments.add_shape(later)
    arguments.add_out(later, metavar="FOLDER", help="default: the name of DATA with _tree")

    plot = add("plot", "draw the tree", _plot, model, drawn)
    arguments.add_out(plot, default=PICTURE, help=f".png, .pdf or .svg (default: {PICTURE})")

    page = add("page", "write an interactive HTML page of the tree", _page, model, drawn)
    arguments.add_out(page, default=PAGE, help=f"file of the page (default: {PAGE})")

    export = add("export", "write the tree in one of several formats", _export, model)
    formats = {"choices": [*FORMATS, "json"], "default": "rules", "help": "default: %(default)s"}
    export.add_argument("--format", **formats)
    export.add_argument("--dialect", help="of SQL, such as postgres or bigquery (default: sqlite)")
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
    note = partial(arguments.note, options.data)
    content = read_table(options.data, reading, note, schema, options.doubts)
    with cell_errors(options.data, content):
        return model, folder.rows_of(options.data, content, model, reading)


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
    row = rows.X.iloc[found] if hasattr(rows.X, "iloc") else rows.X[found]
    print(explain(model, row))
    try:
        change = nearest_change(model, row, options.to, fixed=options.fixed)
    except ValueError as error:
        if options.to is not None:
            raise
        change = error
    print(f"\nThe nearest change to {options.to or 'another cluster'}:\n{change}")


def _describe(options):
    model, rows = _model_and_rows(options)
    if options.prompt and options.out is not None and options.out.suffix.lower() != ".txt":
        raise ValueError("--prompt writes a text: leave out --out, or give it a .txt file.")
    found = describe(model, rows.X, rows=options.rows)
    kind = "" if options.out is None else options.out.suffix.lower()
    if kind in PICTURES:
        check_free([options.out], options.force)
        found.plot(style="slide").savefig(options.out)
        print(f"The cards are in {options.out}")
        return
    texts = {".md": found.to_markdown, ".html": found.to_html}
    text = found.to_prompt if options.prompt else texts.get(kind, lambda: found.text)
    _write(options, text(), "description")


def _names(options):
    model, rows = _model_and_rows(options)
    place, estimator = Path(options.model), shown(model)[0]
    if "names" not in options:
        known = zip(cluster_values(estimator, names=False), cluster_names(estimator), strict=True)
        print(json.dumps({str(k): name for k, name in known}, ensure_ascii=False, indent=1))
        return
    if not place.is_dir() or isinstance(model, Tree):
        raise ValueError(f"{place}: expected the folder that fit has written.")
    arguments.name_clusters(model, options)
    title, labels = getattr(options.data, "name", None), place / folder.LABELS
    schema, frame = folder.read_model(place)[1], pd.read_csv(labels, dtype=str, na_filter=False)
    folder.write_model(place, model, schema, rows.X, options.image_shape, title)
    folder.named(frame, last_step(model)).to_csv(labels, index=False)
    print(f"The clusters are named in all files of {place}")
    if rows.X is None:
        print("The picture and the page show no means: repeat it with the file of the rows")


def _refit(options):
    out = folder.default_folder(options)
    folder.check_folder(out, folder.OF_FIT, options.force)
    model, rows = _model_and_rows(options)
    y = None if options.classes is None else pd.DataFrame(rows.X).get(options.classes)
    with cell_errors(options.data):
        found = refit(model, rows.X, options.keep, y=y)
    is_table = hasattr(found, "schema_")
    schema = found.schema_ if is_table else folder.read_model(options.model)[1]
    folder.write_fit(out, found, schema, rows, options)
    print(f"\nThe labels, model, text, picture and page are in {out}")


def _monitor(options):
    model, old = _model_and_rows(options)
    options.data = options.new
    _, new = _model_and_rows(options)
    ids = None if old.ids is None or new.ids is None else (old.ids, new.ids)
    try:
        ids = None if ids is None else checked_ids(ids, (old.X, new.X))
    except ValueError as error:
        arguments.note(options.new, f"compared without ids: {error}")
        ids = None
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
    _write(options, content(model, options.format, **dialect), "tree")


def _write(options, text, what):
    """Write a text, or bytes, to the file of --out or to the screen."""
    if options.out is None:
        print(text)
        return
    check_free([options.out], options.force)
    data = text if isinstance(text, bytes) else f"{text}\n".encode()
    options.out.write_bytes(data)
    print(f"The {what} is in {options.out}")


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
