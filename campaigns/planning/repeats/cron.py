"""Cron: what repeats at times that five fields describe, as in crontab(5), by the clocks of a zone.

A parser of our own, with few words: Celery's takes “mon” for a minute, and Sunday only as 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning.repeats.rhythm import END, first_showing

LONGEST = 100
A_DAY, AN_HOUR = timedelta(days=1), timedelta(hours=1)
LOOKED_AHEAD = 9 * 366  # days: eight years lie between two 29th of February around 2100
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
MOST_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@dataclass(frozen=True)
class Field:
    words: str | Promise
    first: int
    last: int
    names: dict[str, int]


FIELDS = (
    Field(gettext_lazy("minute"), 0, 59, {}),
    Field(gettext_lazy("hour"), 0, 23, {}),
    Field(gettext_lazy("day of the month"), 1, 31, {}),
    Field(gettext_lazy("month"), 1, 12, {name: n for n, name in enumerate(MONTHS, start=1)}),
    Field(gettext_lazy("day of the week"), 0, 7, {name: n for n, name in enumerate(WEEKDAYS)}),
)


@dataclass(frozen=True)
class Expression:
    minute: int
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]  # 0 is Sunday
    either: bool  # of the two kinds of days; else a day has to be both

    def walls(self, day: date) -> list[datetime]:
        """When it is due on a day, by the clock."""
        if day.month not in self.months or not self._is_one(day):
            return []
        return [datetime.combine(day, time(hour, self.minute)) for hour in sorted(self.hours)]

    def _is_one(self, day: date) -> bool:
        of_month, of_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (of_month or of_week) if self.either else (of_month and of_week)


@dataclass(frozen=True)
class Cron:
    """From `first` on, at the times of an expression on the wall clock of `zone`, to `until`."""

    first: datetime
    zone: str
    expression: Expression
    until: datetime | None = None
    days_off: frozenset[date] = frozenset()

    def next_after(self, moment: datetime) -> datetime | None:
        return next(self.after(moment), None)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Every occurrence later than `moment`. Where an hour is skipped, what falls into it is due
        when the clocks are set; less than an hour after that nothing follows."""
        if max(moment, self.first) >= END:
            return
        last, until = None, min(self.until or END, END)
        day = max(moment, self.first).astimezone(ZoneInfo(self.zone)).date() - A_DAY
        left_out = 0
        while left_out <= LOOKED_AHEAD:
            for instant in self._on(day):
                if instant > until:
                    return
                if instant < self.first or (last is not None and instant < last + AN_HOUR):
                    continue
                last, left_out = instant, 0
                if instant > moment:
                    yield instant
            day, left_out = day + A_DAY, left_out + 1

    def meant(self, shown: datetime) -> datetime:
        """Its time on that day, whatever the clocks there show then: they may be set."""
        walls = [wall for wall in self.expression.walls(shown.date()) if wall <= shown]
        return walls[-1] if walls else shown

    def _on(self, day: date) -> list[datetime]:
        walls = [] if day in self.days_off else self.expression.walls(day)
        return [first_showing(wall, self.zone) for wall in walls]


def read(
    text: str,
    first: datetime,
    zone: str,
    until: datetime | None = None,
    *,
    days_off: frozenset[date] = frozenset(),
) -> Cron:
    """Raises ValueError; its words name the field."""
    return Cron(first, zone, check(text), until, days_off)


def check(text: str) -> Expression:
    """Raises ValueError; its words name the field."""
    written = text.lower().split() if len(text) <= LONGEST else []
    if len(written) != len(FIELDS):
        raise ValueError(
            _("Write five fields with blanks between: minute, hour, day of the month, month, day "
            "of the week, such as “0 9 * * mon”.")
        )  # fmt: skip
    minutes, hours, days, months, weekdays = map(_read, FIELDS, written)
    if len(minutes) > 1:
        said = _("one minute of the hour, such as 0: at least an hour lies between two.")
        raise _wrong(FIELDS[0], said)
    # As crontab(5) has it: of days that both fields restrict, either.
    either = not written[2].startswith("*") and not written[4].startswith("*")
    if not either and all(min(days) > MOST_DAYS[month - 1] for month in months):
        raise _wrong(FIELDS[2], _("there is no such day in these months."))
    of_week = frozenset(number % 7 for number in weekdays)
    (minute,) = minutes
    return Expression(minute, hours, days, months, of_week, either)


def _read(field: Field, written: str) -> frozenset[int]:
    return frozenset(number for part in written.split(",") for number in _part(field, part))


def _part(field: Field, part: str) -> range:
    """“*”, “5”, “mon-fri”, “*/2” or “8-20/2”."""
    span, slash, step = part.partition("/")
    begin, dash, end = span.partition("-")
    if span == "*":
        first, last = field.first, field.last - (field.last == 7)  # Sunday once
    elif dash:
        first, last = _number(field, begin, part), _number(field, end, part)
    else:
        first = last = _number(field, begin, part)
    if last < first:
        said = _("“%(part)s” ends before it begins.")
        raise _wrong(field, said % {"part": part})
    if slash and first == last:
        raise _wrong(field, _("“%(part)s”: a step goes with * or a range.") % {"part": part})
    return range(first, last + 1, _step(field, step, part) if slash else 1)


def _number(field: Field, word: str, part: str) -> int:
    if word in field.names:
        return field.names[word]
    number = int(word) if word.isascii() and word.isdecimal() and len(word) <= 2 else -1
    if not field.first <= number <= field.last:
        said = _("“%(part)s” is none; write a number from %(first)s to %(last)s.")
        raise _wrong(field, said % {"part": part, "first": field.first, "last": field.last})
    return number


def _step(field: Field, word: str, part: str) -> int:
    number = int(word) if word.isascii() and word.isdecimal() and len(word) <= 2 else 0
    if not number:
        raise _wrong(field, _("“%(part)s”: a step is a number from 1 to 99.") % {"part": part})
    return number


def _wrong(field: Field, said: str) -> ValueError:
    return ValueError(_("%(field)s: %(said)s") % {"field": field.words, "said": said})
