"""GET holidays: a country's public holidays, as a schedule takes them."""

from __future__ import annotations

from typing import Any

import pytest
import time_machine

from tests.api.caller import Caller, fields_at_fault

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_september() -> Any:
    with time_machine.travel("2026-09-24T09:00:00Z", tick=False):
        yield


def test_what_is_answered_can_be_given_to_a_schedule(alice: Caller, intent: dict[str, Any]) -> None:
    found = alice.get("holidays?country=KR&until=2026&language=ko").json()
    assert found["holiday_names"]["2026-12-25"] == "기독탄신일"
    assert sorted(found["holiday_names"]) == found["days_off"]
    daily = {"kind": "recurring", "repeat": "daily", "at": "2026-10-01T00:00:00Z"}
    taken = {name: found[name] for name in ("days_off", "holiday_names")}
    made = alice.post("campaigns", {**intent, "schedule": {**daily, **taken}})
    assert made.status_code == 201, made.json()
    assert made.json()["schedule"]["holiday_names"] == found["holiday_names"]


def test_without_a_year_they_end_with_the_next_one_and_parts_are_named(alice: Caller) -> None:
    found = alice.get("holidays?country=DE").json()
    assert (min(found["days_off"]), max(found["days_off"])) == ("2026-10-03", "2027-12-26")
    assert {"code": "BY", "name": "Bayern"} in found["parts"]
    more = alice.get("holidays?country=DE&part=BY").json()["days_off"]
    assert set(more) - set(found["days_off"]) == {"2026-11-01", "2027-11-01", "2027-01-06",
                                                  "2027-05-27"}  # fmt: skip


@pytest.mark.parametrize(
    ("query", "field", "said"),
    [
        ("", "country", "Is missing"),
        ("country=XX", "country", "is no country with known holidays"),
        ("country=K%00R", "country", ""),
        ("country=DE&part=ZZ", "part", "is no part of DE"),
        ("country=KR&until=2040", "until", "Choose a year from 2026 to 2031."),
        ("country=KR&until=" + "9" * 5_000, "until", ""),
        ("country=KR&language=../x", "language", "Use a language tag"),
        ("country=KR&years=2026", "years", "Unknown parameter"),
    ],
)
def test_what_is_asked_wrong_is_refused_by_its_field(
    alice: Caller, query: str, field: str, said: str
) -> None:
    refused = alice.get(f"holidays?{query}")
    assert fields_at_fault(refused) == [field]
    assert said in refused.json()["errors"][0]["message"]
