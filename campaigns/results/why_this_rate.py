"""What limits a run's rate, now or once it starts, in words for its page and for the API."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences import reach
from campaigns.canary.first_part import held
from campaigns.forecast import rate_forecast
from campaigns.forecast.rate_forecast import in_workers, number
from campaigns.runs.policy import slowest
from campaigns.runs.run import Run
from notifications.pacing import health, load
from notifications.pacing.gate import Limit, PaceNow, full_rate, pace_of
from notifications.pacing.load import Load
from notifications.values.moments import CLOCK_AND_SECOND, in_words, in_zone, local

# {rate} is what the gate allows now, {full} what it allows when nothing else limits.
WORDS = {
    # xgettext:no-python-format
    Limit.QUOTA: gettext_lazy("At most {rate}: 80 % of the project's FCM quota."),
    Limit.RATE: gettext_lazy("At most {rate}: the campaign's own rate."),
    Limit.RAMP: gettext_lazy(
        "At most {rate} for now: it starts gently, and may reach {full} in {left}."
    ),
    Limit.RETRY_AFTER: gettext_lazy("Nothing leaves before {until}: FCM asked us to wait."),
    Limit.FAILING: gettext_lazy(
        "FCM fails or cannot be reached, so one message at a time checks whether it is "
        "back, the next at {until}. Then sending continues by itself."
    ),
    Limit.REOPENING: gettext_lazy(
        "At most {rate} for now: FCM was away or had asked us to wait, and it starts gently. "
        "It may reach {full} again in {left}."
    ),
    Limit.SLOWED: gettext_lazy(
        "At most {rate} for now: slowed down, because FCM refused or failed too often. "
        "If that stops, it may reach {full} in {left}."
    ),
    Limit.SHARED: gettext_lazy(
        "At most {rate}: other runs of this Firebase project take their part of {full}."
    ),
    # xgettext:no-python-format
    Limit.LOAD: gettext_lazy(
        "At most {rate}, all runs together: your servers say that they are {load} % busy."
    ),
    Limit.LOCAL: gettext_lazy(
        "At most {rate}: Redis does not answer, and each worker keeps to its own share."
    ),
    Limit.WORKERS: gettext_lazy(
        "As fast as {workers} can. The project and the campaign would allow {rate}."
    ),
    Limit.REST: gettext_lazy("Nobody is sending at this moment. At most {rate}."),
}
SILENT = gettext_lazy(
    "At most {rate}, all runs together, the last safe rate: your servers have not said since "
    "{heard} how busy they are."
)
# For the run's own rate, by the setting that limits it; the words for a send rate are in WORDS.
OWN = {
    "spread_seconds": gettext_lazy("At most {rate}: so that all of it takes {spread}."),
    "opens_per_second": gettext_lazy(
        "At most {rate}: so that no more than {opens} a second are expected to open it."
    ),
}


def allowed_now(run: Run) -> PaceNow:
    """The rate that the gate allows the run at this moment, and what limits it."""
    return pace_of(run.project, run.reference, run.own_rate, safe=run.safe_rate)


def in_plain_words(run: Run, pace: PaceNow, now: datetime) -> str:
    until = max(pace.until or now, now)  # what is due already is due now, not in the past
    reported = load.newest_report(run.project)
    words = _limit_words(run, pace.limit, reported, now).format(
        rate=number(pace.rate_per_second),
        full=number(full_rate(run.project)),
        left=in_words(max(1.0, (until - now).total_seconds())),
        until=local(until, run.project.timezone, CLOCK_AND_SECOND),
        workers=in_workers(settings.WORKERS),
        spread=in_words(run.spread_seconds or 0),
        opens=f"{run.opens_per_second or 0:,}",
        load=f"{100 * reported.level:.0f}" if reported else "",
        heard=in_zone(reported.reported_at, run.project.timezone) if reported else "",
    )
    return f"{words} {_of_the_address(run, reported, now)}".strip()


def _of_the_address(run: Run, reported: Load | None, now: datetime) -> str:
    """Why the health address says nothing; empty if there is a recent report of the load."""
    if reported and not reported.is_silent(now):
        return ""
    why = health.trouble(run.project)
    return _("Their health address says nothing: %(why)s") % {"why": why} if why else ""


def _limit_words(run: Run, limit: Limit, reported: Load | None, now: datetime) -> str:
    if limit is Limit.RATE and (own := slowest(run)) and own[1] in OWN:
        return str(OWN[own[1]])
    if limit is Limit.LOAD and reported and reported.is_silent(now):
        return str(SILENT)
    return str(WORDS[limit])


@dataclass(frozen=True)
class Said:
    """A sentence or two about the rate; empty when the run has ended."""

    words: str = ""
    away: bool = False  # whether FCM is away: that belongs to the top of the page


def beside_the_rate(run: Run, now: datetime) -> Said:
    if run.state in (Run.State.SCHEDULED, Run.State.PREPARING):
        return Said(_describe_forecast(run))
    if run.state == Run.State.PAUSED:
        return Said(_("Paused: nothing is sent."))
    if run.state != Run.State.SENDING:
        return Said()
    if (part := held(run)) and part.sent_at:
        return Said(_("The rest waits for what comes of the first part: nothing is sent."))
    allowed = allowed_now(run)
    words = in_plain_words(run, allowed, now)
    return Said(words, away=allowed.limit is Limit.FAILING)


def _describe_forecast(run: Run) -> str:
    """The rate and its limit as the launch predicted them, for this number of devices."""
    expected = rate_forecast.forecast_rate(
        run.project,
        run.rate_per_second,
        _known_devices(run),
        spread_seconds=run.spread_seconds,
        opens_per_second=run.opens_per_second,
    )
    text = _("At most %(rate)s: %(limit)s.")
    if expected.measured:
        text = _("About %(rate)s: %(limit)s.")
    return text % {"rate": number(expected.rate), "limit": expected.limit}


def _known_devices(run: Run) -> int | None:
    """The devices of a run; None if they are not known quickly.

    Pages ask each second while a run is being prepared.
    """
    if run.planned is not None or run.state != Run.State.SCHEDULED:
        return run.planned
    with suppress(ValidationError):
        return reach.quick(run.project_id, run.rules).devices
    return None
