"""Whoever sends asks the project's own server, one at a time, and waits for nobody."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.utils import timezone

from campaigns.engine import engine
from campaigns.runs.claiming import claim
from campaigns.sending.sending import Sending
from config.boot.outgoing import Places
from notifications.pacing import backend_polling, health
from notifications.pacing.health import Health
from notifications.pacing.load import Load
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_people, make_run
from tests.given.waiting import eventually
from tests.rehearsals.shared import ask as rehearse
from tests.servers.receiver import Receiver

PAGE = "/hooks?of=us"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_asks_yet() -> Iterator[None]:
    backend_polling._asked.clear()
    backend_polling._looked.clear()
    yield
    eventually(
        "no thread asks", lambda: all(one.answer.done() for one in backend_polling._asked.values())
    )


@pytest.fixture
def server(receiver: Receiver) -> Receiver:
    receiver.pages[PAGE] = 200
    receiver.says = b'{"level": 1}'
    return receiver


@pytest.fixture
def asked(project: Project, server: Receiver) -> Project:
    """A project whose server is asked."""
    Project.objects.filter(pk=project.pk).update(load_url=server.url)
    project.refresh_from_db()
    return project


def told(project: Project) -> Load | None:
    """What it has told after one asking."""
    backend_polling.poll_backend(project)
    one = backend_polling._asked[project.pk]
    eventually("it answers", one.answer.done)
    backend_polling.poll_backend(project)
    return Load.objects.filter(project=project).first()


def moments_pass(**values: Any) -> None:
    """As if what is written had been written two seconds ago."""
    Health.objects.update(**values or {"next_at": timezone.now()})
    backend_polling._looked.clear()


def test_a_worker_in_the_middle_of_a_chunk_learns_it_and_slows_down(asked: Project) -> None:
    make_people(asked, 3)
    run = make_run(asked, rate_per_second=110)
    granted = claim(run.pk, 1, run.epoch, task_id=None)
    assert granted
    sending = Sending(granted)
    assert (sending.gate.rate, sending.gate.safe) == (110, None)

    def slowed() -> bool:
        sending.looked_at = 0.0
        sending._renew_when_due()
        return sending.gate.safe == 10

    assert eventually("it follows", slowed, seconds=5) < 5


def test_one_process_asks_and_the_others_leave_it_alone(asked: Project, server: Receiver) -> None:
    assert health.claim(asked.pk)
    backend_polling.poll_backend(asked)
    assert not backend_polling._asked and not server.heard
    with connection.cursor() as cursor:
        cursor.execute("SELECT extract(epoch FROM next_at - asked_at) FROM notifications_health")
        assert cursor.fetchone()[0] == health.LOST.total_seconds()


def test_who_takes_the_place_of_one_that_died_asks_and_the_dead_ones_answer_is_nothing(
    asked: Project,
) -> None:
    first = health.claim(asked.pk)
    moments_pass()
    second = health.claim(asked.pk)
    assert first and second
    answer, said = health.ask(asked.load_url, "")
    health.settle(asked, first, answer, said)
    assert not Load.objects.exists()
    health.settle(asked, second, answer, said)
    assert Load.objects.get().level == 1


def test_the_answer_of_an_address_that_was_given_up_meanwhile_is_nothing(asked: Project) -> None:
    at = health.claim(asked.pk)
    assert at
    health.forget(asked.pk)
    health.settle(asked, at, *health.ask(asked.load_url, ""))
    assert not Load.objects.exists() and not Health.objects.exists()


def test_an_answer_that_nobody_looked_at_for_long_is_nothing(asked: Project) -> None:
    backend_polling.poll_backend(asked)
    one = backend_polling._asked[asked.pk]
    eventually("it answers", one.answer.done)
    long_ago = one.since - health.LOST.total_seconds() - 1
    backend_polling._asked[asked.pk] = replace(one, since=long_ago)
    backend_polling.poll_backend(asked)
    assert not Load.objects.exists()


def test_it_is_asked_again_after_two_seconds_and_no_sooner(
    asked: Project, server: Receiver
) -> None:
    assert told(asked)
    backend_polling._looked.clear()
    backend_polling.poll_backend(asked)
    assert len(server.heard) == 1
    row = Health.objects.get()
    assert row.next_at - row.asked_at == health.EVERY
    server.says = b'{"level": 0}'
    moments_pass()
    again = told(asked)
    assert again and again.level == 0 and len(server.heard) == 2


def test_a_clock_that_jumps_back_silences_nobody_for_long(asked: Project) -> None:
    assert health.claim(asked.pk)
    moments_pass(next_at=timezone.now() + timedelta(hours=1))
    assert health.claim(asked.pk)


def test_a_slow_server_delays_nobody_and_says_nothing(asked: Project, server: Receiver) -> None:
    server.slow_seconds = 3.0
    began = time.monotonic()
    backend_polling.poll_backend(asked)
    for _ in range(20):
        backend_polling.poll_backend(asked)
    assert time.monotonic() - began < 0.5
    assert told(asked) is None
    assert Health.objects.get().trouble == "timeout"


def test_one_that_drips_says_nothing(asked: Project, server: Receiver) -> None:
    """Half a number is another number."""
    server.says = b"load 0.0123456789012345\n" * 2
    server.drips_seconds = 0.06
    Project.objects.update(load_number="load")
    assert told(asked) is None
    assert Health.objects.get().trouble == "timeout"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_another_answer_leaves_the_rate_and_says_why(
    asked: Project, server: Receiver, status: int
) -> None:
    first = told(asked)
    server.pages[PAGE] = status
    server.headers["Location"] = server.url
    server.says = b'{"level": 0}'
    moments_pass()
    then = told(asked)
    assert first and then and (then.level, then.reported_at) == (1, first.reported_at)
    assert health.trouble(asked) == f"It answered {status}."
    assert len(server.heard) == 2, "a redirect is not followed"


def test_one_that_bears_no_more_is_as_busy_as_it_may_get(asked: Project, server: Receiver) -> None:
    server.pages[PAGE], server.says = 503, b""
    found = told(asked)
    assert found and found.level == 1


def test_an_address_that_is_private_by_now_is_not_asked(
    asked: Project, server: Receiver, settings: LazySettings
) -> None:
    settings.OUTGOING_ALLOWED = Places(frozenset(), ())
    assert told(asked) is None
    assert (health.trouble(asked), server.heard) == ("Its address is not a public one.", [])


def test_what_goes_wrong_with_it_stops_no_sending(
    asked: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(health, "ask", broken)
    backend_polling.poll_backend(asked)
    eventually("it breaks", backend_polling._asked[asked.pk].answer.done)
    backend_polling.poll_backend(asked)
    assert not Load.objects.exists()


def test_rehearsals_and_projects_without_an_address_ask_nobody(
    asked: Project, server: Receiver
) -> None:
    make_people(asked, 3)
    run = rehearse(make_campaign(asked)).run
    engine.advance(run.pk, now=timezone.now())
    Project.objects.update(load_url="")
    other = make_run(asked)
    for each in (run, other):
        each.refresh_from_db()
        granted = claim(each.pk, 1, each.epoch, task_id=None)
        assert granted
        sending = Sending(granted)
        sending.looked_at = 0.0
        sending._renew_when_due()
    backend_polling.poll_backend(asked)  # it was loaded when there was one
    assert not backend_polling._asked and not server.heard and not Health.objects.exists()
