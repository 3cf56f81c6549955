"""Whose word a device receives by is kept, and shown."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.given.importing import bring_in
from tests.roles.people import logged_in

PHONE = {"token": "phone-1", "platform": "android"}
FILE = "external_id,token,platform\nada,phone-1,android\n"


@pytest.fixture(autouse=True)
def ada(ours: Project) -> None:
    make_contact(ours, external_id="ada")


def say(caller: Caller, source: str) -> None:
    if source == "import":
        bring_in(caller.project, FILE)
        return
    if source == "app":
        reply = caller.post("devices", {"contact": "ada", **PHONE})
    elif source == "put":
        reply = caller.put("contacts/ada", {"devices": [PHONE]})
    else:
        many = {"contacts": [{"external_id": "ada", "devices": [PHONE]}]}
        reply = caller.post("contacts/bulk", many)
    assert reply.status_code == 200, reply.json()


def kept() -> str:
    return Device.objects.get().registered_from


@pytest.mark.parametrize(
    "source, word", [("app", "app"), ("put", "api"), ("bulk", "api"), ("import", "import")]
)
def test_a_new_device_keeps_who_registered_it(alice: Caller, source: str, word: str) -> None:
    say(alice, source)
    assert kept() == word


@pytest.mark.parametrize("first", ["app", "bulk", "import"])
@pytest.mark.parametrize("then", ["app", "put", "bulk", "import"])
def test_a_device_registered_again_keeps_its_source_unless_the_app_says_it(
    alice: Caller, first: str, then: str
) -> None:
    say(alice, first)
    before = kept()
    say(alice, then)
    assert kept() == ("app" if then == "app" else before)


def test_a_retired_device_has_the_source_that_brought_it_back(alice: Caller) -> None:
    say(alice, "app")
    alice.delete("devices/phone-1")
    say(alice, "bulk")
    assert kept() == "api"


def test_a_device_without_a_source_gets_one_when_the_app_registers_it(
    alice: Caller, ours: Project
) -> None:
    make_device(ours.contact_set.get(), "phone-1")
    say(alice, "bulk")
    assert kept() == ""
    say(alice, "app")
    assert kept() == "app"


def test_the_source_is_read_in_the_api_the_export_and_on_the_pages(
    alice: Caller, ours: Project
) -> None:
    say(alice, "import")
    (shown,) = alice.get("contacts/ada").json()["devices"]
    reply = alice.get("export?contact=ada")
    (exported,) = json.loads(b"".join(cast(Any, reply).streaming_content))["devices"]
    assert shown["registered_from"] == exported["registered_from"] == "import"
    assert alice.put("contacts/ada", {"devices": [shown]}).status_code == 200
    device = Device.objects.get()
    desk = Desk(logged_in(Role.VIEWER))
    assert "(Import)" in desk.open("notifications_contact_change", device.contact_id)
    assert "(Import)" in desk.open("notifications_device_change", device.pk)


def test_a_device_made_by_hand_says_so(ours: Project) -> None:
    values = {"kind": "token", "address": "phone-1", "platform": "ios", "person": "ada"}
    Desk(logged_in(Role.EDITOR)).save("notifications_device_add", **values)
    assert kept() == "page"
