"""A rehearsal goes the way of a campaign, and no phone rings."""

from __future__ import annotations

import pytest
from django.db.models import ProtectedError
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.rehearsals import actions
from campaigns.rehearsals.actions import AlreadyRunning
from campaigns.runs.claiming import claim
from campaigns.runs.ledger import Answer, Window
from campaigns.runs.reasons import Cause
from campaigns.runs.rehearsal import Rehearsal
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.inbox.item import InboxItem
from notifications.people.device import Device
from notifications.people.project import Project
from tests.given.builders import addresses, make_campaign, make_contact, make_people
from tests.given.by_hand import let_leases_lapse
from tests.rehearsals.shared import ask, drive, ends_of, launch, owner_of, rehearse
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


def test_fcm_checks_every_message_and_delivers_none(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(live=3, dead=2))
    rehearsal = rehearse(make_campaign(project))
    run = rehearsal.run
    assert (run.state, run.planned, run.accepted, run.rejected) == ("finished", 5, 3, 2)
    dead = [("rejected", "unregistered")] * 2
    assert sorted(ends_of(rehearsal)) == sorted([("accepted", "")] * 3 + dead)
    assert fcm.witness() == []
    counts = fcm.counts()
    assert (counts["accepted"], counts["validated"]) == (0, 3)
    assert counts["by_answer"] == {"VALIDATED": 3, "UNREGISTERED": 2}


def test_the_same_campaign_launched_afterwards_rings(project: Project, fcm: Fcm) -> None:
    make_people(project, 2)
    campaign = make_campaign(project)
    rehearse(campaign)
    run = launch(campaign)
    assert (run.state, run.accepted, run.kind) == ("finished", 2, "campaign")
    assert len(fcm.witness()) == 2


def test_requests_leave_in_windows_of_waves(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    rehearsal = rehearse(make_campaign(project))
    assert sum(len(one.seqs) for one in Window.objects.filter(run=rehearsal.pk)) == 3
    assert rehearsal.run.waves.count() == 1


def test_whoever_is_out_or_lacks_a_value_is_skipped(project: Project, fcm: Fcm) -> None:
    owner_of(project, "live-1:a", subscribed=False)
    owner_of(project, "live-2:a", attributes={})
    owner_of(project, "live-3:a")
    rehearsal = rehearse(make_campaign(project))
    assert ends_of(rehearsal) == [
        ("skipped", "unsubscribed"), ("skipped", "missing_value"), ("accepted", "")
    ]  # fmt: skip


def test_dead_addresses_stay_unless_their_retirement_was_asked_for(
    project: Project, fcm: Fcm
) -> None:
    make_people(project, addresses(live=3, dead=1))
    campaign = make_campaign(project)
    rehearse(campaign)
    assert not Device.objects.exclude(retired_at=None).exists()

    rehearsal = rehearse(campaign, retires=True)
    retired = Device.objects.exclude(retired_at=None).get()
    assert (retired.retired_reason, retired.retired_by) == (
        "unregistered", rehearsal.run.reference
    )  # fmt: skip
    assert actions.restore_devices(rehearsal, by="user:alice") == 1
    assert not Device.objects.exclude(retired_at=None).exists()


def test_nothing_comes_into_an_inbox(project: Project, fcm: Fcm) -> None:
    make_people(project, 2)
    rehearse(make_campaign(project, inbox=True))
    assert not InboxItem.objects.exists()


def test_what_fcm_said_is_kept_for_nobody(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(dead=2))
    rehearse(make_campaign(project))
    assert not Answer.objects.exists()


def test_a_text_that_fcm_refuses_pauses_it_as_it_would_a_run(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(vague=120))
    rehearsal = rehearse(make_campaign(project))
    run = rehearsal.run
    assert (run.state, run.cause) == ("paused", Cause.REFUSED_MESSAGE)
    assert run.kind == "rehearsal"


def test_a_paused_one_goes_on_as_a_rehearsal(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    rehearsal = ask(make_campaign(project))
    engine.advance(rehearsal.pk, now=timezone.now())
    rehearsal.run.refresh_from_db()
    assert rehearsal.run.state == "rehearsing"
    rehearsal.run.pause(Cause.BY_HAND)
    actions.resume(rehearsal, by="user:alice")
    assert rehearsal.run.state == "rehearsing"
    drive(rehearsal.run)
    assert (rehearsal.run.state, rehearsal.run.accepted) == ("finished", 3)
    assert fcm.witness() == []


def test_a_cancelled_one_closes_the_rest_as_skipped(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    rehearsal = ask(make_campaign(project))
    engine.advance(rehearsal.pk, now=timezone.now())
    rehearsal.run.refresh_from_db()
    actions.cancel(rehearsal, by="user:alice")
    drive(rehearsal.run)
    assert rehearsal.run.finished_at is not None
    assert ends_of(rehearsal) == [("skipped", "cancelled")] * 3


def test_a_lapsed_lease_is_taken_over_with_one_row_each(project: Project, fcm: Fcm) -> None:
    make_people(project, 3)
    rehearsal = ask(make_campaign(project, on_unknown="hold"))
    ring = engine.advance(rehearsal.pk, now=timezone.now())
    assert ring is not None
    # A worker dies with the chunk in its hands.
    granted = claim(rehearsal.pk, 1, ring.epoch, task_id=None)
    assert granted is not None and granted.open_window([1, 2], timezone.now())
    let_leases_lapse()
    drive(rehearsal.run)
    assert ends_of(rehearsal) == [("accepted", "")] * 3
    assert fcm.witness() == []


def test_one_at_a_time_of_a_campaign(project: Project) -> None:
    campaign = make_campaign(project)
    first = ask(campaign)
    with pytest.raises(AlreadyRunning) as refused:
        ask(campaign)
    assert refused.value.run.pk == first.pk
    assert Rehearsal.objects.count() == 1


def test_what_is_rehearsed_is_what_was_saved_then(project: Project, fcm: Fcm) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    rehearsal = ask(campaign)
    campaign.template.title = "Another"
    campaign.template.save()
    drive(rehearsal.run)
    assert rehearsal.run.content["title"] == "Hello {{ first_name }}"


def test_a_draft_is_deleted_with_its_rehearsals(project: Project, fcm: Fcm) -> None:
    make_people(project, 2)
    campaign = make_campaign(project)
    rehearse(campaign)
    campaign.delete()
    assert not Run.kept.exists()
    assert not Rehearsal.objects.exists()


def test_one_that_goes_on_keeps_its_campaign(project: Project) -> None:
    campaign = make_campaign(project)
    ask(campaign)
    with pytest.raises(ProtectedError):
        campaign.delete()
    assert Rehearsal.objects.exists()


def test_a_launched_campaign_keeps_its_rehearsals(project: Project, fcm: Fcm) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    rehearse(campaign)
    launch(campaign)
    with pytest.raises(ProtectedError):
        campaign.delete()
    assert Rehearsal.objects.count() == 1


def test_a_project_that_sends_for_real_leaves_a_rehearsal_one_chunk(project: Project) -> None:
    make_people(project, 3_000)
    make_contact(project)
    launched = control.launch(make_campaign(project), by="user:alice", now=timezone.now())
    engine.advance(launched.pk, now=timezone.now())
    rehearsal = ask(make_campaign(project))
    ring = engine.advance(rehearsal.pk, now=timezone.now())
    assert ring is not None and len(ring.chunks) == 1


def test_a_doorbell_of_an_older_epoch_wakes_nobody(project: Project, fcm: Fcm) -> None:
    make_people(project, 1)
    rehearsal = ask(make_campaign(project))
    ring = engine.advance(rehearsal.pk, now=timezone.now())
    assert ring is not None
    rehearsal.run.refresh_from_db()
    rehearsal.run.pause(Cause.BY_HAND)
    assert sending.send(rehearsal.pk, 1, ring.epoch) == {}


def test_nobody_goes_first_in_a_rehearsal(project: Project, fcm: Fcm) -> None:
    make_people(project, addresses(live=30))
    campaign = make_campaign(project, first_percent=10, first_least=1, first_wait_seconds=600)
    done = rehearse(campaign)
    assert done.run.finished_at and done.run.accepted == 30
    assert not done.run.chunks.filter(follows=True).exists()
