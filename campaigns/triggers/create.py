"""Create: turns events into triggers, in the transaction that writes the events.

So an event and its triggers exist together or not at all. If the process dies here: the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection

from campaigns.audiences.behavior.event import matching
from campaigns.audiences.behavior.kind import Sql
from campaigns.triggers.automation import TOO_OLD_SECONDS, Automation
from notifications.people.events.writing import Event, Written
from notifications.values import exact

LISTENING = """
SELECT id FROM campaigns_automation
WHERE project_id = %s AND event_name = ANY(%s) AND state IN ('on', 'paused')
"""
MAKE = """
WITH given AS MATERIALIZED (
    SELECT * FROM unnest(%s::bigint[], %s::timestamptz[], %s::text[], %s::jsonb[])
        AS e (contact_id, at, name, properties)
), answered AS (
    {answered}
), judged AS (
    SELECT *, at + make_interval(secs => delay) AS due_at, CASE
        WHEN at + make_interval(secs => delay + {too_old}) < statement_timestamp() THEN 'too_old'
        WHEN paused THEN 'paused' ELSE '' END AS reason
    FROM answered
), made AS (
    INSERT INTO campaigns_trigger (automation_id, contact_id, happened_at, due_at, state, reason,
        properties, decided_at)
    SELECT automation, contact_id, at, due_at,
        CASE WHEN reason = '' THEN 'waiting' ELSE 'not_sent' END, reason,
        CASE WHEN reason = '' THEN properties ELSE '{{}}' END,
        CASE WHEN reason <> '' THEN statement_timestamp() END
    FROM judged
    RETURNING state, due_at
)
SELECT min(due_at) FROM made WHERE state = 'waiting'
"""
ANSWERED = """
SELECT e.*, %s::bigint AS automation, %s::int AS delay, %s::boolean AS paused
FROM given e WHERE e.name = %s AND {matches}
"""


def make_triggers(project_id: int, written: Written) -> datetime | None:
    """Create the triggers of new events. Returns when the first is due; None: none waits."""
    listening = _listening_automations(project_id, {event.name for _, event in written})
    if not listening:
        return None
    names = {automation.event_name for automation in listening}
    rows = [(person, event) for person, event in written if event.name in names]
    return _create_triggers(listening, rows)


def _listening_automations(project_id: int, names: set[str]) -> list[Automation]:
    """The automations for these events. Paused ones too: their triggers record why nothing was
    sent."""
    with connection.cursor() as cursor:  # for most calls, this query is all that automations cost
        cursor.execute(LISTENING, [project_id, list(names)])
        ids = [pk for (pk,) in cursor.fetchall()]
    return list(Automation.objects.filter(pk__in=ids)) if ids else []


def _create_triggers(
    listening: list[Automation], rows: Sequence[tuple[int, Event]]
) -> datetime | None:
    queries = [_matching_sql(automation) for automation in listening]
    statement = MAKE.format(
        answered=" UNION ALL ".join(query.sql for query in queries), too_old=TOO_OLD_SECONDS
    )
    params: list[Any] = [
        [person for person, _ in rows],
        [event.at for _, event in rows],
        [event.name for _, event in rows],
        [exact.dumps(event.properties).decode() for _, event in rows],
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            statement, [*params, *(param for query in queries for param in query.params)]
        )
        due: datetime | None = cursor.fetchone()[0]
    return due


def _matching_sql(automation: Automation) -> Sql:
    matches = matching(automation.where)
    paused = automation.state == Automation.State.PAUSED
    return Sql(
        ANSWERED.format(matches=matches.sql),
        [automation.pk, automation.delay_seconds, paused, automation.event_name, *matches.params],
    )
