"""When a part is down the pages still open, and say which, what it means and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from campaigns.runs.messages.message import Message
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from config.pages import downtime
from notifications.pacing import gate
from notifications.people.project import Project
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_people, make_project, make_run
from tests.roles.every_page import address, make_message, pages
from tests.roles.people import logged_in
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db
NOWHERE = "redis://127.0.0.1:1/0"
POLLS = re.compile(r'hx-trigger="[^"]*\bevery\b')


@pytest.fixture
def without_redis(settings: LazySettings) -> Iterator[None]:
    gate._script.cache_clear()  # a process keeps the client it has
    settings.BROKER_URL = settings.RESULTS_URL = settings.GATE_URL = NOWHERE
    settings.REDIS_DATABASES = dict.fromkeys(settings.REDIS_DATABASES, NOWHERE)
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": NOWHERE}}
    yield
    gate._script.cache_clear()


@pytest.fixture
def without_workers(settings: LazySettings) -> None:
    settings.BROKER_URL = settings.RESULTS_URL  # Redis answers there, and nobody listens


def test_without_redis_it_says_so_and_that_nothing_is_lost(
    desk: Desk, project: Project, without_redis: None
) -> None:
    text = desk.open("downtime")
    assert "Redis does not answer." in text and "nothing is lost" in text
    assert "Ask an operator to start Redis." in text
    assert "No worker" not in text  # nobody could be asked


def test_without_redis_every_page_a_marketer_needs_still_opens(
    desk: Desk, project: Project, without_redis: None
) -> None:
    [device] = make_people(project, 1)
    run = make_run(project)
    paced = "Redis does not answer, and each worker keeps to its own share."
    desk.open("index")
    desk.open("overview_health")
    assert "Redis does not answer. Nothing is lost" in desk.open("operations")
    assert "asked through Redis, which does not answer" in desk.open("operations_workers")
    desk.open("campaigns_campaign_change", run.campaign_id)
    assert paced in desk.open("campaigns_run_change", run.pk)
    assert paced in desk.open("run_live", run.pk)
    desk.open("notifications_contact_change", device.contact_id)


def test_without_any_worker_it_says_once_that_everything_stands_still(
    desk: Desk, project: Project, without_workers: None
) -> None:
    text = desk.open("downtime", run="")
    assert "No worker is running." in text and "Ask an operator to start the workers." in text
    assert "Redis" not in text and "scheduler" not in text  # which follows from it


@pytest.mark.parametrize(
    ("served", "said", "remedy"),
    [
        ({"control"}, "No worker is sending.", "“bulk”"),
        ({"bulk", "urgent"}, "No worker manages the runs.", "“control”"),
    ],
)
def test_where_some_queue_is_not_served_it_says_what_that_means(
    served: set[str], said: str, remedy: str
) -> None:
    [trouble] = downtime._without_worker(served)
    assert trouble.what == said and remedy in trouble.remedy


def test_operators_get_the_way_to_operations_and_others_whom_to_ask(
    project: Project, without_redis: None
) -> None:
    link = reverse("admin:operations").encode()
    for role, given in ((Role.VIEWER, False), (Role.OPERATOR, True)):
        reply = logged_in(role).get(reverse("admin:downtime"))
        assert (link in reply.content) is given and "Ask an operator" in text_of(reply)


@pytest.mark.django_db(transaction=True)
def test_while_everything_works_it_says_nothing_and_without_a_tick_that(
    client: Client, workers: Workers
) -> None:
    client.force_login(User.objects.create_superuser("ada", "a@example.com", "a long pass phrase"))
    make_project()
    Tick.record(timezone.now())
    workers.wait_until_ready()
    reply: Any = client.get(reverse("admin:downtime"), {"run": ""})
    assert reply.status_code == 200 and text_of(reply).strip() == ""
    Tick.record(timezone.now() - timedelta(minutes=5))
    assert "The scheduler is silent." in text_of(client.get(reverse("admin:downtime"), {"run": ""}))
    assert text_of(client.get(reverse("admin:downtime"))).strip() == ""  # the overview says it


# --- Asking again -------------------------------------------------------------------------------


def test_the_overview_and_an_unfinished_runs_page_ask_and_a_finished_runs_does_not(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1)
    run = make_run(project)
    asked = f'hx-get="{reverse("admin:downtime")}'
    page = reverse("admin:campaigns_run_change", args=[run.pk])
    assert asked in desk.client.get("/admin/").content.decode()
    assert asked in desk.client.get(page).content.decode()
    Run.objects.update(state="finished", accepted=1, finished_at=timezone.now())
    assert asked not in desk.client.get(page).content.decode()


def test_no_page_asks_again_while_nothing_is_being_sent(
    desk: Desk,
    rows: dict[str, int],
    without_workers: None,
) -> None:
    """Every page there is, with a run and a message that have ended: none may poll."""
    Run.kept.update(state="finished", planned=0, finished_at=timezone.now())
    Message.objects.update(state=Message.State.CANCELLED)
    found = {}
    for page in pages():
        if page.name in ("logout", None) or (url := address(page, rows)) is None:
            continue
        reply = desk.client.get(url)
        if reply.status_code == 200 and not reply.streaming:
            found[str(page.name)] = bool(POLLS.search(reply.content.decode()))
    assert len(found) > 50 and {name for name, polls in found.items() if polls} == set()


def test_while_something_is_sent_the_pages_that_show_it_ask_again(
    desk: Desk, project: Project, without_workers: None
) -> None:
    """Or the walk above would look for what is never there."""
    [device] = make_people(project, 1)
    run = make_run(project)
    make_message(project, device.contact_id)
    about = (
        ("index", ()),
        ("campaigns_run_change", (run.pk,)),
        ("campaigns_messages", ()),
        ("downtime", ()),
    )
    for name, args in about:
        page = desk.client.get(reverse(f"admin:{name}", args=args)).content.decode()
        assert POLLS.search(page), name


def test_no_script_of_ours_runs_a_clock() -> None:
    static = Path(__file__).parents[3] / "static"
    assert [file.name for file in static.glob("*.js") if "setInterval" in file.read_text()] == []
