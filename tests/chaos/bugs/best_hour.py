"""What F104 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("who reads later than the schedule is rung by the schedule", fault="F104")
def _by_the_schedule() -> None:
    from campaigns.runs.local_time import LocalTime

    time_of = LocalTime.time_of
    patch(LocalTime, "time_of", lambda self, hour: min(self.wall, time_of(self, hour)))
