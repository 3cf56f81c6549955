"""The unsent rest of a run under way: how many people sleep until when, and how many do not."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection

from campaigns.forecast.course import shared_out
from campaigns.forecast.solver.rules import PersonKind
from campaigns.runs.reasons import OWN_TIMES
from campaigns.runs.run import Run

ASLEEP = """
SELECT coalesce(r.timezone, ''), t.not_before, count(*) FROM campaigns_retry t
JOIN campaigns_recipient r ON r.run_id = t.run_id AND r.seq = t.seq
WHERE t.run_id = %s AND r.run_id = %s AND t.reason = ANY(%s) GROUP BY 1, 2
"""


def rest_of(run: Run, kinds: Mapping[PersonKind, int], waiting: int) -> dict[PersonKind, int]:
    """Return the kinds of the people who wait. People that no worker has looked at yet are assumed
    to be spread over the time zones as everybody is."""
    asleep = _count_asleep(run)
    free = max(0, waiting - sum(asleep.values()))
    return shared_out(kinds, min(free, sum(kinds.values()))) | asleep


def _count_asleep(run: Run) -> dict[PersonKind, int]:
    with connection.cursor() as cursor:
        cursor.execute(ASLEEP, [run.pk, run.pk, [*OWN_TIMES]])
        return {PersonKind(zone, wakes_at=at): count for zone, at, count in cursor.fetchall()}
