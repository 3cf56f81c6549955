"""The overview: what runs, what comes, what needs a person, and a way in when there is nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from django.utils import timezone

from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given.builders import make_campaign, make_people, make_run

pytestmark = pytest.mark.django_db


def test_without_anything_it_names_the_steps_and_the_demo(desk: Desk) -> None:
    text = desk.open("index")
    assert "Five steps to a first run: A project" in text
    assert "audience and template together" in text and "manage.py demo makes" in text


def test_in_an_empty_project_it_names_the_four_steps(desk: Desk, project: Project) -> None:
    text = desk.open("index")
    assert "Four steps to a first run: People" in text and "manage.py demo" not in text


def test_with_a_campaign_and_no_run_it_leads_to_the_launch(desk: Desk, project: Project) -> None:
    make_campaign(project, name="Autumn run")
    text = desk.open("index")
    assert "Launch “Autumn run”" in text and "no real phone rings" in text


def test_running_scheduled_and_recent_runs_stand_in_their_places(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    make_run(project, name="Now")
    later = timezone.now() + timedelta(hours=1)
    make_run(project, advanced=False, name="Later", schedule_kind="at", at=later)
    done = make_run(project, name="Before")
    done.cancel()
    text = desk.open("index")
    assert text.index("Running now") < text.index("Now Sending") < text.index("Scheduled next")
    assert text.index("Scheduled next") < text.index("Later") < text.index("Recent runs")
    assert text.index("Recent runs") < text.index("Before") < text.index("Cancelled")
    assert "Needs a person" not in text
    assert "Running now" in desk.open("campaigns_overview")


def test_a_paused_run_needs_a_person_and_shows_beside_runs(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project, name="Spring")
    run.pause(Cause.LATE, "It was due 20 min ago.")
    text = desk.open("index")
    assert "Needs a person" in text and "Its time passed while the system was down" in text
    assert "It was due 20 min ago." in text and "Runs 1 task_alt" in text
    Run.objects.update(state="cancelled", finished_at=timezone.now())
    assert "Needs a person" not in desk.open("index")


def test_a_silent_scheduler_is_said_so(desk: Desk, project: Project) -> None:
    make_run(project)
    Tick.record(timezone.now() - timedelta(minutes=5))
    assert "The scheduler has been silent for 5 min" in desk.open("index")
    Tick.record(timezone.now())
    assert "silent" not in desk.open("index")


def test_the_navigation_speaks_the_products_words_and_links_the_tools(
    desk: Desk, settings: LazySettings
) -> None:
    page = desk.client.get("/admin/").content.decode()
    text = desk.open("index")
    words = ["Overview", "Campaigns", "Calendar", "Audiences", "Templates", "Results", "Runs",
             "Finished runs", "People", "Devices", "Operations", "Projects", "Team",
             "API keys", "Audit", "Flower", "API docs"]  # fmt: skip
    assert [word for word in words if word not in text] == []
    assert settings.FLOWER_URL in page and "/api/docs/" in page
    assert "Development" in text or "Test" in text


def test_no_page_carries_a_script_of_its_own(desk: Desk, project: Project) -> None:
    """The Content-Security-Policy forbids it, and a browser would drop it silently."""
    make_people(project, 1)
    run = make_run(project)
    for url in (
        "/admin/",
        f"/admin/campaigns/run/{run.pk}/change/",
        f"/admin/campaigns/campaign/{run.campaign_id}/change/",
        "/admin/campaigns/template/add/",
        "/admin/campaigns/audience/add/",
        "/admin/notifications/contact/",
    ):
        html = desk.client.get(url).content.decode()
        assert "<script>" not in html and "javascript:" not in html, url
        assert " onclick=" not in html, url
        assert "<main" in html and "Skip to the content" in html, url
