"""Day: the run that holds a project's messages of one day. It ends when no message of it is left.

It is open from its first message on. `finished_at` is written at once, so that code that looks for
unfinished runs leaves it alone; and again at its end.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from campaigns.runs import ledger, sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from notifications.postgres import clock

TABLES = ("campaigns_recipient", "campaigns_delivery")
MESSAGES = "campaigns_message"
LONGEST = 28 * 86_400  # seconds, FCM's own limit
LATER = timedelta(hours=1)  # after midnight: callers that found the day open have then committed


def run_of_today(project_id: int) -> int:
    """The id of today's run. The first message of a day creates it."""
    now = clock.now()
    day = now.astimezone(UTC).date().isoformat()
    return _find_run_id(project_id, day) or _create_run(project_id, day, now)


def _find_run_id(project_id: int, day: str) -> int | None:
    days = Run.every.filter(project=project_id, kind=Run.Kind.MESSAGES, occurrence=day)
    return days.values_list("pk", flat=True).first()


def _create_run(project_id: int, day: str, now: datetime) -> int:
    """Create the run of a day, unless a concurrent caller did. Returns its id."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            key = f"messages of project {project_id}"
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        if existing := _find_run_id(project_id, day):
            return existing
        run = Run.every.create(
            project_id=project_id,
            kind=Run.Kind.MESSAGES,
            occurrence=day,
            state=Run.State.OPEN,
            content={},
            rules={},
            on_unknown=Run.OnUnknown.RESEND,
            ttl_seconds=2 * LONGEST,
            max_lateness_seconds=LONGEST,
            scheduled_at=now,
            started_at=now,
            finished_at=now,
            launched_by="messages",
            planned=0,
        )
        _create_partitions(run.pk)
    return run.pk


def _create_partitions(run_id: int) -> None:
    """Create and attach the run's partitions, without waiting for readers of the others."""
    for table in TABLES:
        ledger.detached_partition(table, run_id)
        ledger.attach_partition(table, run_id)
    ledger.index_people(TABLES[0], run_id)
    ledger.detached_partition(MESSAGES, run_id)
    name = ledger.partition(MESSAGES, run_id)
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {name} ADD PRIMARY KEY (run_id, number)")
        cursor.execute(f"CREATE INDEX ON {name} (first_seq)")
        cursor.execute(
            f"ALTER TABLE {MESSAGES} ATTACH PARTITION {name} FOR VALUES IN ({int(run_id)})"
        )


def open_runs() -> QuerySet[Run]:
    return Run.every.filter(state=Run.State.OPEN).order_by("pk")


def close(run: Run, now: datetime) -> None:
    """End a day that is over, if none of its messages waits any more."""
    ends = datetime.fromisoformat(f"{run.occurrence}T00:00:00+00:00") + timedelta(days=1) + LATER
    if now < ends:
        return
    with transaction.atomic():
        run = Run.every.select_for_update(no_key=True).get(pk=run.pk)
        messages = Message.objects.filter(run_id=run.pk)
        waiting = messages.filter(state=Message.State.WAITING) | messages.filter(
            list_after__isnull=False
        )
        left = run.chunks.exclude(state=Chunk.State.CLOSED)
        if run.state == Run.State.OPEN and not waiting.exists() and not left.exists():
            Run.every.filter(pk=run.pk).update(
                state=Run.State.FINISHED, finished_at=Now(), **sums.sums_of(run)
            )
