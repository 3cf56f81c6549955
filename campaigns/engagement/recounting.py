"""Recounting: counts a run's receipt and goal sums again from the rows, and corrects them.

Sums change in the transaction that keeps the rows, so they always agree, unless a manual change, a
restored backup or a bug altered some of them. Both are read in one snapshot, part by part: no
writer waits meanwhile. The difference is then added to the sums, as they may have changed since.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from campaigns.engagement import converting, store_receipts
from campaigns.engagement.goal import GoalSum
from campaigns.engagement.receipt import STEPS, EchoSum, Receipt
from campaigns.engagement.recount import Recount
from campaigns.failpoints import hit
from campaigns.runs.run import Run, messages_leave

log = logging.getLogger(__name__)

RECIPIENTS_AT_ONCE = 50_000  # half a second
TOUCHES_AT_ONCE = 2_000  # locks the project's goals for some ten milliseconds
MAX_SECONDS = 100.0  # for one run: PostgreSQL keeps rows that are deleted meanwhile
LATELY = timedelta(days=8)
EVERY = timedelta(hours=20)
SHOWN = 20

# The values by which a row is counted, as in the stored sums.
CUTS = """
CROSS JOIN LATERAL (VALUES
    ('', ''), ('platform', platform), ('locale', locale), ('timezone', timezone),
    ('app_version', app_version), ('variant', variant), ('after', greatest(0, floor(after))::text)
) AS cut (by, value)
"""
IN_A_GROUP = "(cut.by <> 'variant' OR variant IS NOT NULL)"
OF_RECEIPTS = f"""
WITH theirs AS MATERIALIZED (
    SELECT receipt.seq, receipt.event, r.device_id, r.platform, r.locale, r.timezone, r.app_version,
        r.variant::text AS variant, run.started_at,
        extract(epoch FROM receipt.at - run.started_at) / 600 AS after
    FROM campaigns_receipt receipt
    JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = receipt.seq
    JOIN campaigns_run run ON run.id = %(run)s
    WHERE receipt.run_id = %(run)s AND receipt.seq > %(after)s AND receipt.seq <= %(through)s
), risen AS (
    SELECT first.*, known.event AS before
    FROM (
        SELECT DISTINCT ON (seq) * FROM theirs WHERE event <= %(last_step)s ORDER BY seq, event
    ) first CROSS JOIN LATERAL (
        SELECT min(event) AS event FROM campaigns_reporter WHERE device_id = first.device_id
            AND event <= %(last_step)s AND since < first.started_at
    ) known
    WHERE known.event IS NULL OR first.event < known.event
), moved AS (
    SELECT event, 1 AS count, 0 AS first, platform, locale, timezone, app_version, variant, after
    FROM theirs
    UNION ALL
    SELECT event, 0, 1, platform, locale, timezone, app_version, variant, NULL FROM risen
    UNION ALL
    SELECT before, 0, -1, platform, locale, timezone, app_version, variant, NULL FROM risen
    WHERE before IS NOT NULL
)
SELECT cut.by, COALESCE(cut.value, ''), event, sum(count), sum(first)
FROM moved {CUTS}
WHERE (count > 0 OR cut.by <> 'after') AND {IN_A_GROUP} GROUP BY 1, 2, 3
"""
OF_GOAL = f"""
WITH theirs AS MATERIALIZED (
    SELECT c.seq, c.value, r.platform, r.locale, r.timezone, r.app_version,
        r.variant::text AS variant,
        extract(epoch FROM c.at - run.started_at) / 600 AS after
    FROM campaigns_conversion c
    JOIN campaigns_run run ON run.id = c.run_id
    JOIN campaigns_recipient r ON r.run_id = %(run)s AND r.seq = c.seq
    WHERE c.run_id = %(run)s AND c.seq > %(after)s AND c.seq <= %(through)s
)
SELECT cut.by, COALESCE(cut.value, ''),
    CASE cut.by WHEN 'after' THEN 0 ELSE count(DISTINCT seq) END, count(*),
    COALESCE(sum(t.value), 0)
FROM theirs t {CUTS} WHERE {IN_A_GROUP} GROUP BY 1, 2, cut.by
"""

Key = tuple[str, str, str]  # the receipt's event or GOAL, the column, its value
Sums = dict[Key, tuple[Any, ...]]
GOAL = "goal"


class GaveWay(Exception):
    """A campaign is being sent and goes first. The next tick starts the recount again."""


def due(now: datetime) -> QuerySet[Run]:
    """Runs of the last days that have receipts and were not recounted within EVERY."""
    has_receipts = Exists(EchoSum.objects.filter(run_id=OuterRef("pk")))
    is_recounted = Exists(Recount.objects.filter(run_id=OuterRef("pk"), at__gt=now - EVERY))
    recent_runs = Run.every.filter(Q(started_at__gt=now - LATELY) | Q(launched_at__gt=now - LATELY))
    return recent_runs.filter(has_receipts, ~is_recounted, forgotten_at=None).order_by("pk")


def recount(run: Run, *, now: datetime) -> int | None:
    """Recount one run and correct its sums. Returns how many sums were wrong.

    None: another process recounts it, or a campaign goes first. If the process dies here: either
    nothing was changed or everything, and the next tick counts again.
    """
    before = Recount.objects.filter(pk=run.pk).values_list("at", flat=True).first()
    try:
        touch_count = _add_missing_touches(run)
        wrong = _wrong_sums(run)
    except GaveWay:
        return None
    hit("recounted")
    row = Recount(run_id=run.pk, at=now, differences=touch_count + len(wrong or ()))
    row.whole, row.detail = wrong is not None, _first_differences(wrong or {})
    if not _correct_sums(run, row, before, wrong or {}):
        return None
    if row.differences:
        log.error("run=%s differences=%s were put right: %s", run.pk, row.differences, row.detail)
    return row.differences


def _first_differences(wrong: Sums) -> list[list[str]]:
    return [[*key, *map(str, by)] for key, by in list(wrong.items())[:SHOWN]]


# --- Goals: repair what a release without them has written ----------------------------------------


def _add_missing_touches(run: Run) -> int:
    """Add missing touches, and count events that should count. Returns how many were missing."""
    missing = 0
    if run.goal_event:
        for after in range(0, _last_seq(run), TOUCHES_AT_ONCE):
            _give_way()
            missing += converting.count_again(run, range(after + 1, after + TOUCHES_AT_ONCE + 1))
    return missing


def _last_seq(run: Run) -> int:
    last = Receipt.objects.filter(run_id=run.pk).order_by("-seq").values_list("seq", flat=True)
    return last.first() or 0


def _give_way() -> None:
    if messages_leave():
        raise GaveWay


# --- Sums -----------------------------------------------------------------------------------------


def _wrong_sums(run: Run) -> Sums | None:
    """What must be added to each wrong sum. None: counting takes too long."""
    ends_at = time.monotonic() + MAX_SECONDS
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        counted = _Tally()
        for after in range(0, _last_seq(run), RECIPIENTS_AT_ONCE):
            if time.monotonic() > ends_at:
                log.warning("run=%s takes too long to be counted again", run.pk)
                return None
            _give_way()
            _count_sums(cursor, run.pk, after, counted)
        return counted.less(_stored_sums(run.pk))


class _Tally(defaultdict[Key, list[Any]]):
    def __init__(self) -> None:
        super().__init__(lambda: [0, 0, Decimal()])

    def add(self, key: Key, *numbers: Any) -> None:
        for place, number in enumerate(numbers):
            self[key][place] += number

    def less(self, kept: dict[Key, list[Any]]) -> Sums:
        keys = sorted({*self, *kept})
        missing = {
            key: tuple(a - b for a, b in zip(self[key], kept.get(key, NOTHING), strict=True))
            for key in keys
        }
        return {key: numbers for key, numbers in missing.items() if any(numbers)}


NOTHING = [0, 0, Decimal()]


def _count_sums(cursor: Any, run_id: int, after: int, counted: _Tally) -> None:
    params = {"run": run_id, "after": after, "through": after + RECIPIENTS_AT_ONCE}
    cursor.execute(OF_RECEIPTS, {**params, "last_step": STEPS[-1]})
    for by, value, event, count, first in cursor.fetchall():
        counted.add((str(event), by, value), int(count), int(first))
    cursor.execute(OF_GOAL, params)
    for by, value, recipients, times, amount in cursor.fetchall():
        counted.add((GOAL, by, value), recipients, times, amount)


def _stored_sums(run_id: int) -> dict[Key, list[Any]]:
    echo = {
        (str(row.event), row.by, row.value): [row.count, row.first, Decimal()]
        for row in EchoSum.objects.filter(run_id=run_id)
    }
    goal = {
        (GOAL, row.by, row.value): [row.recipients, row.times, row.amount]
        for row in GoalSum.objects.filter(run_id=run_id)
    }
    return echo | goal


ADD_TO_ECHO = """
INSERT INTO campaigns_echosum AS kept (run_id, by, value, event, count, first)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (run_id, by, value, event)
DO UPDATE SET count = kept.count + excluded.count, first = kept.first + excluded.first
"""
ADD_TO_GOAL = """
INSERT INTO campaigns_goalsum AS kept (run_id, by, value, recipients, times, amount)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (run_id, by, value) DO UPDATE SET recipients = kept.recipients + excluded.recipients,
    times = kept.times + excluded.times, amount = kept.amount + excluded.amount
"""


def _correct_sums(run: Run, row: Recount, before: datetime | None, wrong: Sums) -> bool:
    """Correct the sums. Returns False if another process recounted the run meanwhile."""
    with transaction.atomic(), connection.cursor() as cursor:
        store_receipts.alone(cursor, run.pk)
        converting.alone(cursor, run.project_id)
        last = Recount.objects.filter(pk=run.pk).values_list("at", flat=True).first()
        if last != before:
            return False
        row.save()
        for (event, by, value), numbers in wrong.items():
            if event == GOAL:
                cursor.execute(ADD_TO_GOAL, [run.pk, by, value, *numbers])
            else:
                cursor.execute(ADD_TO_ECHO, [run.pk, by, value, int(event), *numbers[:2]])
    return True
