"""The card on the review: a check is asked for, watched, cancelled, and read."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from campaigns import tasks
from campaigns.planning.campaign import Campaign
from campaigns.text_check.model import TextCheck
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_project
from tests.roles.people import logged_in
from tests.text_check.reading import make_reader, read

pytestmark = pytest.mark.django_db
CARD, CANCEL = "campaign_text_check", "campaign_text_check_cancel"


@pytest.fixture
def campaign(project: Project) -> Campaign:
    make_reader(project, "has", city="Seoul")
    make_reader(project, "lacks", "ko")
    return make_campaign(project, template={"title": "Hi", "body": "In {{ city }}"})


@pytest.fixture
def desk(project: Project) -> Desk:
    return Desk(logged_in(Role.EDITOR))


def test_it_is_asked_for_watched_and_read_on_one_card(campaign: Campaign, desk: Desk) -> None:
    assert "A worker reads the text for everybody" in desk.open(CARD, campaign.pk)
    begun = desk.post(CARD, campaign.pk, days="7")
    assert 'hx-trigger="every 1s"' in begun.content.decode()
    assert "Waiting for a worker 0 %" in text_of(begun)
    tasks.check_texts(TextCheck.objects.get().pk)
    page = desk.open(CARD, campaign.pk)
    assert "To mend “{{ city }}” is missing: 1 device will be skipped. For example: lacks" in page
    assert "Devices 2 Get the text 1 … without a value 0 Skipped 1 Do not want it 0" in page
    assert "the main text Android 2 2 of 45 8 of 45 240 once opened" in page
    assert "every 1s" not in page and "Check again" in page
    entry = AuditEntry.objects.get(action="had the texts checked of")
    assert (entry.subject_id, entry.actor) == (campaign.pk, "user:editor-person")


def test_the_readers_of_each_text_stand_apart(project: Project, desk: Desk) -> None:
    make_reader(project, "has", "fr", city="Seoul")
    make_reader(project, "mina", "ko")
    texts = {"title": "Hi", "body": "In {{ city | default: 'town' }}"}
    campaign = make_campaign(project, template={**texts, "locales": {"ko": {"body": "{{ city }}"}}})
    read(campaign)
    page = desk.open(CARD, campaign.pk)
    assert "the main text fr (1) 1 1 0 0 0" in page
    assert "ko ko (1) 1 0 0 1 0" in page


def test_a_check_that_is_under_way_can_be_cancelled(campaign: Campaign, desk: Desk) -> None:
    desk.post(CARD, campaign.pk, days="7")
    assert "The last check was cancelled." in text_of(desk.post(CANCEL, campaign.pk))
    assert TextCheck.objects.get().state == "cancelled"
    assert AuditEntry.objects.filter(action="cancelled the text check of").count() == 1


@pytest.mark.parametrize("days", ["", "-1", "91", "x", "٣", "1.5", "99999999999"])
def test_days_that_are_no_number_of_days_start_nothing(
    campaign: Campaign, desk: Desk, days: str
) -> None:
    said = text_of(desk.post(CARD, campaign.pk, days=days))
    assert "It was not started. Days: write a whole number from 0 to 90." in said
    assert not TextCheck.objects.exists()


def test_a_text_that_is_not_in_order_is_said_on_the_card(campaign: Campaign, desk: Desk) -> None:
    campaign.template.title = "{{ broken"
    campaign.template.save()
    said = text_of(desk.post(CARD, campaign.pk, days="7"))
    assert "It was not started." in said and "never closed" in said


def test_a_viewer_reads_and_starts_nothing(campaign: Campaign) -> None:
    read(campaign)
    viewer = Desk(logged_in(Role.VIEWER))
    page = viewer.open(CARD, campaign.pk)
    assert "will be skipped" in page and "Check again" not in page
    assert viewer.post(CARD, campaign.pk, days="7").status_code == 403
    assert viewer.post(CANCEL, campaign.pk).status_code == 403


def test_links_are_offered_only_where_the_project_lists_hosts(
    campaign: Campaign, desk: Desk
) -> None:
    assert "This project lists no hosts of its own" in desk.open(CARD, campaign.pk)
    Project.objects.update(own_hosts=["shop.example.com"])
    assert "At most 20 requests, to shop.example.com." in desk.open(CARD, campaign.pk)


def test_a_failed_check_says_why(campaign: Campaign, desk: Desk) -> None:
    desk.post(CARD, campaign.pk, days="7")
    TextCheck.objects.update(state="failed", problem="A list is gone.")
    page = desk.open(CARD, campaign.pk)
    assert "The last check did not come to its end. A list is gone." in page


def test_a_stale_report_is_marked_so_on_the_card_and_in_the_launch_dialog(
    campaign: Campaign,
) -> None:
    sender = Desk(logged_in(Role.SENDER))
    assert "Text check not done" in sender.open("campaigns_campaign_launch", campaign.pk)
    read(campaign)
    assert "Text check 1 to mend" in sender.open("campaigns_campaign_launch", campaign.pk)
    campaign.template.body = "Other"
    campaign.template.save()
    page = sender.open(CARD, campaign.pk)
    assert "This report is stale. The text has changed since." in page
    said = sender.open("campaigns_campaign_launch", campaign.pk)
    assert "1 to mend The text has changed since." in said


def test_the_review_asks_for_the_card(campaign: Campaign, desk: Desk) -> None:
    page = desk.client.get(reverse("admin:campaign_review", args=[campaign.pk])).content.decode()
    assert f'hx-get="{reverse(f"admin:{CARD}", args=[campaign.pk])}"' in page


def test_another_projects_campaign_offers_to_go_there(campaign: Campaign, client: Client) -> None:
    there = make_project()
    desk = Desk(logged_in(Role.EDITOR))
    desk.go_to(there)
    assert desk.client.get(reverse(f"admin:{CARD}", args=[campaign.pk])).status_code == 409
    assert desk.post(CARD, campaign.pk, days="7").status_code == 409
    assert not TextCheck.objects.exists()


def test_the_card_speaks_korean(campaign: Campaign, desk: Desk) -> None:
    read(campaign)
    desk.client.cookies["django_language"] = "ko"
    page = desk.open(CARD, campaign.pk)
    assert "To mend" not in page and "{{ city }}" in page and "기기" in page
