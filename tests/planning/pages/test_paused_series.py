"""A series is paused on its campaign's page, and goes on from there."""

from __future__ import annotations

from datetime import datetime

from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from notifications.values.moments import in_zone
from tests.admin.desk import Desk
from tests.given.series import DAY, launch


def test_a_person_pauses_it_on_its_page_and_reads_that_it_is(desk: Desk, series: Campaign) -> None:
    launch(series)
    page = "campaigns_campaign_change"
    assert "Pause repeating" in desk.open(page, series.pk)
    desk.confirm("campaigns_campaign_pause_series", series.pk)
    said = desk.open(page, series.pk)
    assert "Its series is paused since" in said
    assert "Go on repeating" in said and "Pause repeating" not in said
    asked = desk.open("campaigns_campaign_resume_series", series.pk)
    assert "The next one is sent on" in asked
    desk.confirm("campaigns_campaign_resume_series", series.pk)
    assert "Its series is paused" not in desk.open(page, series.pk)
    assert "is not paused" in desk.open("campaigns_campaign_resume_series", series.pk)


def test_whoever_lets_it_go_on_reads_which_one_is_sent_next(
    desk: Desk, series: Campaign, first: datetime
) -> None:
    launch(series)
    desk.confirm("campaigns_campaign_pause_series", series.pk)
    asked = desk.open("campaigns_campaign_resume_series", series.pk)
    assert f"The next one is sent on {in_zone(first, 'UTC')}." in asked, "the run that waits"
    engine.sweep(first)  # which leaves that one out
    asked = desk.open("campaigns_campaign_resume_series", series.pk)
    assert f"The next one is sent on {in_zone(first + DAY, 'UTC')}." in asked


def test_the_list_does_not_say_that_a_paused_series_starts(desk: Desk, series: Campaign) -> None:
    launch(series)
    said = desk.open("campaigns_campaign_changelist")
    assert "Scheduled" in said and "Starts by itself" in said
    desk.confirm("campaigns_campaign_pause_series", series.pk)
    said = desk.open("campaigns_campaign_changelist")
    assert "Series paused" in said and "Go on repeating" in said
    assert "Starts by itself" not in said


def test_step_when_of_what_repeats_says_first_that_it_stands(desk: Desk, series: Campaign) -> None:
    page, said = "campaigns_campaign_change", "It already repeats. Stop it first"
    assert said not in desk.open(page, series.pk, step="when")
    launch(series)
    assert said in desk.open(page, series.pk, step="when")
    review = desk.open(page, series.pk, step="review")
    assert "stop it, change it, and launch it again" in review
    assert "Duplicate the campaign" not in review
