"""The operator's page says what is the matter, also when much of it is away."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.urls import reverse
from django.utils import timezone

from campaigns.runs.chunk import Chunk
from campaigns.runs.tick import Tick
from config.workers import process_reports
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey, Scope
from notifications.staff.audit import AuditEntry
from notifications.staff.team import Role
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_people, make_run
from tests.given.forgetting import flush
from tests.given.scraped import scraped
from tests.given.waiting import eventually
from tests.roles.people import logged_in
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture
def operator(db: None) -> Desk:
    return Desk(logged_in(Role.OPERATOR))


def test_it_shows_health_queues_projects_and_keys_at_a_glance(
    operator: Desk, project: Project, settings: LazySettings
) -> None:
    flush(settings.BROKER_URL)  # what other tests have rung
    Tick.record(timezone.now())
    ApiKey.issue(project, "shop backend", ["runs"])
    ApiKey.objects.create(project=project, name="old", prefix="x", digest="x", scopes=[],
                          revoked_at=timezone.now())  # fmt: skip
    said = operator.open("operations")
    assert "well PostgreSQL answers" in said
    assert "last tick 0 s ago" in said
    assert "bulk 0" in said
    assert "Shop Emulator no credentials: nothing can be sent" in said
    assert "shop backend" in said and "never" in said
    assert "old" not in said.split("API keys that work")[1].split("Key May")[1].split("key,")[0]


def test_what_a_key_may_do_stands_there_in_the_readers_words(
    operator: Desk, project: Project
) -> None:
    ApiKey.issue(project, "shop backend", ["contacts", "launch"])
    ApiKey.issue(project, "all of it")
    said = operator.open("operations").partition("API keys that work")[2]
    assert f"{Scope.CONTACTS.label} {Scope.LAUNCH.label}" in said
    assert "Everything" in said
    operator.client.cookies["django_language"] = "ko"
    in_korean = operator.client.get(reverse("admin:operations")).content.decode()
    assert "contacts" not in in_korean.partition('id="keys"')[2].partition("</section>")[0]


def test_when_it_ticked_is_said_whole_in_a_language_with_other_commas(
    operator: Desk, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(words: str) -> str:
        return words.replace(", ", "、").replace("last tick", "heard of, just")

    monkeypatch.setattr("config.health.health.gettext", elsewhere)
    Tick.record(timezone.now())
    assert "well Beat, the clock heard of, just 0 s ago" in operator.open("operations")


def test_it_says_so_when_beat_never_ticked(operator: Desk, project: Project) -> None:
    assert "not well Beat, the clock no tick yet" in operator.open("operations")


def test_it_opens_and_says_so_while_redis_is_down(
    operator: Desk, project: Project, settings: LazySettings
) -> None:
    settings.BROKER_URL = NOWHERE
    settings.REDIS_DATABASES = {"broker": NOWHERE}
    said = operator.open("operations")
    assert "not well Redis" in said
    assert "Redis does not answer. Nothing is lost" in said


def test_it_says_so_when_no_worker_answers(operator: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.pages.operations._answering", lambda: iter(()))
    assert "No worker answered within a second" in operator.open("operations_workers")


def test_it_blames_no_worker_that_it_cannot_ask(operator: Desk, settings: LazySettings) -> None:
    settings.BROKER_URL = NOWHERE
    assert "asked through Redis, which does not answer" in operator.open("operations_workers")


@pytest.mark.django_db(transaction=True)
def test_it_names_the_workers_that_answer(operator: Desk, workers: Workers) -> None:
    said = operator.open("operations_workers")
    assert "bulk@" in said and "at work" in said


@pytest.mark.django_db(transaction=True)
def test_each_process_of_a_worker_tells_how_it_is(operator: Desk, workers: Workers) -> None:
    eventually("both tell", lambda: scraped("carillon_worker_processes", queue="bulk") == 2)
    said = operator.open("operations_workers")
    table = said.partition("Tasks done")[2].partition("CPU is of one")[0]
    assert re.search(r"\d+ bulk \d+ % \d+\.\d\WMB \d+ ", table), table
    assert 20e6 < scraped("carillon_worker_memory_bytes", queue="bulk") < 2e9
    assert scraped("carillon_worker_cpu", queue="control") < 8


def test_a_process_that_fell_silent_is_forgotten(
    operator: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that lives and answers nobody is told of meanwhile."""
    monkeypatch.setattr("config.pages.operations._answering", lambda: iter(()))
    process_reports._client().delete(process_reports.KEY)
    process = process_reports.ProcessReporter("bulk@elsewhere", "bulk")
    process._stopped.set()
    process._go()
    said = operator.open("operations_workers")
    assert "bulk@elsewhere" in said and "does not answer just now" in said
    with time_machine.travel(timezone.now() + timedelta(seconds=61), tick=False):
        assert "No worker answered within a second" in operator.open("operations_workers")
    assert process_reports.processes() == []


def test_of_a_hundred_workers_the_rest_is_one_series() -> None:
    for number in range(103):
        process = process_reports.ProcessReporter(f"bulk@host-{number:03}", "bulk")
        process._stopped.set()
        process._go()
    assert scraped("carillon_worker_processes", worker="other") == 3
    process_reports._client().delete(process_reports.KEY)


def test_it_counts_what_was_repaired(operator: Desk, project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    assert "0 chunks were taken over" in operator.open("operations")
    Chunk.objects.filter(run=run).update(lapses=2)
    assert "1 chunk was taken over from a worker that stopped answering" in operator.open(
        "operations"
    )


def test_an_operator_has_every_run_looked_at_and_that_is_kept(
    operator: Desk, project: Project
) -> None:
    assert Tick.age(timezone.now()) is None
    reply: Any = operator.client.post(reverse("admin:operations_sweep"), follow=True)
    assert "Every unfinished run is being checked now" in text_of(reply)
    assert Tick.age(timezone.now()) is not None
    assert AuditEntry.objects.get(action="swept").actor == "user:operator-person"


def test_looking_at_the_address_sweeps_nothing(operator: Desk) -> None:
    assert operator.client.get(reverse("admin:operations_sweep")).status_code == 405
    assert Tick.age(timezone.now()) is None


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SENDER])
def test_it_is_for_operators(role: Role) -> None:
    client = logged_in(role)
    assert client.get(reverse("admin:operations")).status_code == 403
    assert "Operations" not in client.get(reverse("admin:index")).content.decode()
