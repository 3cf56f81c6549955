"""Messages that come soon after a taking share a chunk; nobody waits without need, or for ever."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from campaigns import tasks
from campaigns.engine import messages
from campaigns.runs.claiming import Claim
from campaigns.runs.messages import due_days
from campaigns.runs.run import Run
from campaigns.sending import sending
from notifications.people.consent.category import Category
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_contact, make_device
from tests.servers.fcm import Fcm

HELLO = {"title": "Hello", "body": "x"}
LONG = timedelta(hours=1)


@pytest.fixture
def call(project: Project) -> Caller:
    make_device(make_contact(project, external_id="ada"), "live1:APA91b")
    return Caller(project)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """How long a worker waits for messages to gather; each time, that time is over."""
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        gathered()

    monkeypatch.setattr(due_days, "GATHERING", LONG)
    monkeypatch.setattr(tasks, "_let_gather", sleep)
    tasks.MESSAGES.clear()
    yield waits
    tasks.MESSAGES.clear()


def gathered() -> None:
    Run.every.update(taken_at=F("taken_at") - LONG)


def send(call: Caller, **other: Any) -> None:
    answer = call.post("messages", {"to": {"contact": "ada"}, "content": HELLO, **other})
    assert answer.status_code == 202


def chunks() -> list[int]:
    return [chunk.size for run in Run.every.all() for chunk in run.chunks.order_by("number")]


def test_the_first_after_a_silence_does_not_wait(
    call: Caller, fcm: Fcm, slept: list[float]
) -> None:
    send(call)
    tasks.send_messages()
    assert (len(fcm.witness()), slept) == (1, [])


def test_those_that_come_soon_after_it_go_together(
    call: Caller, fcm: Fcm, slept: list[float]
) -> None:
    send(call)
    tasks.send_messages()
    for _ in range(5):
        send(call)
    assert list(messages.Due(seconds=1)) == []

    tasks.send_messages()

    (wait,) = slept
    assert 0 < wait <= LONG.total_seconds()
    assert chunks() == [1, 5]
    assert len(fcm.witness()) == 6


def test_what_was_due_at_a_taking_and_was_left_does_not_wait(
    call: Caller, fcm: Fcm, slept: list[float], project: Project
) -> None:
    send(call)
    receipts = Category.objects.create(project=project, name="R", slug="r", kind="transactional")
    send(call, category=receipts.pk)
    tasks.send_messages()
    assert (chunks(), slept) == ([1, 1], [])


def test_a_worker_leaves_what_is_not_ripe_to_whoever_was_rung(
    call: Caller, fcm: Fcm, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    send(call)
    send_claimed = sending.send_claimed

    def rung_meanwhile(taken: Claim) -> None:
        send_claimed(taken)
        send(call)
        tasks.MESSAGES.set()

    monkeypatch.setattr(sending, "send_claimed", rung_meanwhile)
    tasks.send_messages()
    assert (chunks(), slept) == ([1], [])


def test_a_retry_and_another_project_are_not_waited_for(
    call: Caller, fcm: Fcm, slept: list[float], project: Project
) -> None:
    send(call)
    tasks.send_messages()
    send(call)
    other = Project.objects.create(name="Other", slug="other", firebase_project_id="other-1")
    make_device(make_contact(other, external_id="ada"), "live2:APA91b")
    send(Caller(other))

    (theirs,) = messages.Due(seconds=1)

    assert theirs.run.project == other
    assert slept == []
