"""The launch report through the API: what a launch at this moment would do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from pytest_django import DjangoAssertNumQueries

from campaigns.audiences import estimating
from campaigns.audiences import reach as reaching
from campaigns.launch_check import launch_report, quiet_hours_check
from campaigns.runs.run import Run
from notifications.fcm.schema_check import FieldProblem
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller
from tests.api.checking import checked, codes, person
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

FUTURE = datetime(2035, 1, 1, tzinfo=UTC)
FREE = {"field": "attributes.plan", "op": "eq", "value": "free"}


@pytest.fixture(autouse=True)
def awake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the hour at which the tests run."""
    monkeypatch.setattr(quiet_hours_check, "WORTH_SAYING", 2)


@pytest.fixture
def ours(db: None) -> Project:
    """Nothing is odd about it: it has a key to send with."""
    return make_project(uses_default_credentials=True)


def test_a_healthy_campaign_says_whom_it_reaches_and_how_long_it_takes(
    alice: Caller, ours: Project, settings: LazySettings
) -> None:
    settings.WORKERS = 2
    person(ours, "ada", "ios", "web")
    make_people(ours, 38)
    campaign = make_campaign(ours, rate_per_second=10, name="Spring")
    told = checked(alice, campaign)
    assert (told["campaign"], told["launchable"], told["run"]) == (campaign.pk, True, None)
    assert (told["problems"], told["skipped"], told["warnings"]) == ([], [], [])
    assert told["who"] == {
        "audience": campaign.audience_id,
        "rules": "everyone",
        "people": 39,
        "unreachable": 0,
        "devices": 40,
        "skipped": 0,
        "sent_to": 40,
        "platforms": {"android": 38, "ios": 1, "web": 1},
        "exact": True,
    }
    when = told["when"]
    assert (when["seconds"], when["rate_per_second"], when["limit"]) == (4.0, 10.0, "rate")
    assert when["message"] == "the campaign's own rate"
    assert when["starts_at"] == told["checked_at"] and when["coming"] == []
    took = parse_datetime(when["finishes_at"]) - parse_datetime(when["starts_at"])  # type: ignore[operator]
    assert took.total_seconds() == 3.9  # when the last of forty leaves
    assert len(told["samples"]) == 3
    assert all(sample["sendable"] for sample in told["samples"])


def test_looking_changes_nothing(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    checked(alice, make_campaign(ours))
    assert not Run.objects.exists() and not AuditEntry.objects.exists()


def test_its_problems_are_those_a_launch_is_refused_for(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    broken = make_template(ours)
    type(broken).objects.filter(pk=broken.pk).update(title="{{ first_name")
    late = datetime(2020, 1, 1, tzinfo=UTC)
    campaign = make_campaign(ours, template=broken, schedule_kind="at", at=late)
    told = checked(alice, campaign)
    refused = alice.post(f"campaigns/{campaign.pk}/launch").json()
    assert told["launchable"] is False
    assert told["problems"] == refused["errors"]
    assert sorted(one["field"] for one in told["problems"]) == ["schedule.at", "template"]
    assert told["who"]["devices"] == 2 and told["samples"] == []


def test_broken_rules_reach_nobody_that_anybody_could_count(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    audience = make_audience(ours)
    type(audience).objects.filter(pk=audience.pk).update(rules={"field": "no such", "op": "eq"})
    campaign = make_campaign(ours, audience=audience)
    told = checked(alice, campaign)
    assert [one["field"] for one in told["problems"]] == ["audience"]
    assert told["problems"] == alice.post(f"campaigns/{campaign.pk}/launch").json()["errors"]
    assert (told["who"]["people"], told["who"]["devices"], told["who"]["rules"]) == (None, None, "")
    assert (told["when"]["seconds"], told["when"]["finishes_at"]) == (None, None)


def test_an_empty_text_and_an_archived_campaign_are_problems(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours, template={"title": "", "body": ""}, archived_at=FUTURE)
    told = checked(alice, campaign)
    assert {one["field"] for one in told["problems"]} == {"campaign", "template"}


def test_a_message_that_fcm_takes_for_nobody_is_a_problem_and_says_of_whom(
    alice: Caller, ours: Project
) -> None:
    person(ours, "ada", "ios", url="http://x")
    campaign = make_campaign(ours, template={"link": "{{ url }}"})
    told = checked(alice, campaign)
    [problem] = told["problems"]
    assert problem["field"] == "template" and "must be https" in problem["message"]
    [loss] = told["skipped"]
    assert (loss["status"], loss["reason"], loss["devices"], loss["of"], loss["contact"]) == (
        "rejected", "invalid_message", 1, 1, "ada",
    )  # fmt: skip
    assert told["samples"][0]["sendable"] is False


def test_people_who_lack_a_value_are_counted_with_the_reason_and_one_of_them(
    alice: Caller, ours: Project
) -> None:
    person(ours, "ada", "ios", city="Seoul")
    person(ours, "bob", "ios", "android")
    person(ours, "cleo", "web", city="")
    person(ours, "dan")
    campaign = make_campaign(ours, template={"body": "Come to {{ city }}"})
    [counted] = checked(alice, campaign)["skipped"]
    assert counted == {
        "status": "skipped",
        "reason": "missing_value",
        "devices": 3,
        "of": 4,
        "exact": True,
        "contact": "bob",
        "variable": "city",
        "message": "3 devices: their people have no “city”, and the text they read needs it.",
    }


def variables(told: dict[str, Any]) -> dict[str, int]:
    return {one["variable"]: one["devices"] for one in told["skipped"] if one["variable"]}


@pytest.mark.parametrize(
    ("body", "counted"),
    [
        ("{{ bonus }} {{ addr.city }}", {"bonus": 2, "addr.city": 3}),
        ("{{ bonus }} {{ tags[0] }}", {"bonus": 2, "tags[0]": 3}),
        ("{{ bonus }} {{ tags }} {{ tags[0] }}", {"bonus": 2, "tags": 2, "tags[0]": 3}),
        ("{{ bonus }} {{ nope.deep }}", {"bonus": 2, "nope.deep": 4}),
        ("{{ bonus }} {{ tags[pick] }} {{ tags.first }}", {"bonus": 2, "tags": 2, "pick": 4}),
        ("{{ bonus }} {{ addr.city | default: 'home' }}", {"bonus": 2}),
        ("{{ bonus }} {{ locale.name }}", {"bonus": 2}),
        ("{% if addr.city %}{{ bonus }}{% endif %}", {"bonus": 2}),
        ("{{ addr.zip }}", {"addr.zip": 3}),
    ],
)
def test_a_path_into_a_value_is_counted_and_silences_no_other(
    alice: Caller, ours: Project, body: str, counted: dict[str, int]
) -> None:
    person(ours, "ada", "ios", bonus=1, addr={"city": "Seoul"}, tags=["new"])
    person(ours, "bob", "ios", bonus=2, addr={"zip": None}, tags=[])
    person(ours, "cleo", "ios", addr="Seoul")
    person(ours, "dan", "ios")
    told = checked(alice, make_campaign(ours, template={"body": body}))
    assert variables(told) == counted


def test_a_message_too_long_for_some_is_rejected_for_them(alice: Caller, ours: Project) -> None:
    person(ours, "short", "ios", story="x")
    person(ours, "long", "ios", story="x" * 5_000)
    told = checked(alice, make_campaign(ours, template={"body": "{{ story }}"}))
    [loss] = told["skipped"]
    assert (loss["status"], loss["reason"], loss["devices"], loss["of"], loss["contact"]) == (
        "rejected", "too_long", 1, 2, "long",
    )  # fmt: skip
    assert told["launchable"] is True


def test_why_it_is_rejected_is_said_however_a_field_s_problem_is_printed(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FieldProblem, "__str__", lambda problem: f"({problem.field}) …")
    person(ours, "short", "ios", story="x")
    person(ours, "long", "ios", story="x" * 5_000)
    told = checked(alice, make_campaign(ours, template={"body": "{{ story }}"}))
    [loss] = told["skipped"]
    assert "would be rejected, e.g. long: one text alone has over 4,096 bytes" in loss["message"]


def test_people_without_a_device_are_no_recipients(alice: Caller, ours: Project) -> None:
    person(ours, "ada", "ios")
    person(ours, "bob")
    make_device(make_contact(ours), retired_at=timezone.now(), retired_reason="unregistered")
    who = checked(alice, make_campaign(ours))["who"]
    assert (who["people"], who["unreachable"], who["devices"]) == (3, 2, 1)


def test_an_audience_nobody_fits_is_odd_and_no_obstacle(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    campaign = make_campaign(ours, audience=make_audience(ours, rules=FREE))
    told = checked(alice, campaign)
    assert (told["who"]["devices"], told["who"]["rules"]) == (0, "plan is free")
    assert codes(told) == ["nobody_reachable", "no_such_attribute"]
    assert "No person has the attribute “plan”" in told["warnings"][1]["message"]
    assert told["launchable"] is True
    assert alice.post(f"campaigns/{campaign.pk}/launch").status_code == 202


def test_what_is_odd_about_sending_has_a_code(alice: Caller, ours: Project) -> None:
    Project.objects.update(uses_default_credentials=False)
    make_people(ours, 2)
    Run.objects.filter(pk=make_run(ours).pk).update(state=Run.State.SENDING)
    told = checked(alice, make_campaign(ours))
    assert codes(told) == ["no_credentials", "shared_pace"]


def test_who_comes_too_late_to_be_shown_it_is_skipped(alice: Caller, ours: Project) -> None:
    make_people(ours, 100)
    [loss] = checked(alice, make_campaign(ours, rate_per_second=1, ttl_seconds=60))["skipped"]
    assert (loss["reason"], loss["devices"], loss["of"]) == ("expired", 40, 100)
    assert "Raise the rate, or that time." in loss["message"]


def test_a_climb_from_a_cold_start_is_part_of_the_time(alice: Caller, ours: Project) -> None:
    Project.objects.update(ramp_seconds=60, quota_per_minute=6_000)
    make_people(ours, 300)
    told = checked(alice, make_campaign(ours, ttl_seconds=60))
    assert told["when"]["limit"] == "quota" and "reached in 57 s" in told["when"]["message"]
    assert told["when"]["seconds"] > 300 / told["when"]["rate_per_second"]
    assert told["skipped"] == []


# --- In time --------------------------------------------------------------------------------------


def _asleep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    """Whatever reads all people, and no part of them."""
    whole = "LEFT JOIN notifications_device" in sql and "TABLESAMPLE" not in sql
    if whole and "ORDER BY c.id" not in sql:
        return execute("SELECT pg_sleep(60)", None, False, context)
    return execute(sql, params, many, context)


def test_a_count_that_takes_too_long_is_an_estimate(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reaching, "EXACT_SECONDS", 0.05)
    monkeypatch.setattr(estimating, "MOST", 100.0)  # the sample holds them all
    person(ours, "ada", "ios", city="Seoul")
    person(ours, "bob", "ios")
    campaign = make_campaign(ours, template={"body": "{{ city }}"})
    with connection.execute_wrapper(_asleep):
        told = checked(alice, campaign)
    assert (told["who"]["people"], told["who"]["devices"], told["who"]["exact"]) == (2, 2, False)
    loss = told["skipped"][0]
    assert (loss["variable"], loss["devices"], loss["exact"]) == ("city", 1, False)
    assert told["when"]["seconds"] is not None


def test_slow_counts_leave_time_for_a_forecast(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_report, "REPORT_SECONDS", reaching.SPARED + 0.5)
    monkeypatch.setattr(estimating, "MOST", 100.0)  # the sample holds them all
    make_people(ours, 2)
    with connection.execute_wrapper(_asleep):
        found = checked(alice, make_campaign(ours))["forecast"]
    assert (found["sent"], found["exact"]) == (2, False)


def test_what_nobody_can_count_is_said_and_not_taken_for_nobody(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asleep(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        reads = "notifications_device" in sql and "c.project_id = %s AND" in sql
        return execute("SELECT pg_sleep(60)" if reads else sql, None if reads else params, many,
                       context)  # fmt: skip

    monkeypatch.setattr(reaching, "EXACT_SECONDS", 0.05)
    monkeypatch.setattr(estimating, "PART_SECONDS", 0.05)
    make_people(ours, 2)
    campaign = make_campaign(ours)
    with connection.execute_wrapper(asleep):
        told = checked(alice, campaign)
    assert (told["who"]["people"], told["who"]["devices"], told["who"]["exact"]) == (
        None, None, False,
    )  # fmt: skip
    assert codes(told) == ["uncountable"]
    assert "take too long to evaluate" in told["warnings"][0]["message"]
    assert (told["when"]["seconds"], told["skipped"], told["samples"]) == (None, [], [])
    assert told["launchable"] is True  # by a program, which need not know


def test_it_reads_no_more_with_more_people(
    alice: Caller, ours: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    campaign = make_campaign(ours, template={"body": "{{ city }}"})
    for number in range(40):
        person(ours, f"p{number}", "ios", city="Seoul")
    with django_assert_max_num_queries(69):
        checked(alice, campaign)


def test_a_report_without_time_left_answers_what_it_knows(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_report, "REPORT_SECONDS", 0.0)
    make_people(ours, 2)
    campaign = make_campaign(ours, audience=make_audience(ours, rules=FREE))
    told = checked(alice, campaign)
    assert (told["who"]["people"], told["when"]["seconds"], told["samples"]) == (None, None, [])
    assert "uncountable" in codes(told)


# --- Who may ask ----------------------------------------------------------------------------------


def test_a_campaign_of_another_project_is_not_there(charlie: Caller, ours: Project) -> None:
    campaign = make_campaign(ours, name="Secret")
    answer = charlie.get(f"campaigns/{campaign.pk}/check")
    assert answer.status_code == 404 and "Secret" not in answer.content.decode()


def test_a_key_that_may_not_read_runs_may_not_ask(ours: Project) -> None:
    path = f"campaigns/{make_campaign(ours).pk}/check"
    refused = Caller(ours, ["contacts", "audiences", "templates", "launch"]).get(path)
    assert refused.status_code == 403 and "runs" in refused.json()["detail"]
    assert Caller(ours, ["runs"]).get(path).status_code == 200


def test_it_tells_nobody_what_the_text_says_of_a_person(ours: Project) -> None:
    person(ours, "ada", "ios", diagnosis="gout")
    campaign = make_campaign(ours, template={"body": "About {{ diagnosis }}"})
    answer = Caller(ours, ["runs"]).get(f"campaigns/{campaign.pk}/check")
    assert "gout" not in answer.content.decode()
    assert answer.json()["samples"][0]["contact"] == "ada"


def test_it_speaks_english_whatever_the_caller_speaks(alice: Caller, ours: Project) -> None:
    campaign = make_campaign(ours)
    answer = alice.get(f"campaigns/{campaign.pk}/check", Accept_Language="ko")
    assert "This project has no people yet" in answer.content.decode()


def test_it_takes_no_parameters_and_no_other_method(alice: Caller, ours: Project) -> None:
    path = f"campaigns/{make_campaign(ours).pk}/check"
    assert alice.get(f"{path}?deep=1").status_code == 400
    assert alice.post(path).status_code == 405
