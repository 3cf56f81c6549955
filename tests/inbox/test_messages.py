"""A message that is kept in the inbox: what a program sends, what the person's own app reads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import messages
from campaigns.runs.messages.message import Message
from campaigns.sending.inbox import message_items
from notifications.inbox.item import InboxItem
from notifications.inbox.text import InboxText
from notifications.people.consent.category import Category
from notifications.people.consent.suppression import suppress
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.api.own_app import app_of
from tests.given.builders import make_contact, make_device
from tests.servers.fcm import Fcm

CONTENT: dict[str, Any] = {
    "title": "Hello {{ first_name }}",
    "body": "Order {{ order }} has left.",
    "link": "https://shop.example.com/{{ order }}",
    "data": {"order": "{{ order }}"},
    "locales": {"ko": {"title": "{{ first_name }}님, 안녕하세요", "body": "주문 {{ order }} 출발"}},
}


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


def person(project: Project, name: str = "ada", **other: Any) -> Contact:
    return make_contact(project, external_id=name, attributes={"first_name": "Ada"}, **other)


def asked(**other: Any) -> dict[str, Any]:
    said = {"to": {"contact": "ada"}, "content": CONTENT, "variables": {"order": "A-17"}}
    return {**said, "inbox": True, **other}


def kept(call: Caller, **other: Any) -> str:
    answer = call.post("messages", asked(**other))
    assert answer.status_code == 202, answer.content
    tasks.send_messages()
    name: str = answer.json()["id"]
    return name


def inbox(project: Project, name: str = "ada") -> list[dict[str, Any]]:
    answer = app_of(project, name)("GET", "inbox")
    assert answer.status_code == 200, answer.content
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


@pytest.mark.parametrize(
    ("locale", "title", "body"),
    [
        ("en", "Hello Ada", "Order A-17 has left."),
        ("ko-KR", "Ada님, 안녕하세요", "주문 A-17 출발"),
    ],
)
def test_a_message_is_read_in_the_persons_language_whether_or_not_a_phone_was_reached(
    call: Caller, project: Project, locale: str, title: str, body: str
) -> None:
    person(project, locale=locale)

    kept(call)

    (item,) = inbox(project)
    assert (item["title"], item["body"]) == (title, body)
    assert item["link"] == "https://shop.example.com/A-17"
    assert item["data"] == {"order": "A-17"}
    assert (item["has_article"], item["seen_at"], item["expires_at"]) == (False, None, None)


def test_a_message_to_two_phones_is_one_item(call: Caller, fcm: Fcm, project: Project) -> None:
    ada = person(project)
    for address in ("live1:APA91b", "live2:APA91b"):
        make_device(ada, address)

    kept(call)

    assert len(fcm.witness()) == 2
    assert len(inbox(project)) == 1


def test_a_message_without_inbox_is_not_kept(call: Caller, project: Project) -> None:
    make_device(person(project))

    kept(call, inbox=False)

    assert inbox(project) == []


def test_who_declined_the_category_has_no_push_and_an_item(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    offers = Category.objects.create(project=project, slug="offers", name="Offers")
    make_device(person(project, subscribed=False))

    name = kept(call, category=offers.pk)

    assert fcm.witness() == []
    shown = call.get(f"messages/{name}").json()
    assert [one["reason"] for one in shown["devices"]] == ["unsubscribed"]
    assert [item["category"] for item in inbox(project)] == ["offers"]


def test_suppressed_people_get_neither(call: Caller, fcm: Fcm, project: Project) -> None:
    make_device(person(project))
    suppress(project, ["ada"], reason="", by="user:op", now=timezone.now())

    kept(call)

    assert fcm.witness() == []
    assert inbox(project) == []


def test_a_missing_value_skips_the_push_and_leaves_no_item(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    make_device(person(project))

    name = kept(call, variables={})

    shown = call.get(f"messages/{name}").json()
    assert [one["reason"] for one in shown["devices"]] == ["missing_value"]
    assert inbox(project) == []


def test_a_link_that_no_app_may_open_leaves_no_item(call: Caller, project: Project) -> None:
    person(project)

    kept(call, content={**CONTENT, "link": "{{ order }}"}, variables={"order": "javascript:x"})

    assert inbox(project) == []


def test_a_long_text_of_a_quarter_megabyte_is_read_whole_and_a_byte_more_is_refused(
    call: Caller, project: Project
) -> None:
    person(project)
    longest = "가" * (256 * 1024 // 3) + "a"
    assert len(longest.encode()) == 256 * 1024

    kept(call, article=longest)

    (item,) = inbox(project)
    assert item["has_article"]
    assert "article" not in item
    whole = app_of(project, "ada")("GET", f"inbox/{item['id']}")
    assert whole.json()["article"] == longest
    refused = call.post("messages", asked(article=longest + "b"))
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["article"])


@pytest.mark.parametrize("field", ["article", "inbox_days"])
def test_what_is_for_the_inbox_only_is_refused_without_it(
    call: Caller, project: Project, field: str
) -> None:
    person(project)
    only: dict[str, Any] = {"article": "Long.", "inbox_days": 3}

    refused = call.post("messages", asked(inbox=False, **{field: only[field]}))

    assert (refused.status_code, fields_at_fault(refused)) == (400, [field])


@pytest.mark.parametrize("days", [0, 3_651, "soon"])
def test_days_of_no_sense_are_refused(call: Caller, project: Project, days: Any) -> None:
    person(project)

    refused = call.post("messages", asked(inbox_days=days))

    assert (refused.status_code, fields_at_fault(refused)) == (400, ["inbox_days"])


def test_an_item_is_gone_after_its_days(call: Caller, project: Project) -> None:
    person(project)
    kept(call, inbox_days=3)
    (item,) = inbox(project)
    assert item["expires_at"].startswith(f"{timezone.now() + timedelta(days=3):%Y-%m-%d}")

    InboxItem.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    assert inbox(project) == []
    app = app_of(project, "ada")
    assert app("GET", f"inbox/{item['id']}").status_code == 404
    assert app("GET", "inbox/counts").json() == {"unseen": 0, "unread": 0}


def test_a_process_that_dies_while_it_takes_them_leaves_nothing_and_the_next_stores_one(
    call: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_device(person(project))
    call.post("messages", asked())

    def die(run_id: int, numbers: list[int]) -> None:
        keep(run_id, numbers)
        assert InboxItem.objects.count() == 1
        raise SystemExit

    keep = message_items.keep
    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(message_items, "keep", die)
        list(messages.Due(seconds=1))
    assert not InboxItem.objects.exists()
    assert Message.objects.get().state == "waiting"

    tasks.send_messages()
    tasks.send_messages()

    assert InboxItem.objects.count() == 1


def test_what_is_taken_twice_is_stored_once(call: Caller, project: Project) -> None:
    person(project)
    kept(call)

    Message.objects.update(state="waiting")
    tasks.send_messages()

    assert InboxItem.objects.count() == 1
    assert InboxText.objects.count() == 1


def test_a_thousand_at_once_are_a_thousand_stored_with_one_text(
    call: Caller, project: Project
) -> None:
    Contact.objects.bulk_create(
        Contact(project=project, external_id=f"person-{number}") for number in range(1_000)
    )
    same = {"content": {"title": "Meeting", "body": "At ten."}, "inbox": True}
    rows = [{"to": {"contact": f"person-{number}"}, **same} for number in range(1_000)]

    answer = call.post("messages/bulk", {"messages": rows})
    assert len(answer.json()["accepted"]) == 1_000
    tasks.send_messages()

    assert InboxItem.objects.values("contact").distinct().count() == 1_000
    assert InboxText.objects.count() == 2  # one for each 500 that are taken together


def test_a_cancelled_message_is_not_kept(call: Caller, project: Project) -> None:
    person(project)
    later = (timezone.now() + timedelta(minutes=5)).isoformat()
    name = call.post("messages", asked(at=later)).json()["id"]

    assert call.post(f"messages/{name}/cancel", {}).status_code == 200
    Message.objects.update(at=timezone.now())
    tasks.send_messages()

    assert inbox(project) == []


def test_one_call_to_many_is_one_text_and_an_item_each(call: Caller, project: Project) -> None:
    for name in ("ada", "ben", "cem"):
        person(project, name)
    same = {"title": "Meeting", "body": "At ten."}

    kept(call, to={"contacts": ["ada", "ben", "cem"]}, content=same, variables={}, article="Agenda")

    assert [len(inbox(project, name)) for name in ("ada", "ben", "cem")] == [1, 1, 1]
    assert InboxText.objects.get().article == "Agenda"


def test_a_message_to_a_list_is_kept_for_each_member_and_counted_by_each(
    call: Caller, project: Project
) -> None:
    for name in ("ada", "ben"):
        person(project, name)
    room = call.post("lists", {"name": "Room"}).json()["id"]
    call.post(f"lists/{room}/members", {"contacts": ["ada", "ben"]})

    for text in ("One", "Two"):
        kept(call, to={"list": room}, content={"title": "Room", "body": text}, variables={})
    ada, ben = app_of(project, "ada"), app_of(project, "ben")
    ada("POST", "inbox/read", {"ids": [inbox(project, "ada")[0]["id"]]})

    assert InboxText.objects.count() == 2
    assert ada("GET", "inbox/counts").json() == {"unseen": 1, "unread": 1}
    assert ben("GET", "inbox/counts").json() == {"unseen": 2, "unread": 2}


def test_the_long_text_of_a_message_goes_with_its_person(call: Caller, project: Project) -> None:
    person(project)
    later = (timezone.now() + timedelta(minutes=5)).isoformat()
    call.post("messages", asked(at=later, article="Of Ada"))
    assert Message.objects.get().inbox == {"article": "Of Ada"}

    assert call.delete("contacts/ada").status_code == 204

    assert Message.objects.get().inbox is None
