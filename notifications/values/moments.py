"""Moments: formats times and durations for people, and reads what people type."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from django.core.exceptions import ValidationError
from django.utils.dateformat import format as written
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext, pgettext_lazy

# No one means another year, and near the ends of Python's calendar not every zone has a time.
YEARS = range(2001, 2100)
UNITS = (86_400, 3_600, 60, 1)
SPELLINGS = {
    "s": 1, "sec": 1, "second": 1, "min": 60, "m": 60, "minute": 60, "h": 3_600, "hour": 3_600,
    "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800,
    "초": 1, "분": 60, "시간": 3_600, "일": 86_400, "주": 604_800,
}  # fmt: skip
# How a language writes dates and times, as formats of Django's `date` filter.
DAY = pgettext_lazy("date format", "j M Y")
DAY_AND_CLOCK = pgettext_lazy("date format", "j M Y, H:i")
DAY_AND_SECOND = pgettext_lazy("date format", "j M Y, H:i:s")
WEEKDAY_AND_CLOCK = pgettext_lazy("date format", "D j M Y, H:i")
SHORT_DAY_AND_CLOCK = pgettext_lazy("date format", "d M H:i")
CLOCK = pgettext_lazy("date format", "H:i")
CLOCK_AND_SECOND = pgettext_lazy("date format", "H:i:s")


def in_zone(moment: datetime | None, zone: str, *, seconds: bool = False) -> str:
    """Format a time with its zone, such as “21 Nov 2026, 20:13 Asia/Seoul”."""
    if moment is None:
        return "–"
    return f"{local(moment, zone, DAY_AND_SECOND)} {zone}" if seconds else short(moment, zone)


def short(moment: datetime, zone: str) -> str:
    return f"{local(moment, zone, DAY_AND_CLOCK)} {zone}"


def local(moment: datetime, zone: str, layout: str | Promise) -> str:
    """Format a time without its zone, where the zone is already shown beside it."""
    try:
        moment = moment.astimezone(ZoneInfo(zone))
    except OverflowError:  # a phone's clock may show the last day that Python can represent
        moment = moment.astimezone(UTC)
    return written(moment, str(layout))


def in_words(duration: timedelta | float | None) -> str:
    """Format a duration by its two largest units: “1 h 20 min”, “45 s”."""
    if duration is None:
        return "–"
    seconds = round(duration.total_seconds() if isinstance(duration, timedelta) else duration)
    parts = []
    for size in UNITS:
        count, seconds = divmod(max(seconds, 0), size)
        if count:
            parts.append(_with_unit(count, size))
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts) or _with_unit(0, 1)


def roughly(duration: timedelta | float | None) -> str:
    """Format a measured or expected duration: “a moment” instead of “0 s”."""
    text = in_words(duration)
    return _("a moment") if text == _with_unit(0, 1) else text


def _with_unit(count: int, size: int) -> str:
    template = {
        86_400: ngettext("%(count)s day", "%(count)s days", count),
        3_600: _("%(count)s h"),
        60: _("%(count)s min"),
        1: _("%(count)s s"),
    }[size]
    return template % {"count": f"{count:,}"}


def seconds_of(text: str) -> int | None:
    """Read a duration: “15 min”, “1 h 30 min”, “2 days” or plain seconds. None if it is not one."""
    if re.fullmatch(r"\s*\d{1,9}\s*", text):
        return int(text)
    parts = re.findall(r"(\d{1,9})\s*([a-z가-힣]+)", text.lower())
    rest = re.sub(r"(\d{1,9})\s*([a-z가-힣]+)", "", text.lower())
    sizes = [SPELLINGS.get(unit) or SPELLINGS.get(unit.rstrip("s")) for _, unit in parts]
    if not parts or rest.strip(" ,and") or None in sizes:
        return None
    return sum(int(count) * (size or 0) for (count, _), size in zip(parts, sizes, strict=True))


def validate_year(moment: datetime) -> None:
    if moment.year not in YEARS:
        text = _("Choose a year from %(first)s to %(last)s.")
        raise ValidationError(text % {"first": YEARS[0], "last": YEARS[-1]})


class NoSuchTime(ValueError):
    """This local time does not exist: clocks were turned forward over it."""


def on_the_clock(wall: datetime, zone: str) -> datetime:
    """Return the moment at which clocks in `zone` show the local time `wall`.

    Raises NoSuchTime for the hour that is skipped in spring. In autumn one hour comes twice; the
    first one counts, because early is better than an hour late.
    """
    moment = wall.replace(tzinfo=ZoneInfo(zone), fold=0)
    back = moment.astimezone(ZoneInfo("UTC")).astimezone(ZoneInfo(zone))
    if back.replace(tzinfo=None) != wall:
        text = _(
            "%(time)s does not exist on %(day)s in %(zone)s: the clocks are turned forward that "
            "night. Choose %(next)s, or another time."
        )
        clock, day = str(CLOCK), pgettext("date format", "j F Y")
        raise NoSuchTime(
            text
            % {
                "time": written(wall, clock),
                "day": written(wall, day),
                "zone": zone,
                "next": written(back, clock),
            }
        )
    return moment


def comes_twice(wall: datetime, zone: str) -> bool:
    """Whether this local time comes twice because clocks are turned back."""
    first = wall.replace(tzinfo=ZoneInfo(zone), fold=0)
    return first.utcoffset() != first.replace(fold=1).utcoffset()
