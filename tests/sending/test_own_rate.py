"""“At most 300 a second”, or so many minutes for all, counted where the requests arrive."""

from __future__ import annotations

from bisect import bisect_left

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)
RATE, PEOPLE, SPREAD = 300, 3_000, 10
A_STEP = RATE // 4
ON_THE_WAY = 1.0  # second: rendering, a commit, the network, on a busy machine


def launch(project: Project, **asked: int) -> Run:
    campaign = make_campaign(project, **asked)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    if "spread_seconds" in asked:
        Run.objects.update(spread_seconds=SPREAD)  # nobody wants to wait for a minute
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    return run


def most_in_a_second(moments: list[float]) -> int:
    return max(end - bisect_left(moments, at - 1) for end, at in enumerate(moments, 1))


@pytest.mark.parametrize("asked", [{"rate_per_second": RATE}, {"spread_seconds": 60}])
def test_no_second_at_fcm_passes_the_campaigns_own_rate(
    transactional_db: None, project: Project, fcm: Fcm, beat: Workers, asked: dict[str, int]
) -> None:
    make_people(project, PEOPLE)

    run = launch(project, **asked)

    eventually("the run ends", lambda: Run.objects.get(pk=run.pk).finished_at, seconds=60)
    moments = sorted(record["at"] for record in fcm.witness())
    assert len(moments) == PEOPLE
    assert most_in_a_second(moments) <= RATE + A_STEP + ON_THE_WAY * RATE
    assert moments[-1] - moments[0] > 0.9 * SPREAD, "not in a burst, and a rest"
