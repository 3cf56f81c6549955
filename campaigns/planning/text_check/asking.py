"""Asking for a text check: what is read is frozen, so that all of it is one text for one audience.

If the process dies here: all of it is there or none, and the sweep rings for what is.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import get_language, gettext

from campaigns.planning.campaign import Campaign
from campaigns.planning.text_check.text_check import UNDER_WAY, TextCheck

MOST_OF_PROJECT = 3  # under way: each holds a worker for as long as it reads
DAYS: int = TextCheck._meta.get_field("days").get_default()


class Refused(Exception):
    """Nothing is checked; its text says why, to who asked."""


def begin(
    campaign: Campaign, *, tries_links: bool = False, days: int = DAYS, by: str, now: datetime
) -> TextCheck:
    """Write down what is to be read. Raises Refused, and Campaign.DoesNotExist."""
    with transaction.atomic():
        held = Campaign.locked(campaign.pk)
        _refuse_what_cannot_be_read(held, now)
        _refuse_too_many(held)
        TextCheck.objects.filter(campaign=held.pk, state__in=("cancelled", "failed")).delete()
        return TextCheck.objects.create(
            project_id=held.project_id,
            campaign=held,
            by=by,
            language=get_language() or "en",
            tries_links=tries_links,
            days=days,
            content=held.content,
            rules=held.audience.frozen_rules(),
            asks=held.asks,
            asked_at=now,
        )


def _refuse_what_cannot_be_read(campaign: Campaign, now: datetime) -> None:
    problems = campaign.unready(now)
    wrong = [problems[name] for name in ("audience", "template") if name in problems]
    if wrong:
        raise Refused(" ".join(wrong))


def _refuse_too_many(campaign: Campaign) -> None:
    going = TextCheck.objects.filter(project=campaign.project_id, state__in=UNDER_WAY)
    if going.filter(campaign=campaign.pk).exists():
        raise Refused(gettext("The texts of this campaign are being checked already."))
    if going.count() >= MOST_OF_PROJECT:
        said = gettext("%(most)s text checks of this project are under way. Try again later.")
        raise Refused(said % {"most": MOST_OF_PROJECT})
