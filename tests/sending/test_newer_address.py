"""One installation is one device: a message that waited goes to the address its app has by now."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.claiming import Claim, Opened
from campaigns.runs.ledger import Delivery, Recipient, Retry
from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device, make_run
from tests.given.importing import bring_in
from tests.servers.fcm import Fcm

HELLO = {"title": "Hello", "body": "x"}
FID = "cdefGHIJklmn0123456_-A"
ONE, TWO, THREE = (f"{FID}:APA91b-{name}" for name in ("one", "two", "three"))
AN_HOUR = timedelta(hours=1)


@pytest.fixture
def call(project: Project, fcm: Fcm) -> Caller:
    """Ada and Bob live where it is night."""
    now = timezone.now()
    begin, end = (
        (now + hours * AN_HOUR).time().replace(second=0, microsecond=0) for hours in (-3, 3)
    )
    Project.objects.filter(pk=project.pk).update(quiet_from=begin, quiet_until=end)
    project.refresh_from_db()
    for name in ("ada", "bob"):
        make_contact(project, external_id=name, timezone="Etc/UTC")
    return Caller(project)


def by_app(call: Caller, address: str, contact: str = "ada") -> None:
    kind = "token" if ":" in address else "fid"
    body = {"contact": contact, kind: address, "platform": "android"}
    assert call.post("devices", body).status_code == 200


def by_backend(call: Caller, address: str) -> None:
    devices = [{"token": address, "platform": "android"}]
    assert call.put("contacts/ada", {"devices": devices}).status_code == 200


def by_file(call: Caller, address: str) -> None:
    bring_in(call.project, f"external_id,token,platform\nada,{address},android\n")


def morning_comes(run: Run) -> None:
    Retry.objects.filter(run_id=run.pk).update(not_before=timezone.now() - AN_HOUR)
    Chunk.objects.filter(run_id=run.pk).update(not_before=None)
    Project.objects.filter(pk=run.project_id).update(quiet_from=None, quiet_until=None)


def send(run: Run) -> None:
    for _ in range(2):
        engine.advance(run.pk, now=timezone.now())
        for chunk in run.chunks.filter(state="queued"):
            sending.send(run.pk, chunk.number, run.epoch)
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()


def addressed(fcm: Fcm) -> list[str]:
    return [push["address"] for push in fcm.witness()]


def post(call: Caller, **to: str) -> str:
    sent = call.post("messages", {"to": to, "content": HELLO})
    assert sent.status_code == 202
    return str(sent.json()["id"])


def outcomes(call: Caller, message: str) -> list[tuple[str, str, str]]:
    devices = call.get(f"messages/{message}").json()["devices"]
    return [(one["device"], one["status"], one["reason"]) for one in devices]


@pytest.mark.parametrize(
    ("first", "then", "address"),
    [
        (by_app, by_app, TWO),
        (by_app, by_app, FID),
        (by_backend, by_backend, TWO),
        (by_file, by_file, TWO),
        (by_file, by_app, TWO),
    ],
)
def test_a_message_to_who_sleeps_goes_to_the_token_the_app_registered_meanwhile(
    call: Caller, fcm: Fcm, first: Any, then: Any, address: str
) -> None:
    first(call, ONE)
    message = post(call, contact="ada")
    tasks.send_messages()
    assert outcomes(call, message) == [(ONE, "waiting", "quiet_hours")]

    then(call, address)
    morning_comes(Run.every.get())
    tasks.send_messages()

    assert outcomes(call, message) == [(address, "accepted", "")]
    assert addressed(fcm) == [address]


def test_a_campaign_reaches_who_slept_at_the_newest_of_their_tokens(call: Caller, fcm: Fcm) -> None:
    by_app(call, ONE)
    frozen = Device.objects.get()
    run = make_run(call.project)
    send(run)
    assert (run.state, addressed(fcm)) == ("sending", [])

    for address in (TWO, THREE):
        by_app(call, address)
    morning_comes(run)
    send(run)

    assert (run.state, run.planned, run.accepted) == ("finished", 1, 1)
    assert addressed(fcm) == [THREE]
    assert Recipient.objects.get(run_id=run.pk).device_id == frozen.pk, "the snapshot is a fact"
    assert Delivery.objects.get(run_id=run.pk).device_id == Device.objects.get(address=THREE).pk
    (row,) = call.get(f"runs/{run.pk}/deliveries").json()["results"]
    assert row["status"] == "accepted"
    (sent,) = call.get("deliveries?contact=ada").json()["results"]
    assert (sent["status"], sent["platform"]) == ("accepted", "android")


def test_a_token_that_fcm_called_dead_overnight_is_followed_by_the_next_one(
    call: Caller, fcm: Fcm
) -> None:
    by_app(call, ONE)
    run = make_run(call.project)
    send(run)
    Device.objects.update(retired_at=timezone.now(), retired_reason="unregistered")
    by_app(call, TWO)
    morning_comes(run)
    send(run)
    assert (run.state, run.accepted, addressed(fcm)) == ("finished", 1, [TWO])


@pytest.fixture
def before_window(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Something is done once, when the chunk is read and rendered, before its window opens."""

    def at(deed: Callable[[], object]) -> None:
        open_window, deeds = Claim.open_window, [deed]

        def after_the_deed(claim: Claim, *args: Any) -> Opened | None:
            if deeds:
                deeds.pop()()
            return open_window(claim, *args)

        monkeypatch.setattr(Claim, "open_window", after_the_deed)

    return at


@pytest.mark.parametrize("capped", [False, True])
def test_a_token_that_changes_between_the_reading_and_the_window_loses_no_campaign(
    call: Caller, fcm: Fcm, before_window: Any, capped: bool
) -> None:
    caps = {"cap_per_day": 1} if capped else {}
    Project.objects.update(quiet_from=None, quiet_until=None, **caps)
    by_app(call, ONE)
    by_app(call, "live-bob", "bob")
    run = make_run(call.project)
    before_window(lambda: by_app(call, TWO))

    send(run)

    assert (run.state, run.accepted) == ("finished", 2)
    assert sorted(addressed(fcm)) == sorted([TWO, "live-bob"])


def test_a_token_that_changes_between_the_reading_and_the_window_loses_no_message(
    call: Caller, fcm: Fcm, before_window: Any
) -> None:
    Project.objects.update(quiet_from=None, quiet_until=None)
    by_app(call, ONE)
    message = post(call, contact="ada")
    before_window(lambda: by_app(call, TWO))

    tasks.send_messages()

    assert outcomes(call, message) == [(TWO, "accepted", "")]
    assert addressed(fcm) == [TWO]


def test_a_message_to_one_device_later_on_goes_to_the_token_it_has_by_then(
    call: Caller, fcm: Fcm
) -> None:
    Project.objects.update(quiet_from=None, quiet_until=None)
    by_app(call, ONE)
    by_app(call, "another-phone-of-hers")
    at = (timezone.now() + AN_HOUR).isoformat()
    sent = call.post("messages", {"to": {"device": ONE}, "content": HELLO, "at": at})
    by_app(call, TWO)
    Message.objects.update(at=timezone.now())

    tasks.send_messages()

    assert outcomes(call, sent.json()["id"]) == [(TWO, "accepted", "")]
    assert addressed(fcm) == [TWO]


@pytest.mark.parametrize("kind", ["campaign", "message"])
def test_a_phone_that_somebody_else_uses_by_now_does_not_show_what_was_for_its_first_owner(
    call: Caller, fcm: Fcm, kind: str
) -> None:
    by_app(call, ONE)
    if kind == "campaign":
        run = make_run(call.project)
        send(run)
    else:
        post(call, contact="ada")
        tasks.send_messages()
        run = Run.every.get()
    by_app(call, TWO, "bob")
    morning_comes(run)
    if kind == "campaign":
        send(run)
    else:
        tasks.send_messages()
    ended = Delivery.objects.get(run_id=run.pk)
    assert (ended.status, ended.reason) == ("skipped", "device_gone")
    assert addressed(fcm) == []


def test_an_installation_that_was_chosen_by_two_addresses_is_not_rung_twice(
    call: Caller, fcm: Fcm
) -> None:
    """The choosing takes a while, and the token may change meanwhile."""
    Project.objects.update(quiet_from=None, quiet_until=None)
    by_app(call, ONE)
    make_device(Device.objects.get().contact, TWO)
    run = make_run(call.project)
    assert run.planned == 2
    by_app(call, TWO)
    send(run)
    rows = Delivery.objects.filter(run_id=run.pk).values_list("status", "reason")
    assert sorted(rows) == [("accepted", ""), ("skipped", "device_gone")]
    assert addressed(fcm) == [TWO]


def test_fcms_late_word_that_the_old_token_is_dead_leaves_the_new_one_alone(
    call: Caller, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The app registers it while the answer is on its way."""
    Project.objects.update(quiet_from=None, quiet_until=None)
    old, new = (f"dead-{'x' * 17}:{name}" for name in ("one", "two"))
    by_app(call, old)
    message = post(call, contact="ada")
    judged = sending.Sending._settle

    def after_it_registered(*args: Any) -> None:
        by_app(call, new)
        judged(*args)

    monkeypatch.setattr(sending.Sending, "_settle", after_it_registered)
    tasks.send_messages()

    assert outcomes(call, message) == [(old, "rejected", "unregistered")]
    reasons = dict(Device.objects.values_list("address", "retired_reason"))
    assert reasons == {old: "replaced", new: ""}
