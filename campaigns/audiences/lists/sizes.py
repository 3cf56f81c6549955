"""Sizes: audiences that somebody looks at or uses are counted in the background, a few at a time.

A count is exact where that is quick, else an estimate of a sample; and of one audience no more than
one a day is tried, and one after each import. If the process dies here: the next of them are
counted with the next tick.
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

SECONDS = 5.0  # of one tick; none is begun later
OLD = timedelta(days=1)
LATELY = timedelta(days=7)
ASKED = 2_000  # audiences of which one tick asks whether anybody looks at them


def looked_at(audience_ids: Iterable[int]) -> None:
    """Somebody has them on the screen. Without Redis they are just not counted."""
    marks = {_looked(pk): True for pk in audience_ids}
    with suppress(redis.RedisError):
        cache.set_many(marks, timeout=round(LATELY.total_seconds()))


def count_some(*, now: datetime) -> int:
    """How many were counted."""
    ends, counted = time.monotonic() + SECONDS, 0
    imports = last_imports(now)
    try:
        for audience in _due(now, imports):
            if time.monotonic() >= ends:
                break
            # Two ticks do not count the same, and what cannot be counted is tried once a day, or
            # once after an import.
            tried = f"audience-tried-{audience.pk}{imports.get(audience.project_id, '')}"
            if cache.add(tried, True, round(OLD.total_seconds())):
                counted += _count(audience, now)
    except redis.RedisError as error:
        log.warning("no audience is counted: %s", error)
    return counted


def last_imports(now: datetime) -> dict[int, str]:
    """When the last import of a project has ended, as sizes keep their time: what was counted
    before does not know the people it brought. A day later every size is old anyhow."""
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


def _due(now: datetime, imports: dict[int, str]) -> list[Audience]:
    """The oldest count first; of these, what a campaign used lately, or somebody looked at."""
    at = KeyTextTransform("at", "size")
    whole = Audience.objects.filter(filling__isnull=True).annotate(counted_at=at)
    is_old = Q(size__isnull=True) | Q(counted_at__lt=(now - OLD).isoformat())
    for project, ended in imports.items():
        is_old |= Q(project=project, counted_at__lt=ended)
    old = whole.filter(is_old)
    found = list(old.order_by(F("counted_at").asc(nulls_first=True), "pk")[:ASKED])
    seen = cache.get_many([_looked(one.pk) for one in found])
    lately = now - LATELY
    by_campaign = Q(campaigns__updated_at__gte=lately) | Q(campaigns__runs__started_at__gte=lately)
    these = Audience.objects.filter(by_campaign, pk__in=[one.pk for one in found])
    used = set(these.values_list("pk", flat=True))
    return [one for one in found if one.pk in used or _looked(one.pk) in seen]


def _looked(audience_id: int) -> str:
    return f"audience-looked-{audience_id}"
