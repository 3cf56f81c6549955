"""Local time: what a campaign that goes by each reader's clock asks of its launch."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.runs.hours import local_time
from campaigns.runs.hours.local_time import LocalTime


class Passed(TextChoices):
    """What becomes of readers whose clock shows a later time when it begins."""

    NEXT_DAY = local_time.NEXT_DAY, gettext_lazy("They get it the next day, at that time")
    NOW = local_time.AT_ONCE, gettext_lazy("They get it at once")
    SKIP = local_time.NEVER, gettext_lazy("They get nothing")


class Zoneless(TextChoices):
    """By which clock people go whose zone nobody knows."""

    PROJECT = "project", gettext_lazy("They go by the project's time zone")
    CAMPAIGN = "campaign", gettext_lazy("They go by the time zone above")
    SKIP = "skip", gettext_lazy("They get nothing")


def problems(campaign: Any) -> dict[str, str]:
    """Why it cannot go by each reader's clock, by field."""
    if not campaign.local_time:
        return {}
    if campaign.schedule_kind != "at":
        return {
            "local_time": _("Only what is sent once, at a time, can go by each reader's clock.")
        }
    if campaign.first_percent is not None:
        said = _(
            "Leave this empty: by each reader's clock the first part takes a day, and the rest "
            "would miss its hour."
        )
        return {"first_percent": said}
    return {}


def is_over(campaign: Any, now: datetime) -> bool:
    """Whether its time has passed; by each reader's clock, for everybody on earth."""
    if campaign.at is None:
        return False
    if not campaign.local_time:
        return bool(campaign.at <= now)
    _earliest, latest = _span(campaign)
    return local_time.last(latest) <= now


def begins(campaign: Any, now: datetime) -> datetime | None:
    """When it is that time, or by best hours that day, in the first zone of all; None: it was
    already, so it begins now."""
    earliest, _latest = _span(campaign)
    first = local_time.first(earliest)
    return first if first > now else None


def hour_of(campaign: Any) -> dict[str, Any] | None:
    """As its run keeps it; None: it goes to all at once."""
    if not campaign.local_time or campaign.at is None:
        return None
    zones = {
        Zoneless.PROJECT: campaign.project.timezone,
        Zoneless.CAMPAIGN: campaign.timezone,
        Zoneless.SKIP: "",
    }
    otherwise = zones[Zoneless(campaign.zoneless)]
    return local_time.written(
        _wall(campaign),
        otherwise=otherwise,
        passed=campaign.passed,
        best_hour=campaign.best_hour,
    )


def launched_at(campaign: Any, begins: datetime) -> LocalTime | None:
    """What a launch that begins then would go by."""
    hour = hour_of(campaign)
    if hour is None:
        return None
    lateness = timedelta(seconds=campaign.max_lateness_seconds)
    return local_time.read(hour, begins=begins, lateness=lateness)


def _span(campaign: Any) -> tuple[datetime, datetime]:
    return local_time.span(_wall(campaign), best_hour=campaign.best_hour)


def _wall(campaign: Any) -> datetime:
    if campaign.at is None:
        raise ValueError("It has no time.")
    at: datetime = campaign.at.astimezone(ZoneInfo(campaign.timezone))
    return at.replace(tzinfo=None)
