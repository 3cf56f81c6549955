"""Who says that a phone was seen: its app, or whoever gives the time; not whoever writes people."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device

LONG_AGO = datetime(2024, 5, 31, 9, tzinfo=UTC)
WRITES = ["PUT", "PATCH", "bulk"]


@pytest.fixture
def old_phone(ours: Project) -> Device:
    ada = make_contact(ours, external_id="ada")
    return make_device(ada, "old", last_seen_at=LONG_AGO, registered_at=LONG_AGO)


def write(caller: Caller, method: str, told: dict[str, Any]) -> Any:
    if method == "bulk":
        return caller.post("contacts/bulk", {"contacts": [{"external_id": "ada", **told}]})
    return caller(method, "contacts/ada", told)


def seen_at(address: str) -> datetime:
    return Device.objects.get(address=address).last_seen_at


@pytest.mark.parametrize("method", WRITES)
def test_a_person_written_back_as_shown_leaves_their_phones_as_old_as_they_were(
    alice: Caller, old_phone: Device, method: str
) -> None:
    before = Device.objects.values().get()
    assert write(alice, method, alice.get("contacts/ada").json()).status_code == 200
    assert Device.objects.values().get() == before


@pytest.mark.parametrize("method", WRITES)
def test_a_backend_that_names_a_phone_does_not_say_it_was_seen(
    alice: Caller, old_phone: Device, method: str
) -> None:
    told = {"devices": [{"token": "old", "platform": "ios", "app_version": "5.2"}]}
    assert write(alice, method, told).status_code == 200
    old_phone.refresh_from_db()
    assert (old_phone.platform, old_phone.app_version) == ("ios", "5.2")
    assert old_phone.last_seen_at == LONG_AGO


@pytest.mark.parametrize("method", WRITES)
def test_a_phone_nobody_knew_was_seen_when_it_was_registered(
    alice: Caller, old_phone: Device, method: str
) -> None:
    began = timezone.now()
    write(alice, method, {"devices": [{"token": "new", "platform": "ios"}]})
    assert began <= seen_at("new") <= timezone.now()


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("address", ["old", "new"])
def test_a_phone_was_seen_when_the_call_says(
    alice: Caller, old_phone: Device, method: str, address: str
) -> None:
    told = {"token": address, "platform": "ios", "last_seen_at": "2025-01-01T09:00:00+09:00"}
    assert write(alice, method, {"devices": [told]}).status_code == 200
    assert seen_at(address) == datetime(2025, 1, 1, tzinfo=UTC)


def test_an_older_time_than_what_is_known_changes_nothing(alice: Caller, old_phone: Device) -> None:
    told = {"token": "old", "platform": "ios", "last_seen_at": "2020-01-01T00:00:00Z"}
    write(alice, "PUT", {"devices": [told]})
    assert seen_at("old") == LONG_AGO


def test_the_app_that_registers_its_phone_says_it_was_seen(
    alice: Caller, old_phone: Device
) -> None:
    began = timezone.now()
    alice.post("devices", {"contact": "ada", "token": "old", "platform": "ios"})
    assert began <= seen_at("old")


def test_a_clock_that_is_a_little_ahead_counts_as_now(alice: Caller, old_phone: Device) -> None:
    ahead = (timezone.now() + timedelta(minutes=4)).isoformat()
    told = {"token": "old", "platform": "ios", "last_seen_at": ahead}
    assert write(alice, "PUT", {"devices": [told]}).status_code == 200
    assert LONG_AGO < seen_at("old") <= timezone.now()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("2126-01-01T00:00:00Z", "future"),
        ("2025-01-01", "offset"),
        (7, "offset"),
        ("1969-01-01T00:00:00Z", "1970"),
    ],
)
def test_a_time_that_is_none_is_refused_by_its_field(
    alice: Caller, old_phone: Device, value: Any, said: str
) -> None:
    told = {"token": "old", "platform": "ios", "last_seen_at": value}
    refused = write(alice, "PUT", {"devices": [told]})
    assert fields_at_fault(refused) == ["devices[0].last_seen_at"]
    assert said in refused.json()["errors"][0]["message"]
    assert seen_at("old") == LONG_AGO


@pytest.mark.parametrize("method", WRITES)
def test_a_phone_that_moves_to_another_person_is_registered_then_and_not_seen(
    alice: Caller, ours: Project, old_phone: Device, method: str
) -> None:
    bob = make_contact(ours, external_id="bob")
    Device.objects.update(contact=bob)
    write(alice, method, {"devices": [{"token": "old", "platform": "android"}]})
    old_phone.refresh_from_db()
    assert old_phone.contact.external_id == "ada"
    assert old_phone.registered_at > LONG_AGO and old_phone.last_seen_at == LONG_AGO
