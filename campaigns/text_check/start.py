"""Starts a text check. Its text and rules are frozen, so all of it reads one text for one
audience.

If the process dies here: all rows exist or none does, and the sweep starts those that exist.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils.translation import get_language, gettext

from campaigns.planning import campaign_variants, launch_problems
from campaigns.planning.campaign import Campaign
from campaigns.text_check.model import UNDER_WAY, TextCheck

MAX_OF_PROJECT = 3  # campaigns: each text holds a worker for as long as it reads
DAYS: int = TextCheck._meta.get_field("days").get_default()


class Refused(Exception):
    """Nothing is checked; the message tells the caller why."""


def begin(
    campaign: Campaign, *, tries_links: bool = False, days: int = DAYS, by: str, now: datetime
) -> list[TextCheck]:
    """Create a check for each text of the campaign. Raises Refused, Campaign.DoesNotExist."""
    with transaction.atomic():
        locked = Campaign.locked(campaign.pk)
        _refuse_what_cannot_be_read(locked, now)
        _refuse_too_many(locked)
        texts = campaign_variants.wordings(locked)
        over = Q(state__in=("cancelled", "failed")) | ~Q(
            variant__in=[wording.number for wording in texts]
        )
        TextCheck.objects.filter(over, campaign=locked.pk).delete()
        rules = locked.audience.frozen_rules()
        return [
            TextCheck.objects.create(
                project_id=locked.project_id,
                campaign=locked,
                variant=wording.number,
                by=by,
                language=get_language() or "en",
                tries_links=tries_links,
                days=days,
                content=wording.template.frozen(),
                rules=rules,
                asks=locked.asks,
                asked_at=now,
            )
            for wording in texts
        ]


def _refuse_what_cannot_be_read(campaign: Campaign, now: datetime) -> None:
    problems = launch_problems.unready(campaign, now)
    wrong = [problems[name] for name in ("audience", "template", "variants") if name in problems]
    if wrong:
        raise Refused(" ".join(wrong))


def _refuse_too_many(campaign: Campaign) -> None:
    going = TextCheck.objects.filter(project=campaign.project_id, state__in=UNDER_WAY)
    if going.filter(campaign=campaign.pk).exists():
        raise Refused(gettext("The texts of this campaign are being checked already."))
    if going.values("campaign").distinct().count() >= MAX_OF_PROJECT:
        text = gettext("%(most)s text checks of this project are under way. Try again later.")
        raise Refused(text % {"most": MAX_OF_PROJECT})
