"""Breakdown counting: a finished run's results by platform, language, time zone and app version.

It works in steps, like freezing: five million recipients block nothing, and a crash costs one step.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from campaigns.engagement.reporting import reporting
from campaigns.runs.run import Run
from campaigns.runs.sums import CUT_BY, STATUSES, Breakdown

RECIPIENTS_AT_ONCE = 50_000  # recipients counted in one step: half a second
MOST_VALUES = 1_000  # different values counted for each; an app may send any version
SHOWN_VALUES = 50  # values kept for each, once all are counted

COUNT = """
SELECT grouping(r.platform, r.locale, r.timezone, r.app_version),
    COALESCE(r.platform, r.locale, r.timezone, r.app_version, ''), d.status, count(*)
FROM campaigns_recipient r
JOIN campaigns_delivery d ON d.run_id = %(run)s AND d.seq = r.seq
    AND d.seq > %(after)s AND d.seq <= %(through)s
WHERE r.run_id = %(run)s AND r.seq > %(after)s AND r.seq <= %(through)s
GROUP BY GROUPING SETS (
    (r.platform, d.status), (r.locale, d.status), (r.timezone, d.status), (r.app_version, d.status)
)
ORDER BY 4 DESC, 2
"""
# The same for each group of a split run.
COUNT_GROUPS = """
SELECT r.variant::text, d.status, count(*)
FROM campaigns_recipient r
JOIN campaigns_delivery d ON d.run_id = %(run)s AND d.seq = r.seq
    AND d.seq > %(after)s AND d.seq <= %(through)s
WHERE r.run_id = %(run)s AND r.seq > %(after)s AND r.seq <= %(through)s AND r.variant IS NOT NULL
GROUP BY 1, 2
"""
# GROUPING bits: a row is about the column whose bit is not set.
ABOUT = {0b0111: "platform", 0b1011: "locale", 0b1101: "timezone", 0b1110: "app_version"}


def uncounted() -> QuerySet[Run]:
    """Finished runs that are not completely counted, or were sent again since the count."""
    ended = Run.objects.filter(finished_at__isnull=False, evaluated_at__isnull=False)
    missing = Q(breakdown=None) | Q(breakdown__counted_through__lt=F("planned"))
    before = ~Q(breakdown__finished_at=F("finished_at"))
    return ended.filter(missing | before, forgotten_at=None).order_by("pk")


def has_more(run_id: int) -> bool:
    """Whether there is more to count and no other process is counting."""
    return uncounted().filter(pk=run_id).exists() and _is_free(run_id)


def count_next(run_id: int) -> None:
    """Count the next recipients, unless another process is counting.

    If the process dies here: the step is rolled back, and the next call counts it.
    """
    due = uncounted().filter(pk=run_id).select_related("breakdown")
    if not due.exists():
        return
    with transaction.atomic(), suppress(Run.DoesNotExist):
        if _is_free(run_id):
            _count_next_recipients(due.get())


def _is_free(run_id: int) -> bool:
    with connection.cursor() as cursor:
        key = f"counting run {run_id}"
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        free: bool = cursor.fetchone()[0]
    return free


def _count_next_recipients(run: Run) -> None:
    breakdown: Breakdown | None = getattr(run, "breakdown", None)
    if breakdown is None or breakdown.finished_at != run.finished_at:
        counts: Any = {name: {} for name in CUT_BY}
        ended: Any = run.finished_at
        breakdown = Breakdown(run=run, finished_at=ended, counts=counts)
    through = min(breakdown.counted_through + RECIPIENTS_AT_ONCE, run.planned or 0)
    for name, value, status, count in _count_recipients(run, breakdown.counted_through, through):
        _add_count(breakdown, name, value, status, count)
    _add_reporting(breakdown, through)
    breakdown.counted_through = through
    if breakdown.is_of(run):
        _shorten(breakdown)
    breakdown.save()


def _count_recipients(run: Run, after: int, through: int) -> list[tuple[str, str, str, int]]:
    params = {"run": run.pk, "after": after, "through": through}
    with connection.cursor() as cursor:
        cursor.execute(COUNT, params)
        rows = [(ABOUT[bits], *rest) for bits, *rest in cursor.fetchall()]
        if run.split:
            cursor.execute(COUNT_GROUPS, params)
            rows += [("variant", *row) for row in cursor.fetchall()]
        return rows


def _add_count(breakdown: Breakdown, name: str, value: str, status: str, count: int) -> None:
    values = breakdown.counts[name]
    if value in values or len(values) < MOST_VALUES:
        sums = values.setdefault(value, [0] * len(STATUSES))
    else:
        sums = breakdown.others.setdefault(name, [0] * len(STATUSES))
    sums[STATUSES.index(status)] += count


def _add_reporting(breakdown: Breakdown, through: int) -> None:
    """Add how many recipients can report, only for the values whose results are kept."""
    after = breakdown.counted_through
    groups = bool(breakdown.run.split)
    for by, value, event, count in reporting(
        breakdown.run_id, after=after, through=through, groups=groups
    ):
        of_all = breakdown.reporting.setdefault(by, {})
        if by and value not in breakdown.counts.get(by, {}):
            continue
        sums = of_all.setdefault(value, {}) if by else of_all
        sums[str(event)] = sums.get(str(event), 0) + count
    breakdown.reporting["through"] = through


def _shorten(breakdown: Breakdown) -> None:
    """Keep the largest values of each breakdown; add up the smaller ones as “others”."""
    for name, values in breakdown.counts.items():
        largest_first = sorted(values.items(), key=lambda item: (-sum(item[1]), item[0]))
        breakdown.counts[name] = dict(largest_first[:SHOWN_VALUES])
        known = breakdown.reporting.get(name, {}).items()
        breakdown.reporting[name] = {
            value: numbers for value, numbers in known if value in breakdown.counts[name]
        }
        for _, sums in largest_first[SHOWN_VALUES:]:
            before = breakdown.others.get(name, [0] * len(STATUSES))
            breakdown.others[name] = [a + b for a, b in zip(before, sums, strict=True)]
