"""What needs a person stands at the top of the overview, with its cause and the next step."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from campaigns.runs.chunk import Chunk
from campaigns.runs.run import Run
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.webhooks.endpoint import Endpoint
from tests.admin.desk import Desk
from tests.given.builders import make_run
from tests.given.endpoints import make_endpoint

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


def make_import(project: Project, *, ago: timedelta = timedelta(), **values: Any) -> Import:
    one = Import.objects.create(project=project, name="spring.csv", size=1, by="user:ada", **values)
    Import.objects.filter(pk=one.pk).update(created_at=timezone.now() - ago)
    return one


@pytest.fixture(autouse=True)
def not_the_first_run(project: Project) -> None:
    make_run(project, advanced=False).cancel()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"state": "failed", "problem": "It is no text."}, "It is no text. Mend the file"),
        ({"state": "stopped"}, "It was stopped before its end. Go on with it"),
        ({"state": "checked"}, "nothing of it was imported yet. Look at what it would do"),
        (
            {"state": "finished", "refused": 1_200, "finished_at": timezone.now()},
            "1,200 rows were refused. Download the refused rows",
        ),
    ],
)
def test_an_import_that_waits_or_refused_rows(
    desk: Desk, project: Project, values: dict[str, Any], said: str
) -> None:
    one = make_import(project, **values)
    text = desk.open("index")
    assert "Needs a person Import of spring.csv" in text and said in text
    page = desk.client.get(reverse("admin:index")).content.decode()
    assert reverse("admin:notifications_import_change", args=[one.pk]) in page


def test_old_and_good_imports_need_nobody(desk: Desk, project: Project, museum: Project) -> None:
    now = timezone.now()
    make_import(project, state="finished", finished_at=now)
    make_import(project, state="merging", refused=3)
    make_import(project, state="finished", refused=3, finished_at=now - 2 * DAY)
    make_import(project, state="failed", problem="Broken.", ago=8 * DAY)
    make_import(museum, state="failed", problem="Another project's.")
    assert "Needs a person" not in desk.open("index")


def test_a_project_that_cannot_send_says_so(desk: Desk, project: Project) -> None:
    assert "The key of Shop" not in desk.open("index")  # the emulator asks for none
    Project.objects.update(uses_emulator=False)
    text = desk.open("index")
    assert "Needs a person The key of Shop" in text and "has no key" in text


def test_an_endpoint_that_takes_nothing_is_said_and_one_switched_off_is_not(
    desk: Desk, project: Project, museum: Project
) -> None:
    now = timezone.now()
    ops = make_endpoint(project, "https://hooks.example.com/", name="Ops", failing_since=now)
    make_endpoint(museum, "https://hooks.example.com/", name="Else", failing_since=now - DAY)
    assert "Needs a person" not in desk.open("index"), "it has failed once"
    Endpoint.objects.filter(pk=ops.pk).update(failing_since=now - timedelta(minutes=6))
    assert "Needs a person Reports to “Ops” It has taken nothing since" in desk.open("index")
    ops.disable(Endpoint.Why.FAILING, now=now)
    assert "Needs a person Reports to “Ops” It took nothing for 5 days." in desk.open("index")
    Endpoint.objects.filter(pk=ops.pk).update(disabled_why=Endpoint.Why.BY_HAND)
    assert "Needs a person" not in desk.open("index")


def test_unknown_outcomes_wait_until_somebody_has_decided(desk: Desk, project: Project) -> None:
    run = make_run(project, advanced=False)
    at = timezone.now() - 3 * DAY
    Run.objects.filter(pk=run.pk).update(
        state="finished", started_at=at, finished_at=at, planned=3, unknown=3
    )
    counts = {"unknown": 3, "reasons": {"unanswered": 3}, "state": "closed"}
    Chunk.objects.create(run=run, number=1, first_seq=1, last_seq=3, **counts)
    assert "It ended with 3 unknown outcomes." in desk.open("index")
    Chunk.objects.update(reasons={"let_be": 3})
    assert "Needs a person" not in desk.open("index")
