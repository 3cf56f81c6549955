"""Keeping: stores the receipts of many phones and updates the sums, in one transaction."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache

from django.db import connection, transaction

from campaigns.engagement.converting import count_touches
from campaigns.engagement.receipt import NAMES, STEPS, Event, Report
from campaigns.runs import best_hour
from campaigns.runs.run import Run
from notifications.measures.by_project import PROJECTS, label_of
from notifications.measures.measure import Count
from notifications.webhooks import outbox

KEPT = Count(
    "carillon_receipts_total", "Receipts of phones that were kept, by what they tell.",
    {"project": PROJECTS, "event": NAMES.values()},
)  # fmt: skip

# One run at a time, so that PostgreSQL's planner knows its partition of recipients. In the order of
# the keys, so that two processes with the same receipts do not deadlock. Receipts of a run whose
# recipients were forgotten belong to nobody, and are not kept.
#
# `risen`: recipients whose device was not known to report this step or an earlier one. They are
# added to this step, and subtracted from the later step by which they were known.
KEEP = """
WITH given AS (
    SELECT DISTINCT ON (seq, event) seq, event, phone_at
    FROM unnest(%(seqs)s::int[], %(events)s::smallint[], %(times)s::timestamptz[])
        AS g (seq, event, phone_at)
    ORDER BY seq, event, phone_at
), theirs AS MATERIALIZED (
    SELECT g.seq, g.event, g.phone_at, r.device_id, r.platform, r.locale, r.timezone, r.app_version,
        r.variant::text AS variant, r.contact_id, r.message,
        extract(epoch FROM statement_timestamp() - run.started_at) / 600 AS after, run.started_at
    FROM given g
    JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = g.seq
    JOIN campaigns_run run ON run.id = %(run)s AND run.kind <> 'rehearsal'
), new AS (
    INSERT INTO campaigns_receipt (run_id, seq, event, at, phone_at)
    SELECT %(run)s, seq, event, statement_timestamp(), phone_at FROM theirs ORDER BY seq, event
    ON CONFLICT (run_id, seq, event) DO NOTHING
    RETURNING seq, event
), stepped AS (
    SELECT DISTINCT ON (seq) theirs.* FROM new JOIN theirs USING (seq, event)
    WHERE event <= %(last_step)s ORDER BY seq, event
), risen AS MATERIALIZED (
    SELECT stepped.*, known.event AS before FROM stepped CROSS JOIN LATERAL (SELECT least(
        (SELECT min(event) FROM campaigns_reporter WHERE device_id = stepped.device_id
            AND event <= %(last_step)s AND since < stepped.started_at),
        (SELECT min(event) FROM campaigns_receipt WHERE run_id = %(run)s AND seq = stepped.seq
            AND event <= %(last_step)s)
    ) AS event) known
    WHERE known.event IS NULL OR stepped.event < known.event
), moved AS (
    SELECT event, 1 AS count, 0 AS first, platform, locale, timezone, app_version, variant, after
    FROM new JOIN theirs USING (seq, event)
    UNION ALL
    SELECT event, 0, 1, platform, locale, timezone, app_version, variant, NULL FROM risen
    UNION ALL
    SELECT before, 0, -1, platform, locale, timezone, app_version, variant, NULL FROM risen
    WHERE before IS NOT NULL
), counted AS (
    SELECT event, cut.by, COALESCE(cut.value, '') AS value, sum(count) AS count, sum(first) AS first
    FROM moved CROSS JOIN LATERAL (VALUES
        ('', ''), ('platform', platform), ('locale', locale), ('timezone', timezone),
        ('app_version', app_version), ('variant', variant),
        ('after', greatest(0, floor(after))::text)
    ) AS cut (by, value)
    WHERE (count > 0 OR cut.by <> 'after') AND (cut.by <> 'variant' OR variant IS NOT NULL)
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
), hearing AS MATERIALIZED (
    -- Who wants to hear of them; see `notifications/webhooks/outbox.py`. Mostly nobody.
    SELECT e.id, run.campaign_id FROM campaigns_run run
    JOIN notifications_endpoint e ON e.project_id = run.project_id AND e.disabled_at IS NULL
        AND e.kinds @> '{receipt}' AND (
            e.only = '{}' OR run.campaign_id IS NULL OR run.campaign_id = ANY(e.only))
    WHERE run.id = %(run)s
), webhook_calls AS (
    INSERT INTO notifications_outgoing (endpoint_id, events)
    SELECT hearing.id, jsonb_agg(jsonb_build_object(
        'type', 'receipt',
        'timestamp', to_char(statement_timestamp() AT TIME ZONE 'UTC',
            'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'data', jsonb_build_object(
            'event', %(names)s::jsonb ->> new.event::text, 'run', %(run)s,
            'campaign', campaign_id, 'recipient', new.seq, 'contact', c.external_id,
            'platform', platform, 'message', %(run)s || '-' || message, 'at_phone', phone_at
        )
    ) ORDER BY new.seq, new.event)
    FROM hearing CROSS JOIN new JOIN theirs USING (seq, event)
    LEFT JOIN notifications_contact c ON c.id = theirs.contact_id
    GROUP BY hearing.id
    RETURNING 1
)
SELECT event, count(*), (SELECT count(*) FROM webhook_calls),
    array_agg(contact_id) FILTER (WHERE opened),
    array_agg(timezone) FILTER (WHERE opened), array_agg(moment) FILTER (WHERE opened)
FROM new JOIN theirs USING (seq, event) CROSS JOIN LATERAL (SELECT event = %(opened)s AS opened,
    -- By the phone's clock where it can be right: it may tell much later than it happened.
    CASE WHEN phone_at BETWEEN started_at AND statement_timestamp() THEN phone_at
        ELSE statement_timestamp() END AS moment) its
GROUP BY event
"""
Open = tuple[int, str | None, datetime]  # the person, their time zone, and the moment
# One process keeps receipts of a run at a time, so that it sees all receipts of the others: else
# two steps of one device would rise twice. The rows of the sums would make them wait in any case.
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended('echo of run ' || %s, 0))"


def keep(reports: Iterable[Report]) -> int:
    """Store receipts; return how many are new.

    If the process dies here: all of them are stored or none, and no phone has got an answer.
    """
    reports_by_run: dict[int, list[Report]] = defaultdict(list)
    for report in reports:
        reports_by_run[report.run_id].append(report)
    opened: list[Open] = []
    with transaction.atomic(), connection.cursor() as cursor:
        stored = {
            run_id: _store_receipts_of_run(cursor, run_id, reports_by_run[run_id], opened)
            for run_id in sorted(reports_by_run)
        }
        # After all runs: so a process that waits for a run's lock holds none on people or goals.
        best_hour.keep(opened)
        count_touches(
            {run_id: [row.seq for row in rows] for run_id, rows in reports_by_run.items()}
        )
    _measure(stored)
    return sum(new.total() for new in stored.values())


def alone(cursor, run_id: int) -> None:  # type: ignore[no-untyped-def]
    """Lock the receipt sums of this run until the transaction ends."""
    cursor.execute(ALONE, [run_id])


def _store_receipts_of_run(  # type: ignore[no-untyped-def]
    cursor, run_id: int, reports: list[Report], opened: list[Open]
) -> Counter[str]:
    """Store the receipts of one run. Returns the new ones by event, and adds opens to `opened`."""
    columns = {
        "seqs": [report.seq for report in reports],
        "events": [report.event for report in reports],
        "times": [report.phone_at for report in reports],
    }
    alone(cursor, run_id)
    columns |= {"run": run_id, "last_step": STEPS[-1], "opened": Event.OPENED}
    cursor.execute(KEEP, {**columns, "names": json.dumps(NAMES)})
    new = cursor.fetchall()
    if any(has_webhook_rows for _event, _count, has_webhook_rows, *_ in new):
        outbox.notify_workers()
    for *_, people, zones, moments in new:
        opened += zip(people or (), zones or (), moments or (), strict=True)
    return Counter({NAMES[event]: count for event, count, *_ in new})


def _measure(counts_by_run: Mapping[int, Counter[str]]) -> None:
    for run_id, new in counts_by_run.items():
        if new:
            KEPT.add_each(new, _project_of(run_id))


@lru_cache(1_000)
def _project_of(run_id: int) -> str:
    return label_of(Run.every.select_related("project").get(pk=run_id).project)
