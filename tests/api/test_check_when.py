"""The launch report says when a launch at this moment would begin, and whether there was one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.api.checking import checked
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_people,
    make_project,
)

IN_SEOUL = {"all": [{"field": "attributes.city", "op": "eq", "value": "Seoul"}]}
FUTURE = datetime(2035, 1, 1, tzinfo=UTC)


@pytest.fixture
def ours(db: None) -> Project:
    """Nothing is odd about it: it has a key to send with."""
    return make_project(uses_default_credentials=True)


def test_a_scheduled_campaign_starts_at_its_time(alice: Caller, ours: Project) -> None:
    make_people(ours, 20)
    campaign = make_campaign(ours, schedule_kind="at", at=FUTURE, rate_per_second=10)
    when = checked(alice, campaign)["when"]
    assert (when["starts_at"], when["finishes_at"]) == (
        "2035-01-01T00:00:00Z", "2035-01-01T00:00:01.900000Z",  # the last of twenty
    )  # fmt: skip


def test_what_was_edited_since_the_launch_is_not_what_is_sent(alice: Caller, ours: Project) -> None:
    make_people(ours, 20)
    campaign = make_campaign(ours, schedule_kind="recurring", repeat="daily", at=FUTURE)
    run = alice.post(f"campaigns/{campaign.pk}/launch").json()["id"]

    def said() -> list[str]:
        warned = checked(alice, campaign)["warnings"]
        return [one["message"] for one in warned if one["code"] == "edited_since"]

    assert said() == []
    Campaign.objects.update(name="Renamed", updated_at=timezone.now())
    assert said() == [], "the label has its name in it, and stays"
    for label, warnings in (("tea", 1), ("", 0)):
        Campaign.objects.update(analytics_label=label, updated_at=timezone.now())
        assert len(said()) == warnings, label
    elsewhere = make_audience(ours, rules=IN_SEOUL)
    Campaign.objects.update(audience=elsewhere, updated_at=timezone.now())
    [words] = said()
    assert f"Run {run} sends something else than is shown here" in words


def test_a_label_that_was_taken_away_since_the_launch_is_an_edit(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 2)
    campaign = make_campaign(ours, schedule_kind="at", at=FUTURE, analytics_label="tea")
    alice.post(f"campaigns/{campaign.pk}/launch")
    codes = [one["code"] for one in checked(alice, campaign)["warnings"]]
    assert "edited_since" not in codes
    Campaign.objects.update(analytics_label="", updated_at=timezone.now())
    codes = [one["code"] for one in checked(alice, campaign)["warnings"]]
    assert "edited_since" in codes


def test_a_recurring_campaign_names_its_next_times(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    campaign = make_campaign(
        ours, schedule_kind="recurring", repeat="weekly", at=FUTURE,
        until=datetime(2035, 1, 9, tzinfo=UTC),
    )  # fmt: skip
    when = checked(alice, campaign)["when"]
    assert when["coming"] == ["2035-01-01T00:00:00Z", "2035-01-08T00:00:00Z"]
    assert when["starts_at"] == when["coming"][0]


DAY_BY_DAY = [f"2035-01-{day:02}" for day in range(1, 6)]


@pytest.mark.parametrize(
    ("schedule", "problem"),
    [
        ({"repeat": "daily", "until": "2035-01-05T00:00Z", "days_off": DAY_BY_DAY},
         ("days_off", "None of its times is left: they all fall on days off.")),
        ({"repeat": "cron", "cron": "0 9 1 1 *", "until": "2035-12-31T00:00Z",
          "days_off": DAY_BY_DAY},
         ("days_off", "None of its times is left: they all fall on days off.")),
        ({"repeat": "cron", "cron": "0 9 29 2 *", "until": "2035-12-31T00:00Z"},
         ("until", "None of its times comes before its end. Choose a later one, or none.")),
        ({"at": "2020-01-01T00:00Z", "repeat": "daily", "until": "2020-12-31T00:00Z"},
         ("until", "Its end has passed. Choose a later one, or none.")),
    ],
)  # fmt: skip
def test_a_series_of_which_no_time_is_left_names_what_leaves_it_none(
    alice: Caller, ours: Project, schedule: dict[str, Any], problem: tuple[str, str]
) -> None:
    campaign, (field, said) = make_campaign(ours), problem
    when = {"kind": "recurring", "at": "2035-01-01T00:00Z", "timezone": "UTC", **schedule}
    assert alice.patch(f"campaigns/{campaign.pk}", {"schedule": when}).status_code == 200
    [found] = checked(alice, campaign)["problems"]
    assert found["field"] == f"schedule.{field}" and found["message"].startswith(said)


def test_a_launched_series_begins_with_the_run_that_waits_where_it_was_moved(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 2)
    campaign = make_campaign(ours, schedule_kind="recurring", repeat="weekly", at=FUTURE)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    Run.objects.filter(pk=run.pk).update(scheduled_at=datetime(2035, 1, 3, tzinfo=UTC))
    when = checked(alice, campaign)["when"]
    assert when["starts_at"] == "2035-01-03T00:00:00Z"
    assert when["coming"] == [
        "2035-01-03T00:00:00Z", "2035-01-08T00:00:00Z", "2035-01-15T00:00:00Z",
    ]  # fmt: skip


def test_a_campaign_that_was_launched_names_its_run(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    campaign = make_campaign(ours)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    told = checked(alice, campaign)
    assert (told["launchable"], told["run"]) == (False, run.pk)
    [problem] = told["problems"]
    assert problem["field"] == "campaign"
    assert f"already launched as run {run.pk}" in problem["message"]
    assert told["who"]["devices"] == 2
    engine.advance(run.pk, now=timezone.now())
    assert checked(alice, campaign)["run"] == run.pk
