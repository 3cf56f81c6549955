"""A web server of its own for each test, as patient as it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.fcm import Fcm
from tests.workers import Workers


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
        found = [
            requests.get(f"{self.url}{path}", timeout=30) for path in ("/admin/login/", "/healthz")
        ]
        return all(answer.status_code == 200 for answer in found)


Start = Callable[..., Web]


@pytest.fixture
def start(transactional_db: None, fcm: Fcm, tmp_path: Path) -> Iterator[Start]:
    started: list[Workers] = []

    def web(application: str = "tests.security.hurried:application", **limits: Any) -> Web:
        different = {"HURRIED": json.dumps(limits), "TMPDIR": str(tmp_path)}
        workers = Workers(fcm, different)
        started.append(workers)
        return Web(workers.start_web(application), workers, tmp_path)

    yield web
    for workers in started:
        workers.stop()
