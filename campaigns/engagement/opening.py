"""Opening: estimates open rates and delays from recent runs, and the send rate for an open limit.

The rate assumes nothing about the delays. Let a share p of the recipients open the message at some
time, and let at most r messages be sent per second. Each message is opened at most once. So at most
r · p opens come in one second if all delays are equal, and fewer if they are spread. Hence
r = n / p keeps to n opens per second, however long the run is. The limit is reached only if the
run is longer than its readers take to open.
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
RIPE = timedelta(days=1)  # after the end: most people who ever open it have done so
MIN_TOLD, MIN_OPENED = 1_000, 20
# Delays are read from at most this many recipients of a run, spread over the whole run.
PARTS, IN_A_PART = 10, 1_000
KEPT = 1_000  # delays kept; more would not be more precise


@dataclass(frozen=True)
class OpenRate:
    """Opens of recent runs: devices that opened, devices that would report it, the runs, and the
    devices they reached."""

    opened: int = 0
    able: int = 0
    runs: Sequence[int] = ()
    reached: int = 0

    @property
    def known(self) -> bool:
        return self.able >= MIN_TOLD and self.opened >= MIN_OPENED

    def rate(self, opens_per_second: float) -> float:
        """The messages per second that lead to this many opens per second."""
        return opens_per_second * self.able / self.opened


def load_open_rate(project_id: int, now: datetime) -> OpenRate:
    """The opens of the project's last runs that ended long enough ago and whose phones report.

    Phones that report nothing are assumed to open as often as the others.
    """
    ended = Run.objects.filter(
        project=project_id, state=Run.State.FINISHED, finished_at__lt=now - RIPE
    )
    runs = list(ended.order_by("-finished_at")[:LOOKED_AT])
    open_counts = funnel.opened(runs)
    counts = [
        (
            run.pk,
            open_counts[run.pk].count,
            open_counts[run.pk].able or 0,
            run.accepted + run.unknown,
        )
        for run in runs
    ]
    return add_up([row for row in counts if row[2]][:LAST_RUNS])


def add_up(counts: Sequence[tuple[int, int, int, int]]) -> OpenRate:
    """Add up runs, each given as (run, opened, able, reached)."""
    runs, *sums = [*zip(*counts, strict=True)] or ((), (), (), ())
    opened, able, reached = map(sum, sums)
    return OpenRate(opened, able, [*runs], reached)


@dataclass(frozen=True)
class OpenDelays:
    """How many seconds people took to open a message: evenly spaced quantiles, the shortest first.

    Empty: unknown.
    """

    seconds: Sequence[float] = ()

    def share(self, within: float) -> float:
        """The share of openers who have opened it within this many seconds."""
        return bisect_right(self.seconds, within) / len(self.seconds)

    def after(self, share: float) -> float:
        """The seconds after which this share of openers have opened it."""
        return self.seconds[min(len(self.seconds) - 1, int(share * len(self.seconds)))]


# One run at a time, so that PostgreSQL's planner knows its partitions. LIMIT and OFFSET keep the
# planner from reading all rows for these few. The phone's own time counts where it is plausible, as
# for best hours.
TOOK = """
SELECT extract(epoch FROM CASE
    WHEN receipt.phone_at BETWEEN d.at AND receipt.at THEN receipt.phone_at
    ELSE greatest(receipt.at, d.at) END - d.at)::float8
FROM generate_series(0, %(parts)s - 1) part
CROSS JOIN LATERAL (
    SELECT seq, at, phone_at FROM campaigns_receipt
    WHERE run_id = %(run)s AND event = %(opened)s
        AND seq > part * %(stride)s AND seq <= part * %(stride)s + %(each)s
    ORDER BY seq LIMIT %(each)s
) receipt
CROSS JOIN LATERAL (
    SELECT at FROM campaigns_delivery
    WHERE run_id = %(run)s AND seq = receipt.seq AND status IN ('accepted', 'unknown') OFFSET 0
) d
"""


def load_open_delays(opening: OpenRate) -> OpenDelays:
    """The delays of openers in the same runs, as far as the recipients still exist."""
    planned = dict(Run.objects.filter(pk__in=opening.runs).values_list("pk", "planned"))
    delays = sorted(
        chain.from_iterable(_delays_of_run(run, planned[run] or 0) for run in opening.runs)
    )
    if len(delays) < MIN_OPENED:
        return OpenDelays()
    count = min(KEPT, len(delays))
    return OpenDelays([delays[(2 * n + 1) * len(delays) // (2 * count)] for n in range(count)])


def _delays_of_run(run: int, planned: int) -> list[float]:
    """The delays in one run. A large run is sampled in each part, as parts are sent at different
    times."""
    stride = max(IN_A_PART, planned // PARTS)
    params = {"run": run, "parts": PARTS, "stride": stride, "each": IN_A_PART}
    with connection.cursor() as cursor:
        cursor.execute(TOOK, {**params, "opened": Event.OPENED})
        return [seconds for (seconds,) in cursor.fetchall()]
