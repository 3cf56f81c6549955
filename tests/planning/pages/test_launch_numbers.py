"""The launch dialog says how many will be skipped, why, and how many it will be sent to."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from campaigns.launch_check import samples
from campaigns.planning.pages import launch
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.postgres import budget
from tests.admin.desk import Desk, text_of
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db
DIALOG = "campaigns_campaign_launch"


def people(project: Project, count: int, locale: str = "en", **attributes: str) -> None:
    for _ in range(count):
        make_device(make_contact(project, attributes=attributes, locale=locale))


def test_the_dialog_says_how_many_are_skipped_why_and_how_many_are_sent_to(
    desk: Desk, project: Project
) -> None:
    people(project, 3, city="Seoul")
    people(project, 2, first_name="Ada")
    campaign = make_campaign(project, template={"title": "Hi", "body": "{{ city }}"})
    said = "5 devices; 2 will be skipped: no city; 3 will be sent to."
    for page in (DIALOG, "campaign_review"):
        shown = desk.open(page, campaign.pk)
        assert said in shown and "counted under each" not in shown


def test_a_device_without_two_values_is_counted_once(desk: Desk, project: Project) -> None:
    people(project, 1, city="Seoul", team="Lions")
    people(project, 2, city="Seoul")
    people(project, 3)
    campaign = make_campaign(project, template={"title": "Hi", "body": "{{ city }} {{ team }}"})
    said = "6 devices; 5 will be skipped: 5 no team, 3 no city; 1 will be sent to."
    assert said in desk.open(DIALOG, campaign.pk)
    for page in (DIALOG, "campaign_review"):
        assert "counted under each of them, and skipped once" in desk.open(page, campaign.pk)
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()["who"]
    assert (told["devices"], told["skipped"], told["sent_to"]) == (6, 5, 1)


def test_a_value_that_only_korean_readers_need_costs_nobody_else(
    desk: Desk, project: Project
) -> None:
    people(project, 2, "ko-KR")
    people(project, 3, "en")
    texts = {"title": "Hi", "body": "Hello", "locales": {"ko": {"body": "{{ city }}"}}}
    campaign = make_campaign(project, template=texts)
    said = "5 devices; 2 will be skipped: no city; 3 will be sent to."
    assert said in desk.open(DIALOG, campaign.pk)


def test_where_a_condition_of_the_text_decides_the_number_is_only_about(
    desk: Desk, project: Project
) -> None:
    people(project, 3, vip="yes")
    people(project, 2, city="Seoul")
    body = "Hello {% if vip %}{{ city }}{% endif %}"
    campaign = make_campaign(project, template={"title": "Hi", "body": body})
    said = "5 devices; about 3 will be skipped: no city; about 2 will be sent to."
    assert said in desk.open(DIALOG, campaign.pk)


def test_the_number_to_type_is_of_those_who_will_be_sent_to(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "TYPED_ABOVE", 2)
    people(project, 3, city="Seoul")
    people(project, 2)
    campaign = make_campaign(project, template={"title": "Hi", "body": "{{ city }}"})
    assert "Type 3, the number of devices it is sent to, to confirm." in desk.open(
        DIALOG, campaign.pk
    )
    refused = text_of(desk.confirm(DIALOG, campaign.pk, number="5"))
    assert "Type 3 to launch." in refused and not Run.objects.exists()
    desk.confirm(DIALOG, campaign.pk, number="3")
    assert Run.objects.count() == 1


def test_the_phone_shows_somebody_who_receives_it_though_all_the_newest_do_not(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(samples, "AMONG", 3)
    make_device(make_contact(project, external_id="oldest", attributes={"city": "Seoul"}))
    people(project, 3)
    campaign = make_campaign(project, template={"title": "Hi", "body": "Come to {{ city }}"})
    text = desk.open(DIALOG, campaign.pk)
    assert "As oldest reads it" in text and "Come to Seoul" in text


def test_while_many_ask_what_takes_long_the_dialog_counts_nobody_and_asks_again(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    people(project, 1, first_name="Ada")
    campaign = make_campaign(project)
    monkeypatch.setattr(budget, "AT_ONCE", 0)
    with CaptureQueriesContext(connection) as asked:
        said = desk.open(DIALOG, campaign.pk)
    assert "The numbers appear in a moment" in said
    assert not [query for query in asked if "notifications_device" in query["sql"]]
    desk.confirm(DIALOG, campaign.pk)
    assert not Run.objects.exists()
    monkeypatch.setattr(budget, "AT_ONCE", 4)
    assert "1 device; 1 will be sent to." in desk.open(DIALOG, campaign.pk)
