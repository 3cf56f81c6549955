"""Workers and beat refuse to start what would lose or double work later, and say what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import LazySettings
from django.db import connection

from config import celery_settings, startup

pytestmark = pytest.mark.django_db


@pytest.fixture
def evicting_redis(settings: LazySettings) -> Iterator[None]:
    server = redis.Redis.from_url(settings.BROKER_URL)
    server.config_set("maxmemory-policy", "allkeys-lru")
    yield
    server.config_set("maxmemory-policy", "noeviction")


def test_a_proper_setting_has_no_trouble() -> None:
    assert list(startup.troubles()) == []


@pytest.mark.parametrize(
    "program", ["worker -Q control -c 1", "beat --pidfile= -s {folder}/schedule"]
)
def test_nothing_starts_beside_a_redis_that_evicts(
    program: str, tmp_path: Path, evicting_redis: None
) -> None:
    arguments = program.format(folder=tmp_path).split()
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "config", *arguments],
        capture_output=True, text=True, timeout=60, env=dict(os.environ),
    )  # fmt: skip
    assert done.returncode != 0
    assert "Set maxmemory-policy noeviction" in done.stdout + done.stderr


def test_a_chunk_must_not_outlast_the_visibility_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(celery_settings, "visibility_timeout", 300)
    (trouble,) = startup.troubles()
    assert trouble.endswith("it would be sent twice. Set at least 540.")


@pytest.mark.parametrize("name", ["task_acks_late", "task_reject_on_worker_lost"])
def test_a_task_must_outlive_its_worker(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(celery_settings, name, False)
    (trouble,) = startup.troubles()
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

    (trouble,) = startup.troubles()

    assert words in trouble and trouble.endswith("Let NTP set both.")


def test_servers_that_do_not_answer_yet_are_waited_for_elsewhere(settings: LazySettings) -> None:
    settings.BROKER_URL = "redis://127.0.0.1:1/0"
    assert list(startup.troubles()) == []
