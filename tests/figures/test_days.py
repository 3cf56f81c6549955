"""Each day: who can be reached, how many said no, and how many addresses FCM called dead."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.core.cache import cache
from django.utils import timezone

from campaigns import tasks
from notifications.people import figures
from notifications.people.consent.change import ConsentChange
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import suppress
from notifications.people.device import Device, retire
from notifications.people.figures import (
    DEAD,
    KEPT,
    OPTED_OUT,
    REACHABLE,
    Figure,
    keep_days,
    midnight,
)
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_project

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)  # in Seoul
DAY = timedelta(days=1)


@pytest.fixture
def project() -> Project:
    cache.clear()
    project = make_project(timezone="Asia/Seoul")
    Project.objects.update(created_at=NOON - 10 * DAY)
    project.refresh_from_db()
    return project


def said_no(project: Project, at: datetime, category: str = EVERYTHING) -> None:
    person = make_contact(project)
    ConsentChange.objects.create(
        project=project, contact=person, category=category, wanted=False, at=at, source="api"
    )


def dead(project: Project, at: datetime, by: str = "run:1") -> None:
    device = make_device(make_contact(project))
    Device.objects.filter(pk=device.pk).update(
        retired_at=at, retired_reason="unregistered", retired_by=by
    )


def kept(what: str) -> dict[int, int]:
    """By how many days ago."""
    today = midnight("Asia/Seoul", NOON)
    rows = Figure.objects.filter(what=what).order_by("at")
    return {(today - row.at).days: row.count for row in rows}


def test_who_has_a_device_and_wants_to_hear_can_be_reached(project: Project) -> None:
    for name in ("ada", "bob", "cay", "dan"):
        make_device(make_contact(project, external_id=name))
    make_device(make_contact(project, external_id="eve", subscribed=False))
    twice = make_contact(project, external_id="fay")
    make_device(twice)
    make_device(twice)
    make_contact(project, external_id="without")
    dead(project, NOON)
    suppress(project, ["bob", "without", "nobody"], reason="", by="user:ada", now=NOON)
    make_device(make_contact(make_project()))
    keep_days(project, NOON)
    assert kept(REACHABLE) == {0: 4}  # ada, cay, dan and fay


def test_it_is_counted_once_a_day(project: Project) -> None:
    make_device(make_contact(project))
    keep_days(project, NOON)
    make_device(make_contact(project))
    keep_days(project, NOON + timedelta(hours=1))
    assert kept(REACHABLE) == {0: 1}
    keep_days(project, NOON + DAY)
    assert kept(REACHABLE) == {0: 1, -1: 2}


def test_what_happened_is_known_from_before_the_first_count(project: Project) -> None:
    said_no(project, NOON - 3 * DAY)
    said_no(project, NOON - 3 * DAY, category="offers")  # of one category only
    dead(project, NOON - DAY)
    dead(project, NOON - DAY, by="")  # taken back by its app
    keep_days(project, NOON)
    assert kept(OPTED_OUT) == {ago: int(ago == 3) for ago in range(11)}
    assert kept(DEAD) == {ago: int(ago == 1) for ago in range(11)}


def test_a_day_ends_at_the_projects_midnight(project: Project) -> None:
    said_no(project, datetime(2026, 11, 20, 15, 30, tzinfo=UTC))  # 0:30 in Seoul
    said_no(project, datetime(2026, 11, 20, 14, 30, tzinfo=UTC))
    keep_days(project, NOON)
    assert (kept(OPTED_OUT)[0], kept(OPTED_OUT)[1]) == (1, 1)


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        ("Africa/Cairo", date(2026, 4, 24)),  # the clocks go from 23:59 to 1:00
        ("America/Santiago", date(2026, 9, 6)),
        ("America/Havana", date(2026, 11, 1)),  # and here it is midnight twice
        ("Asia/Seoul", date(2026, 4, 24)),
    ],
)
@pytest.mark.parametrize("begun", [0, 1], ids=["from-the-day-before", "from-that-day"])
def test_a_day_whose_clock_is_set_at_midnight_is_counted_as_others_are(
    project: Project, zone: str, day: date, begun: int
) -> None:
    noons = [
        datetime(day.year, day.month, day.day, 12, tzinfo=ZoneInfo(zone)) + DAY * ago
        for ago in (-1, 0, 1)
    ]
    Project.objects.update(timezone=zone, created_at=noons[begun] - timedelta(hours=1))
    project.refresh_from_db()
    for noon in noons:
        said_no(project, noon)
        dead(project, noon)
    keep_days(project, noons[-1])
    for what in (OPTED_OUT, DEAD):
        rows = Figure.objects.filter(what=what).order_by("at").values_list("at", "count")
        assert list(rows) == [(midnight(zone, noon), 1) for noon in noons[begun:]]


def test_today_is_counted_anew_with_each_tick(project: Project) -> None:
    dead(project, NOON)
    keep_days(project, NOON)
    dead(project, NOON)
    keep_days(project, NOON + timedelta(minutes=10))
    assert kept(DEAD)[0] == 2
    Device.objects.update(retired_at=None, retired_reason="", retired_by="")
    keep_days(project, NOON + timedelta(minutes=20))
    assert kept(DEAD)[0] == 0


def test_days_without_a_tick_are_counted_by_the_next(project: Project) -> None:
    keep_days(project, NOON - 3 * DAY)
    said_no(project, NOON - 2 * DAY)
    said_no(project, NOON - 3 * DAY + timedelta(hours=2))
    keep_days(project, NOON)
    assert [kept(OPTED_OUT)[ago] for ago in (3, 2, 1, 0)] == [1, 1, 0, 0]


def test_they_are_kept_for_400_days(project: Project) -> None:
    for at in (NOON - KEPT - DAY, NOON - KEPT - 2 * DAY, NOON - KEPT + DAY):
        Figure.objects.create(project=project, what=REACHABLE, at=at, count=1, counted_at=at)
    figures.forget_old(NOON)
    # Of those that are older one stays, as of every row that the next ones go on from.
    assert set(kept(REACHABLE)) == {398, 400}


def test_what_takes_too_long_is_left_out_and_tried_on_the_next_day(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "COUNT_REACHABLE", "SELECT pg_sleep(5)")
    monkeypatch.setattr(figures, "COUNTING_SECONDS", 0.05)
    keep_days(project, NOON)
    assert kept(REACHABLE) == {}
    monkeypatch.undo()
    keep_days(project, NOON)
    assert kept(REACHABLE) == {}
    keep_days(project, NOON + DAY)
    assert kept(REACHABLE) == {-1: 0}


def test_beats_tick_keeps_them_for_every_project(project: Project) -> None:
    now, other = timezone.now(), make_project()
    person = make_contact(other)
    device = make_device(person, registered_at=now - DAY)
    record_answers(
        other,
        [ConsentAnswer(person.external_id, EVERYTHING, False)],
        source="api",
        by="key:a",
        now=now,
    )
    retire([device.pk], reason="unregistered", by="run:1", sent_at=now, now=now)
    tasks.tidy()
    today = Figure.objects.filter(project=other, at=midnight(other.timezone, timezone.now()))
    assert dict(today.values_list("what", "count")) == {REACHABLE: 0, OPTED_OUT: 1, DEAD: 1}
    assert Figure.objects.filter(project=project, what=REACHABLE).exists()
