"""Taking: turns a day's due messages into recipients and one chunk, in one transaction.

Messages of the same moment share a chunk, and with it windows and commits. They are of one
category, because consent is checked for a window at once. They are of one lane: messages to
thousands use the queue of campaigns. The worker that takes them sends them, so the chunk is its own
from the first moment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

from campaigns.runs import final_outcomes
from campaigns.runs.chunk import LEASE, Chunk
from campaigns.runs.claiming import Claim, count_interrupted
from campaigns.runs.final_outcomes import NO_DEVICE, Ending
from campaigns.runs.messages.due_days import TO_TRY_AGAIN
from campaigns.runs.messages.message import category_of
from campaigns.runs.run import Run
from notifications.people.consent import caps, eligibility
from notifications.people.installations import same_installation
from notifications.postgres import clock
from notifications.values import exact

AT_ONCE = 500  # messages

# It may wait for another worker that takes messages. Other data read in the same statement would
# be older than the wait.
LOCK = """
SELECT planned FROM campaigns_run WHERE id = %(run)s AND state = 'open' FOR NO KEY UPDATE
"""

DUE = """
WITH first AS (
    SELECT category_kind, category FROM campaigns_message
    WHERE run_id = %(run)s AND state = 'waiting' AND bulk = %(bulk)s AND at <= statement_timestamp()
    ORDER BY at LIMIT 1
)
SELECT number, category_kind, category, inbox IS NOT NULL OR shares IS NOT NULL
FROM campaigns_message JOIN first USING (category_kind, category)
WHERE run_id = %(run)s AND state = 'waiting' AND bulk = %(bulk)s AND at <= statement_timestamp()
ORDER BY at LIMIT %(most)s FOR UPDATE OF campaigns_message SKIP LOCKED
"""

# Devices that the project leaves out as unseen for long get no messages either. A message to one
# device goes to the current address of its installation.
TAKE = f"""
WITH due AS (
    -- Gone: erased while the call was being written, so that nobody cleared its text.
    SELECT m.number, m.contact_id, m.device_id, c.id IS NULL AND m.content IS NOT NULL
        AND m.list_after IS NULL AND NOT EXISTS (
            SELECT FROM campaigns_message other
            WHERE other.run_id = %(run)s AND other.shares = m.number
        ) AS gone
    FROM campaigns_message m LEFT JOIN notifications_contact c ON c.id = m.contact_id
    WHERE m.run_id = %(run)s AND m.number = ANY(%(numbers)s)
), found AS (
    SELECT due.number, c.id AS contact_id, d.id AS device_id, d.platform, c.locale, c.timezone,
        d.app_version, %(planned)s + row_number() OVER (ORDER BY due.number, d.id) AS seq
    FROM due
    JOIN notifications_contact c ON c.id = due.contact_id
    JOIN notifications_project p ON p.id = c.project_id
    JOIN notifications_device d ON d.contact_id = c.id AND d.retired_at IS NULL
        AND (due.device_id IS NULL OR d.id = due.device_id OR EXISTS (
            SELECT FROM notifications_device named
            WHERE named.id = due.device_id AND {same_installation("named", "d")}
        ))
        AND (p.leave_out_unseen_days IS NULL OR d.last_seen_at
            >= statement_timestamp() - make_interval(days => p.leave_out_unseen_days))
), written AS (
    INSERT INTO campaigns_recipient (run_id, seq, contact_id, device_id, platform, locale, timezone,
        app_version, message)
    SELECT %(run)s, seq, contact_id, device_id, platform, locale, timezone, app_version, number
    FROM found
), marked AS (
    UPDATE campaigns_message m
    SET state = 'taken', first_seq = ends.first_seq, last_seq = ends.last_seq,
        content = CASE WHEN gone THEN '{{}}' ELSE content END,
        variables = CASE WHEN gone THEN '{{}}' ELSE variables END,
        inbox = CASE WHEN gone THEN NULL ELSE inbox END
    FROM due LEFT JOIN (
        SELECT number, min(seq) AS first_seq, max(seq) AS last_seq FROM found GROUP BY number
    ) ends USING (number)
    WHERE m.run_id = %(run)s AND m.number = due.number
), counted AS (
    SELECT count(*) AS recipients FROM found
), chunk AS (
    INSERT INTO campaigns_chunk (run_id, number, first_seq, last_seq, state, lease_until, attempt,
        queued_at, lapses, accepted, rejected, skipped, unknown, copies, reasons, bulk)
    SELECT %(run)s, last.number + 1, %(planned)s + 1, %(planned)s + recipients, 'leased',
        statement_timestamp() + %(lease)s, 1, statement_timestamp(), 0, 0, 0, 0, 0, 0, '{{}}',
        %(bulk)s
    FROM counted, (
        SELECT COALESCE(max(number), 0) AS number FROM campaigns_chunk WHERE run_id = %(run)s
    ) last
    WHERE recipients > 0
    RETURNING id, number, first_seq, last_seq
), grown AS (
    UPDATE campaigns_run SET planned = planned + recipients,
        taken_at = CASE WHEN %(bulk)s THEN taken_at ELSE statement_timestamp() END
    FROM counted WHERE id = %(run)s AND recipients > 0
)
SELECT (
    SELECT jsonb_agg(jsonb_build_array(due.number, c.external_id) ORDER BY due.number)
    FROM due JOIN notifications_contact c ON c.id = due.contact_id
    WHERE NOT EXISTS (SELECT FROM found WHERE found.number = due.number)
), id, number, first_seq, last_seq
FROM counted LEFT JOIN chunk ON TRUE
"""

# An ARRAY is computed once. PostgreSQL may run `IN (SELECT …)` once for each row of a small table,
# and each time the subquery would lock, and lease, another chunk.
AGAIN = f"""
UPDATE campaigns_chunk SET state = 'leased', lease_until = statement_timestamp() + %(lease)s,
    attempt = attempt + 1, not_before = NULL
WHERE id = ANY(ARRAY(
    SELECT id FROM campaigns_chunk
    WHERE run_id = %(run)s AND bulk = %(bulk)s AND {TO_TRY_AGAIN}
    ORDER BY number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
))
RETURNING id
"""


Beside = Callable[[int, list[int]], None]


def take(run: Run, beside: Beside, *, bulk: bool = False) -> Claim | None:
    """Claim the next chunk of the day: of new messages, else a chunk to try again.

    `beside` is called with the run and the numbers of new messages that may go into an inbox, in
    the transaction that takes them.

    If the process dies after the commit: the lease lapses, and the sweep lets the chunk be taken
    again.
    """
    return _claim_new(run, beside, bulk) or _again(run, bulk)


def _claim_new(run: Run, beside: Beside, bulk: bool) -> Claim | None:
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(LOCK, {"run": run.pk})
            locked = cursor.fetchone()
            if locked is None:
                return None
            (planned,) = locked
            cursor.execute(DUE, {"run": run.pk, "bulk": bulk, "most": AT_ONCE})
            due_messages = cursor.fetchall()
            if not due_messages:
                return None
            numbers = [number for number, *_ in due_messages]
            with_inbox = [number for number, *_, may_have_one in due_messages if may_have_one]
            values: dict[str, Any] = {"run": run.pk, "numbers": numbers}
            cursor.execute(TAKE, values | {"planned": planned, "bulk": bulk, "lease": LEASE})
            without_device, *new_chunk = cursor.fetchone()
            if with_inbox:
                beside(run.pk, with_inbox)
            _report_without_device(run, exact.loads(without_device or "[]"))
            if new_chunk[0]:
                _, kind, category, _ = due_messages[0]
                chunk = _inserted_chunk(run, *new_chunk, bulk=bulk)
                return _claim_chunk(run, chunk, kind, category)
        # None of these people has a device: their messages are done, and there may be more.


def _report_without_device(run: Run, without_device: list[tuple[int, str]]) -> None:
    """Report messages to people without a device. They have no recipient and no delivery row, so
    no other code reports them."""
    if without_device:
        ended = [Ending(*row, status="skipped", reason=NO_DEVICE) for row in without_device]
        final_outcomes.tell(run, ended, clock.now())


def _inserted_chunk(
    run: Run, pk: int, number: int, first_seq: int, last_seq: int, *, bulk: bool
) -> Chunk:
    """The chunk that was just inserted, without reading its row again."""
    seqs = {"first_seq": first_seq, "last_seq": last_seq}
    state = Chunk.State.LEASED
    return Chunk(pk=pk, run=run, number=number, state=state, attempt=1, bulk=bulk, **seqs)


def _again(run: Run, bulk: bool) -> Claim | None:
    with transaction.atomic():
        values: dict[str, Any] = {"run": run.pk, "bulk": bulk, "lease": LEASE}
        with connection.cursor() as cursor:
            cursor.execute(AGAIN, values)
            row = cursor.fetchone()
        if not row:
            return None
        chunk = Chunk.objects.get(pk=row[0])
        count_interrupted(chunk)
    return _claim_chunk(run, chunk, *category_of(run.pk, chunk.first_seq))


def _claim_chunk(run: Run, chunk: Chunk, kind: str, category: str) -> Claim:
    caps_of_it = caps.for_category(run.project, kind, category)
    return Claim(run, chunk, eligibility.skip_reason_params(kind, category), caps_of_it)
