"""Sizes of audiences: those that users view or use are counted in the background, a few at a time.

A count is exact if that is quick, else an estimate from a sample. Each audience is tried at most
once a day, and once after each import. If the process dies here: the next audiences are counted
with the next tick.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta

import redis
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.db.models import F, Max, Q
from django.db.models.fields.json import KeyTextTransform

from campaigns.audiences import reach
from campaigns.audiences.audience import Audience
from notifications.people.importing.model import Import
from notifications.postgres.budget import TooSlow

log = logging.getLogger(__name__)

SECONDS = 5.0  # of one tick; no count begins later
OLD = timedelta(days=1)
LATELY = timedelta(days=7)
ASKED = 2_000  # audiences that one tick checks for viewers


def looked_at(audience_ids: Iterable[int]) -> None:
    """Remember that a user views these audiences. Without Redis, they are just not counted."""
    marks = {_viewed_key(pk): True for pk in audience_ids}
    with suppress(redis.RedisError):
        cache.set_many(marks, timeout=round(LATELY.total_seconds()))


def count_some(*, now: datetime) -> int:
    """Count the audiences that are due, for some seconds. Returns how many were counted."""
    ends, counted = time.monotonic() + SECONDS, 0
    imports = last_imports(now)
    try:
        for audience in _due_audiences(now, imports):
            if time.monotonic() >= ends:
                break
            # Two ticks do not count the same audience. One that cannot be counted is tried once a
            # day, or once after an import.
            tried = f"audience-tried-{audience.pk}{imports.get(audience.project_id, '')}"
            if cache.add(tried, True, round(OLD.total_seconds())):
                counted += _count(audience, now)
    except redis.RedisError as error:
        log.warning("no audience is counted: %s", error)
    return counted


def last_imports(now: datetime) -> dict[int, str]:
    """When the last import of each project ended, in the format of the time of a size.

    A size counted before does not include the people of the import. Imports older than a day are
    left out: every size is old by then.
    """
    ended = Import.objects.filter(finished_at__gt=now - OLD).order_by().values("project")
    newest = ended.annotate(at=Max("finished_at")).values_list("project", "at")
    return {project: at.isoformat() for project, at in newest}


def _count(audience: Audience, now: datetime) -> bool:
    rules = audience.effective_rules
    try:
        audience.keep_size(reach.quick(audience.project_id, rules), rules, now)
    except (ValidationError, TooSlow) as error:
        log.warning("audience=%s cannot be counted: %s", audience.pk, error)
        return False
    return True


def _due_audiences(now: datetime, imports: dict[int, str]) -> list[Audience]:
    """Audiences with an old count that a campaign used, or a user viewed, lately; oldest first."""
    at = KeyTextTransform("at", "size")
    whole = Audience.objects.filter(filling__isnull=True).annotate(counted_at=at)
    is_old = Q(size__isnull=True) | Q(counted_at__lt=(now - OLD).isoformat())
    for project, ended in imports.items():
        is_old |= Q(project=project, counted_at__lt=ended)
    outdated = whole.filter(is_old)
    oldest = list(outdated.order_by(F("counted_at").asc(nulls_first=True), "pk")[:ASKED])
    viewed = cache.get_many([_viewed_key(audience.pk) for audience in oldest])
    lately = now - LATELY
    by_campaign = Q(campaigns__updated_at__gte=lately) | Q(campaigns__runs__started_at__gte=lately)
    used_by_campaigns = Audience.objects.filter(
        by_campaign, pk__in=[audience.pk for audience in oldest]
    )
    used = set(used_by_campaigns.values_list("pk", flat=True))
    return [
        audience for audience in oldest if audience.pk in used or _viewed_key(audience.pk) in viewed
    ]


def _viewed_key(audience_id: int) -> str:
    return f"audience-looked-{audience_id}"
