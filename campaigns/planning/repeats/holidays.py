"""Holidays: the whole days that a calendar file (.ics) lists, as days off.

RFC 5545, as far as calendars of holidays use it: whole days, several days, every year on its date.
icalendar reads single lines and values, not the whole file. From a whole file, it would keep each
time zone for as long as the process lives. It would also search the zone's rule from 1970 on,
second by second if the rule says so.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _
from icalendar import vDDDTypes, vRecur
from icalendar.parser import Contentline, Contentlines

from campaigns.planning.repeats import days_off

LONGEST = 1_000_000  # characters
MAX_EVENTS = 2_000
LONGEST_RULE = 200
EARLIEST_YEAR = 1900  # each year of each event is looked at
A_YEAR = 366  # days: no holiday lasts longer
YEARS_AHEAD = 5  # nobody types dates further away, and a file can be given again

USED = "BEGIN|END|SUMMARY|STATUS|DTSTART|DTEND|DURATION|RRULE|RDATE|EXDATE|RECURRENCE-ID"
IS_USED = re.compile(f"({USED})[;:]", re.IGNORECASE)
# The parts that a rule may have. Some only repeat the event's own date, or mean nothing for a year.
OF_A_RULE = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY"}


@dataclass
class Event:
    """One event of the file: its values by name, as they are written."""

    values: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def one(self, name: str) -> str:
        return self.values[name][0].strip() if self.values[name] else ""

    @property
    def called(self) -> str:
        return days_off.tidy(self.one("SUMMARY")[: days_off.LONGEST_NAME])

    @property
    def name(self) -> str:
        return self.called or _("An event without a name")


@dataclass(frozen=True)
class Taken:
    """The days with their names, and the entries whose repeats cannot be read."""

    days: dict[date, str]
    left_out: list[str]


class OddRepeat(ValueError):
    """An entry repeats in a way that is not supported."""

    def __init__(self, event: Event) -> None:
        self.name = event.name
        text = _(
            "“%(name)s” repeats in another way than every year on its date. Take it out of the "
            "file, and write its dates yourself."
        )
        super().__init__(text % {"name": event.name})


def parse_calendar(text: str, today: date) -> dict[date, str]:
    """Parse a file completely: raises ValueError also for an entry whose repeats cannot be read."""
    taken = take(text, today)
    if taken.left_out:
        raise ValueError(str(OddRepeat(Event({"SUMMARY": [taken.left_out[0]]}))))
    return taken.days


def take(text: str, today: date) -> Taken:
    """Parse the days from today to five years ahead. Raises ValueError; its message says why."""
    if len(text) > LONGEST:
        raise ValueError(_("This file is too large: at most 1 MB."))
    whole = text.strip("\ufeff \t\r\n")
    lines = Contentlines.from_ical(whole)  # type: ignore[no-untyped-call]
    if lines[0].upper() != "BEGIN:VCALENDAR":
        raise ValueError(
            _("This is no calendar file (.ics): it does not begin with BEGIN:VCALENDAR.")
        )
    if not whole.upper().endswith("\nEND:VCALENDAR"):
        raise ValueError(_("This calendar file is cut off: it does not end with END:VCALENDAR."))
    first, last = today - timedelta(days=1), _years_after(today)  # it may be yesterday elsewhere
    days: dict[date, str] = {}
    odd: dict[str, OddRepeat] = {}
    for event in _iter_events(lines):
        called = event.called if days_off.is_name(event.called) else ""
        try:
            days |= {day: days.get(day) or called for day in _iter_days(event, first, last)}
        except OddRepeat as error:
            odd[error.name] = error
        days_off.count(days)
    if not days:
        message = _("There is no event of a whole day in it, from today to five years ahead.")
        raise ValueError(next(map(str, odd.values()), message))
    return Taken(days, list(odd))


def _years_after(today: date) -> date:
    return date(today.year + YEARS_AHEAD, today.month, min(today.day, 28))


def _iter_events(lines: Iterable[Contentline]) -> Iterator[Event]:
    """Yield the events with their own values, without those of the alarms inside them."""
    inside: list[str] = []
    event, number = Event(), 0
    for name, value in _iter_values(lines):
        if name == "BEGIN":
            inside.append(value.strip().upper())
            if inside[-1] == "VEVENT":
                event, number = Event(), number + 1
                _expect_few(number)
        elif name == "END" and inside:
            if inside.pop() == "VEVENT":
                yield event
        elif inside and inside[-1] == "VEVENT":
            event.values[name].append(value)


def _iter_values(lines: Iterable[Contentline]) -> Iterator[tuple[str, str]]:
    """Yield name and value of each line that matters here and can be read."""
    for line in filter(IS_USED.match, lines):
        with suppress(ValueError):
            name, _parameters, value = line.parts()
            yield name.upper(), value


def _expect_few(events: int) -> None:
    if events > MAX_EVENTS:
        text = _("There are too many events in this file; at most %(most)s.")
        raise ValueError(text % {"most": f"{MAX_EVENTS:,}"})


def _iter_days(event: Event, first: date, last: date) -> Iterator[date]:
    if isinstance(_parse_value(event.one("DTSTART")), datetime):
        if not _is_from_midnight_to_midnight(event):
            return
        for name in ("DTSTART", "DTEND"):
            event.values[name] = [value.strip()[:8] for value in event.values[name]]
    if event.one("STATUS").upper() == "CANCELLED":
        return
    begins = _parse_date(event, event.one("DTSTART"))
    length = _length_in_days(event, begins)
    earliest = date.fromordinal(max(1, first.toordinal() - length))
    for start in _iter_starts(event, begins, earliest, last):
        from_, until = start.toordinal(), start.toordinal() + length
        for day in range(max(from_, first.toordinal()), min(until, last.toordinal() + 1)):
            yield date.fromordinal(day)


def _is_from_midnight_to_midnight(event: Event) -> bool:
    """Whether the event lasts from midnight to midnight. Outlook writes whole days like this, in a
    zone that it names. Midnight in UTC is not midnight in that zone."""
    begins, ends = _parse_value(event.one("DTSTART")), _parse_value(event.one("DTEND"))
    if not event.one("DTEND"):
        lasts = _parse_value(event.one("DURATION"))
        ends = begins + lasts if isinstance(lasts, timedelta) and abs(lasts.days) < A_YEAR else None
    return all(map(_is_midnight, (begins, ends))) and bool(begins < ends)


def _is_midnight(moment: Any) -> bool:
    local = isinstance(moment, datetime) and moment.tzinfo is None
    return local and (moment.hour, moment.minute, moment.second) == (0, 0, 0)


def _parse_value(value: str) -> Any:
    """Parse a date, a time, a duration, …; None if it is nothing of the kind."""
    with suppress(ValueError):
        return vDDDTypes.from_ical(value)


def _parse_date(event: Event, value: str) -> date:
    day = _parse_value(value)
    if isinstance(day, date) and not isinstance(day, datetime) and day.year >= EARLIEST_YEAR:
        return day
    text = _("“%(name)s”: “%(value)s” is no date of a calendar file from %(year)s on.")
    raise ValueError(text % {"name": event.name, "value": value[:40], "year": EARLIEST_YEAR})


def _length_in_days(event: Event, begins: date) -> int:
    """Return the length in days, without the day on which the event ends."""
    if end := event.one("DTEND"):
        days = (_parse_date(event, end) - begins).days
        if days < 0:
            raise ValueError(_("“%(name)s” ends before it begins.") % {"name": event.name})
        return max(1, days)
    if not (lasts := event.one("DURATION")):
        return 1
    length = _parse_value(lasts)
    if isinstance(length, timedelta) and length == timedelta(days=max(0, length.days)):
        return max(1, length.days)
    text = _("“%(name)s” lasts “%(value)s”: it has to be whole days.")
    raise ValueError(text % {"name": event.name, "value": lasts[:40]})


def _iter_starts(event: Event, begins: date, first: date, last: date) -> Iterator[date]:
    """Yield each date on which the event begins; some of those before `first` are left out."""
    if event.values["RDATE"] or event.values["RECURRENCE-ID"] or len(event.values["RRULE"]) > 1:
        raise OddRepeat(event)
    if not event.values["RRULE"]:
        yield begins
        return
    without = {word.strip()[:8] for line in event.values["EXDATE"] for word in line.split(",")}
    interval, most, until = _parse_rule(event, begins)
    # Not by dateutil: it looks at each day of each of these years.
    years = range(begins.year, min(last, until).year + 1, interval)
    if (begins.month, begins.day) == (2, 29):
        years_with_date = [year for year in years if isleap(year)]
    else:
        years_with_date = [*years]
    for year in years_with_date[:most]:
        day = begins.replace(year=year)
        if first <= day <= until and f"{day:%Y%m%d}" not in without:
            yield day


def _parse_rule(event: Event, begins: date) -> tuple[int, int | None, date]:
    """Return the interval in years, the number of times (None: any number), and the last day."""
    text = event.one("RRULE").strip(";")
    try:
        rule = vRecur.from_ical(text) if len(text) <= LONGEST_RULE else {}
    except ValueError:
        rule = {}
    parts = {name: values[0] for name, values in rule.items() if len(values) == 1}
    own = {"FREQ": "YEARLY", "BYMONTH": begins.month, "BYMONTHDAY": begins.day}
    differs = any(str(parts.get(name, value)) != str(value) for name, value in own.items())
    is_more = len(parts) != len(text.split(";")) or parts.keys() - OF_A_RULE
    if "FREQ" not in parts or differs or is_more:
        raise OddRepeat(event)
    interval, most, until = (
        parts.get("INTERVAL", 1),
        parts.get("COUNT"),
        parts.get("UNTIL", date.max),
    )
    if interval < 1 or (most is not None and most < 1):
        raise OddRepeat(event)
    return interval, most, until.date() if isinstance(until, datetime) else until
