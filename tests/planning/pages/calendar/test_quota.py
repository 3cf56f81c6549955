"""The quota planner: what is used and planned by the hour, and what one more would push out."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.utils import timezone

from campaigns.audiences import estimating, reach
from campaigns.figures import sent
from campaigns.forecast.other_runs import planned_runs, run_sizes
from campaigns.runs.run import Run
from notifications.people.contact import Contact
from notifications.people.project import Project
from notifications.postgres import budget
from notifications.postgres.budget import TooSlow
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_project, make_run
from tests.given.builders import make_scheduled_run as scheduled

pytestmark = pytest.mark.django_db
DAY = "2031-05-14"
NINE = datetime(2031, 5, 14, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.fixture(autouse=True)
def at_ten_a_second(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The quota is 750 a minute."""
    cache.clear()
    monkeypatch.setattr(estimating, "SAMPLE_SECONDS", 10.0)  # nothing is estimated
    monkeypatch.setattr(run_sizes, "COUNTING_SECONDS", 60.0)
    Project.objects.update(quota_per_minute=750, timezone="UTC")
    project.refresh_from_db()


def planner(desk: Desk, **query: Any) -> str:
    return desk.open("campaigns_quota", **{"day": DAY, **query})


def test_a_planned_run_stands_in_the_hours_in_which_it_is_sent(
    desk: Desk, project: Project
) -> None:
    make_people(project, 600)
    scheduled(project, NINE + 59.5 * MINUTE, name="Lanterns")
    text = planner(desk)
    assert "FCM's quota is 750 a minute. 80 % of it are used: 10 a second, 36,000 an hour." in text
    assert "600 messages, most from 09:00 on: 0.8 % of the quota" in text
    assert "09:00 0 300 0.8 % 10:00 0 300 0.8 % 11:00 0 0 0 %" in text
    assert "Lanterns 14 May 09:59 14 May 10:00 600" in text


def test_of_too_many_it_says_how_many_it_did_not_reckon(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 600)
    for number in range(3):
        scheduled(project, NINE + number * MINUTE, name=f"Sale {number}")
    said = "1 more is planned and was not reckoned."
    assert said not in planner(desk)
    monkeypatch.setattr(planned_runs, "MOST", 2)
    text = planner(desk)
    assert said in text and "14 May 09:01" in text and "14 May 09:02" not in text


def test_projects_that_are_one_at_firebase_share_one_row(desk: Desk, project: Project) -> None:
    twin = make_project(name="Twin", timezone="UTC", quota_per_minute=600)
    elsewhere = make_project(name="Other", firebase_project_id="elsewhere")
    make_people(twin, 60)
    scheduled(twin, NINE, name="Secret sale")
    text = planner(desk)
    assert "The project “Twin” sends by the same quota." in text
    assert "FCM's quota is 600 a minute" in text  # the lowest that was said of it
    assert "A campaign of another project" in text and "Secret sale" not in text
    assert text.count("carillon-demo") == 1 and elsewhere.firebase_project_id in text


def test_all_rows_of_the_page_are_counted_within_the_same_seconds(
    desk: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, one in enumerate([project, make_project(firebase_project_id="elsewhere")]):
        scheduled(one, NINE + number * MINUTE)
    ends = []

    def never(*_asked: Any, **_more: Any) -> Any:
        ends.append(budget._ends.get())
        raise TooSlow

    monkeypatch.setattr(reach, "zones", never)
    planner(desk)
    assert len(ends) == 2 and len({*ends}) == 1


def test_what_was_sent_today_is_told_by_the_hour(desk: Desk, project: Project) -> None:
    now = timezone.now()
    run = make_run(project, advanced=False)
    Run.objects.filter(pk=run.pk).update(
        state="finished", started_at=now - MINUTE, finished_at=now, planned=72, accepted=72
    )
    sent.keep_levels(now)
    text = desk.open("campaigns_quota")
    assert "72 messages, most from" in text
    assert f"Sent: as of {now:%H:%M}" in text


def test_a_draft_and_a_paused_series_are_not_planned(desk: Desk, project: Project) -> None:
    make_people(project, 3)
    make_campaign(project, name="Idea", schedule_kind="at", at=NINE)
    assert "Nothing was sent, and nothing is planned." in planner(desk)


def test_one_more_pushes_out_what_is_sent_at_the_same_time(desk: Desk, project: Project) -> None:
    make_people(project, 600)
    scheduled(project, NINE, name="Lanterns")
    text = planner(desk, messages=600, at="2031-05-14T09:00")
    assert "It would begin at 14 May 09:00 and end about 14 May 09:01" in text
    assert re.search(r"Alone it would take (59 s|1 min) less\.", text)
    assert "Lanterns 14 May 09:00 14 May 09:01" in text
    aside = planner(desk, messages=600, at="2031-05-14T12:00")
    assert "None of the planned ones would end later." in aside


def test_what_it_pushes_out_is_found_on_another_day_than_is_shown(
    desk: Desk, project: Project
) -> None:
    make_people(project, 600)
    scheduled(project, NINE, name="Lanterns")
    text = planner(desk, day="2031-05-01", messages=600, at="2031-05-14T09:00")
    assert "Lanterns 14 May 09:00 14 May 09:01" in text
    assert "None of the planned ones" not in text


def test_a_campaign_that_is_planned_already_does_not_push_itself_out(
    desk: Desk, project: Project
) -> None:
    make_people(project, 600)
    run = scheduled(project, NINE, name="Lanterns")
    text = planner(desk, campaign=run.campaign.pk, at="2031-05-14T09:00")
    assert "None of the planned ones would end later." in text
    assert "with 600 messages" in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"messages": "-1"}, "Ensure this value is greater than or equal to 1."),
        ({"messages": "9" * 40}, "Ensure this value is less than or equal to"),
        ({"campaign": "0"}, "There is no such campaign here."),
        ({"campaign": "x"}, "There is no such campaign here."),
        ({"campaign": ""}, "Choose a campaign, or say how many messages."),
        ({"messages": "5"}, "Choose the time at which they are sent."),
        ({"messages": "5", "at": "soon"}, "Enter a valid date/time."),
        ({"messages": "5", "at": "2020-01-01T09:00"}, "This time has passed."),
        ({"messages": "5", "at": "9999-12-31T23:59"}, "Choose a year from 2001 to 2099."),
        ({"day": "2099-12-31"}, "Quota"),
        ({"day": "2000-01-01"}, "Quota"),
        ({"day": "never"}, "today"),
    ],
)
def test_what_cannot_be_reckoned_is_said_beside_its_field(
    desk: Desk, project: Project, asked: dict[str, str], said: str
) -> None:
    assert said in planner(desk, **asked)


def test_a_campaign_counts_those_it_is_sent_to_and_later_those_it_was(
    desk: Desk, project: Project
) -> None:
    for device in make_people(project, 60)[:20]:
        Contact.objects.filter(pk=device.contact_id).update(subscribed=False)
    campaign = make_campaign(project, schedule_kind="at", at=NINE)
    assert "with 40 messages." in planner(desk, campaign=campaign.pk)
    run = make_run(project, advanced=False)
    Run.objects.filter(pk=run.pk).update(
        state="finished", finished_at=timezone.now(), planned=60, accepted=54, skipped=6
    )
    text = planner(desk, campaign=run.campaign.pk)
    assert "with 54 messages." in text
