"""Calendar span: the month or week that a calendar page shows, in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils.dateformat import format as written
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from campaigns.planning.calendar import Entry
from notifications.admin.ui.current_project import current_project
from notifications.values import zones
from notifications.values.moments import DAY

COOKIE = "calendar_zone"
WEEK = timedelta(days=7)
YEARS_SHOWN = range(2000, 2100)


@dataclass(frozen=True)
class Span:
    """Whole weeks, from Monday on. A month has all weeks that contain one of its days."""

    view: str  # month or week
    day: date
    zone: str

    @property
    def first(self) -> date:
        start = self.day if self.view == "week" else self.day.replace(day=1)
        return start - timedelta(days=start.weekday())

    @property
    def last(self) -> date:
        end = self.day if self.view == "week" else _next_month(self.day) - timedelta(days=1)
        return end + timedelta(days=6 - end.weekday())

    @property
    def weeks(self) -> list[list[date]]:
        count = ((self.last - self.first).days + 1) // 7
        return [
            [self.first + week * WEEK + timedelta(days=day) for day in range(7)]
            for week in range(count)
        ]

    @property
    def since(self) -> datetime:
        return self.midnight(self.first)

    @property
    def until(self) -> datetime:
        return self.midnight(self.last + timedelta(days=1))

    @property
    def title(self) -> str:
        if self.view == "month":
            return date_format(self.day, "YEAR_MONTH_FORMAT")
        return f"{written(self.first, str(DAY))} – {written(self.last, str(DAY))}"

    @property
    def earlier(self) -> str:
        if self.view == "week":
            return self.address(day=self.day - WEEK)
        return self.address(day=(self.day.replace(day=1) - timedelta(days=1)).replace(day=1))

    @property
    def later(self) -> str:
        day = self.day + WEEK if self.view == "week" else _next_month(self.day)
        return self.address(day=day)

    def address(self, *, day: date | None = None, view: str = "") -> str:
        return "?" + urlencode({"view": view or self.view, "day": (day or self.day).isoformat()})

    def time_of(self, entry: Entry) -> datetime:
        """The entry's time in the span's zone; or its local time, if it is sent in local time."""
        return entry.wall or self.local(entry.at).replace(tzinfo=None)

    def holds(self, entry: Entry) -> bool:
        return self.first <= self.time_of(entry).date() <= self.last

    def local(self, moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(self.zone))

    def midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), ZoneInfo(self.zone))


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def asked_for(request: HttpRequest, now: datetime) -> Span:
    zone = zone_of(request)
    view = "week" if request.GET.get("view") == "week" else "month"
    return Span(view, day_of(request.GET.get("day")) or now.astimezone(ZoneInfo(zone)).date(), zone)


def day_of(text: Any) -> date | None:
    try:
        day = date.fromisoformat(str(text))
    except ValueError:
        return None
    return day if day.year in YEARS_SHOWN else None


def zone_of(request: HttpRequest) -> str:
    """The zone of the request, else of the cookie, else the project's own."""
    for zone in (request.GET.get("zone"), request.COOKIES.get(COOKIE)):
        if known := zones.zone_of(zone or ""):
            return known
    return pages_zone(request)


def pages_zone(request: HttpRequest) -> str:
    project = current_project(request)
    return project.timezone if project else "UTC"


def is_chosen(request: HttpRequest, span: Span) -> bool:
    return zones.zone_of(request.GET.get("zone", "")) == span.zone


def unknown_zone(request: HttpRequest) -> str:
    """An error text if the requested zone does not exist; else empty."""
    typed = request.GET.get("zone", "").strip()
    return zones.unknown_zone_message(typed) if typed and not zones.zone_of(typed) else ""


def weekdays(span: Span) -> list[tuple[str, str]]:
    """Short and full names of the weekdays, Monday first."""
    return [(date_format(day, "D"), date_format(day, "l")) for day in span.weeks[0]]


def day_heading(day: date, today: date) -> str:
    text = date_format(day, pgettext("date format", "l, j F"))
    return _("%(day)s, today") % {"day": text} if day == today else text
