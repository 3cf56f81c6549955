"""A program sends a test of a template or a campaign, and reads what FCM said of each device."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.planning import campaign_variants
from campaigns.test_sends import tasks
from campaigns.test_sends.create import MAX_OF_ONE
from campaigns.test_sends.models import SentTest
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_contact, make_project, make_template
from tests.given.consent import decline
from tests.servers.fcm import Fcm
from tests.test_sends.trying import make_tester

pytestmark = pytest.mark.django_db


@pytest.fixture
def call(project: Project) -> Caller:
    return Caller(project)


def sent(call: Caller, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Asked, sent by a worker, and read again where the answer said."""
    reply = call.post(path, body)
    assert reply.status_code == 202, reply.content
    made = reply.json()
    assert reply["Location"].endswith(f"/api/v1/tests/{made['id']}")
    assert made["finished"] is False
    tasks.send_test(made["id"])
    told: dict[str, Any] = call.get(f"tests/{made['id']}").json()
    return told


def test_a_template_goes_to_the_testers_if_nothing_else_is_said(
    project: Project, call: Caller, fcm: Fcm
) -> None:
    device = make_tester(project, external_id="mina")
    told = sent(call, f"templates/{make_template(project, name='Hello').pk}/test", {})
    assert told["finished"] is True and told["name"] == "Hello"
    assert told["totals"] == {
        "waiting": 0, "sending": 0, "accepted": 1, "rejected": 0, "skipped": 0, "unknown": 0
    }  # fmt: skip
    (one,) = told["devices"]
    assert (one["contact"], one["status"], one["http"]) == ("mina", "accepted", 200)
    assert device.address.endswith(one["device"].lstrip("…"))
    assert one["message_id"] in one["answer"]
    assert AuditEntry.objects.get(action="sent a test of").actor == f"key:{call.row.prefix}"


def test_what_fcm_refused_is_told_word_for_word_with_the_next_step(
    project: Project, call: Caller, fcm: Fcm
) -> None:
    make_tester(project, "dead-1:APA91b")
    told = sent(call, f"templates/{make_template(project).pk}/test", {"to": "testers"})
    (one,) = told["devices"]
    assert (one["status"], one["reason"]) == ("rejected", "unregistered")
    assert (one["http"], one["code"]) == (404, "UNREGISTERED")
    assert '"UNREGISTERED"' in one["answer"]
    assert one["meaning"] == "App uninstalled or address expired"
    assert one["next_step"].startswith("Nothing: the address comes back by itself")


def test_of_a_campaign_with_variants_the_one_that_is_named_is_sent(
    project: Project, call: Caller, fcm: Fcm
) -> None:
    make_tester(project)
    campaign = make_campaign(project, template={"title": "Text A"})
    campaign_variants.choose(campaign, [(make_template(project, title="Text B"), 50)])
    sent(call, f"campaigns/{campaign.pk}/test", {"variant": "B"})
    assert [one["title"] for one in fcm.witness()] == ["Text B"]
    refused = call.post(f"campaigns/{campaign.pk}/test", {"variant": "C"})
    assert (refused.status_code, fields_at_fault(refused)) == (422, ["variant"])


def test_a_campaign_goes_to_one_person_with_anothers_values(
    project: Project, call: Caller, fcm: Fcm
) -> None:
    device = make_tester(project, external_id="mina")
    make_contact(project, external_id="sora", attributes={"first_name": "소라"})
    body = {"to": "contact", "contact": "mina", "values_of": "sora", "locale": "ko-KR"}
    told = sent(call, f"campaigns/{make_campaign(project).pk}/test", body)
    assert told["locale"] == "ko-KR"
    assert [(one["address"], one["title"]) for one in fcm.witness()] == [
        (device.address, "Hello 소라")
    ]


def test_who_said_no_is_skipped(project: Project, call: Caller, fcm: Fcm) -> None:
    decline(make_tester(project).contact)
    told = sent(call, f"templates/{make_template(project).pk}/test", {})
    assert [(one["status"], one["reason"]) for one in told["devices"]] == [
        ("skipped", "unsubscribed")
    ]
    assert fcm.witness() == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "to"),  # nobody is a tester
        ({"to": "demo_phones"}, "to"),
        ({"to": "everybody"}, "to"),
        ({"to": "contact"}, "contact"),
        ({"to": "contact", "contact": "ghost"}, "contact"),
        ({"contact": "mina"}, "contact"),
        ({"to": "contact", "contact": "mina", "values_of": "ghost"}, "values_of"),
        ({"to": "contact", "contact": "mina", "locale": "!"}, "locale"),
        ({"who": "mina"}, "who"),
    ],
)
def test_what_does_not_fit_is_refused_where_it_stands(
    project: Project, call: Caller, body: dict[str, Any], field: str
) -> None:
    make_contact(project, external_id="mina")
    reply = call.post(f"templates/{make_template(project).pk}/test", body)
    assert reply.status_code == 400 and fields_at_fault(reply) == [field]
    assert not SentTest.objects.exists()


def test_a_text_that_is_not_in_order_is_refused(project: Project, call: Caller) -> None:
    make_tester(project)
    broken = make_template(project, body="{{ first_name")
    reply = call.post(f"templates/{broken.pk}/test", {})
    assert reply.status_code == 422 and reply.json()["type"] == "urn:carillon:not-ready"
    assert fields_at_fault(reply) == ["body"]


def test_too_many_are_refused_until_a_time_that_is_named(project: Project, call: Caller) -> None:
    make_tester(project)
    template = make_template(project)
    for _ in range(MAX_OF_ONE):
        assert call.post(f"templates/{template.pk}/test", {}).status_code == 202
    reply = call.post(f"templates/{template.pk}/test", {})
    assert reply.status_code == 429 and reply.json()["type"] == "urn:carillon:too-many-tests"
    assert 290 <= int(reply["Retry-After"]) <= 301


def test_the_same_call_again_sends_no_second_test(project: Project, call: Caller) -> None:
    make_tester(project)
    path = f"templates/{make_template(project).pk}/test"
    first = call("POST", path, {}, Idempotency_Key="once")
    again = call("POST", path, {}, Idempotency_Key="once")
    assert first.json() == again.json() and SentTest.objects.count() == 1


def test_a_key_that_may_not_send_messages_sends_no_test(project: Project) -> None:
    make_tester(project)
    writer = Caller(project, ["templates", "runs"])
    for path in (f"templates/{make_template(project).pk}/test", "tests/1"):
        assert writer.post(path, {}).status_code in (403, 405)
    assert not SentTest.objects.exists()


def test_a_key_that_may_not_read_people_is_told_no_id(project: Project, fcm: Fcm) -> None:
    make_tester(project, external_id="mina")
    told = sent(Caller(project, ["messages"]), f"templates/{make_template(project).pk}/test", {})
    assert [one["contact"] for one in told["devices"]] == [""]


def test_another_projects_test_does_not_exist(project: Project, call: Caller) -> None:
    elsewhere = SentTest.objects.create(
        project=make_project(), name="x", content={}, ttl_seconds=1, by="user:bob"
    )
    assert call.get(f"tests/{elsewhere.pk}").status_code == 404
    theirs = make_template(elsewhere.project)
    assert call.post(f"templates/{theirs.pk}/test", {}).status_code == 404


# --- Who is a tester ------------------------------------------------------------------------------


def is_tester(name: str) -> bool:
    return Contact.objects.get(external_id=name).tester


def test_a_program_marks_a_tester_and_takes_the_mark_away(project: Project, call: Caller) -> None:
    assert call.put("contacts/mina", {"tester": True}).json()["tester"] is True
    assert call.patch("contacts/mina", {"locale": "ko"}).json()["tester"] is True
    assert call.put("contacts/mina", {"attributes": {}}).json()["tester"] is True  # left out
    call.post("contacts/bulk", {"contacts": [{"external_id": "mina"}, {"external_id": "leo"}]})
    assert is_tester("mina") and not is_tester("leo")
    assert call.patch("contacts/mina", {"tester": False}).json()["tester"] is False


def test_many_are_marked_at_once_and_what_is_no_answer_is_refused(
    project: Project, call: Caller
) -> None:
    rows = [{"external_id": "mina", "tester": True}, {"external_id": "leo", "tester": "yes"}]
    reply = call.post("contacts/bulk", {"contacts": rows}).json()
    assert [(one["index"], one["field"]) for one in reply["rejected"]] == [(1, "tester")]
    assert is_tester("mina") and not Contact.objects.filter(external_id="leo").exists()


def test_the_trail_says_that_it_was_changed(project: Project, call: Caller) -> None:
    make_contact(project, external_id="mina")
    call.patch("contacts/mina", {"tester": True})
    entry = AuditEntry.objects.get(action="changed", subject_kind="contact")
    assert list(entry.changes) == ["tester"]
