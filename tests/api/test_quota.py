"""The quota planner for programs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from campaigns import control
from campaigns.audiences import estimating
from campaigns.forecast.other_runs import planned_runs, run_sizes
from campaigns.planning.campaign import Campaign
from campaigns.sending import sending
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_people, make_project, make_run
from tests.given.builders import make_scheduled_run as scheduled

pytestmark = pytest.mark.django_db
NINE = datetime(2031, 5, 14, 9, tzinfo=UTC)


@pytest.fixture(autouse=True)
def at_ten_a_second(ours: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quota is 750 a minute."""
    cache.clear()
    monkeypatch.setattr(estimating, "SAMPLE_SECONDS", 10.0)  # nothing is estimated
    monkeypatch.setattr(run_sizes, "COUNTING_SECONDS", 60.0)
    Project.objects.update(quota_per_minute=750, timezone="UTC")


def quota(caller: Caller, query: str = "") -> dict[str, Any]:
    reply = caller.get(f"quota?day=2031-05-14{query}")
    assert reply.status_code == 200, reply.content
    found: dict[str, Any] = reply.json()
    return found


def test_it_tells_by_the_hour_what_is_planned(alice: Caller, ours: Project) -> None:
    make_people(ours, 600)
    run = scheduled(ours, NINE)
    found = quota(alice)
    assert (found["quota_per_minute"], found["rate_per_second"]) == (750, 10.0)
    assert (found["firebase_project"], found["projects"]) == ("carillon-demo", 1)
    assert len(found["hours"]) == 48
    assert found["hours"][9] == {
        "begins_at": "2031-05-14T09:00:00Z", "sent": 0, "planned": 600, "share": 0.0167,
    }  # fmt: skip
    [one] = found["planned"]
    assert (one["campaign"], one["run"], one["messages"]) == (run.campaign.pk, run.pk, 600)
    assert one["ends_at"].startswith("2031-05-14T09:00:59")
    assert found["another"] is None


def test_a_day_on_which_the_clocks_are_changed_has_its_own_number_of_hours(
    alice: Caller, ours: Project
) -> None:
    Project.objects.update(timezone="Europe/Berlin")
    assert len(alice.get("quota?day=2031-03-30").json()["hours"]) == 47
    assert len(alice.get("quota?day=2031-10-26").json()["hours"]) == 49


def test_another_project_at_the_same_firebase_project_counts_and_is_not_named(
    alice: Caller, ours: Project
) -> None:
    twin = make_project(quota_per_minute=750)
    make_people(twin, 60)
    scheduled(twin, NINE)
    [one] = quota(alice)["planned"]
    assert (one["campaign"], one["run"], one["messages"]) == (None, None, 60)


def test_it_says_what_so_many_messages_would_push_out(alice: Caller, ours: Project) -> None:
    make_people(ours, 600)
    run = scheduled(ours, NINE)
    another = quota(alice, "&messages=600&at=2031-05-14T09:00:00Z")["another"]
    [pushed] = another["pushes_out"]
    assert (pushed["run"], pushed["fewer"]) == (run.pk, 0)
    assert pushed["later_seconds"] == pytest.approx(60, abs=1)
    alone, beside = (datetime.fromisoformat(another[of]) for of in ("alone_ends_at", "ends_at"))
    assert beside - alone == pytest.approx(timedelta(seconds=60), abs=timedelta(seconds=1))


def test_it_says_what_a_campaign_would_push_out_at_its_own_time(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 600)
    scheduled(ours, NINE)
    campaign = make_campaign(ours, schedule_kind="at", at=NINE, timezone="UTC")
    another = quota(alice, f"&campaign={campaign.pk}")["another"]
    assert (another["begins_at"], another["messages"]) == ("2031-05-14T09:00:00Z", 600)
    assert len(another["pushes_out"]) == 1


def test_what_it_pushes_out_is_found_on_whatever_day_it_would_be_sent(
    alice: Caller, ours: Project
) -> None:
    """The hours that are shown are of other days."""
    make_people(ours, 600)
    run = scheduled(ours, NINE)
    campaign = make_campaign(ours, schedule_kind="at", at=NINE, timezone="UTC")
    for query in (
        "messages=600&at=2031-05-14T09:00:00Z",
        "messages=36000&at=2031-05-14T08:00:30Z",
        f"campaign={campaign.pk}",
        f"campaign={campaign.pk}&at=2031-05-14T09:00:00Z",
    ):
        found = alice.get(f"quota?{query}").json()
        assert [one["run"] for one in found["another"]["pushes_out"]] == [run.pk], query
        assert found["planned"] == []
    of_itself = alice.get(f"quota?campaign={run.campaign.pk}").json()["another"]
    assert (of_itself["messages"], of_itself["pushes_out"]) == (600, [])


@pytest.fixture
def hourly(ours: Project) -> Campaign:
    """Has a run each hour, to three people."""
    make_people(ours, 3)
    timed = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 * * * *"}
    series = make_campaign(ours, **timed, at=NINE, timezone="UTC")
    control.launch(series, by="user:bob", now=timezone.now())
    return series


@pytest.mark.usefixtures("hourly")
def test_what_is_over_by_then_takes_no_place_of_what_comes(alice: Caller) -> None:
    found = alice.get("quota?day=2031-05-26").json()
    assert [hour["planned"] for hour in found["hours"]] == [3] * 48
    assert (len(found["planned"]), found["not_reckoned"]) == (48, 0)


@pytest.mark.usefixtures("hourly")
def test_it_says_how_many_more_are_planned_than_it_reckons(
    alice: Caller, ours: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that goes on since the days before is among them."""
    week = {"spread_seconds": 6 * 86_400, "ttl_seconds": 7 * 86_400}
    long = scheduled(ours, NINE + timedelta(days=5), **week)
    monkeypatch.setattr(planned_runs, "MOST", 30)
    found = alice.get("quota?day=2031-05-20").json()
    assert (len(found["planned"]), found["not_reckoned"]) == (30, 19)
    assert max(one["begins_at"] for one in found["planned"]) == "2031-05-21T05:00:00Z"
    assert long.pk not in [one["run"] for one in found["planned"]]
    monkeypatch.setattr(planned_runs, "MOST", 49)
    found = alice.get("quota?day=2031-05-20").json()
    assert (len(found["planned"]), found["not_reckoned"]) == (49, 0)
    assert found["planned"][0]["run"] == long.pk


def test_the_rest_of_what_is_spread_goes_on_at_the_rate_of_the_whole(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 600)
    run = make_run(ours, spread_seconds=6_000)
    assert (run.state, run.planned) == ("sending", 600)
    run.chunks.filter(pk=run.chunks.earliest("pk").pk).update(accepted=540)
    [one] = alice.get("quota").json()["planned"]
    lasts = datetime.fromisoformat(one["ends_at"]) - datetime.fromisoformat(one["begins_at"])
    assert (one["run"], one["messages"]) == (run.pk, 60)
    assert lasts == pytest.approx(timedelta(seconds=590), abs=timedelta(seconds=1))


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("day=soon", "day"),
        ("day=0001-01-01", "day"),
        ("day=9999-12-31", "day"),
        ("campaign=x", "campaign"),
        ("messages=0&at=2031-05-14T09:00:00Z", "messages"),
        ("messages=5", "at"),
        ("messages=5&at=2020-05-14T09:00:00Z", "at"),
        ("messages=5&at=2031-05-14T09:00:00", "at"),
        ("at=2031-05-14T09:00:00Z", "at"),
        ("campaign=1&messages=5&at=2031-05-14T09:00:00Z", "messages"),
        ("hour=1", "hour"),
    ],
)
def test_a_query_at_fault_is_named(alice: Caller, ours: Project, query: str, field: str) -> None:
    reply = alice.get(f"quota?{query}")
    assert reply.status_code == 400 and fields_at_fault(reply) == [field]


def test_a_campaign_of_another_project_does_not_exist_here(alice: Caller, ours: Project) -> None:
    other = make_campaign(make_project())
    assert fields_at_fault(alice.get(f"quota?campaign={other.pk}")) == ["campaign"]


def test_no_more_a_second_is_planned_than_the_workers_surely_send(
    alice: Caller, ours: Project, settings: Any
) -> None:
    settings.WORKERS = 2
    Project.objects.update(quota_per_minute=600_000)
    asked = "&messages=7200000&at=2031-05-14T09:00:00Z"
    another = quota(alice, asked)["another"]
    assert another["alone_ends_at"].startswith("2031-05-14T09:59:5"), "2,000 a second"
    Project.objects.update(quota_per_minute=75_000)
    another = quota(alice, asked)["another"]
    assert another["alone_ends_at"].startswith("2031-05-14T10:59:5"), "80 % of the quota"


def test_of_a_series_that_everybody_gets_once_only_the_next_run_has_people(
    alice: Caller, ours: Project
) -> None:
    make_people(ours, 3)
    timed = {"schedule_kind": "recurring", "repeat": "cron", "cron": "0 * * * *"}
    series = make_campaign(ours, **timed, at=NINE, timezone="UTC", once_each=True)
    control.launch(series, by="user:bob", now=timezone.now())
    found = quota(alice)
    assert [one["messages"] for one in found["planned"][:3]] == [3, 0, 0]
    assert [hour["planned"] for hour in found["hours"][8:12]] == [0, 3, 0, 0]


def test_who_sleeps_is_planned_for_the_time_that_was_said_to_them(
    project: Project,
) -> None:
    """Whoever came into the audience since is not in the run."""
    asleep_for(project, hours=3, many=2)
    now = timezone.now().replace(microsecond=0)
    timed: dict[str, Any] = {"schedule_kind": "at", "at": now, "timezone": "UTC"}
    run = make_run(project, **timed, local_time=True)
    sending.send(run.pk, 1, run.epoch)
    assert run.retries.count() == 2
    asleep_for(project, hours=6, many=600)
    found = Caller(project).get("quota").json()
    wakes = now + timedelta(hours=3)
    [one] = found["planned"]
    assert (one["run"], one["messages"]) == (run.pk, 2)
    assert one["ends_at"].startswith(f"{wakes:%Y-%m-%dT%H:%M}")
    busy = {hour["begins_at"]: hour["planned"] for hour in found["hours"] if hour["planned"]}
    assert busy == {f"{wakes:%Y-%m-%dT%H}:00:00Z": 2}


def asleep_for(project: Project, hours: int, many: int) -> None:
    """Whose clock is so far behind."""
    people = [device.contact_id for device in make_people(project, many)]
    Contact.objects.filter(pk__in=people).update(timezone=f"Etc/GMT+{hours}")
