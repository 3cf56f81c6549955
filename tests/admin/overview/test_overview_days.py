"""The overview's numbers: today against a usual day, devices, the quota, and when it asks again."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from campaigns.admin.overview.daily_bars import days_of
from campaigns.figures import sent
from campaigns.runs.chunk import Chunk
from campaigns.runs.ledger import Window
from campaigns.runs.run import Run
from notifications.people import device_health
from notifications.people.consent.suppression import Suppression
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from tests.admin.desk import Desk
from tests.given.builders import make_contact, make_device, make_people, make_project, make_run

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)  # in Seoul


@pytest.fixture(autouse=True)
def nothing_kept() -> None:
    cache.clear()


def ended(project: Project, at: datetime, *, accepted: int, failed: int = 0) -> Run:
    run = make_run(project, advanced=False)
    Run.objects.filter(pk=run.pk).update(
        state="finished", started_at=at, finished_at=at, planned=accepted + failed,
        accepted=accepted, rejected=failed,
    )  # fmt: skip
    return run


def triggers(desk: Desk) -> str:
    page = desk.client.get(reverse("admin:index")).content.decode()
    return " ".join(re.findall(r'hx-trigger="([^"]*)"', page))


# --- Today and usually ----------------------------------------------------------------------------


def test_a_usual_day_is_the_median_of_the_days_with_runs(project: Project) -> None:
    for ago, accepted in ((1, 100), (2, 300), (9, 200), (40, 9_000)):
        ended(project, NOON - timedelta(days=ago), accepted=accepted, failed=accepted // 10)
    ended(project, NOON, accepted=50, failed=50)
    days = days_of(project, NOON)
    assert (days.today.accepted, days.today.failed, days.today.failed_share) == (50, 50, "50")
    assert days.usual_day == 200 and days.usual_failed == "9.1"
    assert [day.accepted for day in days.shown[-3:]] == [300, 100, 50] and len(days.shown) == 14


def test_nothing_is_usual_before_a_week_is_over(project: Project) -> None:
    ended(project, NOON - timedelta(days=6), accepted=98, failed=2)
    days = days_of(project, NOON)
    assert (days.usual_day, days.usual_failed) == (None, None)
    ended(project, NOON - timedelta(days=7), accepted=98, failed=2)
    cache.clear()
    days = days_of(project, NOON)
    assert (days.usual_day, days.usual_failed) == (98, "2")


def test_the_first_tick_changes_no_number(project: Project) -> None:
    for ago in (1, 7, 8):
        ended(project, NOON - timedelta(days=ago), accepted=100 * ago, failed=ago)
    ended(project, NOON, accepted=5)
    before = days_of(project, NOON)
    sent.keep_levels(NOON)
    assert days_of(project, NOON) == before
    assert before.campaigns.usual == 700 and before.verdict.startswith("0.7 % of what is usual")


def test_a_day_ends_at_the_projects_midnight(project: Project) -> None:
    ended(project, datetime(2026, 11, 20, 15, 30, tzinfo=UTC), accepted=7)  # 0:30 in Seoul
    assert days_of(project, NOON).today.accepted == 7
    project.timezone = "UTC"
    assert days_of(project, NOON).today.accepted == 0


@pytest.mark.parametrize(
    ("usual", "today", "said"),
    [
        (None, 5, "In a week you can compare with the same hours of a Saturday."),
        (100, 0, "Nothing was sent today."),
        (100, 49, "49 % of what is usual by this time on a Saturday."),
        (100, 120, "120 % of what is usual by this time on a Saturday."),
        (0, 5, "Usually nothing is sent by this time on a Saturday."),
        (0, 0, "Nothing was sent today, as usual by this time on a Saturday."),
    ],
)
def test_the_comparison_is_said_in_words(
    project: Project, usual: int | None, today: int, said: str
) -> None:
    if usual is not None:
        ended(project, NOON - timedelta(days=8), accepted=1)
        ended(project, NOON - timedelta(days=7), accepted=usual)
    if today:
        ended(project, NOON, accepted=today)
    assert days_of(project, NOON).verdict == said


def test_single_messages_stand_apart_once_there_are_any(desk: Desk, project: Project) -> None:
    ended(project, timezone.now(), accepted=5)
    assert "Single messages" not in desk.open("index")
    run = ended(project, timezone.now(), accepted=3)
    day = timezone.now().date().isoformat()
    Run.objects.filter(pk=run.pk).update(kind="messages", occurrence=day)
    text = desk.open("index")
    assert "Campaigns 5 accepted by FCM Single messages 3 accepted by FCM" in text


def test_no_bar_leaves_the_chart_and_few_failures_stay_visible(project: Project) -> None:
    ended(project, NOON - timedelta(days=1), accepted=1_000_000, failed=1)
    ended(project, NOON, accepted=0, failed=3)
    for day in days_of(project, NOON).shown:
        assert all(bar.top >= 0 for bar in day.bars if bar)
        assert bool(day.failed) == bool(day.bars[2] and day.bars[2].height >= 2)


def test_the_chart_has_its_numbers_as_a_table_too(desk: Desk, project: Project) -> None:
    ended(project, timezone.now() - timedelta(days=1), accepted=12_345)
    text = desk.open("index")
    assert "12,345" in text and "The numbers Day Accepted Failed" in text


# --- Devices and the quota ------------------------------------------------------------------------


def test_device_health_counts_who_can_be_reached_who_came_and_who_went(
    desk: Desk, project: Project
) -> None:
    now, year = timezone.now(), timedelta(days=365)
    contact = make_contact(project)
    make_device(contact, platform="ios")
    make_device(contact, platform="ios", registered_at=now - year, last_seen_at=now - year)
    gone = make_device(contact, platform="android", registered_at=now - year)
    Device.objects.filter(pk=gone.pk).update(retired_at=now, retired_reason="unregistered")
    text = desk.open("overview_health")
    assert "Android 0 of 0 0 0 % 0 1" in text
    assert "iOS 2 of 2 1 50 % 1 0" in text and "All 2 of 2 1 50 % 1 1" in text


def test_device_health_tells_active_devices_from_those_marketing_reaches(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ada", "bob", "cay", "dan"):
        make_device(make_contact(project, external_id=name, subscribed=name != "bob"))
    for name in ("bob", "cay"):  # one is out for both reasons
        Suppression.objects.create(project=project, external_id=name, at=timezone.now())
    other = make_project()
    Suppression.objects.create(project=other, external_id="dan", at=timezone.now())

    text = desk.open("overview_health")
    assert "Can be reached" in text and "Android 2 of 4" in text and "All 2 of 4" in text

    def within(*, seconds: float) -> Any:
        raise TooSlow

    cache.clear()
    monkeypatch.setattr(device_health, "statement_timeout", within)
    text = desk.open("overview_health")
    assert "Active devices" in text and "Android 4 4" in text and "reached" not in text


def test_without_a_device_health_says_so(desk: Desk, project: Project) -> None:
    assert "No device has registered yet" in desk.open("overview_health")


def test_the_quota_in_use_is_that_of_the_last_minute(desk: Desk, project: Project) -> None:
    Project.objects.update(quota_per_minute=1_000)
    make_people(project, 1)
    run = make_run(project)
    now = timezone.now()
    for ago, count in ((10, 250), (90, 500)):
        opened = now - timedelta(seconds=ago)
        Window.objects.create(
            run=run, chunk=run.chunks.get(), attempt=1, seqs=list(range(count)), opened_at=opened
        )
    assert "FCM quota of Shop: 25 % in use (250 of 1,000 in the last minute)." in desk.open("index")


# --- Who is needed, and when it asks again --------------------------------------------------------


def test_late_starts_and_unknown_outcomes_need_a_person(desk: Desk, project: Project) -> None:
    later = timezone.now() + timedelta(hours=1)
    late = make_run(project, advanced=False, name="Late", schedule_kind="at", at=later)
    Run.objects.filter(pk=late.pk).update(scheduled_at=timezone.now() - timedelta(minutes=10))
    unsure = ended(project, timezone.now(), accepted=5)
    Run.objects.filter(pk=unsure.pk).update(planned=8, unknown=3)
    counts = {"accepted": 5, "unknown": 3, "reasons": {"unanswered": 3}}
    Chunk.objects.create(run=unsure, number=1, first_seq=1, last_seq=8, state="closed", **counts)
    text = desk.open("index")
    assert "It was due 10 min" in text and "has not started" in text
    assert "It ended with 3 unknown outcomes." in text


def test_what_is_scheduled_shows_its_own_clock_and_the_projects(
    desk: Desk, project: Project
) -> None:
    at = datetime(2030, 1, 1, 12, 0, tzinfo=UTC)
    make_run(project, advanced=False, schedule_kind="at", at=at, timezone="Europe/Berlin")
    text = desk.open("index")
    assert "1 Jan 2030, 13:00 Europe/Berlin = 1 Jan 2030, 21:00 Asia/Seoul" in text


def test_it_asks_again_only_while_something_runs_or_is_about_to(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    assert "every 2s" in triggers(desk)
    run.cancel()
    Run.objects.update(finished_at=timezone.now())
    assert "every" not in triggers(desk) and "visibilitychange" in triggers(desk)
    soon = timezone.now() + timedelta(minutes=10)
    make_run(project, advanced=False, schedule_kind="at", at=soon)
    assert "every" not in triggers(desk) and re.search(r"load delay:(59|60)\ds", triggers(desk))
