"""Departures: when the messages of a campaign would leave. The step “When”, the review, the launch
dialog and the API share this computation.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from campaigns.audiences.reach import Zones
from campaigns.forecast.course import kinds
from campaigns.forecast.other_runs.concurrent_runs import SharedCapacity, capacity_beside_others
from campaigns.forecast.other_runs.shared_gate import RunRequest
from campaigns.forecast.rate_forecast import RateForecast
from campaigns.forecast.solver.eligibility import never
from campaigns.forecast.solver.rules import Rules
from campaigns.planning.campaign import Campaign
from campaigns.runs.local_time import LocalTime


def rules_of(campaign: Campaign, start: datetime, by: LocalTime | None, first: int) -> Rules:
    """Return the solver's rules. `first`: how many devices go first; 0: all go at once."""
    return Rules(
        start=start,
        ttl=timedelta(seconds=campaign.ttl_seconds),
        local_time=by,
        quiet=campaign.quiet_hours,
        first=first,
        wait=timedelta(seconds=campaign.first_wait_seconds if first else 0),
    )


def request_and_capacity(
    campaign: Campaign, rules: Rules, found: Zones, sent_to: int, pace: RateForecast, now: datetime
) -> tuple[RunRequest, SharedCapacity]:
    """Return what the campaign asks of the gate, and what else is sent meanwhile."""
    # Kinds that the clock leaves out are among the skipped devices already.
    person_kinds = {
        kind: count for kind, count in kinds(found.clocks).items() if not never(rules, kind)
    }
    request = RunRequest(person_kinds, min(sum(person_kinds.values()), sent_to), rules, pace.rate)
    return request, capacity_beside_others(campaign, request, pace.capacity, now)
