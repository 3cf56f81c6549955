"""Moving a run in the calendar: what it meets, what is refused, and who may."""

from __future__ import annotations

import re
from contextlib import ExitStack
from datetime import UTC, datetime, time, timedelta
from html import unescape
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns import control
from campaigns.audiences import estimating
from campaigns.engine import engine
from campaigns.forecast.other_runs import run_sizes
from campaigns.planning import calendar, moving
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.postgres import budget
from notifications.staff import audit
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_campaign, make_people, make_project, make_scheduled_run
from tests.planning.pages.calendar.reading import move
from tests.roles.people import logged_in

pytestmark = pytest.mark.django_db
SEOUL = ZoneInfo("Asia/Seoul")


@pytest.fixture
def noon() -> datetime:
    """In five days, as Seoul's clock shows it; it may be next month."""
    day = timezone.now().astimezone(SEOUL) + timedelta(days=5)
    return day.replace(hour=12, minute=0, second=0, microsecond=0)


def dialog(desk: Desk, run: Run, **query: Any) -> str:
    return desk.open("campaigns_run_move", run.pk, **query)


def test_a_dropped_run_keeps_its_hour_and_shows_what_it_meets(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 3)
    run = make_scheduled_run(project, noon, name="Lanterns")
    assert "Choose another one" not in dialog(desk, run)  # before anything was chosen
    day = noon + timedelta(days=2)
    make_scheduled_run(project, day + timedelta(minutes=10), name="Neighbour")
    text = dialog(desk, run, day=day.date(), zone="Asia/Seoul")
    assert "Move “Lanterns”?" in text
    assert f"New time {day.day} {day:%b %Y}, 12:00 Sent to" in text
    assert text.count("Asia/Seoul") == 1
    assert "about 3 devices, as of now" in text
    assert "there is also “Neighbour”" in text
    assert "on their own clocks" not in text
    run.refresh_from_db()
    assert run.scheduled_at == noon  # looking moves nothing


def test_a_time_in_the_field_shows_what_it_meets_before_anything_is_moved(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 3)
    run, day = make_scheduled_run(project, noon, name="Lanterns"), noon + timedelta(days=2)
    make_scheduled_run(project, day + timedelta(minutes=10), name="Neighbour")
    reply = desk.client.get(reverse("admin:campaigns_run_move", args=[run.pk]))
    asks = re.search(r'<input[^>]*name="at"[^>]*>', reply.content.decode())
    assert asks and 'hx-trigger="change"' in asks[0] and 'hx-target="#moves"' in asks[0]
    text = dialog(desk, run, at=f"{day:%Y-%m-%dT%H:%M}", zone="Asia/Seoul")
    assert f"New time {day.day} {day:%b %Y}, 12:00 Sent to" in text
    assert "there is also “Neighbour”" in text
    for wrong in ("", "soon", "0001-01-01T00:00", "99999-01-01T00:00"):
        assert "New time" not in dialog(desk, run, at=wrong)
    assert "Choose a later one" in dialog(desk, run, at="2020-01-01T00:00")


def test_it_says_when_it_would_end_there_and_whom_it_would_slow_down(
    desk: Desk, project: Project, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten a second: each of the two would have five."""
    monkeypatch.setattr(estimating, "SAMPLE_SECONDS", 10.0)  # nothing is estimated
    monkeypatch.setattr(run_sizes, "COUNTING_SECONDS", 60.0)
    cache.clear()
    Project.objects.update(quota_per_minute=750)
    make_people(project, 600)
    run, day = make_scheduled_run(project, noon, name="Lanterns"), noon + timedelta(days=2)
    make_scheduled_run(project, day, name="Neighbour")
    here = dialog(desk, run, day=(day + timedelta(days=1)).date(), zone="Asia/Seoul")
    assert "Takes about 1 min" in here and "later" not in here
    there = dialog(desk, run, day=day.date(), zone="Asia/Seoul")
    assert f"Ends about {day.day} {day:%b %Y}, 12:01" in there
    assert "Takes about 1 min 5" in there or "Takes about 2 min" in there
    assert re.search(r"“Neighbour” would end (59 s|1 min) later, about .{4,9} \d{4}, 12:01", there)


def test_moved_far_away_it_is_reckoned_around_both_times_and_not_between(
    desk: Desk, project: Project, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[timedelta] = []
    coming = calendar.coming

    def counted(campaigns: Any, since: datetime, until: datetime, *rest: Any, **more: Any) -> Any:
        looked.append(until - since)
        return coming(campaigns, since, until, *rest, **more)

    monkeypatch.setattr(calendar, "coming", counted)
    make_people(project, 3)
    run = make_scheduled_run(project, noon, name="Lanterns")
    make_scheduled_run(project, noon + timedelta(seconds=1), name="Neighbour")
    assert "Takes about" in dialog(desk, run, day="2099-12-30", zone="Asia/Seoul")
    assert sum(looked, timedelta()) < timedelta(days=20)


def test_while_others_ask_slow_questions_it_moves_and_reckons_nothing(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 3)
    run, there = make_scheduled_run(project, noon), noon + timedelta(days=2)
    assert "Takes about" in dialog(desk, run, day=there.date(), zone="Asia/Seoul")
    with ExitStack() as others:
        for _ in range(budget.AT_ONCE_OF_A_PROJECT):
            others.enter_context(budget.slow_query_slot(project.pk))
        said = dialog(desk, run, day=there.date(), zone="Asia/Seoul")
        assert "Takes about" not in said and "Sent to" not in said
        move(desk, run, there)
    run.refresh_from_db()
    assert run.scheduled_at == there


def test_who_moves_it_into_a_night_is_told_when_the_last_get_it(
    desk: Desk, project: Project, noon: datetime
) -> None:
    Project.objects.update(quiet_from=time(21), quiet_until=time(8))
    cache.clear()
    make_people(project, 3)
    run = make_scheduled_run(project, noon, name="Lanterns")
    night = noon + timedelta(hours=11)
    first = move(desk, run, night, looked_at="")
    assert "100 % of the readers have quiet hours then" in text_of(first)
    morning = noon + timedelta(days=1)
    assert f"Ends about {morning.day} {morning:%b %Y}, 08:00" in text_of(first)


def test_moving_moves_the_run_and_its_campaign_and_leaves_a_trace(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run, later = make_scheduled_run(project, noon), noon + timedelta(days=1)
    reply = move(desk, run, later, view="week")
    assert reply["HX-Redirect"].endswith(f"calendar/?view=week&day={later:%Y-%m-%d}")
    assert "moved to" in messages_of(reply)[0]
    run.refresh_from_db()
    assert (run.scheduled_at, run.state) == (later, "scheduled")
    assert run.campaign.at == later
    entry = AuditEntry.objects.get(action="moved")
    assert (entry.actor, entry.subject_kind, entry.subject_id) == ("user:ada", "run", run.pk)
    assert [datetime.fromisoformat(at) for at in entry.changes["scheduled_at"]] == [noon, later]
    said = [f"{day.day} {day:%b %Y}, 12:00 Asia/Seoul" for day in (noon, later)]
    assert f"moved it: {' → '.join(said)}" in desk.open("campaigns_run_change", run.pk)


def test_opened_from_the_runs_page_it_is_in_the_zone_of_that_page(
    desk: Desk, project: Project, noon: datetime
) -> None:
    run = make_scheduled_run(project, noon)
    desk.open("campaigns_calendar", zone="UTC")  # which the calendar remembers
    assert "Local time in Asia/Seoul." in dialog(desk, run)
    assert "Local time in UTC." in dialog(desk, run, zone="UTC", view="week")


def test_whoever_moved_the_run_changed_its_campaign_last(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, noon)
    audit.record("user:bob", "changed", run.campaign, project=project)
    assert audit.who_changed(run.campaign) == "bob"
    move(desk, run, noon + timedelta(days=1))
    assert audit.who_changed(run.campaign) == "ada"
    entry = AuditEntry.objects.latest("pk")
    assert [datetime.fromisoformat(at) for at in entry.changes["at"]] == [
        noon,
        noon + timedelta(days=1),
    ]


def test_a_moved_run_starts_at_its_new_time_only(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run, later = make_scheduled_run(project, noon), noon + timedelta(hours=3)
    move(desk, run, later)
    for now, state in ((noon, "scheduled"), (later, "preparing")):
        engine.sweep(now)
        run.refresh_from_db()
        assert run.state == state


def test_a_time_typed_by_hand_is_looked_at_before_it_is_moved(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run, night = make_scheduled_run(project, noon), noon.replace(hour=3) + timedelta(days=1)
    first = move(desk, run, night, looked_at=f"{noon:%Y-%m-%dT%H:%M:%S}")
    assert "100 % at 03:00 in Asia/Seoul" in text_of(first) and "then move it" in text_of(first)
    run.refresh_from_db()
    assert run.scheduled_at == noon
    seen = re.search(rb'name="looked_at" value="([^"]+)"', first.content)
    assert seen
    move(desk, run, night, looked_at=seen[1].decode())
    run.refresh_from_db()
    assert run.scheduled_at == night


def test_what_was_typed_still_stands_there_when_it_is_looked_at(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run, night = make_scheduled_run(project, noon), noon.replace(hour=3) + timedelta(days=1)
    shown = move(desk, run, night, looked_at=f"{noon:%Y-%m-%dT%H:%M:%S}").content.decode()
    inputs = re.findall(r"<input[^>]*>", shown)
    named = {found[1]: each for each in inputs if (found := re.search(r'name="(\w+)"', each))}
    values = {
        name: unescape(found[1])
        for name, each in named.items()
        if (found := re.search(r'value="([^"]*)"', each))
    }
    desk.post("campaigns_run_move", run.pk, **values)  # the second click, as a browser sends it
    run.refresh_from_db()
    assert run.scheduled_at == night


@pytest.mark.parametrize(
    ("wall", "said"),
    [
        (datetime(2026, 1, 1, 9, 0), "This time has passed"),  # noqa: DTZ001 – a wall clock's
        (datetime(2031, 3, 30, 2, 30), "02:30 does not exist on 30 March 2031"),  # noqa: DTZ001
    ],
)
def test_a_time_that_cannot_be_is_refused(
    desk: Desk, project: Project, noon: datetime, wall: datetime, said: str
) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, noon)
    assert said in text_of(move(desk, run, wall, zone="Europe/Berlin"))
    assert "Choose a date and a time." in text_of(move(desk, run, noon, at="soon"))
    run.refresh_from_db()
    assert run.scheduled_at == noon


def test_of_two_who_move_it_at_once_the_second_is_told(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, noon)
    move(desk, run, noon + timedelta(days=1))
    reply = move(desk, run, noon + timedelta(days=2))  # from a page that shows the old time
    assert "It was moved or started in the meantime" in text_of(reply)
    run.refresh_from_db()
    assert run.scheduled_at == noon + timedelta(days=1)


def test_what_began_is_not_moved(desk: Desk, project: Project, noon: datetime) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, noon)
    engine.sweep(noon)
    assert "Only a scheduled run can be moved; this one is preparing." in dialog(desk, run)
    with pytest.raises(moving.NotMoved):
        moving.move(run, to=noon + timedelta(days=9), was=noon, by="user:ada", now=noon)
    run.refresh_from_db()
    assert run.scheduled_at == noon


def test_one_of_a_series_stays_before_the_next(
    desk: Desk, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    campaign = make_campaign(
        project, schedule_kind="recurring", repeat="daily", at=noon, timezone="Asia/Seoul"
    )
    run = control.launch(campaign, by="user:bob", now=timezone.now())
    assert "The next one is due on" in text_of(move(desk, run, noon + timedelta(days=1)))
    move(desk, run, noon + timedelta(hours=6))
    run.refresh_from_db()
    assert run.scheduled_at == noon + timedelta(hours=6)
    assert Campaign.objects.get().at == noon  # the series itself keeps its hour


# --- Who may --------------------------------------------------------------------------------------


def test_without_the_right_to_it_nothing_is_shown_or_moved(
    client: Client, project: Project, noon: datetime
) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, noon)
    client.force_login(User.objects.create_user("bob", "b@example.com", "x", is_staff=True))
    for url in ("calendar/", f"calendar/{run.pk}/"):
        assert client.get(f"/admin/campaigns/campaign/{url}").status_code == 403
    assert client.post(f"/admin/campaigns/campaign/calendar/{run.pk}/").status_code == 403


def test_of_several_projects_the_chosen_ones_zone_counts(desk: Desk, project: Project) -> None:
    museum = make_project(name="Museum")
    make_people(museum, 1)
    run = make_scheduled_run(museum, datetime(2031, 5, 7, 12, tzinfo=UTC))
    desk.post("project_switch", go_to_project=museum.pk)
    assert "12:00 What" in dialog(desk, run, zone="UTC")


def test_a_viewer_sees_the_calendar_and_moves_nothing(project: Project, noon: datetime) -> None:
    make_people(project, 1)
    run = make_scheduled_run(project, noon, name="Lanterns")
    url, day = "/admin/campaigns/campaign/calendar/", {"day": f"{noon:%Y-%m-%d}"}
    viewer = logged_in(Role.VIEWER).get(url, day).content
    assert b"Lanterns" in viewer
    assert b'draggable="true"' not in viewer and b"cal-move" not in viewer
    sender = logged_in(Role.SENDER).get(url, day).content
    assert b'draggable="true"' in sender and f"{url}{run.pk}/".encode() in sender
