"""A chunk goes from claim to hand-back, and every answer of FCM becomes one row."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery, Retry, Window
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending import sending
from campaigns.sending.release_chunk import GATHERING
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.values import exact
from tests.given.builders import make_contact, make_device, make_people, make_run
from tests.given.by_hand import send_everything
from tests.servers.fcm import Fcm


def delivery_of(run: Run, device: Device) -> Delivery:
    return Delivery.objects.get(run_id=run.pk, device_id=device.pk)


def test_an_accepted_push_reaches_its_address_once_with_the_persons_text(
    project: Project, fcm: Fcm
) -> None:
    device = make_device(make_contact(project, attributes={"first_name": "Grace"}))
    run = make_run(project)

    assert send_everything(run) == {"accepted": 1}

    (record,) = fcm.witness()
    assert record["address"] == device.address
    assert record["title"] == "Hello Grace"
    delivery = delivery_of(run, device)
    assert (delivery.status, delivery.reason) == ("accepted", "")
    assert delivery.message_id == record["name"]


def test_a_long_number_reaches_the_phone_as_the_app_sent_it(project: Project, fcm: Fcm) -> None:
    number, share = 12345678901234567890123, exact.Exact("0.1234567890123456789")
    make_device(make_contact(project, attributes={"number": number, "share": share}))
    run = make_run(project, template={"title": "{{ number }} {{ share }}"})

    assert send_everything(run) == {"accepted": 1}

    (record,) = fcm.witness()
    assert record["title"] == "12345678901234567890123 0.1234567890123456789"


@pytest.mark.parametrize(
    ("address", "reason", "retired"),
    [
        ("dead-1:APA91b", "unregistered", True),
        ("malformed-1:APA91b", "malformed_address", True),
        ("foreign-1:APA91b", "other_project", False),
    ],
)
def test_a_refusal_is_final_and_only_evidence_about_the_address_retires_the_device(
    project: Project, fcm: Fcm, address: str, reason: str, retired: bool
) -> None:
    (device,) = make_people(project, [address])
    run = make_run(project)

    send_everything(run)

    delivery = delivery_of(run, device)
    assert (delivery.status, delivery.reason) == ("rejected", reason)
    device.refresh_from_db()
    assert (device.retired_at is not None) is retired
    assert fcm.witness() == []


def test_a_device_registered_again_since_the_request_left_is_not_retired(
    project: Project, fcm: Fcm
) -> None:
    (device,) = make_people(project, ["dead-1:APA91b"])
    run = make_run(project)
    Device.objects.update(registered_at=timezone.now() + timedelta(seconds=5))

    send_everything(run)

    device.refresh_from_db()
    assert device.active
    assert delivery_of(run, device).status == "rejected"


@pytest.mark.parametrize("address", ["flaky-1:APA91b", "throttled-1:APA91b", "broken-1:APA91b"])
def test_a_passing_trouble_is_tried_again_when_due_and_not_before(
    project: Project, fcm: Fcm, address: str
) -> None:
    (device,) = make_people(project, [address])
    run = make_run(project)

    assert send_everything(run) == {}

    retry = Retry.objects.get(run=run)
    assert retry.not_before > timezone.now() + timedelta(seconds=1)
    assert run.chunks.get().state == Chunk.State.WAITING
    assert engine.advance(run.pk, now=timezone.now()) is None, "rung before it was due"

    Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))
    engine.advance(run.pk, now=retry.not_before + GATHERING)
    assert send_everything(run) == {"accepted": 1}

    assert not Retry.objects.exists()
    assert len(fcm.witness()) == 1
    # Of a 503 or 500 nobody knows: it has been said of messages that arrived.
    assert delivery_of(run, device).resent != address.startswith("throttled")


@pytest.mark.parametrize(
    ("address", "outcome"),
    [
        ("broken-1:APA91b", ("unknown", "server_error")),
        ("flaky-1:APA91b", ("unknown", "unavailable")),
        ("devicerate-1:APA91b", ("rejected", "device_throttled")),
        ("unheardof-1:APA91b", ("rejected", "unknown_answer")),
    ],
)
def test_a_trouble_that_does_not_pass_is_given_up_with_its_reason(
    project: Project, fcm: Fcm, address: str, outcome: tuple[str, str]
) -> None:
    (device,) = make_people(project, [address])
    run = make_run(project)
    an_hour_ago = timezone.now() - timedelta(hours=1)
    for _ in range(3):
        send_everything(run)
        Retry.objects.update(first_tried_at=an_hour_ago, not_before=an_hour_ago)
        fcm.reset()  # it has forgotten the request, and answers the same once more
        engine.advance(run.pk, now=timezone.now() + timedelta(minutes=5))

    delivery = delivery_of(run, device)
    assert (delivery.status, delivery.reason) == outcome


def test_a_run_that_never_sends_twice_does_not_try_again_after_a_503(
    project: Project, fcm: Fcm
) -> None:
    (device,) = make_people(project, ["flaky-1:APA91b"])
    run = make_run(project, on_unknown="hold")

    assert send_everything(run) == {"unknown": 1}

    assert delivery_of(run, device).reason == "unavailable"


def test_a_lost_answer_is_sent_again_under_resend_and_marked(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, ["lost-1:APA91b"])
    run = make_run(project, on_unknown="resend")
    send_everything(run)
    Retry.objects.update(not_before=timezone.now() - timedelta(hours=1))
    engine.advance(run.pk, now=timezone.now() + timedelta(minutes=1))

    assert send_everything(run) == {"accepted": 1}

    assert delivery_of(run, device).resent
    assert len(fcm.witness()) == 2, "the witness saw what our row admits"


def test_a_lost_answer_stays_unknown_under_hold_and_is_never_sent_again(
    project: Project, fcm: Fcm
) -> None:
    (device,) = make_people(project, ["lost-1:APA91b"])
    run = make_run(project, on_unknown="hold")

    assert send_everything(run) == {"unknown": 1}

    delivery = delivery_of(run, device)
    assert (delivery.status, delivery.reason) == ("unknown", "unanswered")
    assert len(fcm.witness()) == 1


def test_a_text_that_fails_for_one_person_skips_that_person_alone(
    project: Project, fcm: Fcm
) -> None:
    nameless = make_device(make_contact(project, attributes={"first_name": ""}))
    ada = make_device(make_contact(project))
    run = make_run(project)

    assert send_everything(run) == {"accepted": 1, "skipped": 1}

    delivery = delivery_of(run, nameless)
    assert (delivery.status, delivery.reason) == ("skipped", "missing_value")
    assert "first_name" in delivery.detail
    assert [record["address"] for record in fcm.witness()] == [ada.address]


def test_an_address_that_moved_to_another_person_does_not_get_this_persons_text(
    project: Project, fcm: Fcm
) -> None:
    (device,) = make_people(project, 1)
    run = make_run(project)
    device.contact = make_contact(project)
    device.save()

    assert send_everything(run) == {"skipped": 1}

    assert delivery_of(run, device).reason == "device_gone"
    assert fcm.witness() == []


def test_past_its_deadline_nothing_leaves(project: Project, fcm: Fcm) -> None:
    make_people(project, 2)
    run = make_run(project, ttl_seconds=60)
    Run.objects.update(started_at=timezone.now() - timedelta(seconds=61))

    assert send_everything(run) == {"skipped": 2}

    assert reports.reasons_of(run) == {"expired": 2}
    assert fcm.witness() == []


def test_every_request_lies_in_a_window_and_windows_settle(project: Project, fcm: Fcm) -> None:
    make_people(project, 450)
    run = make_run(project)

    assert send_everything(run) == {"accepted": 450}

    windows = Window.objects.filter(run=run)
    assert sorted(seq for window in windows for seq in window.seqs) == list(range(1, 451))
    assert not windows.filter(settled_at=None).exists()
    assert run.chunks.get().state == Chunk.State.CLOSED
    assert reports.recount(run) == sums.totals_of(run)


def test_a_paused_run_starts_nothing_and_its_people_stay_waiting(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, 3)
    run = make_run(project)
    run.pause(Cause.BY_HAND)

    assert send_everything(run) == {}

    assert sums.totals_of(run).waiting == 3
    assert fcm.counts()["requests"] == 0


def test_a_message_of_an_older_epoch_changes_nothing(project: Project, fcm: Fcm) -> None:
    make_people(project, 1)
    run = make_run(project)
    stale = run.epoch
    run.pause(Cause.BY_HAND)
    run.resume()

    assert sending.send(run.pk, 1, stale) == {}

    assert fcm.counts()["requests"] == 0


def test_without_a_key_the_run_pauses_and_says_what_to_do(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    project.service_account.delete()

    send_everything(run)

    run.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "bad_credentials")
    assert run.detail_code == "quoted"
    assert "set_firebase_credentials" in str(run.detail_args)


def test_a_wrong_project_id_pauses_the_run_and_retires_nobody(project: Project, fcm: Fcm) -> None:
    (device,) = make_people(project, 1)
    run = make_run(project)
    Project.objects.update(firebase_project_id="another-project")

    send_everything(run)

    run.refresh_from_db()
    device.refresh_from_db()
    assert (run.state, run.cause) == ("paused", "unauthorised")
    assert device.active
    assert sums.totals_of(run).waiting == 1


def test_a_chunk_with_people_left_is_due_at_once_whatever_its_retries_wait_for(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, ["flaky-1:APA91b", *[""] * 400])
    run = make_run(project, rate_per_second=100)
    monkeypatch.setattr(sending, "BUDGET_SECONDS", 2.0)  # over before all have left

    send_everything(run)

    chunk = run.chunks.get()
    assert chunk.waiting > 1
    assert Retry.objects.filter(run=run).exists()
    assert (chunk.state, chunk.not_before) == ("waiting", None)
