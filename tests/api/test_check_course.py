"""The forecast of a check: how many messages leave when, and who comes too late."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

import pytest
import time_machine
from django.utils import timezone

from campaigns.engagement import opening
from campaigns.runs.caps.counted_pushes import Counted
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.api.checking import checked
from tests.given.builders import (
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_scheduled_run,
    make_template,
)
from tests.given.opened import opened, took

NINE_IN_SEOUL = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def ours(db: None) -> Project:
    return make_project(
        uses_default_credentials=True, quiet_from=time(21), quiet_until=time(8), timezone="UTC"
    )


def test_a_rate_says_how_many_leave_in_each_second(alice: Caller, ours: Project) -> None:
    make_people(ours, 25)
    with time_machine.travel(NINE_IN_SEOUL, tick=False):
        told = checked(alice, make_campaign(ours, rate_per_second=10))["forecast"]
    assert told == {
        "sent": 25,
        "too_late": {},
        "ends_at": "2026-12-01T12:00:02.400000Z",
        "step_seconds": 1,
        "counts": [10, 10, 5],
        "exact": True,
        "beside": [],
        "opens": None,
    }


def test_it_says_how_many_open_it_when(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MIN_TOLD", 8)
    monkeypatch.setattr(opening, "MIN_OPENED", 4)
    make_people(ours, 8)
    past = opened(ours, count=4)
    took(past, [60, 60, 120, 240])
    with time_machine.travel(NINE_IN_SEOUL, tick=False):
        told = checked(alice, make_campaign(ours, rate_per_second=4))["forecast"]["opens"]
    assert told == {
        "expected": 4,
        "told": 4,
        "share": 0.5,
        "runs": [past.pk],
        "half_after_seconds": 120,
        "most_per_second": 1,
        "step_seconds": 5,
        "counts": [*[0] * 12, 2, *[0] * 11, 1, *[0] * 23, 1],
    }


def test_what_is_planned_meanwhile_takes_its_part(alice: Caller, ours: Project) -> None:
    """Each of the two has half of ten a second, until one of them is over."""
    Project.objects.update(quota_per_minute=750)
    make_people(ours, 300)
    with time_machine.travel(NINE_IN_SEOUL - timedelta(hours=1), tick=False):
        at = {"schedule_kind": "at", "at": NINE_IN_SEOUL, "timezone": "UTC"}
        campaign = make_campaign(ours, **at)
        alone = checked(alice, campaign)["forecast"]
        make_scheduled_run(ours, NINE_IN_SEOUL, name="Lanterns")
        make_scheduled_run(ours, NINE_IN_SEOUL + timedelta(hours=1), name="Later")
        both = checked(alice, campaign)["forecast"]
    assert (alone["ends_at"][11:19], alone["beside"]) == ("12:00:29", [])
    assert (both["ends_at"][11:19], both["beside"]) == ("12:00:59", ["Lanterns"])


def test_who_sleeps_gets_it_in_the_morning_or_is_too_late(alice: Caller, ours: Project) -> None:
    make_people(ours, 30)
    in_seoul = Contact.objects.order_by("pk").values("pk")[:10]
    Contact.objects.filter(pk__in=in_seoul).update(timezone="Asia/Seoul")
    with time_machine.travel(NINE_IN_SEOUL, tick=False):
        waits = checked(alice, make_campaign(ours, ttl_seconds=86_400))["forecast"]
        late = checked(alice, make_campaign(ours, ttl_seconds=3_600))["forecast"]
    assert (waits["sent"], waits["too_late"]) == (30, {})
    assert (waits["counts"][0], waits["counts"][-1]) == (20, 10)
    assert waits["ends_at"].startswith("2026-12-01T23:00")
    assert (late["sent"], late["too_late"]) == (20, {"quiet_hours": 10})


def test_where_everybody_is_skipped_nobody_is_sent_to(alice: Caller, ours: Project) -> None:
    make_people(ours, 2)
    template = make_template(ours, body="{{ story }}")
    found = checked(alice, make_campaign(ours, template=template))["forecast"]
    assert (found["sent"], found["counts"], found["exact"]) == (0, [], True)


def test_as_many_leave_as_are_sent_to_but_for_those_who_are_too_late(
    alice: Caller, ours: Project
) -> None:
    """Also where some have no zone, and others have had enough."""
    Project.objects.update(cap_per_day=1)
    now = timezone.now().replace(microsecond=0)
    for number in range(12):
        one = make_device(make_contact(ours, timezone="UTC" if number < 6 else ""))
        if number < 2:
            an_hour_ago = now - timedelta(hours=1)
            Counted.objects.create(
                contact_id=one.contact_id, run_id=0, seq=number, message=0, at=an_hour_ago
            )
    campaign = make_campaign(
        ours, schedule_kind="at", at=now, timezone="UTC", local_time=True, zoneless="skip"
    )
    told = checked(alice, campaign)
    assert (told["who"]["sent_to"], told["forecast"]["sent"]) == (4, 4)
    assert told["forecast"]["too_late"] == {}


def test_what_it_cannot_count_it_does_not_foretell(alice: Caller, ours: Project) -> None:
    assert checked(alice, make_campaign(ours))["forecast"] is None
