"""Converting: attributes each goal event to one run, in whatever order events and receipts arrive.

Both ask the same question: which touch (open or receipt) does this event belong to? The answer
depends on the rows alone. A late receipt may move an event from one run to another, and the sums
move with it.

Concurrent writers must not miss each other's rows. Events of a project are written concurrently,
but no event is written while touches are added, and the other way round. Only one transaction of a
project counts at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection, transaction

from campaigns.engagement.goal import TOLD_BY
from campaigns.failpoints import hit
from campaigns.runs.run import Run
from notifications.people.events.partitions import TABLE
from notifications.people.events.writing import Written
from notifications.values import exact

GOALS = """
SELECT name FROM unnest(%s::text[]) AS name WHERE EXISTS (
    SELECT FROM campaigns_run WHERE project_id = %s AND goal_event = name AND goal_event <> ''
)
"""
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('goals of project ' || %s, 0))"
SIDE_BY_SIDE = "SELECT pg_advisory_xact_lock_shared(hashtextextended('goals of project ' || %s, 0))"
COUNTING = "SELECT pg_advisory_xact_lock(hashtextextended('counts goals of project ' || %s, 0))"

GIVEN = """
SELECT * FROM unnest(%s::bigint[], %s::timestamptz[], %s::text[], %s::jsonb[])
    AS e (contact_id, at, name, properties)
"""
# The last touch before the event, among the runs that have it as their goal.
LAST_TOUCH = """
SELECT t.run_id, t.seq, run.goal_value, run.started_at
FROM campaigns_touch t JOIN campaigns_run run ON run.id = t.run_id AND run.goal_event = e.name
WHERE t.contact_id = e.contact_id AND t.at <= e.at
    AND e.at < t.at + make_interval(secs => run.goal_within_seconds)
ORDER BY t.at DESC, t.run_id DESC, t.seq DESC LIMIT 1
"""
TOUCHED = f"SELECT e.ordinality - 1 FROM ({GIVEN}) e, LATERAL ({LAST_TOUCH}) last".replace(
    "AS e (contact_id, at, name, properties)",
    "WITH ORDINALITY AS e (contact_id, at, name, properties, ordinality)",
)
# Adds what was moved to the sums.
MOVES = """reached AS (
    SELECT run_id, seq, ((had.times + net > 0)::int - (had.times > 0)::int) AS recipients
    FROM (SELECT run_id, seq, sum(times) AS net FROM moved GROUP BY 1, 2) m, LATERAL (
        SELECT count(*) AS times FROM campaigns_conversion c
        WHERE c.run_id = m.run_id AND c.seq = m.seq
    ) had
), steps AS (
    SELECT run_id, seq, at, 0 AS recipients, times, amount FROM moved
    UNION ALL
    SELECT run_id, seq, NULL, recipients, 0, 0 FROM reached
), counted AS (
    SELECT s.run_id, cut.by, COALESCE(cut.value, '') AS value,
        sum(recipients) AS recipients, sum(times) AS times, sum(amount) AS amount
    FROM steps s
    JOIN campaigns_run run ON run.id = s.run_id
    LEFT JOIN campaigns_recipient r ON r.run_id = s.run_id AND r.seq = s.seq
    CROSS JOIN LATERAL (VALUES
        ('', ''), ('platform', r.platform), ('locale', r.locale), ('timezone', r.timezone),
        ('app_version', r.app_version), ('variant', r.variant::text),
        ('after', greatest(0, floor(extract(epoch FROM s.at - run.started_at) / 600))::text)
    ) AS cut (by, value)
    WHERE (s.at IS NOT NULL OR cut.by <> 'after')
        AND (cut.by <> 'variant' OR r.variant IS NOT NULL)
    GROUP BY 1, 2, 3
    HAVING (sum(recipients), sum(times), sum(amount)) <> (0, 0, 0)
)
INSERT INTO campaigns_goalsum AS kept (run_id, by, value, recipients, times, amount)
SELECT run_id, by, value, recipients, times, amount FROM counted ORDER BY run_id, by, value
ON CONFLICT (run_id, by, value) DO UPDATE SET recipients = kept.recipients + excluded.recipients,
    times = kept.times + excluded.times, amount = kept.amount + excluded.amount
"""
# A value too large for the sums counts as no value.
CONVERT = f"""
WITH given AS MATERIALIZED (
    SELECT DISTINCT ON (contact_id, at, what) * FROM (
        SELECT contact_id, at, name, properties, md5(name || ' ' || properties)::uuid AS what
        FROM ({{events}}) event
    ) e ORDER BY contact_id, at, what
), found AS MATERIALIZED (
    SELECT e.contact_id, e.at, e.what, last.run_id, last.seq, last.started_at,
        CASE WHEN jsonb_typeof(e.properties -> last.goal_value) = 'number'
            AND abs((e.properties ->> last.goal_value)::numeric) < 1e15
            THEN round((e.properties ->> last.goal_value)::numeric, 6) END AS value
    FROM given e, LATERAL ({LAST_TOUCH}) last
), before AS MATERIALIZED (
    SELECT was.* FROM campaigns_conversion was JOIN found USING (contact_id, at, what)
    WHERE (was.run_id, was.seq) <> (found.run_id, found.seq)
), kept AS (
    INSERT INTO campaigns_conversion AS was (contact_id, at, what, run_id, seq, value)
    SELECT contact_id, at, what, run_id, seq, value FROM found
    ON CONFLICT (contact_id, at, what) DO UPDATE
    SET run_id = excluded.run_id, seq = excluded.seq, value = excluded.value
    WHERE (was.run_id, was.seq) <> (excluded.run_id, excluded.seq)
    RETURNING contact_id, at, what, run_id, seq, value
), moved AS MATERIALIZED (
    SELECT run_id, seq, at, 1 AS times, COALESCE(value, 0) AS amount FROM kept
    UNION ALL
    SELECT run_id, seq, at, -1, -COALESCE(value, 0) FROM before
), {MOVES}
"""
# --- Events arrive --------------------------------------------------------------------------------


def count_events(project_id: int, written: Written) -> None:
    """Count new events for the goals of runs, in the transaction that writes the events.

    If the process dies here: neither the events nor their conversions are there.
    """
    with connection.cursor() as cursor:
        cursor.execute(GOALS, [sorted({event.name for _, event in written}), project_id])
        if not (names := {name for (name,) in cursor.fetchall()}):
            return  # for most calls, the query above is all that goals cost
        rows = [(person, event) for person, event in written if event.name in names]
        cursor.execute(SIDE_BY_SIDE, [project_id])
        cursor.execute(TOUCHED, _event_columns(rows))
        if touched := [rows[place] for (place,) in cursor.fetchall()]:
            hit("before_converted")
            cursor.execute(COUNTING, [project_id])
            cursor.execute(CONVERT.format(events=GIVEN), _event_columns(touched))


def _event_columns(rows: Sequence[tuple[int, Any]]) -> list[Any]:
    return [
        [person for person, _ in rows],
        [event.at for _, event in rows],
        [event.name for _, event in rows],
        [exact.dumps(event.properties).decode() for _, event in rows],
    ]


def alone(cursor: Any, project_id: int) -> None:
    """Lock the project's goals: until the transaction ends, nobody else changes their counts."""
    cursor.execute(ALONE, [project_id])


# --- Receipts arrive ------------------------------------------------------------------------------

WITH_GOALS = """
SELECT id, project_id, goal_after FROM campaigns_run WHERE id = ANY(%s) AND goal_event <> ''
ORDER BY project_id, id
"""
TOUCH = """
INSERT INTO campaigns_touch AS touch (run_id, seq, contact_id, at)
SELECT run.id, receipt.seq, r.contact_id, min(
    CASE WHEN receipt.phone_at BETWEEN run.started_at AND receipt.at THEN receipt.phone_at
    ELSE receipt.at END)
FROM campaigns_receipt receipt
JOIN campaigns_run run ON run.id = receipt.run_id
JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = receipt.seq
WHERE receipt.run_id = %(run)s AND receipt.event = ANY(%(events)s)
    AND receipt.seq = ANY(%(seqs)s::int[])
GROUP BY run.id, receipt.seq, r.contact_id ORDER BY receipt.seq
ON CONFLICT (run_id, seq) DO UPDATE SET at = excluded.at WHERE excluded.at < touch.at
RETURNING seq
"""
# The events of these people that a touch may count for. Also the events that counted for a touch
# before it turned out to be earlier: they may belong to another touch now.
AFTER_TOUCH = f"""
SELECT e.contact_id, e.at, e.name, e.properties
FROM campaigns_touch t
JOIN campaigns_run run ON run.id = t.run_id
JOIN {TABLE} e ON e.contact_id = t.contact_id AND e.name = run.goal_event
    AND e.at >= t.at AND e.at < t.at + make_interval(secs => run.goal_within_seconds)
WHERE t.run_id = %(run)s AND t.seq = ANY(%(seqs)s::int[])
UNION ALL
SELECT e.contact_id, e.at, e.name, e.properties
FROM campaigns_touch t
JOIN campaigns_run run ON run.id = t.run_id
JOIN campaigns_conversion c ON c.run_id = t.run_id AND c.seq = t.seq
    AND c.at >= t.at + make_interval(secs => run.goal_within_seconds)
JOIN {TABLE} e ON e.contact_id = c.contact_id AND e.at = c.at AND e.name = run.goal_event
WHERE t.run_id = %(run)s AND t.seq = ANY(%(seqs)s::int[])
"""
# After that: removes conversions that belong to no touch any more.
TOO_LATE = f"""
WITH gone AS (
    DELETE FROM campaigns_conversion c USING campaigns_touch t, campaigns_run run
    WHERE t.run_id = %(run)s AND t.seq = ANY(%(seqs)s::int[]) AND run.id = t.run_id
        AND c.run_id = t.run_id AND c.seq = t.seq
        AND c.at >= t.at + make_interval(secs => run.goal_within_seconds)
    RETURNING c.*
), moved AS MATERIALIZED (
    SELECT run_id, seq, at, -1 AS times, -COALESCE(value, 0) AS amount FROM gone
), {MOVES}
"""


def count_touches(receipts: dict[int, Iterable[int]]) -> None:
    """Count new opens (or receipts) for goals, in the transaction that keeps the receipts.
    `receipts`: recipient numbers by run."""
    with connection.cursor() as cursor:
        cursor.execute(WITH_GOALS, [list(receipts)])
        for run_id, project_id, after in cursor.fetchall():
            alone(cursor, project_id)
            seqs = sorted(set(receipts[run_id]))
            params = {"run": run_id, "events": _touch_events(after), "seqs": seqs}
            cursor.execute(TOUCH, params)
            if seqs := [seq for (seq,) in cursor.fetchall()]:
                _convert(cursor, run_id, seqs)


def count_again(run: Run, seqs: range) -> int:
    """Repair what a release without goals has kept, in a transaction of its own. Returns how many
    touches were missing and sums changed."""
    numbers = list(seqs)
    params: dict[str, Any] = {
        "run": run.pk,
        "events": _touch_events(run.goal_after),
        "seqs": numbers,
    }
    with transaction.atomic(), connection.cursor() as cursor:
        alone(cursor, run.project_id)
        cursor.execute(TOUCH, params)
        missing: int = cursor.rowcount
        return missing + _convert(cursor, run.pk, numbers)


def _convert(cursor: Any, run_id: int, seqs: list[int]) -> int:
    """Attribute the events of these touches anew. Returns how many sums changed."""
    touched = {"run": run_id, "seqs": seqs}
    cursor.execute(CONVERT.format(events=AFTER_TOUCH), touched)
    moved: int = cursor.rowcount
    cursor.execute(TOO_LATE, touched)
    return moved + int(cursor.rowcount)


def _touch_events(after: str) -> list[int]:
    return [int(event) for event in TOLD_BY[Run.GoalAfter(after)]]
