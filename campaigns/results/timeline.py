"""The timeline of a run: its rate over time, read from its windows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Max

from campaigns.runs.ledger import Window
from campaigns.runs.run import Run

MAX_POINTS = 120  # more points add nothing to a line, on a screen of any width
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


@dataclass(frozen=True)
class Timeline:
    """Requests answered in each step of `step` seconds, from the start of the run."""

    step: int
    counts: list[int]

    @property
    def rates(self) -> list[float]:
        return [count / self.step for count in self.counts]


# A window is up to 200 requests, so 400,000 messages are 2,000 windows instead of 400,000
# deliveries. A window's answers count at the moment it was settled.
ANSWERED = """
SELECT floor(extract(epoch FROM settled_at - %(start)s) / %(step)s)::int, sum(cardinality(seqs))
FROM campaigns_window WHERE run_id = %(run)s AND settled_at IS NOT NULL GROUP BY 1
"""


def timeline(run: Run, *, now: datetime, within: timedelta = timedelta()) -> Timeline:
    """The timeline of a run; empty while nothing was sent.

    `within`: the time that a chart shows. If it is longer than the run, the steps fit it.
    """
    if run.started_at is None:
        return Timeline(1, [])
    ended = run.finished_at or _paused_after(run)
    seconds = ((ended or now) - run.started_at).total_seconds()
    drawn = max(seconds, within.total_seconds())
    step = next((step for step in STEPS if drawn / step <= MAX_POINTS), STEPS[-1])
    with connection.cursor() as cursor:
        cursor.execute(ANSWERED, {"run": run.pk, "start": run.started_at, "step": step})
        counts = {max(0, slot): int(count) for slot, count in cursor.fetchall()}
    if not counts:
        return Timeline(step, [])
    # The step that is not over yet is left out: it would always look like a drop.
    whole = max(int(seconds // step), 1) if ended is None else max(counts) + 1
    last = min(whole, int(seconds // step) + 1)
    return Timeline(step, [counts.get(slot, 0) for slot in range(last)])


def _paused_after(run: Run) -> datetime | None:
    """When a paused run got its last answer. The days it then waits for a user are left out."""
    if run.state != Run.State.PAUSED:
        return None
    settled = Window.objects.filter(run=run).aggregate(last=Max("settled_at"))
    last: datetime | None = settled["last"]
    return last
