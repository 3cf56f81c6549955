"""The receiver of docs/webhooks.md, as shipped: it takes what is ours, once, and nothing else."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from notifications.webhooks import composing, unpacking
from notifications.webhooks.call import Call
from notifications.webhooks.endpoint import Endpoint
from notifications.webhooks.event_types import EventType
from tests.given.builders import make_project
from tests.given.endpoints import happened, make_endpoint
from tests.given.waiting import eventually
from tests.servers.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "webhooks.md").read_text()
(PROGRAM,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint() -> Endpoint:
    return make_endpoint(make_project(), "https://hooks.example.com/", batched=True)


@pytest.fixture
def port(endpoint: Endpoint, tmp_path: Path) -> Iterator[int]:
    (number,) = free_ports(1)
    argv = [sys.executable, "-c", PROGRAM, str(number)]
    environ = {**os.environ, "WEBHOOK_SECRET": endpoint.open()}
    with (
        (tmp_path / "out").open("wb") as out,
        subprocess.Popen(argv, env=environ, stdout=out) as run,
    ):
        eventually("it listens", lambda: posted(number, b"", {}) is not None, seconds=30)
        yield number
        run.kill()


def posted(port: int, body: bytes, headers: dict[str, str]) -> int | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    given = {"webhook-id": "x", "webhook-timestamp": "1", "webhook-signature": "v1,x"} | headers
    try:
        connection.request("POST", "/", body, given)
        return connection.getresponse().status
    except ConnectionError:
        return None
    finally:
        connection.close()


def test_it_takes_what_is_ours_once(endpoint: Endpoint, port: int, tmp_path: Path) -> None:
    happened(endpoint.project, 3)
    unpacking.unpack(now=timezone.now())
    call = Call.objects.get()
    body, headers = composing.webhook(call, now=timezone.now())
    assert [posted(port, body, headers) for _ in range(2)] == [204, 204]
    assert posted(port, body + b" ", headers) == 401
    assert len((tmp_path / "out").read_text().splitlines()) == 3


def test_the_receiver_is_short() -> None:
    assert len([line for line in PROGRAM.splitlines() if line.strip()]) <= 30


@pytest.mark.parametrize("kind", EventType.values)
def test_every_kind_is_documented(kind: str) -> None:
    assert f"`{kind}`" in PAGE or f"`.{kind.partition('.')[2]}`" in PAGE
