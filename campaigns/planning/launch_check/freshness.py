"""Is what one launches still what one looked at? The dialog carries a mark of each part."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from campaigns.planning.campaign import Campaign
from campaigns.runs.policy import GUARDED
from notifications.staff import audit
from notifications.values import seen


def marks(campaign: Campaign) -> str:
    return seen.carried(_parts(campaign))


def changed(campaign: Campaign, looked_at: str) -> list[str]:
    """What is not any more as it was looked at, and who changed it, in sentences."""
    rows = {"audience": campaign.audience, "template": campaign.template, "campaign": campaign}
    found = seen.changed(seen.read(looked_at), _parts(campaign))
    return [_said(name, rows[name]) for name in found]


def _parts(campaign: Campaign) -> dict[str, str]:
    shown = {
        "audience": [campaign.audience_id, campaign.audience.effective_rules],
        "template": [campaign.template_id, campaign.template.frozen()],
        "campaign": [campaign.label, *(getattr(campaign, name) for name in GUARDED)],
    }
    return {name: seen.mark(value) for name, value in shown.items()}


def _said(name: str, row: Any) -> str:
    words = {
        "audience": _("The audience is not any more what you looked at: %(who)s changed it."),
        "template": _("The text is not any more what you looked at: %(who)s changed it."),
        "campaign": _("The settings are not any more what you looked at: %(who)s changed them."),
    }
    return words[name] % {"who": audit.who_changed(row)}
