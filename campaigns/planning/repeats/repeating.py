"""Repeating: the rhythm that a campaign's settings describe, what is wrong with them, and how often
it repeats, in words.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from campaigns.planning.repeats import cron, days_off, weekdays
from campaigns.planning.repeats.cron import Cron
from campaigns.planning.repeats.rhythm import DAILY, LAST_DAY, MONTHLY, WEEKLY, WORKDAYS, Rhythm

if TYPE_CHECKING:
    from campaigns.planning.campaign import Campaign

BY_CRON = "cron"


def rhythm_of(campaign: Campaign) -> Rhythm | Cron:
    if campaign.at is None:
        raise ValueError("A series without a first time.")
    if campaign.repeat == BY_CRON:
        left_out = days_off.parse(campaign.days_off)
        return cron.parse(
            campaign.cron, campaign.at, campaign.timezone, campaign.until, days_off=left_out
        )
    return Rhythm(
        campaign.at,
        campaign.repeat,
        campaign.timezone,
        campaign.until,
        every=campaign.every,
        on_days=campaign.on_days,
        weekdays=weekdays.parse(campaign.weekdays),
        days_off=days_off.parse(campaign.days_off),
    )


def problems(campaign: Campaign) -> dict[str, str]:
    """Return the problems by field. Valid settings are normalized: times to the minute, days in
    order."""
    if campaign.at is None:
        return {"at": _("Choose the first time.")}
    campaign.at = campaign.at.replace(second=0, microsecond=0)
    if not campaign.repeat:
        return {"repeat": _("Choose every day, week or month, or a cron expression.")}
    if campaign.until is not None and campaign.until < campaign.at:
        return {"until": _("It would end before its first time.")}
    try:
        off = days_off.days_off_of(campaign)
    except ValueError as error:
        return {"days_off": str(error)}
    campaign.days_off, campaign.holiday_names = days_off.written(off), days_off.stored_names(off)
    try:
        campaign.weekdays = weekdays.written(weekdays.parse(campaign.weekdays))
    except ValueError as error:
        return {"weekdays": str(error)}
    return (
        _weekdays_problems(campaign.repeat, campaign.weekdays)
        or cron_problems(campaign.repeat, campaign.cron, campaign.every, campaign.on_days)
        or days_problems(campaign.repeat, campaign.every, campaign.on_days)
    )


def none_left(campaign: Campaign, now: datetime) -> dict[str, str]:
    """Return why no occurrence is left, by the field that causes it."""
    if campaign.until is not None and campaign.until <= now:
        return {"until": _("Its end has passed. Choose a later one, or none.")}
    with_days_off = rhythm_of(campaign)
    if replace(with_days_off, days_off=frozenset()).next_after(now) is not None:
        text = _("None of its times is left: they all fall on days off. Take some of these out.")
        return {"days_off": text}
    if campaign.until is not None:
        return {"until": _("None of its times comes before its end. Choose a later one, or none.")}
    return {"at": _("None of its times is left. Choose an earlier first time.")}


def cron_problems(repeat: str, text: str, every: int, on_days: str) -> dict[str, str]:
    if repeat != BY_CRON:
        return {"cron": _("Leave it empty, or repeat by it.")} if text else {}
    if every != 1 or on_days:
        message = _("A cron expression says itself on which days.")
        return {"every" if every != 1 else "on_days": message}
    try:
        cron.check(text)
    except ValueError as error:
        return {"cron": str(error)}
    return {}


def _weekdays_problems(repeat: str, days: str) -> dict[str, str]:
    if not days or repeat == WEEKLY:
        return {}
    return {"weekdays": _("Days of the week go with every week, or every few weeks.")}


def within_a_day(campaign: Campaign) -> bool:
    """Whether it is sent more than once a day."""
    if campaign.schedule_kind != "recurring" or campaign.repeat != BY_CRON:
        return False
    try:
        return len(cron.check(campaign.cron).hours) > 1
    except ValueError:
        return False  # the check of the expression says that


def days_problems(repeat: str, every: int, on_days: str) -> dict[str, str]:
    if on_days == WORKDAYS and (repeat, every) != (DAILY, 1):
        text = _("Monday to Friday goes with “every 1 day” only.")
        return {"on_days": text}
    if on_days == LAST_DAY and repeat != MONTHLY:
        return {"on_days": _("A month's last day goes with every month, or every few months.")}
    return {}


def how_often(campaign: Campaign) -> str:
    """Return “Every 2 weeks, by each reader's clock”; empty if it does not repeat."""
    words = _rhythm_in_words(campaign)
    if not (words and campaign.local_time):
        return words
    if campaign.best_hour:
        return _("%(repeats)s, at each person's best hour") % {"repeats": words}
    return _("%(repeats)s, by each reader's clock") % {"repeats": words}


def with_days_off(said: str, campaign: Campaign) -> str:
    """Add how many of its times fall on days off."""
    off = days_off.parse(campaign.days_off) if said else frozenset()
    if not off:
        return said
    without_any = replace(rhythm_of(campaign), days_off=frozenset())
    count = sum(1 for day in off if _goes_on(without_any, day, campaign.timezone))
    if not count:
        return said
    without = ngettext(
        "%(repeats)s, without %(count)s day off",
        "%(repeats)s, without %(count)s days off",
        count,
    )
    return without % {"repeats": said, "count": f"{count:,}"}


def _goes_on(rhythm: Rhythm | Cron, day: date, zone: str) -> bool:
    place = ZoneInfo(zone)
    midnight = datetime.combine(day, time(), place)
    next_time = rhythm.next_after(midnight.astimezone(UTC) - timedelta.resolution)
    return next_time is not None and next_time.astimezone(place).date() == day


def _rhythm_in_words(campaign: Campaign) -> str:
    if campaign.on_days == WORKDAYS:
        return _("Every day from Monday to Friday")
    if campaign.repeat == BY_CRON:
        return _("By cron “%(cron)s”") % {"cron": campaign.cron}
    if campaign.repeat == WEEKLY and campaign.weekdays:
        words = {"count": f"{campaign.every:,}", "days": weekdays.in_words(campaign.weekdays)}
        singular, plural = _("Every week on %(days)s"), _("Every %(count)s weeks on %(days)s")
        return (singular if campaign.every == 1 else plural) % words
    by_rhythm = {
        (DAILY, ""): (_("Every day"), _("Every %(count)s days")),
        (WEEKLY, ""): (_("Every week"), _("Every %(count)s weeks")),
        (MONTHLY, ""): (_("Every month"), _("Every %(count)s months")),
        (MONTHLY, LAST_DAY): (
            _("Every month on its last day"),
            _("Every %(count)s months on the last day"),
        ),
    }
    singular, plural = by_rhythm.get((campaign.repeat, campaign.on_days), ("", ""))
    return singular if campaign.every == 1 else plural % {"count": f"{campaign.every:,}"}
