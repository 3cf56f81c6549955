"""People left out on purpose, drawn by chance: the control group and the holdout."""

from __future__ import annotations

from django.utils.translation import gettext as _

from campaigns.audiences.reach import Reach
from campaigns.forecast.skips.loss import Loss
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import split_of
from campaigns.runs.reasons import Reason
from campaigns.runs.variants.group import CONTROL, HOLDOUT


def losses(campaign: Campaign, found: Reach) -> list[Loss]:
    """Return about how many devices the draw leaves out."""
    parts = split_of(campaign).shares()
    named = ((CONTROL, Reason.CONTROL), (HOLDOUT, Reason.HOLDOUT))
    return [
        _build_loss(group, reason, round(found.devices * parts[group]), found)
        for group, reason in named
        if parts.get(group)
    ]


def _build_loss(group: int, reason: Reason, devices: int, audience: Reach) -> Loss:
    text = _("About %(count)s devices: %(why)s.")
    words = text % {"count": f"{devices:,}", "why": reason.label}
    short = _("control group") if group == CONTROL else _("holdout")
    return Loss(reason, words, devices=devices, of=audience.devices, exact=False, short=short)
