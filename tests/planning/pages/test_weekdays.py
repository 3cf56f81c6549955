"""A campaign that repeats on several days of the week, on its pages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign
from tests.given.campaign_form import CHANGE, form, seen_by

pytestmark = pytest.mark.django_db
SOME: dict[str, Any] = {"schedule_kind": "recurring", "repeat": "weekly", "at": "2031-01-01T09:00",
                        "weekdays": ["mon", "thu"]}  # fmt: skip


def ticked(page: str) -> list[str]:
    return re.findall(r'name="weekdays" value="(\w+)"[^>]*\schecked[\s>]', page)


def test_step_when_shows_the_next_ten_while_they_are_ticked(desk: Desk) -> None:
    shown = text_of(desk.post("campaign_when", **SOME, timezone="Asia/Seoul"))
    assert "Thursday" not in shown and "2 Jan 2031, 09:00 Asia/Seoul" in shown
    assert "6 Jan 2031, 09:00 Asia/Seoul" in shown and "1 Jan 2031, 09:00" not in shown
    assert "The first time is none of its days: it begins with the next one." in shown
    wednesday = text_of(desk.post("campaign_when", **{**SOME, "weekdays": "wed"}, timezone="UTC"))
    assert "none of its days" not in wednesday
    wrong = text_of(desk.post("campaign_when", **{**SOME, "weekdays": "someday"}, timezone="UTC"))
    assert "“someday” is no day of the week" in wrong


def test_they_are_kept_shown_and_said_in_words(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    # What the page hides for weeks is not kept.
    desk.post(CHANGE, campaign.pk, **form(campaign, **SOME, every="2", on_days="workdays"))
    campaign.refresh_from_db()
    assert (campaign.weekdays, campaign.every, campaign.on_days) == ("mon,thu", 2, "")
    page = desk.client.get(f"/admin/campaigns/campaign/{campaign.pk}/change/").content.decode()
    assert ticked(page) == ["mon", "thu"]
    assert 'role="group" aria-labelledby="id_weekdays_label"' in page
    assert "Every 2 weeks on Monday, Thursday" in desk.open("campaign_review", campaign.pk)


def test_the_audit_trail_says_them_in_words(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    desk.post(CHANGE, campaign.pk, **form(campaign, **SOME))
    changed = AuditEntry.objects.filter(action="changed").get()
    shown = desk.open("notifications_auditentry_change", changed.pk)
    assert "On these days of the week – Monday, Thursday" in shown


def test_the_review_says_how_many_of_its_times_fall_on_days_off(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project)
    off = "2031-01-02\n2031-01-03"  # a Thursday and a Friday
    desk.post(CHANGE, campaign.pk, **form(campaign, **SOME, days_off=off))
    said = desk.open("campaign_review", campaign.pk)
    assert "Every week on Monday, Thursday, without 1 day off" in said


def test_a_draft_stands_on_the_first_of_its_days(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project, name="Tips")
    desk.post(CHANGE, campaign.pk, **form(campaign, **SOME))  # from a Wednesday on
    day = {"zone": "Asia/Seoul", "view": "week"}
    week = desk.open("campaigns_calendar", day="2031-01-01", **day)
    wednesday, _, thursday = week.partition("2 January")
    assert "Tips" not in wednesday and "09:00 Tips Not launched" in thursday
    listed = desk.open("campaigns_campaign_changelist")
    assert "Every week on Monday, Thursday from 2 Jan 2031, 09:00 Asia/Seoul" in listed


def test_a_day_that_is_none_is_refused_and_keeps_the_others_ticked(
    desk: Desk, project: Project
) -> None:
    campaign = make_campaign(project)
    said = desk.save(CHANGE, campaign.pk, **form(campaign, **{**SOME, "weekdays": ["mon", "x"]}))
    assert "Select a valid choice. x is not one of the available choices." in said
    campaign.refresh_from_db()
    assert campaign.weekdays == ""


def test_another_rhythm_empties_them(desk: Desk, project: Project) -> None:
    campaign = make_campaign(project)
    for repeat in ("weekly", "daily"):
        desk.post(CHANGE, campaign.pk, **form(campaign, **{**SOME, "repeat": repeat}))
    campaign.refresh_from_db()
    assert (campaign.repeat, campaign.weekdays) == ("daily", "")


def test_days_that_a_colleague_ticked_meanwhile_are_kept(
    desk: Desk, bob: Desk, project: Project
) -> None:
    campaign = make_campaign(project, timezone="Asia/Seoul")
    desk.post(CHANGE, campaign.pk, **form(campaign, **SOME))
    seen = seen_by(desk, campaign)
    bob.post(CHANGE, campaign.pk, **form(campaign, **{**SOME, "weekdays": ["tue", "sun"]}))

    reply = desk.post(CHANGE, campaign.pk, **form(campaign, **SOME, seen=seen, name="New"))

    assert "Their changes were kept: On these days of the week." in text_of(reply)
    assert ticked(reply.content.decode()) == ["tue", "sun"]
    mine = form(campaign, **{**SOME, "weekdays": ["wed"]}, seen=seen)
    said = text_of(desk.post(CHANGE, campaign.pk, **mine))
    assert "On these days of the week: yours is kept, theirs was “Tuesday, Sunday”." in said
    assert Campaign.objects.get().weekdays == "tue,sun"
