"""The review says what becomes of everybody: from the audience to the messages that leave."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.urls import reverse

from campaigns.engagement import opening
from campaigns.launch_check.launch_report import LaunchReport
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_project
from tests.given.opened import opened, took

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture
def ours(db: None) -> Project:
    return make_project(uses_default_credentials=True)


def told(report: LaunchReport) -> list[tuple[str, str]]:
    return [(step.words, step.number) for step in report.waterfall]


def test_each_loss_is_a_step_and_the_last_is_what_is_left(ours: Project) -> None:
    make_people(ours, 100)
    people = [*Contact.objects.order_by("pk")]
    Device.objects.filter(contact=people[0]).delete()
    Contact.objects.filter(pk=people[1].pk).update(subscribed=False)
    campaign = make_campaign(ours, rate_per_second=1, ttl_seconds=60)
    assert told(LaunchReport(campaign, NOON)) == [
        ("People in the audience", "100"),
        ("without a device", "−1"),
        ("Devices", "99"),
        ("unsubscribed", "−1"),
        ("it expires before their turn", "about −38"),
        ("Messages that leave", "about 60"),
    ]


def test_who_is_lost_for_two_reasons_is_one_device(ours: Project) -> None:
    make_people(ours, 4)
    campaign = make_campaign(ours, template={"title": "{{ city }}", "body": "{{ street }}"})
    Contact.objects.filter(pk=Contact.objects.latest("pk").pk).update(
        attributes={"city": "Seoul", "street": "Main"}
    )
    assert told(LaunchReport(campaign, NOON))[-4:] == [
        ("no city", "−3"),
        ("no street", "−3"),
        ("counted under several reasons", "+3"),
        ("Messages that leave", "1"),
    ]


def test_the_review_draws_it_and_says_the_same_in_numbers(project: Project, desk: Desk) -> None:
    make_people(project, 25)
    campaign = make_campaign(project, rate_per_second=10)
    page = desk.client.get(reverse("admin:campaign_review", args=[campaign.pk])).content.decode()
    assert "How it would go" in page and page.count('class="r-block"') == 3
    numbers = page.partition('id="course-numbers"')[2]
    assert [f'<td class="c-number">{n}</td>' in numbers for n in (10, 5)] == [True, True]


def opens_on(page: str) -> list[int]:
    table = page.partition('id="opens-numbers"')[2].partition("</table>")[0]
    return [int(count) for count in re.findall(r'<td class="c-number">(\d+)</td>', table)]


def test_the_review_draws_how_many_open_it_when(
    project: Project, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of them did, two at once and two after half an hour."""
    monkeypatch.setattr(opening, "MIN_TOLD", 8)
    monkeypatch.setattr(opening, "MIN_OPENED", 4)
    make_people(project, 8)
    past = opened(project, count=4)
    took(past, [0, 0, 1_800, 1_800])
    campaign = make_campaign(project, rate_per_second=10)
    address = reverse("admin:campaign_review", args=[campaign.pk])
    page = desk.client.get(address).content.decode()
    assert "When they open it" in page
    assert f"About 4 are expected to open it, as 50 % did of run {past.pk}." in page
    counts = opens_on(page)
    assert (counts[0], counts[-1], sum(counts)) == (2, 2, 4)
    assert "Nobody knows yet how many open" not in page


def test_the_review_says_where_nobody_has_opened_anything_yet(project: Project, desk: Desk) -> None:
    make_people(project, 8)
    campaign = make_campaign(project)
    page = desk.open("campaign_review", campaign.pk)
    assert "When they open it Nobody knows yet how many open a message of this project" in page


def test_the_quota_is_shown_of_the_day_that_the_project_has(project: Project, desk: Desk) -> None:
    Project.objects.update(timezone="Asia/Seoul")
    make_people(project, 25)
    at = datetime(2031, 5, 6, 20, tzinfo=UTC)  # 05:00 on the 7th in Seoul
    campaign = make_campaign(project, schedule_kind="at", at=at, timezone="UTC", rate_per_second=10)
    page = desk.client.get(reverse("admin:campaign_review", args=[campaign.pk])).content.decode()
    assert "?day=2031-05-07" in page


def test_nobody_is_drawn_where_nobody_is_reached(project: Project, desk: Desk) -> None:
    campaign = make_campaign(project)
    page = desk.open("campaign_review", campaign.pk)
    assert "How it would go" not in page
