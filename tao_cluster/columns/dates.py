"""Readers of dates, times of day and durations."""

import itertools
import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from .readers import Reader, by_kind, exact_numbers, stripped_texts

_DAY, _HOUR = 86_400, 3600  # seconds

PARTS = {"month": "month (1 to 12)", "weekday": "weekday (0 = Monday)", "hour": "hour of the day"}

PARTS_OF_PANDAS = {"month": "month", "weekday": "day_of_week", "hour": "hour"}

# Forms of numbers: seconds of a unit, and of the number 0 since 1970.
COUNTED = {"unix": (1, 0), "excel": (_DAY, -25_569 * _DAY)}
# Directives of strptime, and the seconds of the smallest step that they can write.
_DIRECTIVES = {"%S": 1, "%M": 60, "%H": _HOUR, "%I": _HOUR, "%d": _DAY, "%m": 31 * _DAY}
_DIRECTIVES |= {"%b": 31 * _DAY, "%B": 31 * _DAY, "%Y": 366 * _DAY, "%y": 366 * _DAY, "%p": _DAY}


@dataclass(frozen=True)
class Date(Reader):
    """Dates, as days since the first date or as a part of the date; or times of day, as hours.

    Parameters
    ----------
    missing : tuple of str
        Strings that mean a missing value.
    first : str
        The first date, in the form 2020-01-31 or 2020-01-31 12:30:00, with the offset of its zone
        behind it if there is a zone.
    form : str, optional
        Form of the cells: a format of strptime, such as ``%d.%m.%Y``; "unix" for seconds since
        1970; or "excel" for days since 1899-12-30. A format without a year is that of times of
        day, such as ``%H:%M``. The default is ISO 8601, such as 2020-01-31 or 2020-01-31 12:30:00,
        and columns of dates.
    part : {"month", "weekday", "hour"}, optional
        The part of the date that becomes the number; None for the days since the first date.
    zone : str
        "UTC", an offset such as "+02:00", or a name such as "Europe/Berlin": each cell is an
        instant, and parts are those of the clock in this zone. Without a zone, the cells have no
        offset and are the time of a clock.
    is_typed : bool
        Whether the column has dates, not strings.
    """

    first: str = "1970-01-01"
    form: str | None = None
    part: str | None = None
    zone: str = ""
    is_typed: bool = False

    def __post_init__(self):
        """Raise a ValueError if the first date, the form, the part or the zone is not valid."""
        if self.part is not None and (self.part not in PARTS or self.is_time):
            raise ValueError(f"{self.part!r} is not one of {', '.join(PARTS)}.")
        if self.form not in (None, *COUNTED):
            _check_form(self.form)
        try:
            pd.Timestamp(self._start, unit="s", tz=self.zone or None)
        except (ValueError, OSError, KeyError) as error:
            raise ValueError(f"{self.first!r} in the zone {self.zone!r} is no date.") from error

    @property
    def is_time(self):
        """Whether the cells are times of day."""
        return self.form not in (None, *COUNTED) and not re.search("%[Yy]", self.form)

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        example = "2020-01-31 12:30:00+01:00" if self.zone else self._written(self._start)
        what = "a time of day" if self.is_time else "a date"
        return f"{what} such as {example}" + ("" if self.zone else " without a time zone")

    @classmethod
    def from_cells(cls, column, missing=()):
        """Return a reader of a column of dates, or of strings that have one meaning; else None.

        These strings are of ISO 8601, or times of day such as 9:05 or 14:30:15.

        Parameters
        ----------
        column : Series without missing values
        missing : tuple of str
        """
        if len(column) and is_dates(column):
            dates = column if column.dtype == object else [column.dt]
            zone = _common_zone({*map(_zone_name, dates)})
            reader = cls(tuple(missing), zone=zone or "", is_typed=True)
            return None if zone is None else reader.starting_at(column)
        if not all(isinstance(cell, str | time) for cell in column):
            return None
        texts = stripped_texts(column)
        for form, pattern in _CERTAIN.items():
            if len(texts) and texts.str.fullmatch(pattern).all():
                offsets = texts.str.extract(_OFFSET)[0].fillna("")
                zone = _common_zone({*offsets.replace({"Z": "UTC", "+00:00": "UTC"})})
                reader = cls(tuple(missing), form=form, zone=zone or "")
                seconds = reader._seconds(column)
                if np.isfinite(seconds).all():
                    first = reader.first if reader.is_time else reader.shown(int(seconds.min()))
                    return replace(reader, first=first)
        return None

    def starting_at(self, column):
        """Return this reader with the first date of a column, which has no missing values."""
        if self.is_time:
            return self
        return replace(self, first=self.shown(int(np.nanmin(self._seconds(column)))))

    @property
    def unit(self):
        """Days since the first date, hours, or a description of the part of the date."""
        if self.is_time:
            return "hours since midnight"
        zone = f" in {self.zone}" if self.zone and self.part else ""
        return f"days since {self.first}" if self.part is None else PARTS[self.part] + zone

    @property
    def seconds_per_unit(self):
        """Seconds of the unit of the numbers: those of a day or of an hour."""
        return _HOUR if self.is_time else _DAY

    @property
    def has_cells(self):
        """Whether the numbers are days or hours, from which the cell follows."""
        return self.part is None

    @property
    def steps(self):
        """Units to which a date is rounded for its text: from a day (or an hour) to a second.

        The tuple is empty for a part of a date; see ``Reader.steps``.
        """
        if self.part is not None:
            return ()
        steps = (_DAY, _HOUR, 60, 1)
        return tuple(step / self.seconds_per_unit for step in steps[self.is_time :])

    def text(self, number):
        """Return the date or time of day of a number.

        The text is empty for a part of a date, which is a plain number.
        """
        seconds = number * self.seconds_per_unit
        if self.part is not None or not np.isfinite(seconds):
            return ""
        seconds = round(seconds)
        if not self.is_time:
            return self.shown(self._start + seconds)
        text = str(pd.Timestamp(seconds, unit="s"))[11:] if 0 <= seconds < _DAY else ""
        return text if "%S" in self.form or seconds % 60 else text[:5]

    def cell(self, number, column):
        """Return the date in the form of the column; see ``Reader.cell``."""
        known = [_DIRECTIVES[code] for code in re.findall("%.", self.form or "%S")]
        step = min(known, default=COUNTED.get(self.form, (1,))[0])
        old, unit = self.read(column).iloc[0], self.seconds_per_unit
        sign = 1 if number > old else -1
        seconds = self._start + number * unit
        if step < 31 * _DAY:  # months have different lengths
            seconds = round(seconds / step) * step
        for _ in range(2):
            cell = self._written(round(seconds))
            if cell.isdigit() and not isinstance(column.iloc[0], str):
                cell = int(cell)
            found = self._seconds(pd.Series([cell], dtype=object))[0]
            if sign * ((found - self._start) / unit - number) >= 0:
                break
            seconds = found + sign * step
        return cell

    def _written(self, seconds):
        """Return seconds since 1970 in the form of the column: str."""
        if self.form is None:
            return self.shown(seconds)
        if self.form in COUNTED:
            unit, zero = COUNTED[self.form]
            return f"{(seconds - zero) / unit:.15g}"
        return pd.Timestamp(seconds, unit="s").strftime(self.form)

    def shown(self, seconds):
        """Return seconds since 1970 as a date, in its zone; empty beyond the years 1 to 9999."""
        margin = _DAY if self.zone else 0  # for the clock in the zone
        if not _FIRST_SECOND + margin <= seconds <= _LAST_SECOND - margin:
            return ""
        moment = pd.Timestamp(seconds, unit="s", tz=self.zone or None)
        return str(moment).removesuffix(" 00:00:00")

    def _seconds(self, cells):
        """Return whole seconds since 1970: float64 array, NaN for missing and unreadable cells.

        They count in UTC if there is a zone. Cells with an offset are then the only readable ones,
        and otherwise cells without one.
        """
        if cells.dtype == object or not is_dates(cells):
            return by_kind(cells, self._of_cells)
        has_zone = isinstance(cells.dtype, pd.DatetimeTZDtype)
        if has_zone != bool(self.zone):
            return np.full(len(cells), np.nan)
        return _whole_seconds(cells.dt.tz_convert(None) if has_zone else cells)

    def _of_cells(self, cells):
        """Return the seconds of different objects, which are strings, numbers or dates."""
        if self.form in COUNTED:
            unit, zero = COUNTED[self.form]
            return np.floor(exact_numbers(cells) * unit + zero)
        # Texts of offsets with seconds are not read. The number 20240131 is 20240131.0 beside gaps.
        cells = cells.map(lambda cell: cell.astimezone(UTC) if _has_zone(cell) else cell)
        texts = stripped_texts(cells).str.removesuffix(".0")
        is_iso = np.array([self.form is None or isinstance(cell, date) for cell in cells], bool)
        iso = texts[is_iso]
        iso = iso[iso.str.extract(_OFFSET)[0].notna() == bool(self.zone)]
        parts = [
            pd.to_datetime(iso, format="ISO8601", errors="coerce", utc=True),
            pd.to_datetime(texts[~is_iso], format=self.form, errors="coerce", utc=True),
        ]
        moments = pd.concat([part.dt.tz_convert(None) for part in parts])
        return _whole_seconds(moments.reindex(cells.index))

    def _numbers(self, cells):
        seconds = self._seconds(cells)
        if self.part is None:
            return (seconds - self._start) / self.seconds_per_unit
        clock = pd.Series(seconds.astype("datetime64[s]"))
        if self.zone:
            clock = clock.dt.tz_localize("UTC").dt.tz_convert(self.zone)
        return getattr(clock.dt, PARTS_OF_PANDAS[self.part]).to_numpy(dtype=np.float64)

    @property
    def _start(self):
        """The moment of the number 0 in seconds since 1970: int."""
        if self.is_time:
            return _MIDNIGHT
        return math.floor(pd.Timestamp(datetime.fromisoformat(self.first)).timestamp())


def _check_form(form):
    """Raise a ValueError if a format has other directives, or gives neither a date nor a time."""
    codes = re.findall("%.?", form)
    unknown = [code for code in codes if code not in _DIRECTIVES]
    if unknown:
        raise ValueError(
            f"the format {form!r} has {unknown[0]!r}; allowed are {', '.join(_DIRECTIVES)}, "
            '"unix" and "excel".'
        )
    kinds = [{"y": "Y", "b": "m", "B": "m", "I": "H"}.get(code[1], code[1]) for code in codes]
    parts = "".join(sorted(kinds)).replace("p", "")
    is_half = codes.count("%p") != ("%I" in form.partition("%p")[0])
    if is_half or not re.fullmatch("(?=.)(HM?S?)?(Yd?m)?", parts):
        raise ValueError(
            f"the format {form!r} needs a year and a month, or an hour (%H, or %I and "
            "then %p), each of them once."
        )


def possible_forms(texts):
    """Return the formats by which most of some strings can be dates or times of day: list of str.

    Each is a format of :class:`Date` (None for ISO 8601). Two formats with the same dates count
    once.

    Parameters
    ----------
    texts : Series of str without white space around them
    """
    forms = dict.fromkeys(form for text in texts.iloc[:_SAMPLE] for form in forms_of(text))
    found = {}
    for form in forms:
        seconds = Date(form=form)._seconds(texts)
        key = np.nan_to_num(seconds, nan=-np.inf).tobytes()
        found.setdefault(key, (np.isfinite(seconds).sum(), form))
    most = max((count for count, _ in found.values()), default=0)
    return [form for count, form in found.values() if count == most > 0]


def forms_of(text):
    """Return the formats by which a string may be a date or a time of day: list of str or None."""
    clock = re.search(_CLOCK, text)
    day, form = text, ""
    if clock:
        day = text[: clock.start()] + text[clock.end() :]
        form = "%I:%M" if clock["half"] else "%H:%M"
        form += (":%S" if clock["seconds"] else "") + f"{clock['space']}%p" * bool(clock["half"])
    if clock and not day.strip():
        return [form]
    if re.fullmatch(_CERTAIN_DATE, text):
        return [None]
    found = []
    tokens = re.findall(r"\d+|[^\W\d_]+|[\W_]+", day)
    for parts in itertools.product(*map(_codes, tokens)):
        dated = "".join(parts)
        order = "".join(re.findall("%(.)", dated)).replace("y", "Y").replace("B", "b")
        if order in _ORDERS:
            is_before = clock and clock.start() == 0
            found.append((_ORDERS.index(order), form + dated if is_before else dated + form))
    return [form for _, form in sorted(found, key=lambda pair: pair[0])]


def _codes(token):
    """Return the directives that a part of a date may stand for; a separator stands for itself."""
    if token.isdigit():
        kinds = {1: ("%d", "%m"), 2: ("%d", "%m", "%y"), 4: ("%Y",), 8: ("%Y%m%d",)}
        return kinds.get(len(token), ())
    if token[:3].lower() in MONTHS:
        return ("%b", "%B")
    return () if "%" in token or any(map(str.isalpha, token)) else (token,)


_ORDERS = ("dmY", "mdY", "Ymd", "Ydm", "dbY", "bdY", "Ybd", "mY", "Ym", "bY", "Yb")
_CLOCK = r"(?<!\d)\d{1,2}:\d{2}(?P<seconds>:\d{2})?(?:(?P<space> ?)(?P<half>[AaPp][Mm]))?(?![\w:])"
_SAMPLE = 50


def is_dates(column):
    """Return whether a Series has only dates and missing values, not strings or numbers."""
    dtype = column.dtype
    if not pd.api.types.is_object_dtype(dtype):
        is_plain = isinstance(dtype, np.dtype) and dtype.kind == "M"
        return is_plain or isinstance(dtype, pd.DatetimeTZDtype)
    filled = column.dropna()
    return len(filled) > 0 and all(isinstance(cell, date) for cell in filled)


def _has_zone(cell):
    return isinstance(cell, datetime) and cell.tzinfo is not None


def _common_zone(zones):
    """Return the zone of a column with dates of these zones; it is UTC if there are several.

    It is None if only some of the dates have a zone.
    """
    if len(zones) > 1:
        return None if "" in zones else "UTC"
    return next(iter(zones))


def _zone_name(dates):
    """Return the zone of a date, or of the accessor `dt` of dates: str, empty if there is none.

    It is "UTC", an offset such as "+02:00", or a name.

    A zone without a name and without a fixed offset, such as that of the computer, becomes "UTC":
    the instants stay the same.
    """
    tz = getattr(dates, "tzinfo", getattr(dates, "tz", None))
    if tz is None:
        return ""
    offset = tz.utcoffset(None)  # None if it depends on the date
    if offset is not None:
        return str(timezone(offset)).removeprefix("UTC") or "UTC"
    # Only the text of a zone of dateutil has its name.
    file = re.search(r"zoneinfo/([^']+)'", str(tz))
    return getattr(tz, "key", None) or getattr(tz, "zone", None) or (file[1] if file else "UTC")


def first_second(number, per_unit, *, or_equal):
    """Return the first second of which the number, in larger units, exceeds a limit: int.

    Parameters
    ----------
    number : float
        The limit.
    per_unit : int
        Seconds in a unit of the limit.
    or_equal : bool
        Whether the number of this second may equal the limit.
    """
    second = math.floor(number * per_unit) - 2
    while second / per_unit < number or (second / per_unit == number and not or_equal):
        second += 1
    return second


def _whole_seconds(dates):
    """Return the seconds since 1970 of a Series of pandas dates, rounded down: float64 array."""
    seconds = dates.to_numpy().astype("datetime64[s]")
    return np.where(dates.isna(), np.nan, seconds.astype(np.int64).astype(np.float64))


_FIRST_SECOND, _LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999
_MIDNIGHT = -2_208_988_800  # 1900-01-01, the date of times of day in strptime
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OFFSET = r"\d{2}:\d{2}(?:\.\d+)?(Z|[+-]\d{2}(?::?\d{2})?)$"
# Patterns of strings with one meaning, by their form; None is ISO 8601.
_CERTAIN_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?"
_CERTAIN = {None: _CERTAIN_DATE, "%H:%M": r"\d{1,2}:\d{2}", "%H:%M:%S": r"\d{1,2}:\d{2}:\d{2}"}


@dataclass(frozen=True)
class Duration(Reader):
    """Durations, such as those of ``datetime.timedelta``, as numbers of days."""

    expected: ClassVar[Any] = "a duration such as 1 days 02:00:00"
    unit: ClassVar[Any] = "days"

    def cell(self, number, column):
        """Return the duration; see ``Reader.cell``."""
        return pd.Timedelta(days=number)

    def _numbers(self, cells):
        if cells.dtype.kind != "m":
            is_known = cells.map(lambda cell: isinstance(cell, timedelta | np.timedelta64 | str))
            cells = pd.to_timedelta(cells.where(is_known.astype(bool)), errors="coerce")
        return cells.dt.total_seconds().to_numpy(dtype=np.float64) / _DAY
