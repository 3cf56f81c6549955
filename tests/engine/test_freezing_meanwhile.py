"""What people and other workers do while a part of an audience is being written."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine, freezing
from campaigns.results import reports
from campaigns.runs import sums
from campaigns.runs.ledger import Recipient
from campaigns.runs.run import Run
from notifications.people.project import Project
from tests.given.builders import make_people, make_run

pytestmark = pytest.mark.django_db(transaction=True)
TEN = 10


@pytest.fixture(autouse=True)
def four_devices_at_once(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(freezing, "DEVICES_AT_ONCE", 4)
    monkeypatch.setattr(freezing, "size_for", lambda _: 3)


@pytest.fixture
def run(project: Project) -> Run:
    make_people(project, TEN)
    return make_run(project, advanced=False)


def advanced(run: Run) -> None:
    engine.advance(run.pk, now=timezone.now())
    run.refresh_from_db()


def whole(run: Run) -> Run:
    for _ in range(TEN):
        advanced(run)
    assert run.planned == Recipient.objects.filter(run_id=run.pk).count()
    return run


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Have the next part wait, written and not committed, until somebody has done this."""

    def wait_for(deed: Callable[[], Any]) -> list[Any]:
        done: list[Any] = []

        def elsewhere() -> None:
            try:
                done.append(deed())
            finally:
                connection.close()

        def let_them(where: str) -> None:
            if not done:
                other = threading.Thread(target=elsewhere)
                other.start()
                other.join()

        monkeypatch.setattr(freezing, "hit", let_them)
        return done

    return wait_for


def pausing(run: Run) -> Callable[[], None]:
    return lambda: control.pause(Run.objects.get(pk=run.pk), by="user:alice")


def cancelling(run: Run) -> Callable[[], None]:
    return lambda: control.cancel(Run.objects.get(pk=run.pk), by="user:alice")


def test_a_pause_in_the_first_part_does_not_wait_and_nobody_is_left_out(
    run: Run, meanwhile: Any
) -> None:
    done = meanwhile(pausing(run))
    advanced(run)
    assert done == [None]
    assert (run.state, run.planned, run.waves.count()) == ("paused", 4, 0)
    assert whole(run).planned == TEN

    control.resume(run, by="user:alice")
    advanced(run)

    assert (run.state, run.waves.count()) == ("sending", 1)


def test_a_pause_in_a_later_part_does_not_wait_and_nobody_is_left_out(
    run: Run, meanwhile: Any
) -> None:
    advanced(run)
    done = meanwhile(pausing(run))
    advanced(run)
    assert done == [None]
    assert (run.state, run.planned) == ("paused", 8)
    assert whole(run).planned == TEN


def test_a_cancel_in_the_first_part_does_not_wait_and_nothing_remains(
    run: Run, meanwhile: Any
) -> None:
    done = meanwhile(cancelling(run))
    advanced(run)
    assert done == [None]
    assert (run.state, run.planned) == ("cancelled", None)
    assert run.finished_at is not None
    assert not Recipient.objects.filter(run_id=run.pk).exists()
    assert not run.chunks.exists()


def test_a_cancel_in_a_later_part_does_not_wait_and_the_part_is_not_added(
    run: Run, meanwhile: Any
) -> None:
    advanced(run)
    done = meanwhile(cancelling(run))
    advanced(run)
    assert done == [None]
    assert whole(run).planned == 4
    totals = sums.totals_of(run)
    assert (totals.skipped, totals.waiting, totals) == (4, 0, reports.recount(run))
    assert run.finished_at is not None


def test_another_control_worker_meanwhile_sends_on_and_freezes_nothing(
    run: Run, meanwhile: Any, monkeypatch: pytest.MonkeyPatch, enqueued: list[int]
) -> None:
    advanced(run)
    run.chunks.update(state="waiting")
    waves: list[engine.ReleasedWave] = []
    monkeypatch.setattr(tasks, "publish_wave", waves.append)
    done = meanwhile(lambda: tasks.advance(run_id=run.pk))

    tasks.advance(run_id=run.pk)

    assert done == [None]
    assert [wave.chunks for wave in waves] == [[1, 2], [3, 4]]
    assert enqueued == [run.pk], "only the worker that froze a part enqueues the next step"
    assert whole(run).planned == TEN


def test_another_control_worker_does_not_begin_it_a_second_time(run: Run, meanwhile: Any) -> None:
    done = meanwhile(lambda: engine.advance(run.pk, now=timezone.now()))
    advanced(run)
    assert done == [None]
    assert (run.state, run.planned) == ("sending", 4)
    assert whole(run).planned == TEN
