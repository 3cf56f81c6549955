"""Rhythm in words: a sentence that says on which days, on whose clock and until when it repeats."""

from __future__ import annotations

from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from campaigns.planning.repeats import repeating, weekdays
from campaigns.planning.repeats.repeating import BY_CRON
from campaigns.planning.repeats.rhythm import DAILY, LAST_DAY, MONTHLY, WEEKLY, WORKDAYS
from campaigns.runs.run import Run
from campaigns.runs.series import ONCE
from notifications.values.moments import CLOCK, DAY, local


def of_campaign(campaign: Campaign) -> str:
    """Describe how its launched series repeats; empty if there is none or it was stopped."""
    if campaign.at is None or not campaign.repeat or campaign.series is None:
        return ""
    repeats = repeating.with_days_off(_describe_rhythm(campaign), campaign)
    if campaign.until is None:
        return _("%(repeats)s, until somebody stops it.") % {"repeats": repeats}
    until = local(campaign.until, campaign.timezone, DAY)
    return _("%(repeats)s, until %(until)s.") % {"repeats": repeats, "until": until}


def _describe_rhythm(campaign: Campaign) -> str:
    at, zone, count = campaign.at, campaign.timezone, campaign.every
    assert at is not None
    words = {
        "weekday": weekdays.in_words(campaign.weekdays) or local(at, zone, "l"),
        "day": local(at, zone, "j"),
        "time": _by_whose_clock(campaign, local(at, zone, CLOCK)),
        "count": f"{count:,}",
    }
    if campaign.repeat == BY_CRON and campaign.local_time:
        text = _("Repeats by cron “%(cron)s”, by each reader's clock")
        if campaign.best_hour:
            text = _("Repeats by cron “%(cron)s”, at each person's best hour")
        return text % {"cron": campaign.cron}
    if campaign.repeat == BY_CRON:
        text = _("Repeats by cron “%(cron)s”, on the clocks of %(zone)s")
        return text % {"cron": campaign.cron, "zone": zone}
    if campaign.on_days == WORKDAYS:
        return _("Repeats every day from Monday to Friday at %(time)s") % words
    by_rhythm = {
        (DAILY, ""): (
            _("Repeats every day at %(time)s"),
            _("Repeats every %(count)s days at %(time)s"),
        ),
        (WEEKLY, ""): (
            _("Repeats every week on %(weekday)s at %(time)s"),
            _("Repeats every %(count)s weeks on %(weekday)s at %(time)s"),
        ),
        (MONTHLY, ""): (
            _("Repeats every month on day %(day)s at %(time)s"),
            _("Repeats every %(count)s months on day %(day)s at %(time)s"),
        ),
        (MONTHLY, LAST_DAY): (
            _("Repeats on the last day of every month at %(time)s"),
            _("Repeats on the last day of every %(count)s months at %(time)s"),
        ),
    }
    singular, plural = by_rhythm[campaign.repeat, campaign.on_days]
    return (singular if campaign.every == 1 else plural) % words


def _by_whose_clock(campaign: Campaign, clock: str) -> str:
    if not campaign.local_time:
        return f"{clock} {campaign.timezone}"
    if campaign.best_hour:
        text = _("each person's best hour, or %(clock)s where they are")
        return text % {"clock": clock}
    return _("%(clock)s by each reader's clock") % {"clock": clock}


def of_run(run: Run) -> str:
    """Describe how the run's series repeats. Empty if the series was stopped: the campaign may have
    another rhythm since."""
    later = Run.objects.filter(campaign=run.campaign_id, pk__gte=run.pk)
    if run.occurrence == ONCE or later.filter(series_stopped_at__isnull=False).exists():
        return ""
    return of_campaign(run.campaign)
