"""Somebody with a key, somebody at the desk, and a web server as patient as a test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller
from tests.given.log_in import log_in
from tests.security import asking
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers


@pytest.fixture
def caller(project: Project) -> Caller:
    return Caller(project)


@pytest.fixture
def desk(project: Project) -> Desk:
    client = Client(raise_request_exception=False)
    log_in(client, User.objects.create_superuser("ada", "ada@example.com", "a long phrase"))
    return Desk(client)


@dataclass
class Web:
    url: str
    workers: Workers
    temporary: Path

    @property
    def pid(self) -> int:
        return self.workers.processes["web"].pid

    @property
    def log(self) -> str:
        return self.workers.log("web")

    def answers(self) -> bool:
        """A page, and a probe."""
        found = [asking.get(f"{self.url}{path}") for path in ("/admin/login/", "/healthz")]
        return all(answer.status == 200 for answer in found)


Start = Callable[..., Web]
HURRIED = "tests.security.front.hurried:application"


@pytest.fixture
def start(transactional_db: None, fcm: Fcm, tmp_path: Path) -> Iterator[Start]:
    started: list[Workers] = []

    def web(application: str = HURRIED, **limits: Any) -> Web:
        different = {"HURRIED": json.dumps(limits), "TMPDIR": str(tmp_path)}
        workers = Workers(fcm, different)
        started.append(workers)
        return Web(workers.start_web(application), workers, tmp_path)

    yield web
    for workers in started:
        workers.stop()
