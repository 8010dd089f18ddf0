"""Options that several commands share.

Options that are not given are not in the namespace of argparse. The defaults are therefore those of
the functions and estimators that take them.
"""

import json
import re
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, BooleanOptionalAction
from dataclasses import fields, replace
from itertools import chain
from pathlib import Path

import pandas as pd

from .. import reading
from .._utils.warnings import listed
from ..columns.dates import PARTS
from ..columns.schema import Schema
from ..constraints import Constraints
from ..optimize.algorithms import SPLIT_KINDS
from ..optimize.settings import OBJECTIVES
from ..reading import Reading

# Options that name columns of a table, and further options of `table_pipeline`.
NAMES = ("columns", "drop", "keep", "categorical")
OF_TABLES = ("missing", "category_weight", "max_levels", "date_parts")


def note(path, message):
    """Print a note about a file in one line to the standard error stream."""
    warn(f"{path}: {message}")


def warn(sentence):
    """Print one line to the standard error stream."""
    print("tao-cluster:", " ".join(sentence.split()), file=sys.stderr)


def given(options, names):
    """Return the options of these names that the user has given: dict."""
    return {name: getattr(options, name) for name in names if name in options}


def reading_of(options, schema=None):
    """Return the Reading of the options; what is not given is as the schema says."""
    found = given(options, [field.name for field in fields(Reading)])
    if "na_values" in found:
        words = found["na_values"]
        numbers = pd.to_numeric(pd.Series(words), errors="coerce").dropna().tolist()
        found["na_values"] = ("", *words, *numbers)  # a number may be written in several ways
    return replace(reading.reading_of(schema or Schema()), **found)


def names_of(columns, options):
    """Return the columns that each option of :data:`NAMES` names: dict of lists.

    A value that is no column is a list of columns, separated by commas. Columns of classes and of
    names of rows are added to "drop".

    Raises
    ------
    ValueError
        If there is no column of classes or of names of rows.
    """
    beside = [name for name in given(options, ("classes", "id_column")).values() if name]
    for name in beside:
        if name not in columns:
            raise ValueError(f"there is no column {name!r}; the columns are {listed(columns)}.")
    found = {name: _listed(values, columns) for name, values in given(options, NAMES).items()}
    return found | {"drop": found.get("drop", []) + beside}


def _listed(values, columns):
    parts = ([value] if value in columns else re.split(" *, *", value) for value in values)
    return list(chain.from_iterable(parts))


def constraints_of(options, columns=()):
    """Return the Constraints of the options as a dict for TAOClustering; empty without any."""
    found = given(options, ("first", "max_depth", "max_tests_per_column", "steps"))
    for option, name in (("tested", "columns"), ("not_tested", "not_tested")):
        if option in options:
            found[name] = _listed(getattr(options, option), columns)
    if "steps" in found:
        found["steps"] = dict(found["steps"])
    return {"constraints": Constraints(**found)} if found else {}


def add_command(commands, name, text, run, *parents):
    """Add a command that calls `run` to the result of `add_subparsers`; return its parser."""
    parser = commands.add_parser(name, help=text, parents=parents, argument_default=SUPPRESS)
    parser.set_defaults(run=run)
    return parser


def data_options():
    """Return a parser with the options of the data and of the clustering."""
    parser, add = _parser()
    text = "file to cluster: .csv, .tsv or .txt (also .gz), .parquet, .feather, .npy or .npz"
    add("data", type=Path, metavar="DATA", help=text)
    text = "number of clusters, or auto: the groups that are apart or, if there are none, the "
    text += "segments that are found again in other rows, from 2 to 12 (default: 8; with "
    text += "--objective labels, the number of labels)"
    add("--n-clusters", "-k", type=auto_or(int), help=text)
    text = "clustering cost to minimise; labels = explain the labels of --classes (default: kmeans)"
    add("--objective", choices=OBJECTIVES, default="kmeans", help=text)
    text = "column of known classes, which is no feature: compare measures how well clusters match "
    text += "them; with --objective labels, they are the labels to explain"
    add("--classes", "--label", metavar="COLUMN", default=None, help=text)
    text = "divide numbers by their standard deviation (default: for tables, but not for arrays)"
    add("--standardize", action=BooleanOptionalAction, default=None, help=text)
    text = "seed of the random numbers (default: 0)"
    add("--reference-seed", "--seed", type=int, default=0, help=text)
    add("--depth", type=auto_or(int), help="maximum depth of the tree (default: auto)")

    add = parser.add_argument_group("columns of a table").add_argument
    for name, text in zip(NAMES, _NAMES_HELP, strict=True):
        add(f"--{name}", action="append", metavar="COLUMN", help=text.format(name))
    text = "column that names the rows, which is not used as a feature"
    add("--id", dest="id_column", metavar="COLUMN", help=text)
    text = (
        "missing numbers: median = use the median of the column; indicator = the same, and add a "
    )
    text += "feature that is 1 where a number is missing; drop = leave out rows with missing "
    text += "values; refuse = stop with an error (default: median)"
    add("--missing", choices=("median", "indicator", "drop", "refuse"), help=text)
    text = "weight of a categorical column, in standard deviations of a number (default: 1)"
    add("--category-weight", type=float, metavar="WEIGHT", help=text)
    text = "most levels of a categorical column; rarer ones become one level (default: 20)"
    add("--max-levels", type=int, metavar="N", help=text)
    text = f"parts of dates that become features, from {', '.join(PARTS)}"
    add("--date-parts", type=list_of(str.strip), metavar="A,B", help=text)
    text = "JSON file that says what some or all columns are, as in the folder of an earlier fit"
    add("--schema", type=Path, metavar="FILE", default=None, help=text)
    _add_yes(add)
    _add_reading_options(parser)
    return parser


def tree_options():
    """Return a parser with the options of the tree, for `fit` and `path`."""
    parser, add = _parser()
    text = "form of the tests: oblique = weighted sums, axis = single columns (default: oblique)"
    add("--split", choices=SPLIT_KINDS, default="oblique", help=text)
    add("--max-leaves", type=int, metavar="N", help="maximum number of leaves")
    text = "only this column may be tested; --tested can be repeated, or have names with commas"
    add("--tested", action="append", metavar="COLUMN", help=text)
    text = "this column shapes the clusters, but is not tested; see --tested"
    add("--not-tested", action="append", metavar="COLUMN", help=text)
    add("--first", metavar="COLUMN", help="the first test uses this column alone")
    text = "thresholds of a column are multiples of a number: age=5; --step can be repeated"
    add("--step", dest="steps", type=_step, action="append", metavar="COLUMN=STEP", help=text)
    add("--max-depth", type=int, metavar="N", help="maximum number of tests of a rule")
    text = "maximum number of tests that use the same column"
    add("--max-tests-per-column", type=int, metavar="N", help=text)
    add_shape(parser)
    return parser


def file_options(**settings):
    """Return a parser of a further file, for commands that use a model."""
    parser, add = _parser()
    text = "file with the columns of the one that was fitted; it is read in the same way"
    add("data", type=Path, metavar="DATA", default=None, help=text, **settings)
    _add_yes(add)
    _add_reading_options(parser)
    return parser


def add_shape(parser):
    """Add --image-shape."""
    text = "height and width of images, if the features are their pixels; for example 28x28"
    parser.add_argument("--image-shape", type=_shape, default=None, metavar="HxW", help=text)


def add_out(parser, default=None, **settings):
    """Add --out, and --force to overwrite existing files."""
    parser.add_argument("--out", type=place, default=default, **settings)
    text = "overwrite existing files"
    parser.add_argument("--force", action="store_true", default=False, help=text)


def add_names(parser):
    """Add --names."""
    text = "names of the clusters: A,B or a JSON object by number, or a .json or .txt file of them"
    parser.add_argument("--names", type=names_of_clusters, metavar="NAMES", help=text)


def names_of_clusters(text):
    """Return names: a list A,B, or JSON, or a .json or .txt file with either of them."""
    try:
        if text.lower().endswith((".json", ".txt")):
            text = Path(text).read_text(encoding="utf-8")
        found = re.search(r'[\[{].*".*[\]}]', text, re.DOTALL)  # perhaps with words around it
        names = [name.strip() for name in re.split("[,\n]", text.strip())]
        return names if found is None else json.loads(found[0])
    except (OSError, ValueError) as error:
        raise ArgumentTypeError(f"no names can be read: {error}") from None


def name_clusters(model, options):
    """Give the clusters of a fitted pipeline or estimator the names of the option --names."""
    if "names" in options:
        model.name_clusters(options.names)


def list_of(kind):
    """Return a parser of values that are separated by commas."""
    return lambda text: tuple(kind(part) for part in text.split(","))


def auto_or(kind):
    """Return a parser of a number or of the word auto."""
    return lambda text: text if text == "auto" else kind(text)


def place(text):
    """Return an argument as a path; reject an empty one, which would mean the current folder."""
    if not text:
        raise ArgumentTypeError("expected a name, got an empty string")
    return Path(text)


def _add_yes(add):
    text = "read doubtful cells and lines in the most careful way, and print it, instead of asking"
    add("--yes", dest="doubts", action="store_const", const="warn", default="ask", help=text)


def _parser():
    parser = ArgumentParser(add_help=False, argument_default=SUPPRESS)
    return parser, parser.add_argument


def _add_reading_options(parser):
    add = parser.add_argument_group("reading a text file").add_argument
    text = "strings that mean a missing value, as an empty cell does (default: NA, ?, - and others)"
    add("--na-values", "--na", nargs="+", action="extend", metavar="WORD", help=text)
    text = "character between the values of a line; TAB for a tab (default: detected)"
    add("--sep", dest="separator", type=_separator, help=text)
    add("--decimal", choices=(".", ","), help="decimal mark of numbers (default: detected)")
    add("--encoding", help="encoding of the characters (default: utf-8, or else cp1252)")
    text = "whether the first line names the columns (default: detected)"
    add("--header", action=BooleanOptionalAction, help=text)
    text = "number of lines before the header, which are left out"
    add("--skip-lines", type=int, metavar="N", help=text)


_NAMES_HELP = (
    "use only this column; --{} can be repeated, or have names with commas between them",
    "do not use this column; --{} can be repeated",
    "use this column, although it looks like a name of the rows; --{} can be repeated",
    "this column of numbers has codes of categories; --{} can be repeated",
)


def _step(text):
    """Return the column and the number of a string such as age=5."""
    column, _, step = text.rpartition("=")
    return column, float(step)


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
