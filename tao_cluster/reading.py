"""Read data files, tables or arrays, with an error message that names the file and the line."""

import codecs
import contextlib
import csv
import gzip
import re
import warnings
from collections import Counter
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice, takewhile, zip_longest
from pathlib import Path

import numpy as np
import pandas as pd

from ._utils.warnings import listed, warn
from .columns.readers import WHITE_SPACE, Level, Number, UnreadableCellError, Written
from .columns.schema import (
    NA_VALUES,
    OpenQuestionsError,
    Question,
    Schema,
    SchemaError,
    check_doubts,
)
from .outofcore.files import file_errors, read_npy, read_npz

_HEAD_LINES = 200  # lines from which the format of a text file is detected
_LONGEST_CELL = 2**31 - 1
_FIRST = 100  # cells from which most string columns are recognised
_BLOCK = 2**22  # characters that are read at a time
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# First words of a last row that sums up the others.
_TOTAL = re.compile(
    r"(?:(?:grand|sub|general|in)[ -]?)?(?:total\w*|sums?|summ[ae]|gesamt\w*|insgesamt|somme|suma|"
    r"averages?|means?|mittelwert|durchschnitt|moyenne|media|gemiddelde|totaal|razem|итого|всего|"
    r"合计|总计|合計)(?![\w]).*",
    re.IGNORECASE,
)
_MOSTLY = 0.5  # share of numbers in a column of numbers
_LONGEST_UNIT = 4  # characters
_NO_INTEGER = r"[^0-9+\n-]|[0-9]{19}"  # in the strings of integers of 64 bits
_FEW_ROWS = 6  # fewer rows have no last row that sums them up


@dataclass(frozen=True)
class Reading:
    """How a file is read. Fields that are None are detected from the first lines of a text file.

    Parameters
    ----------
    separator : str, optional
        Character between the values of a line.
    decimal : {".", ","}, optional
        Decimal mark of numbers.
    encoding : str, optional
        Encoding of the characters. The default is UTF-8, or cp1252 if the file is not UTF-8.
    header : bool, optional
        Whether the first line names the columns.
    skip_lines : int, optional
        Number of lines before the header. None means 0, and that a title is asked about.
    skip_units : bool, optional
        Whether the line below the header has units, which are left out.
    skip_last : int, optional
        Number of rows at the end that are left out if they are totals or remarks.
    escape : str, optional
        Character before a quote inside of a quoted cell; empty if quotes are doubled.
    na_values : tuple of str or numbers
        Cells that mean a missing value.
    id_column : str, optional
        Column that names the rows.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    skip_lines: int | None = None
    skip_units: bool | None = None
    skip_last: int | None = None
    escape: str | None = None
    na_values: tuple[str | int | float, ...] = NA_VALUES
    id_column: str | None = None


def read_table(path, reading=None, on_note=warn, schema=None, doubts="ask"):
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
    doubts : {"ask", "warn"}, default="ask"
        Whether a doubtful layout of a text file, such as a title above the header or a last row
        "Total", raises an error that asks, or is read in the most careful way with a note.

    Returns
    -------
    DataFrame, array or CSR matrix
        All cells of a text file are read as strings first. A column becomes numbers if all its
        cells are numbers, none looks like a code as "08015" and "12E12" do, and no mark may
        separate either thousands or decimals, as in "1.250". In columns of numbers, missing
        values are NaN. String columns keep the strings of `na_values`, so that rules and SQL about
        the raw table know them.

    Raises
    ------
    ValueError
        If the file is missing, has another format, or has values that cannot be used.
    OpenQuestionsError
        If `doubts` is "ask" and the layout of a text file is doubtful.

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
        check_doubts(doubts)
        return _read_text(path, reading or reading_of(schema), on_note, schema.columns, doubts)
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
    except OpenQuestionsError:
        raise
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _place(path, frame, row):
    """Return the place of a row: the line of a text file, or the row number of another file."""
    if "layout" not in frame.attrs:
        return f"row {row}"
    layout = Reading(**frame.attrs["layout"])
    n_before = int(layout.header) + bool(layout.skip_units)  # records before the first row
    number, _ = next(islice(_records(path, layout), n_before + int(row), None))
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
    values = {**asdict(reading), "na_values": None}  # the schema has a list itself
    return {name: value for name, value in values.items() if value is not None}


def _read_text(path, reading, on_note, decisions, doubts):
    """Read a text file as a table; `decisions` are those of a schema, by column."""
    notes = []

    def typed(texts):
        may_ask = reading.decimal is None  # nobody has named the mark
        columns = [
            _typed(texts.iloc[:, j], layout, decisions.get(name), may_ask)
            for j, name in enumerate(texts)
        ]
        return pd.concat(columns, axis=1)

    try:
        layout, names = _detected(path, reading, decisions, notes)
        texts, n_remarks = _read_records(path, layout, names)
        rows = texts.iloc[: len(texts) - n_remarks]
        frame = typed(rows)
        n_last = n_remarks + _n_totals(frame, rows)
        if n_last and (reading.skip_last is None or 0 < reading.skip_last < n_last):
            cells = listed(filter(None, texts.iloc[-n_last]), quote=False)
            text = f"is the last row ({cells}) a total or a remark?"
            raise _question(text, [{"skip_last": n_last}, {"skip_last": 0}])
    except OpenQuestionsError as error:
        if doubts == "ask":
            raise
        (question,) = error.questions
        on_note(f"{question.text} Taken as the most careful answer: {question.careful}.")
        return _read_text(path, replace(reading, **question.careful), on_note, decisions, doubts)
    for message in notes:
        on_note(message)
    if n_last > n_remarks and reading.skip_last:  # a later file may have no total
        frame = typed(texts.iloc[:-n_last])
    # Numbers of a later file are written with the same decimal mark. Other parts are detected anew.
    frame.attrs["layout"] = asdict(layout)  # plain values, which other formats can store
    frame.attrs["file"] = file_of(replace(reading, decimal=layout.decimal))
    return frame


def _question(text, answers):
    """Return the error that asks about a file; the first answer is the most careful one."""
    return OpenQuestionsError([Question("file", text, tuple(answers), answers[0], is_file=True)])


def _encoding(path, reading):
    """Return the encoding of a file: that of its byte order mark, the given, or one that suits."""
    with _opened(path, "rb") as file:
        start = file.read(4)
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return encoding
    for encoding in (reading.encoding,) if reading.encoding else ("utf-8", "cp1252"):
        with (
            contextlib.suppress(UnicodeDecodeError),
            _opened(path, "rt", encoding=encoding) as file,
        ):
            while file.read(_BLOCK):
                pass
            return encoding
    return reading.encoding or "latin-1"  # which can read any file


def _n_totals(frame, texts):
    """Return the number of last rows that sum up the others, by a word or by their numbers."""
    if len(frame) < _FEW_ROWS:
        return 0
    words = texts[frame.select_dtypes(exclude=["number", "bool"]).columns]

    def is_total(place):
        cells = words.iloc[place].items()
        named = [name for name, cell in cells if _TOTAL.fullmatch(cell.strip())]
        return any((words[name] == words[name].iloc[place]).sum() == 1 for name in named)

    n_last = len([*takewhile(is_total, range(-1, _FEW_ROWS - 1 - len(frame), -1))])
    if n_last:
        return n_last
    numbers = frame.select_dtypes("number").to_numpy(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.nansum(numbers[:-1], axis=0)
        largest = np.abs(np.nan_to_num(numbers[:-1])).max(axis=0)
        is_sum = np.abs(numbers[-1] - sums) <= 1e-9 * np.abs(sums)
    return int((is_sum & (np.abs(numbers[-1]) > largest)).any())


def _opened(path, mode, **options):
    return (gzip.open if _is_packed(path) else Path.open)(path, mode, **options)


def _read_records(path, layout, names):
    """Return the cells of a text file as strings, and the number of remarks at its end."""
    try:
        with file_errors(path), warnings.catch_warnings():  # pandas warns of too many values
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                path,
                sep=layout.separator,
                encoding=layout.encoding,
                skiprows=layout.skip_lines,
                header=0 if layout.header else None,
                names=range(len(names)),
                index_col=False,
                skipinitialspace=True,
                dtype=str,
                na_filter=False,
                escapechar=layout.escape or None,
            )
    except ValueError:
        _n_remarks(path, layout, len(names))
        raise
    # If the last value of a line is empty, it is missing, or the line has too few values.
    is_filled = (frame.iloc[:, -1] != "").all()
    n_remarks = 0 if is_filled else _n_remarks(path, layout, len(names))
    rows = frame.iloc[int(bool(layout.skip_units)) :].reset_index(drop=True)
    return rows.set_axis(names, axis=1), n_remarks


def _n_remarks(path, layout, width):
    """Return the number of last lines that have a text instead of a value for each column.

    Raises
    ------
    ValueError
        At the first other record that does not have a value for each column.
    """
    n_records, wrong = 0, []
    with file_errors(path):
        for number, record in _records(path, layout):
            if len(record) != width and n_records >= layout.header:
                wrong.append((n_records, number, record))
            n_records += 1
        is_last = [place for place, _, _ in wrong] == [*range(n_records - len(wrong), n_records)]
        are_texts = all(len(r) == 1 and any(map(str.isalpha, r[0])) for _, _, r in wrong)
        is_answered = layout.skip_last is None or layout.skip_last >= len(wrong)
        is_remark = is_last and are_texts and is_answered and len(wrong) < n_records - _FEW_ROWS
        if wrong and not is_remark:
            _, number, record = wrong[0]
            raise ValueError(f"line {number} has {len(record)} values, expected {width}")
    return len(wrong)


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
    words = [word for word in layout.na_values if isinstance(word, str)]
    some = texts.iloc[:_FIRST].str.strip(WHITE_SPACE)  # most columns of strings show it at once
    some = some[~some.isin(words)]
    if _truth(some) is None and _numbers(some, layout.decimal) is None:
        return texts
    places, kinds = pd.factorize(texts)  # each kind of cell is looked at once
    cells = pd.Series(kinds).str.strip(WHITE_SPACE)
    is_gap = cells.isin(words).to_numpy()
    filled = cells[~is_gap]
    values = _truth(filled)
    if values is None:
        values = _numbers(filled, layout.decimal)
        doubt = "" if is_number or values is None else Written(decimal=layout.decimal).doubt(filled)
        if values is None or doubt == "codes" or (doubt and may_ask):
            return texts
    found = pd.Series(values, filled.index)
    codes = [code for code in layout.na_values if not isinstance(code, str)]
    if codes and values.dtype != bool:
        found = found.mask(found.isin(codes))
    return pd.Series(found.reindex(cells.index).to_numpy()[places], texts.index, name=texts.name)


def _truth(cells):
    """Return strings as an array of truth values; None if one of them is no truth value."""
    cells = cells.str.lower()
    is_read = len(cells) > 0 and cells.isin(["true", "false"]).all()
    return (cells == "true").to_numpy(dtype=bool) if is_read else None


def _numbers(cells, decimal):
    """Return strings as an array of integers or floats; None if one of them is no number."""
    if decimal != ".":
        cells = cells.str.translate({ord("."): "_", ord(decimal): "."})
    cells = cells.to_numpy(dtype=object)
    text = "\n".join(cells)
    if re.search("[^0-9A-Za-z.+\n-]", text):  # Python reads 1_000 and Arabic digits, too
        return None
    kind = np.float64 if re.search(_NO_INTEGER, text) else np.int64
    try:
        numbers = cells.astype(kind)  # exact, unlike to_numeric
    except ValueError:
        return None
    return None if np.isnan(numbers).any() else numbers


def _records(path, layout):
    """Yield (number of its last line, cells) of each record of a text file."""
    skip = layout.skip_lines
    with _opened(path, "rt", newline="", encoding=layout.encoding) as file:
        for number, record in _split(islice(file, skip, None), layout.separator, layout.escape):
            yield skip + number, record


def _split(lines, separator, escape=""):
    """Yield (number of its last line, cells) of each record; a quoted cell may have line breaks."""
    csv.field_size_limit(_LONGEST_CELL)
    options = {"delimiter": separator, "skipinitialspace": True, "escapechar": escape or None}
    reader = csv.reader(lines, **options)
    for record in reader:
        if len(record) > 1 or any(map(str.strip, record)):
            yield reader.line_num, record


# ---------------------------------------------------------------------- layout of a text file


def _detected(path, reading, known, notes):
    """Detect what is None from the first lines of a file; `known` has the names of a schema.

    Returns
    -------
    layout : Reading
    names : list of str, names of the columns

    Raises
    ------
    ValueError
        If the file is empty.
    OpenQuestionsError
        If the first lines may have more than names.
    """
    skip, separator = reading.skip_lines or 0, reading.separator
    with file_errors(path):
        encoding = _encoding(path, reading)
        with _opened(path, "rt", newline="", encoding=encoding) as file:
            lines = list(islice(file, skip, skip + _HEAD_LINES))
    if reading.encoding is None and encoding in ("cp1252", "latin-1"):
        notes.append(f"the file is not UTF-8, so it is read as {encoding}; see --encoding.")
    sign = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    if sign:  # a line that Excel writes
        separator, skip, lines = separator or sign[1], skip + 1, lines[1:]
    separator, escape = _marks_of(lines, path, separator, reading.escape, notes)
    records = list(_split(lines, separator, escape))
    if len(lines) == _HEAD_LINES and len(records) > 1:
        del records[-1]  # it may be cut off
    if not records:
        raise ValueError(f"{path}: the file is empty.")
    n_titles = _n_titles(records) if reading.skip_lines is None else 0
    cells = [record for _, record in records[n_titles:]]
    head = pd.DataFrame(zip(*zip_longest(*cells, fillvalue=""), strict=True))
    head = head.apply(lambda cells: cells.str.strip())
    head = head.mask(head.isin(reading.na_values), "")
    decimal = reading.decimal or _decimal_of(head, separator)
    if decimal == ",":
        head = head.apply(lambda cells: cells.str.replace(",", "."))
    numbers = head.apply(pd.to_numeric, errors="coerce")
    start = " / ".join(line.strip()[:40] for line in lines[:2])
    _check_first_lines(reading, start, records, n_titles, head, numbers, skip)
    header = reading.header
    if header is None:
        is_known = bool(known.keys() & {*map(str.strip, cells[0])})
        header = is_known or _has_header(head, numbers)
        if header is None:
            text = f"does the first line ({start.partition(' / ')[0]}) name the columns?"
            raise _question(text, [{"header": True}, {"header": False}])
        if not header:
            notes.append("no header was found, so columns are x0, x1, ...; see --header.")
    found = {"separator": separator, "decimal": decimal, "skip_lines": skip, "escape": escape}
    layout = replace(reading, **found, encoding=encoding, header=header)
    if header and len(head) == 1:
        raise ValueError(f"{path}: the file has column names but no rows.")
    return layout, _names_of(cells[0], head, header)


def _check_first_lines(reading, start, records, n_titles, head, numbers, skip):
    """Raise an OpenQuestionsError if the first lines may have titles or units beside names."""
    answers, n_more = [], _n_lines_of_names(head, numbers) - bool(reading.skip_units)
    if n_more == 1 and reading.skip_units is None:
        answers.append({"skip_units": True})
    if n_titles + n_more > 0 and reading.skip_lines is None:
        number, names = records[n_titles + n_more]
        n_lines = "".join(names).count("\n") + 1
        answers.append({"skip_lines": skip + number - n_lines})
    if not answers:
        return
    if n_more == 1 and not all(map(_is_unit_like, head.iloc[1])):
        answers.reverse()
    text = f"do the first lines ({start}) have a title, a remark or units, not only names?"
    no = {key: type(value)() for answer in answers for key, value in answer.items()}
    raise _question(text, [*answers, no])


def _names_of(first, head, header):
    """Return the names of the columns from the first record: list of str."""
    names, width = [cell.strip() for cell in first], len(first)
    if head.shape[1] == width + 1 and not (head.iloc[1:, width] != "").any():
        names.append("")  # each row ends with a separator, but the header does not
    if not header:
        return [f"x{j}" for j in range(len(names))]
    return [name or f"Unnamed: {j}" for j, name in enumerate(names)]


def _n_titles(records):
    """Return the number of records at the start that are comments, or shorter than the others."""
    width = Counter(len(record) for _, record in records).most_common(1)[0][0]
    is_title = (
        record[0].startswith("#") or len(record) == 1 < width or len(record) < width - 1
        for _, record in records
    )
    return len([*takewhile(bool, is_title)])


def _marks_of(lines, path, separator, escape, notes):
    """Return the separator with which most lines have the same number of cells, and the escape.

    A separator is one if there are at least two cells.
    """
    usual = _SEPARATORS[_kind(path)]
    escapes = ("", "\\") if any('\\"' in line for line in lines) else ("",)
    found = [(0, False, separator or usual, "")]
    for mark in (separator,) if separator else (";", "\t", "|", ","):
        if mark == "," and not separator and _is_one_column(lines):
            found.append((0, True, ";", ""))
            continue
        for each in escapes if escape is None else (escape,):
            widths = Counter(len(record) for _, record in _split(lines, mark, each))
            n_alike = max((n for width, n in widths.items() if width > 1), default=0)
            found.append((n_alike, each != "", mark, each))
    n_alike, _, best, escape = max(found, key=lambda each: each[:2])
    if best != (separator or usual) and n_alike:
        notes.append(f"values are separated by {'tabs' if best == chr(9) else repr(best)}.")
    return best, escape


def _is_one_column(lines):
    """Return whether lines are a name and numbers with a decimal comma."""
    filled = [line.strip() for line in lines if line.strip()]
    are_numbers = [
        re.fullmatch(r"[+-]?\d+(,\d+(e[+-]?\d+)?)?", line.lower()) for line in filled[1:]
    ]
    return len(filled) > 1 and "," not in filled[0] and all(are_numbers)


def _n_lines_of_names(head, numbers):
    """Return the number of the last of the first lines that may name the columns: int, mostly 0.

    In these lines, no cell of a column of numbers is a number, and no other cell recurs below.
    """
    below = slice(len(head) // 2, None)
    share = numbers[below].notna().sum() / np.maximum((head[below] != "").sum(), 1)
    is_number = (share > _MOSTLY).to_numpy()
    last = 0
    for line in range(min(len(head) - 1, _HEAD_LINES // 2) if is_number.any() else 0):
        cells = head.iloc[line]
        recurs = (head.iloc[line + 1 :] == cells).any() & (cells != "")
        if numbers.iloc[line][is_number].notna().any() or (line and recurs[~is_number].any()):
            break
        if (cells[is_number] != "").all():
            last = line
    return last if len(is_number) > 1 else 0


def _is_unit_like(cell):
    return len(cell) <= _LONGEST_UNIT or (cell[0] + cell[-1]) in ("()", "[]")


def _decimal_of(head, separator):
    """Return the decimal mark: a comma if numbers have commas and none has a point."""
    cells = head.stack()
    number = r"[+-]?\d+{}\d+(?:[eE][+-]?\d+)?"
    comma, point = (cells.str.fullmatch(number.format(mark)).any() for mark in (",", r"\."))
    return "," if comma and not point and separator != "," else "."


def _has_header(head, numbers):
    """Return whether the first record names the columns; None if it may.

    It does if it has no numbers, or if a number stands below one of its words. It may if it has
    numbers, such as years, beside words that do not recur.
    """
    is_number = numbers.iloc[0].notna()
    is_word = ~is_number & (head.iloc[0] != "")
    if not is_number.any() or numbers[1:2].loc[:, is_word].notna().any(axis=None):
        return True
    is_string = ~is_number & (numbers[1:].isna() & (head[1:] != "")).any()
    recurs = (head[1:] == head.iloc[0]).loc[:, is_string].any(axis=None)
    return None if is_string.any() and not recurs else False


# Separators and readers by the ending of the file name.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_TABLES = {".parquet": pd.read_parquet, ".feather": pd.read_feather}
_ARRAYS = {".npy": read_npy, ".npz": read_npz}
