"""ETag and If-Match: whoever saw something older than what is there overwrites nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import connection, connections

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.texts.template import Template
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_template,
)

PROBLEM = "application/problem+json"
RULES = {"field": "attributes.n", "op": "gt", "value": 1e2}
KINDS = ["contact", "audience", "template", "campaign"]


@dataclass
class Thing:
    """One thing of each kind: where it is, and a body that would change it."""

    path: str
    change: dict[str, Any]


def thing(project: Project, kind: str) -> Thing:
    if kind == "contact":
        device = make_device(make_contact(project))
        return Thing(f"contacts/{device.contact.external_id}", {"locale": "ko"})
    if kind == "audience":
        audience = make_audience(project)
        return Thing(f"audiences/{audience.pk}", {"name": "New", "rules": {"all": []}})
    if kind == "template":
        template = make_template(project)
        return Thing(f"templates/{template.pk}", {"name": "New", "title": "T", "body": "B"})
    campaign = make_campaign(project)
    given = {"audience": campaign.audience_id, "template": campaign.template_id}
    return Thing(f"campaigns/{campaign.pk}", {"name": "New", **given})


@pytest.fixture(params=KINDS)
def it(ours: Project, request: pytest.FixtureRequest) -> Thing:
    return thing(ours, request.param)


def test_what_is_read_carries_a_strong_tag_that_stays_while_it_stays(
    alice: Caller, it: Thing
) -> None:
    first, again = alice.get(it.path), alice.get(it.path)
    assert first["ETag"] == again["ETag"]
    assert first["ETag"].startswith('"')
    assert alice("HEAD", it.path)["ETag"] == first["ETag"]


def test_a_change_gives_a_new_tag_the_one_that_a_reader_finds(alice: Caller, it: Thing) -> None:
    before = alice.get(it.path)["ETag"]
    changed = alice.put(it.path, it.change)
    assert changed["ETag"] != before
    assert alice.get(it.path)["ETag"] == changed["ETag"]


def test_what_was_not_changed_is_not_sent_again(alice: Caller, it: Thing) -> None:
    tag = alice.get(it.path)["ETag"]
    for known in (tag, f"W/{tag}", "*", f'"other", {tag}'):
        same = alice.get(it.path, If_None_Match=known)
        assert (same.status_code, same.content, same["ETag"]) == (304, b"", tag)
    assert alice.get(it.path, If_None_Match='"other"').status_code == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_who_saw_something_older_changes_nothing(alice: Caller, it: Thing, method: str) -> None:
    old = alice.get(it.path)["ETag"]
    alice.put(it.path, it.change)
    now, trail = alice.get(it.path), AuditEntry.objects.count()
    refused = alice(method, it.path, it.change, If_Match=old)
    assert (refused.status_code, refused["Content-Type"]) == (412, PROBLEM)
    assert refused.json()["type"] == "urn:carillon:stale"
    assert alice.get(it.path).content == now.content
    assert AuditEntry.objects.count() == trail


@pytest.mark.parametrize("wanted", ["{tag}", "*", '"other", {tag}'])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_who_saw_what_is_there_changes_it(
    alice: Caller, it: Thing, method: str, wanted: str
) -> None:
    tag = wanted.format(tag=alice.get(it.path)["ETag"])
    assert alice(method, it.path, it.change, If_Match=tag).status_code in (200, 204)


def test_a_weak_tag_proves_nothing_to_a_writer(alice: Caller, it: Thing) -> None:
    weak = f"W/{alice.get(it.path)['ETag']}"
    assert alice.put(it.path, it.change, If_Match=weak).status_code == 412


@pytest.mark.parametrize("wrong", ["", "abc", "5", '"half'])
def test_a_condition_that_says_nothing_is_refused(alice: Caller, it: Thing, wrong: str) -> None:
    refused = alice.put(it.path, it.change, If_Match=wrong)
    assert refused.status_code == 400
    assert fields_at_fault(refused) == ["If-Match"]


def test_a_person_who_is_not_there_matches_nothing(alice: Caller) -> None:
    assert alice.put("contacts/new", {}, If_Match="*").status_code == 412
    assert not Contact.objects.exists()
    assert alice.put("contacts/new", {}, If_None_Match="*").status_code == 201
    assert alice.put("contacts/new", {"locale": "ko"}, If_None_Match="*").status_code == 412
    assert Contact.objects.get().locale == ""


def test_who_must_be_new_was_not_made_by_another_in_the_meantime(
    alice: Caller, ours: Project
) -> None:
    def meanwhile(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if "INSERT INTO notifications_contact" in sql and not Contact.objects.exists():
            make_contact(ours, external_id="new", locale="en")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(meanwhile):
        refused = alice.put("contacts/new", {"locale": "ko"}, If_None_Match="*")
    assert refused.status_code == 412


def test_a_device_that_registers_makes_what_was_seen_of_its_owner_old(
    alice: Caller, ours: Project
) -> None:
    contact = make_contact(ours)
    path = f"contacts/{contact.external_id}"
    seen = alice.get(path)["ETag"]
    alice.post("devices", {"contact": contact.external_id, "token": "t", "platform": "web"})
    assert alice.put(path, {"devices": []}, If_Match=seen).status_code == 412


def test_what_is_made_carries_its_tag_as_it_is_kept(alice: Caller) -> None:
    made = alice.post("audiences", {"name": "A", "rules": RULES})
    path = f"audiences/{made.json()['id']}"
    assert alice.get(path)["ETag"] == made["ETag"]
    body = {"name": "B", "rules": RULES}
    assert alice.put(path, body, If_Match=made["ETag"]).status_code == 200


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", KINDS)
def test_of_writers_who_saw_the_same_one_wins(kind: str) -> None:
    project = make_project()
    alice, it = Caller(project), thing(project, kind)
    tag = alice.get(it.path)["ETag"]

    def write(number: int) -> int:
        named = {"timezone": "UTC"} if kind == "contact" else {"name": f"by {number}"}
        try:
            return alice.put(it.path, {**it.change, **named}, If_Match=tag).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as threads:
        answers = sorted(threads.map(write, range(6)))
    assert answers == [200, 412, 412, 412, 412, 412]
    kept = [model.objects.count() for model in (Contact, Audience, Template, Campaign)]
    assert sum(kept) <= 3
