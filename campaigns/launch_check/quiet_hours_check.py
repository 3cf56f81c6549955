"""Quiet: how many people would get it at night, or wait until their quiet hours end. Computed from
the time zones of the audience, for the moment at which it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.audiences import reach
from campaigns.audiences.reach import Zones
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.consent.hours import QuietHours
from notifications.people.project import Project
from notifications.values.moments import CLOCK, in_zone, local
from notifications.values.zones import clock_of, known_zones

NIGHT_FROM, NIGHT_TO = 22, 8  # hours of local time
WORTH_SAYING = 0.05  # of the devices; among people all over the world, some always sleep
NAMED = 2
SMALL = 0.01  # less than that rounds to nothing


@dataclass(frozen=True)
class NightShare:
    """Devices where it is night, by time zone, the most first."""

    zones: list[tuple[str, int]]
    devices: int  # in all
    exact: bool
    at: datetime

    @property
    def share(self) -> float:
        return sum(count for _zone, count in self.zones) / self.devices if self.devices else 0.0

    @property
    def words(self) -> str:
        """A warning, or empty if too few sleep to mention it."""
        if not self.devices or self.share < WORTH_SAYING:
            return ""
        text = _(
            "%(percent)s of the readers get it between %(from)s:00 and %(to)s:00 on their own "
            "clocks: %(where)s. Choose another time, unless it has to be then."
        )
        asleep = sum(count for _zone, count in self.zones)
        asleep_share = said_of(asleep, self.devices, exact=self.exact)
        values = {"percent": asleep_share, "from": NIGHT_FROM, "to": f"{NIGHT_TO:02}"}
        return capfirst(text % {**values, "where": ", ".join(self._zones_in_words())})

    def _zones_in_words(self) -> Iterator[str]:
        for zone, count in self.zones[:NAMED]:
            clock = {"clock": local(self.at, zone, CLOCK), "zone": zone}
            text = _("%(percent)s at %(clock)s in %(zone)s") % {
                **clock, "percent": percent(count / self.devices),
            }  # fmt: skip
            yield text
        if (more := len(self.zones) - NAMED) > 0:
            text = ngettext("%(count)s more time zone", "%(count)s more time zones", more)
            yield text % {"count": more}


def asleep(project: Project, found: Zones, at: datetime) -> NightShare:
    """Find devices where it is night. A person without a time zone counts with the project's."""
    by_zone = _by_known_zone(found.devices, project.timezone)
    local_times = {zone: at.astimezone(clock_of(zone)) for zone in by_zone}
    night = [(zone, count) for zone, count in by_zone.items() if is_night(local_times[zone])]
    night.sort(key=lambda zone_count: -zone_count[1])
    return NightShare(night, sum(by_zone.values()), found.exact, at)


@dataclass(frozen=True)
class QuietHoursWait:
    """Devices in quiet hours: how many wait, until when, and for how many it expires meanwhile."""

    waits: int
    last: datetime | None  # the last end of their quiet hours
    expires: int
    devices: int  # in all
    exact: bool
    zone: str  # the time zone that `last` is shown in

    @property
    def words(self) -> str:
        return " ".join(
            capfirst(sentence)
            for sentence in (self._describe_waits(), self._describe_expiry())
            if sentence
        )

    def _describe_waits(self) -> str:
        if not self.waits or self.last is None:
            return ""
        text = _(
            "%(percent)s of the readers have quiet hours then: they wait until these end, the "
            "last until %(last)s."
        )
        return text % {"percent": self._share(self.waits), "last": in_zone(self.last, self.zone)}

    def _describe_expiry(self) -> str:
        return too_late(self._share(self.expires)) if self.expires else ""

    def _share(self, devices: int) -> str:
        return said_of(devices, self.devices, exact=self.exact)


def too_late(share: str) -> str:
    text = _(
        "%(percent)s of the readers would be skipped: it expires before their quiet hours "
        "end. Choose another time, or let it expire later."
    )
    return text % {"percent": share}


def resting(
    hours: QuietHours, ttl: timedelta, found: Zones, at: datetime, zone: str
) -> QuietHoursWait:
    waits, expires, last = 0, 0, None
    for device_zone, count in found.devices.items():
        wakes_at = hours.asleep_until(device_zone, at)
        if wakes_at is None:
            continue
        if wakes_at < at + ttl:
            waits, last = waits + count, max(last or wakes_at, wakes_at)
        else:
            expires += count
    everybody = sum(found.devices.values())
    return QuietHoursWait(waits, last, expires, everybody, found.exact, zone)


def look(
    sent: Campaign | Run, rules: dict[str, Any], at: datetime, zone: str, *, seconds: float
) -> NightShare | QuietHoursWait | None:
    """Return how many sleep or rest at its start, shown in this time zone. None if nobody can count
    them in time."""
    try:
        zones = reach.zones(sent.project_id, rules, seconds=seconds)
    except reach.Uncountable:
        return None
    return judged(sent, zones, at, zone)


def judged(
    sent: Campaign | Run, found: Zones, at: datetime, zone: str
) -> NightShare | QuietHoursWait:
    if hours := sent.quiet_hours:
        return resting(hours, timedelta(seconds=sent.ttl_seconds), found, at, zone)
    return asleep(sent.project, found, at)


def warning(
    sent: Campaign | Run, rules: dict[str, Any], at: datetime, zone: str, *, seconds: float
) -> str:
    result = look(sent, rules, at, zone, seconds=seconds)
    return result.words if result else ""


def _by_known_zone(devices: Mapping[str, int], otherwise: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for written, count in devices.items():
        zone = written if written in known_zones() else otherwise
        counts[zone] = counts.get(zone, 0) + count
    return counts


def is_night(at: datetime) -> bool:
    return not NIGHT_TO <= at.hour < NIGHT_FROM


def said_of(devices: int, everybody: int, *, exact: bool) -> str:
    """Return the share of everybody in words, for use within a sentence."""
    share = devices / everybody
    if exact or 0 < share < SMALL:
        return percent(share)
    return _("about %(number)s") % {"number": percent(share)}


def percent(share: float) -> str:
    """Format a share. A share above zero is never “0 %”."""
    if 0 < share < SMALL:
        return _("under %(percent)s %%") % {"percent": f"{100 * SMALL:.0f}"}
    return _("%s %%") % f"{100 * share:.0f}"
