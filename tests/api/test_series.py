"""A series through the API: one occurrence is cancelled, or all of it is stopped."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller
from tests.given.builders import make_campaign

DAY = timedelta(days=1)


@pytest.fixture
def first() -> datetime:
    return (timezone.now() + DAY).replace(second=0, microsecond=0)


@pytest.fixture
def daily(alice: Caller, ours: Project, first: datetime) -> Campaign:
    campaign = make_campaign(
        ours, name="Daily", schedule_kind="recurring", repeat="daily", at=first
    )
    assert alice.post(f"campaigns/{campaign.pk}/launch").status_code == 202
    return campaign


def states(campaign: Campaign) -> list[tuple[datetime, str]]:
    return list(campaign.runs.order_by("pk").values_list("scheduled_at", "state"))


def test_a_cancelled_run_is_left_out_and_the_next_one_waits(
    alice: Caller, daily: Campaign, first: datetime
) -> None:
    run = daily.runs.get()
    assert alice.post(f"runs/{run.pk}/cancel").json()["state"] == "cancelled"
    assert states(daily) == [(first, "cancelled"), (first + DAY, "scheduled")]
    engine.sweep(first)
    engine.sweep(first)
    assert states(daily) == [(first, "cancelled"), (first + DAY, "scheduled")]

    refused = alice.post(f"campaigns/{daily.pk}/launch")
    assert (refused.status_code, refused.json()["run"]) == (409, daily.runs.latest("pk").pk)
    put = {"name": "Daily", "audience": daily.audience_id, "template": daily.template_id}
    moved = alice.put(f"campaigns/{daily.pk}", put)
    assert moved.status_code == 400 and "Stop it first" in moved.json()["errors"][0]["message"]


def test_a_stop_answers_with_the_last_run_and_none_follows(
    alice: Caller, daily: Campaign, first: datetime
) -> None:
    answer = alice.post(f"campaigns/{daily.pk}/stop")
    assert answer.status_code == 200
    shown = answer.json()
    assert (shown["id"], shown["state"]) == (daily.runs.get().pk, "cancelled")
    engine.sweep(first + DAY)
    assert states(daily) == [(first, "cancelled")]
    by = f"key:{alice.row.prefix}"
    entry = AuditEntry.objects.get(action="stopped the series of")
    assert (entry.actor, entry.about) == (by, "campaign Daily")


def test_a_stopped_series_is_not_stopped_again_but_launched_again(
    alice: Caller, daily: Campaign, first: datetime
) -> None:
    alice.post(f"campaigns/{daily.pk}/stop")
    before = AuditEntry.objects.count()
    refused = alice.post(f"campaigns/{daily.pk}/stop")
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:invalid-move")
    assert "nothing repeats" in refused.json()["detail"]
    assert AuditEntry.objects.count() == before

    assert alice.post(f"campaigns/{daily.pk}/launch").status_code == 202
    assert states(daily) == [(first, "cancelled"), (first, "scheduled")]


def test_the_same_key_replays_the_stop(alice: Caller, daily: Campaign) -> None:
    answers = [
        alice.post(f"campaigns/{daily.pk}/stop", **{"Idempotency-Key": "stop-1"}) for _ in range(2)
    ]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()


def test_what_never_repeated_cannot_be_stopped(alice: Caller, ours: Project) -> None:
    once = make_campaign(ours)
    alice.post(f"campaigns/{once.pk}/launch")
    assert alice.post(f"campaigns/{once.pk}/stop").status_code == 409
    assert once.runs.get().state == "preparing"


def test_a_series_of_another_project_is_not_there(charlie: Caller, daily: Campaign) -> None:
    assert charlie.post(f"campaigns/{daily.pk}/stop").status_code == 404
    assert daily.runs.get().state == "scheduled"


def test_the_reference_tells_the_two_verbs_apart(client: Client) -> None:
    paths = json.loads(client.get("/api/schema/", {"format": "json"}).content)["paths"]
    stop = paths["/api/v1/campaigns/{id}/stop"]["post"]
    assert "no other follows" in stop["description"] and "200" in stop["responses"]
    cancel = paths["/api/v1/runs/{id}/cancel"]["post"]
    assert "the next one" in cancel["description"]
