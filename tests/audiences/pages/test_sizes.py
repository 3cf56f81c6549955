"""Sizes in the list of audiences: counted in the background, for whom somebody looks at them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from campaigns import tasks
from campaigns.audiences import reach
from campaigns.audiences.audience import Audience
from campaigns.audiences.lists import sizes
from campaigns.planning.campaign import Campaign
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import (
    make_audience,
    make_campaign,
    make_contact,
    make_people,
    make_project,
)
from tests.given.importing import bring_in, check, mapped, upload

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    cache.clear()


def size_of(one: Audience) -> Any:
    one.refresh_from_db()
    return one.size


def test_an_audience_that_somebody_saw_in_the_list_is_counted_in_the_background(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    one = make_audience(project)
    tasks.tidy()
    assert size_of(one) is None, "nobody looked at it"
    assert "not counted yet" in desk.open("campaigns_audience_changelist")
    tasks.tidy()
    assert (size_of(one)["people"], size_of(one)["exact"]) == (3, True)
    assert "3 people, 3 devices" in desk.open("campaigns_audience_changelist")


def test_one_that_a_campaign_used_lately_is_counted_and_of_long_ago_it_is_not(
    project: Project,
) -> None:
    used, old = make_audience(project, name="Used"), make_audience(project, name="Old")
    make_campaign(project, name="Now", audience=used)
    make_campaign(project, name="Then", audience=old)
    Campaign.objects.filter(name="Then").update(updated_at=timezone.now() - timedelta(days=8))
    tasks.tidy()
    assert size_of(used) is not None and size_of(old) is None


def test_a_count_of_less_than_a_day_stays(project: Project) -> None:
    one, now = make_audience(project), timezone.now()
    sizes.looked_at([one.pk])
    sizes.count_some(now=now - timedelta(hours=23))
    make_contact(project)
    cache.delete(f"audience-tried-{one.pk}")
    assert sizes.count_some(now=now) == 0
    assert sizes.count_some(now=now + timedelta(hours=2)) == 1
    assert size_of(one)["people"] == 1


def test_a_project_too_big_to_count_gets_an_estimate(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make_audience(project)
    sizes.looked_at([one.pk])
    about = reach.Reach(1_000_000, 900_000, 900_000, {}, exact=False)
    monkeypatch.setattr(reach, "quick", lambda *_: about)
    tasks.tidy()
    assert "about 1,000,000 people, 900,000 devices" in desk.open("campaigns_audience_changelist")


def test_one_that_cannot_be_counted_keeps_no_other_waiting_and_is_not_tried_again_that_day(
    project: Project,
) -> None:
    gone = {"field": "audience", "op": "eq", "value": 999_999}
    broken = make_audience(project, name="Broken")
    Audience.objects.filter(pk=broken.pk).update(rules=gone)
    fine = make_audience(project, name="Fine")
    sizes.looked_at([broken.pk, fine.pk])
    assert sizes.count_some(now=timezone.now()) == 1
    assert size_of(broken) is None and size_of(fine) is not None
    assert sizes.count_some(now=timezone.now()) == 0


def test_no_count_begins_when_the_time_of_a_tick_is_over(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make_audience(project)
    sizes.looked_at([one.pk])
    with monkeypatch.context() as none_left:
        none_left.setattr(sizes, "SECONDS", 0.0)
        assert sizes.count_some(now=timezone.now()) == 0
    assert sizes.count_some(now=timezone.now()) == 1, "it comes with the next"


def test_a_size_from_before_an_import_is_said_to_be_and_counted_again_soon(
    desk: Desk, project: Project
) -> None:
    one = make_audience(project)
    desk.open("campaigns_audience_changelist")
    tasks.tidy()
    assert size_of(one)["people"] == 0
    assert "before the last import" not in desk.open("campaigns_audience_changelist")

    bring_in(project, "external_id,locale\nada,en\nbob,ko\n")

    assert "before the last import: it is counted again soon" in desk.open(
        "campaigns_audience_changelist"
    )
    tasks.tidy()
    assert size_of(one)["people"] == 2
    assert "before the last import" not in desk.open("campaigns_audience_changelist")
    assert sizes.count_some(now=timezone.now()) == 0, "once after an import"
    bring_in(project, "external_id,locale\ncay,de\n", name="more.csv")
    tasks.tidy()
    assert size_of(one)["people"] == 3


def test_an_import_makes_no_size_of_another_project_old(desk: Desk, project: Project) -> None:
    one = make_audience(project)
    desk.open("campaigns_audience_changelist")
    tasks.tidy()
    bring_in(make_project(name="Other"), "external_id,locale\nada,en\n")
    assert sizes.count_some(now=timezone.now()) == 0
    assert "before the last import" not in desk.open("campaigns_audience_changelist")
    assert size_of(one)["people"] == 0


def test_an_import_that_was_only_checked_makes_no_size_old(desk: Desk, project: Project) -> None:
    make_audience(project)
    desk.open("campaigns_audience_changelist")
    tasks.tidy()
    check(mapped(upload(project, "external_id,locale\nada,en\n")))
    assert sizes.count_some(now=timezone.now()) == 0
