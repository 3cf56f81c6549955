"""Behind each loss on the review stand the people whom it is."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from html import unescape
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.audiences.audience import Audience
from campaigns.launch_check import skipped_people
from campaigns.planning.campaign import Campaign
from campaigns.runs.best_hour import Opens
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.ledger import Recipient
from campaigns.runs.variants.group import HOLDOUT
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres.budget import TooSlow
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_audience, make_campaign, make_contact, make_device, make_run

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
    record_answers(
        project,
        [ConsentAnswer("no-thanks", EVERYTHING, False)],
        source="api",
        by="key:abc",
        now=now,
    )
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
    monkeypatch.setattr(skipped_people, "SHOWN", 2)
    for number in range(3):
        person(project, f"nameless-{number}", attributes={})
    campaign = make_campaign(project)
    page = page_of(desk, campaign, "missing_value", "first_name")
    assert names_on(page) == ["nameless-2", "nameless-1"]
    assert "The newest first; there are more." in page
    older = unescape(re.findall(r'href="(\?[^"]*from=[^"]*)"', page)[0])
    address = reverse("admin:campaign_left_out", args=[campaign.pk])
    page = desk.client.get(address + older).content.decode()
    assert names_on(page) == ["nameless-0"]
    assert "there are more" not in page


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

    monkeypatch.setattr(skipped_people, "sample", slow)
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


def link_to(desk: Desk, campaign: Campaign, reason: str) -> str:
    review = desk.client.get(reverse("admin:campaign_review", args=[campaign.pk]))
    (link,) = re.findall(
        rf'href="([^"]*/left-out/\?reason={reason}[^"]*)"', review.content.decode()
    )
    return unescape(link)


def opened(desk: Desk, campaign: Campaign, reason: str) -> str:
    reply = desk.client.get(link_to(desk, campaign, reason))
    assert reply.status_code == 200
    return str(reply.content.decode())


MAYBE = "of these people some get it in time, and others do not"


def test_whose_quiet_hours_outlast_the_message_is_shown(desk: Desk, project: Project) -> None:
    now = timezone.now()
    begins, ends = (now - timedelta(hours=1)).time(), (now + timedelta(hours=3)).time()
    Project.objects.filter(pk=project.pk).update(quiet_from=begins, quiet_until=ends)
    person(project, "asleep", timezone="Etc/UTC")
    person(project, "asleep-but-wants-nothing", timezone="Etc/UTC", subscribed=False)
    person(project, "awake", timezone="Etc/GMT+6")
    campaign = make_campaign(project, ttl_seconds=600)
    page = opened(desk, campaign, "quiet_hours")
    assert "Left out: it expires during their quiet hours" in page
    assert names_on(page) == ["asleep"] and MAYBE not in page


def test_whose_turn_comes_too_late_is_shown_as_a_sample(desk: Desk, project: Project) -> None:
    for number in range(90):
        person(project, f"one-of-{number}", timezone="Asia/Seoul")
    campaign = make_campaign(project, rate_per_second=1, ttl_seconds=60)
    page = opened(desk, campaign, "expired")
    assert len(names_on(page)) == 90 and MAYBE in page


def test_by_best_hours_only_those_whose_hour_is_too_late_are_shown(
    desk: Desk, project: Project
) -> None:
    """At 23:00 somebody sleeps until the message has expired; at 12:00 nobody does."""
    Project.objects.filter(pk=project.pk).update(quiet_from=time(22), quiet_until=time(8))
    for name, hour in (("owl", 23), ("at-noon", 12)):
        Opens.objects.create(
            contact_id=person(project, name, timezone="Asia/Seoul").pk, hours=[hour] * 3,
            best_hour=hour, opened_then=3, opened=3, oldest_day=date(2026, 1, 1),
        )  # fmt: skip
    person(project, "without-a-best-hour", timezone="Asia/Seoul")
    at = (timezone.now() + timedelta(days=5)).replace(hour=10, minute=0, second=0, microsecond=0)
    campaign = make_campaign(
        project, schedule_kind="at", at=at, timezone="UTC", local_time=True, best_hour=True,
        ttl_seconds=3_600,
    )  # fmt: skip
    page = opened(desk, campaign, "quiet_hours")
    assert names_on(page) == ["owl"]


def test_the_holdout_is_known_and_the_control_group_is_not(desk: Desk, project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(holdout_percent=20)
    for number in range(60):
        person(project, f"one-of-{number}")
    campaign = make_campaign(project, control_percent=50)
    run = make_run(project, control_percent=50)
    held = Recipient.objects.filter(run_id=run.pk, variant=HOLDOUT).values_list("contact_id")
    people = Contact.objects.filter(pk__in=held).order_by("-pk")
    theirs = people.values_list("external_id", flat=True)
    assert theirs and names_on(opened(desk, campaign, "holdout")) == [*theirs]
    assert "chance decides when the run starts" in opened(desk, campaign, "control")


@pytest.mark.parametrize("start", ["-1", "x", "1.5", "9" * 30, "²"])
def test_a_page_that_begins_with_nobody_is_not_there(
    desk: Desk, campaign: Campaign, start: str
) -> None:
    address = reverse("admin:campaign_left_out", args=[campaign.pk])
    query = {"reason": "unsubscribed", "from": start}
    assert desk.client.get(address, query).status_code == 404


@pytest.mark.parametrize("query", ["", "?reason=quiet_hours", "?reason=missing_value&variable=x"])
def test_a_reason_that_loses_nobody_has_no_page(desk: Desk, campaign: Campaign, query: str) -> None:
    address = reverse("admin:campaign_left_out", args=[campaign.pk])
    assert desk.client.get(address + query).status_code == 404
