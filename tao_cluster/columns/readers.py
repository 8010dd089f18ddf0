"""Readers: how the cells of a raw column become numbers or categories, in Python and in SQL."""

import functools
import re
from dataclasses import dataclass
from datetime import date
from numbers import Real

import numpy as np
import pandas as pd

_DAY = 86_400  # seconds
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"

WHITE_SPACE = " \t\r\n\f\v\u00a0"  # around strings, it does not count

PARTS = {"month": "month (1 to 12)", "weekday": "weekday (0 = Monday)", "hour": "hour of the day"}


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

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        return "a number"

    @property
    def unit(self):
        """The unit of the numbers: str, empty if there is none or if it is not known."""
        return ""

    @property
    def steps(self):
        """Numbers to whose multiples a number may be rounded for its text, the largest first.

        The tuple is empty if :meth:`text` has no text for numbers.
        """
        return ()

    def read(self, column):
        """Return the cells as a Series of floats, or of categories (for a :class:`Level`).

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

    @property
    def has_cells(self):
        """Whether :meth:`cell` returns a cell for each number; a part of a date has none."""
        return True

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
        """Return the column as objects; missing words and all kinds of missing values are NaN."""
        cells = column.astype(object)
        try:
            codes, kinds = pd.factorize(cells)  # each kind of cell is compared once
        except TypeError:  # cells such as lists, which no reader can read
            return cells
        words = set(self.missing)
        is_missing = [(k.strip() if isinstance(k, str) else k) in words for k in kinds]
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
            raise UnreadableCellError(*place, cells.iloc[row], self.expected)

    def _numbers(self, cells):
        """Return the numbers of a Series of objects: float64 array, NaN for unreadable cells."""
        return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)

    def _steps(self, number, per_unit, column):
        """Return a number as a count of steps, rounded away from the old value in the column.

        The result is the nearest int of which the number of steps, divided by `per_unit`, is at
        least as far from the old value as `number`.
        """
        steps = round(number * per_unit)
        old = self.read(column).iloc[0]
        if number > old and steps / per_unit < number:
            return steps + 1
        return steps - (number < old and steps / per_unit > number)


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
            return cells.map(str, na_action="ignore").astype(object)
        if self.form == "truth":
            found = cells.map(_TRUTH.get, na_action="ignore").astype(object)
            found = found.where(found.notna(), np.nan)
        else:
            found = pd.to_numeric(cells, errors="coerce").astype(np.float64).astype(object)
        self._check_read(cells, found.notna().to_numpy())
        return found


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
        texts = cells.astype(str)
        minus = next((sign for sign in _MINUS_SIGNS if texts.str.contains(sign).any()), "-")
        found = texts.str.replace(minus, "-").str.extract(_WRITTEN)
        if found["number"].isna().any():
            return None
        units = found[["prefix", "suffix"]].fillna("").apply(lambda part: part.str.strip())
        prefix, suffix = units.iloc[0]
        if len(units.drop_duplicates()) != 1 or not _is_unit(prefix, suffix, texts.iloc[0]):
            return None
        numbers = found["sign"].fillna("") + found["number"]
        for thousands, decimal, form in _FORMS:
            if numbers.str.fullmatch(form).all():
                return cls(tuple(missing), prefix, suffix, thousands, decimal, minus)
        return None

    def cell(self, number, column):
        """Return the number with its unit; see ``Reader.cell``."""
        text = f"{number:.0f}" if float(number).is_integer() else repr(float(number))
        before = " " if self.prefix[-1:].isalpha() else ""
        behind = " " if self.suffix[:1].isalpha() else ""
        text = text.replace(".", self.decimal)
        return f"{self.prefix}{before}{text}{behind}{self.suffix}"

    def _numbers(self, cells):
        known = functools.cache(self._bare)  # most columns repeat their strings

        def bare(cell):
            return known(cell) if isinstance(cell, str) else self._bare(cell)

        return super()._numbers(cells.map(bare, na_action="ignore"))

    def _bare(self, cell):
        """Return a cell as a number, or without its unit and with a decimal point.

        It becomes infinite if it has another unit. A number needs no change if there is no unit.
        """
        if isinstance(cell, Real) and not self.unit:
            return cell
        text = str(cell).strip().replace(self.minus, "-")
        sign = "-" if self.prefix and text.startswith("-") else ""
        text = text[len(sign) :].strip()
        if not (text.startswith(self.prefix) and text.endswith(self.suffix)):
            return np.inf
        text = sign + text[len(self.prefix) : len(text) - len(self.suffix)].strip()
        text = text.replace(self.thousands, "") if self.thousands else text
        text = text.replace(self.decimal, ".")
        return text if re.fullmatch(_NUMBER, text) else np.inf


def _is_unit(prefix, suffix, cell):
    """Return whether the texts around a number are a unit: "$", or "EUR" and a space, or "kg".

    Other texts make the cell a code or a name, such as A12, 3x, job 3 or Person 3.
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
    ("", ",", r"[+-]?[0-9]+(?:,[0-9]+)?"),
    *(
        (space, decimal, rf"[+-]?[0-9]{{1,3}}(?:{space}[0-9]{{3}})*(?:{re.escape(decimal)}[0-9]+)?")
        for space in ("'", " ", "\u00a0", "\u202f")  # with spaces that do not break lines
        for decimal in (".", ",")
    ),
)


@dataclass(frozen=True)
class Date(Reader):
    """Dates, as days since the first date or as a part of the date.

    Parameters
    ----------
    missing : tuple of str
        Strings that mean a missing value.
    first : str
        The first date, in the form 2020-01-31 or 2020-01-31 12:30:00.
    form : str, optional
        Form of dates that are strings, with the codes ``%Y``, ``%m`` and ``%d``. The default is
        ISO 8601, such as 2020-01-31 or 2020-01-31 12:30:00, and columns of pandas dates.
    part : {"month", "weekday", "hour"}, optional
        The part of the date that becomes the number; None for the days since the first date.
    zone : str
        If it is empty, the cells have no time zone. Otherwise they are instants, and the parts are
        those of the clock in this zone: "UTC", an offset such as "+02:00", or a name such as
        "Europe/Berlin". `first` is an instant, too.
    is_typed : bool
        Whether the cells are dates, not strings.
    """

    first: str = "1970-01-01"
    form: str | None = None
    part: str | None = None
    zone: str = ""
    is_typed: bool = False

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        return f"a date such as {self.text(0.0) or self.first}"

    @classmethod
    def from_cells(cls, column, missing=()):
        """Return a reader of the dates of a column, or None if it has other values.

        Parameters
        ----------
        column : Series of dates or strings, without missing values
        missing : tuple of str

        Raises
        ------
        AmbiguousDatesError
            If the dates can be read with the day first and with the month first.
        """
        forms = [None]
        if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
            if all(isinstance(cell, date) for cell in column):  # datetimes are dates, too
                column = column.map(str)
            if not all(isinstance(cell, str) for cell in column):
                return None
            forms = [form for form, text in _DATE_FORMS if column.str.fullmatch(text).all()]
        readers = []
        for form in forms:
            seconds = cls(form=form)._seconds(column)
            if len(column) and np.isfinite(seconds).all():
                start = pd.Timestamp(seconds.min(), unit="s")
                readers.append(cls(tuple(missing), str(start).removesuffix(" 00:00:00"), form))
        if len(readers) > 1:
            raise AmbiguousDatesError(readers[0].form, readers[1].form)
        return readers[0] if readers else None

    @property
    def unit(self):
        """Days since the first date, or a description of the part of the date."""
        return f"days since {self.first}" if self.part is None else PARTS[self.part]

    @property
    def has_cells(self):
        """Whether the numbers are days, from which the date follows."""
        return self.part is None

    @property
    def steps(self):
        """Units to which a date is rounded for its text, in days: from a day to a second.

        The tuple is empty for a part of a date; see ``Reader.steps``.
        """
        return () if self.part is not None else (1.0, 1 / 24, 1 / 1440, 1 / _DAY)

    def text(self, number):
        """Return the date that lies this number of days behind the first date.

        The text is empty for a part of a date, which is a plain number.
        """
        if self.part is not None:
            return ""
        try:
            date = pd.Timestamp(self.first) + pd.Timedelta(seconds=round(number * _DAY))
        except (OverflowError, ValueError):  # beyond the range of dates
            return ""
        return str(date).removesuffix(" 00:00:00")

    def cell(self, number, column):
        """Return the date as a string of the form of the column; see ``Reader.cell``."""
        if self.form is not None:  # without a time
            days = self._steps(number, 1, column)
            return (pd.Timestamp(self.first) + pd.Timedelta(days=days)).strftime(self.form)
        return self.text(self._steps(number, _DAY, column) / _DAY)

    def _seconds(self, cells):
        """Return whole seconds since 1970: float64 array, NaN for missing and unreadable cells."""
        if cells.dtype.kind == "M" or isinstance(cells.dtype, pd.DatetimeTZDtype):
            dates = cells
        else:
            form = self.form or "ISO8601"
            texts = cells.map(str, na_action="ignore")
            dates = pd.to_datetime(texts, format=form, errors="coerce", utc=True)
        if getattr(dates.dt, "tz", None) is not None:
            dates = dates.dt.tz_convert(None)
        seconds = dates.to_numpy().astype("datetime64[s]")  # rounds down
        return np.where(dates.isna(), np.nan, seconds.astype(np.int64).astype(np.float64))

    def _numbers(self, cells):
        seconds = self._seconds(cells)
        if self.part == "month":
            return pd.to_datetime(pd.Series(seconds), unit="s").dt.month.to_numpy(dtype=np.float64)
        if self.part == "weekday":
            return (seconds // _DAY + 3) % 7  # 1 January 1970 was a Thursday
        if self.part == "hour":
            return seconds // 3600 % 24
        return (seconds - self._start) / _DAY

    @property
    def _start(self):
        """The first date in seconds since 1970: int."""
        return int((pd.Timestamp(self.first) - pd.Timestamp(0)) // pd.Timedelta(seconds=1))


class AmbiguousDatesError(ValueError):
    """Dates that can be read with the day first and with the month first."""

    def __init__(self, *forms):
        super().__init__(f"dates of the form {forms[0]} or {forms[1]}")
        self.forms = forms


# Forms of dates that are strings: the codes of strptime, and a pattern. Widths are fixed, so that
# SQL can cut the strings. The first form is ISO 8601.
_DATE_FORMS = (
    (None, r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?"),
    ("%Y/%m/%d", r"\d{4}/\d{2}/\d{2}"),
    ("%d.%m.%Y", r"\d{2}\.\d{2}\.\d{4}"),
    ("%d/%m/%Y", r"\d{2}/\d{2}/\d{4}"),
    ("%m/%d/%Y", r"\d{2}/\d{2}/\d{4}"),
    ("%d-%m-%Y", r"\d{2}-\d{2}-\d{4}"),
    ("%m-%d-%Y", r"\d{2}-\d{2}-\d{4}"),
)


@dataclass(frozen=True)
class Clock(Reader):
    """Times of day such as "14:30" or "14:30:15", as hours since midnight.

    Parameters
    ----------
    missing : tuple of str
        Strings that mean a missing value.
    has_seconds : bool
    """

    has_seconds: bool = False

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        return "a time of day such as " + ("14:30:15" if self.has_seconds else "14:30")

    @classmethod
    def from_cells(cls, cells, missing=()):
        """Return a reader of all these strings, or None if they are not times of day."""
        for has_seconds in (False, True):
            reader = cls(tuple(missing), has_seconds)
            if np.isfinite(reader._numbers(cells)).all():
                return reader
        return None

    @property
    def unit(self):
        """Hours since midnight."""
        return "hours since midnight"

    @property
    def steps(self):
        """Units to which a time is rounded for its text, in hours: from an hour to a second."""
        return 1.0, 1 / 60, 1 / 3600

    def text(self, number):
        """Return the time of day, such as 14:30; empty if the number is outside of a day."""
        seconds = round(number * 3600)
        if not 0 <= seconds < _DAY:
            return ""
        text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
        return f"{text}:{seconds % 60:02d}" if self.has_seconds or seconds % 60 else text

    def cell(self, number, column):
        """Return the time of day as a string; see ``Reader.cell``."""
        per_hour = 3600 if self.has_seconds else 60
        return self.text(self._steps(number, per_hour, column) / per_hour)

    def _numbers(self, cells):
        seconds = r":(?P<s>[0-5]\d)" if self.has_seconds else ""
        form = re.compile(rf"^(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d){seconds}$")
        found = cells.astype(str).str.extract(form).astype(np.float64)
        total = found["h"] * 3600 + found["m"] * 60 + (found["s"] if self.has_seconds else 0)
        return (total / 3600).to_numpy()


READERS = {reader.__name__: reader for reader in (Number, Level, Written, Date, Clock)}
