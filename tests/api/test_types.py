"""Numbers, texts and yes or no are what the schema says, and nothing that reads like them."""

from __future__ import annotations

from typing import Any

import pytest

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_audience, make_campaign, make_template

WHOLE, YES_NO, TEXT = "Must be a whole number.", "Must be true or false.", "Must be a text."
NINE = {"kind": "at", "at": "2031-05-31T09:00", "timezone": "UTC"}


@pytest.fixture
def intent(ours: Project) -> dict[str, Any]:
    return {"name": "A", "audience": make_audience(ours).pk, "template": make_template(ours).pk}


def schedule(**given: Any) -> dict[str, Any]:
    return {"schedule": {**NINE, **given}}


def every(count: Any) -> dict[str, Any]:
    return schedule(kind="recurring", repeat="daily", every=count)


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"rate_per_second": "50"}, "rate_per_second", WHOLE),
        ({"rate_per_second": "５０"}, "rate_per_second", WHOLE),
        ({"rate_per_second": "5_0"}, "rate_per_second", WHOLE),
        ({"rate_per_second": True}, "rate_per_second", WHOLE),
        ({"rate_per_second": 5.5}, "rate_per_second", WHOLE),
        ({"rate_per_second": 1e30}, "rate_per_second", "At most 100000."),
        ({"audience": "6"}, "audience", WHOLE),
        ({"past_caps": "yes"}, "past_caps", YES_NO),
        ({"past_caps": 1}, "past_caps", YES_NO),
        ({"name": 5}, "name", TEXT),
        ({"name": True}, "name", TEXT),
        (every("2"), "schedule.every", WHOLE),
        (every(10**30), "schedule.every", "At most 365."),
        (schedule(local_time="true"), "schedule.local_time", YES_NO),
        (schedule(local_time=1), "schedule.local_time", YES_NO),
        (schedule(timezone=5), "schedule.timezone", TEXT),
        ({"variants": [{"template": "7"}]}, "variants[0].template", WHOLE),
    ],
)
def test_what_only_reads_like_it_is_refused(
    alice: Caller, intent: dict[str, Any], given: dict[str, Any], field: str, said: str
) -> None:
    refused = alice.post("campaigns", {**intent, **given})
    assert refused.status_code == 400
    assert refused.json()["errors"] == [{"field": field, "message": said}]
    assert not Campaign.objects.exists()


def test_an_id_that_no_column_could_hold_is_of_nothing(
    alice: Caller, intent: dict[str, Any]
) -> None:
    refused = alice.post("campaigns", {**intent, "audience": 99_999_999_999_999_999_999})
    said = "There is no audience 100000000000000000000 in this project."
    assert refused.json()["errors"] == [{"field": "audience", "message": said}]


def test_a_whole_number_may_be_written_with_a_point(alice: Caller, intent: dict[str, Any]) -> None:
    made = alice.post("campaigns", {**intent, "rate_per_second": 50.0})
    assert made.json()["rate_per_second"] == 50


def test_what_a_query_says_stays_text(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    assert alice.get(f"quota?campaign={campaign.pk}").status_code == 200
    assert alice.get("contacts?subscribed=true").status_code == 200
