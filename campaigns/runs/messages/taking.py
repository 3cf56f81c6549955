"""Taking: what is due of a day's messages becomes recipients and one chunk, in one transaction.

Messages of the same moment share a chunk, and with it windows and commits. They are of one
category, as consent is asked for a window at once, and of one lane: what goes to thousands goes by
the queue of campaigns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import connection, transaction

AT_ONCE = 500  # messages


class Taken(NamedTuple):
    """A chunk to be sent."""

    run_id: int
    number: int
    epoch: int


LOCK = """
SELECT epoch, planned, (SELECT COALESCE(max(number), 0) FROM campaigns_chunk WHERE run_id = r.id)
FROM campaigns_run r WHERE id = %(run)s AND state = 'open' FOR NO KEY UPDATE
"""

DUE = """
WITH first AS (
    SELECT category_kind, category FROM campaigns_message
    WHERE run_id = %(run)s AND state = 'waiting' AND bulk = %(bulk)s AND at <= statement_timestamp()
    ORDER BY at LIMIT 1
)
SELECT number FROM campaigns_message JOIN first USING (category_kind, category)
WHERE run_id = %(run)s AND state = 'waiting' AND bulk = %(bulk)s AND at <= statement_timestamp()
ORDER BY at LIMIT %(most)s FOR UPDATE OF campaigns_message SKIP LOCKED
"""

# Devices that the project leaves out because nobody saw them for long get no messages either.
TAKE = """
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
        AND (due.device_id IS NULL OR d.id = due.device_id)
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
        content = CASE WHEN gone THEN '{}' ELSE content END,
        variables = CASE WHEN gone THEN '{}' ELSE variables END,
        inbox = CASE WHEN gone THEN NULL ELSE inbox END
    FROM due LEFT JOIN (
        SELECT number, min(seq) AS first_seq, max(seq) AS last_seq FROM found GROUP BY number
    ) ends USING (number)
    WHERE m.run_id = %(run)s AND m.number = due.number
), counted AS (
    SELECT count(*) AS recipients FROM found
), chunk AS (
    INSERT INTO campaigns_chunk (run_id, number, first_seq, last_seq, state, queued_at, attempt,
        lapses, accepted, rejected, skipped, unknown, copies, reasons, bulk)
    SELECT %(run)s, %(chunk)s, %(planned)s + 1, %(planned)s + recipients, 'queued',
        statement_timestamp(), 0, 0, 0, 0, 0, 0, 0, '{}', %(bulk)s
    FROM counted WHERE recipients > 0
), grown AS (
    UPDATE campaigns_run SET planned = planned + recipients FROM counted
    WHERE id = %(run)s AND recipients > 0
)
SELECT recipients FROM counted
"""

# Whose retries are due, and whose doorbell was lost with its worker or with Redis.
AGAIN = """
UPDATE campaigns_chunk SET state = 'queued', queued_at = statement_timestamp(), not_before = NULL
WHERE id IN (
    SELECT id FROM campaigns_chunk
    WHERE run_id = %(run)s AND bulk = %(bulk)s AND (
        state = 'waiting' AND COALESCE(not_before, '-infinity') <= statement_timestamp()
        OR state = 'queued' AND queued_at < statement_timestamp() - interval '15 s'
    )
    ORDER BY number LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
)
RETURNING number
"""


Beside = Callable[[int, list[int]], None]


def take(run_id: int, beside: Beside, *, bulk: bool = False) -> Taken | None:
    """The next chunk of the day: of new messages, else of those to be tried again. `beside` is
    called with the run and the numbers of new ones, in the transaction that takes them.

    If the process dies after the commit, the chunk stays queued, and is taken again when that is
    15 s ago.
    """
    return _new(run_id, beside, bulk) or _again(run_id, bulk)


def _new(run_id: int, beside: Beside, bulk: bool) -> Taken | None:
    while True:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(LOCK, {"run": run_id})
            locked = cursor.fetchone()
            if locked is None:
                return None
            epoch, planned, chunks = locked
            cursor.execute(DUE, {"run": run_id, "bulk": bulk, "most": AT_ONCE})
            numbers = [number for (number,) in cursor.fetchall()]
            if not numbers:
                return None
            values: dict[str, Any] = {"run": run_id, "numbers": numbers, "chunk": chunks + 1}
            cursor.execute(TAKE, values | {"planned": planned, "bulk": bulk})
            recipients = cursor.fetchone()[0]
            beside(run_id, numbers)
            if recipients:
                return Taken(run_id, chunks + 1, epoch)
        # Nobody of them has a device: they are done, and there may be more.


def _again(run_id: int, bulk: bool) -> Taken | None:
    with connection.cursor() as cursor:
        cursor.execute(AGAIN, {"run": run_id, "bulk": bulk})
        found = cursor.fetchone()
    return Taken(run_id, found[0], 0) if found else None
