"""Schema: what the fit has decided about the columns of a table, in a form that people can edit."""

import json
import math
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from .._utils.warnings import listed
from .dates import Date, Duration
from .readers import Level, Number, Reader, Written

READERS = {reader.__name__: reader for reader in (Number, Level, Written, Date, Duration)}

# Strings that mean a missing value.
NA_VALUES = (
    *("", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null", "?", "-", "."),
    *("--", "n.a.", "N.A.", "#DIV/0!", "#VALUE!", "none", "NONE", "Null", "NAN", "na", "NaT"),
    *("\\N", "unknown", "Unknown", "UNKNOWN", "missing", "Missing", "not available"),
    *("k.A.", "k. A.", "unbekannt", "Unbekannt", "keine Angabe", "fehlt", "inconnu", "Inconnu"),
    *("n.d.", "N.D.", "n/d", "N/D", "s/d", "s.d.", "desconocido", "Desconocido", "sin datos"),
    *("desconhecido", "sconosciuto", "Sconosciuto", "onbekend", "Onbekend", "n.b.", "okänd"),
    *("ukjent", "ukendt", "tuntematon", "nieznany", "brak", "brak danych"),
)

VERSION = 1
_PARTS = {"version": object, "missing": list | tuple, "file": dict, "columns": dict}


class SchemaError(ValueError):
    """A schema that cannot be read, or that does not suit the table."""


@dataclass(frozen=True)
class Question:
    """What a table leaves open, and the entries of a schema that answer it.

    Parameters
    ----------
    where : str
        The name of a column, or "file".
    text : str
        One question, with an example.
    answers : tuple of dict
        Entries of a schema, the most likely one first.
    careful : dict
        The answer that is taken if nobody is asked. It never gives wrong numbers.
    is_file : bool
        Whether the question is about the layout of the file, not about a column.
    """

    where: str
    text: str
    answers: tuple[dict, ...]
    careful: dict
    is_file: bool = False

    def __str__(self):
        where = "file" if self.is_file else f"column {self.where!r}"
        return "\n".join(
            [f"{where}: {self.text}", *map("    {}".format, map(self.line, self.answers))]
        )

    def line(self, answer):
        """Return an answer as a line of a schema, ready to paste: str."""
        if self.is_file:
            return json.dumps(answer, ensure_ascii=False)[1:-1]
        return _line(self.where, answer)


class OpenQuestionsError(SchemaError):
    """A file or table that can be read in several ways.

    Parameters
    ----------
    questions : sequence of Question

    Examples
    --------
    >>> import pandas as pd
    >>> from tao_cluster import OpenQuestionsError, table_pipeline
    >>> table = pd.DataFrame({"price": ["980", "1.250", "15.300"] * 9, "size": range(5, 32)})
    >>> try:
    ...     table_pipeline(table, schema={"size": {"kind": "number"}})
    ... except OpenQuestionsError as error:
    ...     print(error.questions[0])
    column 'price': does the mark in '1.250' separate thousands or decimals?
        "price": {"kind": "number", "thousands": "."}
        "price": {"kind": "number", "decimal": "."}
        "price": {"use": false}
    """

    def __init__(self, questions):
        self.questions = tuple(questions)
        part = "file" if questions[0].is_file else "columns"
        first = (
            f"The {'file' if part == 'file' else 'table'} leaves questions open. Paste one line "
            f'for each of them into {{"{part}": {{...}}}} and pass this as schema= (on the command '
            'line, as a file to --schema). The option doubts="warn" (--yes) takes the most '
            "careful answers instead."
        )
        super().__init__("\n".join([first, *map(str, questions)]))


def check_doubts(doubts):
    """Raise a ValueError if `doubts` is not one of its words."""
    if doubts not in ("ask", "warn"):
        raise ValueError(f"doubts must be 'ask' or 'warn', got {doubts!r}.")


@dataclass(frozen=True)
class Decision:
    """What becomes of a column of a table.

    Parameters
    ----------
    column : str
    kind : str
        "number", "category", "date", "time", "duration", "name", "constant" or "other".
    n_rows, n_missing : int
        Numbers of rows and of missing values.
    done : str
        What is done with the column.
    why : str
        The reason, empty if it is obvious.
    readers : tuple of Reader
        One reader per column that this column becomes; empty if it is left out.
    doubt : str
        A fault that the values suggest, for a warning; mostly empty.
    question : Question, optional
        What the user has to answer before the column can be read.
    """

    column: str
    kind: str
    n_rows: int = 0
    n_missing: int = 0
    done: str = "left out"
    why: str = ""
    readers: tuple[Reader, ...] = ()
    doubt: str = ""
    question: Question | None = None


@dataclass(frozen=True)
class Schema:
    """What the fit has decided about each column of a table.

    :func:`tao_cluster.table_pipeline` writes a schema, and every later table is read by it: a file
    by ``read_table(path, schema=schema)``, a DataFrame by the pipeline. As JSON, a schema is a
    document that people can edit and pass to a new fit. It may then name some columns only; the fit
    decides about all others.

    Parameters
    ----------
    decisions : tuple of Decision
        One for each column, in the order of the table.
    missing : tuple of str or numbers
        Cells that mean a missing value, in all columns that have no list of their own.
    file : dict
        How a text file is read: the fields of ``tao_cluster.reading.Reading``. It is empty if the
        table was no text file.

    Examples
    --------
    >>> from tao_cluster import Schema
    >>> schema = Schema.from_dict({"columns": {
    ...     "price": {"kind": "number", "thousands": ".", "decimal": ",", "suffix": "EUR"},
    ...     "since": {"kind": "date", "format": "%d.%m.%Y"},
    ...     "remark": {"kind": "name", "use": False},
    ... }})
    >>> schema.table[["column", "kind", "done"]]
       column    kind                   done
    0   price  number                 number
    1   since    date  days since 1970-01-01
    2  remark    name               left out
    """

    decisions: tuple[Decision, ...] = ()
    missing: tuple[str | int | float, ...] = NA_VALUES
    file: dict = field(default_factory=dict, compare=False)

    @property
    def readers(self):
        """The readers of the columns that are used: dict of Reader, or of tuples of several."""
        used = (d for d in self.decisions if d.readers)
        return {d.column: d.readers if len(d.readers) > 1 else d.readers[0] for d in used}

    @property
    def columns(self):
        """The decisions by the name of the column: dict."""
        return {decision.column: decision for decision in self.decisions}

    @property
    def table(self):
        """The decisions as a DataFrame with one row per column of the raw table."""
        rows = [
            (d.column, d.kind, d.n_missing, 100 * d.n_missing / max(d.n_rows, 1), d.done, d.why)
            for d in self.decisions
        ]
        names = ["column", "kind", "missing", "missing_percent", "done", "why"]
        return pd.DataFrame(rows, columns=names).round(1)

    # ------------------------------------------------------------------ documents

    def to_dict(self):
        """Return the schema as JSON values: dict."""
        document = {"version": VERSION, "missing": list(self.missing)}
        if self.file:
            document["file"] = self.file
        document["columns"] = {d.column: self._entry(d) for d in self.decisions}
        return document

    def to_json(self, path=None):
        """Return the schema as a JSON string; with a path, write it to a file instead."""
        document = self.to_dict()
        lines = [f" {_line(key, document[key])}," for key in document if key != "columns"]
        columns = [f"  {_line(name, entry)}" for name, entry in document["columns"].items()]
        text = "\n".join(["{", *lines, ' "columns": {', ",\n".join(columns), " }", "}", ""])
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8")
        return None

    @classmethod
    def from_json(cls, path):
        """Read a schema from a JSON file.

        Raises
        ------
        SchemaError
            If the file is no JSON, or does not describe columns.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise SchemaError(f"{path}: cannot be read as a schema ({error}).") from error
        try:
            return cls.from_dict(document)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from error

    @classmethod
    def from_dict(cls, document):
        """Return the schema of a document as :meth:`to_dict` returns it.

        Parameters
        ----------
        document : dict
            "columns" maps the name of each column to its entry, a dict with the key "kind". The
            other keys are optional; see the guide on tables.

        Raises
        ------
        SchemaError
            If the document has unknown keys, or values of a wrong type.
        """
        _check("the schema", document, _PARTS)
        if document.get("version", VERSION) != VERSION:
            raise SchemaError(f"the version {document['version']!r} is not known.")
        missing = _words("the schema", document.get("missing", NA_VALUES))
        columns = document.get("columns", {})
        decisions = (_decision(name, entry, missing) for name, entry in columns.items())
        return cls(tuple(decisions), missing, document.get("file", {}))

    @classmethod
    def from_any(cls, schema):
        """Return a schema that is given as a Schema, as its document, or as a path to its file."""
        if schema is None or isinstance(schema, cls):
            return schema or cls()
        if isinstance(schema, dict):
            is_document = {*schema} <= {*_PARTS} and not any(
                "kind" in part for part in schema.values() if isinstance(part, dict)
            )
            return cls.from_dict(schema if is_document else {"columns": schema})
        return cls.from_json(schema)

    def _entry(self, decision):
        """Return the entry of a column in the document."""
        entry = {"kind": decision.kind}
        if decision.readers:
            reader = decision.readers[0]
            entry["kind"] = kind = _kind(reader)
            usual = type(reader)()
            for name, key in _KEYS[type(reader)].items():
                value = getattr(reader, name)
                # A decimal mark says that the numbers are strings; a time has no first date.
                is_needed = key == "decimal" or (key == "first" and kind != "time")
                if is_needed or value != getattr(usual, name):
                    entry[key] = value
            own = [word for word in reader.missing if word not in self.missing]
            entry |= {"missing": own} if own else {}
            parts = [part.part for part in decision.readers[1:]]
            entry |= {"parts": parts} if parts else {}
        else:
            entry["use"] = False
        entry |= {"done": decision.done} if decision.done not in ("left out", "used") else {}
        entry |= {"why": decision.why} if decision.why else {}
        entry |= {"rows": decision.n_rows, "gaps": decision.n_missing} if decision.n_rows else {}
        return entry


def _line(key, value):
    """Return a key of a JSON object and its value in one line."""
    return f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"


# The kinds of columns that are used, and the forms of levels, which have kinds of their own.
_FORMS = {"category": "text", "boolean": "truth", "code": "number"}
_CLASSES = {"number": Number, "date": Date, "time": Date, "duration": Duration}
_CLASSES |= dict.fromkeys(_FORMS, Level)
_LEFT_OUT = ("name", "constant", "other")
# The keys of the fields of each reader in a document, and the types of all keys.
_KEYS: dict[type, dict[str, str]] = {
    reader: {f.name: f.name for f in fields(reader) if f.name not in ("missing", "part")}
    for reader in READERS.values()
}
_KEYS[Date] |= {"form": "format", "is_typed": "typed"}
_KEYS[Level] = {}
_COMMON: dict[str, Any] = {"kind": str, "use": bool, "missing": list | tuple, "done": str}
_COMMON |= {"why": str, "rows": int, "gaps": int}


def _kind(reader):
    """Return the kind of a reader in a document: str."""
    if isinstance(reader, Level):
        return next(kind for kind, form in _FORMS.items() if form == reader.form)
    if isinstance(reader, Date):
        return "time" if reader.is_time else "date"
    return "duration" if isinstance(reader, Duration) else "number"


def _decision(name, entry, missing):
    """Return the Decision that an entry of a document describes."""
    where = f"column {name!r}"
    _check(where, entry, None)
    is_used = entry.get("use", True)
    kind = entry.get("kind", None if is_used else "other")
    if kind not in (known := [*_CLASSES, *_LEFT_OUT]):
        raise SchemaError(f"{where}: the kind must be one of {listed(known)}, got {kind!r}.")
    cls = _CLASSES.get(kind, Level)
    if cls is Number and {*entry} & {*_KEYS[Written].values()}:
        cls = Written
    types = {f.name: f.type for f in fields(cls)}
    keys = {key: types[name] for name, key in _KEYS[cls].items()}
    _check(where, entry, _COMMON | keys | ({"parts": list} if cls is Date else {}))
    found = Decision(
        name, kind, entry.get("rows", 0), entry.get("gaps", 0), why=entry.get("why", "")
    )
    if not is_used or kind in _LEFT_OUT:
        return found
    readers = _readers(where, kind, cls, entry, missing)
    kind = "category" if cls is Level else kind
    done = entry.get("done") or (readers[0].unit if cls is Date else kind)
    return replace(found, kind=kind, done=done, readers=readers)


def _readers(where, kind, cls, entry, missing):
    """Return the readers that an entry of a document describes: tuple."""
    if kind == "time":
        entry = {"format": "%H:%M", **entry}
    values = {name: entry[key] for name, key in _KEYS[cls].items() if key in entry}
    if cls is Level:
        values["form"] = _FORMS[kind]
    # A column without missing values needs no words for them; see `table_pipeline`.
    own = _words(where, entry.get("missing", []))
    words = missing if own or entry.get("gaps") or "rows" not in entry else ()
    values["missing"] = tuple(dict.fromkeys([*words, *own]))
    if values.get("thousands") == values.get("decimal", "."):
        values["decimal"] = "," if values["thousands"] == "." else "."
    try:
        reader = cls(**values)
        parts = [replace(reader, part=part) for part in entry.get("parts", ())]
    except ValueError as error:
        raise SchemaError(f"{where}: {error}") from error
    if cls is Date and reader.is_time != (kind == "time"):
        raise SchemaError(f"{where}: the format {reader.form!r} is not that of a {kind}.")
    return (reader, *parts)


def _words(where, values):
    """Return the cells that mean a missing value as a tuple of str and finite numbers."""
    for value in values:
        is_number = isinstance(value, int | float) and math.isfinite(value)
        if not (is_number or isinstance(value, str)):
            raise SchemaError(f"{where}: {value!r} cannot mean a missing value.")
    return tuple(values)


def _check(where, document, types):
    """Raise a SchemaError if a part of a document is no dict, or has a key of no or another type.

    Parameters
    ----------
    where : str
    document : dict
    types : dict of types by key, or None for any keys
    """
    if not isinstance(document, dict):
        raise SchemaError(f"{where} must be an object with names as keys.")
    for key, value in document.items() if types is not None else ():
        if key not in types:
            raise SchemaError(f"{where} has the unknown key {key!r}; known are {listed(types)}.")
        if not isinstance(value, types[key]):
            kind = getattr(types[key], "__name__", str(types[key]))
            raise SchemaError(f"{where}: {key!r} must be of the type {kind}, got {value!r}.")
