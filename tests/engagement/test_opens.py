"""Of each person is kept in which hours of their day they open messages, and for how long."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import chain
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns import tasks
from campaigns.engagement.receipt import Event, Report
from campaigns.engagement.store_receipts import keep
from campaigns.engine import forgetting
from campaigns.runs import best_hour
from campaigns.runs.best_hour import DAYS, LEAST, MIN_IN_IT, Best, Opens, best_of
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_run

pytestmark = pytest.mark.django_db
SEOUL = "Asia/Seoul"
A_DAY, AN_HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
def ada(project: Project) -> Contact:
    return make_contact(project, external_id="ada", timezone=SEOUL)


def sent(project: Project, person: Contact) -> Run:
    """Days ago, to their only device."""
    if not person.devices.exists():
        make_device(person)
    run = make_run(project)
    Run.objects.filter(pk=run.pk).update(started_at=timezone.now() - 9 * A_DAY)
    return run


def tells(run: Run, at: datetime | None = None, event: Event = Event.OPENED) -> None:
    keep([Report(run.pk, 1, event, at)])


def kept(person: Contact) -> list[str]:
    return best_hour.stored_opens(person.pk)


def in_seoul(at: datetime) -> str:
    return f"{at.astimezone(ZoneInfo(SEOUL)):%Y-%m-%dT%H}"


# --- The choice ----------------------------------------------------------------------------------


def best_by_hand(ago: list[int]) -> tuple[int, int, int] | None:
    """The hour with most opens; of those that tie, the one of the latest open."""
    new = sorted(one for one in ago if one < DAYS * 24)
    hours = [best_hour.on_their_clock(timezone.now() - one * AN_HOUR, "UTC") % 24 for one in new]
    count = Counter(hours)
    most = max(count.values(), default=0)
    if len(hours) < LEAST or most < MIN_IN_IT:
        return None
    return next(hour for hour in hours if count[hour] == most), most, len(hours)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(st.integers(0, 100) | st.integers(0, DAYS * 24 + 100), max_size=6), max_size=4
    )
)
def test_the_best_hour_is_the_one_in_which_they_opened_most_and_last(
    ada: Contact, ago: list[list[int]]
) -> None:
    """However many are told at once, and in whichever order."""
    Opens.objects.all().delete()
    now = timezone.now()
    for told in ago:
        best_hour.keep([(ada.pk, "UTC", now - one * AN_HOUR) for one in told])
    best = best_of(ada.pk)
    assert (best and (best.hour, best.opened, best.of)) == best_by_hand([*chain(*ago)])


def test_who_never_opened_anything_has_none(ada: Contact) -> None:
    assert best_of(ada.pk) is None
    assert str(Best(19, 14, 21).words) == (
        "Best hour: 19 (opened 14 of 21 between 19:00 and 20:00 in the last 90 days)."
    )


# --- What is kept --------------------------------------------------------------------------------


def test_an_open_counts_at_the_hour_that_their_clock_showed(project: Project, ada: Contact) -> None:
    at = timezone.now() - 30 * AN_HOUR
    run = sent(project, ada)
    tells(run, at)
    tells(run, at - AN_HOUR)  # the same message again
    tells(run, at, Event.RECEIVED)
    tells(sent(project, ada), at - AN_HOUR)
    assert kept(ada) == [in_seoul(at), in_seoul(at - AN_HOUR)]


def test_a_phone_whose_clock_cannot_be_right_counts_as_it_tells(
    project: Project, ada: Contact
) -> None:
    now = timezone.now()
    for wrong in (now + 9 * A_DAY, now - 99 * A_DAY, None):
        tells(sent(project, ada), wrong)
    assert set(kept(ada)) <= {in_seoul(now), in_seoul(now + AN_HOUR / 60)}
    assert len(kept(ada)) == 3


@pytest.mark.parametrize("zone", ["", "Mars/Base"])
def test_who_has_no_clock_that_anybody_knows_has_no_hours(project: Project, zone: str) -> None:
    lost = make_contact(project, timezone=zone)
    tells(sent(project, lost))
    assert kept(lost) == []


def test_of_somebody_who_opens_all_day_the_newest_are_kept(ada: Contact) -> None:
    now = timezone.now()
    best_hour.keep([(ada.pk, SEOUL, now - n * AN_HOUR) for n in range(70)])
    best_hour.keep([(ada.pk, SEOUL, now - n * AN_HOUR) for n in range(70, 140)])
    assert kept(ada) == [in_seoul(now - n * AN_HOUR) for n in range(best_hour.MOST)]


def test_they_outlive_the_recipients_of_the_run(project: Project, ada: Contact) -> None:
    run = sent(project, ada)
    tells(run)
    now = timezone.now()
    Run.objects.filter(pk=run.pk).update(state="cancelled", finished_at=now)
    forgetting.forget(run, by="user:alice", now=now)
    assert len(kept(ada)) == 1


def as_if_earlier(by: timedelta) -> None:
    for row in Opens.objects.all():
        row.hours, row.oldest_day = (
            [hour - by // AN_HOUR for hour in row.hours],
            row.oldest_day - by,
        )
        row.save()


def test_what_is_too_old_counts_no_more_and_goes(ada: Contact, project: Project) -> None:
    now, bea = timezone.now(), make_contact(project, timezone=SEOUL)
    old = [now - n * A_DAY for n in (45, 46, 47)]
    best_hour.keep([(ada.pk, SEOUL, at) for at in (*old, now, now - AN_HOUR, now - A_DAY)])
    best_hour.keep([(bea.pk, SEOUL, at) for at in old])
    as_if_earlier(50 * A_DAY)
    tasks.tidy()
    assert len(kept(ada)) == 3, "those of the last 90 days"
    assert best_of(ada.pk) == Best(now.astimezone(ZoneInfo(SEOUL)).hour, 2, 3)
    assert not Opens.objects.filter(pk=bea.pk).exists()


def test_they_go_with_who_is_erased_and_none_comes_after(project: Project, ada: Contact) -> None:
    run, later = sent(project, ada), sent(project, ada)
    tells(run)
    ada_id = ada.pk
    ada.delete()
    tells(later)
    assert not Opens.objects.filter(pk=ada_id).exists()
