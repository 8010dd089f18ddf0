"""Read data files, tables or arrays, with an error message that names the file and the line."""

import contextlib
import csv
import gzip
import re
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice, zip_longest
from pathlib import Path

import numpy as np
import pandas as pd

from ._utils.warnings import listed, warn
from .columns.readers import (
    WHITE_SPACE,
    Level,
    Number,
    UnreadableCellError,
    thousands_or_decimal,
)
from .columns.schema import NA_VALUES, Schema, SchemaError
from .outofcore.files import file_errors, read_npy, read_npz

_HEAD_LINES = 200  # lines from which the format of a text file is detected
_LONGEST_CELL = 2**31 - 1
_FIRST = 100  # cells from which most string columns are recognised
_BLOCK = 2**22  # characters that are read at a time
_LEADING_ZERO = re.compile(r"^[+-]?0[0-9]", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """How a file is read. Fields that are None are detected from the first lines of a text file.

    Parameters
    ----------
    separator : str, optional
        Character between the values of a line.
    decimal : {".", ","}, optional
        Decimal mark of numbers.
    thousands : str, optional
        Separator of thousands. There is none by default.
    encoding : str, optional
        Encoding of the characters. The default is UTF-8, or cp1252 if the file is not UTF-8.
    header : bool, optional
        Whether the first line names the columns.
    skip_lines : int
        Number of lines before the header.
    na_values : tuple of str or numbers
        Cells that mean a missing value.
    id_column : str, optional
        Column that names the rows.
    """

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    header: bool | None = None
    skip_lines: int = 0
    na_values: tuple[str | int | float, ...] = NA_VALUES
    id_column: str | None = None


def read_table(path, reading=None, on_note=warn, schema=None):
    r"""Read the table, array or CSR matrix of a file.

    Parameters
    ----------
    path : str or Path
        - .csv, .tsv, .txt: a table of values with a separator, optionally compressed (.gz).
        - .parquet, .feather: a table (needs pyarrow).
        - .npy: a 2-D array of numbers.
        - .npz: a sparse matrix written by scipy.sparse.save_npz, or an archive with an array `X`
          (or with a single array).
    reading : Reading, optional
        How a text file is read. By default, the separator, the decimal mark, the encoding and
        whether there is a header are detected.
    on_note : callable(str), optional
        It is called with messages about what was detected. By default, they are warnings.
    schema : Schema, dict or path, optional
        What the columns are; see :class:`tao_cluster.Schema`. The cells of a text file are then
        read as this schema says, whatever they look like: the postal code "08015" stays a string.
        The schema of a fitted pipeline is its attribute `schema_`.

    Returns
    -------
    DataFrame, array or CSR matrix
        All cells of a text file are read as strings first. A column becomes numbers if all its
        cells are numbers, no cell has a leading zero as "08015" has, and no mark may separate
        either thousands or decimals, as in "1.250" beside "980". In columns of numbers, missing
        values are NaN. String columns keep the strings of `na_values`, so that rules and SQL about
        the raw table know them.

    Raises
    ------
    ValueError
        If the file is missing, has another format, or has values that cannot be used.

    Examples
    --------
    >>> import os, tempfile
    >>> from tao_cluster.reading import read_table
    >>> path = os.path.join(tempfile.mkdtemp(), "people.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("name;height\nAda;1,68\nCarl;1,75\n")
    >>> read_table(path, on_note=print)
    values are separated by ';'.
       name  height
    0   Ada    1.68
    1  Carl    1.75
    """
    path = Path(path)
    kind = _kind(path)
    if kind not in {*_SEPARATORS, *_TABLES, *_ARRAYS}:
        raise ValueError(
            f"{path}: expected a .csv, .tsv or .txt (or one of these .gz), .parquet, .feather, "
            ".npy or .npz file."
        )
    if not path.is_file():
        raise ValueError(f"{path}: no such file.")
    schema = Schema.from_any(schema)
    if kind in _SEPARATORS:
        return _read_text(path, reading or reading_of(schema), on_note, schema.columns)
    if kind in _TABLES:
        with file_errors(path):
            return _TABLES[kind](path).rename(columns=str).reset_index(drop=True)
    X = _ARRAYS[kind](path)
    if X.ndim != 2:
        raise ValueError(f"{path}: expected a table (rows x columns), got {X.ndim} dimension(s).")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"{path}: expected numbers, got values of type {X.dtype}.")
    return X


@contextlib.contextmanager
def cell_errors(path, frame=None):
    """Context manager that adds the file, and the line of a wrong cell, to a ValueError.

    Parameters
    ----------
    path : path-like
    frame : DataFrame, optional
        The table of the file, from ``read_table``, or some of its rows.

    Examples
    --------
    >>> from tao_cluster.reading import cell_errors
    >>> with cell_errors("people.csv"):
    ...     raise ValueError("no column 'height'.")
    Traceback (most recent call last):
    ValueError: people.csv: no column 'height'.
    """
    try:
        yield
    except UnreadableCellError as error:
        wrong = f"column {error.column}: {error.cell!r} is not {error.expected}."
        raise ValueError(f"{path}: {_place(path, frame, error.row)}, {wrong}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _place(path, frame, row):
    """Return the place of a row: the line of a text file, or the row number of another file."""
    if "layout" not in frame.attrs:
        return f"row {row}"
    layout = Reading(**frame.attrs["layout"])
    number, _ = next(islice(_records(path, layout), int(row) + layout.header, None))
    return f"line {number}"


def _kind(path):
    """Return the ending of a file name, in lower case; for `data.csv.gz` it is `.csv`."""
    return Path(path.stem if _is_packed(path) else path.name).suffix.lower()


def _is_packed(path):
    return path.suffix.lower() == ".gz"


# ---------------------------------------------------------------------- text files


def reading_of(schema):
    """Return how a schema says that text files are read: Reading."""
    known = {f.name for f in fields(Reading)}
    unknown = [name for name in schema.file if name not in known]
    if unknown:
        raise SchemaError(
            f'"file" has the unknown key {listed(unknown)}; known are {listed(known)}.'
        )
    return Reading(**{**schema.file, "na_values": schema.missing})


def file_of(reading):
    """Return what a Reading sets as the part "file" of a schema."""
    usual = asdict(Reading())
    values = asdict(replace(reading, na_values=NA_VALUES)).items()  # the schema has a list itself
    return {name: value for name, value in values if value != usual[name]}


def _read_text(path, reading, on_note, decisions):
    """Read a text file as a table; `decisions` are those of a schema, by column."""
    encodings = _encodings(path, reading)
    for encoding in encodings:
        try:
            with file_errors(path):
                layout, names, notes = _detected(
                    path, replace(reading, encoding=encoding), decisions
                )
                texts = _read_records(path, layout, names)
            break
        except ValueError as error:
            if not isinstance(error.__cause__, UnicodeDecodeError) or encoding == encodings[-1]:
                raise
    if encoding in encodings[1:]:
        notes.append(f"the file is not UTF-8, so it is read as {encoding}; see --encoding.")
    for message in notes:
        on_note(message)
    may_ask = reading.decimal is None and reading.thousands is None
    columns = [
        _typed(texts.iloc[:, j], layout, decisions.get(name), may_ask)
        for j, name in enumerate(names)
    ]
    frame = pd.concat(columns, axis=1) if columns else texts
    # Numbers of a later file are written with the same decimal mark. Other parts are detected anew.
    frame.attrs["layout"] = asdict(layout)  # plain values, which other formats can store
    frame.attrs["file"] = file_of(replace(reading, decimal=layout.decimal))
    return frame


def _encodings(path, reading):
    """Return the encodings to try; the last one can read any file."""
    if reading.encoding is not None:
        return (reading.encoding,)
    with file_errors(path), _opened(path, "rb") as file:
        is_wide = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
    return ("utf-16",) if is_wide else ("utf-8-sig", "cp1252", "latin-1")


def _opened(path, mode, **options):
    return (gzip.open if _is_packed(path) else Path.open)(path, mode, **options)


def _read_records(path, layout, names):
    """Return the cells of a text file as strings, by pandas; no field of `layout` is None."""
    try:
        with warnings.catch_warnings():  # pandas warns of lines with too many values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=layout.separator,
                encoding=layout.encoding,
                skiprows=layout.skip_lines,
                header=0 if layout.header else None,
                index_col=False,
                skipinitialspace=True,
                dtype=str,
                na_filter=False,
            )
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        _check_widths(path, layout, len(names))
        raise
    # If the last value of a line is empty, it is missing, or the line has too few values.
    if (frame.iloc[:, -1] == "").any() and not _is_regular(path, layout, frame.shape):
        _check_widths(path, layout, len(names))
    return frame.set_axis(names, axis=1)


def _typed(texts, layout, decision, may_ask):
    """Return a column of strings as numbers or truth values if all its cells are such.

    Parameters
    ----------
    texts : Series of str
    layout : Reading
    decision : Decision of a schema about the column, or None
    may_ask : bool
        Whether the meaning of a point or comma is open.
    """
    reader = decision.readers[0] if decision is not None and decision.readers else None
    form = reader.form if isinstance(reader, Level) else None
    is_number = isinstance(reader, Number) or form == "number"
    if decision is not None and not (is_number or form == "truth"):
        return texts
    cells = texts.str.strip(WHITE_SPACE)
    is_gap = cells.isin([word for word in layout.na_values if isinstance(word, str)]).to_numpy()
    filled = cells[~is_gap]
    if len(filled) == 0:
        return pd.Series(np.nan, index=texts.index, name=texts.name)
    if filled.iloc[:_FIRST].str.lower().isin(["true", "false"]).all():
        truth = cells.str.lower().astype(object).map({"true": True, "false": False})
        if truth[~is_gap].notna().all():
            return truth.astype(object if is_gap.any() else bool)
    numbers = _numbers(filled, layout, allows_zeros=is_number)
    is_open = may_ask and not is_number and numbers is not None and numbers.dtype.kind == "f"
    if numbers is None or (is_open and thousands_or_decimal(filled, layout.decimal)):
        return texts
    codes = [code for code in layout.na_values if not isinstance(code, str)]
    if numbers.dtype.kind in "iu" and not is_gap.any() and not np.isin(numbers, codes).any():
        return pd.Series(numbers, index=texts.index, name=texts.name)
    found = np.full(len(cells), np.nan)
    found[~is_gap] = numbers
    if codes:
        found[np.isin(found, codes)] = np.nan
    return pd.Series(found, index=texts.index, name=texts.name)


def _numbers(cells, layout, *, allows_zeros):
    """Return strings as an array of integers or floats; None if one of them is no number.

    A number with a leading zero, such as 08015, is a code unless `allows_zeros` is true.
    """
    if layout.thousands:
        cells = cells.str.replace(layout.thousands, "", regex=False)
    if layout.decimal != ".":
        if cells.str.contains(".", regex=False).any():
            return None
        cells = cells.str.replace(layout.decimal, ".", regex=False)
    cells = cells.astype(object)
    for some in (cells.iloc[:_FIRST], cells):  # most columns of strings show it at once
        numbers = pd.to_numeric(some, errors="coerce")
        if numbers.isna().any():
            return None
    if not allows_zeros and _LEADING_ZERO.search("\n".join(cells)):
        return None
    if numbers.dtype.kind in "iu":
        return numbers.to_numpy()
    return cells.to_numpy(dtype=object).astype(np.float64)  # exact, unlike to_numeric


def _is_regular(path, layout, shape):
    """Return whether a file without quotes has the separators of a table of this shape."""
    n_rows, n_columns = shape
    left = (n_rows + layout.header) * (n_columns - 1)
    with _opened(path, "rt", newline="", encoding=layout.encoding) as file:
        while block := file.read(_BLOCK):
            left -= block.count(layout.separator)
            if '"' in block:
                return False
    return left == 0


def _check_widths(path, layout, width):
    """Raise a ValueError at the first record that does not have a value for each column."""
    for number, record in _records(path, layout):
        if len(record) != width:
            raise ValueError(f"line {number} has {len(record)} values, expected {width}")


def _records(path, layout):
    """Yield (number of its last line, cells) of each record of a text file."""
    with _opened(path, "rt", newline="", encoding=layout.encoding) as file:
        for number, record in _split(islice(file, layout.skip_lines, None), layout.separator):
            yield layout.skip_lines + number, record


def _split(lines, separator):
    """Yield (number of its last line, cells) of each record; a quoted cell may have line breaks."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    for record in reader:
        if len(record) > 1 or any(map(str.strip, record)):
            yield reader.line_num, record


# ---------------------------------------------------------------------- layout of a text file


def _detected(path, reading, known):
    """Detect what is None from the first lines of a file; `known` has the names of a schema.

    Returns
    -------
    reading : Reading
    names : list of str, names of the columns
    notes : list of str, messages about what was detected

    Raises
    ------
    ValueError
        If the file is empty, starts with comments or a title, or has several header lines.
    """
    skip, separator, notes = reading.skip_lines, reading.separator, []
    with _opened(path, "rt", newline="", encoding=reading.encoding) as file:
        lines = list(islice(file, skip, skip + _HEAD_LINES))
    sign = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    if sign:  # a line that Excel writes
        separator, skip, lines = separator or sign[1], skip + 1, lines[1:]
    separator = separator or _separator_of(lines, path, notes)
    records = list(_split(lines, separator))
    _check_start(records, skip)
    records = [record for _, record in records]
    if len(lines) == _HEAD_LINES and len(records) > 1:
        del records[-1]  # it may be cut off
    head = pd.DataFrame(zip(*zip_longest(*records, fillvalue=""), strict=True))
    head = head.apply(lambda cells: cells.str.strip())
    head = head.mask(head.isin(reading.na_values), "")
    decimal = reading.decimal or _decimal_of(head, separator)
    if reading.decimal is None and decimal == reading.thousands:
        decimal = "," if decimal == "." else "."
    if decimal == ",":
        head = head.apply(lambda cells: cells.str.replace(",", "."))
    numbers = head.apply(pd.to_numeric, errors="coerce")
    header = reading.header
    if header is None:
        header = bool(known.keys() & {*map(str.strip, records[0])}) or _is_header(head, numbers)
    names = [f"x{j}" for j in range(len(records[0]))]
    if header:
        _check_header(head, numbers, skip)
        names = [cell.strip() or f"Unnamed: {j}" for j, cell in enumerate(records[0])]
    elif reading.header is None:
        notes.append("no header was found, so columns are x0, x1, ...; see --header.")
    found = {"separator": separator, "decimal": decimal, "header": header, "skip_lines": skip}
    return replace(reading, **found), names, notes


def _separator_of(lines, path, notes):
    """Return the separator with which most lines have the same number of cells, at least two."""
    usual = best = _SEPARATORS[_kind(path)]
    most = 0
    for separator in (";", "\t", "|", ","):
        widths = Counter(len(record) for _, record in _split(lines, separator))
        n_alike = max((n for width, n in widths.items() if width > 1), default=0)
        if n_alike > most:
            best, most = separator, n_alike
    if best != usual:
        notes.append(f"values are separated by {'tabs' if best == chr(9) else repr(best)}.")
    return best


def _decimal_of(head, separator):
    """Return the decimal mark: a comma if numbers have commas and none has a point."""
    cells = head.stack()
    comma, point = (cells.str.fullmatch(rf"[+-]?\d+{mark}\d+").any() for mark in (",", r"\."))
    return "," if comma and not point and separator != "," else "."


def _check_start(records, skip):
    """Raise a ValueError if there are no lines, or if the first ones are comments or a title."""
    if not records:
        raise ValueError("the file is empty")
    width = Counter(len(record) for _, record in records).most_common(1)[0][0]
    n_lines = skip
    for number, record in records:
        if not (record[0].startswith("#") or len(record) == 1 < width):
            break
        n_lines = skip + number
    if n_lines > skip:
        raise ValueError(
            f"line {skip + 1} seems to be a comment or a title; leave it out with --skip-lines "
            f"{n_lines}"
        )


def _check_header(head, numbers, skip):
    """Raise a ValueError if there are no rows, or if the second line seems to be names, too."""
    if len(head) == 1:
        raise ValueError("the file has column names but no rows")
    are_numbers = numbers[2:].notna() | (head[2:] == "")
    words = head.iloc[1][numbers[2:].notna().any() & are_numbers.all() & (head.iloc[1] != "")]
    if len(words) > 1 and numbers.iloc[1].isna().all():
        raise ValueError(
            f"line {skip + 2} seems to be a second line of names or units ({listed(words)}); join "
            "it with the first one"
        )


def _is_header(head, numbers):
    """Return whether the first record names the columns.

    This is so in three cases: it has no numbers; a number stands below one of its words; or its
    numbers are years, or a sequence such as wavelengths, beside a string column, and most records
    below have no such numbers.
    """
    is_number = numbers.iloc[0].notna()
    is_word = ~is_number & (head.iloc[0] != "")
    if not is_number.any() or numbers[1:2].loc[:, is_word].notna().any(axis=None):
        return True
    is_string = ~is_number & (numbers[1:].isna() & (head[1:] != "")).any()
    recurs = (head[1:] == head.iloc[0]).loc[:, is_string].any(axis=None)
    values = numbers.loc[:, is_number].to_numpy()
    if recurs or not is_string.any():
        return False
    are_years = ((values % 1 == 0) & (values >= 1700) & (values <= 2200)).all(axis=1)
    if values.shape[1] < 2:
        return bool(are_years[0] and not are_years[1:].any())
    steps = np.diff(values)
    are_even = np.isclose(steps, steps[:, :1]).all(axis=1) & (steps[:, 0] != 0)
    are_increasing = (steps > 0).all(axis=1)
    rules = (are_years, *((are_even, are_increasing) if steps.shape[1] > 1 else ()))
    return any(rule[0] and rule[1:].mean() < 0.5 for rule in rules)


# Separators and readers by the ending of the file name.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_TABLES = {".parquet": pd.read_parquet, ".feather": pd.read_feather}
_ARRAYS = {".npy": read_npy, ".npz": read_npz}
