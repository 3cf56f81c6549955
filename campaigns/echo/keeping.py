"""Keeping: receipts of many phones become rows, and the sums move with them, in one commit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db import connection, transaction

from campaigns.echo.receipt import Report

# One run at a time: its part of the recipients is then known to the planner. In the order of their
# keys: two processes that keep the same ones must not wait for each other in a circle. Receipts of
# a run whose recipients were forgotten are of nobody, and are not kept.
KEEP = """
WITH given AS (
    SELECT DISTINCT ON (seq, event) seq, event, phone_at
    FROM unnest(%(seqs)s::int[], %(events)s::smallint[], %(times)s::timestamptz[])
        AS g (seq, event, phone_at)
    ORDER BY seq, event, phone_at
), theirs AS MATERIALIZED (
    SELECT g.seq, g.event, g.phone_at, r.device_id, r.platform, r.locale, r.timezone, r.app_version,
        extract(epoch FROM statement_timestamp() - run.started_at) / 600 AS after,
        p.since IS NULL OR p.since >= run.started_at AS is_first
    FROM given g
    JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = g.seq
    JOIN campaigns_run run ON run.id = %(run)s
    LEFT JOIN campaigns_reporter p ON p.device_id = r.device_id AND p.event = g.event
), new AS (
    INSERT INTO campaigns_receipt (run_id, seq, event, at, phone_at)
    SELECT %(run)s, seq, event, statement_timestamp(), phone_at FROM theirs ORDER BY seq, event
    ON CONFLICT (run_id, seq, event) DO NOTHING
    RETURNING seq, event
), counted AS (
    SELECT event, cut.by, COALESCE(cut.value, '') AS value, count(*) AS count,
        count(*) FILTER (WHERE is_first) AS first
    FROM new JOIN theirs USING (seq, event) CROSS JOIN LATERAL (VALUES
        ('', ''), ('platform', platform), ('locale', locale), ('timezone', timezone),
        ('app_version', app_version), ('after', greatest(0, floor(after))::text)
    ) AS cut (by, value)
    GROUP BY 1, 2, 3
), summed AS (
    INSERT INTO campaigns_echosum AS kept (run_id, by, value, event, count, first)
    SELECT %(run)s, by, value, event, count, first FROM counted ORDER BY by, value, event
    ON CONFLICT (run_id, by, value, event)
    DO UPDATE SET count = kept.count + excluded.count, first = kept.first + excluded.first
), reporting AS (
    INSERT INTO campaigns_reporter (device_id, event, since)
    SELECT DISTINCT device_id, event, statement_timestamp()
    FROM new JOIN theirs USING (seq, event) ORDER BY device_id, event
    ON CONFLICT (device_id, event) DO NOTHING
)
SELECT count(*) FROM new
"""


def keep(reports: Iterable[Report]) -> int:
    """How many are new.

    If the process dies here: all of them are there or none is, and no phone was told so.
    """
    of_run: dict[int, list[Report]] = defaultdict(list)
    for report in reports:
        of_run[report.run_id].append(report)
    with transaction.atomic(), connection.cursor() as cursor:
        return sum(_kept(cursor, run_id, of_run[run_id]) for run_id in sorted(of_run))


def _kept(cursor, run_id: int, reports: list[Report]) -> int:  # type: ignore[no-untyped-def]
    columns = {
        "seqs": [report.seq for report in reports],
        "events": [report.event for report in reports],
        "times": [report.phone_at for report in reports],
    }
    cursor.execute(KEEP, {"run": run_id, **columns})
    (count,) = cursor.fetchone()
    return int(count)
