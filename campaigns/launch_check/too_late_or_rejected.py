"""Expected skips: devices that a launch would not reach, with the reasons that the result will
give.
"""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.audiences.reach import Reach
from campaigns.canary.choose_people import wait_of
from campaigns.forecast.course import Course
from campaigns.forecast.rate_forecast import RateForecast
from campaigns.forecast.skips.loss import Loss
from campaigns.forecast.skips.waterfall import TOO_LATE
from campaigns.planning.campaign import Campaign
from campaigns.planning.trial_rendering import Look, Refused
from campaigns.runs.reasons import Reason
from notifications.values.moments import in_words

OUT_OF_TURN = gettext_lazy(
    "Sending takes about %(takes)s, but the message expires after %(shown)s: people not reached by "
    "then are skipped. Raise the rate, or that time."
)
ASLEEP = gettext_lazy(
    "It expires after %(shown)s, while the quiet hours of some people last. Raise that time, or "
    "choose another."
)


def refused(look: Look, found: Reach) -> list[Loss]:
    """Count refused devices by reason, among people with the longest values, with one example."""
    return [
        _build_refused_loss(reason, look, found)
        for reason in dict.fromkeys(r.reason for r in look.refused)
    ]


def _build_refused_loss(reason: Reason, look: Look, audience: Reach) -> Loss:
    refusals = [refusal for refusal in look.refused if refusal.reason == reason]
    return Loss(
        reason,
        _refused_words(refusals, look),
        devices=len(refusals),
        of=look.devices,
        exact=audience.exact and look.devices >= audience.devices,
        rejected=refusals[0].rejected,
        example=refusals[0].external_id,
    )


def _refused_words(refusals: list[Refused], look: Look) -> str:
    text = _(
        "%(count)s of the %(devices)s devices of the people with the longest values would "
        "be skipped, e.g. %(person)s: %(why)s"
    )
    if refusals[0].rejected:
        text = _(
            "%(count)s of the %(devices)s devices of the people with the longest values "
            "would be rejected, e.g. %(person)s: %(why)s"
        )
    return text % {
        "count": f"{len(refusals):,}",
        "devices": f"{look.devices:,}",
        "person": refusals[0].external_id,
        "why": refusals[0].why,
    }


def too_late(
    campaign: Campaign, found: Reach, devices: int, pace: RateForecast, course: Course | None
) -> list[Loss]:
    """Count devices whose turn or morning comes after the message has expired."""
    wait = wait_of(found.devices, campaign)
    time_to_live = in_words(campaign.ttl_seconds)
    if course is None:  # nobody could foresee it in time
        lost = {Reason.EXPIRED: devices - pace.devices(campaign.ttl_seconds - wait)}
    else:
        lost = {reason: course.skipped.get(reason, 0) for reason in TOO_LATE}
    takes = in_words(pace.seconds(devices) + wait)
    words = {
        Reason.EXPIRED: OUT_OF_TURN % {"takes": takes, "shown": time_to_live},
        Reason.QUIET_HOURS: ASLEEP % {"shown": time_to_live},
    }
    exact = course.exact if course else found.exact
    return [
        Loss(reason, words[reason], devices=count, of=found.devices, exact=exact)
        for reason, count in lost.items()
        if count > 0
    ]
