"""Two addresses of one installation are one device: the one its app registered last receives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from time import sleep

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from notifications.people import device as devices
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.people.registry import Address, register_one
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_contact
from tests.given.importing import bring_in
from tests.roles.people import logged_in

FID = "cdefGHIJklmn0123456_-A"
TOKEN = f"{FID}:APA91b-first"
NEWER = f"{FID}:APA91b-second"


@pytest.fixture(autouse=True)
def two_people(ours: Project) -> None:
    for name in ("ada", "bob"):
        make_contact(ours, external_id=name)


def register(caller: Caller, contact: str, **address: str) -> None:
    body = {"contact": contact, "platform": "android", **address}
    assert caller.post("devices", body).status_code == 200


def standing() -> dict[str, tuple[str, str]]:
    """Of each address, whose it is and why it receives nothing."""
    rows = Device.objects.values_list("address", "contact__external_id", "retired_reason")
    return {address: (contact, reason) for address, contact, reason in rows}


def test_the_older_address_of_an_installation_is_retired_when_a_newer_one_registers(
    alice: Caller,
) -> None:
    register(alice, "ada", token=TOKEN)
    register(alice, "ada", fid=FID)
    assert standing() == {TOKEN: ("ada", "replaced"), FID: ("ada", "")}
    register(alice, "ada", token=NEWER)
    assert standing()[FID] == ("ada", "replaced")
    register(alice, "ada", token=TOKEN)  # it comes back, as any address does
    assert standing() == {
        TOKEN: ("ada", ""), FID: ("ada", "replaced"), NEWER: ("ada", "replaced")
    }  # fmt: skip


def _waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return bool(cursor.rowcount)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["devices", "contacts/bob", "contacts"])
def test_of_two_addresses_of_an_installation_registered_at_once_one_receives(
    alice: Caller, ours: Project, path: str
) -> None:
    first = Address("token", TOKEN, "android")
    device = {"fid": FID, "platform": "ios"}

    def second() -> int:
        try:
            if path == "devices":
                return alice.post(path, {"contact": "bob", **device}).status_code
            if path == "contacts/bob":
                return alice.put(path, {"devices": [device]}).status_code
            many = {"contacts": [{"external_id": "bob", "devices": [device]}]}
            return alice.post("contacts/bulk", many).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            register_one(ours, "ada", first, now=timezone.now())
            registering = other.submit(second)
            while not registering.done() and not _waits():
                sleep(0.01)
        assert registering.result() == 200
    by_app = path == "devices"
    assert standing() == {
        TOKEN: ("ada", "replaced" if by_app else ""), FID: ("bob", "" if by_app else "replaced")
    }  # fmt: skip


def test_a_phone_that_changed_hands_receives_for_its_new_owner_only(alice: Caller) -> None:
    register(alice, "ada", token=TOKEN)
    register(alice, "bob", fid=FID)
    assert standing() == {TOKEN: ("ada", "replaced"), FID: ("bob", "")}


def test_other_projects_and_other_installations_keep_their_addresses(
    alice: Caller, charlie: Caller
) -> None:
    make_contact(charlie.project, external_id="theirs")
    register(charlie, "theirs", token=TOKEN)
    register(alice, "bob", token=f"{FID[:-1]}B:APA91b")
    register(alice, "bob", token=f"{FID}x:APA91b")  # not of 22 letters: no installation is known
    register(alice, "bob", token=FID)
    register(alice, "ada", fid=FID)
    assert {reason for _, reason in standing().values()} == {""}


def test_of_two_addresses_in_one_call_the_last_is_kept(alice: Caller) -> None:
    both = [{"token": TOKEN, "platform": "ios"}, {"fid": FID, "platform": "ios"}]
    taken = alice.post("contacts/bulk", {"contacts": [{"external_id": "ada", "devices": both}]})
    assert taken.status_code == 200
    assert standing() == {FID: ("ada", "")}
    alice.put("contacts/bob", {"devices": list(reversed(both))})
    assert standing() == {FID: ("ada", "replaced"), TOKEN: ("bob", "")}


def test_many_at_once_replace_the_addresses_of_others(alice: Caller) -> None:
    before = {"external_id": "ada", "devices": [{"token": TOKEN, "platform": "ios"}]}
    alice.post("contacts/bulk", {"contacts": [before]})
    row = {"external_id": "bob", "devices": [{"fid": FID, "platform": "ios"}]}
    alice.post("contacts/bulk", {"contacts": [row, {"external_id": "cleo"}]})
    assert standing() == {TOKEN: ("ada", "replaced"), FID: ("bob", "")}


def test_a_phone_registers_with_two_statements_beside_its_key(alice: Caller) -> None:
    register(alice, "ada", token=TOKEN)
    with CaptureQueriesContext(connection) as captured:
        register(alice, "ada", token=TOKEN)
    asked = [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]
    assert len(asked) == 3 and "notifications_apikey" in asked[0]


def test_a_device_made_by_hand_replaces_the_older_address(alice: Caller, ours: Project) -> None:
    register(alice, "ada", token=TOKEN)
    desk = Desk(logged_in(Role.EDITOR))
    values = {"kind": "fid", "address": FID, "platform": "ios", "person": "bob"}
    desk.save("notifications_device_add", **values)
    assert standing() == {TOKEN: ("ada", "replaced"), FID: ("bob", "")}


def test_an_address_that_was_replaced_is_not_restored_by_hand(alice: Caller, ours: Project) -> None:
    register(alice, "ada", token=TOKEN)
    register(alice, "ada", fid=FID)
    old = Device.objects.get(address=TOKEN)
    desk = Desk(logged_in(Role.EDITOR))
    assert "a newer address" in desk.open("notifications_device_change", old.pk)
    reply = desk.confirm("notifications_device_restore", old.pk)
    assert "newer address since" in reply.content.decode()
    assert standing() == {TOKEN: ("ada", "replaced"), FID: ("ada", "")}


def test_what_a_sending_retired_comes_back_unless_the_phone_has_a_newer_address(
    alice: Caller,
) -> None:
    register(alice, "ada", token=TOKEN)
    register(alice, "bob", token="other:APA91b")
    now = timezone.now()
    ids = Device.objects.values_list("pk", flat=True)
    devices.retire(ids, reason="unregistered", by="run 1", sent_at=now, now=now)
    register(alice, "ada", fid=FID)
    assert devices.restore("run 1", now=now) == 1
    assert standing() == {
        TOKEN: ("ada", "replaced"), FID: ("ada", ""), "other:APA91b": ("bob", "")
    }  # fmt: skip


@pytest.mark.parametrize("verb", ["log out", "replace", "import"])
def test_a_phone_removed_after_a_sending_retired_it_does_not_come_back_with_the_rest(
    alice: Caller, ours: Project, verb: str
) -> None:
    register(alice, "ada", token="phone:APA91b")
    register(alice, "bob", token="other:APA91b")
    now = timezone.now()
    ids = Device.objects.values_list("pk", flat=True)
    devices.retire(ids, reason="unregistered", by="run 1", sent_at=now, now=now)
    if verb == "log out":
        assert alice.delete("devices/phone:APA91b").status_code == 204
    elif verb == "replace":
        assert alice.put("contacts/ada", {"devices": []}).status_code == 200
    else:
        bring_in(ours, "external_id,token,platform\nada,new:APA91b,ios\n", mode="replace")
    assert devices.restore("run 1", now=timezone.now()) == 1
    old = Device.objects.get(address="phone:APA91b")
    assert (old.retired_reason, old.retired_by, old.retired_at) == ("removed", "", now)
    assert standing()["other:APA91b"] == ("bob", "")
