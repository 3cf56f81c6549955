"""Whoever dies, forgets or works at once: each event is decided once, and its message leaves."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.utils import timezone

from campaigns import control
from campaigns.runs.messages.message import Message
from campaigns.triggers import deciding
from campaigns.triggers.automation import Automation
from campaigns.triggers.trigger import Trigger
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_automation, make_contact, make_device
from tests.given.forgetting import flush_ours
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers
from tests.triggers.doing import decisions, did, tell

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 40
WHO = [f"p{number}" for number in range(MANY)]


@pytest.fixture
def project(transactional_db: None, project: Project) -> Project:
    for name in WHO:
        make_device(make_contact(project, external_id=name), f"live-{name}:APA91b")
    return project


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def urgent(workers: Workers) -> Iterator[Workers]:
    flush_ours()
    yield workers
    workers.kill("urgent")


@pytest.fixture
def dying(workers: Workers, fcm: Fcm, request: pytest.FixtureRequest) -> Iterator[Workers]:
    """A worker that is killed where the test says."""
    flush_ours()
    one = Workers(fcm, {"CARILLON_FAILPOINT": f"{request.param}:kill:1"})
    one.start("urgent")
    one.wait_until_ready("urgent")
    yield one
    if one.processes:
        one.kill("urgent")


def swept_until_all_rang(fcm: Fcm) -> bool:
    call_command("sweep", "--once")
    return int(fcm.counts()["accepted"]) >= MANY


def assert_each_rang_once(automation: Automation, fcm: Fcm) -> None:
    assert sorted(one["address"] for one in fcm.witness()) == sorted(
        f"live-{name}:APA91b" for name in WHO
    )
    assert decisions(automation) == {"sent": MANY}
    assert Message.objects.count() == MANY
    named = {(trigger.run_id, trigger.number) for trigger in Trigger.objects.all()}
    assert named == set(Message.objects.values_list("run_id", "number"))


def test_a_call_rings_the_fast_lane_which_decides_and_sends(
    call: Caller, fcm: Fcm, urgent: Workers, project: Project
) -> None:
    automation = make_automation(project)
    urgent.start("urgent")
    urgent.wait_until_ready("urgent")
    tell(call, *map(did, WHO))
    eventually("everybody was sent to", lambda: fcm.counts()["accepted"] == MANY)
    assert_each_rang_once(automation, fcm)


@pytest.mark.parametrize("dying", ["before_decided"], indirect=True)
def test_a_worker_that_dies_before_the_commit_has_decided_nothing(
    call: Caller, fcm: Fcm, dying: Workers, project: Project, urgent: Workers
) -> None:
    automation = make_automation(project)
    tell(call, *map(did, WHO))
    eventually("it died", lambda: "before_decided kills" in dying.log("urgent"))
    dying.kill("urgent")
    assert decisions(automation) == {"waiting": MANY}
    assert not Message.objects.exists()

    urgent.start("urgent")
    urgent.wait_until_ready("urgent")
    eventually("everybody was sent to", lambda: swept_until_all_rang(fcm), seconds=60)
    assert_each_rang_once(automation, fcm)


@pytest.mark.parametrize("dying", ["after_decided"], indirect=True)
def test_a_worker_that_dies_after_the_commit_has_decided_for_good(
    call: Caller, fcm: Fcm, dying: Workers, project: Project, urgent: Workers
) -> None:
    automation = make_automation(project)
    tell(call, *map(did, WHO))
    eventually("it died", lambda: "after_decided kills" in dying.log("urgent"))
    dying.kill("urgent")
    assert decisions(automation) == {"sent": MANY}
    assert fcm.witness() == []

    urgent.start("urgent")
    urgent.wait_until_ready("urgent")
    eventually("everybody was sent to", lambda: swept_until_all_rang(fcm), seconds=60)
    assert_each_rang_once(automation, fcm)


def test_an_emptied_redis_costs_only_time(
    call: Caller, fcm: Fcm, urgent: Workers, project: Project
) -> None:
    automation = make_automation(project)
    tell(call, *map(did, WHO))
    flush_ours()
    urgent.start("urgent")
    urgent.wait_until_ready("urgent")
    eventually("everybody was sent to", lambda: swept_until_all_rang(fcm), seconds=60)
    assert_each_rang_once(automation, fcm)


def test_workers_at_once_send_one_message_to_a_person_within_the_window(
    call: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    automation = make_automation(project, once_in_seconds=86_400)
    tell(call, *(did(name) for _ in range(6) for name in WHO))
    monkeypatch.setattr(deciding, "AT_ONCE", 7)
    together = Barrier(6)

    def decide() -> None:
        try:
            together.wait(30)
            while deciding.decide(timezone.now()).triggers:
                pass
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as workers:
        for worker in [workers.submit(decide) for _ in range(6)]:
            worker.result(60)

    assert decisions(automation) == {"sent": MANY, "within_window": 5 * MANY}
    people = Message.objects.values_list("contact_id", flat=True)
    assert len(people) == len(set(people)) == MANY


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees the first again
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()"
            " AND wait_event_type = 'Lock')"
        )
        found: bool = cursor.fetchone()[0]
    return found


def test_nothing_is_sent_once_a_pause_is_answered(
    call: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause in the midst of a decision waits for it."""
    automation = make_automation(project)
    tell(call, *map(did, WHO))

    def pause() -> int:
        try:
            control.pause_automation(automation, by="user:alice")
            return Message.objects.count()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as somebody:
        asked: list[Future[int]] = []

        def before_the_commit(_point: str) -> None:
            asked.append(somebody.submit(pause))
            eventually("it is paused, or waits", lambda: asked[0].done() or waits_for_a_lock())

        monkeypatch.setattr(deciding, "hit", before_the_commit)
        deciding.decide(timezone.now())
        assert asked[0].result(30) == MANY

    tell(call, did("p0"))
    assert decisions(automation) == {"sent": MANY, "paused": 1}
