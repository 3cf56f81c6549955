"""What was accepted leaves once, and is told, whoever dies or forgets before FCM has it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, connections

from campaigns import tasks
from campaigns.engine import messages
from campaigns.runs import sums
from campaigns.runs.claiming import Fenced
from campaigns.runs.ledger import Delivery
from campaigns.runs.messages import taking
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending.inbox import message_items
from notifications.people.project import Project
from notifications.postgres import clock
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.given.by_hand import let_leases_lapse
from tests.given.forgetting import flush_ours
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 60


@pytest.fixture
def project(transactional_db: None, project: Project) -> Project:
    for number in range(MANY):
        make_device(make_contact(project, external_id=f"p{number}"), f"live{number}:APA91b")
    return project


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def urgent(workers: Workers) -> Iterator[Workers]:
    flush_ours()
    workers.start("urgent")
    workers.wait_until_ready("urgent")
    yield workers
    if "urgent" in workers.processes:
        workers.kill("urgent")


def body(number: int, **other: Any) -> dict[str, Any]:
    content = {"title": "Hello", "body": f"Number {number}"}
    return {"to": {"contact": f"p{number}"}, "content": content, **other}


def accepted(call: Caller) -> list[str]:
    rows = {"messages": [body(number) for number in range(MANY)]}
    answer = call.post("messages/bulk", rows).json()
    assert answer["rejected"] == []
    return [one["id"] for one in answer["accepted"]]


def states(call: Caller, names: list[str]) -> set[str]:
    return {call.get(f"messages/{name}").json()["state"] for name in names}


def settled() -> int:
    return Delivery.objects.count()


def swept_until_settled() -> bool:
    call_command("sweep", "--once")
    return settled() == MANY


def assert_each_got_one(call: Caller, names: list[str], fcm: Fcm) -> None:
    assert states(call, names) == {"finished"}
    received = sorted(record["address"] for record in fcm.witness())
    assert received == sorted(f"live{number}:APA91b" for number in range(MANY))
    totals = sums.totals_of(Run.every.get())
    assert (totals.planned, totals.accepted, totals.waiting) == (MANY, MANY, 0)


def test_a_worker_of_the_fast_lane_sends_what_a_call_rings_for(
    call: Caller, fcm: Fcm, urgent: Workers
) -> None:
    names = accepted(call)
    eventually("everybody is sent to", lambda: settled() == MANY)
    assert_each_got_one(call, names, fcm)


def test_an_emptied_redis_between_the_answer_and_fcm_loses_nobody(
    call: Caller, fcm: Fcm, workers: Workers
) -> None:
    names = accepted(call)  # nobody listens on the fast lane yet
    flush_ours()
    workers.start("urgent")
    workers.wait_until_ready("urgent")
    try:
        eventually("everybody is sent to", swept_until_settled, seconds=60)
        assert_each_got_one(call, names, fcm)
    finally:
        workers.kill("urgent")


def test_a_killed_worker_leaves_each_message_sent_and_repeats_only_what_was_in_flight(
    call: Caller, fcm: Fcm, urgent: Workers
) -> None:
    fcm.change(latency_ms=1_500)
    names = accepted(call)
    eventually("requests are on their way", lambda: fcm.counts()["requests"] > 0)
    urgent.kill("urgent")
    fcm.change(latency_ms=5)
    let_leases_lapse()
    urgent.start("urgent")
    urgent.wait_until_ready("urgent")

    eventually("everybody is sent to", swept_until_settled, seconds=60)

    assert states(call, names) == {"finished"}
    received = {record["address"] for record in fcm.witness()}
    assert received == {f"live{number}:APA91b" for number in range(MANY)}
    twice = len(fcm.witness()) - MANY
    assert twice <= Delivery.objects.filter(resent=True).count()


def test_what_a_worker_took_and_never_sent_leaves_once_its_lease_is_over(
    call: Caller, fcm: Fcm
) -> None:
    names = accepted(call)
    asleep = next(iter(messages.Due(seconds=1)))

    tasks.send_messages()
    assert not fcm.witness(), "they are somebody's"

    let_leases_lapse()
    messages.look_after(clock.now())
    another = next(iter(messages.Due(seconds=1)))
    assert (another.chunk.pk, another.chunk.attempt) == (asleep.chunk.pk, 2)
    with pytest.raises(Fenced):
        sending.send_claimed(asleep)
    assert not fcm.witness()

    assert sending.send_claimed(another) == {"accepted": MANY}
    assert_each_got_one(call, names, fcm)


def test_postgresql_that_drops_everybody_costs_nobody(
    call: Caller, fcm: Fcm, urgent: Workers
) -> None:
    fcm.change(latency_ms=1_000)
    names = accepted(call)
    eventually("requests are on their way", lambda: fcm.counts()["requests"] > 0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND datname = current_database() AND backend_type = 'client backend'"
        )
    eventually("everybody is sent to", swept_until_settled, seconds=60)
    assert_each_got_one(call, names, fcm)


def test_of_many_callers_with_one_key_at_once_one_makes_the_message(call: Caller, fcm: Fcm) -> None:
    asked = body(1, deduplicate={"key": "once"})

    def ask(_: int) -> tuple[int, str]:
        try:
            answer = call.post("messages", asked)
            return answer.status_code, answer.json()["id"]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(ask, range(24)))

    assert sorted(code for code, _ in answers) == [200] * 23 + [202]
    assert len({name for _, name in answers}) == 1
    assert Message.objects.count() == 1


def test_a_cancel_and_a_worker_at_once_decide_each_message_once(call: Caller, fcm: Fcm) -> None:
    names = accepted(call)

    def cancel(name: str) -> int:
        try:
            return call.post(f"messages/{name}/cancel").status_code
        finally:
            connections.close_all()

    def take(run: Run) -> None:
        try:
            taking.take(run, message_items.keep)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as people:
        asked = [people.submit(cancel, name) for name in names]
        people.submit(take, Run.every.get()).result(30)
        answers = [one.result(30) for one in asked]

    assert set(answers) <= {200, 409}
    taken = Message.objects.filter(state="taken").count()
    cancelled = Message.objects.filter(state="cancelled").count()
    assert (taken + cancelled, answers.count(200)) == (MANY, cancelled)
    assert Run.every.get().planned == taken
