"""Behind each loss on the review stand the people whom it is."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.audiences.audience import Audience
from campaigns.planning.campaign import Campaign
from campaigns.planning.left_out import left_out
from campaigns.runs.caps.counted import Counted
from notifications.people.consent.saying import EVERYTHING, Word, say
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_campaign, make_contact, make_device

pytestmark = pytest.mark.django_db


def person(project: Project, name: str, **values: Any) -> Contact:
    contact = make_contact(project, external_id=name, **values)
    make_device(contact)
    return contact


def page_of(desk: Desk, campaign: Campaign, reason: str, variable: str = "") -> str:
    address = reverse("admin:campaign_left_out", args=[campaign.pk])
    reply = desk.client.get(address, {"reason": reason, "variable": variable})
    assert reply.status_code == 200
    return str(reply.content.decode())


def names_on(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><a [^>]*>([^<]+)</a>', page)


@pytest.fixture
def campaign(project: Project) -> Campaign:
    """One gets it; one has no name, one wants nothing, one has had enough, one has no device."""
    Project.objects.filter(pk=project.pk).update(cap_per_day=1)
    person(project, "gets-it")
    person(project, "nameless", attributes={}, locale="ko")
    person(project, "no-thanks", attributes={})
    full = person(project, "full")
    make_contact(project, external_id="no-device", attributes={})
    now = timezone.now()
    say(project, [Word("no-thanks", EVERYTHING, False)], source="api", by="key:abc", now=now)
    Counted.objects.create(contact_id=full.pk, run_id=1, seq=1, message=0, at=now)
    return make_campaign(project)


def test_each_loss_leads_to_its_people(desk: Desk, campaign: Campaign) -> None:
    review = desk.client.get(reverse("admin:campaign_review", args=[campaign.pk]))
    links = re.findall(r'href="([^"]*/left-out/[^"]*)"', review.content.decode())
    found = {}
    for link in links:
        page = desk.client.get(unescape(link)).content.decode()
        found[re.findall(r"Left out: ([^<]+)<", page)[0]] = names_on(page)
    assert found == {
        "unsubscribed": ["no-thanks"],
        "no first_name": ["nameless"],
        "had enough messages": ["full"],
    }


def test_only_who_reads_a_text_that_needs_the_value_is_shown(desk: Desk, project: Project) -> None:
    person(project, "reads-it", attributes={}, locale="ko")
    person(project, "reads-another", attributes={}, locale="en")
    korean = {"title": "{{ first_name }}", "body": "?"}
    template = {"title": "Hello", "body": "Come", "locales": {"ko": korean}}
    campaign = make_campaign(project, template=template)
    assert names_on(page_of(desk, campaign, "missing_value", "first_name")) == ["reads-it"]


def test_of_many_the_newest_are_shown_and_the_page_says_so(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(left_out, "SHOWN", 2)
    for number in range(3):
        person(project, f"nameless-{number}", attributes={})
    campaign = make_campaign(project)
    page = page_of(desk, campaign, "missing_value", "first_name")
    assert names_on(page) == ["nameless-2", "nameless-1"]
    assert "The newest of them; there are more." in page


def test_who_came_back_meanwhile_is_not_shown(desk: Desk, campaign: Campaign) -> None:
    Contact.objects.filter(external_id="nameless").update(attributes={"first_name": "Ada"})
    page = page_of(desk, campaign, "missing_value", "first_name")
    assert names_on(page) == []
    assert "Nobody any more: it has changed since the review." in page


def test_a_search_that_takes_too_long_says_so(
    desk: Desk, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object, **__: object) -> None:
        raise TooSlow

    monkeypatch.setattr(left_out, "sample", slow)
    assert "takes too long" in page_of(desk, campaign, "unsubscribed")


def test_rules_that_broke_meanwhile_are_named(desk: Desk, project: Project) -> None:
    person(project, "somebody", subscribed=False)
    other = make_audience(project)
    rules = {"all": [{"field": "audience", "op": "in", "value": [other.pk]}]}
    campaign = make_campaign(project, audience=make_audience(project, rules=rules))
    Audience.objects.filter(pk=other.pk).delete()
    address = reverse("admin:campaign_left_out", args=[campaign.pk])
    reply = desk.client.get(address, {"reason": "unsubscribed"})
    assert reply.status_code == 200
    assert "audience" in text_of(reply).partition("Left out")[2]


@pytest.mark.parametrize("query", ["", "?reason=quiet_hours", "?reason=missing_value&variable=x"])
def test_a_reason_that_loses_nobody_has_no_page(desk: Desk, campaign: Campaign, query: str) -> None:
    address = reverse("admin:campaign_left_out", args=[campaign.pk])
    assert desk.client.get(address + query).status_code == 404
