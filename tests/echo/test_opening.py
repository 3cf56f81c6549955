"""How many open a message is learned from the last runs, and a rate keeps to so many a second."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from campaigns.echo import opening
from campaigns.echo.opening import LEAST_OPENED, LEAST_TOLD, Opening, learned, of_runs
from notifications.people.project import Project
from tests.given.builders import make_people
from tests.given.opened import opened

SECONDS = 40


@given(
    able=st.integers(LEAST_TOLD, 100_000),
    share=st.floats(0.001, 1),
    most=st.integers(1, 500),
    sent=st.lists(st.floats(0, 1), min_size=1, max_size=SECONDS),
    delays=st.lists(st.floats(0, 1), min_size=1, max_size=SECONDS).filter(lambda each: sum(each)),
)
def test_whenever_they_open_it_no_more_a_second_are_expected(
    able: int, share: float, most: int, sent: list[float], delays: list[float]
) -> None:
    """Sent at that rate at most, by any curve of how soon they open it: the convolution of both."""
    known = Opening(max(LEAST_OPENED, round(able * share)), able)
    rate, p = known.rate(most), known.opened / known.able
    curve = [p * one / sum(delays) for one in delays]
    opens = [0.0] * (len(sent) + len(curve))
    for second, part in enumerate(sent):
        for after, likely in enumerate(curve):
            opens[second + after] += rate * part * likely
    assert max(opens) <= most * (1 + 1e-9)


@given(able=st.integers(LEAST_TOLD, 100_000), share=st.floats(0.02, 1), most=st.integers(1, 500))
def test_a_faster_rate_would_break_it_for_readers_who_all_take_as_long(
    able: int, share: float, most: int
) -> None:
    known = Opening(max(LEAST_OPENED, round(able * share)), able)
    assert known.rate(most) * known.opened / known.able == pytest.approx(most)


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(0, 500), st.integers(1, 5_000))))
def test_a_few_runs_count_by_how_many_could_tell_and_too_few_phones_say_nothing(
    told: list[tuple[int, int, int]],
) -> None:
    found = of_runs(told)
    assert found.known == (found.able >= LEAST_TOLD and found.opened >= LEAST_OPENED)
    assert found.able == sum(able for *_, able in told)


@pytest.mark.django_db
def test_it_is_learned_from_runs_that_ended_a_day_ago(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "LEAST_TOLD", 16)
    monkeypatch.setattr(opening, "LEAST_OPENED", 2)
    make_people(project, 8)
    now = timezone.now()
    first = opened(project, count=1)
    assert not learned(project.pk, now).known
    second = opened(project, count=3, days_ago=1.5)
    opened(project, count=8, days_ago=0.5)
    found = learned(project.pk, now)
    assert (found.opened, found.able, found.runs) == (4, 16, [second.pk, first.pk])
    assert found.known and found.rate(10) == 40
    assert len(learned(project.pk, now + timedelta(days=1)).runs) == 3
    monkeypatch.setattr(opening, "LAST_RUNS", 1)
    assert learned(project.pk, now).runs == [second.pk]
