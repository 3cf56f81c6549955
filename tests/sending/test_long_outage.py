"""FCM or the network is away for long: nobody pays for it, and the run goes on by itself."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs import sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.pacing import gate
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.servers.fcm import Fcm

STEP = 30  # seconds


class Clock:
    """The gate's, which only a test sets forward; and whatever waits in the rows comes due sooner.

    The gate judges by the last second. How slow this machine is must not be what it judges by.
    """

    def __init__(self) -> None:
        self.now = 1_000_000.0  # long after whatever the gate takes for never

    def __call__(self) -> float:
        return self.now

    def rest(self, seconds: float) -> None:
        self.now += seconds

    def go_on(self, seconds: int) -> None:
        self.now += seconds
        earlier = F("not_before") - timedelta(seconds=seconds)
        Retry.objects.update(not_before=earlier)
        Window.objects.update(opened_at=F("opened_at") - timedelta(seconds=seconds))
        Chunk.objects.filter(not_before__isnull=False).update(not_before=earlier)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(gate, "Gate", partial(gate.Gate, clock=clock))
    # Who rests at the gate lets its own clock pass: the real one would cost half a minute.
    ours = SimpleNamespace(monotonic=time.monotonic, sleep=clock.rest)
    monkeypatch.setattr(sending, "time", ours)
    # Past its permit a request does not leave: a machine that stalls would change whose turn it is.
    monkeypatch.setattr(sending, "START_SECONDS", 600.0)
    # On a busy machine Redis may take a second, and is not away: its answer is what is tried here.
    patient = gate._script(30.0)
    monkeypatch.setattr(gate, "_script", lambda timeout: patient)
    return clock


def work_for(minutes: float, run: Run, clock: Clock) -> None:
    """What the workers do meanwhile, in steps; the chunks in the order in which they are rung."""
    for _ in range(round(60 * minutes / STEP)):
        for queued in run.chunks.filter(state="queued").order_by("number"):
            sending.send(run.pk, queued.number, run.epoch)
        engine.advance(run.pk, now=timezone.now())
        clock.go_on(STEP)
    run.refresh_from_db()


def work_until(requests: list[int], run: Run, clock: Clock) -> None:
    """Until so many left to each; a step at a time, for the next try is never nearer."""
    for _ in range(60 * 60 // STEP):
        if requests_each(run) == requests:
            return
        work_for(STEP / 60, run, clock)
    pytest.fail(f"{requests_each(run)} requests after an hour, not {requests}")


def requests_each(run: Run) -> list[int]:
    """To how many people how many requests left, most first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM campaigns_window, unnest(seqs) AS seq WHERE run_id = %s"
            " GROUP BY seq ORDER BY count(*) DESC",
            [run.pk],
        )
        return [count for (count,) in cursor.fetchall()]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "answer", "answer": "unavailable"},
        {"kind": "answer", "answer": {"status": 502, "body": "<html>"}, "accepted": True},
    ],
    ids=["503", "502, though accepted"],
)
def test_after_half_an_hour_of_failures_everybody_is_reached_by_three_requests_at_most(
    project: Project, fcm: Fcm, clock: Clock, fault: dict[str, Any]
) -> None:
    make_people(project, 700)
    run = make_run(project)
    fcm.script(**fault)

    work_for(30, run, clock)

    assert (run.state, sums.totals_of(run).waiting) == ("sending", 700)
    tries = sum(requests_each(run)) - sending.TRIAL
    assert 10 <= tries <= 60, "one message at a time, again and again"
    fcm.mend()
    work_for(10, run, clock)
    assert (run.state, run.accepted, run.unknown) == ("finished", 700, 0)
    assert max(requests_each(run)) <= 3


def test_a_run_without_a_network_for_an_hour_goes_on_when_it_is_back(
    project: Project, fcm: Fcm, clock: Clock, settings: Any
) -> None:
    make_people(project, 300)
    run = make_run(project)
    there, settings.FCM_ENDPOINT = settings.FCM_ENDPOINT, "https://127.0.0.1:9"

    work_for(60, run, clock)

    assert (run.state, sums.totals_of(run).waiting) == ("sending", 300)
    pace = gate.pace_of(project, run.reference, None, clock=clock)
    assert pace.limit is gate.Limit.FAILING and pace.until
    assert not Delivery.objects.filter(run_id=run.pk).exists(), "nobody is refused for it"

    settings.FCM_ENDPOINT = there
    work_for(10, run, clock)
    assert (run.state, run.accepted) == ("finished", 300)
    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists(), "nothing had left"


def test_a_few_who_were_tried_often_are_spared_while_thousands_were_not(
    project: Project, fcm: Fcm, clock: Clock
) -> None:
    make_people(project, [*[f"p-{number}:x" for number in range(5)], *[""] * 1_195])
    run = make_run(project)
    fcm.script("answer", answer="unavailable", prefix="p-")
    sending.send(run.pk, 1, run.epoch)
    fcm.mend()
    fcm.script("answer", answer="unavailable")
    # Among so many that were accepted the gate sees no outage yet. The few come next, and it does:
    # after the others, everybody would have one request left, and last requests be spent rightly.
    sending.send(run.pk, 2, run.epoch)
    clock.go_on(STEP)
    engine.advance(run.pk, now=timezone.now())
    sending.send(run.pk, 1, run.epoch)
    assert requests_each(run)[:6] == [2] * 5 + [1]

    work_for(30, run, clock)

    assert (run.state, run.unknown) == ("sending", 0)
    assert max(requests_each(run)) <= 2, "whoever was tried less came first"
    fcm.mend()
    work_for(10, run, clock)
    assert (run.state, run.accepted, run.unknown) == ("finished", 1_200, 0)


def test_nobodys_last_request_is_a_try_while_another_run_has_people_who_were_not_tried(
    project: Project, fcm: Fcm, clock: Clock
) -> None:
    make_people(project, 5)
    run = make_run(project)
    fcm.script("answer", answer="unavailable")
    work_until([2] * 5, run, clock)
    make_people(project, 100)
    other = make_run(project)

    for _ in range(30):
        work_for(0.5, run, clock)
        work_for(0.5, other, clock)

    assert (run.unknown, requests_each(run)) == (0, [2] * 5)
    assert 10 <= sum(requests_each(other)) <= 60
    fcm.mend()
    work_for(3, other, clock)
    work_for(3, run, clock)
    assert (run.state, run.accepted) == ("finished", 5)


def test_where_nobody_else_is_left_a_last_request_is_a_try_once_a_minute(
    project: Project, fcm: Fcm, clock: Clock
) -> None:
    make_people(project, 20)
    run = make_run(project)
    fcm.script("answer", answer="unavailable")
    while set(requests_each(run)) != {2}:
        work_for(0.5, run, clock)

    work_for(5, run, clock)

    assert 1 <= run.unknown <= 5
    assert run.state == "sending"
