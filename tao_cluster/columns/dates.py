"""Readers of dates, times of day and durations."""

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from .readers import WHITE_SPACE, Reader, as_texts, by_kind

_DAY = 86_400  # seconds

PARTS = {"month": "month (1 to 12)", "weekday": "weekday (0 = Monday)", "hour": "hour of the day"}


@dataclass(frozen=True)
class Date(Reader):
    """Dates, as days since the first date or as a part of the date.

    Parameters
    ----------
    missing : tuple of str
        Strings that mean a missing value.
    first : str
        The first date, in the form 2020-01-31 or 2020-01-31 12:30:00, with the offset of its zone
        behind it if there is a zone.
    form : str, optional
        Form of dates that are strings, with codes of strptime such as ``%d.%m.%Y``; ``%-d`` is a
        day without a leading zero. The default is ISO 8601, such as 2020-01-31 or
        2020-01-31 12:30:00, and columns of dates.
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
        if self.part is not None and self.part not in PARTS:
            raise ValueError(f"{self.part!r} is not one of {', '.join(PARTS)}.")
        if self.form is not None and not {"%Y"} < {*re.findall("%-?[A-Za-z]", self.form)}:
            raise ValueError(f"{self.form!r} is no form of a date such as '%d.%m.%Y'.")
        try:
            self._start, self._tz  # noqa: B018
        except (ValueError, OSError, KeyError) as error:
            raise ValueError(f"{self.first!r} in the zone {self.zone!r} is no date.") from error

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        example = "2020-01-31 12:30:00+01:00" if self.zone else self.first
        if self.form is not None:
            example = self._written(np.datetime64(self.first, "s").astype(datetime))
        return f"a date such as {example}" + ("" if self.zone else " without a time zone")

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
            If the dates can be read with the day first and with the month first, or if only some
            of them have an offset.
        """
        if len(column) == 0:
            return None
        if not is_dates(column):
            return cls._from_texts(column, missing)
        zone = _common_zone(_zones(column), "a time zone")
        return cls(tuple(missing), zone=zone, is_typed=True).starting_at(column)

    @classmethod
    def _from_texts(cls, column, missing):
        """Return a reader of dates that are strings, or None; see :meth:`from_cells`."""
        if not all(isinstance(cell, str) for cell in column):
            return None
        texts = column.str.strip(WHITE_SPACE)
        found = {}
        for form, pattern in _DATE_FORMS:
            order = form and form.replace("%-", "%").replace("%B", "%b")
            if order in found or not re.fullmatch(pattern, texts.iloc[0]):
                continue
            if texts.str.fullmatch(pattern).all():
                zone = ""
                if form is None:
                    offsets = texts.str.extract(_OFFSET)[0].fillna("")
                    zones = {*offsets.replace({"Z": "UTC", "+00:00": "UTC"})}
                    zone = _common_zone(zones, "an offset")
                reader = cls(tuple(missing), form=form, zone=zone)
                if np.isfinite(reader._seconds(column)).all():
                    found[order] = reader
        if len(found) > 1:
            forms = " or ".join(reader.form for reader in found.values())
            raise AmbiguousDatesError(
                f"dates of the form {forms}", [r.form for r in found.values()]
            )
        return next(iter(found.values())).starting_at(column) if found else None

    @classmethod
    def likely_from(cls, column):
        """Return a reader of most of these strings, or None if most of them are no dates."""
        counts = Counter(column.iloc[:: max(1, len(column) // _MANY)].str.strip(WHITE_SPACE))
        if not any(map(re.compile(r"\d{4}").search, counts)):
            return None
        shares = [
            sum(n for text, n in counts.items() if re.fullmatch(pattern, text)) / counts.total()
            for _, pattern in _DATE_FORMS
        ]
        reader = cls(form=_DATE_FORMS[int(np.argmax(shares))][0])
        is_likely = (
            max(shares) >= _LIKELY and np.isfinite(reader._seconds(column)).mean() >= _LIKELY
        )
        return reader if is_likely else None

    def starting_at(self, column):
        """Return this reader with the first date of a column, which has no missing values."""
        start = np.nanmin(self._seconds(column))
        return replace(self, first=self._shown(int(start)))

    @property
    def unit(self):
        """Days since the first date, or a description of the part of the date."""
        zone = f" in {self.zone}" if self.zone and self.part else ""
        return f"days since {self.first}" if self.part is None else PARTS[self.part] + zone

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
        seconds = number * _DAY
        if self.part is not None or not np.isfinite(seconds):
            return ""
        return self._shown(self._start + round(seconds))

    def cell(self, number, column):
        """Return the date as a string of the form of the column; see ``Reader.cell``."""
        is_day = self.form is not None and "%H" not in self.form
        per_day = 1 if is_day else _DAY
        days = self._steps(number, per_day, column) / per_day
        if self.form is None:
            return self.text(days)
        return self._written(_EPOCH + timedelta(seconds=self._start + round(days * _DAY)))

    def _written(self, moment):
        """Return a date in the form of the column."""
        codes = {"%b": _MONTHS[moment.month - 1][:3], "%B": _MONTHS[moment.month - 1]}
        codes |= {"%-d": str(moment.day), "%-m": str(moment.month), "%Y": f"{moment.year:04d}"}
        codes |= {"%d": f"{moment.day:02d}", "%m": f"{moment.month:02d}"}
        codes |= {"%H": f"{moment.hour:02d}", "%M": f"{moment.minute:02d}"}
        codes |= {"%S": f"{moment.second:02d}"}
        return re.sub("%-?[A-Za-z]", lambda code: codes[code[0]], self.form)

    def _shown(self, seconds):
        """Return seconds since 1970 as a date, in its zone; empty beyond the years 1 to 9999."""
        if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
            return ""
        moment = _EPOCH + timedelta(seconds=seconds)
        if self.zone and 1 < moment.year < 9999:  # at the ends, the zone can lead beyond them
            moment = moment.replace(tzinfo=UTC).astimezone(self._tz)
        return str(moment).removesuffix(" 00:00:00")

    def _seconds(self, cells):
        """Return whole seconds since 1970: float64 array, NaN for missing and unreadable cells.

        They count in UTC if there is a zone. Cells with an offset are then the only readable ones,
        and otherwise cells without one.
        """
        is_typed = is_dates(cells) and cells.dtype != object
        return self._typed(cells) if is_typed else by_kind(cells, self._of_cells)

    def _of_cells(self, cells):
        """Return the seconds of objects, which are strings or dates; see :meth:`_seconds`."""
        are_dates = cells.map(lambda cell: isinstance(cell, date)).to_numpy(dtype=bool)
        seconds = np.full(len(cells), np.nan)
        seconds[are_dates] = [self._of_date(cell) for cell in cells[are_dates]]
        texts = as_texts(cells[~are_dates]).str.strip(WHITE_SPACE)
        form = "ISO8601" if self.form is None else self.form.replace("%-", "%")
        dates = pd.to_datetime(texts, format=form, errors="coerce", utc=True)
        found = _whole_seconds(dates.dt.tz_convert(None))
        if self.form is None:
            has_offset = texts.str.extract(_OFFSET)[0].notna().to_numpy()
            found[has_offset != bool(self.zone)] = np.nan
        seconds[~are_dates] = found
        return seconds

    def _of_date(self, cell):
        """Return the seconds of an object of the module datetime; see :meth:`_seconds`."""
        has_zone = getattr(cell, "tzinfo", None) is not None
        if has_zone != bool(self.zone) or pd.isna(cell):
            return np.nan
        if not isinstance(cell, datetime):
            return float((cell - _EPOCH.date()).days * _DAY)
        cell = cell.astimezone(UTC).replace(tzinfo=None) if has_zone else cell
        return float((cell - _EPOCH) // timedelta(seconds=1))

    def _typed(self, dates):
        """Return the seconds of a column of pandas dates; see :meth:`_seconds`."""
        has_zone = isinstance(dates.dtype, pd.DatetimeTZDtype)
        if has_zone != bool(self.zone):
            return np.full(len(dates), np.nan)
        return _whole_seconds(dates.dt.tz_convert(None) if has_zone else dates)

    def _numbers(self, cells):
        seconds = self._seconds(cells)
        if self.part is None:
            return (seconds - self._start) / _DAY
        if self.zone:
            instants = pd.Series(pd.to_datetime(seconds, unit="s", utc=True))
            seconds = _whole_seconds(instants.dt.tz_convert(self._tz).dt.tz_localize(None))
        if self.part == "month":
            months = np.nan_to_num(seconds).astype("datetime64[s]").astype("datetime64[M]")
            return np.where(np.isnan(seconds), np.nan, months.astype(np.int64) % 12 + 1.0)
        if self.part == "weekday":
            return (seconds // _DAY + 3) % 7  # 1 January 1970 was a Thursday
        return seconds // 3600 % 24

    @property
    def _start(self):
        """The first date in seconds since 1970: int."""
        moment = datetime.fromisoformat(self.first)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
        return (moment - _EPOCH) // timedelta(seconds=1)

    @property
    def _tz(self):
        """The zone as an object of the module datetime; None if there is none."""
        if not self.zone:
            return None
        if self.zone[0] in "+-":
            return datetime.fromisoformat(f"2000-01-01T00:00:00{self.zone}").tzinfo
        return ZoneInfo(self.zone)


class AmbiguousDatesError(ValueError):
    """Dates that can be read in two ways.

    Parameters
    ----------
    reason : str
    forms : list of str
        The forms by which they can be read; empty if none reads all of them.
    """

    def __init__(self, reason, forms=()):
        super().__init__(reason)
        self.forms = tuple(forms)


def is_dates(column):
    """Return whether a Series has only dates and missing values, not strings or numbers."""
    dtype = column.dtype
    if isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.kind == "M"):
        return True
    if not pd.api.types.is_object_dtype(dtype):
        return False
    filled = column.dropna()
    return len(filled) > 0 and all(isinstance(cell, date) for cell in filled)


def _zones(column):
    """Return the zones of dates: set of str, "" for dates without a zone."""
    if column.dtype == object:
        zones = [getattr(cell, "tzinfo", None) for cell in column]
    else:
        zones = [getattr(column.dt, "tz", None)]
    distinct = {id(zone): zone for zone in zones}  # those of dateutil are not hashable
    return {"" if zone is None else _zone_name(zone) for zone in distinct.values()}


def _common_zone(zones, what):
    """Return the zone of a column with dates of these zones; it is UTC if there are several.

    Raises
    ------
    AmbiguousDatesError
        If only some of the dates have a zone. `what` is what the others lack, for the message.
    """
    if len(zones) > 1 and "" in zones:
        raise AmbiguousDatesError(f"dates with and without {what}")
    return next(iter(zones)) if len(zones) == 1 else "UTC"


def _zone_name(tz):
    """Return the name of a zone: "UTC", an offset such as "+02:00", or its name.

    A zone without a name and without a fixed offset, such as that of the computer, becomes "UTC":
    the instants stay the same.
    """
    known = getattr(tz, "key", getattr(tz, "zone", None))
    offset = tz.utcoffset(None)  # None if it depends on the date
    if known is None and offset is not None:
        return str(timezone(offset)).removeprefix("UTC") or "UTC"
    # Only the text of a zone of dateutil has its name.
    file = re.fullmatch(r"tzfile\('(?:/.*zoneinfo/)?([^/].*)'\)", str(tz))
    known = known or (file[1] if file else "UTC")
    return "UTC" if known == "Etc/UTC" else known


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


_EPOCH = datetime(1970, 1, 1)
_FIRST_SECOND = (datetime(1, 1, 1) - _EPOCH) // timedelta(seconds=1)
_LAST_SECOND = (datetime(9999, 12, 31, 23, 59, 59) - _EPOCH) // timedelta(seconds=1)
# Share of dates from which other cells are faults, and number of cells to look at first.
_LIKELY, _MANY = 0.8, 1000
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_OFFSET = r"\d{2}:\d{2}(?:\.\d+)?(Z|[+-]\d{2}:\d{2})$"
# Forms of dates that are strings: the codes of strptime, and a pattern. The first form is ISO 8601.
_DAY_TEXTS = (
    ("%Y/%m/%d", r"\d{4}/\d{2}/\d{2}"),
    ("%d.%m.%Y", r"\d{2}\.\d{2}\.\d{4}"),
    ("%d/%m/%Y", r"\d{2}/\d{2}/\d{4}"),
    ("%m/%d/%Y", r"\d{2}/\d{2}/\d{4}"),
    ("%d-%m-%Y", r"\d{2}-\d{2}-\d{4}"),
    ("%m-%d-%Y", r"\d{2}-\d{2}-\d{4}"),
    ("%-d.%-m.%Y", r"\d{1,2}\.\d{1,2}\.\d{4}"),
    ("%-d/%-m/%Y", r"\d{1,2}/\d{1,2}/\d{4}"),
    ("%-m/%-d/%Y", r"\d{1,2}/\d{1,2}/\d{4}"),
    ("%b %-d, %Y", r"[A-Z][a-z]{2} \d{1,2}, \d{4}"),
    ("%B %-d, %Y", r"[A-Z][a-z]{2,8} \d{1,2}, \d{4}"),
    ("%-d %b %Y", r"\d{1,2} [A-Z][a-z]{2} \d{4}"),
    ("%-d %B %Y", r"\d{1,2} [A-Z][a-z]{2,8} \d{4}"),
    ("%-d-%b-%Y", r"\d{1,2}-[A-Z][a-z]{2}-\d{4}"),
)
_DATE_FORMS = (
    (None, r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?"),
    *_DAY_TEXTS,
    *((f"{form} %H:%M", rf"{text} \d{{2}}:\d{{2}}") for form, text in _DAY_TEXTS),
    *((f"{form} %H:%M:%S", rf"{text} \d{{2}}:\d{{2}}:\d{{2}}") for form, text in _DAY_TEXTS),
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
        return by_kind(cells, self._hours)

    def _hours(self, cells):
        seconds = r":(?P<s>[0-5]\d)" if self.has_seconds else ""
        form = re.compile(rf"^(?P<h>[01]\d|2[0-3]):(?P<m>[0-5]\d){seconds}$")
        found = as_texts(cells).str.extract(form).astype(np.float64)
        total = found["h"] * 3600 + found["m"] * 60 + (found["s"] if self.has_seconds else 0)
        return (total / 3600).to_numpy()


@dataclass(frozen=True)
class Duration(Reader):
    """Durations, such as those of ``datetime.timedelta``, as numbers of days."""

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        return "a duration such as 1 days 02:00:00"

    @property
    def unit(self):
        """Days."""
        return "days"

    def cell(self, number, column):
        """Return the duration; see ``Reader.cell``."""
        return pd.Timedelta(days=number)

    def _numbers(self, cells):
        if cells.dtype.kind != "m":
            is_known = cells.map(lambda cell: isinstance(cell, timedelta | np.timedelta64 | str))
            cells = pd.to_timedelta(cells.where(is_known.astype(bool)), errors="coerce")
        return cells.dt.total_seconds().to_numpy(dtype=np.float64) / _DAY
