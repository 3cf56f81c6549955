"""Beside a large send rows are locked for seconds: who cancels waits, and the sweep comes back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from campaigns import tasks
from campaigns.runs.chunk import Chunk
from campaigns.runs.messages.message import Message
from campaigns.runs.messages.taking import take
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device, make_project
from tests.given.by_hand import let_leases_lapse

pytestmark = pytest.mark.django_db(transaction=True)


def sent(project: Project) -> str:
    make_device(make_contact(project, external_id="ada"))
    body = {"to": {"contact": "ada"}, "content": {"title": "Hello", "body": "It left."}}
    name: str = Caller(project).post("messages", body).json()["id"]
    return name


@contextmanager
def locked(statement: str, seconds: float) -> Iterator[None]:
    """Another process works on these rows for so long."""
    held = threading.Event()

    def hold() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{statement} FOR NO KEY UPDATE")
            held.set()
            time.sleep(seconds)
        connection.close()

    other = threading.Thread(target=hold)
    other.start()
    held.wait(10)
    yield
    other.join()


def test_a_cancel_waits_for_who_works_on_the_message(project: Project) -> None:
    name = sent(project)
    with locked("SELECT FROM campaigns_message", 2.6):
        answer = Caller(project).post(f"messages/{name}/cancel")
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert Message.objects.get().state == "cancelled"


def test_a_day_that_is_locked_is_no_error_and_the_others_are_looked_after(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    for each in (project, make_project()):
        sent(each)
        assert take(Run.every.get(project=each), lambda *_: None) is not None
    let_leases_lapse()  # both workers died
    with locked(f"SELECT FROM campaigns_run WHERE project_id = {project.pk}", 2.6):
        tasks.sweep()
    states = dict(Chunk.objects.values_list("run__project", "state"))
    assert states.pop(project.pk) == "waiting"
    assert list(states.values()) == ["waiting"]
    assert Tick.objects.exists()
    said = [(record.levelname, record.message) for record in caplog.records]
    assert [level for level, words in said if "others work on it" in words] == ["INFO"]
    assert not [level for level, _ in said if level in ("WARNING", "ERROR")]
