"""Contact search: find people among millions by the start of an id, by attributes, by devices.

The newest come first. If many match, reading people from the newest on finds them at once. If few
match, the indexes on attributes and starts of ids are faster. PostgreSQL estimates badly how many
people have an attribute. So both ways are tried, the first only for a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.postgres.budget import TooSlow, statement_timeout

NEWEST_SECONDS = 0.3
LOOKING_SECONDS = 3.0

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class SearchFilters:
    """The filters of a search; None: any value."""

    q: str | None = None
    external_id_prefix: str | None = None
    attributes: dict[str, Any] | None = None
    platform: str | None = None
    subscribed: bool | None = None
    updated_since: datetime | None = None


def apply_filters(people: QuerySet[Contact], wanted: SearchFilters) -> QuerySet[Contact]:
    """People who match all filters."""
    for start in (wanted.q, wanted.external_id_prefix):
        if start is not None:  # the index on starts ignores case
            people = people.filter(external_id__istartswith=start)
    if wanted.external_id_prefix is not None:
        people = people.filter(external_id__startswith=wanted.external_id_prefix)
    if wanted.attributes is not None:
        people = people.filter(attributes__contains=wanted.attributes)
    if wanted.platform is not None:
        people = people.filter(Exists(_active_devices(wanted.platform)))
    if wanted.subscribed is not None:
        people = people.filter(subscribed=wanted.subscribed)
    if wanted.updated_since is not None:  # not indexed: every write would pay for the index
        people = people.filter(updated_at__gte=wanted.updated_since)
    return people


def _active_devices(platform: str) -> QuerySet[Device]:
    return Device.objects.filter(contact=OuterRef("pk"), platform=platform, retired_at=None)


def run_search(read: Callable[[], Answer]) -> Answer:
    """Run a search newest first; if that takes too long, by the indexes. Raises TooSlow."""
    try:
        with statement_timeout(seconds=NEWEST_SECONDS):
            return read()
    except TooSlow:
        with statement_timeout(seconds=LOOKING_SECONDS), connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_seqscan = off")
            answer = read()
            cursor.execute("SET LOCAL enable_indexscan = on; SET LOCAL enable_seqscan = on")
            return answer
