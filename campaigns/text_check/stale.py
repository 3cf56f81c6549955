"""Stale: whether a report still fits what a launch would send, and the people it would reach."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from django.core.exceptions import ValidationError
from django.db.models import IntegerField, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext as _

from campaigns.planning import campaign_variants
from campaigns.planning.campaign import Campaign
from campaigns.text_check.model import TextCheck
from notifications.people.importing.model import Import

MUCH = 0.05  # of the devices; smaller changes happen every day
OLD = timedelta(days=7)
WRITTEN = ("created", "updated", "removed")  # counts of people in an import


class Why(StrEnum):
    """The reason's name in the API."""

    TEXT = "text"
    AUDIENCE = "audience"
    PEOPLE = "people"
    OLD = "old"


@dataclass(frozen=True)
class Stale:
    code: Why
    words: str

    def __str__(self) -> str:
        return self.words


def reasons(
    check: TextCheck, campaign: Campaign, *, now: datetime, devices: int | None = None
) -> list[Stale]:
    """Return why the check is stale; empty if it is not. `devices`: how many a launch would reach,
    if that was counted."""
    words = {
        Why.TEXT: _("The text has changed since."),
        Why.AUDIENCE: _("The audience has changed since."),
        Why.PEOPLE: _("The people have changed much since."),
        Why.OLD: _("It is more than a week old."),
    }
    return [Stale(why, words[why]) for why in _find_reasons(check, campaign, now, devices)]


def _find_reasons(
    check: TextCheck, campaign: Campaign, now: datetime, devices: int | None
) -> Iterator[Why]:
    if check.content != _content_of(campaign, check.variant):
        yield Why.TEXT
    if (check.rules, check.asks) != (_rules_of(campaign), campaign.asks):
        yield Why.AUDIENCE
    counted = _counted_since(check, campaign) if devices is None else devices
    if _people_changed(check, counted):
        yield Why.PEOPLE
    if check.finished_at and check.finished_at < now - OLD:
        yield Why.OLD


def _content_of(campaign: Campaign, variant: int) -> object:
    texts = campaign_variants.wordings(campaign)
    return next((wording.template.frozen() for wording in texts if wording.number == variant), None)


def _rules_of(campaign: Campaign) -> object:
    """Return the campaign's rules; None if they are broken, which differs from those read."""
    try:
        return campaign.audience.frozen_rules()
    except ValidationError:
        return None


def _counted_since(check: TextCheck, campaign: Campaign) -> int | None:
    """Return the devices in the audience's last count, if that is newer than the check."""
    known_size = campaign.audience.known_size
    since = check.started_at or check.asked_at
    if (
        known_size is None
        or not known_size["exact"]
        or datetime.fromisoformat(known_size["at"]) < since
    ):
        return None
    return int(known_size["devices"])


def _people_changed(check: TextCheck, devices: int | None) -> bool:
    devices_before = int((check.report or {}).get("totals", {}).get("devices", 0))
    if devices is not None and abs(devices - devices_before) > MUCH * max(devices_before, 1):
        return True
    return _imported_since(check) > MUCH * max(devices_before, 1)


def _imported_since(check: TextCheck) -> int:
    """Count the people that imports have written since the check began to read."""
    since = check.started_at or check.asked_at
    sums = {
        name: Coalesce(Sum(Cast(KeyTextTransform(name, "counts"), IntegerField())), 0)
        for name in WRITTEN
    }
    later = Import.objects.filter(project=check.project_id, finished_at__gt=since)
    return sum(later.aggregate(**sums).values())
