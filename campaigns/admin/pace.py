"""Why the rate of a run is what it is, in words for the live page."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.admin import forecast
from campaigns.run import Run
from notifications.moments import CLOCK_AND_SECOND, in_words, local
from notifications.pacing import Limit, full_rate, pace_of

# {rate} is what the gate allows now, {full} what it allows when nothing else limits.
WORDS = {
    # xgettext:no-python-format
    Limit.QUOTA: gettext_lazy("At most {rate}: 80 % of the project's FCM quota."),
    Limit.RATE: gettext_lazy("At most {rate}: the campaign's own rate."),
    Limit.RAMP: gettext_lazy(
        "At most {rate} for now: it starts gently, and may reach {full} in {left}."
    ),
    Limit.RETRY_AFTER: gettext_lazy("Nothing leaves before {until}: FCM asked us to wait."),
    Limit.REOPENING: gettext_lazy(
        "At most {rate} for now: FCM had asked us to wait. It may reach {full} again in {left}."
    ),
    Limit.SLOWED: gettext_lazy(
        "At most {rate} for now: slowed down, because FCM refused or failed too often. "
        "If that stops, it may reach {full} in {left}."
    ),
    Limit.SHARED: gettext_lazy(
        "At most {rate}: other runs of this project take their part of {full}."
    ),
    Limit.LOCAL: gettext_lazy(
        "At most {rate}: Redis does not answer, and each worker keeps to its own share."
    ),
    Limit.WORKERS: gettext_lazy(
        "As fast as {workers} can. The project and the campaign would allow {rate}."
    ),
    Limit.REST: gettext_lazy("Nobody is sending at this moment. At most {rate}."),
}


def in_plain_words(run: Run, now: datetime) -> str:
    """A sentence or two; empty when the run has ended."""
    if run.state in (Run.State.SCHEDULED, Run.State.PREPARING):
        planned = forecast.pace(run.project, run.rate_per_second)
        said = _("At most %(rate)s: %(limit)s.")
        return said % {"rate": number(planned.rate), "limit": planned.limit}
    if run.state == Run.State.PAUSED:
        return _("Paused: nothing leaves.")
    return _limit_in_words(run, now) if run.state == Run.State.SENDING else ""


def _limit_in_words(run: Run, now: datetime) -> str:
    pace = pace_of(run.project, run.reference, run.rate_per_second)
    until = pace.until or now
    return WORDS[pace.limit].format(
        rate=number(pace.rate_per_second),
        full=number(full_rate(run.project)),
        left=in_words(max(1.0, (until - now).total_seconds())),
        until=local(until, run.project.timezone, CLOCK_AND_SECOND),
        workers=forecast.in_workers(settings.WORKERS),
    )


def number(rate: float) -> str:
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}".removesuffix(".0")
