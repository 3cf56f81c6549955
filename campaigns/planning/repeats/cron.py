"""Cron: occurrences that five fields describe, as in crontab(5), on the clocks of a time zone.

cronsim reads the fields and walks the wall clock. This module explains what cronsim only calls
“Bad hour”.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning.repeats.rhythm import END, first_showing

LONGEST = 100
A_DAY, AN_HOUR, A_SECOND = timedelta(days=1), timedelta(hours=1), timedelta(seconds=1)
WORD = re.compile(r"\d{1,2}|[a-z]{3}", re.ASCII)  # cronsim also takes “L” and “mon#1”


@dataclass(frozen=True)
class Field:
    name: str  # as cronsim calls it
    words: str | Promise
    first: int
    last: int

    def values(self, part: str) -> set[int]:
        """Return the numbers that a part of this field stands for; empty if it cannot be read."""
        alone = " ".join(part if field is self else "*" for field in FIELDS)
        try:
            numbers: set[int] = getattr(CronSim(alone, END), self.name)
        except CronSimError:
            return set()
        return numbers


FIELDS = (
    Field("minutes", gettext_lazy("minute"), 0, 59),
    Field("hours", gettext_lazy("hour"), 0, 23),
    Field("days", gettext_lazy("day of the month"), 1, 31),
    Field("months", gettext_lazy("month"), 1, 12),
    Field("weekdays", gettext_lazy("day of the week"), 0, 7),
)


@dataclass(frozen=True)
class Cron:
    """A rhythm: the times of an expression on the wall clock of `zone`, from `first` to `until`."""

    first: datetime
    zone: str
    expression: str
    until: datetime | None = None
    days_off: frozenset[date] = frozenset()

    def next_after(self, moment: datetime) -> datetime | None:
        return next(self.after(moment), None)

    def after(self, moment: datetime) -> Iterator[datetime]:
        """Yield every occurrence later than `moment`. One in an hour that the clocks skip is due
        when they change; nothing follows less than an hour after it."""
        start = max(moment, self.first)
        if start >= END:
            return
        last, until = None, min(self.until or END, END)
        day = start.astimezone(ZoneInfo(self.zone)).date() - A_DAY
        for wall in CronSim(self.expression, datetime.combine(day, time()) - A_SECOND):
            instant = first_showing(wall, self.zone)
            if instant > until:
                return
            too_soon = last is not None and instant < last + AN_HOUR
            if wall.date() in self.days_off or instant < self.first or too_soon:
                continue
            last = instant
            if instant > moment:
                yield instant

    def intended_time(self, shown: datetime) -> datetime:
        """Return its time on that day, even if a clock change makes the clocks show another."""
        before = next(CronSim(self.expression, shown + A_SECOND, reverse=True), shown)
        return before if before.date() == shown.date() else shown


def parse(
    text: str,
    first: datetime,
    zone: str,
    until: datetime | None = None,
    *,
    days_off: frozenset[date] = frozenset(),
) -> Cron:
    """Parse a cron expression. Raises ValueError; its message names the field."""
    check(text)
    return Cron(first, zone, text, until, days_off)


def check(text: str) -> CronSim:
    """Check a cron expression. Raises ValueError; its message names the field."""
    written = text.lower().split() if len(text) <= LONGEST else []
    if len(written) != len(FIELDS):
        raise ValueError(
            _("Write five fields with blanks between: minute, hour, day of the month, month, day "
            "of the week, such as “0 9 * * mon”.")
        )  # fmt: skip
    for field, parts in zip(FIELDS, written, strict=True):
        for part in parts.split(","):
            _check_part(field, part)
    try:
        cron_sim = CronSim(text, END)
    except CronSimError as error:
        raise _field_error(FIELDS[2], _("there is no such day in these months.")) from error
    if len(cron_sim.minutes) > 1:
        message = _("one minute of the hour, such as 0: at least an hour lies between two.")
        raise _field_error(FIELDS[0], message)
    return cron_sim


def _check_part(field: Field, part: str) -> None:
    """Check one part: “*”, “5”, “mon-fri”, “*/2” or “8-20/2”. Raises ValueError."""
    span, slash, step = part.partition("/")
    if span != "*":
        begin, dash, end = span.partition("-")
        for word in (begin, end) if dash else (begin,):
            if not WORD.fullmatch(word) or not field.values(word):
                text = _("“%(part)s” is none; write a number from %(first)s to %(last)s.")
                values = {"part": part, "first": field.first, "last": field.last}
                raise _field_error(field, text % values)
        if not field.values(span):
            raise _field_error(field, _("“%(part)s” ends before it begins.") % {"part": part})
        if slash and len(field.values(span)) == 1:
            raise _field_error(
                field, _("“%(part)s”: a step goes with * or a range.") % {"part": part}
            )
    if slash and not (len(step) <= 2 and field.values(f"*/{step}")):
        raise _field_error(
            field, _("“%(part)s”: a step is a number from 1 to 99.") % {"part": part}
        )


def _field_error(field: Field, message: str) -> ValueError:
    return ValueError(_("%(field)s: %(said)s") % {"field": field.words, "said": message})
