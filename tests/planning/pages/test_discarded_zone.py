"""A zone chosen for a time that is asked for no more is told nowhere; pages name their own."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_audience, make_campaign, make_people, make_template

pytestmark = pytest.mark.django_db


@pytest.fixture
def campaign(project: Project) -> Campaign:
    Project.objects.filter(pk=project.pk).update(timezone="Asia/Seoul")
    make_people(project, 2)
    return make_campaign(Project.objects.get(pk=project.pk), timezone="America/New_York")


@pytest.mark.parametrize("page", ["campaign_review", "campaigns_campaign_launch"])
def test_a_draft_for_now_is_told_in_the_projects_zone(
    desk: Desk, campaign: Campaign, page: str
) -> None:
    text = desk.open(page, campaign.pk)
    assert "Asia/Seoul" in text and "New_York" not in text


def test_its_form_offers_the_projects_zone(desk: Desk, campaign: Campaign) -> None:
    url = reverse("admin:campaigns_campaign_change", args=[campaign.pk])
    html = desk.client.get(url, {"step": "when"}).content.decode()
    asked = re.search(r'<input[^>]*name="timezone"[^>]*>', html)
    assert asked and "Asia/Seoul" in asked[0] and "New_York" not in asked[0]


@pytest.mark.parametrize("make", [make_audience, make_template])
def test_what_was_written_and_not_saved_is_dated_in_the_projects_zone(
    desk: Desk, campaign: Campaign, make: type
) -> None:
    row = make(campaign.project)
    url = reverse(f"admin:campaigns_{type(row).__name__.lower()}_change", args=[row.pk])
    assert 'data-zone="Asia/Seoul"' in desk.client.get(url).content.decode()
