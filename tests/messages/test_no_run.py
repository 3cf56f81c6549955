"""A day of messages is no run to those who look at runs; what was repaired in it is counted."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from campaigns import tasks
from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device

HELLO = {"title": "Hello", "body": "x"}


@pytest.fixture
def day(project: Project) -> Run:
    """With a message that was sent."""
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    said = {"to": {"contact": "ada"}, "content": HELLO}
    assert Caller(project).post("messages", said).status_code == 202
    tasks.send_messages()
    return Run.every.get(project=project)


@pytest.mark.parametrize("part", ["", "/breakdown", "/deliveries", "/deliveries.csv"])
def test_the_api_of_runs_knows_no_day_of_messages(day: Run, project: Project, part: str) -> None:
    call = Caller(project)
    assert call.get(f"runs/{day.pk}{part}").status_code == 404
    assert call.get("runs").json()["results"] == []


def test_the_page_of_a_run_knows_no_day_of_messages(day: Run, admin_client: Client) -> None:
    answer = admin_client.get(reverse("admin:campaigns_run_change", args=[day.pk]))
    assert answer.status_code in (302, 404)


@pytest.mark.parametrize("page", ["index", "operations", "retention"])
def test_pages_beside_runs_open_and_lead_to_no_day(
    day: Run, admin_client: Client, page: str
) -> None:
    args = [day.project_id] if page == "retention" else []
    answer = admin_client.get(reverse(f"admin:{page}", args=args))
    assert answer.status_code == 200
    assert f"/run/{day.pk}/" not in answer.content.decode()


def test_no_report_is_made_of_a_day_of_messages(day: Run) -> None:
    with pytest.raises(CommandError, match=f"There is no run {day.pk}"):
        call_command("report", str(day.pk), stdout=StringIO())


def test_a_quarantined_chunk_of_messages_is_counted_among_the_repairs(
    day: Run, client: Client
) -> None:
    line = 'carillon_repairs{kind="quarantined"}'
    assert f"{line} 0.0" in client.get("/metrics").content.decode()
    Chunk.objects.filter(run=day).update(state=Chunk.State.QUARANTINED)
    assert f"{line} 1.0" in client.get("/metrics").content.decode()
