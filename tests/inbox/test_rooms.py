"""The rooms of a chat: who is looking is not rung, and who is not reads how much is new."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import tasks
from notifications.inbox import online_people
from notifications.inbox.item import InboxItem
from notifications.inbox.online_people import Online
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.api.own_app import app_of
from tests.given.builders import make_contact, make_device
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db
TITLE = "{% if unseen > 1 %}{{ unseen }} new messages in Room 7{% else %}Grace: Lunch?{% endif %}"
CONTENT = {"title": TITLE, "body": "Tap to read."}


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def members(project: Project) -> list[Contact]:
    people = [make_contact(project, external_id=name) for name in ("ada", "bob")]
    for person in people:
        make_device(person, f"live-{person.external_id}:APA91b")
    return people


def say(call: Caller, **other: Any) -> str:
    """To both, in Room 7."""
    room: dict[str, Any] = {"to": {"contacts": ["ada", "bob"]}, "collapse": "room-7"}
    answer = call.post("messages", {**room, "content": CONTENT, "inbox": True, **other})
    assert answer.status_code == 202, answer.content
    tasks.send_messages()
    name: str = answer.json()["id"]
    return name


def has_it_open(*people: Contact) -> None:
    """As a feed notes it."""
    numbers = [person.pk for person in people]
    online_people.note("feed:1", numbers, streams=len(people), sent=0, cut=0)


def reasons(call: Caller, name: str) -> dict[str, str]:
    shown = call.get(f"messages/{name}").json()
    return {one["contact"]: one["reason"] for one in shown["devices"]}


def rung(fcm: Fcm) -> list[tuple[str, str]]:
    """Whose phone, and the title it showed."""
    return [(record["address"][5:8], record["title"]) for record in fcm.witness()]


def unread(call: Caller, name: str) -> int:
    count: int = call.get(f"inbox/counts?contact={name}&collapse=room-7").json()["unread"]
    return count


def test_who_has_the_inbox_open_is_not_rung_and_has_the_item_all_the_same(
    call: Caller, fcm: Fcm, members: list[Contact]
) -> None:
    has_it_open(members[0])

    name = say(call, quiet_if_online=30)

    assert [name for name, _ in rung(fcm)] == ["bob"]
    assert reasons(call, name) == {"ada": "online", "bob": ""}
    assert (unread(call, "ada"), unread(call, "bob")) == (1, 1)


def test_who_left_before_these_seconds_is_rung(
    call: Caller, fcm: Fcm, members: list[Contact]
) -> None:
    has_it_open(*members)
    Online.objects.filter(contact_id=members[0].pk).update(
        seen_at=timezone.now() - timedelta(seconds=31)
    )
    say(call, quiet_if_online=30)
    assert [name for name, _ in rung(fcm)] == ["ada"]


def test_a_message_that_does_not_ask_rings_who_is_online_too(
    call: Caller, fcm: Fcm, members: list[Contact]
) -> None:
    has_it_open(*members)
    say(call)
    assert len(rung(fcm)) == 2


def test_a_push_says_how_many_of_its_room_are_new_and_each_item_speaks_for_itself(
    call: Caller, fcm: Fcm, project: Project, members: list[Contact]
) -> None:
    for _ in range(2):
        say(call)
    seen = app_of(project, "ada")(
        "POST", "inbox/seen", {"up_to": InboxItem.objects.latest("pk").pk}
    )
    assert seen.json()["unseen"] == 0
    say(call, collapse="room-8", to={"contact": "bob"}, content={"title": "8", "body": "Hi"})
    say(call)

    titles: dict[str, list[str]] = {"ada": [], "bob": []}
    for name, title in rung(fcm):
        titles[name].append(title)
    first, many = "Grace: Lunch?", "new messages in Room 7"
    assert titles == {
        "ada": [first, f"2 {many}", first],
        "bob": [first, f"2 {many}", "8", f"3 {many}"],
    }
    assert {item.text.content["title"] for item in InboxItem.objects.all()} == {first, "8"}


def test_a_room_is_read_and_counted_by_itself(
    call: Caller, fcm: Fcm, project: Project, members: list[Contact]
) -> None:
    say(call)
    say(call, collapse="room-8")
    app = app_of(project, "ada")

    assert [item["collapse"] for item in app("GET", "inbox").json()["results"]] == [
        "room-8", "room-7",
    ]  # fmt: skip
    (item,) = app("GET", "inbox?collapse=room-7").json()["results"]
    assert item["collapse"] == "room-7"
    assert app("GET", "inbox/counts?collapse=room-7").json() == {"unseen": 1, "unread": 1}
    app("POST", f"inbox/{item['id']}/read")
    assert app("GET", "inbox/counts?collapse=room-7").json() == {"unseen": 0, "unread": 0}
    assert app("GET", "inbox/counts").json() == {"unseen": 1, "unread": 1}
    assert app("GET", "inbox/counts?collapse=%00").json() == {"unseen": 0, "unread": 0}
    assert app("GET", "inbox?collapse=%00").json()["results"] == []


@pytest.mark.parametrize(
    ("other", "field"),
    [
        ({"quiet_if_online": 14}, "quiet_if_online"),
        ({"quiet_if_online": 601}, "quiet_if_online"),
        ({"quiet_if_online": "soon"}, "quiet_if_online"),
        ({"quiet_if_online": None}, "quiet_if_online"),
        ({"quiet_if_online": 30, "inbox": False}, "quiet_if_online"),
    ],
)
def test_a_silence_of_no_sense_is_refused_by_its_field(
    call: Caller, members: list[Contact], other: dict[str, Any], field: str
) -> None:
    body = {"to": {"contact": "ada"}, "content": CONTENT, "inbox": True, **other}
    answer = call.post("messages", body)
    assert answer.status_code == 400
    assert fields_at_fault(answer) == [field]
    assert not InboxItem.objects.exists()
