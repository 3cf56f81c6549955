"""A campaign's schedule through the API: at a time, or again and again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from campaigns.planning.campaign import Campaign
from tests.api.caller import Caller, fields_at_fault


@pytest.mark.parametrize(
    ("schedule", "at"),
    [
        ({"at": "2030-05-31T09:00:00+09:00"}, datetime(2030, 5, 31, 0, tzinfo=UTC)),
        ({"at": "2030-05-31t09:00:00z"}, datetime(2030, 5, 31, 9, tzinfo=UTC)),
        (
            {"at": "2030-05-31T09:00", "timezone": "Asia/Seoul"},
            datetime(2030, 5, 31, 0, tzinfo=UTC),
        ),
        (
            {"at": "2030-07-01 09:00:00", "timezone": "Europe/Berlin"},
            datetime(2030, 7, 1, 7, tzinfo=UTC),
        ),
        # Half past two comes twice that night; the first one counts.
        (
            {"at": "2030-10-27T02:30:00", "timezone": "Europe/Berlin"},
            datetime(2030, 10, 27, 0, 30, tzinfo=UTC),
        ),
    ],
)
def test_a_time_is_given_with_an_offset_or_with_a_zone(
    alice: Caller, intent: dict[str, Any], schedule: dict[str, str], at: datetime
) -> None:
    made = alice.post("campaigns", {**intent, "schedule": {"kind": "at", **schedule}})
    assert made.status_code == 201, made.content
    assert Campaign.objects.get().at == at
    shown = alice.get(f"campaigns/{made.json()['id']}").json()["schedule"]
    assert shown["at"] == at.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("schedule", "field"),
    [
        ({"kind": "recurring", "cron": "0 9 * * *"}, "schedule.at"),
        ({"kind": "recurring"}, "schedule.at"),
        ({"kind": "recurring", "at": "2030-05-31T09:00:00Z"}, "schedule.repeat"),
        (
            {"kind": "recurring", "at": "2030-05-31T09:00:00Z", "repeat": "hourly"},
            "schedule.repeat",
        ),
        (
            {
                "kind": "recurring",
                "at": "2030-05-31T09:00:00Z",
                "repeat": "daily",
                "until": "2030-05-30T09:00:00Z",
            },
            "schedule.until",
        ),
        ({"kind": "at", "at": "2030-05-31T09:00:00Z", "repeat": "daily"}, "schedule.repeat"),
        ({"kind": "sometimes"}, "schedule.kind"),
        ({"kind": []}, "schedule.kind"),
        ({}, "schedule.kind"),
        ("now", "schedule"),
        ({"kind": "at"}, "schedule.at"),
        ({"kind": "now", "at": "2030-05-31T09:00:00Z"}, "schedule.at"),
        ({"kind": "at", "at": "2030-05-31T09:00:00"}, "schedule.at"),
        ({"kind": "at", "at": "2030-05-31"}, "schedule.at"),
        ({"kind": "at", "at": "2030-02-30T09:00:00Z"}, "schedule.at"),
        ({"kind": "at", "at": "0001-01-01T00:00:00+14:00"}, "schedule.at"),
        ({"kind": "at", "at": "9999-12-31T23:59:59-12:00"}, "schedule.at"),
        ({"kind": "at", "at": "2030-05-31T09:00:00+99:99"}, "schedule.at"),
        ({"kind": "at", "at": 1_900_000_000}, "schedule.at"),
        ({"kind": "at", "at": "2030-05-31T09:00", "timezone": "Mars"}, "schedule.timezone"),
        # Clocks are set from two to three that night.
        (
            {"kind": "at", "at": "2030-03-31T02:30:00", "timezone": "Europe/Berlin"},
            "schedule.at",
        ),
    ],
)
def test_a_time_that_cannot_be_kept_is_refused(
    alice: Caller, intent: dict[str, Any], schedule: Any, field: str
) -> None:
    response = alice.post("campaigns", {**intent, "schedule": schedule})
    assert response.status_code == 400
    assert fields_at_fault(response) == [field]
    assert not Campaign.objects.exists()


@pytest.mark.parametrize(
    "far",
    ["2199-01-01T00:00Z", "1999-12-31T23:59Z", "9999-12-31T23:59:59-14:00", "0001-01-01T00:00Z",
     "2100-01-01T00:00Z", "2099-12-31T23:00-05:00"],
)  # fmt: skip
def test_a_time_in_a_far_year_is_refused_by_its_year(
    alice: Caller, intent: dict[str, Any], far: str
) -> None:
    response = alice.post("campaigns", {**intent, "schedule": {"kind": "at", "at": far}})
    assert response.json()["errors"] == [
        {"field": "schedule.at", "message": "Choose a year from 2001 to 2099."}
    ]


def test_a_time_to_the_nanosecond_is_taken_to_the_microsecond(
    alice: Caller, intent: dict[str, Any]
) -> None:
    at = "2027-02-28T09:00:00.123456789Z"  # as Go writes it
    made = alice.post("campaigns", {**intent, "schedule": {"kind": "at", "at": at}})
    assert made.json()["schedule"]["at"] == "2027-02-28T09:00:00.123456Z"


def test_a_campaign_that_repeats_is_shown_as_it_was_written_and_launched_for_its_first_time(
    alice: Caller, intent: dict[str, Any]
) -> None:
    weekly = {
        "kind": "recurring",
        "at": "2030-05-31T00:00:00Z",
        "repeat": "weekly",
        "until": "2030-12-31T00:00:00Z",
        "timezone": "Asia/Seoul",
    }
    made = alice.post("campaigns", {**intent, "schedule": weekly})
    assert made.status_code == 201, made.content
    each = {
        "every": 1, "on_days": "each", "weekdays": [], "days_off": [], "holiday_names": {},
        "local_time": False, "best_hour": False, "zoneless": "project",
    }  # fmt: skip
    assert made.json()["schedule"] == {**weekly, **each}
    run = alice.post(f"campaigns/{made.json()['id']}/launch")
    assert (run.status_code, run.json()["state"]) == (202, "scheduled")

    moved = {**intent, "schedule": {**weekly, "repeat": "daily"}}
    refused = alice.put(f"campaigns/{made.json()['id']}", moved)
    assert refused.status_code == 400
    assert fields_at_fault(refused) == ["schedule.kind"]
    assert "Stop it first" in refused.json()["errors"][0]["message"]


def test_a_campaign_repeats_on_its_days_alone(alice: Caller, intent: dict[str, Any]) -> None:
    daily = {"kind": "recurring", "at": "2030-05-30T09:00:00Z", "repeat": "daily"}  # a Thursday
    days = {"on_days": "workdays", "days_off": ["2030-05-31", "2030-05-30"]}
    made = alice.post("campaigns", {**intent, "schedule": {**daily, **days, "timezone": "UTC"}})
    shown = made.json()["schedule"]
    assert (shown["on_days"], shown["days_off"]) == ("workdays", ["2030-05-30", "2030-05-31"])
    run = alice.post(f"campaigns/{made.json()['id']}/launch").json()
    assert run["scheduled_at"] == "2030-06-03T09:00:00Z", "the Monday after"
    refused = alice.post(
        "campaigns", {**intent, "schedule": {**daily, "every": 2, "on_days": "workdays"}}
    )
    assert fields_at_fault(refused) == ["schedule.on_days"]
    once = {"kind": "at", "at": "2030-05-30T09:00:00Z", "days_off": ["2030-05-31"]}
    assert fields_at_fault(alice.post("campaigns", {**intent, "schedule": once})) == [
        "schedule.days_off"
    ]


def test_a_campaign_repeats_on_several_days_of_the_week(
    alice: Caller, intent: dict[str, Any]
) -> None:
    weekly = {"kind": "recurring", "at": "2030-05-30T09:00:00Z", "repeat": "weekly",  # a Thursday
              "timezone": "UTC", "weekdays": ["fri", "mon", "fri"]}  # fmt: skip
    made = alice.post("campaigns", {**intent, "schedule": weekly})
    assert made.json()["schedule"]["weekdays"] == ["mon", "fri"]
    path = f"campaigns/{made.json()['id']}"
    assert alice.get(f"{path}/check").json()["when"]["coming"] == [
        "2030-05-31T09:00:00Z", "2030-06-03T09:00:00Z", "2030-06-07T09:00:00Z",
    ]  # fmt: skip
    again = alice.put(path, {**intent, "schedule": made.json()["schedule"]})
    assert again.json()["schedule"] == made.json()["schedule"]


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"repeat": "daily"}, "weekdays", "Days of the week go with every week"),
        ({"weekdays": ["monday"]}, "weekdays[0]", "Use mon, tue, wed, thu, fri, sat and sun."),
        ({"weekdays": "mon"}, "weekdays", "list"),
        ({"weekdays": ["mon"] * 8}, "weekdays", "7"),
        ({"weekdays": [["mon"]]}, "weekdays[0]", "Use mon"),
        ({"kind": "at", "repeat": None}, "weekdays", "use the kind recurring"),
    ],
)
def test_days_of_the_week_that_cannot_be_are_refused_by_name(
    alice: Caller, intent: dict[str, Any], wrong: dict[str, Any], field: str, said: str
) -> None:
    weekly = {"kind": "recurring", "at": "2030-05-30T09:00:00Z", "repeat": "weekly"}
    schedule = {**weekly, "timezone": "UTC", "weekdays": ["mon"], **wrong}
    asked = {name: value for name, value in schedule.items() if value is not None}
    refused = alice.post("campaigns", {**intent, "schedule": asked})
    assert refused.status_code == 400
    assert fields_at_fault(refused) == [f"schedule.{field}"]
    assert said in refused.json()["errors"][0]["message"]


def test_a_campaign_repeats_by_five_fields_of_cron(alice: Caller, intent: dict[str, Any]) -> None:
    mondays = {"kind": "recurring", "at": "2030-05-30T00:00:00Z", "repeat": "cron",
               "cron": "0 9,13 * * mon", "timezone": "Asia/Seoul"}  # fmt: skip
    made = alice.post("campaigns", {**intent, "schedule": mondays})
    assert made.status_code == 201, made.content
    assert made.json()["schedule"]["cron"] == "0 9,13 * * mon"
    path = f"campaigns/{made.json()['id']}"
    coming = alice.get(f"{path}/check").json()["when"]["coming"]
    assert coming == ["2030-06-03T00:00:00Z", "2030-06-03T04:00:00Z", "2030-06-10T00:00:00Z"]
    run = alice.post(f"{path}/launch").json()
    assert run["scheduled_at"] == coming[0]
    assert "cron" not in alice.post("campaigns", intent).json()["schedule"]


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"cron": "0 9 * *"}, "cron", "Write five fields"),
        ({"cron": "0 25 * * *"}, "cron", "hour: “25” is none; write a number from 0 to 23."),
        ({"cron": "*/30 * * * *"}, "cron", "minute: one minute of the hour"),
        ({"cron": ""}, "cron", "Write five fields"),
        ({"cron": "0" * 101}, "cron", "At most 100 characters."),
        ({"cron": 9}, "cron", "Must be a text."),
        ({"cron": []}, "cron", "Must be a text."),
        ({"every": 2}, "every", "says itself on which days"),
        ({"on_days": "workdays"}, "on_days", "says itself on which days"),
        ({"repeat": "daily"}, "cron", "Leave it empty, or repeat by it."),
        ({"kind": "at"}, "cron", "use the kind recurring"),
    ],
)
def test_a_cron_expression_that_cannot_be_is_refused_by_name(
    alice: Caller, intent: dict[str, Any], wrong: dict[str, Any], field: str, said: str
) -> None:
    cron = {"kind": "recurring", "at": "2030-05-30T00:00:00Z", "repeat": "cron",
            "cron": "0 9 * * mon"}  # fmt: skip
    if wrong == {"kind": "at"}:
        cron = {name: cron[name] for name in ("at", "cron")}
    refused = alice.post("campaigns", {**intent, "schedule": {**cron, **wrong}})
    assert refused.status_code == 400, refused.content
    assert fields_at_fault(refused) == [f"schedule.{field}"]
    assert said in refused.json()["errors"][0]["message"]


def test_days_off_have_names(alice: Caller, intent: dict[str, Any]) -> None:
    daily = {"kind": "recurring", "at": "2030-05-30T09:00:00Z", "repeat": "daily",
             "days_off": ["2030-06-01", "2030-05-31"]}  # fmt: skip
    file = (
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Children\nDTSTART;VALUE=DATE:20300531\n"
        "DTEND;VALUE=DATE:20300602\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    named = {"holiday_names": {"2030-06-01": "First of June"}}
    with time_machine.travel("2030-05-01T09:00:00Z", tick=False):
        made = alice.post("campaigns", {**intent, "schedule": {**daily, **named}})
        assert made.status_code == 201, made.content
        assert made.json()["schedule"]["holiday_names"] == {"2030-06-01": "First of June"}
        path = f"campaigns/{made.json()['id']}"
        same = alice.patch(path, {"schedule": made.json()["schedule"]})
        assert same.json()["schedule"] == made.json()["schedule"]
        filled = alice.patch(path, {"schedule": {**daily, **named, "holidays": file}})
        assert filled.json()["schedule"]["holiday_names"] == {
            "2030-05-31": "Children", "2030-06-01": "First of June",
        }  # fmt: skip
        bare = alice.patch(path, {"schedule": daily})
        assert bare.json()["schedule"]["holiday_names"] == {}
        for names, said in (
            ({"2030-06-02": "Sunday"}, "2030-06-02 is none of the days_off."),
            ({"2030-06-01": "a\nb"}, "is one line"),
            ({"2030-06-01": "2030-06-03"}, "begins no date"),
            ({"2030-06-01": ""}, "Must not be empty"),
            ({"2030-06-01": "x" * 61}, "60 characters"),
            ({"soon": "x"}, "soon is none of the days_off."),
        ):
            wrong = alice.patch(path, {"schedule": {**daily, "holiday_names": names}})
            assert wrong.status_code == 400 and said in str(wrong.json()["errors"]), names
        once = {"kind": "at", "at": "2030-05-30T09:00:00Z", **named}
        refused = alice.patch(path, {"schedule": once})
        assert fields_at_fault(refused) == ["schedule.holiday_names"]


def test_a_calendar_files_days_are_left_out(alice: Caller, intent: dict[str, Any]) -> None:
    file = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20300531\nEND:VEVENT\nEND:VCALENDAR\n"
    daily = {"kind": "recurring", "at": "2030-05-30T09:00:00Z", "repeat": "daily"}
    with time_machine.travel("2030-05-01T09:00:00Z", tick=False):
        given = {**daily, "days_off": ["2030-06-01"], "holidays": file}
        made = alice.post("campaigns", {**intent, "schedule": given})
        assert made.status_code == 201, made.content
        assert made.json()["schedule"]["days_off"] == ["2030-05-31", "2030-06-01"]
        assert "holidays" not in made.json()["schedule"]
        for wrong in (
            {**daily, "holidays": "Christmas"},
            {"kind": "at", "at": "2030-05-30T09:00:00Z", "holidays": file},
            {"kind": "now", "holidays": file},
        ):
            refused = alice.post("campaigns", {**intent, "schedule": wrong})
            assert fields_at_fault(refused) == ["schedule.holidays"]
