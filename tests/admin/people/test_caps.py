"""Caps are set on the project's page, and a launch says before whom they would spare."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.runs.caps.counted_pushes import Counted
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.consent.category import Category
from notifications.people.device import Device
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_people, make_run

pytestmark = pytest.mark.django_db


def form_of(project: Project, **values: Any) -> dict[str, Any]:
    return {
        "name": project.name, "slug": project.slug, "timezone": project.timezone,
        "firebase_project_id": project.firebase_project_id,
        "quota_per_minute": project.quota_per_minute, "ramp_seconds": project.ramp_seconds,
        "holdout_percent": 0, **values,
    }  # fmt: skip


def rung(device: Device, *, hours_ago: int, times: int = 1) -> None:
    at = timezone.now() - timedelta(hours=hours_ago)
    for run in range(times):
        person = device.contact_id
        Counted.objects.create(contact_id=person, run_id=900 + run, seq=1, message=0, at=at)


def test_they_are_set_on_the_projects_page_and_in_its_trail(desk: Desk, project: Project) -> None:
    page = "notifications_project_change"
    caps = {"cap_per_day": "3", "cap_per_week": "10", "cap_gap_minutes": "90"}
    assert desk.post(page, project.pk, **form_of(project, **caps)).status_code == 302
    project.refresh_from_db()
    assert (project.cap_per_day, project.cap_per_week, project.cap_gap_minutes) == (3, 10, 90)
    assert "cap_per_day" in str(AuditEntry.objects.latest("pk").detail)


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        ({"cap_per_day": "0"}, "greater than or equal to 1"),
        ({"cap_per_day": "101"}, "less than or equal to 100"),
        ({"cap_per_day": "x"}, "whole number"),
        ({"cap_per_day": "5", "cap_per_week": "4"}, "Fewer in seven days than in one"),
        ({"cap_gap_minutes": "10081"}, "less than or equal to 10080"),
    ],
)
def test_what_cannot_be_a_cap_is_refused_by_its_field(
    desk: Desk, project: Project, caps: dict[str, str], said: str
) -> None:
    page = desk.post("notifications_project_change", project.pk, **form_of(project, **caps))
    assert said in page.content.decode()
    project.refresh_from_db()
    assert project.cap_per_day is None


def test_before_a_launch_one_reads_how_many_have_had_enough(desk: Desk, project: Project) -> None:
    often, lately, once, _never = make_people(project, 4)
    rung(often, hours_ago=20, times=2)
    rung(once, hours_ago=20)
    rung(lately, hours_ago=0)
    Project.objects.update(cap_per_day=2, cap_gap_minutes=60)
    campaign = make_campaign(project)
    said = "2 devices: their people have got as many messages as the caps allow."
    assert said in desk.open("campaign_review", campaign.pk).replace("&#x27;", "'")
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert [(one["reason"], one["devices"]) for one in told["skipped"]] == [("capped", 2)]
    assert told["who"]["sent_to"] == 2


def test_before_a_launch_one_reads_for_which_campaign_places_are_kept(
    desk: Desk, project: Project
) -> None:
    make_people(project, 2)
    Project.objects.update(cap_per_day=1)
    at = timezone.now() + timedelta(hours=1)
    above = control.launch(
        make_campaign(project, name="News", schedule_kind="at", at=at, precedence="high"),
        by="user:alice", now=timezone.now(),
    )  # fmt: skip
    said = (
        "2 devices: by the caps their people have had enough, with the places that are kept for "
        f"campaigns of higher precedence: News (run {above.pk})."
    )
    assert said in desk.open("campaign_review", make_campaign(project).pk)


def test_who_waits_for_the_morning_may_have_had_too_little_by_then(
    desk: Desk, project: Project
) -> None:
    """As it is known now they have had enough; that forbids no launch."""
    (person,) = make_people(project, 1)
    rung(person, hours_ago=20)
    now = timezone.localtime(timezone.now(), ZoneInfo(project.timezone))
    asleep = {
        "quiet_from": (now - timedelta(hours=1)).time().replace(second=0, microsecond=0),
        "quiet_until": (now + timedelta(hours=9)).time().replace(second=0, microsecond=0),
    }
    Project.objects.update(cap_per_day=1, **asleep)
    campaign = make_campaign(project)
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert [(one["reason"], one["exact"]) for one in told["skipped"]] == [("capped", False)]
    desk.confirm("campaigns_campaign_launch", campaign.pk)
    assert Run.objects.count() == 1


def test_a_campaign_for_tomorrow_counts_what_is_recent_then(project: Project) -> None:
    (person,) = make_people(project, 1)
    rung(person, hours_ago=10)
    Project.objects.update(cap_per_day=1)
    at = timezone.now() + timedelta(hours=13)
    later = make_campaign(project, schedule_kind="at", at=at + timedelta(hours=2))
    sooner = make_campaign(project, schedule_kind="at", at=at)
    told = [
        Caller(project).get(f"campaigns/{one.pk}/check").json()["who"]["skipped"]
        for one in (sooner, later)
    ]
    assert told == [1, 0]


def test_a_program_says_how_a_category_keeps_to_them(project: Project) -> None:
    call = Caller(project)
    made = call.post("categories", {"name": "Alerts", "slug": "alerts", "caps": "exempt"})
    assert made.json()["caps"] == "exempt"
    wrong = call.patch(f"categories/{made.json()['id']}", {"caps": "never"})
    assert wrong.status_code == 400
    assert "keep, exempt or free" in str(wrong.json())
    assert Category.objects.get().caps == "exempt"


def test_a_launch_says_whom_the_caps_of_its_category_would_spare(
    desk: Desk, project: Project
) -> None:
    offered, told, _never = make_people(project, 3)
    offers = Category.objects.create(project=project, name="O", slug="offers", cap_per_day=1)
    rung(offered, hours_ago=20)
    Counted.objects.update(category=offers.pk)
    rung(told, hours_ago=20)
    campaign = make_campaign(project, category=offers)
    told_before = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert [(one["reason"], one["devices"]) for one in told_before["skipped"]] == [("capped", 1)]


def test_a_program_gives_a_category_caps_of_its_own(project: Project) -> None:
    call = Caller(project)
    asked = {"name": "Offers", "slug": "offers", "cap_per_day": 1, "cap_gap_minutes": 90}
    made = call.post("categories", asked).json()
    assert (made["cap_per_day"], made["cap_per_week"], made["cap_gap_minutes"]) == (1, None, 90)
    one = f"categories/{made['id']}"
    assert call.patch(one, {"cap_per_week": 3}).json()["cap_per_day"] == 1
    assert call.put(one, {"name": "Offers", "slug": "offers"}).json()["cap_per_week"] is None


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"cap_per_day": 0}, "cap_per_day"),
        ({"cap_per_day": "many"}, "cap_per_day"),
        ({"cap_per_week": 501}, "cap_per_week"),
        ({"cap_gap_minutes": 10_081}, "cap_gap_minutes"),
        ({"cap_per_day": 5, "cap_per_week": 4}, "cap_per_week"),
        ({"cap_per_day": 1, "kind": "transactional"}, "cap_per_day"),
        ({"cap_gap_minutes": 1, "caps": "exempt"}, "cap_gap_minutes"),
    ],
)
def test_caps_that_a_category_cannot_have_are_refused_by_their_field(
    project: Project, asked: dict[str, Any], field: str
) -> None:
    reply = Caller(project).post("categories", {"name": "O", "slug": "offers", **asked})
    assert reply.status_code == 400
    assert [one["field"] for one in reply.json()["errors"]] == [field]
    assert not Category.objects.exists()


def test_caps_of_a_category_are_set_and_emptied_on_its_page(desk: Desk, project: Project) -> None:
    kept = Category.objects.create(project=project, name="Tips", slug="tips")
    page, form = "notifications_category_change", {"project": project.pk, "name": "Tips"}
    caps = {"cap_per_day": "1", "cap_per_week": "", "cap_gap_minutes": "60"}
    assert desk.post(page, kept.pk, **form, **caps).status_code == 302
    kept.refresh_from_db()
    assert (kept.cap_per_day, kept.cap_per_week, kept.cap_gap_minutes) == (1, None, 60)

    said = desk.confirm("notifications_category_change_kind", kept.pk, kind="transactional")
    assert "It has caps of its own" in said.content.decode()

    assert desk.post(page, kept.pk, **form).status_code == 302  # a page from before
    kept.refresh_from_db()
    assert kept.cap_per_day == 1
    assert desk.post(page, kept.pk, **form, **dict.fromkeys(caps, "")).status_code == 302
    kept.refresh_from_db()
    assert not kept.has_caps


def test_the_rows_of_a_run_say_for_which_other_somebody_was_left_out(
    desk: Desk, project: Project
) -> None:
    (device,) = make_people(project, 1)
    run = make_run(project)
    Delivery.objects.create(
        run_id=run.pk, seq=1, device_id=device.pk, status="skipped", reason="capped",
        detail="kept for run 12345", attempt=1, at=timezone.now(),
    )  # fmt: skip
    assert "Kept for run 12345" in desk.open("run_deliveries", run.pk)


def test_a_page_of_a_category_from_before_keeps_what_was_said(desk: Desk, project: Project) -> None:
    kept = Category.objects.create(project=project, name="Tips", slug="tips", caps="free")
    form = {"project": project.pk, "name": "More tips"}
    assert desk.post("notifications_category_change", kept.pk, **form).status_code == 302
    kept.refresh_from_db()
    assert (kept.name, kept.caps) == ("More tips", "free")
