"""What waits for its person to wake has not left: it can be cancelled until then."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from campaigns import tasks
from campaigns.audiences.audience import Audience, Member
from campaigns.engine import messages
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.messages import day, taking
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending.inbox import message_items
from notifications.people.project import Project
from notifications.webhooks.outbox import Outgoing
from tests.api.caller import Caller
from tests.api.own_app import app_of
from tests.given.builders import make_contact, make_device
from tests.given.by_hand import let_leases_lapse
from tests.given.endpoints import make_endpoint
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm

HELLO = {"title": "Hello", "body": "Good morning."}
HERE, FAR = "Etc/UTC", "Etc/GMT-12"  # when it is night here, it is noon there
AN_HOUR = timedelta(hours=1)


@pytest.fixture
def night(project: Project) -> Project:
    """Whoever is here sleeps; on the other side of the world they do not."""
    now = timezone.now()
    begin, end = (
        (now + hours * AN_HOUR).time().replace(second=0, microsecond=0) for hours in (-3, 3)
    )
    Project.objects.filter(pk=project.pk).update(quiet_from=begin, quiet_until=end)
    project.refresh_from_db()
    return project


@pytest.fixture
def call(night: Project) -> Caller:
    return Caller(night)


def reader(project: Project, name: str, zone: str = HERE) -> None:
    make_device(make_contact(project, external_id=name, timezone=zone), f"live-{name}:APA91b")


def sent(call: Caller, *names: str, **other: Any) -> str:
    to = {"contacts": [*names]} if len(names) > 1 else {"contact": names[0]}
    answer = call.post("messages", {"to": to, "content": HELLO, **other})
    assert answer.status_code == 202, answer.content
    tasks.send_messages()
    name: str = answer.json()["id"]
    return name


def morning_comes(project: Project) -> None:
    Retry.objects.update(not_before=timezone.now() - AN_HOUR)
    Chunk.objects.exclude(state="closed").update(not_before=None)
    Project.objects.filter(pk=project.pk).update(quiet_from=None, quiet_until=None)


def ends() -> list[tuple[str, str]]:
    return sorted(Delivery.objects.values_list("status", "reason"))


def test_a_message_that_waits_for_quiet_hours_is_cancelled_and_never_leaves(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    reader(night, "ada")
    name = sent(call, "ada")
    assert call.get(f"messages/{name}").json()["devices"][0]["reason"] == "quiet_hours"

    shown = call.post(f"messages/{name}/cancel")

    assert shown.status_code == 200, shown.content
    assert (shown.json()["state"], shown.json()["totals"]["skipped"]) == ("cancelled", 1)
    (device,) = shown.json()["devices"]
    assert (device["status"], device["reason"], device["due"]) == ("skipped", "cancelled", None)
    assert Chunk.objects.get().state == "closed"
    assert not Retry.objects.exists()
    assert call.post(f"messages/{name}/cancel").status_code == 200
    assert [one["id"] for one in call.get("messages?state=cancelled").json()["results"]] == [name]

    morning_comes(night)
    tasks.send_messages()
    assert (fcm.witness(), ends()) == ([], [("skipped", "cancelled")])
    run = Run.every.get()
    messages.look_after(timezone.now())
    day.close(run, run.scheduled_at + timedelta(days=2))
    run.refresh_from_db()
    assert (run.state, run.skipped) == ("finished", 1)


def test_of_a_call_to_many_those_who_sleep_are_cancelled_and_who_got_it_is_told_so(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    for name, zone in (("ada", FAR), ("bob", HERE), ("cleo", HERE), ("dan", HERE)):
        reader(night, name, zone)
    name, other = sent(call, "ada", "bob", "cleo"), sent(call, "dan")

    shown = call.post(f"messages/{name}/cancel").json()

    assert shown["people"] == {"waiting": 0, "taken": 1, "cancelled": 2}
    assert shown["state"] == "finished"
    assert (shown["totals"]["accepted"], shown["totals"]["skipped"]) == (1, 2)
    morning_comes(night)
    tasks.send_messages()
    addresses = sorted(record["address"] for record in fcm.witness())
    assert addresses == ["live-ada:APA91b", "live-dan:APA91b"]
    assert call.get(f"messages/{other}").json()["state"] == "finished"


def test_a_chunk_goes_on_for_the_messages_that_were_not_cancelled(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    reader(night, "ada")
    reader(night, "bob")
    rows = [{"to": {"contact": name}, "content": HELLO} for name in ("ada", "bob")]
    answer = call.post("messages/bulk", {"messages": rows}).json()
    tasks.send_messages()
    assert call.post(f"messages/{answer['accepted'][0]['id']}/cancel").status_code == 200
    assert Chunk.objects.get().state == "waiting"

    morning_comes(night)
    tasks.send_messages()

    assert [record["address"] for record in fcm.witness()] == ["live-bob:APA91b"]
    assert Chunk.objects.get().state == "closed"
    assert ends() == [("accepted", ""), ("skipped", "cancelled")]


def test_who_sleeps_on_a_list_is_cancelled_too(
    call: Caller, fcm: Fcm, night: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("campaigns.runs.messages.api.resolve_recipients.AT_ONCE", 1)
    room = Audience.objects.create(project=night, name="Room", kind=Audience.Kind.LIST)
    for name in ("ada", "bob", "cleo"):
        reader(night, name)
    for person in night.contact_set.all():
        Member.objects.create(audience=room, contact=person)
    name = sent(call, "", to={"list": room.pk})
    messages.unfold(seconds=1)
    while taken := messages.next_of_many():
        sending.send_claimed(taken)
    assert Retry.objects.count() == 3

    shown = call.post(f"messages/{name}/cancel").json()

    assert (shown["state"], shown["people"]["cancelled"]) == ("cancelled", 3)
    assert ends() == [("skipped", "cancelled")] * 3


def test_its_item_is_gone_from_the_inbox_and_who_got_the_push_keeps_theirs(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    reader(night, "ada")
    reader(night, "bob", FAR)
    name = sent(call, "ada", "bob", inbox=True)
    assert inbox(night, "ada") == inbox(night, "bob") == 1

    call.post(f"messages/{name}/cancel")

    assert (inbox(night, "ada"), inbox(night, "bob")) == (0, 1)


def inbox(project: Project, name: str) -> int:
    return len(app_of(project, name)("GET", "inbox").json()["results"])


def test_webhooks_hear_of_each_device_that_was_cancelled(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    make_endpoint(night, "https://shop.example.com/hook", kinds=["message.skipped"])
    reader(night, "ada")
    name = sent(call, "ada")

    call.post(f"messages/{name}/cancel")

    (said,) = [event["data"] for row in Outgoing.objects.all() for event in row.events]
    assert (said["message"], said["contact"]) == (name, "ada")
    assert (said["device"], said["reason"]) == ("live-ada:APA91b", "cancelled")


def test_a_message_whose_retry_waits_is_cancelled_and_gives_its_place_back(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    Project.objects.filter(pk=night.pk).update(cap_per_day=1)
    ada = make_contact(night, external_id="ada", timezone=FAR)
    make_device(ada, "throttled-ada:APA91b")
    name = sent(call, "ada")
    assert (Retry.objects.get().reason, Counted.objects.count()) == ("throttled", 1)

    assert call.post(f"messages/{name}/cancel").json()["state"] == "cancelled"

    assert ends() == [("skipped", "cancelled")]
    assert not Counted.objects.exists()


def test_a_request_that_may_have_left_is_not_cancelled(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    reader(night, "ada", FAR)
    name = call.post("messages", {"to": {"contact": "ada"}, "content": HELLO}).json()["id"]
    taken = taking.take(Run.every.get(), message_items.keep)
    assert taken is not None
    Window.objects.create(
        run=taken.run, chunk=taken.chunk, attempt=1, seqs=[1], opened_at=timezone.now()
    )
    assert call.post(f"messages/{name}/cancel").status_code == 409
    let_leases_lapse()  # the worker died
    tasks.sweep()
    assert Chunk.objects.get().state == "waiting"
    assert call.post(f"messages/{name}/cancel").status_code == 409
    assert ends() == []


def test_who_sleeps_is_cancelled_while_a_worker_sends_to_the_others_of_the_chunk(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    reader(night, "ada")
    reader(night, "bob", FAR)
    to = {"contacts": ["ada", "bob"]}
    name = call.post("messages", {"to": to, "content": HELLO}).json()["id"]
    taken = taking.take(Run.every.get(), message_items.keep)
    assert taken is not None
    worker = sending.Sending(taken)
    worker.rows.people()  # it has found who sleeps, and holds the chunk

    shown = call.post(f"messages/{name}/cancel").json()
    assert shown["people"] == {"waiting": 0, "taken": 1, "cancelled": 1}
    worker.work()

    assert Chunk.objects.get().state == "closed"
    assert ends() == [("accepted", ""), ("skipped", "cancelled")]


@pytest.mark.django_db(transaction=True)
def test_of_a_cancel_and_a_worker_in_the_morning_one_comes_first(
    call: Caller, fcm: Fcm, night: Project
) -> None:
    people = [f"p{number}" for number in range(24)]
    for name in people:
        reader(night, name)
    names = []
    for first in range(0, 24, 3):  # each three in a chunk of their own
        rows = [{"to": {"contact": name}, "content": HELLO} for name in people[first : first + 3]]
        answer = call.post("messages/bulk", {"messages": rows}).json()
        names += [one["id"] for one in answer["accepted"]]
        tasks.send_messages()
    assert Retry.objects.count() == len(people)
    morning_comes(night)

    def cancel(name: str) -> int:
        return call.post(f"messages/{name}/cancel").status_code

    with ThreadPoolExecutor(4) as at_once:
        asked = [at_once.submit(alone, partial(cancel, name)) for name in names[::-1]]
        worker = at_once.submit(alone, tasks.send_messages)
        tasks.send_messages()
        worker.result(60)
        answers = [one.result(60) for one in asked]
    # On a machine that stalls, a lease gets too old to send: then the sweep hands the chunk on.
    eventually("everybody is settled", lambda: sweep_and_send() == len(people))

    assert set(answers) <= {200, 409}
    cancelled = answers.count(200)
    assert ends() == [("accepted", "")] * (24 - cancelled) + [("skipped", "cancelled")] * cancelled
    assert len(fcm.witness()) == 24 - cancelled
    assert Message.objects.filter(state="cancelled").count() == cancelled
    assert {chunk.state for chunk in Chunk.objects.all()} == {"closed"}


def sweep_and_send() -> int:
    let_leases_lapse()
    messages.look_after(timezone.now())
    tasks.send_messages()
    return len(ends())


def alone(work: Callable[[], Any]) -> Any:
    try:
        return work()
    finally:
        connections.close_all()
