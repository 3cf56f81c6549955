"""A series on the pages: leave out one, or stop it all; every page says which of both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk, messages_of, text_of
from tests.given.builders import make_campaign, make_people, make_run
from tests.planning.pages.calendar.reading import cells

pytestmark = pytest.mark.django_db
FIRST, DAY = datetime(2031, 5, 7, tzinfo=UTC), timedelta(days=1)
CAMPAIGN, RUN = "campaigns_campaign", "campaigns_run"


@pytest.fixture
def daily(project: Project) -> Campaign:
    make_people(project, 2)
    campaign = make_campaign(
        project, name="Digest", schedule_kind="recurring", repeat="daily", at=FIRST,
        until=FIRST + 9 * DAY, timezone="Asia/Seoul",
    )  # fmt: skip
    control.launch(campaign, by="user:bob", now=timezone.now())
    return campaign


def waiting(campaign: Campaign) -> Run:
    return campaign.runs.get(state="scheduled")


# --- What repeats says so ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("repeat", "words"),
    [
        ("daily", "every day at 09:00 Asia/Seoul"),
        ("weekly", "every week on Wednesday at 09:00 Asia/Seoul"),
        ("monthly", "every month on day 7 at 09:00 Asia/Seoul"),
    ],
)
def test_the_run_and_the_campaign_of_a_series_say_that_it_repeats(
    desk: Desk, project: Project, repeat: str, words: str
) -> None:
    make_people(project, 2)
    values = {"schedule_kind": "recurring", "repeat": repeat, "timezone": "Asia/Seoul"}
    ending = make_run(project, advanced=False, at=FIRST, until=FIRST + 60 * DAY, **values)
    endless = make_run(project, advanced=False, at=FIRST, **values)
    for page, pk in ((f"{RUN}_change", ending.pk), (f"{CAMPAIGN}_change", ending.campaign_id)):
        assert f"Repeats {words}, until 6 Jul 2031." in desk.open(page, pk)
    assert f"Repeats {words}, until somebody stops it." in desk.open(f"{RUN}_change", endless.pk)


def test_what_was_stopped_or_never_repeated_does_not_say_so(desk: Desk, daily: Campaign) -> None:
    run = waiting(daily)
    desk.confirm(f"{CAMPAIGN}_stop", daily.pk)
    assert "Repeats every" not in desk.open(f"{RUN}_change", run.pk)
    assert "Repeats every" not in desk.open(f"{CAMPAIGN}_change", daily.pk)
    once = make_run(daily.project, advanced=False)
    assert "Repeats every" not in desk.open(f"{RUN}_change", once.pk)


# --- One of them ----------------------------------------------------------------------------------


def test_the_question_says_that_only_this_one_is_cancelled(desk: Desk, daily: Campaign) -> None:
    asked = desk.open(f"{RUN}_cancel", waiting(daily).pk)
    assert "Cancel only this run?" in asked
    assert "goes on with its next run, due 8 May 2031, 09:00 Asia/Seoul" in asked
    assert "“Stop repeating”" in asked and "launched again" not in asked


def test_the_answer_and_the_pages_say_that_the_series_goes_on(desk: Desk, daily: Campaign) -> None:
    run = waiting(daily)
    reply = desk.confirm(f"{RUN}_cancel", run.pk)
    said = f"Run {run.pk} is cancelled. The next one is due 8 May 2031, 09:00 Asia/Seoul."
    assert messages_of(reply)[-1] == said
    assert "Left out by ada; the series went on." in desk.open(f"{RUN}_change", run.pk)
    page = desk.open(f"{CAMPAIGN}_change", daily.pk)
    assert f"Run {waiting(daily).pk} Scheduled" in page and "Stop repeating" in page
    assert "Left out by ada; the series went on." in page
    assert "Digest" in (overview := desk.open("index")) and "8 May 2031, 09:00" in overview


def test_the_calendar_shows_it_cancelled_and_the_others_as_they_were(
    desk: Desk, daily: Campaign
) -> None:
    desk.confirm(f"{RUN}_cancel", waiting(daily).pk)
    shown = cells(desk, day="2031-05-01", zone="Asia/Seoul")
    days = {number: shown[f"2031-05-{number:02}"].split("Digest ")[1] for number in (7, 8, 9, 16)}
    assert {number: text.split()[0] for number, text in days.items()} == {
        7: "Cancelled", 8: "Scheduled", 9: "Expected", 16: "Expected",
    }  # fmt: skip


def test_of_the_last_one_the_question_says_that_the_series_ends(
    desk: Desk, daily: Campaign
) -> None:
    Campaign.objects.update(until=FIRST)
    asked = desk.open(f"{RUN}_cancel", waiting(daily).pk)
    assert "It is the last of its series, which ends with it." in asked
    assert messages_of(desk.confirm(f"{RUN}_cancel", waiting(daily).pk))[-1].endswith("cancelled.")


def test_of_one_that_sends_the_question_names_the_next(desk: Desk, daily: Campaign) -> None:
    run = waiting(daily)
    engine.sweep(FIRST)
    engine.advance(run.pk, now=FIRST)
    asked = desk.open(f"{RUN}_cancel", run.pk)
    assert "2 of 2 recipients will not get it." in asked
    assert "The next run, due 8 May 2031, 09:00 Asia/Seoul, is not touched." in asked


def test_of_what_does_not_repeat_the_question_is_as_it_was(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    asked = desk.open(f"{RUN}_cancel", make_run(project, advanced=False).pk)
    assert "The campaign can be launched again afterwards." in asked and "series" not in asked


# --- All of it ------------------------------------------------------------------------------------


def test_the_question_names_what_is_cancelled_and_what_goes_on(desk: Desk, daily: Campaign) -> None:
    sending = waiting(daily)
    engine.sweep(FIRST)
    engine.advance(sending.pk, now=FIRST)
    asked = desk.open(f"{CAMPAIGN}_stop", daily.pk)
    assert f"Run {waiting(daily).pk}, due 8 May 2031, 09:00 Asia/Seoul, is cancelled" in asked
    assert f"Run {sending.pk} has begun and goes on" in asked
    assert "cancel its run instead" in asked


def test_a_stopped_campaign_says_so_everywhere_and_is_offered_for_launch(
    desk: Desk, daily: Campaign
) -> None:
    desk.confirm(f"{CAMPAIGN}_stop", daily.pk)
    page = desk.open(f"{CAMPAIGN}_change", daily.pk)
    assert "It was stopped on" in page and "Stop repeating" not in page
    assert "Launch" in page and "Review and launch" in desk.open(f"{CAMPAIGN}_changelist")
    shown = cells(desk, day="2031-05-01", zone="Asia/Seoul")
    assert "Digest Cancelled" in shown["2031-05-07"]
    assert not any("Digest" in text for day, text in shown.items() if day != "2031-05-07")
    audit = desk.open("notifications_auditentry_changelist")
    assert "stopped the series of" in audit and "campaign Digest" in audit


def test_a_series_is_archived_once_it_is_stopped(desk: Desk, daily: Campaign) -> None:
    for _ in range(2):
        refused = text_of(desk.confirm(f"{CAMPAIGN}_archive", daily.pk))
        assert "It repeats. Stop that first." in refused
        desk.confirm(f"{RUN}_cancel", waiting(daily).pk)
    desk.confirm(f"{CAMPAIGN}_stop", daily.pk)
    desk.confirm(f"{CAMPAIGN}_archive", daily.pk)
    assert Campaign.objects.get().archived_at is not None
    desk.confirm(f"{CAMPAIGN}_bring_back", daily.pk)
    engine.sweep(FIRST + 5 * DAY)
    assert not daily.runs.exclude(state="cancelled").exists()
