"""One person: read, replaced, erased; and one device registered."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device


def test_a_person_is_shown_with_their_devices(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours, external_id="u/1 é", locale="ko")
    make_device(contact, "token-1", platform="ios")
    shown = alice.get("contacts/u%2F1%20%C3%A9").json()
    assert (shown["external_id"], shown["locale"]) == ("u/1 é", "ko")
    assert shown["devices"][0]["token"] == "token-1"
    assert shown["devices"][0]["platform"] == "ios"


def test_put_makes_a_person_and_then_replaces_them(alice: Caller) -> None:
    told = {"attributes": {"plan": "pro"}, "locale": "ko"}
    assert alice.put("contacts/u1", told).status_code == 201
    assert alice.put("contacts/u1", {"timezone": "UTC"}).status_code == 200
    contact = Contact.objects.get()
    assert (contact.attributes, contact.locale, contact.timezone) == ({}, "", "UTC")


def test_put_with_devices_retires_the_ones_it_does_not_name(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours)
    make_device(contact, "old")
    make_device(contact, "kept")
    other = make_device(make_contact(ours), "of-somebody-else")
    body = {"devices": [{"token": "kept", "platform": "android"}]}
    assert alice.put(f"contacts/{contact.external_id}", body).status_code == 200
    assert Device.objects.get(address="kept").active
    old = Device.objects.get(address="old")
    assert (old.active, old.retired_reason) == (False, "removed")
    other.refresh_from_db()
    assert other.active


@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_of_an_address_that_is_given_twice_the_last_word_counts(
    alice: Caller, ours: Project, method: str
) -> None:
    contact = make_contact(ours)
    devices = [{"token": "twice", "platform": platform} for platform in ("ios", "web")]
    answer = alice(method, f"contacts/{contact.external_id}", {"devices": devices})
    assert answer.status_code == 200, answer.content
    assert [device["platform"] for device in answer.json()["devices"]] == ["web"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "bulk"])
def test_a_device_that_is_sent_back_as_retired_stays_as_it_is(
    alice: Caller, ours: Project, method: str
) -> None:
    contact = make_contact(ours)
    make_device(contact, "gone")
    make_device(contact, "kept")
    alice.delete("devices/gone")
    before = Device.objects.filter(address="gone").values().get()
    shown = alice.get(f"contacts/{contact.external_id}").json()
    if method == "bulk":
        alice.post("contacts/bulk", {"contacts": [shown]})
    else:
        alice(method, f"contacts/{contact.external_id}", shown)
    assert Device.objects.filter(address="gone").values().get() == before
    assert Device.objects.get(address="kept").active


def test_what_was_seen_retired_and_registered_since_is_not_retired_again(
    alice: Caller, ours: Project
) -> None:
    device = make_device(make_contact(ours), "back", retired_at=None)
    seen = {"token": "back", "platform": "ios", "retired_at": "2026-05-31T12:00:00Z"}
    alice.put(f"contacts/{device.contact.external_id}", {"devices": [seen]})
    assert Device.objects.filter(pk=device.pk, platform="android", retired_at=None).exists()


def test_put_without_devices_leaves_them_alone(alice: Caller, ours: Project) -> None:
    device = make_device(make_contact(ours))
    alice.put(f"contacts/{device.contact.external_id}", {})
    device.refresh_from_db()
    assert device.active


def test_what_was_read_can_be_sent_back(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours, attributes={"plan": "pro"})
    make_device(contact)
    shown = alice.get(f"contacts/{contact.external_id}").json()
    answer = alice.put(f"contacts/{contact.external_id}", shown)
    assert answer.status_code == 200, answer.content
    again = answer.json()
    assert again["attributes"] == shown["attributes"]
    assert again["devices"][0]["token"] == shown["devices"][0]["token"]


def test_put_refuses_the_id_of_another_person(alice: Caller) -> None:
    response = alice.put("contacts/u1", {"external_id": "u2"})
    assert fields_at_fault(response) == ["external_id"]
    assert not Contact.objects.exists()


@pytest.mark.parametrize("external_id", ["x" * 201, "a%00b"])
def test_put_refuses_an_id_that_cannot_be_kept(alice: Caller, external_id: str) -> None:
    response = alice.put(f"contacts/{external_id}", {})
    assert response.status_code == 400
    assert fields_at_fault(response) == ["external_id"]


@pytest.mark.parametrize(
    "external_id", ["two\nlines", "tab\t", "\x7f", "bulk", ".", "..", "a/../b"]
)
def test_an_id_that_no_address_reaches_is_refused_at_every_door(
    alice: Caller, external_id: str
) -> None:
    rejected = alice.post("contacts/bulk", {"contacts": [{"external_id": external_id}]}).json()
    assert [row["field"] for row in rejected["rejected"]] == ["external_id"]
    registration = {"contact": external_id, "token": "t:1", "platform": "ios"}
    assert fields_at_fault(alice.post("devices", registration)) == ["contact"]
    put = alice.put(f"contacts/{quote(external_id, safe='')}", {})
    other_address = {"bulk": 405}
    assert put.status_code == other_address.get(external_id, 400)
    assert not Contact.objects.exists()


def test_an_id_may_hold_dots_and_slashes_elsewhere(alice: Caller) -> None:
    for external_id in ("a.b", "bulk/1", "v1/...", ".hidden"):
        assert alice.put(f"contacts/{external_id}", {}).status_code == 201


def test_put_wants_an_object(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours)
    answer = alice.put(f"contacts/{contact.external_id}")
    assert (answer.status_code, fields_at_fault(answer)) == (400, [""])
    assert Contact.objects.get().attributes == contact.attributes
    assert alice.put(f"contacts/{contact.external_id}", {}).status_code == 200


def test_erasing_takes_the_devices_and_leaves_a_nameless_trace(
    alice: Caller, ours: Project
) -> None:
    contact = make_contact(ours, external_id="ada@example.com")
    make_device(contact)
    stays = make_device(make_contact(ours))
    assert alice.delete("contacts/ada@example.com").status_code == 204
    assert list(Device.objects.all()) == [stays]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action) == (f"key:{alice.row.prefix}", "erased")
    assert "ada" not in f"{entry.about}{entry.detail}"
    assert alice.delete("contacts/ada@example.com").status_code == 404


def test_another_projects_person_can_be_neither_seen_nor_erased(
    charlie: Caller, ours: Project
) -> None:
    contact = make_contact(ours, external_id="u1")
    assert charlie.get("contacts/u1").status_code == 404
    assert charlie.delete("contacts/u1").status_code == 404
    assert charlie.put("contacts/u1", {"locale": "de"}).status_code == 201  # their own u1
    contact.refresh_from_db()
    assert contact.locale == "en"


def test_a_device_registers_for_a_known_person(alice: Caller, ours: Project) -> None:
    contact = make_contact(ours)
    body = {"contact": contact.external_id, "fid": "f-1", "platform": "ios", "app_version": "5.0"}
    answer = alice.post("devices", body)
    assert answer.status_code == 200
    assert (answer.json()["contact"], answer.json()["fid"]) == (contact.external_id, "f-1")
    device = contact.devices.get()
    assert (device.kind, device.platform, device.app_version) == ("fid", "ios", "5.0")


def test_a_device_moves_when_somebody_else_logs_in_on_it(alice: Caller, ours: Project) -> None:
    device = make_device(
        make_contact(ours), "shared", retired_reason="x", retired_at="2026-01-01T00:00Z"
    )
    new = make_contact(ours)
    body = {"contact": new.external_id, "token": "shared", "platform": "android"}
    assert alice.post("devices", body).status_code == 200
    device.refresh_from_db()
    assert (device.contact, device.active) == (new, True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"contact": "nobody", "token": "t", "platform": "web"}, "contact"),
        ({"token": "t", "platform": "web"}, "contact"),
        ({"contact": "u1", "token": "two words", "platform": "web"}, "token"),
        ({"contact": "u1", "token": "x" * 2_049, "platform": "web"}, "token"),
        ({"contact": "u1", "token": "t", "platform": []}, "platform"),
        ({"contact": "u1", "platform": "web"}, ""),
    ],
)
def test_a_device_that_cannot_be_registered_says_why(
    alice: Caller, ours: Project, body: object, field: str
) -> None:
    make_contact(ours, external_id="u1")
    response = alice.post("devices", body)
    assert response.status_code == 400
    assert fields_at_fault(response) == [field]
    assert not Device.objects.exists()


def test_a_number_beyond_64_bits_comes_back(alice: Caller) -> None:
    assert alice.put("contacts/u1", {"attributes": {"n": 1e30}}).status_code == 201
    shown = alice.get("contacts/u1")
    assert shown.status_code == 200
    assert shown.json()["attributes"]["n"] == 10**30
    assert shown.json()["created_at"].endswith("Z")


@pytest.mark.parametrize("locale", ["pt_BR", "PT-br", "zh-Hant-TW", "ar-u-nu-latn"])
def test_a_language_is_kept_in_the_apps_own_spelling(
    alice: Caller, ours: Project, locale: str
) -> None:
    assert alice.put("contacts/u1", {"locale": locale}).status_code == 201
    assert Contact.objects.get().locale == locale


@pytest.mark.parametrize("kind", ["token", "fid"])
def test_an_address_that_is_taken_back_gets_nothing_more(
    alice: Caller, charlie: Caller, ours: Project, kind: str
) -> None:
    gone = make_device(make_contact(ours), "a:b/c%", kind=kind)
    stays = make_device(make_contact(ours), "other")
    theirs = make_device(make_contact(charlie.project), "a:b/c%")
    assert alice.delete("devices/a:b/c%25").status_code == 204
    for device in (gone, stays, theirs):
        device.refresh_from_db()
    assert (gone.active, gone.retired_reason) == (False, "removed")
    assert stays.active and theirs.active
    retired_at = gone.retired_at
    assert alice.delete("devices/a:b/c%25").status_code == 204  # asked again
    gone.refresh_from_db()
    assert gone.retired_at == retired_at


def test_an_address_that_was_taken_back_can_register_again(alice: Caller, ours: Project) -> None:
    device = make_device(make_contact(ours), "phone")
    alice.delete("devices/phone")
    body = {"contact": device.contact.external_id, "token": "phone", "platform": "ios"}
    assert alice.post("devices", body).status_code == 200
    device.refresh_from_db()
    assert device.active


@pytest.mark.parametrize("address", ["nobody", "a%00b", "%F0%9F%98%80", "x" * 5_000])
def test_an_address_nobody_has_cannot_be_taken_back(alice: Caller, address: str) -> None:
    assert alice.delete(f"devices/{address}").status_code == 404


def test_an_id_with_a_line_break_is_refused_by_its_field(alice: Caller) -> None:
    refused = alice.put("contacts/x%0D%0Ay", {"attributes": {}})
    assert (refused.status_code, fields_at_fault(refused)) == (400, ["external_id"])
    assert alice.get("contacts/x%0D%0Ay").status_code == 404
