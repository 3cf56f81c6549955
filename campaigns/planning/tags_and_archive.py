"""Filing: tags on campaigns, and the archive for campaigns that nobody needs to see any more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.staff import audit

LONGEST_TAG = 30
MOST_TAGS = 10
OFFERED = 50


@dataclass(frozen=True)
class Filed:
    """The campaigns that were changed, and those that stayed as they were."""

    done: list[Campaign]
    kept: list[Campaign]


def tags_in(text: str) -> list[str]:
    """Parse “Shop, news, shop” to Shop, news: in the order given, each once, ignoring case."""
    tags: dict[str, str] = {}
    for tag in text.split(","):
        if tidy := " ".join(tag.split()):
            tags.setdefault(tidy.casefold(), tidy)
    if too_long := [tag for tag in tags.values() if len(tag) > LONGEST_TAG]:
        raise ValidationError(
            _("“%(tag)s” is too long: a tag has at most %(most)d characters.")
            % {"tag": too_long[0], "most": LONGEST_TAG}
        )
    return list(tags.values())


def known_tags(project_ids: Iterable[int]) -> list[str]:
    """Return the tags of campaigns that are not archived, by name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT unnest(tags) AS tag FROM campaigns_campaign"
            " WHERE project_id = ANY(%s) AND archived_at IS NULL ORDER BY tag LIMIT %s",
            [list(project_ids), OFFERED],
        )
        return [tag for (tag,) in cursor.fetchall()]


def set_tags(campaign: Campaign, tags: list[str], *, by: str) -> None:
    _check_tags(campaign, tags)
    before, campaign.tags = campaign.tags, tags
    if before == tags:
        return
    with transaction.atomic():
        campaign.save(update_fields=["tags"])
        _record_change(campaign, by, gettext_noop("tagged"), {"tags": [before, tags]})


def add_tags(campaigns: Iterable[Campaign], tags: list[str], *, by: str) -> None:
    """Add tags to each campaign. Raises ValidationError, and changes none, if one has too many."""
    with transaction.atomic():
        for campaign in campaigns:
            set_tags(campaign, tags_in(",".join([*campaign.tags, *tags])), by=by)


def _check_tags(campaign: Campaign, tags: list[str]) -> None:
    if len(tags) > MOST_TAGS:
        raise ValidationError(
            _("“%(campaign)s” would have %(count)d tags; the limit is %(most)d.")
            % {"campaign": campaign, "count": len(tags), "most": MOST_TAGS}
        )


def archive(campaigns: QuerySet[Campaign], *, by: str, now: datetime) -> Filed:
    """Hide campaigns from the list; nothing is deleted. Those with unfinished runs stay in it."""
    with transaction.atomic():
        rows = list(campaigns.filter(archived_at=None).select_for_update(of=("self",), no_key=True))
        going = unfinished(Campaign.objects.filter(pk__in=[row.pk for row in rows]))
        unfinished_ids = set(going.values_list("pk", flat=True))
        return Filed(
            done=[_set_archived(row, now, by) for row in rows if row.pk not in unfinished_ids],
            kept=[row for row in rows if row.pk in unfinished_ids],
        )


def bring_back(campaigns: QuerySet[Campaign], *, by: str) -> Filed:
    with transaction.atomic():
        rows = campaigns.exclude(archived_at=None).select_for_update(of=("self",), no_key=True)
        return Filed(done=[_set_archived(row, None, by) for row in list(rows)], kept=[])


def unfinished(campaigns: QuerySet[Campaign]) -> QuerySet[Campaign]:
    """Return the campaigns with a run that waits, sends or is paused."""
    runs = Run.objects.filter(campaign=OuterRef("pk"), finished_at=None)
    return campaigns.filter(Exists(runs))


def _set_archived(campaign: Campaign, at: datetime | None, by: str) -> Campaign:
    campaign.archived_at = at
    campaign.save(update_fields=["archived_at"])
    _record_change(campaign, by, gettext_noop("archived") if at else "brought back", {})
    return campaign


def _record_change(campaign: Campaign, by: str, action: str, changes: dict[str, list[Any]]) -> None:
    audit.record(by, action, campaign, project=campaign.project, changes=changes)
