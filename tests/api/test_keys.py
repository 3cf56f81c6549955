"""Who may come in, and through which doors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from notifications.people.project import Project
from notifications.staff.api_key import ApiKey, Scope
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_run

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer car_" + "x" * 43,
        "Bearer car_nul\x00" + "x" * 40,
        "Bearer é" + "x" * 60,
        "Basic YWxpY2U6c2VjcmV0",
    ],
)
def test_without_a_known_key_nothing_is_said(db: None, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    response = Client().get("/api/v1/runs", headers=headers)
    assert response.status_code == 401
    assert response["Content-Type"] == "application/problem+json"
    assert response["WWW-Authenticate"] == 'Bearer realm="carillon"'
    assert response.json()["status"] == 401


def test_a_key_must_come_as_a_bearer_token(alice: Caller) -> None:
    response = Client().get("/api/v1/runs", headers={"Authorization": f"Basic {alice.key}"})
    assert response.status_code == 401


@pytest.mark.parametrize("field", ["expires_at", "revoked_at"])
def test_an_expired_and_a_revoked_key_open_nothing(alice: Caller, field: str) -> None:
    ApiKey.objects.update(**{field: timezone.now() - timedelta(seconds=1)})
    assert alice.get("runs").status_code == 401


def test_the_refusal_does_not_tell_a_revoked_key_from_an_unknown_one(alice: Caller) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())
    revoked = alice.get("runs").json()
    alice.key = "car_" + "x" * 43
    assert alice.get("runs").json() == revoked


@pytest.mark.parametrize(
    ("scope", "method", "path"),
    [
        (Scope.CONTACTS, "GET", "contacts/u1"),
        (Scope.CONTACTS, "POST", "contacts/bulk"),
        (Scope.CONTACTS, "POST", "devices"),
        (Scope.AUDIENCES, "GET", "audiences"),
        (Scope.AUDIENCES, "POST", "audiences/estimate"),
        (Scope.TEMPLATES, "POST", "templates"),
        (Scope.RUNS, "GET", "campaigns"),
        (Scope.RUNS, "GET", "campaigns/1/check"),
        (Scope.RUNS, "GET", "runs"),
        (Scope.RUNS, "GET", "runs/1/deliveries.csv"),
        (Scope.LAUNCH, "POST", "campaigns/1/launch"),
        (Scope.LAUNCH, "POST", "runs/1/pause"),
        (Scope.LAUNCH, "POST", "runs/1/resume"),
        (Scope.LAUNCH, "POST", "runs/1/cancel"),
        (Scope.MESSAGES, "POST", "messages"),
        (Scope.MESSAGES, "GET", "messages/1-1"),
        (Scope.MESSAGES, "POST", "messages/1-1/cancel"),
    ],
)
def test_a_door_opens_for_its_scope_and_for_no_other(
    ours: Project, scope: str, method: str, path: str
) -> None:
    others = [other for other in Scope.values if other != scope]
    refused = Caller(ours, others)(method, path, {} if method == "POST" else None)
    assert refused.status_code == 403
    assert scope in refused.json()["detail"]
    assert Caller(ours, [scope])(method, path).status_code not in (401, 403)


def test_without_the_scope_a_launch_leaves_no_run(ours: Project) -> None:
    campaign = make_campaign(ours)
    assert Caller(ours, ["runs"]).post(f"campaigns/{campaign.pk}/launch").status_code == 403
    assert not campaign.runs.exists()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "audiences/{audience}"),
        ("PUT", "audiences/{audience}"),
        ("PATCH", "audiences/{audience}"),
        ("DELETE", "audiences/{audience}"),
        ("GET", "audiences/{audience}/explain"),
        ("GET", "templates/{template}"),
        ("PATCH", "templates/{template}"),
        ("DELETE", "templates/{template}"),
        ("POST", "templates/{template}/preview"),
        ("GET", "campaigns/{campaign}"),
        ("PATCH", "campaigns/{campaign}"),
        ("DELETE", "campaigns/{campaign}"),
        ("GET", "campaigns/{campaign}/check"),
        ("POST", "campaigns/{campaign}/launch"),
        ("GET", "runs/{run}"),
        ("POST", "runs/{run}/cancel"),
        ("GET", "runs/{run}/deliveries"),
        ("GET", "runs/{run}/deliveries.csv"),
    ],
)
def test_rows_of_another_project_do_not_exist(
    ours: Project, charlie: Caller, method: str, path: str
) -> None:
    run = make_run(ours)
    ids = {
        "run": run.pk,
        "campaign": run.campaign_id,
        "audience": run.campaign.audience_id,
        "template": run.campaign.template_id,
    }
    bodies: dict[str, Any] = {"PUT": {"name": "Mine", "rules": {"all": []}}, "PATCH": {}}
    response = charlie(method, path.format(**ids), bodies.get(method))
    assert response.status_code == 404
    assert run.campaign.name not in response.content.decode()
    run.refresh_from_db()
    assert run.state != "cancelled"


def test_the_use_of_a_key_is_noted_once_a_minute(alice: Caller) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        alice.get("runs")
        clock.shift(59)
        alice.get("runs")
        alice.row.refresh_from_db()
        assert alice.row.last_used_at == NOON
        clock.shift(1)
        alice.get("runs")
        alice.row.refresh_from_db()
        assert alice.row.last_used_at == NOON + timedelta(seconds=60)
