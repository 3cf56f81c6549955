"""Is what one launches still what one looked at? The dialog carries a mark of each part."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import Any

import orjson
from django.utils.translation import gettext as _

from campaigns.planning.campaign import WHEN, Campaign
from notifications.staff import audit


def marks(campaign: Campaign) -> str:
    parts: dict[str, Any] = {
        "audience": [campaign.audience_id, campaign.audience.effective_rules],
        "template": [campaign.template_id, campaign.template.frozen()],
        "campaign": [campaign.policy, *(getattr(campaign, name) for name in WHEN)],
    }
    return json.dumps({name: _mark(value) for name, value in parts.items()})


def changed(campaign: Campaign, seen: str) -> list[str]:
    """What is not any more as it was looked at, and who changed it, in sentences."""
    was: Any = None
    with suppress(ValueError):
        was = orjson.loads(seen)  # what a browser sent: any depth of brackets, any number
    if not isinstance(was, dict):
        return []
    now = json.loads(marks(campaign))
    rows = {"audience": campaign.audience, "template": campaign.template, "campaign": campaign}
    return [_said(name, rows[name]) for name in now if now[name] != was.get(name)]


def _said(name: str, row: Any) -> str:
    words = {
        "audience": _("The audience is not any more what you looked at: %(who)s changed it."),
        "template": _("The text is not any more what you looked at: %(who)s changed it."),
        "campaign": _("The settings are not any more what you looked at: %(who)s changed them."),
    }
    return words[name] % {"who": _who(row)}


def _who(row: Any) -> str:
    trail = audit.entries_of(row).filter(project=row.project_id)
    entry = trail.order_by("-pk").first()
    return entry.actor.removeprefix("user:") if entry else _("somebody")


def _mark(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
