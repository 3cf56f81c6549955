"""Opening: how many of those who get a message open it, and how soon, learned from what the project
sent lately; and how fast one may send so that no more than so many a second are expected to.

The rate assumes nothing of how soon they do. If a share p of those sent to opens it, sooner or
later, the opens of any second are those of messages sent at r a second at most, each counted once:
r · p, when all come equally late, and fewer when they are spread. So r = n / p keeps to n, whatever
the length of the run; it is reached only by a run that is longer than its readers take.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

from django.db import connection

from campaigns.engagement import funnel
from campaigns.engagement.receipt import Event
from campaigns.runs.run import Run

LAST_RUNS, LOOKED_AT = 10, 30
RIPE = timedelta(days=1)  # after the end: most who ever open it have
LEAST_TOLD, LEAST_OPENED = 1_000, 20
# How soon they open it is asked of so many recipients of a run at most, from all of its parts.
PARTS, IN_A_PART = 10, 1_000
KEPT = 1_000  # of how long each took; more would say no more


@dataclass(frozen=True)
class Opening:
    """So many opened it, of so many whose phones would have told; and in which runs, which reached
    so many phones."""

    opened: int = 0
    able: int = 0
    runs: Sequence[int] = ()
    reached: int = 0

    @property
    def known(self) -> bool:
        return self.able >= LEAST_TOLD and self.opened >= LEAST_OPENED

    def rate(self, opens_per_second: float) -> float:
        """Messages a second."""
        return opens_per_second * self.able / self.opened


def learned(project_id: int, now: datetime) -> Opening:
    """From the last runs of campaigns that ended long enough ago and whose phones tell. Of a phone
    that tells nothing it is taken that it opens as many as the others."""
    ended = Run.objects.filter(
        project=project_id, state=Run.State.FINISHED, finished_at__lt=now - RIPE
    )
    runs = list(ended.order_by("-finished_at")[:LOOKED_AT])
    told = funnel.opened(runs)
    of = [
        (run.pk, told[run.pk].count, told[run.pk].able or 0, run.accepted + run.unknown)
        for run in runs
    ]
    return of_runs([one for one in of if one[2]][:LAST_RUNS])


def of_runs(told: Sequence[tuple[int, int, int, int]]) -> Opening:
    """All of them together: (run, opened, able, reached)."""
    runs, *sums = [*zip(*told, strict=True)] or ((), (), (), ())
    opened, able, reached = map(sum, sums)
    return Opening(opened, able, [*runs], reached)


@dataclass(frozen=True)
class Soon:
    """How long after their message those took who opened it: the quickest first, at even parts of
    all of them. Empty: nobody knows."""

    seconds: Sequence[float] = ()

    def share(self, within: float) -> float:
        """Of those who open it, who have by then."""
        return bisect_right(self.seconds, within) / len(self.seconds)

    def after(self, share: float) -> float:
        """When so many have."""
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))]


# One run at a time: its part of the rows is then known to the planner, which is kept by LIMIT and
# OFFSET from reading all of them for these few. The moment is the phone's own where that can be
# right, as for best hours.
TOOK = """
SELECT extract(epoch FROM CASE WHEN told.phone_at BETWEEN d.at AND told.at THEN told.phone_at
    ELSE greatest(told.at, d.at) END - d.at)::float8
FROM generate_series(0, %(parts)s - 1) part
CROSS JOIN LATERAL (
    SELECT seq, at, phone_at FROM campaigns_receipt
    WHERE run_id = %(run)s AND event = %(opened)s
        AND seq > part * %(stride)s AND seq <= part * %(stride)s + %(each)s
    ORDER BY seq LIMIT %(each)s
) told
CROSS JOIN LATERAL (
    SELECT at FROM campaigns_delivery
    WHERE run_id = %(run)s AND seq = told.seq AND status IN ('accepted', 'unknown') OFFSET 0
) d
"""


def soon(opening: Opening) -> Soon:
    """In the same runs, as far as their recipients are still there."""
    planned = dict(Run.objects.filter(pk__in=opening.runs).values_list("pk", "planned"))
    took = sorted(chain.from_iterable(_took(run, planned[run] or 0) for run in opening.runs))
    if len(took) < LEAST_OPENED:
        return Soon()
    kept = min(KEPT, len(took))
    return Soon([took[(2 * n + 1) * len(took) // (2 * kept)] for n in range(kept)])


def _took(run: int, planned: int) -> list[float]:
    """Of a run of many, some of each part: they are not sent to at the same time."""
    stride = max(IN_A_PART, planned // PARTS)
    params = {"run": run, "parts": PARTS, "stride": stride, "each": IN_A_PART}
    with connection.cursor() as cursor:
        cursor.execute(TOOK, {**params, "opened": Event.OPENED})
        return [seconds for (seconds,) in cursor.fetchall()]
