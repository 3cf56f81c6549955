"""What a file makes of the people: created, updated, unchanged, moved, replaced, removed."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.importing.merging import parallel_merge
from notifications.people.importing.model import Import, ImportPart
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_project
from tests.given.importing import bring_in, check, mapped, merge, reasons, upload

HEAD = "external_id,token,platform,locale,time_zone,city,points\n"


@pytest.fixture
def shop(db: None) -> Project:
    return make_project()


def people(project: Project) -> dict[str, dict[str, Any]]:
    return {each.external_id: each.attributes for each in Contact.objects.filter(project=project)}


def test_a_file_makes_people_with_their_devices(shop: Project) -> None:
    one = bring_in(
        shop,
        HEAD + "u1,tok1,android,ko,Asia/Seoul,Seoul,12\nu2,,,,,Busan,3.5\n",
    )
    assert (one.state, one.counts["created"], one.refused) == ("finished", 2, 0)
    assert people(shop) == {
        "u1": {"city": "Seoul", "points": 12},
        "u2": {"city": "Busan", "points": 3.5},
    }
    device = Device.objects.get(project=shop)
    assert (device.contact.external_id, device.address, device.platform) == (
        "u1",
        "tok1",
        "android",
    )
    assert (device.contact.locale, device.contact.timezone) == ("ko", "Asia/Seoul")
    assert not ImportPart.objects.filter(owner=one).exists()


def test_an_empty_cell_leaves_what_is_known(shop: Project) -> None:
    make_contact(shop, external_id="u1", attributes={"city": "Seoul", "plan": "pro"}, locale="ko")
    one = bring_in(shop, HEAD + "u1,,,,,,7\n")
    assert people(shop) == {"u1": {"city": "Seoul", "plan": "pro", "points": 7}}
    assert Contact.objects.get(external_id="u1").locale == "ko"
    assert one.counts == {"created": 0, "updated": 1, "unchanged": 0, "moved": 0}


def test_a_person_without_new_values_is_unchanged(shop: Project) -> None:
    text = HEAD + "u1,tok1,ios,ko,UTC,Seoul,1\n"
    bring_in(shop, text)
    before = Contact.objects.values().get(external_id="u1")
    one = bring_in(shop, text)
    assert one.counts == {"created": 0, "updated": 0, "unchanged": 1, "moved": 0}
    assert Contact.objects.values().get(external_id="u1") == before


def test_an_address_moves_to_the_person_the_file_names(shop: Project) -> None:
    device = make_device(make_contact(shop, external_id="old"), "tok1")
    one = bring_in(shop, HEAD + "new,tok1,android,,,,\n")
    device.refresh_from_db()
    assert device.contact.external_id == "new"
    assert one.counts["moved"] == 1


def test_a_retired_device_stays_retired(shop: Project) -> None:
    device = make_device(
        make_contact(shop, external_id="u1"), "tok1",
        retired_at="2026-01-01T00:00:00Z", retired_reason="unregistered",
    )  # fmt: skip
    bring_in(shop, HEAD + "u1,tok1,ios,,,,\n")
    device.refresh_from_db()
    assert (device.platform, device.active) == ("ios", False)


def test_the_last_row_of_a_person_named_twice_counts_and_every_device(shop: Project) -> None:
    one = bring_in(
        shop,
        HEAD + "u1,tok1,ios,,,Seoul,1\nu2,tok3,ios,,,,\nu1,tok2,ios,ko,,Busan,\nu1,,,,,,\n",
    )
    assert people(shop)["u1"] == {"city": "Busan", "points": 1}
    assert set(
        Device.objects.filter(contact__external_id="u1").values_list("address", flat=True)
    ) == {
        "tok1",
        "tok2",
    }
    assert (one.rows, one.people, one.duplicates, one.counts["created"]) == (4, 2, 2, 2)


@pytest.mark.parametrize("order", [("a", "z"), ("z", "a")])
def test_an_address_named_twice_belongs_to_the_last_person(
    shop: Project, order: tuple[str, str]
) -> None:
    rows = "".join(f"{who},tok1,ios,,,,\n" for who in order)
    bring_in(shop, HEAD + rows)
    assert Device.objects.get(project=shop).contact.external_id == order[1]
    assert set(people(shop)) == {"a", "z"}


def test_replacing_changes_the_people_in_the_file_and_nobody_else(shop: Project) -> None:
    known = make_contact(shop, external_id="u1", attributes={"plan": "pro"}, locale="ko")
    device = make_device(known, "old")
    make_contact(shop, external_id="other", attributes={"plan": "free"})
    one = bring_in(shop, HEAD + "u1,new,ios,,,Seoul,\n", mode="replace")
    assert people(shop) == {"u1": {"city": "Seoul"}, "other": {"plan": "free"}}
    known.refresh_from_db()
    device.refresh_from_db()
    assert (known.locale, device.retired_reason) == ("", "removed")
    assert one.counts["updated"] == 1


@pytest.mark.parametrize("rows", [1, 20_000])
def test_replacing_leaves_a_phone_active_that_the_file_gives_to_somebody_else(
    shop: Project, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(parallel_merge, "PEOPLE_AT_ONCE", rows)
    ada = make_contact(shop, external_id="a")
    moved, gone = make_device(ada, "moved"), make_device(ada, "gone")
    bring_in(shop, HEAD + "a,new,android,,,,\nb,moved,android,,,,\n", mode="replace")
    moved.refresh_from_db()
    gone.refresh_from_db()
    assert (moved.contact.external_id, moved.retired_reason) == ("b", "")
    assert gone.retired_reason == "removed"


def test_removing_erases_those_named_and_counts_the_unknown(shop: Project) -> None:
    make_device(make_contact(shop, external_id="u1"))
    make_contact(shop, external_id="u2")
    one = upload(shop, "external_id,zone\nu1,nowhere\nu3,\n")
    check(mapped(one, mode="remove"))
    assert (one.foreseen, set(people(shop))) == ({"removed": 1, "unknown": 1}, {"u1", "u2"})
    merge(one)
    assert (one.counts, set(people(shop))) == ({"removed": 1, "unknown": 1}, {"u2"})


def test_a_check_counts_what_a_merge_then_does_and_changes_nothing(shop: Project) -> None:
    make_device(make_contact(shop, external_id="u1", attributes={}), "tok1")
    make_contact(shop, external_id="u2", attributes={"city": "Seoul"})
    text = HEAD + "u2,,,,,Seoul,\nu3,tok1,ios,,,,\nu4,,,,,,\nu1,,,,,Busan,\nu5,,,,,,many\n"
    one = upload(shop, text)
    check(mapped(one, points={"meaning": "attribute", "name": "points", "type": "number"}))
    assert one.state == Import.State.CHECKED
    assert one.foreseen == {"created": 2, "updated": 1, "unchanged": 1, "moved": 1}
    assert one.refused == 1
    assert people(shop) == {"u1": {}, "u2": {"city": "Seoul"}}
    assert Device.objects.get(project=shop).contact.external_id == "u1"
    merge(one)
    assert one.counts == one.foreseen
    assert reasons(one)[6][0] == "points"


def test_people_of_another_project_are_left_alone(shop: Project) -> None:
    other = make_project()
    make_device(make_contact(other, external_id="u1", attributes={"city": "Oslo"}), "tok1")
    one = bring_in(shop, HEAD + "u1,tok1,ios,,,Seoul,\n")
    assert one.counts["created"] == 1
    assert one.counts["moved"] == 0
    assert people(other) == {"u1": {"city": "Oslo"}}


FID = "cdefGHIJklmn0123456_-A"
OLDER, NEWER = f"{FID}:APA91b-older", f"{FID}:APA91b-newer"


def receiving() -> dict[str, str]:
    return dict(Device.objects.values_list("address", "retired_reason"))


def test_an_address_from_a_file_never_replaces_one_that_the_app_registered(shop: Project) -> None:
    ada = make_contact(shop, external_id="u1")
    make_device(ada, NEWER, registered_from="app")
    other = make_device(ada, "cdefGHIJklmn0123456_-B:APA91b")
    bring_in(shop, HEAD + f"u2,{OLDER},android,,,,\n")
    assert receiving() == {NEWER: "", OLDER: "replaced", other.address: ""}


def test_an_address_from_a_file_receives_if_the_app_retired_the_other(shop: Project) -> None:
    ada = make_contact(shop, external_id="u1")
    make_device(ada, OLDER, retired_at=timezone.now(), retired_reason="removed")
    bring_in(shop, HEAD + f"u1,{NEWER},android,,,,\n")
    assert receiving() == {OLDER: "removed", NEWER: ""}


def test_one_of_two_addresses_of_an_installation_in_a_file_receives(shop: Project) -> None:
    bring_in(shop, HEAD + f"u1,{OLDER},ios,,,,\nu2,{NEWER},ios,,,,\n")
    assert receiving() == {NEWER: ""}


def test_replacing_gives_a_person_the_files_address_of_an_installation(shop: Project) -> None:
    make_device(make_contact(shop, external_id="u1"), OLDER)
    bring_in(shop, HEAD + f"u1,{NEWER},android,,,,\n", mode="replace")
    assert receiving() == {OLDER: "replaced", NEWER: ""}
