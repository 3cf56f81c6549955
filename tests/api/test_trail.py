"""What a program writes leaves the entry that the same work on a page leaves."""

from __future__ import annotations

from typing import Any

import pytest

from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_contact, make_device

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice(project: Project) -> Caller:
    return Caller(project)


def trail(alice: Caller) -> list[tuple[Any, ...]]:
    rows = AuditEntry.objects.filter(actor=f"key:{alice.row.prefix}", project=alice.project)
    return list(rows.order_by("pk").values_list("action", "subject_kind", "subject_id", "changes"))


def test_a_person_is_made_and_changed_by_number_and_without_what_they_are_like(
    alice: Caller,
) -> None:
    made = alice.put("contacts/ada@example.com", {"attributes": {"plan": "gold"}})
    assert made.status_code == 201
    alice.put("contacts/ada@example.com", {"attributes": {"plan": "pro"}, "locale": "ko"})
    alice.patch("contacts/ada@example.com", {"attributes": {"plan": "free"}})
    pk = alice.project.contact_set.get().pk
    hidden = ["…", "…"]
    assert trail(alice) == [
        ("created", "contact", pk, {}),
        ("changed", "contact", pk, {"attributes": hidden, "locale": hidden}),
        ("changed", "contact", pk, {"attributes": hidden}),
    ]
    kept = str(list(AuditEntry.objects.values()))
    assert "example.com" not in kept and "gold" not in kept


def test_nothing_new_leaves_no_entry(alice: Caller, project: Project) -> None:
    make_contact(project, external_id="ada", attributes={"plan": "pro"}, locale="ko", timezone="")
    told = {"attributes": {"plan": "pro"}, "locale": "ko"}
    assert alice.put("contacts/ada", told).status_code == 200
    assert alice.patch("contacts/ada", told).status_code == 200
    assert trail(alice) == []


def test_a_thousand_people_are_one_entry_with_counts(alice: Caller, project: Project) -> None:
    make_contact(project, external_id="u1")
    people: list[dict[str, Any]] = [{"external_id": f"u{n}", "locale": "ko"} for n in range(1, 5)]
    alice.post("contacts/bulk", {"contacts": [*people, {"external_id": ""}]})
    assert trail(alice) == [("wrote", "contact", None, {})]
    assert AuditEntry.objects.get().detail == {"created": 3, "updated": 1, "rejected": 1}


def test_a_bulk_of_which_nobody_was_written_leaves_none(alice: Caller) -> None:
    alice.post("contacts/bulk", {"contacts": [{"external_id": ""}]})
    alice.post("contacts/bulk", {"contacts": []})
    assert trail(alice) == []


def test_a_repeated_bulk_is_one_entry(alice: Caller) -> None:
    body = {"contacts": [{"external_id": "u1"}]}
    for _ in range(2):
        alice.post("contacts/bulk", body, idempotency_key="once")
    assert len(trail(alice)) == 1


def test_who_came_to_a_list_and_who_left_it_is_counted(alice: Caller, project: Project) -> None:
    for name in ("ada", "bob", "eve"):
        make_contact(project, external_id=name)
    made = alice.post("audiences", {"name": "VIPs", "contacts": ["ada", "bob"]}).json()
    alice.put(f"audiences/{made['id']}", {"name": "VIPs", "contacts": ["bob", "eve"]})
    alice.put(f"audiences/{made['id']}", {"name": "VIPs", "contacts": ["eve", "bob"]})
    rows = AuditEntry.objects.order_by("pk").values_list("action", "subject_id", "detail")
    assert list(rows) == [
        ("created", made["id"], {}),
        ("changed members", made["id"], {"added": 2, "removed": 0}),
        ("changed members", made["id"], {"added": 1, "removed": 1}),
    ]


@pytest.mark.parametrize("kind", ["audience", "template", "campaign"])
def test_what_is_written_is_called_by_its_name(alice: Caller, project: Project, kind: str) -> None:
    everyone = make_audience(project)
    text = alice.post("templates", {"name": "T", "title": "a", "body": "b"}).json()["id"]
    bodies: dict[str, dict[str, Any]] = {
        "audience": {"rules": {"all": []}},
        "template": {"title": "a", "body": "b"},
        "campaign": {"audience": everyone.pk, "template": text},
    }
    body = bodies[kind]
    pk = alice.post(f"{kind}s", {**body, "name": "One"}).json()["id"]
    alice.put(f"{kind}s/{pk}", {**body, "name": "Two"})
    alice.delete(f"{kind}s/{pk}")
    rows = AuditEntry.objects.filter(subject_kind=kind, subject_id=pk).order_by("pk")
    kept = list(rows.values_list("action", "subject_name", "changes"))
    assert kept == [
        ("created", "One", {}),
        ("changed", "Two", {"name": ["One", "Two"]}),
        ("deleted", "Two", {}),
    ]


def test_an_app_that_registers_its_device_is_not_in_the_trail(
    alice: Caller, project: Project
) -> None:
    device = make_device(make_contact(project, external_id="ada"), "live-ada")
    again = {"contact": "ada", "token": device.address, "platform": "ios"}
    assert alice.post("devices", again).status_code == 200
    assert alice.delete("devices/live-ada").status_code == 204
    assert trail(alice) == []
