"""A message to one person: kept before the answer, sent by the one engine, each device told."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import messages
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.messages import day
from campaigns.runs.messages.message import Deduplication, Message
from campaigns.runs.run import Run
from notifications.people.consent.category import Category
from notifications.people.project import Project
from notifications.postgres import clock
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device, make_project, make_template
from tests.servers.fcm import Fcm

HELLO: dict[str, Any] = {"title": "Hello {{ first_name }}", "body": "Order {{ order }} has left."}


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


def asked(**other: Any) -> dict[str, Any]:
    said = {} if "template" in other else {"content": HELLO}
    return {"to": {"contact": "ada"}, **said, "variables": {"order": "A-17"}, **other}


def ada(project: Project, *addresses: str) -> None:
    person = make_contact(project, external_id="ada", attributes={"first_name": "Ada"})
    for address in addresses or ("live1:APA91b",):
        make_device(person, address)


def sent(call: Caller, **other: Any) -> str:
    answer = call.post("messages", asked(**other))
    assert answer.status_code == 202, answer.content
    name: str = answer.json()["id"]
    return name


def status(call: Caller, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = call.get(f"messages/{name}").json()
    return shown


def test_a_message_reaches_each_device_of_its_person_and_says_so(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project, "live1:APA91b", "dead-1:APA91b")

    answer = call.post("messages", asked())
    assert (answer.status_code, answer.json()["state"]) == (202, "waiting")
    name = answer.json()["id"]
    assert answer.json()["url"].endswith(f"/api/v1/messages/{name}")
    assert status(call, name)["state"] == "waiting"

    tasks.send_messages()

    (arrived,) = [one for one in fcm.witness() if one["address"] == "live1:APA91b"]
    assert (arrived["title"], arrived["body"]) == ("Hello Ada", "Order A-17 has left.")
    shown = status(call, name)
    assert shown["state"] == "finished"
    assert shown["totals"] == {
        "planned": 2, "accepted": 1, "rejected": 1, "skipped": 0, "unknown": 0, "waiting": 0
    }  # fmt: skip
    said = {one["device"]: (one["status"], one["reason"]) for one in shown["devices"]}
    assert said == {
        "live1:APA91b": ("accepted", ""),
        "dead-1:APA91b": ("rejected", "unregistered"),
    }


def test_variables_of_the_call_win_over_the_persons_attributes(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    template = make_template(project, title="Hello {{ first_name }}", body="{{ order }}")

    sent(call, template=template.pk, variables={"first_name": "Countess", "order": 7})
    tasks.send_messages()

    (arrived,) = fcm.witness()
    assert (arrived["title"], arrived["body"]) == ("Hello Countess", "7")


def test_messages_of_the_same_moment_share_a_chunk_and_a_window(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    names = [sent(call, variables={"order": str(number)}) for number in range(20)]

    tasks.send_messages()

    run = Run.every.get(project=project)
    assert [status(call, name)["state"] for name in names] == ["finished"] * 20
    assert run.chunks.count() == 1
    assert {one["body"] for one in fcm.witness()} == {f"Order {n} has left." for n in range(20)}
    assert Recipient.objects.filter(run_id=run.pk).count() == 20
    assert not Run.objects.filter(project=project).exists()


def test_one_device_alone_may_be_named(call: Caller, fcm: Fcm, project: Project) -> None:
    ada(project, "live1:APA91b", "live2:APA91b")
    sent(call, to={"device": "live2:APA91b"})
    tasks.send_messages()
    assert [one["address"] for one in fcm.witness()] == ["live2:APA91b"]


def test_a_person_without_a_device_is_no_error_and_the_status_says_why(
    call: Caller, project: Project
) -> None:
    make_contact(project, external_id="ada")
    name = sent(call)
    tasks.send_messages()
    shown = status(call, name)
    assert (shown["state"], shown["reason"], shown["devices"]) == ("finished", "no_device", [])


def test_whoever_said_no_after_it_was_accepted_gets_none(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    offers = Category.objects.create(project=project, name="Offers", slug="offers")
    receipts = Category.objects.create(
        project=project, name="Receipts", slug="receipts", kind=Category.Kind.TRANSACTIONAL
    )
    out, kept = sent(call, category=offers.pk), sent(call, category=receipts.pk)
    project.contact_set.update(subscribed=False)

    tasks.send_messages()

    (skipped,) = status(call, out)["devices"]
    assert (skipped["status"], skipped["reason"]) == ("skipped", "unsubscribed")
    assert status(call, kept)["devices"][0]["status"] == "accepted"
    assert len(fcm.witness()) == 1


def test_a_second_call_with_the_key_gets_the_first_message(call: Caller, project: Project) -> None:
    ada(project)
    first = call.post("messages", asked(deduplicate={"key": "order-17"}))
    again = call.post("messages", asked(deduplicate={"key": "order-17"}))
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]
    assert Message.objects.count() == 1

    Deduplication.objects.update(until=timezone.now() - timedelta(seconds=1))
    later = call.post("messages", asked(deduplicate={"key": "order-17"}))
    assert later.status_code == 202
    assert later.json()["id"] != first.json()["id"]


def test_a_cancelled_message_never_leaves_and_one_that_left_cannot_be_cancelled(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    name = sent(call)
    assert call.post(f"messages/{name}/cancel").json()["state"] == "cancelled"
    assert call.post(f"messages/{name}/cancel").status_code == 200
    tasks.send_messages()
    assert fcm.witness() == []

    gone = sent(call)
    tasks.send_messages()
    assert call.post(f"messages/{gone}/cancel").status_code == 409


def test_a_message_for_later_waits_for_its_time(call: Caller, fcm: Fcm, project: Project) -> None:
    ada(project)
    name = sent(call, at=(timezone.now() + timedelta(hours=1)).isoformat())
    tasks.send_messages()
    assert status(call, name)["state"] == "waiting"
    Message.objects.update(at=timezone.now() - timedelta(seconds=1))
    tasks.send_messages()
    assert status(call, name)["state"] == "finished"


def test_a_message_that_nobody_sent_in_time_is_skipped(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    name = sent(call, ttl_seconds=60)
    Message.objects.update(at=timezone.now() - timedelta(seconds=61))
    tasks.send_messages()
    assert status(call, name)["devices"][0]["reason"] == "expired"
    assert fcm.witness() == []


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"to": {"contact": "nobody"}}, "to.contact"),
        ({"to": {"device": "nowhere:APA91b"}}, "to.device"),
        ({"to": {}}, "to.contact"),
        ({"to": {"contact": "ada", "device": "x"}}, "to.contact"),
        ({"template": 1, "content": HELLO}, "content"),
        ({"template": 999_999_999}, "template"),
        ({"content": {"title": "{{ name", "body": "x"}}, "content.title"),
        ({"content": {"title": "x", "body": "y", "image": "http://x.y/z"}}, "content.image"),
        ({"options": {"windows": {}}}, "options"),
        ({"category": 999_999_999}, "category"),
        ({"ttl_seconds": 0}, "ttl_seconds"),
        ({"on_unknown": "shout"}, "on_unknown"),
        ({"at": "2099-01-01T00:00:00Z"}, "at"),
        ({"at": "2026-12-01T09:00:00"}, "at"),
        ({"at": "2026-12-01"}, "at"),
        ({"at": "２０２６-12-01T09:00:00Z"}, "at"),
        ({"at": "2020-01-01T00:00:00Z"}, "at"),
        ({"at": "0001-01-01T00:00:00Z"}, "at"),
        ({"deduplicate": {"key": ""}}, "deduplicate.key"),
        ({"subject": "x"}, "subject"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_field_and_nothing_is_kept(
    call: Caller, project: Project, wrong: dict[str, Any], field: str
) -> None:
    ada(project)
    answer = call.post("messages", asked(**wrong))
    assert answer.status_code == 400
    assert fields_at_fault(answer) == [field]
    assert not Message.objects.exists()


def test_a_body_that_is_no_object_is_named_in_words(call: Caller, project: Project) -> None:
    for body in (b"[]", b'"x"', b"5", b"null", b"true"):
        for door in ("messages", "messages/bulk", "events", "devices"):
            answer = call.post(door, body)
            said = [{"field": "", "message": "The body must be an object, such as {}."}]
            assert (answer.status_code, answer.json()["errors"]) == (400, said), (door, body)
    (refused,) = call.post("messages/bulk", {"messages": [[]]}).json()["rejected"]
    assert (refused["index"], refused["message"]) == (0, "Must be an object.")


def test_of_a_thousand_each_is_accepted_or_refused_by_itself(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    rows = [asked(), asked(to={"contact": "nobody"}), asked(ttl_seconds=0), asked()]
    answer = call.post("messages/bulk", {"messages": rows}).json()
    assert [one["index"] for one in answer["accepted"]] == [0, 3]
    refused = [(one["index"], one["field"]) for one in answer["rejected"]]
    assert refused == [(1, "to.contact"), (2, "ttl_seconds")]
    tasks.send_messages()
    assert len(fcm.witness()) == 2


def test_a_row_of_many_that_holds_no_value_is_refused_in_the_words_of_a_single_call(
    call: Caller, project: Project
) -> None:
    ada(project)
    to = b'"to":{"contact":"ada"},"template":1'
    rows = {
        b'"variables":{"x":NaN}': ("variables.x", "NaN is no number"),
        b'"variables":{"x":1e1000}': ("variables.x", "A number of more than 1,000 digits"),
        b'"variables":{"x":[' + b"1" * 1_001 + b"]}": ("variables.x[0]", "A number of more than"),
        b'"collapse":"\\ud800"': ("collapse", "Holds half of a character"),
        b'"at":"2030-05-31T09:00:00Z","at":null': ("at", "Is given twice"),
    }
    for row, (field, words) in rows.items():
        written = b"{%s,%s}" % (to, row)
        answer = call.post("messages/bulk", b'{"messages":[%s]}' % written)
        assert answer.status_code == 200, row
        (refused,) = answer.json()["rejected"]
        assert (refused["index"], refused["field"]) == (0, field), row
        assert refused["message"].startswith(words), row
        (alone,) = call.post("messages", written).json()["errors"]
        assert (alone["field"], alone["message"]) == (field, refused["message"])
    assert not Message.objects.exists()


def test_another_projects_message_does_not_exist(call: Caller, project: Project) -> None:
    ada(project)
    name = sent(call)
    charlie = Caller(make_project())
    assert charlie.get(f"messages/{name}").status_code == 404
    assert charlie.post(f"messages/{name}/cancel").status_code == 404
    assert call.get("messages/no-such").status_code == 404


def test_a_text_that_fcm_refuses_holds_up_nobody_elses(
    call: Caller, fcm: Fcm, project: Project
) -> None:
    ada(project)
    long = {"title": "x", "body": "{{ order }}"}
    bad = [sent(call, content=long, variables={"order": "é" * 3_000}) for _ in range(120)]
    good = sent(call)
    tasks.send_messages()
    assert {status(call, name)["devices"][0]["reason"] for name in bad} == {"too_long"}
    assert status(call, good)["devices"][0]["status"] == "accepted"


def test_a_day_ends_when_it_is_over_and_nothing_waits(call: Caller, project: Project) -> None:
    ada(project)
    sent(call)
    run = Run.every.get(project=project)
    two_days = clock.now() + timedelta(days=2)
    day.close(run, two_days)
    run.refresh_from_db()
    assert run.state == Run.State.OPEN

    tasks.send_messages()
    messages.look_after(two_days)

    run.refresh_from_db()
    assert (run.state, run.planned, run.accepted) == (Run.State.FINISHED, 1, 1)
    assert Delivery.objects.filter(run_id=run.pk).count() == 1
