"""Campaigns through the API: what is intended, and when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_run,
    make_template,
)


def test_a_campaign_is_saved_with_sensible_defaults(alice: Caller, intent: dict[str, Any]) -> None:
    made = alice.post("campaigns", intent)
    assert made.status_code == 201
    shown = alice.get(f"campaigns/{made.json()['id']}").json()
    assert shown == made.json()
    assert {name: shown[name] for name in intent} == intent
    assert (shown["on_unknown"], shown["rate_per_second"], shown["ttl_seconds"]) == (
        "resend",
        None,
        86_400,
    )
    assert shown["schedule"] == {"kind": "now", "timezone": "UTC"}


def test_a_choice_that_is_none_is_told_which_there_are(
    alice: Caller, intent: dict[str, Any]
) -> None:
    hourly = {"kind": "recurring", "at": "2030-05-31T09:00", "repeat": "hourly"}
    told = {}
    for wrong in ({"on_unknown": "pray"}, {"schedule": hourly}):
        for error in alice.post("campaigns", {**intent, **wrong}).json()["errors"]:
            told[error["field"]] = error["message"]
    assert told == {
        "on_unknown": "Use resend or hold.",
        "schedule.repeat": "Use daily, weekly, monthly or cron.",
    }


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"audience": 0}, "audience"),
        ({"audience": 10**30}, "audience"),
        ({"audience": 2**70}, "audience"),
        ({"template": "x"}, "template"),
        ({"on_unknown": "pray"}, "on_unknown"),
        ({"on_unknown": {}}, "on_unknown"),
        ({"rate_per_second": 0}, "rate_per_second"),
        ({"rate_per_second": True}, "rate_per_second"),
        ({"rate_per_second": 100_001}, "rate_per_second"),
        ({"ttl_seconds": 59}, "ttl_seconds"),
        ({"ttl_seconds": 2_419_201}, "ttl_seconds"),
        ({"name": "x" * 101}, "name"),
        ({"priority": "high"}, "priority"),
    ],
)
def test_a_value_out_of_bounds_is_refused_by_its_field(
    alice: Caller, intent: dict[str, Any], wrong: dict[str, Any], field: str
) -> None:
    response = alice.post("campaigns", {**intent, **wrong})
    assert response.status_code == 400
    assert fields_at_fault(response) == [field]
    assert not Campaign.objects.exists()


def test_another_projects_audience_and_template_cannot_be_used(
    alice: Caller, intent: dict[str, Any]
) -> None:
    elsewhere = make_project()
    theirs = {"audience": make_audience(elsewhere).pk, "template": make_template(elsewhere).pk}
    response = alice.post("campaigns", {**intent, **theirs})
    assert sorted(fields_at_fault(response)) == ["audience", "template"]
    assert not Campaign.objects.exists()


def test_a_label_is_kept_and_one_firebase_would_drop_is_refused(
    alice: Caller, intent: dict[str, Any]
) -> None:
    made = alice.post("campaigns", {**intent, "analytics_label": "autumn~1"})
    assert made.json()["analytics_label"] == "autumn~1"
    for wrong in ("two words", "한글", "x" * 51):
        answer = alice.post("campaigns", {**intent, "analytics_label": wrong})
        assert answer.status_code == 400
        assert fields_at_fault(answer) == ["analytics_label"]


def test_what_fcm_would_take_for_nobody_is_not_launched(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours, template={"link": "{{ url }}"})
    make_device(make_contact(ours, attributes={"first_name": "Ada", "url": "http://x"}))
    answer = alice.post(f"campaigns/{campaign.pk}/launch", {})
    assert answer.status_code == 422
    assert fields_at_fault(answer) == ["template"]
    assert "message.data.link" in answer.json()["errors"][0]["message"]


def test_put_returns_what_is_left_out_to_the_default(
    alice: Caller, intent: dict[str, Any], ours: Project
) -> None:
    campaign = make_campaign(ours, rate_per_second=200, on_unknown="hold", ttl_seconds=600)
    answer = alice.put(f"campaigns/{campaign.pk}", intent)
    assert answer.status_code == 200
    campaign.refresh_from_db()
    assert (campaign.name, campaign.rate_per_second) == ("Autumn run", None)
    assert (campaign.on_unknown, campaign.ttl_seconds) == ("resend", 86_400)


def test_what_was_read_can_be_sent_back(alice: Caller, ours: Project) -> None:
    at = datetime(2030, 5, 31, tzinfo=UTC)
    campaign = make_campaign(ours, schedule_kind="at", at=at, timezone="Asia/Seoul")
    shown = alice.get(f"campaigns/{campaign.pk}").json()
    answer = alice.put(f"campaigns/{campaign.pk}", shown)
    assert answer.status_code == 200, answer.content
    assert answer.json() == {**shown, "updated_at": answer.json()["updated_at"]}


def test_a_campaign_is_deleted_only_while_it_was_never_launched(
    alice: Caller, ours: Project
) -> None:
    draft, run = make_campaign(ours), make_run(ours)
    assert alice.delete(f"campaigns/{draft.pk}").status_code == 204
    entry = AuditEntry.objects.get(action="deleted")
    assert (entry.subject_kind, entry.subject_id) == ("campaign", draft.pk)
    refused = alice.delete(f"campaigns/{run.campaign_id}")
    assert refused.status_code == 409
    assert f"run {run.pk}" in refused.json()["detail"]
    assert Campaign.objects.filter(pk=run.campaign.pk).exists()


def test_a_campaign_has_no_post_of_its_own(alice: Caller, ours: Project) -> None:
    assert alice.post(f"campaigns/{make_campaign(ours).pk}", {}).status_code == 405
