"""Local time: settings and start times of campaigns that follow each person's own clock."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from django.db.models import TextChoices
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.planning.repeats import repeating
from campaigns.runs import local_time
from campaigns.runs.local_time import LocalTime, on_every_clock
from notifications.values.moments import in_zone

if TYPE_CHECKING:
    from campaigns.planning.campaign import Campaign


class Passed(TextChoices):
    """What happens to people whose local time has already passed when the run begins."""

    NEXT_DAY = local_time.NEXT_DAY, gettext_lazy("They get it the next day, at that time")
    NOW = local_time.AT_ONCE, gettext_lazy("They get it at once")
    SKIP = local_time.NEVER, gettext_lazy("They get nothing")


class Zoneless(TextChoices):
    """The clock that counts for people whose time zone is unknown."""

    PROJECT = "project", gettext_lazy("They go by the project's time zone")
    CAMPAIGN = "campaign", gettext_lazy("They go by the time zone above")
    SKIP = "skip", gettext_lazy("They get nothing")


def problems(campaign: Campaign) -> dict[str, str]:
    """Return why the campaign cannot be sent by local time, by field."""
    if not campaign.local_time:
        return {}
    if campaign.schedule_kind == "now":
        return {"local_time": _("Only what is sent at a time can go by each reader's clock.")}
    if campaign.best_hour and repeating.within_a_day(campaign):
        text = _(
            "It repeats within a day, and a person has one best hour a day. Choose one hour in the "
            "cron expression, or go by each reader's clock alone."
        )
        return {"best_hour": text}
    if campaign.first_percent is not None:
        text = _(
            "Leave this empty: by each reader's clock the first part takes a day, and the rest "
            "would miss its hour."
        )
        return {"first_percent": text}
    return {}


def is_over(campaign: Campaign, now: datetime) -> bool:
    """Whether its time has passed; with local time, whether it has passed everywhere on earth."""
    if campaign.at is None:
        return False
    if not campaign.local_time:
        return bool(campaign.at <= now)
    _earliest, latest = _span(campaign, campaign.at)
    return local_time.last(latest) <= now


def begins(campaign: Campaign, at: datetime) -> datetime:
    """Return when a run for that time begins. With local time, it begins when the first time zone
    on earth reaches that time; with best hours, when it reaches that day."""
    if not campaign.local_time:
        return at
    earliest, _latest = _span(campaign, at)
    return local_time.first(earliest)


def hour_of(campaign: Campaign, at: datetime | None) -> dict[str, Any] | None:
    """Return the local-time settings that its run for that time keeps; None: all get it at once."""
    if not campaign.local_time or at is None:
        return None
    zones = {
        Zoneless.PROJECT: campaign.project.timezone,
        Zoneless.CAMPAIGN: campaign.timezone,
        Zoneless.SKIP: "",
    }
    otherwise = zones[Zoneless(campaign.zoneless)]
    # A series reaches these people the next time. A day later they would get both messages.
    passed = Passed.SKIP if campaign.schedule_kind == "recurring" else campaign.passed
    return local_time.written(
        wall(campaign, at), otherwise=otherwise, passed=passed, best_hour=campaign.best_hour
    )


def launched_at(campaign: Campaign, at: datetime | None, begins: datetime) -> LocalTime | None:
    """Return the LocalTime of a run for time `at` that begins at `begins`; None: not local."""
    hour = hour_of(campaign, at)
    if hour is None:
        return None
    lateness = timedelta(seconds=campaign.max_lateness_seconds)
    return local_time.from_settings(hour, begins=begins, lateness=lateness)


def _span(campaign: Campaign, at: datetime) -> tuple[datetime, datetime]:
    return local_time.span(wall(campaign, at), best_hour=campaign.best_hour)


def in_words(campaign: Campaign, at: datetime, zone: str) -> str:
    """Return in words when its run for that time is due: by local time, or in this zone."""
    return on_every_clock(wall(campaign, at)) if campaign.local_time else in_zone(at, zone)


def wall(campaign: Campaign, at: datetime) -> datetime:
    """Return what each person's clock shows then. If a clock change skips that time only in the
    campaign's zone, it still counts in all others."""
    wall_time = at.astimezone(ZoneInfo(campaign.timezone)).replace(tzinfo=None)
    if campaign.schedule_kind != "recurring":
        return wall_time
    intended: datetime = campaign.rhythm.intended_time(wall_time)
    return intended
