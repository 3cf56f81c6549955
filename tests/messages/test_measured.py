"""How long messages take is measured by who sends them, and told by the web in `/metrics`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from campaigns import tasks
from campaigns.runs.ledger import Delivery
from notifications.measures.metric_files import ROOM, FileSlot
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.given.forgetting import flush_ours
from tests.given.scraped import scraped
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def call(transactional_db: None, project: Project) -> Caller:
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    make_device(make_contact(project, external_id="eve"), "dead-1:APA91b")
    flush_ours()
    return Caller(project)


def write(call: Caller, person: str = "ada", **other: Any) -> None:
    said = {"to": {"contact": person}, "content": {"title": "Hello", "body": "x"}, **other}
    assert call.post("messages", said).status_code == 202


def told(part: str, lane: str = "urgent") -> float:
    """What `/metrics` has of it; 0 if nothing was measured yet."""
    name = f'carillon_message_seconds_{part}{{lane="{lane}"}} '
    lines = Client().get("/metrics").content.decode().splitlines()
    return float(next((line.split(" ")[-1] for line in lines if line.startswith(name)), 0))


@contextmanager
def urgent(fcm: Fcm, folder: Path) -> Iterator[Workers]:
    workers = Workers(fcm, {"METRICS_DIR": str(folder)})
    workers.start("urgent")
    workers.wait_until_ready("urgent")
    try:
        yield workers
    finally:
        workers.kill("urgent")


def wait_until_settled(count: int) -> None:
    eventually(f"{count} settled", lambda: Delivery.objects.count() == count)


def test_a_message_is_measured_when_fcm_accepted_it(call: Caller, fcm: Fcm) -> None:
    before = told("count")
    write(call)
    write(call, "eve")
    tasks.send_messages()
    assert Delivery.objects.count() == 2
    assert told("count") == before + 1, "the refused one took no time"


def test_it_is_measured_from_when_it_came_if_it_was_due_before(call: Caller, fcm: Fcm) -> None:
    before = told("sum")
    write(call, at=(timezone.now() - timedelta(hours=1)).isoformat())
    tasks.send_messages()
    assert Delivery.objects.count() == 1
    assert told("sum") - before < 600


@pytest.mark.usefixtures("workers")
def test_what_workers_measured_outlasts_them(
    call: Caller, fcm: Fcm, settings: LazySettings, tmp_path: Path
) -> None:
    """A second worker takes over the file of the killed one, and not one of its own."""
    settings.METRICS_DIR = str(tmp_path)
    assert told("count") == 0
    for number in (1, 2):
        with urgent(fcm, tmp_path):
            write(call)
            wait_until_settled(number)
            eventually("it is measured", lambda: told("count") == number)  # noqa: B023
            assert scraped("carillon_recipients_total", lane="urgent") == number
    assert len(list(tmp_path.glob("histogram_*.db"))) == 1
    assert (tmp_path / "counter_0.db").stat().st_size == ROOM, "no disk that is full ends it"


@pytest.mark.usefixtures("workers")
def test_messages_leave_though_nothing_can_be_measured(
    call: Caller, fcm: Fcm, settings: LazySettings, tmp_path: Path
) -> None:
    """Its folder is none. The worker says so once, and the web shows the rest."""
    settings.METRICS_DIR = str(tmp_path / "file" / "folder")
    (tmp_path / "file").touch()
    with urgent(fcm, Path(settings.METRICS_DIR)) as workers:
        for number in (1, 2):
            write(call)
            wait_until_settled(number)
        eventually("it says so", lambda: "METRICS_DIR" in workers.log("urgent"))
    assert workers.log("urgent").count("not measured here: carillon_message_seconds") == 1
    assert told("count") == 0
    assert "carillon_runs" in Client().get("/metrics").content.decode()


# --- Places ------------------------------------------------------------------------------------

HOLD = """
import os, signal, sys
from pathlib import Path
from notifications.measures.metric_files import ROOM, FileSlot

place = FileSlot(Path(sys.argv[1]))
print(place(), flush=True)
if os.fork() == 0:
    print(place(), flush=True)
signal.pause()
"""


class Holder:
    """A process with a place, and its child, which has another."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(folder)],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout
        self.numbers = [int(self._process.stdout.readline()) for _ in range(2)]

    def kill(self) -> None:
        """Both, as a power cut would."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate(timeout=10)


def test_no_two_processes_have_one_place_and_the_killed_leave_theirs(tmp_path: Path) -> None:
    ours = FileSlot(tmp_path)
    assert ours() == ours() == 0
    first, second = Holder(tmp_path), Holder(tmp_path)
    assert (first.numbers, second.numbers) == ([1, 2], [3, 4])
    first.kill()
    third = Holder(tmp_path)
    assert third.numbers == [1, 2]
    second.kill()
    third.kill()
    assert ours() == 0
