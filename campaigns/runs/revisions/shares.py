"""Shares: how many recipients got which revision of a run's text, added up from the chunks."""

from __future__ import annotations

from collections import defaultdict

from django.db import connection

from campaigns.runs import sums
from campaigns.runs.revisions.revision import FIRST
from campaigns.runs.run import Run

# The first revision is the remainder: no chunk counts it, so that a run whose text never changed
# pays nothing for this.
LATER = """
SELECT split_part(key, '.', 1)::int, split_part(key, '.', 2), sum(count::int)::int
FROM campaigns_chunk, jsonb_each_text(revisions) AS each (key, count)
WHERE run_id = %s GROUP BY 1, 2
"""

Counts = dict[str, int]  # by status


def key_of(revision: int, status: str) -> str:
    """The key of a count in `Chunk.revisions`."""
    return f"{revision}.{status}"


def by_revision(run: Run) -> dict[int, Counts]:
    """The outcomes of each revision, by status. Skipped recipients got none: they count for the
    revision that they were to get."""
    counts: dict[int, Counts] = defaultdict(lambda: dict.fromkeys(sums.STATUSES, 0))
    counts[FIRST] = sums.sums_of(run)
    for number in range(FIRST + 1, run.revision + 1):
        counts[number]  # the newest may have reached nobody yet
    for number, status, count in _count_later_revisions(run):
        counts[number][status] = count
        counts[FIRST][status] -= count
    return dict(counts)


def got(counts: Counts) -> int:
    """How many got it or may have: accepted and unknown."""
    return counts["accepted"] + counts["unknown"]


def _count_later_revisions(run: Run) -> list[tuple[int, str, int]]:
    if run.revision == FIRST:
        return []
    with connection.cursor() as cursor:
        cursor.execute(LATER, [run.pk])
        return list(cursor.fetchall())
