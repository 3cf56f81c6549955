"""What F106 must notice."""

from __future__ import annotations

from tests.chaos.bug import bug, patch


@bug("a run on its way around the earth leaves out the next", fault="F106")
def _leaves_out_the_next() -> None:
    from campaigns.runs import series

    patch(series, "_goes_around", lambda _run, _now: False)


@bug("each run of a series is for the time of the first", fault="F106")
def _for_the_time_of_the_first() -> None:
    from campaigns.planning import local

    hour_of = local.hour_of
    patch(local, "hour_of", lambda campaign, at: hour_of(campaign, at and campaign.at))
