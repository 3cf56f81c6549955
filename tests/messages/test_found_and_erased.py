"""Messages are found by person, time, state and key; an erased person's texts are gone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.messages import message_pages
from campaigns.runs.messages.message import Message
from campaigns.sending import message_settings
from campaigns.texts.rendering import Reader
from notifications.fcm import payload
from notifications.people.project import Project
from notifications.staff.api_key import Scope
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_project, make_template
from tests.servers.fcm import Fcm

HELLO = {"title": "Hello", "body": "Order {{ order }}"}


@pytest.fixture
def call(project: Project) -> Caller:
    for name in ("ada", "bob"):
        make_device(make_contact(project, external_id=name), f"live-{name}:APA91b")
    return Caller(project)


def sent(call: Caller, to: Any = "ada", **other: Any) -> str:
    whom = to if isinstance(to, dict) else {"contact": to}
    body = {"to": whom, "content": HELLO, "variables": {"order": "secret-17"}, **other}
    answer = call.post("messages", body)
    assert answer.status_code == 202, answer.content
    name: str = answer.json()["id"]
    return name


def ids(call: Caller, query: str = "") -> list[str]:
    return [one["id"] for one in call.get(f"messages{query}").json()["results"]]


def test_a_persons_messages_are_listed_newest_first_page_by_page(
    call: Caller, project: Project
) -> None:
    names = [sent(call) for _ in range(5)]
    sent(call, "bob")
    found, address = [], "messages?contact=ada&limit=2"
    while address:
        page = call.get(address).json()
        found += [one["id"] for one in page["results"]]
        address = (page["next"] or "").partition("/api/v1/")[2]
    assert found == names[::-1]


def test_a_message_to_many_is_among_those_of_each(call: Caller) -> None:
    name = sent(call, {"contacts": ["ada", "bob"]})
    (of_bob,) = call.get("messages?contact=bob").json()["results"]
    assert (of_bob["id"] != name, of_bob["contact"], of_bob["state"]) == (True, "bob", "waiting")
    assert call.get(f"messages/{of_bob['id']}").json()["people"]["waiting"] == 1
    assert ids(call, "?contact=ada") == [name]


def test_messages_are_found_by_their_state(call: Caller, fcm: Fcm) -> None:
    finished = sent(call)
    tasks.send_messages()
    later = sent(call, at=(timezone.now() + timedelta(hours=1)).isoformat())
    cancelled = sent(call)
    call.post(f"messages/{cancelled}/cancel")
    assert ids(call, "?state=finished") == [finished]
    assert ids(call, "?state=waiting") == [later]
    assert ids(call, "?state=cancelled") == [cancelled]
    assert ids(call, "?state=sending") == []
    assert ids(call) == [cancelled, later, finished]


def test_a_search_that_looks_at_much_goes_on_with_the_next_page(
    call: Caller, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sent(call)
    tasks.send_messages()
    Message.objects.update(created_at=timezone.now())
    for _ in range(4):
        sent(call)
    with monkeypatch.context() as small:
        small.setattr(message_pages, "AT_ONCE", 1)
        small.setattr(message_pages, "LOOKED_AT", 2)
        tasks.send_messages()
        Message.objects.exclude(number=int(first.split("-")[1])).update(first_seq=None,
                                                                       last_seq=None)  # fmt: skip
        page = call.get("messages?state=sending").json()
        pages = 1
        while page["next"]:
            page = call.get(page["next"].partition("/api/v1/")[2]).json()
            pages += 1
    assert pages == 3


def test_messages_are_found_since_a_time(call: Caller) -> None:
    sent(call)
    Message.objects.update(created_at=F("created_at") - timedelta(hours=2))
    new = sent(call)
    hour_ago = (timezone.now() - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert ids(call, f"?since={hour_ago}") == [new]


def test_a_message_is_found_by_its_key(call: Caller) -> None:
    name = sent(call, deduplicate={"key": "order-17"})
    sent(call)
    assert ids(call, "?key=order-17") == [name]
    assert ids(call, "?key=order-18") == []
    assert fields_at_fault(call.get("messages?key=order-17&contact=ada")) == ["key"]


@pytest.mark.parametrize(
    ("query", "field"),
    [("contact=nobody", "contact"), ("state=lost", "state"), ("since=now", "since"),
     ("cursor=7", "cursor"), ("limit=0", "limit"), ("who=ada", "who")],
)  # fmt: skip
def test_what_cannot_be_looked_for_is_refused(call: Caller, query: str, field: str) -> None:
    answer = call.get(f"messages?{query}")
    assert (answer.status_code, fields_at_fault(answer)) == (400, [field])


def test_a_key_that_may_not_read_people_sees_no_names(call: Caller, project: Project) -> None:
    narrow = Caller(project, [Scope.MESSAGES])
    name = sent(call)
    assert narrow.get("messages").json()["results"][0]["contact"] == ""
    tasks.send_messages()
    (device,) = narrow.get(f"messages/{name}").json()["devices"]
    assert (device["contact"], device["device"]) == ("", "…APA91b")


def test_another_projects_messages_are_not_listed(call: Caller) -> None:
    sent(call, deduplicate={"key": "order-17"})
    charlie = Caller(make_project())
    assert ids(charlie) == []
    assert ids(charlie, "?key=order-17") == []


# --- What is kept of a person --------------------------------------------------------------------


def test_an_export_has_the_persons_messages_with_text_and_variables(call: Caller) -> None:
    name = sent(call)
    sent(call, {"contacts": ["bob", "ada"]})
    told = call.get("export?contact=ada")
    body = b"".join(told.streaming_content).decode()  # type: ignore[attr-defined]
    assert name in body
    assert body.count("secret-17") == 2


def test_erasing_a_person_clears_their_texts_and_stops_what_waits(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    left = sent(call)
    tasks.send_messages()
    waits = sent(call)
    of_bob = sent(call, "bob")

    assert call.delete("contacts/ada").status_code == 204

    told = {one.id: (one.state, one.content, one.variables) for one in Message.objects.all()}
    assert told[left] == ("taken", {}, {})
    assert told[waits] == ("cancelled", {}, {})
    assert told[of_bob][2] == {"order": "secret-17"}
    assert call.get(f"messages/{left}").json()["totals"]["accepted"] == 1


def test_a_text_that_others_share_outlives_the_first_of_them(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    name = sent(call, {"contacts": ["ada", "bob"]})
    call.delete("contacts/ada")
    tasks.send_messages()
    assert [one["address"] for one in fcm.witness()] == ["live-bob:APA91b"]
    shown = call.get(f"messages/{name}").json()
    assert shown["people"] == {"waiting": 0, "taken": 1, "cancelled": 1}


def test_a_message_that_came_while_its_person_was_erased_loses_its_text(
    call: Caller, project: Project
) -> None:
    name = sent(call)
    Message.objects.update(contact_id=999_999_999)  # written before the erasure was committed
    tasks.send_messages()
    message = Message.objects.get()
    assert (message.state, message.content, message.variables) == ("taken", {}, {})
    assert call.get(f"messages/{name}").json()["reason"] == "no_device"


# --- Priority ------------------------------------------------------------------------------------


def as_fcm(platform: str) -> dict[str, Any]:
    message = Message.objects.latest("number")
    reader = Reader("1:1", "ada", message.variables or {}, "", "", "token", "x:APA91b", platform)
    push = message_settings.of_message(
        message, asks_receipts=False, counts_links=""
    ).renderer.render(reader, ttl_seconds=60)
    return dict(payload.as_fcm(push))


@pytest.mark.parametrize(("word", "android", "ios"), [("high", "HIGH", "10"),
                                                      ("normal", "NORMAL", "5")])  # fmt: skip
def test_a_priority_goes_through_to_each_platform(
    call: Caller, word: str, android: str, ios: str
) -> None:
    sent(call, priority=word)
    assert as_fcm("android")["android"]["priority"] == android
    assert as_fcm("ios")["apns"]["headers"]["apns-priority"] == ios
    assert as_fcm("web")["webpush"]["headers"]["Urgency"] == word


def test_a_priority_wins_over_the_template_and_options_win_over_it(
    call: Caller, project: Project
) -> None:
    slow = {"android": {"priority": "normal", "tag": "x"}, "ios": {"priority": 1}}
    template = make_template(project, title="Hi", body="x", options=slow)
    said = {"to": {"contact": "ada"}, "template": template.pk, "priority": "high"}
    assert call.post("messages", said).status_code == 202
    assert as_fcm("android")["android"]["priority"] == "HIGH"
    assert as_fcm("ios")["apns"]["headers"]["apns-priority"] == "10"

    sent(call, priority="high", options={"android": {"priority": "normal"}})
    assert as_fcm("android")["android"]["priority"] == "NORMAL"


def test_another_priority_is_refused(call: Caller) -> None:
    body = {"to": {"contact": "ada"}, "content": HELLO, "priority": "urgent"}
    assert fields_at_fault(call.post("messages", body)) == ["priority"]
