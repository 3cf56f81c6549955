"""Holidays: the whole days that a calendar file (.ics) lists, as days off.

RFC 5545, as far as calendars of holidays use it: whole days, several days, every year on its date.
"""

from __future__ import annotations

import re
from calendar import isleap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta

from django.utils.translation import gettext as _

from campaigns.planning.repeats import days_off

LONGEST = 1_000_000  # characters
MOST_EVENTS = 2_000
EARLIEST_YEAR = 1900  # each year of each event is looked at
YEARS_AHEAD = 5  # what is further away is typed by nobody, and may be given anew

LINE = re.compile(r'([A-Za-z-]+)(?:;(?:[^:"]|"[^"]*")*+)?:(.*)', re.DOTALL)
DAY = re.compile(r"\d{8}", re.ASCII)
TIME = re.compile(r"\d{8}T\d{6}Z?", re.ASCII)
LENGTH = re.compile(r"\+?P(\d{1,4})([DW])", re.ASCII)
UNSAID = re.compile(r"\\[nN]|\\(.)")  # a comma, say, is written \,
# What else a rule may say: the event's own date once more, or nothing to a year.
OF_A_RULE = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYMONTHDAY"}


@dataclass
class Event:
    said: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def one(self, name: str) -> str:
        return self.said[name][0].strip() if self.said[name] else ""

    @property
    def called(self) -> str:
        words = UNSAID.sub(lambda found: found[1] or " ", self.one("SUMMARY"))
        return days_off.tidy(words[: days_off.LONGEST_NAME])

    @property
    def name(self) -> str:
        return self.called or _("An event without a name")


def read(text: str, today: date) -> dict[date, str]:
    """With their names, from today on, five years ahead. Raises ValueError; its words say what is
    wrong."""
    if len(text) > LONGEST:
        raise ValueError(_("This file is too large: at most 1 MB."))
    lines = _lines(text)
    if not lines or lines[0].upper() != "BEGIN:VCALENDAR":
        raise ValueError(
            _("This is no calendar file (.ics): it does not begin with BEGIN:VCALENDAR.")
        )
    if lines[-1].upper() != "END:VCALENDAR":
        raise ValueError(_("This calendar file is cut off: it does not end with END:VCALENDAR."))
    first, last = today - timedelta(days=1), _years_after(today)  # it may be yesterday elsewhere
    found: dict[date, str] = {}
    for event in _events(lines):
        called = event.called if days_off.is_name(event.called) else ""
        found |= {day: found.get(day) or called for day in _days(event, first, last)}
        days_off.count(found)
    if not found:
        said = _("There is no event of a whole day in it, from today to five years ahead.")
        raise ValueError(said)
    return found


def _lines(text: str) -> list[str]:
    """A long one is folded: it goes on behind a blank."""
    unfolded = re.sub(r"\r?\n[ \t]", "", text.lstrip("\ufeff"))
    return [line for line in re.split(r"[\r\n]+", unfolded.strip()) if line]


def _years_after(today: date) -> date:
    return date(today.year + YEARS_AHEAD, today.month, min(today.day, 28))


def _events(lines: Iterable[str]) -> Iterator[Event]:
    """With what each says itself: not what the alarms inside it say."""
    inside: list[str] = []
    event, number = Event(), 0
    for line in lines:
        if not (found := LINE.fullmatch(line)):
            continue
        name, value = found[1].upper(), found[2]
        if name == "BEGIN":
            inside.append(value.strip().upper())
            if inside[-1] == "VEVENT":
                event, number = Event(), number + 1
                _expect_few(number)
        elif name == "END" and inside:
            if inside.pop() == "VEVENT":
                yield event
        elif inside and inside[-1] == "VEVENT":
            event.said[name].append(value)


def _expect_few(events: int) -> None:
    if events > MOST_EVENTS:
        said = _("There are too many events in this file; at most %(most)s.")
        raise ValueError(said % {"most": f"{MOST_EVENTS:,}"})


def _days(event: Event, first: date, last: date) -> Iterator[date]:
    if event.one("STATUS").upper() == "CANCELLED" or TIME.fullmatch(event.one("DTSTART")):
        return
    begins = _date(event, event.one("DTSTART"))
    length = _length(event, begins)
    earliest = date.fromordinal(max(1, first.toordinal() - length))
    for start in _starts(event, begins, earliest, last):
        from_, until = start.toordinal(), start.toordinal() + length
        for day in range(max(from_, first.toordinal()), min(until, last.toordinal() + 1)):
            yield date.fromordinal(day)


def _date(event: Event, value: str) -> date:
    try:
        if DAY.fullmatch(value) and int(value[:4]) >= EARLIEST_YEAR:
            return date(int(value[:4]), int(value[4:6]), int(value[6:]))
    except ValueError:
        pass
    said = _("“%(name)s”: “%(value)s” is no date of a calendar file from %(year)s on.")
    raise ValueError(said % {"name": event.name, "value": value[:40], "year": EARLIEST_YEAR})


def _length(event: Event, begins: date) -> int:
    """In days; the day on which it ends is not one of them."""
    if end := event.one("DTEND"):
        days = (_date(event, end) - begins).days
        if days < 0:
            raise ValueError(_("“%(name)s” ends before it begins.") % {"name": event.name})
        return max(1, days)
    if not (lasts := event.one("DURATION")):
        return 1
    if not (found := LENGTH.fullmatch(lasts)):
        said = _("“%(name)s” lasts “%(value)s”: it has to be whole days.")
        raise ValueError(said % {"name": event.name, "value": lasts[:40]})
    return max(1, int(found[1]) * (7 if found[2] == "W" else 1))


def _starts(event: Event, begins: date, first: date, last: date) -> Iterator[date]:
    """Each on which it begins; some of those before `first` are left out."""
    if event.said["RDATE"] or event.said["RECURRENCE-ID"] or len(event.said["RRULE"]) > 1:
        raise _repeats_oddly(event)
    if not event.said["RRULE"]:
        yield begins
        return
    without = {word.strip()[:8] for line in event.said["EXDATE"] for word in line.split(",")}
    every, most, until = _rule(event, begins)
    years = range(begins.year, min(last, until).year + 1, every)
    if (begins.month, begins.day) == (2, 29):
        there_are = [year for year in years if isleap(year)]
    else:
        there_are = [*years]
    for year in there_are[:most]:
        day = begins.replace(year=year)
        if first <= day <= until and f"{day:%Y%m%d}" not in without:
            yield day


def _rule(event: Event, begins: date) -> tuple[int, int | None, date]:
    """Every so many years, so many times (None: any number), until that day."""
    parts = [part.partition("=") for part in event.one("RRULE").upper().split(";") if part]
    rule = {name: value for name, _is, value in parts}
    own = {"FREQ": "YEARLY", "BYMONTH": str(begins.month), "BYMONTHDAY": str(begins.day)}
    if any(rule.get(name, value).lstrip("0") != value for name, value in own.items()):
        raise _repeats_oddly(event)
    if "FREQ" not in rule or rule.keys() - OF_A_RULE:
        raise _repeats_oddly(event)
    numbers = [rule.get(name, "1") for name in ("INTERVAL", "COUNT")]
    if not all(re.fullmatch(r"[1-9]\d{0,3}", number, re.ASCII) for number in numbers):
        raise _repeats_oddly(event)
    until = _date(event, rule["UNTIL"][:8]) if "UNTIL" in rule else date.max
    return int(numbers[0]), int(numbers[1]) if "COUNT" in rule else None, until


def _repeats_oddly(event: Event) -> ValueError:
    said = _(
        "“%(name)s” repeats in another way than every year on its date. Take it out of the file, "
        "and write its dates yourself."
    )
    return ValueError(said % {"name": event.name})
