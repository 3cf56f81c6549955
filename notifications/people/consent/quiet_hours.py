"""Quiet hours: until when must nobody's phone ring, by the clock where the person is?

A project says which hours, a category whether it waits for their end. Asked when a message is about
to leave, as consent is: whoever sets them, sets them for all that has not left.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from notifications.people.consent.category import Category
from notifications.people.project import Project
from notifications.values.zones import known_zones

A_DAY = timedelta(days=1)


@dataclass(frozen=True)
class QuietHours:
    """From one time of the day until another, which may be the next morning."""

    begin: time
    end: time
    otherwise: str  # the zone of people whose own nobody knows

    def zone_of(self, zone: str) -> str:
        return zone if zone in known_zones() else self.otherwise

    def asleep_until(self, zone: str, now: datetime) -> datetime | None:
        """When they are over for somebody in this zone; None: they may be rung."""
        return _asleep_until(self, self.zone_of(zone), now)

    def covers(self, clock: time) -> bool:
        if self.begin < self.end:
            return self.begin <= clock < self.end
        return clock >= self.begin or clock < self.end


# A window's people share its moment, and a few zones.
@lru_cache(maxsize=1_000)
def _asleep_until(quiet: QuietHours, zone: str, now: datetime) -> datetime | None:
    here = now.astimezone(ZoneInfo(zone))
    if not quiet.covers(here.time()):
        return None
    day = here.date() + (A_DAY if here.time() >= quiet.end else timedelta())
    until = _after(now, day, quiet.end, here.tzinfo)
    # Where summer time begins or ends, the clock may read a quiet hour once more.
    return _asleep_until(quiet, zone, until) or until


def _after(now: datetime, day: date, clock: time, zone: object) -> datetime:
    """When the clock there reads so. Of an hour that comes twice, the one that is still to come;
    for one that is left out, up to an hour later."""
    both = (datetime.combine(day, clock.replace(fold=fold), zone) for fold in (0, 1))  # type: ignore[arg-type]
    instants = [at.astimezone(UTC) for at in both]
    return next((at for at in instants if at > now), now + A_DAY)


def of(project: Project, kind: str, slug: str) -> QuietHours | None:
    """Those that a message of this category keeps to; None: it may leave at any hour. What is
    critical may, always; what has no category waits."""
    if project.quiet_from is None or project.quiet_until is None:
        return None
    if kind == Category.Kind.CRITICAL or (slug and _goes_at_any_hour(project, slug)):
        return None
    return QuietHours(project.quiet_from, project.quiet_until, project.timezone)


def _goes_at_any_hour(project: Project, slug: str) -> bool:
    at_any_hour = Category.QuietHours.SEND
    named = Category.objects.filter(project=project.pk, slug=slug)
    return named.filter(quiet_hours=at_any_hour).exists()
