"""Sent to: how many devices a campaign selects, minus those that are known to be skipped before it
starts.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError

from campaigns.audiences import reach
from campaigns.audiences.reach import Reach
from campaigns.forecast.skips import control_group, local_time, skipped
from campaigns.forecast.skips.skipped import Cause, Skipped
from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.runs.local_time import LocalTime
from campaigns.runs.run import Run


def causes(
    campaign: Campaign, at: datetime, by: LocalTime | None, begun: Run | None = None
) -> list[Cause]:
    """Return the causes of skips: those that depend on the text, and those that do not."""
    wordings = campaign_variants.wordings(campaign)
    texts = [wording.number for wording in wordings]
    with_any = (
        local_time.causes(by, texts),
        skipped.of_had(campaign, begun, texts),
        skipped.of_caps(campaign, at, texts),
    )
    return [*skipped.causes_of(wordings), *(cause for group in with_any for cause in group)]


def is_readable(campaign: Campaign) -> bool:
    """Whether all of its texts are valid: otherwise the values they need are unknown."""
    try:
        for wording in campaign_variants.wordings(campaign):
            wording.template.clean()
    except ValidationError:
        return False
    return True


def skips(
    campaign: Campaign,
    rules: dict[str, Any],
    found: Reach,
    causes: list[Cause],
    *,
    seconds: float = reach.EXACT_SECONDS,
) -> Skipped:
    """Count the devices skipped for these causes, and by chance (control group and holdout)."""
    lost = skipped.count_skips(campaign, rules, found, causes, seconds=seconds)
    return skipped.also(lost, control_group.losses(campaign, found), found)


def devices(found: Reach, lost: Skipped) -> int | None:
    """Return how many devices are sent to; None if the skipped ones could not be counted."""
    return None if lost.devices is None else max(0, found.devices - lost.devices)
