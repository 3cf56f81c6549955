"""Why people were not accepted: what the run's page says of it is true."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Delivery
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_people, make_run
from tests.given.runs import settle

pytestmark = pytest.mark.django_db


def test_the_page_says_retired_only_of_devices_that_were(desk: Desk, project: Project) -> None:
    (device, *_others) = make_people(project, 5)
    run = make_run(project)
    settle(run, accepted=3, rejected=2)
    device.retired_at, device.retired_reason = timezone.now(), "unregistered"
    device.retired_by = run.reference
    device.save()

    text = desk.open("campaigns_run_change", run.pk)

    assert "FCM called 2 addresses dead. Devices retired for it: 1." in text
    assert "The others are kept" not in text  # while it goes on, they may be retired yet

    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    assert "The others are kept" in desk.open("campaigns_run_change", run.pk)


def test_devices_that_were_taken_back_are_not_said_to_be_kept(desk: Desk, project: Project) -> None:
    devices = make_people(project, 5)[:2]
    run = make_run(project)
    settle(run, accepted=3, rejected=2)
    for device in devices:
        device.retired_at, device.retired_reason = timezone.now(), "unregistered"
        device.retired_by = run.reference
        device.save()
    run.chunks.update(state=Chunk.State.CLOSED)
    engine.advance(run.pk, now=timezone.now())
    desk.confirm("campaigns_run_restore_devices", run.pk)

    text = desk.open("campaigns_run_change", run.pk)

    assert "FCM called 2 addresses dead. Devices retired for it: 0. Taken back: 2." in text
    assert "The others are kept" not in text


def test_while_it_goes_on_the_skipped_are_a_share_of_all(desk: Desk, project: Project) -> None:
    make_people(project, 10)
    run = make_run(project)
    settle(run, accepted=1, skipped=2)
    assert "2 20 %" in desk.open("campaigns_run_change", run.pk)


def test_a_code_of_the_next_release_stands_as_it_is(desk: Desk, project: Project) -> None:
    """During an upgrade its workers write beside our pages."""
    make_people(project, 9)
    run = make_run(project)
    settle(run, accepted=3, rejected=2)
    run.chunks.update(reasons={"swallowed_by_a_whale": 2})
    Delivery.objects.filter(run_id=run.pk, status="rejected").update(reason="swallowed_by_a_whale")
    Run.objects.filter(pk=run.pk).update(state="paused", cause="whale")

    assert "swallowed_by_a_whale 2" in desk.open("campaigns_run_change", run.pk)
    assert desk.client.get(reverse("admin:run_deliveries", args=[run.pk])).status_code == 200


def test_a_recipient_with_an_unknown_outcome_is_not_called_accepted(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project)
    settle(run, accepted=1)
    assert "Everyone so far was accepted." in desk.open("campaigns_run_change", run.pk)

    settle_more(run, seq=2, status="unknown", reason="server_error")
    text = desk.open("campaigns_run_change", run.pk)
    assert "Nobody was rejected or skipped; unknown outcomes are listed separately." in text
    assert "no answer tells whether it arrived" in text
    assert "was accepted." not in text and "no answer came back" not in text


def test_recipients_a_person_sent_again_to_were_not_left_alone(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    run = make_run(project, on_unknown="hold")
    settle(run, accepted=1, unknown=1)
    page = desk.open("campaigns_run_change", run.pk)
    assert "never sends twice, so they were left alone" in page
    assert "Who was sent to again" not in page

    run.chunks.update(released=1)
    page = desk.open("campaigns_run_change", run.pk)
    assert "Somebody sent again to 1 recipient; these are unknown now." in page
    assert "never sends twice" not in page.partition("What was frozen")[0]


def test_a_cancelled_run_tells_nobody_to_send_again(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    run = make_run(project)
    settle(run, unknown=1)
    assert "Sending again may show it twice." in desk.open("campaigns_run_change", run.pk)
    run.cancel()
    page = desk.open("campaigns_run_change", run.pk)
    assert "The run was cancelled, so they are left alone." in page
    assert "Sending again" not in page and "sends again" not in page


def test_resuming_at_many_dead_addresses_says_that_the_list_is_old(
    desk: Desk, project: Project
) -> None:
    (device, *_others) = make_people(project, 3)
    run = make_run(project)
    run.pause(Cause.BY_HAND)
    old = "Resume if the list is old: dead devices are retired from then on."
    assert old not in desk.open("campaigns_run_resume", run.pk)

    run.resume()
    run.pause(Cause.DEAD_ADDRESSES)
    asked = desk.open("campaigns_run_resume", run.pk)
    assert "Sending resumes for the recipients still waiting." in asked and old in asked
    assert "can be taken back" not in desk.open("campaigns_run_change", run.pk)

    device.retired_at, device.retired_reason = timezone.now(), "unregistered"
    device.retired_by = run.reference
    device.save()
    assert "Devices this run has already retired can be taken back." in desk.open("index")
    desk.confirm("campaigns_run_restore_devices", run.pk)
    assert "can be taken back" not in desk.open("campaigns_run_change", run.pk)


def settle_more(run: Run, *, seq: int, status: str, reason: str) -> None:
    Delivery.objects.create(
        run_id=run.pk, seq=seq, device_id=1, status=status, reason=reason,
        attempt=1, at=timezone.now(),
    )  # fmt: skip
    run.chunks.update(**{status: 1, "reasons": {reason: 1}})
