"""A launch is a row. Whether its doorbell can be rung is not the launcher's trouble."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings
from django.core.management import CommandError, call_command

from campaigns import tasks
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_people, make_run

# As the web does it: its application first.
RING = "import config.wsgi; from campaigns import tasks; tasks.enqueue(tasks.advance, run_id=1)"


def rung_at(there: str) -> str:
    """What the web says when it rings with a REDIS_URL of this user and server."""
    url = urlsplit(settings.REDIS_URL)
    rung = subprocess.run(
        [sys.executable, "-c", RING],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "REDIS_URL": url._replace(netloc=there).geturl()},
        timeout=25,  # seconds; most of them for the imports of a loaded machine
    )
    return rung.stderr


def test_a_redis_that_hangs_holds_nobody_up_at_the_door() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = rung_at(f"127.0.0.1:{silent.getsockname()[1]}")
    assert "could not be enqueued, the sweep will" in said


@pytest.fixture
def reader() -> Iterator[str]:
    """Of somebody whom Redis knows, and lets write nothing."""
    name, password = "reader", secrets.token_hex(8)
    server = redis.Redis.from_url(settings.BROKER_URL)
    server.acl_setuser(
        name, enabled=True, passwords=[f"+{password}"], keys=["*"], categories=["+@all", "-@write"]
    )
    yield f"{name}:{password}@{urlsplit(settings.REDIS_URL).netloc.rpartition('@')[2]}"
    server.acl_deluser(name)


def test_a_redis_that_refuses_stops_nobody_at_the_door(reader: str) -> None:
    said = rung_at(reader)
    assert "could not be enqueued, the sweep will" in said
    assert "has no permissions" in said


@pytest.fixture
def unworkable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither away nor refusing: Celery cannot make sense of what it was told."""

    def refuse(**words: object) -> None:
        raise ValueError("A rediss:// URL must have …")

    monkeypatch.setattr(tasks.advance, "apply_async", refuse)


@pytest.mark.django_db(transaction=True)
def test_whatever_the_broker_says_a_launch_is_recorded(project: Project, unworkable: None) -> None:
    campaign = make_campaign(project)
    answer = Caller(project).post(f"campaigns/{campaign.pk}/launch")
    assert answer.status_code == 202
    assert campaign.runs.get().state == Run.State.PREPARING


def test_a_sweep_that_could_not_ring_says_so(project: Project, unworkable: None) -> None:
    make_people(project, 1)
    make_run(project, advanced=False)
    with pytest.raises(CommandError, match=r"Redis cannot be reached\. ValueError: A rediss://"):
        call_command("sweep", "--once")
