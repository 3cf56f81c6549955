"""`python -m bench.planning.forecasts CAMPAIGN RUN`: in the stack's environment, round by round.

The campaign goes by each reader's clock, around quiet hours and caps; phones have told of the run.
"""

from __future__ import annotations

import json
import os
import sys
import time
from array import array
from collections.abc import Callable
from datetime import time as clock
from datetime import timedelta
from unittest.mock import patch

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.utils import timezone

from bench.planning import solver
from bench.planning.forecast import PEER
from campaigns.audiences import reach
from campaigns.engagement.opening import load_open_delays, load_open_rate
from campaigns.forecast import course
from campaigns.launch_check import skipped_people
from campaigns.launch_check.launch_report import LaunchReport
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.runs.sums import Breakdown
from notifications.people.project import Project

ROUNDS = 5
Turns = dict[str, Callable[[], object]]


def main(campaign_id: int, run_id: int) -> None:
    campaign, run = _prepared(campaign_id), _ended_lately(run_id)
    turns = _turns(campaign, run.planned or 0)
    found: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(ROUNDS):
        for name, deed in turns.items():
            began = time.monotonic()
            deed()
            found[name].append(time.monotonic() - began)
    print(json.dumps(found))


def _prepared(campaign_id: int) -> Campaign:
    """In an hour in which half of its people sleep, until it has expired."""
    campaign = Campaign.objects.select_related("project", "audience").get(pk=campaign_id)
    Project.objects.filter(pk=campaign.project_id).update(
        quiet_from=clock(21), quiet_until=clock(8), cap_per_day=2
    )
    at = (timezone.now() + timedelta(days=2)).replace(hour=2, minute=0, second=0, microsecond=0)
    Campaign.objects.filter(pk=campaign_id).update(
        schedule_kind="at", at=at, timezone="America/New_York", ttl_seconds=3_600
    )
    return Campaign.objects.select_related("project", "audience", "template").get(pk=campaign_id)


def _ended_lately(run_id: int) -> Run:
    """Long enough ago for its opens to say something."""
    at = timezone.now() - timedelta(days=2)
    Run.objects.filter(pk=run_id).update(finished_at=at)
    Breakdown.objects.filter(run=run_id).update(finished_at=at)
    return Run.objects.get(pk=run_id)


def _turns(campaign: Campaign, count: int) -> Turns:
    return {
        PEER: lambda: _bare(count),
        "the forecast, from a sample": lambda: _from_a_sample(campaign),
        "the forecast, from counts of all": lambda: _forecast(campaign),
        "its plan, of 200,000": lambda: _plan(count, most=course.MOST),
        "a plan of everybody": lambda: _plan(count, most=count),
        "how many open it, and how soon": lambda: load_open_delays(
            load_open_rate(campaign.project_id, timezone.now())
        ),
        "people who expire by local time": lambda: skipped_people.find_left_out(
            LaunchReport(campaign, timezone.now()), "quiet_hours"
        ),
    }


def _bare(count: int) -> array[float]:
    now, at = 0.0, array("d", [0.0]) * count
    for person in range(count):
        at[person] = now
        now += 125.0
    return at


def _forecast(campaign: Campaign) -> LaunchReport:
    report = LaunchReport(campaign, timezone.now())
    assert report.waterfall and report.course and report.course.skipped, report.uncounted
    assert report.opens and report.opens.counts
    return report


def _from_a_sample(campaign: Campaign) -> None:
    """As where everybody could not be counted in time; of few, all are."""
    with patch.object(reach, "exact", reach.quick):
        _forecast(campaign)


def _plan(count: int, *, most: int) -> None:
    rules, capacity = solver.RUNS["by each reader's clock"]
    with patch.object(course, "MOST", most):
        course.foresee(dict(solver.kinds(count)), count, rules, capacity, exact=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
