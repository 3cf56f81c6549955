"""A paused run is resumed or cancelled by anybody: who has its page open sees it within seconds."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from campaigns import control
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.given import runs
from tests.given.builders import make_people, make_run


@pytest.fixture
def run(project: Project) -> Run:
    return runs.paused(project)


def asks(page: Any) -> tuple[str, str]:
    """What the live part of the page asks for, and when."""
    found = re.search(r'id="run-live" hx-get="([^"]+)" hx-trigger="([^"]+)"', page.content.decode())
    assert found
    return unescape(found[1]), found[2]


def opened(desk: Desk, run: Run) -> Any:
    return desk.client.get(reverse("admin:campaigns_run_change", args=[run.pk]))


def test_the_page_of_a_paused_run_asks_every_two_seconds_and_hears_that_nothing_changed(
    desk: Desk, run: Run
) -> None:
    url, when = asks(opened(desk, run))
    assert when.startswith("every 2s")

    reply = desk.client.get(url)

    assert (reply.status_code, reply.content) == (204, b"")


def test_asking_whether_a_run_is_still_paused_reads_two_rows_of_it(desk: Desk, run: Run) -> None:
    url, _ = asks(opened(desk, run))
    with CaptureQueriesContext(connection) as asked:
        desk.client.get(url)
    about_it = [one["sql"] for one in asked if "campaigns_" in one["sql"]]
    assert len(about_it) == 2


def test_a_colleague_sees_that_a_run_was_resumed(desk: Desk, run: Run) -> None:
    url, _ = asks(opened(desk, run))

    control.resume(run, by="user:grace")
    page = desk.client.get(url)

    assert page.status_code == 200
    text = page.content.decode()
    assert "Why it is paused" not in text and "every 1s" in text
    assert 'id="verb-pause"' in text and 'id="verb-resume"' not in text


def test_a_colleague_sees_that_a_run_was_cancelled(desk: Desk, run: Run) -> None:
    url, _ = asks(opened(desk, run))

    control.cancel(run, by="user:grace")

    assert "Cancelled" in desk.client.get(url).content.decode()


def test_answers_that_come_in_after_the_pause_are_shown(desk: Desk, run: Run) -> None:
    url, _ = asks(opened(desk, run))

    run.chunks.update(accepted=1)
    page = desk.client.get(url)

    assert page.status_code == 200 and "1 accepted" in page.content.decode()
    assert desk.client.get(asks(page)[0]).status_code == 204


def test_a_run_that_moves_is_never_said_to_stand_still(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    moving = make_run(project)
    url, when = asks(opened(desk, moving))
    assert when == "every 1s" and "tag=" not in url
    assert desk.client.get(f"{url}&tag=paused.0").status_code == 200
