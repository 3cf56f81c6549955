"""Message numbers of a project: what is waiting, and today's outcomes.

The day is in the project's time zone, as on every other page. A run of messages covers a day in
UTC, so messages since midnight may belong to two runs.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, F, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from campaigns.results.reports import in_plain_words
from campaigns.runs.chunk import Chunk
from campaigns.runs.messages import outcome
from campaigns.runs.messages.day import open_runs
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.runs.sums import STATUSES, Totals
from notifications.people.figures import midnight
from notifications.people.project import Project

REASONS = """
SELECT reason, sum(count::int)::int
FROM campaigns_chunk k JOIN campaigns_run r ON r.id = k.run_id,
    jsonb_each_text(k.reasons) AS each (reason, count)
WHERE k.run_id = ANY(%s) AND COALESCE(k.queued_at, r.started_at) >= %s
GROUP BY reason ORDER BY 2 DESC, 1
"""


def sends_messages(project: Project) -> bool:
    return bool(Run.every.filter(project=project, kind=Run.Kind.MESSAGES).exists())


def numbers_of(project: Project, now: datetime) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(REASONS, [_runs_of_today(project, now), midnight(project.timezone, now)])
        reasons = in_plain_words(dict(cursor.fetchall()))
    return {**stand_of(project, now), "reasons": reasons}


def stand_of(project: Project, now: datetime) -> dict[str, Any]:
    """The numbers without the reasons, which are read from every chunk of the day."""
    sums = _chunks_of_today(project, now).aggregate(
        planned=Sum(F("last_seq") - F("first_seq") + 1, default=0),
        **{name: Sum(name, default=0) for name in STATUSES},
    )
    return {"totals": Totals(**sums), **_waiting(project, now)}


def _chunks_of_today(project: Project, now: datetime) -> QuerySet[Chunk]:
    # Chunks of an earlier release have no time of their own.
    chunks = Chunk.objects.alias(taken_at=Coalesce("queued_at", "run__started_at"))
    begins = midnight(project.timezone, now)
    return chunks.filter(run__in=_runs_of_today(project, now), taken_at__gte=begins)


def _runs_of_today(project: Project, now: datetime) -> list[int]:
    """Runs of today, and earlier ones from which messages may still leave today."""
    day = midnight(project.timezone, now).astimezone(UTC).date().isoformat()
    ours = Run.every.filter(project=project, kind=Run.Kind.MESSAGES)
    runs = ours.filter(Q(occurrence__gte=day) | Q(state=Run.State.OPEN))
    return list(runs.values_list("pk", flat=True))


def waits(numbers: dict[str, Any] | None) -> bool:
    """Whether messages may leave at any moment, so that the page must refresh."""
    return numbers is not None and bool(numbers["due"] or numbers["totals"].waiting)


def _waiting(project: Project, now: datetime) -> dict[str, Any]:
    """Messages that are due, of all open runs, and messages for later."""
    days = list(open_runs().filter(project=project).values_list("pk", flat=True))
    rows = Message.objects.filter(run_id__in=days, state=Message.State.WAITING)
    blocks = list(outcome.blocks(days).values())
    due = rows.filter(at__lte=now).aggregate(count=Count("number"), oldest=Min("at"))
    age: timedelta | None = now - due["oldest"] if due["oldest"] else None
    later = rows.filter(at__gt=now).count()
    return {
        "due": due["count"],
        "oldest": age,
        "later": later,
        "blocked": blocks[-1] if blocks else None,
    }
