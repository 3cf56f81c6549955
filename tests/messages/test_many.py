"""A message to many: one call, one text, a row a person; a long list goes by the bulk lane."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from campaigns import tasks
from campaigns.audiences.audience import Audience, Member
from campaigns.engine import messages
from campaigns.runs.chunk import Chunk
from campaigns.runs.messages import bulk_messages, day
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres import clock
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_people
from tests.servers.fcm import Fcm

HELLO = {"title": "Hello {{ first_name }}", "body": "Lunch at {{ hour }}?"}


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def three(project: Project) -> list[str]:
    names = ["ada", "bob", "cleo"]
    for name in names:
        person = make_contact(project, external_id=name, attributes={"first_name": name})
        make_device(person, f"live-{name}:APA91b")
    return names


def to(**whom: Any) -> dict[str, Any]:
    return {"to": whom, "content": HELLO, "variables": {"hour": 12}}


def sent(call: Caller, body: dict[str, Any]) -> str:
    answer = call.post("messages", body)
    assert answer.status_code == 202, answer.content
    name: str = answer.json()["id"]
    return name


def a_list(project: Project, people: list[Contact]) -> Audience:
    made = Audience.objects.create(project=project, name="Room", kind=Audience.Kind.LIST)
    Member.objects.bulk_create(Member(audience=made, contact=person) for person in people)
    return made


def a_long_list(project: Project, monkeypatch: pytest.MonkeyPatch, people: int) -> Audience:
    """Long is more than two; a part has three."""
    monkeypatch.setattr("campaigns.runs.messages.api.resolve_recipients.AT_ONCE", 2)
    monkeypatch.setattr(bulk_messages, "PART", 3)
    return a_list(project, [device.contact for device in make_people(project, people)])


def send_all_of_many() -> int:
    chunks = 0
    while taken := messages.next_of_many():
        sending.send_claimed(taken)
        chunks += 1
    return chunks


def test_a_call_to_many_stores_its_text_once_and_reaches_each_by_name(
    call: Caller, fcm: Fcm, three: list[str]
) -> None:
    name = sent(call, to(contacts=[*three, "bob"]))

    first, *others = Message.objects.order_by("number")
    assert (first.id, first.content is None, first.shares) == (name, False, None)
    assert [(one.content, one.variables, one.shares) for one in others] == [
        (None, None, first.number)
    ] * 2

    tasks.send_messages()

    assert {one["title"] for one in fcm.witness()} == {f"Hello {name}" for name in three}
    assert {one["body"] for one in fcm.witness()} == {"Lunch at 12?"}
    shown = call.get(f"messages/{name}").json()
    assert (shown["state"], shown["totals"]["accepted"]) == ("finished", 3)
    assert shown["people"] == {"waiting": 0, "taken": 3, "cancelled": 0}
    assert [one["contact"] for one in shown["devices"]] == three
    assert Run.every.get().chunks.count() == 1


def test_one_unknown_person_refuses_the_call_and_is_named(call: Caller, three: list[str]) -> None:
    answer = call.post("messages", to(contacts=["ada", "nobody", "bob", "noone"]))
    assert answer.status_code == 400
    assert fields_at_fault(answer) == ["to.contacts[1]", "to.contacts[3]"]
    assert "nobody" in answer.json()["errors"][0]["message"]
    assert not Message.objects.exists()


def test_a_refused_call_to_many_leaves_its_key_free(call: Caller, three: list[str]) -> None:
    keyed = {"deduplicate": {"key": "lunch"}}
    assert call.post("messages", to(contacts=["nobody"]) | keyed).status_code == 400
    first = sent(call, to(contacts=three) | keyed)
    again = call.post("messages", to(contacts=three) | keyed)
    assert (again.status_code, again.json()["id"]) == (200, first)
    assert Message.objects.count() == 3


@pytest.mark.parametrize(
    ("whom", "field"),
    [
        ({"contacts": []}, "to.contacts"),
        ({"contacts": [f"u{n}" for n in range(1_001)]}, "to.contacts"),
        ({"contacts": ["ada", 7]}, "to.contacts[1]"),
        ({"contacts": ["ada"], "contact": "ada"}, "to.contact"),
        ({"list": 999_999_999}, "to.list"),
        ({"list": 2**70}, "to.list"),
    ],
)
def test_many_that_cannot_be_named_so_are_refused(
    call: Caller, three: list[str], whom: dict[str, Any], field: str
) -> None:
    answer = call.post("messages", to(**whom))
    assert answer.status_code == 400
    assert fields_at_fault(answer) == [field]
    assert not Message.objects.exists()


def test_a_bulk_call_takes_one_person_a_message(call: Caller, three: list[str]) -> None:
    rows = [to(contacts=three), to(contact="ada"), to(list=1)]
    answer = call.post("messages/bulk", {"messages": rows}).json()
    assert [one["index"] for one in answer["accepted"]] == [1]
    refused = [(one["index"], one["field"]) for one in answer["rejected"]]
    assert refused == [(0, "to.contacts"), (2, "to.list")]


def test_a_short_list_goes_by_the_fast_lane(call: Caller, fcm: Fcm, project: Project) -> None:
    room = a_list(project, [device.contact for device in make_people(project, 4)])
    name = sent(call, {**to(list=room.pk), "content": {"title": "Hi", "body": "x"}})
    tasks.send_messages()
    assert call.get(f"messages/{name}").json()["totals"]["accepted"] == 4
    assert not Chunk.objects.filter(bulk=True).exists()


def test_an_empty_list_and_one_that_is_being_filled_are_refused(
    call: Caller, project: Project
) -> None:
    room = a_list(project, [])
    assert fields_at_fault(call.post("messages", to(list=room.pk))) == ["to.list"]
    Audience.objects.update(filling={"import": 1, "after": -1})
    answer = call.post("messages", to(list=room.pk))
    assert "being filled" in answer.json()["errors"][0]["message"]


def test_a_long_list_is_unfolded_in_parts_and_sent_by_the_bulk_lane(
    call: Caller, fcm: Fcm, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = a_long_list(project, monkeypatch, 8)
    name = sent(call, {**to(list=room.pk), "content": {"title": "Hi", "body": "all"}})
    assert Message.objects.count() == 1
    tasks.send_messages()
    assert fcm.witness() == []  # nothing of it holds up the fast lane

    run_id, number = bulk_messages.unfolding()[0]
    assert bulk_messages.unfold(run_id, number)
    assert Message.objects.count() == 4  # a part; a worker that dies now costs nothing
    tasks.unfold_messages()
    assert Message.objects.count() == 8
    assert bulk_messages.unfolding() == []

    assert send_all_of_many() == 1
    shown = call.get(f"messages/{name}").json()
    assert (shown["state"], shown["totals"]["accepted"]) == ("finished", 8)
    received = sorted(one["address"] for one in fcm.witness())
    assert received == sorted(device.address for device in project.device_set.all())
    assert set(Chunk.objects.values_list("bulk", flat=True)) == {True}


def test_a_lost_doorbell_of_a_long_list_costs_only_time(
    call: Caller, fcm: Fcm, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = a_long_list(project, monkeypatch, 4)
    sent(call, {**to(list=room.pk), "content": {"title": "Hi", "body": "all"}})
    published: list[str] = []
    monkeypatch.setattr(
        tasks.unfold_messages, "apply_async", lambda **_: published.append("unfold")
    )
    monkeypatch.setattr(tasks.send_to_many, "apply_async", lambda **_: published.append("send"))
    tasks.sweep()
    assert published == ["unfold", "send"]  # the first row is due already
    tasks.unfold_messages()
    published.clear()
    tasks.sweep()
    assert published == ["send"]
    send_all_of_many()
    published.clear()
    tasks.sweep()
    assert published == []


def test_a_cancel_stops_what_has_not_left_and_what_is_not_yet_unfolded(
    call: Caller, fcm: Fcm, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = a_long_list(project, monkeypatch, 8)
    name = sent(call, {**to(list=room.pk), "content": {"title": "Hi", "body": "all"}})
    bulk_messages.unfold(*bulk_messages.unfolding()[0])
    send_all_of_many()
    bulk_messages.unfold(*bulk_messages.unfolding()[0])

    shown = call.post(f"messages/{name}/cancel").json()
    assert shown["people"] == {"waiting": 0, "taken": 4, "cancelled": 3}
    tasks.unfold_messages()
    send_all_of_many()
    assert len(fcm.witness()) == 4
    assert Message.objects.count() == 7
    assert call.post(f"messages/{name}/cancel").status_code == 200


def test_a_call_to_many_that_left_cannot_be_cancelled(
    call: Caller, fcm: Fcm, three: list[str]
) -> None:
    name = sent(call, to(contacts=three))
    tasks.send_messages()
    assert call.post(f"messages/{name}/cancel").status_code == 409


def test_the_devices_of_a_call_to_many_come_page_by_page(
    call: Caller, fcm: Fcm, project: Project, three: list[str]
) -> None:
    make_device(project.contact_set.get(external_id="ada"), "live-ada-2:APA91b")
    name = sent(call, to(contacts=three))
    tasks.send_messages()

    found, address = [], f"messages/{name}?limit=2"
    while address:
        page = call.get(address).json()
        assert page["totals"]["accepted"] == 4
        assert len(page["devices"]) <= 2
        found += [one["device"] for one in page["devices"]]
        address = (page["next"] or "").partition("/api/v1/")[2]
    assert sorted(found) == sorted(device.address for device in project.device_set.all())


def test_a_list_in_use_by_an_unfolding_call_is_not_deleted(
    call: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = a_long_list(project, monkeypatch, 5)
    sent(call, {**to(list=room.pk), "content": {"title": "Hi", "body": "all"}})
    refused = call.delete(f"lists/{room.pk}")
    assert refused.status_code == 409
    day_of_it = Run.every.get().occurrence
    assert refused.json()["detail"] == f"Room is still used by messages of {day_of_it}."
    tasks.unfold_messages()
    assert call.delete(f"lists/{room.pk}").status_code == 204


def test_a_day_stays_open_while_a_list_is_unfolded(
    call: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = a_long_list(project, monkeypatch, 5)
    sent(call, {**to(list=room.pk), "content": {"title": "Hi", "body": "all"}})
    Message.objects.update(state="cancelled")
    run = Run.every.get()
    later = clock.now() + timedelta(days=2)
    day.close(run, later)
    run.refresh_from_db()
    assert run.state == Run.State.OPEN


def test_the_database_refuses_a_row_without_a_text_of_its_own_or_anothers(
    call: Caller, three: list[str]
) -> None:
    sent(call, to(contacts=three))
    with pytest.raises(Exception, match="a_message_has_or_shares_a_text"), connection.cursor() as c:
        c.execute("UPDATE campaigns_message SET shares = NULL")


# --- Who is not known ----------------------------------------------------------------------------


def test_an_unknown_person_is_created_with_their_phone_and_hears_at_once(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    phone = {"token": "live-mary:APA91b", "platform": "ios", "app_version": "5.1"}
    whom = {"contact": "mary", "attributes": {"first_name": "Mary"}, "locale": "en",
            "timezone": "Asia/Seoul", "devices": [phone]}  # fmt: skip
    sent(call, {**to(**whom), "create": True})
    tasks.send_messages()
    assert [one["title"] for one in fcm.witness()] == ["Hello Mary"]
    mary = project.contact_set.get()
    assert (mary.external_id, mary.timezone) == ("mary", "Asia/Seoul")
    assert project.device_set.get().app_version == "5.1"


def test_a_known_person_stays_as_they_are(call: Caller, project: Project, three: list[str]) -> None:
    whom = {"contact": "ada", "attributes": {"first_name": "Somebody"}}
    sent(call, {**to(**whom), "create": True})
    assert project.contact_set.get(external_id="ada").attributes == {"first_name": "ada"}


def test_unknown_people_of_a_call_to_many_are_created(
    call: Caller, project: Project, three: list[str]
) -> None:
    name = sent(call, {**to(contacts=["new1", "ada", "new2"]), "create": True})
    assert call.get(f"messages/{name}").json()["people"]["waiting"] == 3
    assert project.contact_set.filter(external_id__startswith="new").count() == 2


def test_bulk_creates_whom_it_may_and_refuses_the_others(call: Caller, project: Project) -> None:
    rows = [{**to(contact="new"), "create": True}, to(contact="nobody")]
    answer = call.post("messages/bulk", {"messages": rows}).json()
    assert [one["index"] for one in answer["accepted"]] == [0]
    assert [one["index"] for one in answer["rejected"]] == [1]
    assert [one.external_id for one in project.contact_set.all()] == ["new"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({**to(device="x:APA91b"), "create": True}, "create"),
        ({**to(list=1), "create": True}, "create"),
        ({**to(contact="new"), "create": "perhaps"}, "create"),
        (to(contact="ada", locale="en"), "to.locale"),
        ({**to(contacts=["new"], attributes={}), "create": True}, "to.attributes"),
        ({**to(contact="new", timezone="Mars/Olympus"), "create": True}, "to.timezone"),
        ({**to(contact="new", devices=[{"token": "x"}]), "create": True}, "to.devices[0].platform"),
        ({**to(contact="new", devices="x"), "create": True}, "to.devices"),
    ],
)
def test_what_cannot_be_created_is_refused_and_nobody_is(
    call: Caller, project: Project, three: list[str], wrong: dict[str, Any], field: str
) -> None:
    answer = call.post("messages", wrong)
    assert answer.status_code == 400
    assert fields_at_fault(answer) == [field]
    assert (project.contact_set.count(), Message.objects.count()) == (3, 0)
