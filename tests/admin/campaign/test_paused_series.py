"""A series is paused on its campaign's page, and goes on from there."""

from __future__ import annotations

from campaigns.planning.campaign import Campaign
from tests.admin.desk import Desk
from tests.planning.test_recurrence import first, launch, series

first, series = first, series  # fixtures, used here too


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
