"""Two workers, real servers, an FCM that misbehaves in every way: the rows equal the witness."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control, tasks
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.keys.credentials import ServiceAccount
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(transactional_db: None, project: Project) -> Project:
    return project


def launch(project: Project, **values: Any) -> Run:
    run = control.launch(make_campaign(project, **values), by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    return run


def is_(run: Run, state: str) -> bool:
    run.refresh_from_db()
    return run.state == state


GONE = ("dead", "deadios", "disabledios", "badios", "malformed")
REFUSED = (*GONE, "foreign", "badmessage", "vague")
MENDED = ("flaky", "broken", "slow", "live")
AMBIGUOUS = ("lost", "reset")


def test_a_run_over_every_state_of_address_equals_the_witness_row_by_row(
    project: Project, fcm: Fcm, beat: Workers
) -> None:
    words = (*REFUSED * 8, *MENDED * 24, *AMBIGUOUS * 20)
    odd = [f"{word}-{number}:APA91b" for number, word in enumerate(words)]
    step = 8_000 // len(odd)
    everybody = [a for address in odd for a in (address, *[""] * (step - 1))]
    everybody += [""] * (8_000 - len(everybody))
    devices = {device.pk: device.address for device in make_people(project, everybody)}

    run = launch(project)

    eventually("the run ends", lambda: is_(run, "finished"), seconds=120)
    assert len(odd) == 200
    assert sums.totals_of(run) == reports.recount(run)
    eventually(
        "the witness has written everything down",
        lambda: len(fcm.everything_witnessed()) == fcm.counts()["accepted"],
    )
    received = Counter((record["id"], record["address"]) for record in fcm.everything_witnessed())
    for row in Delivery.objects.filter(run_id=run.pk):
        times = received.pop((f"{run.pk}:{row.seq}", devices[row.device_id]), 0)
        word = devices[row.device_id].partition("-")[0]
        if row.status == "accepted":
            assert times == 1 or (row.resent and word == "lost" and times == 2), (row, times)
        else:
            assert (row.status, times) == ("rejected", 0), (row, times)
            assert word in REFUSED
    assert not received, "the witness saw a message that no row knows"
    retired = Device.objects.filter(retired_by=run.reference).values_list("address", flat=True)
    assert {a.partition("-")[0] for a in retired} == set(GONE)


def test_a_token_refused_in_mid_run_costs_one_refresh_and_no_row(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    fcm.change(latency_ms=60)
    make_people(project, 6_000)
    run = launch(project)
    eventually("500 are sent to", lambda: fcm.counts()["accepted"] > 500)

    fcm.revoke()

    eventually("the run ends", lambda: is_(run, "finished"))
    assert sums.totals_of(run).accepted == 6_000
    counts = fcm.counts()
    assert counts["by_answer"]["ACCESS_TOKEN_EXPIRED"] > 1, "several were in flight"
    assert counts["token_requests"] == 2, "the first, and one for all of them"


def test_a_working_key_of_the_wrong_project_stops_early_and_retires_nothing(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 5_000)
    project.firebase_project_id = fcm.wrong_account["project_id"]
    project.save()
    ServiceAccount.store(project, fcm.wrong_account)

    run = launch(project)

    eventually("the run is paused", lambda: is_(run, "paused"))
    assert run.cause == "other_project"
    leased = run.chunks.filter(state="leased")
    eventually("nobody holds a chunk", lambda: not leased.exists())
    assert fcm.counts()["requests"] <= 500
    assert reports.recount(run).waiting == 5_000
    assert not Device.objects.filter(retired_at__isnull=False).exists()


def test_two_workers_keep_to_the_quota_that_fcm_measures(
    project: Project, fcm: Fcm, beat: Workers
) -> None:
    """80 a second are allowed of 100; the emulator counts each minute of its own."""
    project.quota_per_minute = 6_000
    project.save()
    fcm.change(quota_per_minute=6_000)
    make_people(project, 1_000)

    run = launch(project)

    eventually("the run ends", lambda: is_(run, "finished"), seconds=90)
    assert sums.totals_of(run).accepted == 1_000
    assert "RATE_LIMIT_EXCEEDED" not in fcm.counts()["by_answer"]
    at = sorted(record["at"] for record in fcm.everything_witnessed())
    for seconds in (2, 5, 10):
        busiest = max(sum(start <= t < start + seconds for t in at) for start in at[::20])
        assert busiest <= 80 * (seconds + 1), f"{busiest} within {seconds} s"
