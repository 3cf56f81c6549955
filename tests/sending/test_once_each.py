"""A campaign to those who have not had it: nobody gets it twice, whatever is killed on the way."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine, forgetting, freezing
from campaigns.planning.campaign import Campaign
from campaigns.runs import prior_recipients
from campaigns.runs.ledger import Delivery
from campaigns.runs.prior_recipients import IndexedRun, PriorRecipient, unknown_until
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.erased_people import forget_people
from notifications.people.project import Project
from notifications.people.retention import Retention
from tests.api.caller import Caller
from tests.given.again import advance, chosen, person, send, series, start
from tests.given.builders import make_audience, make_device
from tests.given.by_hand import work
from tests.rehearsals.shared import rehearse
from tests.servers.fcm import Fcm

pytestmark = pytest.mark.django_db


def became(run: Run, *, status: str, reason: str) -> None:
    """As if that had become of everybody in it."""
    Delivery.objects.filter(run_id=run.pk).update(status=status, reason=reason)
    count = {"accepted": 0, "rejected": 0, "unknown": 0, status: run.planned}
    Run.objects.filter(pk=run.pk).update(**count)
    run.chunks.update(**count, reasons={reason: run.planned})
    run.refresh_from_db()


def test_each_run_goes_to_whoever_came_since_and_to_nobody_twice(
    project: Project, fcm: Fcm
) -> None:
    ada = person(project)
    campaign = series(project)
    assert chosen(send(campaign)) == [ada.pk]
    bob = person(project)
    assert chosen(send(campaign)) == [bob.pk]
    assert chosen(send(campaign)) == []
    assert len(fcm.witness()) == 2
    assert sorted(PriorRecipient.objects.values_list("contact_id", flat=True)) == [ada.pk, bob.pk]


def test_a_campaign_that_does_not_ask_for_it_remembers_nobody(project: Project, fcm: Fcm) -> None:
    person(project)
    campaign = series(project, once_each=False)
    runs = [send(campaign), send(campaign)]
    assert [one.planned for one in runs] == [1, 1]
    assert not PriorRecipient.objects.exists()
    assert not IndexedRun.objects.exists()


def test_a_persons_devices_count_as_one(project: Project, fcm: Fcm) -> None:
    ada = person(project, "", "dead-1:APA91b")
    campaign = series(project)
    assert send(campaign).planned == 2, "all of them ring in one run"
    make_device(ada)
    assert chosen(send(campaign)) == []
    assert PriorRecipient.objects.count() == 1


def test_whom_fcm_refused_or_who_was_skipped_has_not_had_it(project: Project, fcm: Fcm) -> None:
    person(project, "malformed-1:APA91b")
    quiet = person(project, subscribed=False)
    campaign = series(project)
    first = send(campaign)
    assert (first.rejected, first.skipped) == (1, 1)
    Contact.objects.filter(pk=quiet.pk).update(subscribed=True)
    assert chosen(send(campaign)) == [quiet.pk]


def test_who_may_have_got_it_has_had_it(project: Project, fcm: Fcm) -> None:
    person(project, "lost-1:APA91b")
    campaign = series(project, on_unknown="hold")
    assert send(campaign).unknown == 1
    assert chosen(send(campaign)) == []


def test_switched_on_later_it_knows_earlier_runs_by_the_recipients_that_are_there(
    project: Project, fcm: Fcm
) -> None:
    person(project)
    campaign = series(project, once_each=False)
    gone, there = send(campaign), send(campaign)
    bob = person(project)
    began = gone.started_at
    control.stop(campaign, by="user:alice")
    Run.objects.filter(campaign=campaign, state="cancelled").update(series_stopped_at=began)
    forgetting.forget(gone, by="user:alice", now=timezone.now())
    Campaign.objects.update(once_each=True)
    campaign.refresh_from_db()
    control.launch(campaign, by="user:alice", now=timezone.now())
    assert unknown_until(campaign.pk) == began
    assert chosen(send(campaign)) == [bob.pk]
    assert {row.run_id for row in PriorRecipient.objects.all()} > {there.pk}


def test_removing_the_recipients_of_a_run_keeps_who_had_it(project: Project, fcm: Fcm) -> None:
    person(project)
    campaign = series(project)
    run = work(advance(start(campaign)))
    PriorRecipient.objects.all().delete()
    IndexedRun.objects.all().delete()
    send(campaign)
    PriorRecipient.objects.all().delete()
    IndexedRun.objects.all().delete()
    forgetting.forget(run, by="user:alice", now=timezone.now())
    assert [row.run_id for row in PriorRecipient.objects.all()] == [run.pk]
    assert unknown_until(campaign.pk) is None
    assert chosen(send(campaign)) == []


def test_the_memory_goes_with_the_recipients_once_the_campaign_asks_for_it_no_more(
    project: Project, fcm: Fcm
) -> None:
    person(project)
    campaign = series(project)
    run = send(campaign)
    control.stop(campaign, by="user:alice")
    tasks.tidy()
    Campaign.objects.update(once_each=False)
    tasks.tidy()
    assert PriorRecipient.objects.count() == 1
    Retention.objects.update_or_create(project=project, kind="ledger", defaults={"days": 1})
    Run.objects.filter(pk=run.pk).update(finished_at=timezone.now() - timedelta(days=3))
    advance(run)
    tasks.tidy()
    assert not PriorRecipient.objects.exists()
    assert not IndexedRun.objects.exists()


def test_who_is_erased_is_forgotten_and_an_export_tells_of_it(project: Project, fcm: Fcm) -> None:
    ada = person(project, external_id="ada")
    campaign = series(project)
    run = send(campaign)
    alice = Caller(project)
    told = json.loads(alice.get("export?contact=ada").getvalue())
    assert told["had"] == [{"campaign": campaign.pk, "run": run.pk}]
    forget_people([ada.pk])
    ada.delete()
    assert not PriorRecipient.objects.exists()
    assert chosen(send(campaign)) == []
    assert not PriorRecipient.objects.exists()


# --- Killed, twice, at once -----------------------------------------------------------------------


def test_reading_a_run_goes_on_where_a_killed_worker_left_it(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = [person(project) for _ in range(5)]
    monkeypatch.setattr(prior_recipients, "RECIPIENTS_AT_ONCE", 2)
    campaign = series(project)
    run = work(advance(start(campaign)))
    PriorRecipient.objects.all().delete()
    IndexedRun.objects.all().delete()
    prior_recipients.index_next(run.pk)
    assert (PriorRecipient.objects.count(), IndexedRun.objects.get().through) == (2, 2)
    with pytest.raises(RuntimeError), transaction.atomic():
        prior_recipients.index_next(run.pk)
        raise RuntimeError("killed")
    assert IndexedRun.objects.get().through == 2
    following = start(campaign)
    engine.advance(following.pk, now=timezone.now())
    following.refresh_from_db()
    assert following.planned is None, "nobody is chosen while somebody may be missing"
    assert chosen(advance(following, times=3)) == []
    assert PriorRecipient.objects.count() == len(people)


def test_a_run_that_is_sent_again_is_read_again(project: Project, fcm: Fcm) -> None:
    ada = person(project)
    campaign = series(project)
    run = send(campaign)
    PriorRecipient.objects.all().delete()
    became(run, status="rejected", reason="unreachable")
    assert control.send_again(run, by="user:alice") == 1
    following = advance(start(campaign))
    assert chosen(following) == [], "who still waits in another run is not chosen"
    advance(work(run))
    assert [row.contact_id for row in PriorRecipient.objects.all()] == [ada.pk]


def test_who_was_refused_is_not_sent_to_again_once_a_later_run_has_them(
    project: Project, fcm: Fcm
) -> None:
    ada = person(project)
    campaign = series(project)
    run = send(campaign)
    PriorRecipient.objects.all().delete()
    became(run, status="rejected", reason="unreachable")
    following = advance(start(campaign))
    assert chosen(following) == [ada.pk]
    assert control.send_again(run, by="user:alice") == 0
    work(following)
    assert len(fcm.witness()) == 2, "once by the run whose answer was changed, and once more"


def test_of_two_runs_at_once_one_has_each_person(project: Project, fcm: Fcm) -> None:
    for _ in range(3):
        person(project)
    campaign = series(project)
    first = advance(start(campaign))
    control.stop(campaign, by="user:alice")
    campaign.refresh_from_db()
    Campaign.objects.filter(pk=campaign.pk).update(schedule_kind="now", at=None, repeat="")
    campaign.refresh_from_db()
    bob = person(project)
    second = advance(control.launch(campaign, by="user:alice", now=timezone.now()))
    assert (first.state, chosen(second)) == ("sending", [bob.pk])
    work(first), work(second)
    assert len(fcm.witness()) == 4


def test_a_run_waits_for_one_that_still_chooses_its_people(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 1)
    people = [person(project) for _ in range(3)]
    campaign = series(project)
    first = start(campaign)
    engine.advance(first.pk, now=timezone.now())
    control.stop(campaign, by="user:alice")
    Campaign.objects.filter(pk=campaign.pk).update(schedule_kind="now", at=None, repeat="")
    campaign.refresh_from_db()
    second = control.launch(campaign, by="user:alice", now=timezone.now())
    assert advance(second).planned is None
    advance(first, times=4)
    assert chosen(first) == sorted(one.pk for one in people)
    assert chosen(advance(second)) == []


# --- Who else is left out, and who is not ---------------------------------------------------------


def test_a_rehearsal_leaves_them_out_too(project: Project, fcm: Fcm) -> None:
    person(project)
    campaign = series(project)
    send(campaign)
    person(project)
    assert rehearse(campaign).run.planned == 1


def test_at_most_so_many_people_are_the_same_ones_each_time(project: Project, fcm: Fcm) -> None:
    for _ in range(3):
        person(project)
    rules = {"all": [{"field": "people", "op": "lte", "value": {"most": 2}}]}
    campaign = series(project, audience=make_audience(project, rules=rules))
    assert [send(campaign).planned, send(campaign).planned] == [2, 0]


def test_a_run_whose_people_were_not_remembered_is_read_by_the_next_sweep(
    project: Project, fcm: Fcm
) -> None:
    person(project)
    campaign = series(project)
    run = send(campaign)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM campaigns_had; DELETE FROM campaigns_remembered")
    assert run.pk in engine.sweep(timezone.now())
    advance(run)
    assert PriorRecipient.objects.count() == 1
