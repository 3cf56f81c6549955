"""Years that no clock shows and numbers of thousands of digits: a word beside the field, no 500."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from campaigns.planning.campaign import Campaign
from campaigns.planning.pages import launch
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_people, make_scheduled_run
from tests.given.campaign_form import form
from tests.planning.pages.calendar.reading import move

pytestmark = pytest.mark.django_db
A_YEAR = "Choose a year from 2001 to 2099."
# East of Greenwich the first hours of year 1 are before all years; west of it, the last are after.
FAR = [
    ("0001-01-01T00:00", "Asia/Seoul"),
    ("9999-12-31T23:00", "America/New_York"),
    ("1999-12-31T23:00", "UTC"),
]
DIGITS = "9" * 5_000


@pytest.mark.parametrize(("wall", "zone"), FAR)
def test_a_far_year_is_refused_in_words(desk: Desk, project: Project, wall: str, zone: str) -> None:
    campaign = make_campaign(project)
    typed: dict[str, Any] = {"schedule_kind": "at", "at": wall, "timezone": zone}
    assert A_YEAR in text_of(desk.post("campaign_when", **typed))
    assert A_YEAR in desk.save("campaigns_campaign_change", campaign.pk, **form(campaign, **typed))
    until = {**typed, "schedule_kind": "recurring", "at": "2030-05-01T09:00", "repeat": "daily"}
    assert A_YEAR in text_of(desk.post("campaign_when", **until, until=wall))
    assert Campaign.objects.get().at is None


@pytest.mark.parametrize(("wall", "zone"), FAR)
def test_a_run_is_not_moved_to_a_far_year(
    desk: Desk, project: Project, wall: str, zone: str
) -> None:
    at = timezone.now().replace(microsecond=0) + timedelta(days=5)
    run = make_scheduled_run(project, at)
    reply = move(desk, run, datetime.fromisoformat(wall), at=wall, zone=zone)
    assert A_YEAR in text_of(reply)
    assert Run.objects.get().scheduled_at == at


def test_a_key_that_should_work_for_ever_is_told_how(desk: Desk, project: Project) -> None:
    """The last hour of 9999 is later than any clock in Seoul can show."""
    values: dict[str, Any] = {"name": "shop", "scopes": ["contacts"], "expires_at_1": "23:00:00"}
    assert A_YEAR in text_of(
        desk.post("notifications_apikey_add", **values, expires_at_0="9999-12-31")
    )
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("typed", [DIGITS, f"{DIGITS} min", f"1 h {DIGITS}"])
def test_a_duration_of_thousands_of_digits_is_refused_in_words(
    desk: Desk, project: Project, typed: str
) -> None:
    campaign = make_campaign(project)
    page = desk.save("campaigns_campaign_change", campaign.pk, **form(campaign, ttl_seconds=typed))
    assert "Write it like “15 min”" in page


def test_a_number_of_thousands_of_digits_launches_nothing(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "TYPED_ABOVE", 2)
    make_people(project, 3)
    campaign = make_campaign(project)
    reply = desk.confirm("campaigns_campaign_launch", campaign.pk, number=DIGITS)
    assert "Type 3 to launch." in text_of(reply) and not Run.objects.exists()


@pytest.mark.parametrize("asked", ["id__exact", "id__gt", "project__id__exact", "pk"])
@pytest.mark.parametrize("page", ["device", "contact", "auditentry"])
def test_a_filter_by_a_number_beyond_every_id_finds_nothing(
    desk: Desk, project: Project, page: str, asked: str
) -> None:
    reply = desk.client.get(f"/admin/notifications/{page}/?{asked}={10**20}")
    assert reply.status_code in (200, 302)
