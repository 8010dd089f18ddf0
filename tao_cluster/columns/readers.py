"""Readers: how the cells of a raw column become numbers or categories."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"

WHITE_SPACE = " \t\r\n\f\v\u00a0"  # around strings, it does not count


class UnreadableCellError(ValueError):
    """A cell that a reader cannot read.

    Parameters
    ----------
    column : str
    row : label of the row in the index of the table
    cell : the value that was found
    expected : str
        The kind of value that the column has, such as "a number".
    """

    def __init__(self, column, row, cell, expected):
        super().__init__(f"column {column!r}, row {row}: {cell!r} is not {expected}.")
        self.column, self.row, self.cell, self.expected = column, row, cell, expected


@dataclass(frozen=True)
class Reader:
    """Reads the cells of a raw column.

    Parameters
    ----------
    missing : tuple of str or numbers
        Cells that mean a missing value, such as "unknown" or -999. Spaces around strings do not
        count.
    """

    missing: tuple[str | int | float, ...] = ()

    expected: ClassVar[Any] = "a number"  # what the cells should be, for messages
    unit: ClassVar[Any] = ""  # of the numbers; empty if there is none or if it is not known
    # Numbers to whose multiples a number may be rounded for its text, the largest first; empty if
    # `text` has no text for numbers.
    steps: ClassVar[Any] = ()
    has_cells: ClassVar[Any] = True  # whether `cell` has a cell for each number

    def read(self, column):
        """Return the cells as a Series of floats, or of categories (for a ``Level``).

        Missing values become NaN.

        Parameters
        ----------
        column : Series

        Raises
        ------
        UnreadableCellError
            If a cell is neither missing nor of the form that the reader expects.
        """
        filled = self.with_gaps(column)
        numbers = self._numbers(filled)
        self._check_read(filled, np.isfinite(numbers))
        return pd.Series(numbers, index=column.index, name=column.name)

    def text(self, number):
        """Return a number in the form of the raw column: str, empty for a plain number."""
        return ""

    def cell(self, number, column):
        """Return the cell that changes a raw column to a new number, rounded away from its old one.

        Parameters
        ----------
        number : float
        column : Series with one cell, which holds the old value
        """
        return number

    def with_gaps(self, column):
        """Return the column with NaN for missing words and for all kinds of missing values.

        Columns of objects, strings and the like become columns of objects.
        """
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
            codes = [code for code in self.missing if not isinstance(code, str)]
            return column.mask(column.isin(codes)) if codes else column
        cells = column.astype(object)
        if not self.missing:
            return cells.where(cells.notna(), np.nan)
        try:
            codes, kinds = pd.factorize(cells)  # each kind of cell is compared once
        except TypeError:  # cells such as lists, which no reader can read
            return cells
        words = set(self.missing)
        if any(re.match(r"\d{4}-\d{2}-\d{2}", word) for word in words if isinstance(word, str)):
            kinds = [str(k).removesuffix(" 00:00:00") if isinstance(k, date) else k for k in kinds]
        is_missing = [(k.strip(WHITE_SPACE) if isinstance(k, str) else k) in words for k in kinds]
        found = ~np.array([*is_missing, True])[codes]  # the code of missing values is -1
        return cells.where(found, np.nan)

    def _check_read(self, cells, is_read):
        """Raise an UnreadableCellError at the first cell that is neither missing nor read.

        Parameters
        ----------
        cells : Series of objects, NaN for missing values
        is_read : bool array of the same length
        """
        wrong = cells.notna().to_numpy() & ~is_read
        if wrong.any():
            row = int(wrong.argmax())
            place = str(cells.name), cells.index[row]
            cell = cells.iloc[row]
            cell = cell.item() if isinstance(cell, np.generic) else cell
            raise UnreadableCellError(*place, cell, self.expected)

    def _numbers(self, cells):
        """Return the numbers of a Series: float64 array, NaN for unreadable cells."""
        return exact_numbers(cells)


def exact_numbers(cells):
    """Return the numbers of a Series of numbers or strings, NaN where a cell is no number.

    Strings become the nearest floats, as in Python. The parser of pandas is off by one bit for some
    strings, so that two files with the same numbers would have different rows.

    Returns
    -------
    float64 array
    """
    found = pd.to_numeric(cells, errors="coerce")
    if found.dtype.kind == "c":
        found = found.where(found.to_numpy().imag == 0).map(np.real)
    numbers = found.to_numpy(dtype=np.float64, na_value=np.nan)
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return numbers
    objects = cells.to_numpy(dtype=object, na_value=np.nan)
    is_text = np.fromiter((isinstance(c, str) for c in objects), bool, len(objects))
    is_text &= np.isfinite(numbers)
    if is_text.any():
        numbers = numbers.copy()
        numbers[is_text] = objects[is_text].astype(np.float64)
    return numbers


def as_texts(cells):
    """Return the cells of a Series as strings, in a Series of objects.

    The strings of pandas cannot hold half of a surrogate pair, which is not encodable.
    """
    return pd.Series(map(str, cells), cells.index, dtype=object, name=cells.name)


def stripped_texts(cells):
    """Return the cells of a Series as strings without white space around them; see `as_texts`."""
    return pd.Series([str(cell).strip(WHITE_SPACE) for cell in cells], cells.index, dtype=object)


def by_kind(cells, numbers_of):
    """Return numbers_of(cells), computed once for each kind of cell: float64 array."""
    codes, kinds = pd.factorize(cells)
    return np.append(numbers_of(pd.Series(kinds, dtype=object)), np.nan)[codes]


@dataclass(frozen=True)
class Number(Reader):
    """A column of numbers.

    Strings in `missing` mean a missing value in tables that hold strings beside numbers. A database
    has no strings in such a column, so that SQL does not mention them.
    """

    def read(self, column):
        """Return the numbers as a float64 Series; see ``Reader.read``."""
        if column.dtype == np.float64 and not self.missing and not np.isinf(column).any():
            return column
        return super().read(column)


@dataclass(frozen=True)
class Level(Reader):
    """A column of categories, which are strings, truth values or numeric codes.

    Parameters
    ----------
    missing : tuple of str or numbers
        Cells that mean a missing value.
    form : {"text", "truth", "number"}, default="text"
        What the categories are. All cells are converted to it: the code "1" of one file is then the
        same category as the code 1 of another file.
    """

    form: str = "text"

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        return {"truth": "a truth value", "number": "a numeric code"}.get(self.form, "a value")

    def read(self, column):
        """Return the categories as a Series of objects in which missing values are NaN.

        Raises
        ------
        UnreadableCellError
            If a cell is not of the form of the column.
        """
        cells = self.with_gaps(column)
        if self.form == "text":
            levels = [cell if pd.isna(cell) else _as_level(cell) for cell in cells]
            return pd.Series(levels, cells.index, dtype=object, name=cells.name)
        if self.form == "truth":
            found = cells.map(_TRUTH.get, na_action="ignore").astype(object)
            found = found.where(found.notna(), np.nan)
        else:
            found = pd.to_numeric(cells, errors="coerce").astype(np.float64).astype(object)
        self._check_read(cells, found.notna().to_numpy())
        return found


def _as_level(cell):
    """Return a cell as a string in which each accent has one encoding (NFC)."""
    return unicodedata.normalize("NFC", str(cell))


# The keys 1 and 1.0 are equal to True, and so are truth values of numpy.
_TRUTH: dict[object, bool] = {True: True, False: False}
_TRUTH |= {text: text.lower() == "true" for text in ("True", "False", "true", "false")}
_TRUTH |= {"TRUE": True, "FALSE": False, "1": True, "0": False}


@dataclass(frozen=True)
class Written(Reader):
    """Numbers as strings, with the same text before and behind all of them: "70 kg", "$1,250".

    Parameters
    ----------
    missing : tuple of str
        Strings that mean a missing value.
    prefix, suffix : str
        Text before and behind the number. Spaces around the number are ignored.
    thousands : str
        Separator of thousands; empty if there is none.
    decimal : {".", ","}
        Decimal mark.
    minus : str
        Minus sign. Web pages and R write another one than the hyphen of the keyboard.
    """

    prefix: str = ""
    suffix: str = ""
    thousands: str = ""
    decimal: str = "."
    minus: str = "-"

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        return f"a number in {self.unit}" if self.unit else "a number"

    @property
    def unit(self):
        """The text before and behind the numbers, such as "kg" or "$"."""
        return f"{self.prefix} {self.suffix}".strip()

    @classmethod
    def from_cells(cls, cells, missing=()):
        """Return a reader of all these strings, or None if they are not numbers of one unit.

        A number such as "1,250" could be read in two ways. The decimal mark is a comma only if a
        number shows it, as "1.250,5" and "12,5" do.

        Parameters
        ----------
        cells : Series of str, without missing values
        missing : tuple of str
        """
        texts = as_texts(cells)
        minus = next((sign for sign in _MINUS_SIGNS if texts.str.contains(sign).any()), "-")
        found = _parts(texts, minus)
        units = _units(found, texts)
        if len(units) == 0 or units.isna().any() or units.nunique() > 1:
            return None
        prefix, suffix = units.iloc[0]
        if prefix.endswith("(") or suffix.startswith("-"):  # negative numbers of accountants
            return None
        numbers = found["sign"] + found["number"]
        for thousands, decimal, form in _FORMS:
            if re.fullmatch(form, numbers.iloc[0]) and numbers.str.fullmatch(form).all():
                return cls(tuple(missing), prefix, suffix, thousands, decimal, minus)
        return None

    def doubt(self, texts):
        """Return why strings that it reads may have another meaning: "codes", "mark", or "".

        Codes have leading zeros (0071), exponents without a point or sign (12E12), decimals that
        end in zeros beside others (1.9, 1.10), or more digits than a float. A mark may separate
        thousands or decimals if three digits follow it in each number that has it, as in 1.250. A
        dollar or pound sign says that a comma separates thousands.

        Parameters
        ----------
        texts : Series of str
        """
        cells = texts.to_numpy(dtype=object)  # strings of Arrow are slow to iterate
        text = "\n".join(cells)
        if not self.unit:
            ends = (rf"\{self.decimal}{end}$" for end in ("[1-9]0", r"\d"))
            is_version = all(re.search(end, text, re.MULTILINE) for end in ends)
            is_version = is_version and not re.search(rf"\{self.decimal}\d{{3}}", text)
            if is_version or _LIKE_CODES.search(text):
                return "codes"
        marks = {".", ","} & {*text}
        mark = next((each for each in (self.thousands, self.decimal) if each in marks), "")
        if not mark or (mark == "," and self.unit[:1] in ("$", "£")):
            return ""
        form = re.compile(rf"[1-9][0-9]{{0,2}}\{mark}[0-9]{{3}}|[0-9]{{1,3}}")
        numbers = (re.search("[0-9][0-9.,eE]*", cell) for cell in cells)
        return "mark" if all(found and form.fullmatch(found[0]) for found in numbers) else ""

    def cell(self, number, column):
        """Return the number with its unit; see ``Reader.cell``."""
        text = f"{number:.0f}" if float(number).is_integer() else repr(float(number))
        before = " " if self.prefix[-1:].isalpha() else ""
        behind = " " if self.suffix[:1].isalpha() else ""
        text = text.replace(".", self.decimal)
        return f"{self.prefix}{before}{text}{behind}{self.suffix}"

    def _numbers(self, cells):
        if pd.api.types.is_numeric_dtype(cells.dtype) and not self.unit:
            return exact_numbers(cells)
        return by_kind(cells, lambda kinds: exact_numbers(kinds.map(self._bare)))

    def _bare(self, cell):
        """Return a cell as a number, or without its unit and with a decimal point.

        It becomes infinite if it has another unit. A number needs no change if there is no unit.
        """
        if isinstance(cell, Real) and not self.unit:
            return cell
        text = str(cell).strip(WHITE_SPACE).replace(self.minus, "-")
        sign = "-" if self.prefix and text.startswith("-") else ""
        text = text[len(sign) :].strip(WHITE_SPACE)
        if not (text.startswith(self.prefix) and text.endswith(self.suffix)):
            return np.inf
        text = sign + text[len(self.prefix) : len(text) - len(self.suffix)].strip(WHITE_SPACE)
        text = text.replace(self.thousands, "") if self.thousands else text
        text = text.replace(self.decimal, ".")
        return text if re.fullmatch(_NUMBER, text) else np.inf


# A leading zero, an exponent without a point or sign, or an integer that no float is equal to.
_LIKE_CODES = re.compile(
    r"^[+-]?(?:0[0-9]|[0-9]+[eE][0-9]+$|(?:[1-9][0-9]{16,}|9[1-9][0-9]{14}|90[1-9][0-9]{13})$)",
    re.MULTILINE,
)


def units_of(cells):
    """Return what stands before and behind the numbers of strings: Series of pairs, or NaN.

    It is NaN for strings that are no number with a unit.
    """
    return _units(_parts(cells, f"[{_MINUS_SIGNS}]"), cells)


def _parts(cells, minus):
    """Return sign, prefix, number and suffix of each string: DataFrame, "" for others."""
    return cells.str.replace(minus, "-", regex=True).str.extract(_WRITTEN).fillna("")


def _units(parts, cells):
    found = [
        (prefix, suffix)
        if _ANY_FORM.fullmatch(number) and _is_unit(prefix, suffix, cell)
        else np.nan
        for _, prefix, number, suffix, cell in zip(
            *(parts[name] for name in parts), cells, strict=True
        )
    ]
    return pd.Series(found, index=cells.index, dtype=object)


def _is_unit(prefix, suffix, cell):
    """Return whether the strings around a number are a unit: "$", or "EUR" and a space, or "kg".

    Other strings make the cell a code or a name, such as A12, 3x, job 3 or Person 3.
    """
    if len(suffix) == 1 and suffix.isalpha() and suffix not in _LETTERS:
        return cell.strip()[-2].isspace()
    if not any(map(str.isalpha, prefix)):
        return True
    is_currency = (len(prefix) == 3 and prefix.isupper()) or prefix in _CURRENCIES
    return is_currency and cell.strip().lstrip("+-")[len(prefix)].isspace()


_CURRENCIES = ("Rs", "kr", "zł", "Kč", "US$")  # and all codes of three capital letters
_LETTERS = "gmslhdkKMBTVWJNCF"  # units and multiples of one letter
_MINUS_SIGNS = "\u2212\ufe63\u2013"  # minus sign, small hyphen-minus, en dash
# A number with text before and behind it. The text has no digits, except for m2, m3 and the like.
_WRITTEN = re.compile(
    r"^\s*(?P<sign>[+-](?=\s*[^\s0-9.,]))?\s*(?P<prefix>[^0-9+\-.,\u2013\u2212]*?)\s*"
    r"(?P<number>[+-]?[0-9.,'\u00a0\u202f ]*[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?)"
    r"\s*(?P<suffix>[^0-9\u2013\u2212]*?|[^\W0-9]{1,3}[23])\s*$"
)
# Forms of numbers, tried in this order: separator of thousands, decimal mark, pattern.
_FORMS = (
    ("", ".", _NUMBER),
    (",", ".", r"[+-]?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?"),
    (".", ",", r"[+-]?[0-9]{1,3}(?:\.[0-9]{3})*(?:,[0-9]+)?"),
    ("", ",", r"[+-]?[0-9]+(?:,[0-9]+)?(?:[eE][+-]?[0-9]+)?"),
    *(
        (space, decimal, rf"[+-]?[0-9]{{1,3}}(?:{space}[0-9]{{3}})*(?:{re.escape(decimal)}[0-9]+)?")
        for space in ("'", " ", "\u00a0", "\u202f")  # with spaces that do not break lines
        for decimal in (".", ",")
    ),
)
_ANY_FORM = re.compile("|".join(form for _, _, form in _FORMS))
