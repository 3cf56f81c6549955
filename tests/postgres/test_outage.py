"""PostgreSQL is away for a moment: what is in hand is kept, and nobody pays for it twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from campaigns import tasks
from campaigns.engine import engine
from campaigns.results import reports
from campaigns.runs import claiming, sums
from campaigns.runs.ledger import Delivery, Window
from campaigns.sending import sending, settling
from notifications.people.project import Project
from notifications.postgres import outage
from tests.given.builders import make_people, make_run
from tests.given.by_hand import let_leases_lapse
from tests.given.waiting import eventually
from tests.servers import beside
from tests.servers.fcm import Fcm

REFUSED_ONCE = """
CREATE SEQUENCE writes;
CREATE FUNCTION refuse_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('writes') = 1 THEN RAISE EXCEPTION 'try again' USING ERRCODE = '40001'; END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER refuse_once AFTER INSERT OR UPDATE ON campaigns_{table}
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_once();
"""
REFUSED_NO_MORE = "DROP FUNCTION refuse_once CASCADE; DROP SEQUENCE writes"


@contextmanager
def first_write_refused(table: str) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(REFUSED_ONCE.format(table=table))
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(REFUSED_NO_MORE)


@pytest.mark.django_db(transaction=True)
def test_what_postgresql_refuses_once_is_written_and_counted_once(
    transactional_db: None, project: Project, fcm: Fcm
) -> None:
    make_people(project, ["dead-1:x", "live1:x"])
    run = make_run(project)
    with first_write_refused("delivery"):
        assert sending.send(run.pk, 1, run.epoch) == {"accepted": 1, "rejected": 1}

    assert reports.reasons_of(run) == {"unregistered": 1}
    assert sums.totals_of(run) == reports.recount(run)
    assert len(fcm.witness()) == 1


Trouble = Callable[[Callable[[], bool]], None]
HANG_UP = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def hang_up_when(condition: Callable[[], bool]) -> None:
    eventually("the moment comes", condition)
    with connection.cursor() as cursor:
        cursor.execute(HANG_UP)
    connection.close()


def only_read_when(condition: Callable[[], bool]) -> None:
    eventually("the moment comes", condition)
    database = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        try:
            cursor.execute(HANG_UP)
            time.sleep(3)
        finally:
            cursor.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
    connection.close()


TROUBLES = {"hangs up": hang_up_when, "takes no writes": only_read_when}


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
@pytest.mark.django_db(transaction=True)
def test_answers_that_come_while_postgresql_is_in_trouble_are_not_lost(
    transactional_db: None, project: Project, fcm: Fcm, trouble: Trouble
) -> None:
    """It takes no writes after a failover to a standby that is promoted a little later."""
    make_people(project, 50)
    run = make_run(project)
    fcm.change(latency_ms=1_500)
    troubled = threading.Thread(target=trouble, args=(lambda: fcm.counts()["requests"] == 50,))
    troubled.start()

    settled = sending.send(run.pk, 1, run.epoch)

    troubled.join()
    assert settled == {"accepted": 50}
    assert len(fcm.witness()) == 50
    assert not Window.objects.filter(settled_at=None).exists()


def test_a_short_loss_of_postgresql_costs_no_answer_in_hand(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 5)
    run = make_run(project)
    add_up, failures = settling._add_up, iter([OperationalError("the server went away")])

    def failing_once(*arguments: Any) -> Any:
        for failure in failures:
            raise failure
        return add_up(*arguments)

    monkeypatch.setattr(settling, "_add_up", failing_once)
    monkeypatch.setattr("django.db.connection.close", lambda: None)  # it would end this test's own

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 5}

    assert not Delivery.objects.filter(run_id=run.pk, resent=True).exists()
    assert len(fcm.witness()) == 5


def test_a_commit_whose_answer_is_lost_counts_once_what_must_be_tried_again(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is a delivery yet, so only the window says that it was written."""
    make_people(project, ["lost-1:x", "lost-2:x"])
    run = make_run(project, on_unknown="resend")

    def twice(write: Callable[[], None]) -> None:
        write()
        write()

    monkeypatch.setattr(settling, "retry_during_outage", twice)
    sending.send(run.pk, 1, run.epoch)

    assert (run.chunks.get().copies, run.retries.count()) == (2, 2)


def test_whoever_waits_for_postgresql_with_answers_in_hand_keeps_the_lease(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when only the deliveries' disk is full: others could take the chunk meanwhile."""
    make_people(project, 5)
    run = make_run(project)
    add_up = settling._add_up
    leases: list[Any] = []

    def failing_twice(*arguments: Any) -> Any:
        leases.append(run.chunks.get().lease_until)
        if len(leases) < 3:
            raise OperationalError("No space left on device")
        return add_up(*arguments)

    monkeypatch.setattr(settling, "_add_up", failing_twice)
    monkeypatch.setattr("django.db.connection.close", lambda: None)  # it would end this test's own

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 5}

    assert leases == sorted(set(leases)) and len(leases) == 3


def test_a_chunk_whose_row_a_vanished_worker_still_holds_holds_up_no_other(
    transactional_db: None, project: Project
) -> None:
    """It was cut off while it wrote, and the server has not noticed yet."""
    make_people(project, 2_500)
    run = make_run(project)
    for number in (1, 2):
        assert claiming.claim(run.pk, number, run.epoch, task_id=None)
    let_leases_lapse()
    with beside.connected() as vanished:
        vanished.execute("SELECT FROM campaigns_chunk WHERE number = 1 FOR UPDATE")

        engine.advance(run.pk, now=timezone.now())

    assert run.chunks.get(number=1).state == "leased"
    assert run.chunks.get(number=2).lapses == 1


def test_a_doorbell_that_finds_postgresql_gone_waits_until_it_is_back(
    transactional_db: None, project: Project, fcm: Fcm
) -> None:
    """Lost, it would be rung again only after a quarter of a minute."""
    make_people(project, 5)
    run = make_run(project)
    with beside.connected() as somebody:
        somebody.execute(HANG_UP)

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 5}


@pytest.mark.parametrize("table", ["chunk", "window"])
def test_a_claim_or_window_that_collides_with_somebody_is_tried_again(
    transactional_db: None, project: Project, fcm: Fcm, table: str
) -> None:
    make_people(project, 5)
    run = make_run(project)

    with first_write_refused(table):
        assert sending.send(run.pk, 1, run.epoch) == {"accepted": 5}

    assert Window.objects.count() == 1


def test_a_step_of_the_run_that_collides_with_somebody_is_tried_again(
    transactional_db: None, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 5)
    run = make_run(project, advanced=False)
    waves: list[engine.ReleasedWave] = []
    monkeypatch.setattr(tasks, "publish_wave", waves.append)

    with first_write_refused("chunk"):
        tasks.advance(run_id=run.pk)

    assert [wave.chunks for wave in waves] == [[1]]


def test_whoever_collides_five_times_gives_up(project: Project) -> None:
    tries: list[int] = []

    def collide() -> None:
        tries.append(1)
        raise OperationalError("deadlock detected") from psycopg.errors.DeadlockDetected()

    with pytest.raises(OperationalError):
        outage.retry_during_outage(collide, seconds=0)

    assert len(tries) == 5


def test_a_claim_does_not_wait_for_whoever_hangs_on_its_row(
    transactional_db: None, project: Project
) -> None:
    make_people(project, 5)
    run = make_run(project)
    with beside.connected() as vanished:
        vanished.execute("SELECT FROM campaigns_chunk FOR UPDATE")
        began = time.monotonic()

        assert claiming.claim(run.pk, 1, run.epoch, task_id=None) is None

        assert time.monotonic() - began < 1.5


def test_a_waiting_chunk_that_a_vanished_worker_holds_keeps_no_other_from_its_turn(
    transactional_db: None, project: Project
) -> None:
    make_people(project, 2_500)
    run = make_run(project)
    run.chunks.update(state="waiting", queued_at=None)
    with beside.connected() as vanished:
        vanished.execute("SELECT FROM campaigns_chunk WHERE number = 1 FOR UPDATE")

        released = engine.advance(run.pk, now=timezone.now())

    assert released and released.chunks == [2, 3]
