"""Readers of dates, times of day and durations."""

import itertools
import math
import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd

from .readers import WHITE_SPACE, Reader, by_kind, exact_numbers

_DAY, _HOUR = 86_400, 3600  # seconds

PARTS = {"month": "month (1 to 12)", "weekday": "weekday (0 = Monday)", "hour": "hour of the day"}

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
            self._start, self._tz  # noqa: B018
        except (ValueError, OSError, KeyError) as error:
            raise ValueError(f"{self.first!r} in the zone {self.zone!r} is no date.") from error

    @property
    def is_time(self):
        """Whether the cells are times of day."""
        return self.form not in (None, *COUNTED) and not re.search("%[Yy]", self.form)

    @property
    def expected(self):
        """What the cells should be, for messages: str."""
        example = "2020-01-31 12:30:00+01:00" if self.zone else self.first
        if self.form is not None:
            example = self._written(np.datetime64(self.first, "s").astype(datetime))
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
            zone = _common_zone(_zones(column))
            reader = cls(tuple(missing), zone=zone or "", is_typed=True)
            return None if zone is None else reader.starting_at(column)
        if not all(isinstance(cell, str | time) for cell in column):
            return None
        texts = pd.Series([str(cell).strip(WHITE_SPACE) for cell in column], dtype=object)
        for form, pattern in _CERTAIN.items():
            if len(texts) and texts.str.fullmatch(pattern).all():
                offsets = {*map(_offset, texts)}
                zone = _common_zone({"UTC" if o in ("Z", "+00:00") else o for o in offsets})
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
        if not self.is_time:
            return self.shown(self._start + round(seconds))
        seconds = round(seconds)
        if not 0 <= seconds < _DAY:
            return ""
        text = str(_EPOCH + timedelta(seconds=seconds))[11:]
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
            cell = self._shown_as_cell(seconds, column)
            found = self._seconds(pd.Series([cell], dtype=object))[0]
            if sign * ((found - self._start) / unit - number) >= 0:
                break
            seconds = found + sign * step
        return cell

    def _shown_as_cell(self, seconds, column):
        """Return seconds since 1970 as a cell of a column."""
        if self.form is None:
            return self.shown(round(seconds))
        if self.form in COUNTED:
            unit, zero = COUNTED[self.form]
            text = (
                f"{(seconds - zero) / unit:g}"
                if seconds % unit
                else f"{(seconds - zero) // unit:.0f}"
            )
        else:
            text = self._written(_EPOCH + timedelta(seconds=round(seconds)))
        is_text = isinstance(column.iloc[0], str)
        return text if is_text or not text.isdigit() else int(text)

    def _written(self, moment):
        """Return a date in the form of the column."""
        if self.form in COUNTED:
            return "45213" if self.form == "excel" else "1705312800"
        month = _MONTHS[moment.month - 1]
        codes = {"%b": month[:3], "%B": month, "%Y": f"{moment.year:04d}"}
        codes |= {"%y": f"{moment.year % 100:02d}", "%p": "PM" if moment.hour > 11 else "AM"}
        codes |= {"%d": f"{moment.day:02d}", "%m": f"{moment.month:02d}"}
        codes |= {"%H": f"{moment.hour:02d}", "%I": f"{(moment.hour - 1) % 12 + 1:02d}"}
        codes |= {"%M": f"{moment.minute:02d}", "%S": f"{moment.second:02d}"}
        return re.sub("%.", lambda code: codes[code[0]], self.form)

    def shown(self, seconds):
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
        """Return the seconds of objects, which are strings, numbers or dates."""
        if self.form in COUNTED:
            unit, zero = COUNTED[self.form]
            return np.floor(exact_numbers(cells) * unit + zero)
        are_dates = np.array([isinstance(cell, date) for cell in cells], dtype=bool)
        seconds = np.full(len(cells), np.nan)
        seconds[are_dates] = [self._of_date(cell) for cell in cells[are_dates]]
        # The number 20240131 is 20240131.0 in a column with missing values.
        texts = [str(cell).strip(WHITE_SPACE).removesuffix(".0") for cell in cells[~are_dates]]
        texts = pd.Series(texts, dtype=object)
        form = "ISO8601" if self.form is None else self.form
        dates = pd.to_datetime(texts, format=form, errors="coerce", utc=True)
        found = _whole_seconds(dates.dt.tz_convert(None))
        if self.form is None:
            has_offset = np.array([_offset(text) != "" for text in texts], dtype=bool)
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
            return (seconds - self._start) / self.seconds_per_unit
        if self.zone:
            instants = pd.Series(pd.to_datetime(seconds, unit="s", utc=True))
            seconds = _whole_seconds(instants.dt.tz_convert(self._tz).dt.tz_localize(None))
        if self.part == "month":
            months = np.nan_to_num(seconds).astype("datetime64[s]").astype("datetime64[M]")
            return np.where(np.isnan(seconds), np.nan, months.astype(np.int64) % 12 + 1.0)
        if self.part == "weekday":
            return (seconds // _DAY + 3) % 7  # 1 January 1970 was a Thursday
        return seconds // _HOUR % 24

    @property
    def _start(self):
        """The moment of the number 0 in seconds since 1970: int."""
        if self.is_time:
            return _MIDNIGHT
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


def _check_form(form):
    """Raise a ValueError if a format has other directives, or gives neither a date nor a time."""
    codes = re.findall("%.?", form)
    unknown = [code for code in codes if code not in _DIRECTIVES]
    if unknown:
        raise ValueError(
            f"the format {form!r} has {unknown[0]!r}; allowed are {', '.join(_DIRECTIVES)}, "
            '"unix" and "excel".'
        )
    parts = "".join(dict(zip("YbBI", "ymmH", strict=True)).get(c[1], c[1]) for c in codes)
    has_date, has_time = {*"ym"} <= {*parts}, "H" in parts
    is_twice = len({*parts}) < len(parts)
    is_half = ("%I" in form.partition("%p")[0]) != ("%p" in codes) or (
        {*"ymd"} & {*parts} and not has_date
    )
    if is_twice or is_half or not (has_date or has_time) or ({*"MS"} & {*parts} and not has_time):
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
        found.setdefault(np.nan_to_num(seconds, nan=-np.inf).tobytes(), (form, seconds))
    counts = [np.isfinite(seconds).sum() for _, seconds in found.values()]
    return [
        form
        for (form, _), n in zip(found.values(), counts, strict=True)
        if n == max(counts) and n > 0
    ]


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
    tokens = [*re.finditer(r"\d+|[^\W\d_]+", day)]
    for order in _ORDERS:
        if len(order) != len(tokens):
            continue
        codes = [_CODE_OF[kind](token[0]) for kind, token in zip(order, tokens, strict=True)]
        for chosen in itertools.product(*codes):
            parts, end = [], 0
            for token, code in zip(tokens, chosen, strict=True):
                parts += [day[end : token.start()], code]
                end = token.end()
            date_form = "".join([*parts, day[end:]])
            at = clock.start() if clock else 0
            found.append(f"{form}{date_form}" if clock and at == 0 else f"{date_form}{form}")
    return [form for form in found if re.sub("%.", "", form).count("%") == 0]


def _year(text):
    return {4: ("%Y",), 2: ("%y",)}.get(len(text) if text.isdigit() else 0, ())


def _number_of(code):
    return lambda text: (code,) if text.isdigit() and len(text) < 3 else ()


def _month(text):
    return ("%b", "%B") if text[:3].title() in {month[:3] for month in _MONTHS} else ()


_CODE_OF = {"Y": _year, "d": _number_of("%d"), "m": _number_of("%m"), "b": _month}
_CODE_OF["D"] = lambda text: ("%Y%m%d",) if text.isdigit() and len(text) == 8 else ()
_ORDERS = ("dmY", "mdY", "Ymd", "Ydm", "dbY", "bdY", "Ybd", "mY", "Ym", "bY", "Yb", "D")
_CLOCK = r"(?<!\d)\d{1,2}:\d{2}(?P<seconds>:\d{2})?(?:(?P<space> ?)(?P<half>[AaPp][Mm]))?(?![\w:])"
_SAMPLE = 50


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


def _offset(text):
    """Return the offset at the end of a date of ISO 8601; it is empty if there is none."""
    end = text[-1:] if text.endswith("Z") else text[-6:]
    return end if ":" in text and end[0] in "Z+-" else ""


def _common_zone(zones):
    """Return the zone of a column with dates of these zones; it is UTC if there are several.

    It is None if only some of the dates have a zone.
    """
    if len(zones) > 1:
        return None if "" in zones else "UTC"
    return next(iter(zones))


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
_MIDNIGHT = (datetime(1900, 1, 1) - _EPOCH) // timedelta(seconds=1)  # of strptime
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
# Patterns of strings with one meaning, by their form; None is ISO 8601.
_CERTAIN_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?"
_CERTAIN = {None: _CERTAIN_DATE, "%H:%M": r"\d{1,2}:\d{2}", "%H:%M:%S": r"\d{1,2}:\d{2}:\d{2}"}


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
