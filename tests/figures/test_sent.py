"""How much was sent so far today, beside the same hours of the weeks before."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from campaigns.figures import sent
from campaigns.figures.sent import ACCEPTED, CAMPAIGNS, FAILED, MESSAGES, SoFar
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from notifications.people.figures import Figure
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from tests.given.builders import make_project, make_run

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)  # in Seoul, a Saturday
WEEK, HOUR = timedelta(days=7), timedelta(hours=1)


@pytest.fixture
def project() -> Project:
    return make_project(timezone="Asia/Seoul")


def ended(project: Project, at: datetime, accepted: int, failed: int = 0) -> Run:
    run = make_run(project, advanced=False)
    Run.objects.filter(pk=run.pk).update(
        state="finished", started_at=at, finished_at=at, planned=accepted + failed,
        accepted=accepted, rejected=failed,
    )  # fmt: skip
    return run


def going_on(project: Project, accepted: int, kind: str = CAMPAIGNS) -> Run:
    run = make_run(project, advanced=False)
    open_day = {"state": "open", "finished_at": NOON, "occurrence": "2026-11-21"}
    as_kind = open_day if kind == MESSAGES else {"state": "sending"}
    Run.objects.filter(pk=run.pk).update(kind=kind, started_at=NOON, planned=accepted, **as_kind)
    Chunk.objects.create(run=run, number=1, first_seq=1, last_seq=1_000, accepted=accepted)
    return run


def counted_so_far(project: Project, now: datetime = NOON) -> dict[str, SoFar]:
    return sent.so_far(project, sent.stand_of(project, now), now)


@pytest.mark.parametrize(
    ("zone", "now"),
    [
        ("America/Santiago", datetime(2026, 9, 6, 15, 0, tzinfo=UTC)),  # no midnight that day
        ("America/Santiago", datetime(2026, 9, 13, 15, 0, tzinfo=UTC)),  # none a week before
        ("America/Havana", datetime(2026, 11, 1, 5, 30, tzinfo=UTC)),  # midnight twice
        ("Europe/Berlin", datetime(2026, 11, 1, 1, 30, tzinfo=UTC)),  # twice 2:30
    ],
)
def test_a_clock_that_is_set_keeps_nobody_from_the_numbers_of_the_day(
    zone: str, now: datetime
) -> None:
    project = make_project(timezone=zone)
    ended(project, now - WEEK - timedelta(minutes=70), accepted=30)
    sent.keep_levels(now - WEEK - timedelta(minutes=65))
    ended(project, now - timedelta(minutes=10), accepted=40)
    found = counted_so_far(project, now)[CAMPAIGNS]
    assert (found.accepted, found.usual) == (40, 30)


def test_today_is_what_came_since_midnight_there(project: Project) -> None:
    ended(project, NOON - timedelta(hours=13), accepted=500)  # 23:00 of the day before
    sent.keep_levels(NOON - timedelta(hours=12, minutes=30))
    ended(project, NOON - HOUR, accepted=40, failed=2)
    going_on(project, 7)
    going_on(project, 9, MESSAGES)
    found = counted_so_far(project)
    assert (found[CAMPAIGNS].accepted, found[CAMPAIGNS].failed) == (47, 2)
    assert (found[MESSAGES].accepted, found[MESSAGES].failed) == (9, 0)


def test_a_run_over_midnight_counts_on_either_day_what_it_sent_there(project: Project) -> None:
    run = going_on(project, 300)
    sent.keep_levels(NOON - timedelta(hours=12, minutes=5))
    Chunk.objects.filter(run=run).update(accepted=1_000)
    assert counted_so_far(project)[CAMPAIGNS].accepted == 700


def test_usual_is_the_mean_of_the_same_hours_of_the_same_weekday(project: Project) -> None:
    for weeks, accepted in ((1, 100), (2, 300)):
        ended(project, NOON - WEEK * weeks - HOUR, accepted=accepted)
    ended(project, NOON - WEEK + HOUR, accepted=9_000)  # later on that day
    ended(project, NOON - timedelta(days=6), accepted=9_000)  # another weekday
    sent.keep_levels(NOON)
    found = counted_so_far(project)[CAMPAIGNS]
    assert (found.usual, found.weeks) == (200, 2)


def test_nine_in_the_morning_stays_nine_when_the_clocks_are_turned() -> None:
    project = make_project(timezone="Europe/Berlin")
    now = datetime(2026, 10, 26, 8, 30, tzinfo=UTC)  # 9:30 in winter
    ended(project, datetime(2026, 10, 19, 7, 15, tzinfo=UTC), accepted=60)  # 9:15 in summer
    sent.keep_levels(now)
    assert counted_so_far(project, now)[CAMPAIGNS].usual == 60


def test_the_first_count_knows_what_runs_ended_before_it(project: Project) -> None:
    for days in (40, 3, 1):
        ended(project, NOON - timedelta(days=days), accepted=10)
    sent.keep_levels(NOON)
    rows = Figure.objects.filter(what=f"{CAMPAIGNS}:{ACCEPTED}").order_by("at")
    assert list(rows.values_list("count", flat=True)) == [10, 20, 30]


def test_counting_twice_and_without_news_writes_nothing(project: Project) -> None:
    ended(project, NOON - HOUR, accepted=10)
    sent.keep_levels(NOON)
    before = set(Figure.objects.values_list("at", "count"))
    sent.keep_levels(NOON)
    sent.keep_levels(NOON + HOUR)
    assert set(Figure.objects.values_list("at", "count")) == before


def test_a_tick_that_was_missed_loses_nothing(project: Project) -> None:
    run = going_on(project, 10)
    sent.keep_levels(NOON - timedelta(days=3))
    Chunk.objects.filter(run=run).update(accepted=50)
    sent.keep_levels(NOON)
    midnights = [NOON - timedelta(days=days) for days in (4, 2, 1)]
    days = sent.stretches(project, sent.stand_of(project, NOON), midnights)
    assert [day[f"{CAMPAIGNS}:{ACCEPTED}"] for day in days] == [10, 0, 40]


def test_who_was_unknown_and_is_accepted_now_makes_no_day_negative(project: Project) -> None:
    run = ended(project, NOON - timedelta(days=1), accepted=5, failed=5)
    sent.keep_levels(NOON - timedelta(hours=13))
    Run.objects.filter(pk=run.pk).update(accepted=10, rejected=0)
    found = counted_so_far(project)[CAMPAIGNS]
    assert (found.accepted, found.failed) == (5, 0)


def test_old_levels_go_and_the_last_of_them_stays(project: Project) -> None:
    for days in (60, 50, 2):
        ended(project, NOON - timedelta(days=days), accepted=10)
    sent.keep_levels(NOON)
    kept = Figure.objects.filter(what=f"{CAMPAIGNS}:{ACCEPTED}").values_list("count", flat=True)
    assert sorted(kept) == [20, 30]


def test_another_projects_are_not_counted(project: Project) -> None:
    ended(make_project(), NOON - HOUR, accepted=99)
    assert counted_so_far(project)[CAMPAIGNS] == SoFar(0, 0, None)


def test_what_takes_too_long_is_told_as_the_last_tick_counted_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(project, NOON - HOUR, accepted=10)
    sent.keep_levels(NOON - HOUR)

    def within(*, seconds: float) -> None:
        raise TooSlow

    monkeypatch.setattr(sent, "statement_timeout", within)
    stand = sent.stand_of(project, NOON)
    assert (stand.at, stand.counts[f"{CAMPAIGNS}:{ACCEPTED}"]) == (NOON - HOUR, 10)
    assert stand.counts[f"{MESSAGES}:{FAILED}"] == 0
