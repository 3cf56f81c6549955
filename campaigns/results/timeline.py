"""The rate of a run over its time, as its windows tell it. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Max

from campaigns.runs.ledger import Window
from campaigns.runs.run import Run

MOST_POINTS = 120  # wider than that a line tells no more, on a screen of any width
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


@dataclass(frozen=True)
class Timeline:
    """Requests answered in each step of so many seconds, from the start on."""

    step: int
    counts: list[int]

    @property
    def rates(self) -> list[float]:
        return [count / self.step for count in self.counts]


# A window is up to 200 requests: 2,000 rows for 400,000 messages, where the deliveries would be
# 400,000. Its answers are counted at the moment it was settled.
ANSWERED = """
SELECT floor(extract(epoch FROM settled_at - %(start)s) / %(step)s)::int, sum(cardinality(seqs))
FROM campaigns_window WHERE run_id = %(run)s AND settled_at IS NOT NULL GROUP BY 1
"""


def timeline(run: Run, *, now: datetime, within: timedelta = timedelta()) -> Timeline:
    """Empty while nothing was sent. In steps that fit what is drawn, where that is longer."""
    if run.started_at is None:
        return Timeline(1, [])
    ended = run.finished_at or _paused_after(run)
    seconds = ((ended or now) - run.started_at).total_seconds()
    drawn = max(seconds, within.total_seconds())
    step = next((step for step in STEPS if drawn / step <= MOST_POINTS), STEPS[-1])
    with connection.cursor() as cursor:
        cursor.execute(ANSWERED, {"run": run.pk, "start": run.started_at, "step": step})
        found = {max(0, slot): int(count) for slot, count in cursor.fetchall()}
    if not found:
        return Timeline(step, [])
    # The step that is not over yet would always look like a fall.
    whole = max(int(seconds // step), 1) if ended is None else max(found) + 1
    last = min(whole, int(seconds // step) + 1)
    return Timeline(step, [found.get(slot, 0) for slot in range(last)])


def _paused_after(run: Run) -> datetime | None:
    """The last answer of a paused run: the days it then waits for a person are not its rate."""
    if run.state != Run.State.PAUSED:
        return None
    settled = Window.objects.filter(run=run).aggregate(last=Max("settled_at"))
    last: datetime | None = settled["last"]
    return last
