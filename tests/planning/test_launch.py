"""A launch freezes what was meant, once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.planning.launch import launch
from campaigns.runs.ledger import Delivery, Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.given.at_once import at_once
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
    make_template,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_project()


def test_two_spellings_of_a_language_saved_long_ago_are_launched_as_they_are(
    project: Project,
) -> None:
    twice = {"pt-br": {"title": "Oi"}, "pt-BR": {"title": "Olá"}}
    campaign = make_campaign(project, template=make_template(project, locales=twice))
    run = launch(campaign, by="x", now=timezone.now())
    assert run.content["locales"] == twice


def test_every_device_of_the_audience_becomes_one_numbered_recipient(project: Project) -> None:
    inside = make_contact(project, attributes={"plan": "pro"})
    phones = [make_device(inside), make_device(inside, platform="ios")]
    make_device(inside, retired_at=timezone.now(), retired_reason="unregistered")
    make_device(make_contact(project, attributes={"plan": "free"}))
    make_contact(project, attributes={"plan": "pro"})
    rules = {"field": "attributes.plan", "op": "eq", "value": "pro"}

    run = make_run(project, audience=make_audience(project, rules=rules))

    recipients = Recipient.objects.filter(run_id=run.pk).order_by("seq")
    assert list(recipients.values_list("seq", "device_id")) == [
        (1, phones[0].pk),
        (2, phones[1].pk),
    ]
    assert (run.planned, run.people) == (2, 1)


@pytest.mark.parametrize(("people", "chunks"), [(999, 1), (1000, 1), (1001, 2)])
def test_chunks_hold_a_thousand_and_leave_nobody_out(
    project: Project, people: int, chunks: int
) -> None:
    make_people(project, people)

    run = make_run(project)

    assert run.chunks.count() == chunks
    assert sum(chunk.size for chunk in run.chunks.all()) == people


def test_an_empty_audience_finishes_at_once_with_nobody(project: Project) -> None:
    run = make_run(project)

    run.refresh_from_db()
    assert (run.state, run.planned) == ("finished", 0)


def test_a_second_launch_is_refused_and_names_the_first(project: Project) -> None:
    campaign = make_campaign(project)
    run = control.launch(campaign, by="user:alice", now=timezone.now())

    with pytest.raises(Campaign.AlreadyLaunched, match=f"run {run.pk}"):
        control.launch(campaign, by="user:bob", now=timezone.now())

    assert Run.objects.count() == 1
    assert list(AuditEntry.objects.values_list("actor", "action")) == [("user:alice", "launched")]


def test_a_launch_cancelled_before_anything_left_can_be_launched_again(project: Project) -> None:
    campaign = make_campaign(project, schedule_kind="at", at=timezone.now() + timedelta(hours=1))
    control.cancel(control.launch(campaign, by="user:alice", now=timezone.now()), by="user:alice")

    control.launch(campaign, by="user:alice", now=timezone.now())

    assert Run.objects.filter(campaign=campaign, state="scheduled").count() == 1


def test_edits_after_the_launch_do_not_reach_the_run(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    campaign = run.campaign
    campaign.template.title = "Changed"
    campaign.template.save()
    campaign.audience.rules = {"any": []}
    campaign.audience.save()

    engine.advance(run.pk, now=timezone.now())

    run.refresh_from_db()
    assert run.content["title"] == "Hello {{ first_name }}"
    assert (run.rules, run.planned) == ({"all": []}, 1)


def test_a_campaign_that_is_not_ready_says_which_part_and_launches_nothing(
    project: Project,
) -> None:
    campaign = make_campaign(project, template={"title": "Hello {{ first_name"})

    with pytest.raises(Campaign.NotReady) as refusal:
        control.launch(campaign, by="user:alice", now=timezone.now())

    assert "line 1, column 7" in refusal.value.problems["template"]
    assert not Run.objects.exists()


def test_a_time_that_has_passed_is_refused(project: Project) -> None:
    campaign = make_campaign(project, schedule_kind="at", at=timezone.now() - timedelta(minutes=1))

    with pytest.raises(Campaign.NotReady, match="has passed"):
        control.launch(campaign, by="user:alice", now=timezone.now())


def test_nobody_can_be_in_a_runs_snapshot_or_its_outcomes_twice(project: Project) -> None:
    make_people(project, 2)
    run = make_run(project)
    person = Recipient.objects.get(run_id=run.pk, seq=1)
    row: dict[str, Any] = {"run_id": run.pk, "seq": 1, "device_id": 1, "status": "accepted"}
    row |= {"attempt": 1, "at": timezone.now()}
    Delivery.objects.create(**row)

    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.create(**row)
    with pytest.raises(IntegrityError), transaction.atomic():
        Recipient.objects.create(run_id=run.pk, seq=1, contact_id=person.contact_id, device_id=1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "meanwhile",
    [
        {"schedule_kind": "at", "at": timezone.now() + timedelta(days=9)},
        {"rate_per_second": 7},
        {"name": "Another"},
        {"archived_at": timezone.now()},
    ],
    ids=["its time", "its rate", "its name", "put away"],
)
def test_what_somebody_saves_while_it_is_launched_is_not_launched_unseen(
    project: Project, meanwhile: dict[str, Any]
) -> None:
    campaign = make_campaign(project)
    with pytest.raises(Campaign.NotReady, match="It was changed a moment ago"):
        at_once(
            first=lambda: Campaign.objects.filter(pk=campaign.pk).update(**meanwhile),
            second=lambda: launch(campaign, by="x", now=timezone.now()),
        )
    assert not Run.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_text_saved_while_its_campaign_is_launched_is_not_launched_unseen(
    project: Project,
) -> None:
    campaign = make_campaign(project)

    def save() -> None:
        Campaign.locked(campaign.pk)
        type(campaign.template).objects.filter(pk=campaign.template_id).update(body="Other words")

    seen = Campaign.objects.select_related("template", "audience").get(pk=campaign.pk)
    with pytest.raises(Campaign.NotReady, match="It was changed a moment ago"):
        at_once(first=save, second=lambda: launch(seen, by="x", now=timezone.now()))
    assert not Run.objects.exists()
