"""POST contacts/bulk: many people at once; rows are refused, not files."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_contact, make_device


def person(external_id: str, *addresses: str, **values: Any) -> dict[str, Any]:
    devices = [{"token": address, "platform": "android"} for address in addresses]
    return {"external_id": external_id, **({"devices": devices} if devices else {}), **values}


def bulk(caller: Caller, *people: Any) -> Any:
    response = caller.post("contacts/bulk", {"contacts": list(people)})
    assert response.status_code == 200, response.content
    return response.json()


def test_new_people_are_created_and_known_ones_updated(alice: Caller, ours: Project) -> None:
    make_contact(ours, external_id="u1", attributes={"plan": "free"}, locale="ko")
    answer = bulk(
        alice,
        person("u1", attributes={"plan": "pro"}),
        person("u2", "token-2", locale="de", timezone="Europe/Berlin"),
    )
    assert answer == {"created": 1, "updated": 1, "rejected": []}
    known, new = Contact.objects.order_by("external_id")
    assert (known.attributes, known.locale) == ({"plan": "pro"}, "ko")
    assert (new.attributes, new.locale, new.timezone) == ({}, "de", "Europe/Berlin")
    assert new.devices.get().address == "token-2"


def test_what_a_row_does_not_tell_stays_as_it_is(alice: Caller, ours: Project) -> None:
    known = make_contact(ours, attributes={"plan": "pro"}, locale="ko", timezone="Asia/Seoul")
    make_device(known, "token-1")
    bulk(alice, person(known.external_id))
    known.refresh_from_db()
    assert (known.attributes, known.locale, known.timezone) == ({"plan": "pro"}, "ko", "Asia/Seoul")
    assert known.devices.count() == 1


def test_a_bad_row_is_refused_and_the_others_are_written(alice: Caller) -> None:
    answer = bulk(
        alice,
        person("u1"),
        person("u2", locale="Korean!"),
        "not an object",
        {"attributes": {}},
        person("u3", attributes={"a b": 1}),
        person("u4", "good", "not good"),
        person("u5", plan="pro"),
        person("u6", timezone="Mars/Olympus"),
        person("u7"),
    )
    assert answer["created"] == 2
    faults = [(row["index"], row["field"]) for row in answer["rejected"]]
    assert faults == [
        (1, "locale"),
        (2, ""),
        (3, "external_id"),
        (4, "attributes"),
        (5, "devices[1].token"),
        (6, "plan"),
        (7, "timezone"),
    ]
    assert all(row["message"] for row in answer["rejected"])
    assert set(Contact.objects.values_list("external_id", flat=True)) == {"u1", "u7"}
    assert not Device.objects.exists()


@pytest.mark.parametrize(
    "attributes",
    [
        {"name": "a\x00b"},
        {"nested": {"a\x00b": 1}},
        {"list": ["\x00"]},
        {"nested": {"a": {"b": {"c": {"d": 1}}}}},
        {"long": "x" * 2_001},
        {f"a{n}": n for n in range(101)},
        [],
        None,
    ],
)
def test_attributes_that_cannot_be_kept_refuse_their_row(alice: Caller, attributes: Any) -> None:
    answer = bulk(alice, person("u1", attributes=attributes), person("u2"))
    assert answer["created"] == 1
    assert {row["index"] for row in answer["rejected"]} == {0}
    assert not Contact.objects.filter(external_id="u1").exists()


def test_a_device_is_a_token_or_a_fid_and_never_both(alice: Caller) -> None:
    both = {"token": "a", "fid": "b", "platform": "web"}
    answer = bulk(
        alice,
        {"external_id": "u1", "devices": [both]},
        {"external_id": "u2", "devices": [{"platform": "web"}]},
        {"external_id": "u3", "devices": [{"fid": "f", "platform": "web", "app_version": "1.2"}]},
        {"external_id": "u4", "devices": [{"token": "t", "platform": "desktop"}]},
    )
    assert [row["index"] for row in answer["rejected"]] == [0, 1, 3]
    device = Device.objects.get()
    assert (device.kind, device.address, device.app_version) == ("fid", "f", "1.2")


def test_an_address_moves_to_its_new_owner(alice: Caller, ours: Project) -> None:
    old = make_device(make_contact(ours), "shared-phone")
    bulk(alice, person("new-owner", "shared-phone"))
    moved = Device.objects.get()
    assert moved.pk == old.pk
    assert moved.contact.external_id == "new-owner"


def test_an_address_of_another_project_stays_there(alice: Caller, charlie: Caller) -> None:
    theirs = make_device(make_contact(charlie.project), "same-token")
    bulk(alice, person("u1", "same-token"))
    theirs.refresh_from_db()
    assert theirs.contact.project == charlie.project
    assert Device.objects.count() == 2


def test_a_retired_device_that_registers_again_is_active(alice: Caller, ours: Project) -> None:
    before = timezone.now()
    device = make_device(
        make_contact(ours),
        "back",
        retired_at=before,
        retired_reason="unregistered",
        app_version="1",
    )
    bulk(alice, person(device.contact.external_id, "back"))
    device.refresh_from_db()
    assert (device.retired_at, device.retired_reason) == (None, "")
    assert device.registered_at > before - timedelta(seconds=1)
    assert device.app_version == "1"  # not told this time


def test_of_two_rows_for_one_person_the_last_word_counts(alice: Caller) -> None:
    answer = bulk(
        alice,
        person("u1", "phone", attributes={"plan": "free"}, locale="ko"),
        person("u2", "tablet"),
        person("u1", "tablet", attributes={"plan": "pro"}),
    )
    assert answer == {"created": 2, "updated": 0, "rejected": []}
    contact = Contact.objects.get(external_id="u1")
    assert (contact.attributes, contact.locale) == ({"plan": "pro"}, "ko")
    assert set(contact.devices.values_list("address", flat=True)) == {"phone", "tablet"}
    assert not Contact.objects.get(external_id="u2").devices.exists()


def test_at_most_a_thousand_people_a_call(alice: Caller) -> None:
    people = [person(f"u{n}") for n in range(1_001)]
    response = alice.post("contacts/bulk", {"contacts": people})
    assert response.status_code == 400
    assert fields_at_fault(response) == ["contacts"]
    assert not Contact.objects.exists()
    assert bulk(alice, *people[:1_000])["created"] == 1_000


def test_the_number_of_statements_does_not_grow_with_the_people(alice: Caller) -> None:
    def statements(count: int) -> int:
        people = [person(f"u{n}", f"a{n}", f"b{n}") for n in range(count)]
        with CaptureQueriesContext(connection) as captured:
            bulk(alice, *people)
        # Savepoints there are only because the test is a transaction already.
        return sum("SAVEPOINT" not in query["sql"] for query in captured)

    alice.get("runs")  # notes the use of the key
    assert statements(500) == statements(1) <= 6


def test_an_empty_call_changes_nothing(alice: Caller) -> None:
    assert bulk(alice) == {"created": 0, "updated": 0, "rejected": []}
