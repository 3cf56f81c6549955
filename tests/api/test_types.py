"""Numbers, texts and yes or no are what the schema says, and nothing that reads like them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_campaign

WHOLE, YES_NO, TEXT = "Must be a whole number.", "Must be true or false.", "Must be a text."
NINE = {"kind": "at", "at": "2031-05-31T09:00", "timezone": "UTC"}


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


def days_off(*days: str) -> dict[str, Any]:
    return schedule(kind="recurring", repeat="daily", days_off=days)


@pytest.mark.parametrize("day", ["20261202", "2026-W49-3", "2026-12-02T09:00:00Z", "soon"])
def test_a_day_is_written_in_one_way(alice: Caller, intent: dict[str, Any], day: str) -> None:
    refused = alice.post("campaigns", {**intent, **days_off("2026-12-25", day)})
    said = "Must be a day such as 2026-12-25."
    assert refused.json()["errors"] == [{"field": "schedule.days_off[1]", "message": said}]


def test_of_many_days_that_are_none_the_first_20_are_named(
    alice: Caller, intent: dict[str, Any]
) -> None:
    refused = alice.post("campaigns", {**intent, **days_off(*["soon"] * 366)})
    assert [one["field"] for one in refused.json()["errors"]] == [
        f"schedule.days_off[{number}]" for number in range(20)
    ]


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        (schedule(timezone="localtime"), "schedule.timezone", "“localtime” is not a time zone"),
        (schedule(timezone="Factory"), "schedule.timezone", "“Factory” is not a time zone"),
        (schedule(kind=None), "schedule.kind", "Must not be null; give a value."),
        (schedule(passed="now"), "schedule.passed", "Set local_time, too"),
        (schedule(zoneless="skip"), "schedule.zoneless", "Set local_time, too"),
    ],
)
def test_what_means_nothing_is_refused(
    alice: Caller, intent: dict[str, Any], given: dict[str, Any], field: str, said: str
) -> None:
    [error] = alice.post("campaigns", {**intent, **given}).json()["errors"]
    assert error["field"] == field and error["message"].startswith(said)


def test_what_a_page_left_behind_is_shown_as_it_is_taken(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(
        ours, schedule_kind="at", at=datetime(2031, 5, 31, tzinfo=UTC), passed="now"
    )
    shown = alice.get(f"campaigns/{campaign.pk}").json()
    assert shown["schedule"]["passed"] == "next_day"
    assert alice.put(f"campaigns/{campaign.pk}", shown).status_code == 200


def test_a_time_zone_of_megabytes_is_not_said_back(alice: Caller, intent: dict[str, Any]) -> None:
    refused = alice.post("campaigns", {**intent, **schedule(timezone="x" * 4_000_000)})
    assert refused.status_code == 400 and len(refused.content) < 1_000


def test_the_caps_of_a_category_say_their_bounds(alice: Caller) -> None:
    offers = {"name": "Offers", "slug": "offers", "cap_per_day": 0, "cap_gap_minutes": 1e30}
    assert alice.post("categories", offers).json()["errors"] == [
        {"field": "cap_per_day", "message": "At least 1."},
        {"field": "cap_gap_minutes", "message": "At most 10080."},
    ]


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
