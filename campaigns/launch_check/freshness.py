"""Freshness: whether a launch still sends what the person checked. The dialog carries a mark of
each part.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.planning.campaign_variants import wordings
from campaigns.runs.policy import GUARDED
from notifications.staff import audit
from notifications.values import row_versions


def marks(campaign: Campaign) -> str:
    return row_versions.carried(_marks_by_part(campaign))


def changed(campaign: Campaign, looked_at: str) -> list[str]:
    """Return sentences that say which parts changed since the person looked, and who did it."""
    rows = {"audience": campaign.audience, "template": campaign.template, "campaign": campaign}
    parts = row_versions.changed(row_versions.parse(looked_at), _marks_by_part(campaign))
    return [_describe_change(name, rows[name]) for name in parts]


def _marks_by_part(campaign: Campaign) -> dict[str, str]:
    contents = {
        "audience": [campaign.audience_id, _rules_of(campaign.audience)],
        "template": [
            [wording.template.pk, wording.weight, wording.template.frozen()]
            for wording in wordings(campaign)
        ],
        "campaign": [
            campaign.label,
            campaign.kind,
            *(_field_value(campaign, name) for name in GUARDED),
        ],
    }
    return {name: row_versions.mark(value) for name, value in contents.items()}


def _field_value(campaign: Campaign, name: str) -> Any:
    """Return the value of this field; of a foreign key, the id."""
    field: Any = Campaign._meta.get_field(name)
    return field.value_from_object(campaign)


def _rules_of(audience: Audience) -> dict[str, Any]:
    """Return its rules, with those of the audiences in it. If these cannot be used, return its own
    rules: other checks report that."""
    try:
        return audience.frozen_rules()
    except ValidationError:
        return audience.effective_rules


def _describe_change(name: str, row: Any) -> str:
    words = {
        "audience": _("%(who)s changed the audience after you opened this page."),
        "template": _("%(who)s changed the text after you opened this page."),
        "campaign": _("%(who)s changed the settings after you opened this page."),
    }
    return words[name] % {"who": audit.who_changed(row)}
