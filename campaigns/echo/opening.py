"""Opening: how many of those who get a message open it, learned from what the project sent lately;
and how fast one may send so that no more than so many a second are expected to.

Nothing is assumed of how soon they do. If a share p of those sent to opens it, sooner or later, the
opens of any second are those of messages sent at r a second at most, each counted once: r · p,
when all come equally late, and fewer when they are spread. So r = n / p keeps to n, whatever the
length of the run; it is reached only by a run that is longer than its readers take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from campaigns.echo import funnel
from campaigns.runs.run import Run

LAST_RUNS, LOOKED_AT = 10, 30
RIPE = timedelta(days=1)  # after the end: most who ever open it have
LEAST_TOLD, LEAST_OPENED = 1_000, 20


@dataclass(frozen=True)
class Opening:
    """So many opened it, of so many whose phones would have told; and in which runs."""

    opened: int = 0
    able: int = 0
    runs: Sequence[int] = ()

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
    of = [(run.pk, told[run.pk].count, told[run.pk].able or 0) for run in runs]
    return of_runs([one for one in of if one[2]][:LAST_RUNS])


def of_runs(told: Sequence[tuple[int, int, int]]) -> Opening:
    """All of them together: (run, opened, able)."""
    return Opening(
        sum(count for _, count, _ in told),
        sum(able for _, _, able in told),
        [run for run, _, _ in told],
    )
