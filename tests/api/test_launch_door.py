"""The door that launches: one run for any number of requests, and never a second one in silence."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connections
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_people, make_project, make_template

FUTURE = datetime(2035, 1, 1, tzinfo=UTC)


def test_a_launch_answers_with_the_run_and_rings_it_once_committed(
    alice: Caller, ours: Project, django_capture_on_commit_callbacks: Any
) -> None:
    campaign = make_campaign(ours)
    with django_capture_on_commit_callbacks() as rung:
        answer = alice.post(f"campaigns/{campaign.pk}/launch")
    assert answer.status_code == 202
    run = campaign.runs.get()
    assert len(rung) == 1
    shown = answer.json()
    assert (shown["id"], shown["campaign"], shown["state"]) == (run.pk, campaign.pk, "preparing")
    assert shown["totals"]["planned"] == 0
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action) == (f"key:{alice.row.prefix}", "launched")


def test_a_campaign_for_later_waits_for_its_time(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours, schedule_kind="at", at=FUTURE)
    shown = alice.post(f"campaigns/{campaign.pk}/launch", {}).json()
    assert shown["state"] == "scheduled"
    assert shown["scheduled_at"] == "2035-01-01T00:00:00Z"


def test_a_second_launch_is_refused_and_names_the_run(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    run = alice.post(f"campaigns/{campaign.pk}/launch").json()["id"]
    refused = alice.post(f"campaigns/{campaign.pk}/launch")
    assert refused.status_code == 409
    problem = refused.json()
    assert problem["type"] == "urn:carillon:already-launched"
    assert problem["run"] == run
    assert f"run {run}" in problem["detail"]
    assert problem["run_url"] == f"http://testserver/api/v1/runs/{run}"
    assert alice.client.get(
        problem["run_url"], headers={"Authorization": f"Bearer {alice.key}"}
    ).json()["id"] == run  # fmt: skip
    assert campaign.runs.count() == 1
    assert AuditEntry.objects.count() == 1


def test_a_campaign_that_is_not_ready_says_why_and_leaves_no_run(
    alice: Caller, ours: Project
) -> None:
    broken = make_template(ours)
    type(broken).objects.filter(pk=broken.pk).update(title="{{ first_name")
    late = datetime(2020, 1, 1, tzinfo=UTC)
    campaign = make_campaign(ours, template=broken, schedule_kind="at", at=late)
    refused = alice.post(f"campaigns/{campaign.pk}/launch")
    assert refused.status_code == 422
    assert sorted(fields_at_fault(refused)) == ["schedule.at", "template"]
    assert not Run.objects.exists()
    assert not AuditEntry.objects.exists()


def test_a_launch_takes_no_fields(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    refused = alice.post(f"campaigns/{campaign.pk}/launch", {"dry_run": True})
    assert fields_at_fault(refused) == ["dry_run"]
    assert not Run.objects.exists()


def test_editing_after_the_launch_does_not_reach_the_run(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    run = Run.objects.get(pk=alice.post(f"campaigns/{campaign.pk}/launch").json()["id"])
    texts = {"name": "New", "title": "New", "body": "New"}
    assert alice.put(f"templates/{campaign.template_id}", texts).status_code == 200
    run.refresh_from_db()
    assert run.content["title"] == "Hello {{ first_name }}"


@pytest.mark.django_db(transaction=True)
def test_fifty_launches_at_once_make_one_run(settings: LazySettings) -> None:
    # On real connections, each with its own transaction; no doorbell, nobody needs to answer it.
    settings.BROKER_URL = "memory://"
    project = make_project()
    make_people(project, 3)
    campaign, alice = make_campaign(project), Caller(project)

    def launch(_: int) -> int:
        try:
            return alice.post(f"campaigns/{campaign.pk}/launch").status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(25) as threads:
        answers = list(threads.map(launch, range(50)))
    assert sorted(answers) == [202] + [409] * 49
    run = campaign.runs.get()
    assert AuditEntry.objects.filter(action="launched").count() == 1
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()
    assert run.planned == 3
