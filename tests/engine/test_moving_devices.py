"""Devices that change hands while an audience is frozen: each is in it once, with its owner."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from campaigns.engine import engine, freezing
from campaigns.runs.claiming import Claim
from campaigns.runs.ledger import Delivery, Recipient, Window
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending import worker_database as rows
from campaigns.sending.unsettled import UnsettledRecipient
from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_contact, make_people, make_run
from tests.given.by_hand import work
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def four_devices_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 4)


@pytest.fixture
def devices(project: Project) -> list[Device]:
    return make_people(project, 8)


def register(device: Device, owner: str) -> None:
    """As the app does when somebody else logs in."""
    body = {"contact": owner, "token": device.address, "platform": device.platform}
    assert Caller(device.project).post("devices", body).status_code == 200


def freeze(run: Run) -> dict[int, int]:
    """Whom each device is in the run with."""
    while run.freezing:
        engine.advance(run.pk, now=timezone.now())
        run.refresh_from_db()
    rows = list(Recipient.objects.filter(run_id=run.pk).values_list("device_id", "contact_id"))
    assert len(rows) == len(dict(rows)) == run.planned, "a device is in twice"
    return dict(rows)


def test_a_device_whose_new_owner_was_frozen_before_is_in(devices: list[Device]) -> None:
    run = make_run(devices[0].project)
    register(devices[-1], devices[0].contact.external_id)

    frozen = freeze(run)

    assert frozen[devices[-1].pk] == devices[0].contact_id
    assert (run.planned, run.people) == (8, 7)


def test_a_device_whose_new_owner_is_frozen_later_is_in_once(
    devices: list[Device], fcm: Fcm
) -> None:
    run = make_run(devices[0].project)
    register(devices[0], devices[-1].contact.external_id)

    assert freeze(run)[devices[0].pk] == devices[0].contact_id
    assert run.people == 8

    run = work(run)
    assert (run.accepted, run.skipped) == (7, 1)
    assert devices[0].address not in {record["address"] for record in fcm.witness()}


def test_devices_that_change_places_are_in_once_each(devices: list[Device]) -> None:
    run = make_run(devices[0].project)
    first, last = devices[0].contact.external_id, devices[-1].contact.external_id
    register(devices[0], last)
    register(devices[-1], first)

    frozen = freeze(run)

    assert set(frozen) == {device.pk for device in devices}
    assert frozen[devices[-1].pk] == devices[0].contact_id
    assert (run.planned, run.people) == (8, 7)


def test_a_device_that_moves_back_and_forth_is_in_once(devices: list[Device]) -> None:
    run = make_run(devices[0].project)
    for owner in (devices[0], devices[5], devices[1]):
        register(devices[-1], owner.contact.external_id)
    assert freeze(run)[devices[-1].pk] == devices[1].contact_id


def test_a_device_is_judged_with_its_owner_when_its_part_is_frozen(devices: list[Device]) -> None:
    project = devices[0].project
    guest = make_contact(project, attributes={"plan": "none"})
    rules = {"not": {"field": "attributes.plan", "op": "eq", "value": "none"}}
    run = make_run(project, audience=make_audience(project, rules=rules))
    register(devices[-1], guest.external_id)
    assert set(freeze(run)) == {device.pk for device in devices[:-1]}


def test_a_person_erased_and_registered_again_during_freezing_is_in_once(
    devices: list[Device], fcm: Fcm
) -> None:
    project, phone = devices[0].project, devices[0]
    run = make_run(project)
    caller = Caller(project)
    assert caller.delete(f"contacts/{phone.contact.external_id}").status_code == 204
    again = {"devices": [{"token": phone.address, "platform": phone.platform}]}
    assert caller.put(f"contacts/{phone.contact.external_id}", again).status_code == 201

    freeze(run)

    run = work(run)
    assert (run.planned, run.accepted, run.skipped) == (8, 7, 1)


def change_hands(device: Device) -> None:
    register(device, "somebody-else")


def erase(device: Device) -> None:
    assert (
        Caller(device.project).delete(f"contacts/{device.contact.external_id}").status_code == 204
    )


def unregister(device: Device) -> None:
    assert Caller(device.project).delete(f"devices/{device.address}").status_code == 204


@pytest.mark.parametrize("leave", [change_hands, erase, unregister])
@pytest.mark.parametrize("left", [1, 4])
def test_a_device_that_leaves_after_its_chunk_was_claimed_gets_no_message(
    monkeypatch: pytest.MonkeyPatch,
    devices: list[Device],
    fcm: Fcm,
    leave: Callable[[Device], None],
    left: int,
) -> None:
    make_contact(devices[0].project, external_id="somebody-else")
    run = make_run(devices[0].project)
    freeze(run)
    choose_recipients = rows.choose_recipients

    def claimed_before(claim: Claim) -> list[UnsettledRecipient]:
        everybody = choose_recipients(claim)
        for device in devices[:left]:
            leave(device)
        return everybody

    monkeypatch.setattr(rows, "choose_recipients", claimed_before)
    sending.send(run.pk, 1, run.epoch)

    gone = Delivery.objects.filter(run_id=run.pk, status="skipped", reason="device_gone")
    assert sorted(gone.values_list("device_id", flat=True)) == [d.pk for d in devices[:left]]
    assert {record["address"] for record in fcm.witness()} == {d.address for d in devices[left:4]}
    window = Window.objects.get()
    assert (len(window.seqs), window.settled_at is None) == (4 - left, False)
