"""Remove alerts that ended long ago."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet

from campaigns.alerts.models import Alert
from notifications.people.retention import Kept, Kind


def _ended_alerts(project_id: int) -> QuerySet[Alert]:
    return Alert.objects.filter(project=project_id, ended_at__isnull=False)


def look(project_id: int, before: datetime | None) -> Kept:
    older = Q(ended_at__lt=before) if before else Q(pk=None)
    counts = _ended_alerts(project_id).aggregate(
        there=Count("pk"),
        older=Count("pk", filter=older),
        next_at=Min("ended_at", filter=~older),
    )
    return Kept(**counts)


def remove(ends: dict[int, datetime | None]) -> Iterator[int]:
    """If the process dies here: the next pass removes the rest."""
    for project_id, end in ends.items():
        if end is not None:
            count, _by_model = _ended_alerts(project_id).filter(ended_at__lt=end).delete()
            yield count


KIND = Kind("alerts", look, remove)
