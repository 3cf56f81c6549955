"""How many open a message is learned from the last runs, and a rate keeps to so many a second."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.engagement import opening
from campaigns.engagement.opening import (
    MIN_OPENED,
    MIN_TOLD,
    OpenDelays,
    OpenRate,
    add_up,
    load_open_delays,
    load_open_rate,
)
from campaigns.engagement.receipt import Receipt
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_people
from tests.given.opened import opened, took

SECONDS = 40


@given(
    able=st.integers(MIN_TOLD, 100_000),
    share=st.floats(0.001, 1),
    most=st.integers(1, 500),
    sent=st.lists(st.floats(0, 1), min_size=1, max_size=SECONDS),
    delays=st.lists(st.floats(0, 1), min_size=1, max_size=SECONDS).filter(lambda each: sum(each)),
)
def test_whenever_they_open_it_no_more_a_second_are_expected(
    able: int, share: float, most: int, sent: list[float], delays: list[float]
) -> None:
    """Sent at that rate at most, by any curve of how soon they open it: the convolution of both."""
    known = OpenRate(max(MIN_OPENED, round(able * share)), able)
    rate, p = known.rate(most), known.opened / known.able
    curve = [p * one / sum(delays) for one in delays]
    opens = [0.0] * (len(sent) + len(curve))
    for second, part in enumerate(sent):
        for after, likely in enumerate(curve):
            opens[second + after] += rate * part * likely
    assert max(opens) <= most * (1 + 1e-9)


@given(able=st.integers(MIN_TOLD, 100_000), share=st.floats(0.02, 1), most=st.integers(1, 500))
def test_a_faster_rate_would_break_it_for_readers_who_all_take_as_long(
    able: int, share: float, most: int
) -> None:
    known = OpenRate(max(MIN_OPENED, round(able * share)), able)
    assert known.rate(most) * known.opened / known.able == pytest.approx(most)


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(0, 500), *2 * [st.integers(1, 5_000)])))
def test_a_few_runs_count_by_how_many_could_tell_and_too_few_phones_say_nothing(
    told: list[tuple[int, int, int, int]],
) -> None:
    found = add_up(told)
    assert found.known == (found.able >= MIN_TOLD and found.opened >= MIN_OPENED)
    assert found.able == sum(able for *_, able, _reached in told)
    assert found.reached == sum(reached for *_, reached in told)


@pytest.mark.django_db
def test_it_is_learned_from_runs_that_ended_a_day_ago(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "MIN_TOLD", 16)
    monkeypatch.setattr(opening, "MIN_OPENED", 2)
    make_people(project, 8)
    now = timezone.now()
    first = opened(project, count=1)
    assert not load_open_rate(project.pk, now).known
    second = opened(project, count=3, days_ago=1.5)
    opened(project, count=8, days_ago=0.5)
    found = load_open_rate(project.pk, now)
    assert (found.opened, found.able, found.runs) == (4, 16, [second.pk, first.pk])
    assert found.known and found.rate(10) == 40
    assert len(load_open_rate(project.pk, now + timedelta(days=1)).runs) == 3
    monkeypatch.setattr(opening, "LAST_RUNS", 1)
    assert load_open_rate(project.pk, now).runs == [second.pk]


# --- How soon -------------------------------------------------------------------------------------


def of(*runs: Run) -> OpenDelays:
    return load_open_delays(OpenRate(opened=99, able=99, runs=[run.pk for run in runs]))


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MIN_OPENED", 2)


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_how_soon_they_open_it_is_learned_from_all_of_these_runs(project: Project) -> None:
    make_people(project, 4)
    first, second = opened(project, count=3), opened(project, count=1)
    took(first, [60, 3_600, 5])
    took(second, [90])
    found = of(first, second)
    assert found.seconds == [5, 60, 90, 3_600]
    assert [found.share(at) for at in (0, 5, 89, 90, 3_600)] == [0, 0.25, 0.5, 0.75, 1]
    assert (found.after(0.0), found.after(0.5), found.after(1.0)) == (5, 90, 3_600)


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(("phone", "counts"), [(30, 30), (-30, 90), (120, 90), (None, 90)])
def test_the_clock_of_a_phone_counts_where_it_can_be_right(
    project: Project, phone: int | None, counts: int
) -> None:
    """It told after 90 seconds."""
    make_people(project, 2)
    run = opened(project, count=2)
    took(run, [90, 90])
    for one in Delivery.objects.filter(run_id=run.pk):
        at = None if phone is None else one.at + timedelta(seconds=phone)
        Receipt.objects.filter(run_id=run.pk, seq=one.seq).update(phone_at=at)
    assert of(run).seconds == [counts, counts]


@pytest.mark.django_db
def test_where_too_few_opened_it_nobody_knows_how_soon(project: Project) -> None:
    make_people(project, 2)
    run = opened(project, count=2)
    assert not of(run).seconds
    assert not of().seconds


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_of_recipients_that_were_removed_nobody_knows_how_soon(project: Project) -> None:
    make_people(project, 2)
    run = opened(project, count=2)
    Receipt.objects.all().delete()
    assert not of(run).seconds


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_a_run_of_many_is_asked_in_all_of_its_parts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "PARTS", 3)
    monkeypatch.setattr(opening, "IN_A_PART", 2)
    make_people(project, 12)
    run = opened(project, count=12)
    took(run, range(12))
    assert of(run).seconds == [0, 1, 4, 5, 8, 9]


@pytest.mark.django_db
@pytest.mark.usefixtures("few")
def test_of_many_opens_some_are_kept_at_even_parts(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "KEPT", 3)
    make_people(project, 9)
    run = opened(project, count=9)
    took(run, range(9))
    assert of(run).seconds == [1, 4, 7]
