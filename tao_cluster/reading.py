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
from .columns.readers import WHITE_SPACE, Level, Number, UnreadableCellError, doubtful_number
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
    thousands : str, optional
        Separator of thousands. There is none by default.
    encoding : str, optional
        Encoding of the characters. The default is UTF-8, or cp1252 if the file is not UTF-8.
    header : bool, optional
        Whether the first line names the columns.
    skip_lines : int, optional
        Number of lines before the header. None means 0, and that a title is asked about.
    skip_units : bool, optional
        Whether the line below the header has units, which are left out.
    skip_last : int, optional
        Number of rows at the end that are left out, such as totals.
    escape : str, optional
        Character before a quote inside of a quoted cell; empty if quotes are doubled.
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
    number, _ = next(islice(_records(path, layout), _n_before(layout) + int(row), None))
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


def _read_text(path, reading, on_note, decisions, doubts):
    """Read a text file as a table; `decisions` are those of a schema, by column."""
    layout, notes, texts, question = _read_strings(path, reading, decisions)
    if question is None:
        may_ask = reading.decimal is None and reading.thousands is None
        columns = [
            _typed(texts.iloc[:, j], layout, decisions.get(name), may_ask)
            for j, name in enumerate(texts)
        ]
        frame = pd.concat(columns, axis=1) if columns else texts
        question = _question_of_totals(frame, texts) if reading.skip_last is None else None
    if question is not None:
        if doubts == "ask":
            raise OpenQuestionsError([question])
        on_note(f"{question.text} Taken as the most careful answer: {question.careful}.")
        return _read_text(path, replace(reading, **question.careful), on_note, decisions, doubts)
    for message in notes:
        on_note(message)
    # Numbers of a later file are written with the same decimal mark. Other parts are detected anew.
    frame.attrs["layout"] = asdict(layout)  # plain values, which other formats can store
    frame.attrs["file"] = file_of(replace(reading, decimal=layout.decimal))
    return frame


def _read_strings(path, reading, decisions):
    """Return layout, notes, cells as strings and the question of a text file, or None for it."""
    encodings, texts = _encodings(path, reading), None
    for encoding in encodings:
        try:
            with file_errors(path):
                layout, names, notes, question = _detected(
                    path, replace(reading, encoding=encoding), decisions
                )
                if question is None:
                    texts, question = _read_records(path, layout, names)
            break
        except ValueError as error:
            if not isinstance(error.__cause__, UnicodeDecodeError) or encoding == encodings[-1]:
                raise
    if encoding in encodings[1:]:
        notes.append(f"the file is not UTF-8, so it is read as {encoding}; see --encoding.")
    return layout, notes, texts, question


def _encodings(path, reading):
    """Return the encodings to try; the last one can read any file."""
    with file_errors(path), _opened(path, "rb") as file:
        start = file.read(4)
    for mark, encoding in _BYTE_ORDER_MARKS.items():
        if start.startswith(mark):
            return (encoding,)
    return ("utf-8", "cp1252", "latin-1") if reading.encoding is None else (reading.encoding,)


def _question_of_totals(frame, texts):
    """Return the question whether the last rows of a table sum up the others; None for rows."""
    n_rows, n_last = len(frame), 0
    if n_rows < _FEW_ROWS:
        return None
    words = texts[frame.select_dtypes(exclude=["number", "bool"]).columns]
    while n_last < n_rows - _FEW_ROWS:
        last = words.iloc[n_rows - 1 - n_last]
        totals = [name for name, cell in last.items() if _TOTAL.fullmatch(cell.strip())]
        if not any((words[name] == last[name]).sum() == 1 for name in totals):
            break
        n_last += 1
    numbers = frame.select_dtypes("number").to_numpy(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.nansum(numbers[:-1], axis=0)
        largest = np.abs(np.nan_to_num(numbers[:-1])).max(axis=0)
        is_sum = np.abs(numbers[-1] - sums) <= 1e-9 * np.abs(sums)
    n_last = n_last or int((is_sum & (np.abs(numbers[-1]) > largest)).any())
    if n_last == 0:
        return None
    cells = listed(filter(None, texts.iloc[-n_last]), quote=False)
    answers = {"skip_last": n_last}, {"skip_last": 0}
    text = f"is the last row ({cells}) a total or a remark?"
    return Question("file", text, answers, answers[0], is_file=True)


def _opened(path, mode, **options):
    return (gzip.open if _is_packed(path) else Path.open)(path, mode, **options)


def _n_before(layout):
    """Return the number of records before the first row."""
    return int(layout.header) + bool(layout.skip_units)


def _read_records(path, layout, names):
    """Return the cells of a text file as strings, and a Question about its last lines or None."""
    try:
        with warnings.catch_warnings():  # pandas warns of lines with too many values
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
    except (pd.errors.ParserError, pd.errors.ParserWarning):
        _check_widths(path, layout, len(names))
        raise
    # If the last value of a line is empty, it is missing, or the line has too few values.
    remarks = []
    if (frame.iloc[:, -1] == "").any() and not _is_regular(path, layout, frame.shape):
        remarks = _check_widths(path, layout, len(names))
    if remarks:
        answers = ({"skip_last": len(remarks)},)
        text = f"is the last line {remarks[-1]!r} a remark?"
        return None, Question("file", text, answers, answers[0], is_file=True)
    last = len(frame) - (layout.skip_last or 0)
    rows = frame.iloc[int(bool(layout.skip_units)) : last].reset_index(drop=True)
    return rows.set_axis(names, axis=1), None


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
    if len(filled) and filled.iloc[:_FIRST].str.lower().isin(["true", "false"]).all():
        truth = cells.str.lower().astype(object).map({"true": True, "false": False})
        is_read = truth[~is_gap].notna().all()
        return truth.astype(object if is_gap.any() else bool) if is_read else texts
    numbers = _numbers(filled, layout)
    doubt = "" if is_number or numbers is None else doubtful_number(filled, layout.decimal)
    if numbers is None or doubt == "codes" or (doubt and may_ask):
        return texts
    codes = [code for code in layout.na_values if not isinstance(code, str)]
    if len(filled) and not (is_gap.any() or np.isin(numbers, codes).any()):
        return pd.Series(numbers, index=texts.index, name=texts.name)
    found = np.full(len(cells), np.nan)
    found[~is_gap] = numbers
    found[np.isin(found, codes)] = np.nan
    return pd.Series(found, index=texts.index, name=texts.name)


def _numbers(cells, layout):
    """Return strings as an array of integers or floats; None if one of them is no number."""
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
    """Return the texts of the last lines that are remarks: list of str.

    Raises
    ------
    ValueError
        At the first other record that does not have a value for each column.
    """
    wrong, n_records = [], 0
    for number, record in _records(path, layout):
        if len(record) != width and n_records >= layout.header:
            wrong.append((n_records, number, record))
        n_records += 1
    kept = n_records - (layout.skip_last or 0)
    wrong = [each for each in wrong if each[0] < kept]
    are_last = [place for place, _, _ in wrong] == [*range(kept - len(wrong), kept)]
    texts = [record[0] for _, _, record in wrong if len(record) == 1 and _has_letters(record[0])]
    if wrong and not (are_last and len(texts) == len(wrong) < kept - _FEW_ROWS):
        _, number, record = wrong[0]
        raise ValueError(f"line {number} has {len(record)} values, expected {width}")
    return texts


def _has_letters(text):
    return any(map(str.isalpha, text))


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


def _detected(path, reading, known):
    """Detect what is None from the first lines of a file; `known` has the names of a schema.

    Returns
    -------
    reading : Reading
    names : list of str, names of the columns
    notes : list of str, messages about what was detected
    question : Question about the first lines, or None

    Raises
    ------
    ValueError
        If the file is empty.
    """
    skip, separator, notes = reading.skip_lines or 0, reading.separator, []
    with _opened(path, "rt", newline="", encoding=reading.encoding) as file:
        lines = list(islice(file, skip, skip + _HEAD_LINES))
    sign = re.fullmatch(r'"?sep=(.)"?\s*', lines[0]) if lines else None
    if sign:  # a line that Excel writes
        separator, skip, lines = separator or sign[1], skip + 1, lines[1:]
    separator, escape = _marks_of(lines, path, separator, reading.escape, notes)
    records = list(_split(lines, separator, escape))
    if len(lines) == _HEAD_LINES and len(records) > 1:
        del records[-1]  # it may be cut off
    if not records:
        raise ValueError("the file is empty")
    n_titles = _n_titles(records) if reading.skip_lines is None else 0
    cells = [record for _, record in records[n_titles:]]
    head = pd.DataFrame(zip(*zip_longest(*cells, fillvalue=""), strict=True))
    head = head.apply(lambda cells: cells.str.strip())
    head = head.mask(head.isin(reading.na_values), "")
    decimal = reading.decimal or _decimal_of(head, separator)
    if reading.decimal is None and decimal == reading.thousands:
        decimal = "," if decimal == "." else "."
    if decimal == ",":
        head = head.apply(lambda cells: cells.str.replace(",", "."))
    numbers = head.apply(pd.to_numeric, errors="coerce")
    found = {"separator": separator, "decimal": decimal, "skip_lines": skip, "escape": escape}
    n_names = _n_lines_of_names(head, numbers) - bool(reading.skip_units)
    answers = _answers_about_names(reading, lines, records, n_titles, n_names, skip)
    if answers:
        if n_names == 2 and not all(map(_is_unit_like, head.iloc[1])):
            answers.reverse()
        start = " / ".join(line.strip()[:40] for line in lines[:2])
        text = f"do the first lines ({start}) have a title, a remark or units, not only names?"
        answers.append({key: type(value)() for answer in answers for key, value in answer.items()})
        question = Question("file", text, tuple(answers), answers[0], is_file=True)
        return replace(reading, **found, header=True), [], notes, question
    names, header = _names_of(reading, cells[0], head, numbers, known)
    if not header and reading.header is None:
        notes.append("no header was found, so columns are x0, x1, ...; see --header.")
    return replace(reading, **found, header=header), names, notes, None


def _n_titles(records):
    """Return the number of records at the start that are comments, or shorter than the others."""
    width = Counter(len(record) for _, record in records).most_common(1)[0][0]
    is_title = (
        record[0].startswith("#") or len(record) == 1 < width or len(record) < width - 1
        for _, record in records
    )
    return len([*takewhile(bool, is_title)])


def _answers_about_names(reading, lines, records, n_titles, n_names, skip):
    """Return the answers about lines of titles and units: list of dict, empty without a doubt."""
    answers = []
    if n_names == 2 and reading.skip_units is None:
        answers.append({"skip_units": True})
    before = n_titles + n_names - 1
    if reading.skip_lines is None and before:
        line = records[before - 1][0]
        while line < len(lines) and not lines[line].strip():
            line += 1
        answers.append({"skip_lines": skip + line})
    return answers


def _names_of(reading, first, head, numbers, known):
    """Return the names of the columns, and whether they are in the first record."""
    header, n_columns = reading.header, len(first)
    if header is None:
        header = bool(known.keys() & {*map(str.strip, first)}) or _is_header(head, numbers)
    if head.shape[1] == n_columns + 1 and not (head.iloc[1:, n_columns] != "").any():
        n_columns += 1  # each row ends with a separator, but the header does not
    if not header:
        return [f"x{j}" for j in range(n_columns)], False
    if len(head) == 1:
        raise ValueError("the file has column names but no rows")
    cells = [cell.strip() for cell in [*first, ""]]
    return [cells[j] or f"Unnamed: {j}" for j in range(n_columns)], True


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
    """Return the number of lines up to the last one that may name the columns: int, at least 1.

    In these lines, no cell of a column of numbers is a number, and no other cell recurs below.
    """
    below = slice(len(head) // 2, None)
    share = numbers[below].notna().sum() / np.maximum((head[below] != "").sum(), 1)
    is_number = (share > _MOSTLY).to_numpy()
    if not is_number.any() or len(is_number) < 2:
        return 1
    n_names = 1
    for line in range(min(len(head) - 1, _HEAD_LINES // 2)):
        cells = head.iloc[line]
        recurs = (head.iloc[line + 1 :] == cells).any() & (cells != "")
        if numbers.iloc[line][is_number].notna().any() or (line and recurs[~is_number].any()):
            break
        if (cells[is_number] != "").all():
            n_names = line + 1
    return n_names


def _is_unit_like(cell):
    return len(cell) <= _LONGEST_UNIT or (cell[0] + cell[-1]) in ("()", "[]")


def _decimal_of(head, separator):
    """Return the decimal mark: a comma if numbers have commas and none has a point."""
    cells = head.stack()
    number = r"[+-]?\d+{}\d+(?:[eE][+-]?\d+)?"
    comma, point = (cells.str.fullmatch(number.format(mark)).any() for mark in (",", r"\."))
    return "," if comma and not point and separator != "," else "."


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
