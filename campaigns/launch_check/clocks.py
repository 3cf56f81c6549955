"""Clocks: when the first and the last person get a local-time run, and how many get nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from campaigns.audiences import reach
from campaigns.audiences.reach import Zones
from campaigns.launch_check import quiet_hours_check
from campaigns.launch_check.quiet_hours_check import (
    NightShare,
    QuietHoursWait,
    is_night,
    said_of,
    too_late,
)
from campaigns.planning.campaign import Campaign
from campaigns.runs.local_time import AT_ONCE, NEXT_DAY, LocalTime
from notifications.people.consent.hours import QuietHours
from notifications.values.moments import in_zone
from notifications.values.zones import known_zones


@dataclass(frozen=True)
class LocalTimeSpread:
    """How a local-time run goes around the earth, for the devices of an audience."""

    by: LocalTime
    first: datetime | None  # when the first person gets it; None: nobody does
    last: datetime | None
    passed: int  # devices where that time has passed
    zoneless: int
    best: int  # devices that get it at their best hour
    waits: int  # devices that wait until their quiet hours end
    expires: int  # devices for which it expires before their quiet hours end
    devices: int  # in all
    exact: bool
    zone: str  # the time zone that `first` and `last` are shown in
    hours: QuietHours | None
    again: bool  # it repeats: people who miss this run get the next

    @property
    def plan(self) -> str:
        if self.first is None or self.last is None:
            return ""
        text = _("By each reader's clock: the first get it on %(first)s, the last on %(last)s.")
        first, last = in_zone(self.first, self.zone), in_zone(self.last, self.zone)
        return " ".join(
            filter(None, (self._describe_best_hours(), text % {"first": first, "last": last}))
        )

    @property
    def words(self) -> str:
        """What people should consider before the launch, in words."""
        quiet_hours = (self._describe_night(), self._describe_waits(), self._describe_expiry())
        sentences = (*quiet_hours, self._describe_passed(), self._describe_zoneless())
        return " ".join(capfirst(sentence) for sentence in sentences if sentence)

    def _describe_best_hours(self) -> str:
        if not self.by.best_hour:
            return ""
        if not self.best:
            text = _("None of the readers has a best hour yet: all get it at %(clock)s.")
            return text % {"clock": f"{self.by.wall:%H:%M}"}
        text = _("%(percent)s of the readers have a best hour, and get it then; the others at "
                 "%(clock)s.")  # fmt: skip
        values = {"percent": self._share(self.best), "clock": f"{self.by.wall:%H:%M}"}
        return capfirst(text % values)

    def _describe_night(self) -> str:
        if self.hours or not is_night(self.by.wall):
            return ""
        if self.by.best_hour:
            text = _("It is %(clock)s, at night, for the readers without a best hour. Choose "
                     "another time, unless it has to be then.")  # fmt: skip
            return text % {"clock": f"{self.by.wall:%H:%M}"} if self.best < self.devices else ""
        text = _("It is %(clock)s for every reader, at night. Choose another time, unless it has "
                 "to be then.")  # fmt: skip
        return text % {"clock": f"{self.by.wall:%H:%M}"}

    def _describe_waits(self) -> str:
        if not self.waits or self.hours is None:
            return ""
        text = _("%(percent)s of the readers have quiet hours at %(clock)s: they get it at "
                 "%(end)s.")  # fmt: skip
        if self.by.best_hour or not self.hours.covers(self.by.wall.time()):
            text = _("%(percent)s of the readers have quiet hours when it is their time: they get "
                     "it at %(end)s.")  # fmt: skip
        clocks = {"clock": f"{self.by.wall:%H:%M}", "end": f"{self.hours.end:%H:%M}"}
        return text % {"percent": self._share(self.waits), **clocks}

    def _describe_passed(self) -> str:
        if not self.passed:
            return ""
        if self.by.passed == NEXT_DAY:
            text = _("For %(percent)s of the readers that time has passed: they get it at the same "
                     "time the next day.")  # fmt: skip
        elif self.by.passed == AT_ONCE:
            text = _("For %(percent)s of the readers that time has passed: they get it at once.")
        elif self.again:
            text = _("For %(percent)s of the readers that time has passed: they get the next one.")
        else:
            text = _("For %(percent)s of the readers that time has passed: they get nothing.")
        return text % {"percent": self._share(self.passed)}

    def _describe_zoneless(self) -> str:
        if not self.zoneless:
            return ""
        text = _("%(percent)s of the readers have no time zone: they go by %(zone)s.")
        if not self.by.otherwise:
            text = _("%(percent)s of the readers have no time zone: they get nothing.")
        return text % {"percent": self._share(self.zoneless), "zone": self.by.otherwise}

    def _describe_expiry(self) -> str:
        return too_late(self._share(self.expires)) if self.expires else ""

    def _share(self, devices: int) -> str:
        return said_of(devices, self.devices, exact=self.exact)


def zones(
    campaign: Campaign, rules: dict[str, Any], by: LocalTime | None, *, seconds: float
) -> Zones:
    """Count devices by time zone, and by best hour if the run uses it. Raises reach.Uncountable."""
    best_hours = by is not None and by.best_hour
    return reach.zones(campaign.project_id, rules, seconds=seconds, best_hours=best_hours)


def check_clocks(
    campaign: Campaign, at: datetime, by: LocalTime | None, found: Zones
) -> NightShare | QuietHoursWait | LocalTimeSpread:
    if by is None:
        return quiet_hours_check.judged(campaign, found, at, campaign.zone)
    ttl = timedelta(seconds=campaign.ttl_seconds)
    again = campaign.schedule_kind == Campaign.Schedule.RECURRING
    return spread_by_local_time(by, campaign.quiet_hours, ttl, found, campaign.zone, again=again)


def ends(found: NightShare | QuietHoursWait | LocalTimeSpread | None, at: datetime) -> datetime:
    """Return when a run ends: at `at`, or when the last person's own time comes, if later."""
    last = found.last if isinstance(found, QuietHoursWait | LocalTimeSpread) else None
    return max(at, last) if last else at


def spread_by_local_time(
    by: LocalTime,
    hours: QuietHours | None,
    ttl: timedelta,
    found: Zones,
    zone: str,
    *,
    again: bool = False,
) -> LocalTimeSpread:
    gets_it: list[datetime] = []
    passed, zoneless, best, waits, expires = 0, 0, 0, 0, 0
    for (own_zone, hour), count in found.clocks.items():
        is_known = own_zone in known_zones()
        zoneless += 0 if is_known else count
        best += count if is_known and hour is not None else 0
        passed += count if by.has_passed(own_zone, hour) else 0
        at = by.due_for(own_zone, hour)
        if at is None:
            continue
        wakes_at = hours.asleep_until(own_zone, at) if hours else None
        if wakes_at and wakes_at >= at + ttl:
            expires += count
        else:
            waits += count if wakes_at else 0
            gets_it.append(wakes_at or at)
    return LocalTimeSpread(
        by, min(gets_it, default=None), max(gets_it, default=None), passed, zoneless, best, waits,
        expires, sum(found.clocks.values()), found.exact, zone, hours, again,
    )  # fmt: skip
