"""The main job on real parts: Celery workers, a chord per wave, Redis, PostgreSQL, TLS."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection
from django.utils import timezone

from campaigns import control, tasks
from campaigns.results import reports
from campaigns.runs import chunk, claiming, sums
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people, make_run
from tests.given.by_hand import let_leases_lapse
from tests.given.forgetting import flush_ours
from tests.given.waiting import eventually
from tests.servers.fcm import Fcm
from tests.servers.workers import Workers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def project(transactional_db: None, project: Project) -> Project:
    return project


def launch(project: Project, **values: object) -> Run:
    run = control.launch(make_campaign(project, **values), by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    return run


def ended(run: Run) -> bool:
    run.refresh_from_db()
    return run.finished_at is not None


def swept_to_the_end(run: Run) -> bool:
    """As beat would, but when the test says so."""
    call_command("sweep", "--once")
    time.sleep(0.5)
    return ended(run)


def sent(run: Run) -> int:
    return sums.totals_of(run).settled


def assert_balanced(run: Run, fcm: Fcm) -> None:
    totals = sums.totals_of(run)
    assert totals == reports.recount(run)
    assert totals.waiting == 0
    received = [record["id"] for record in fcm.witness()]
    assert len(set(received)) == len(received), "somebody got it twice"
    assert len(received) == totals.accepted


def test_a_launch_runs_to_its_end_through_a_chord_and_agrees_with_the_witness(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, [""] * 2_300 + ["dead-1:APA91b", "malformed-1:APA91b"])

    run = launch(project)

    eventually("the run ends", lambda: ended(run))
    assert run.state == Run.State.FINISHED
    assert (run.planned, run.accepted, run.rejected) == (2_302, 2_300, 2)
    assert_balanced(run, fcm)
    (wave,) = run.waves.all()
    assert wave.called_back_at is not None, "the chord's callback came"
    assert wave.tally == {"accepted": 2_300, "rejected": 2}


def test_pause_holds_within_two_seconds_and_resume_sends_the_rest_once(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 3_000)
    fcm.change(latency_ms=1_000)
    run = launch(project, rate_per_second=400)
    eventually("somebody is sent to", lambda: sent(run) > 0)

    run.refresh_from_db()
    control.pause(run, by="user:alice")
    time.sleep(2)
    at_rest = fcm.counts()["requests"]
    time.sleep(2)

    assert fcm.counts()["requests"] == at_rest
    assert sums.totals_of(run).waiting > 0

    fcm.change(latency_ms=5)
    Run.objects.update(rate_per_second=None)
    run.refresh_from_db()
    control.resume(run, by="user:alice")
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    # Swept: one request without an answer waits for its second try, which no doorbell rings.
    eventually("the run ends", lambda: swept_to_the_end(run))
    assert run.accepted == 3_000
    assert_balanced(run, fcm)


def test_cancel_stops_and_gives_everybody_else_a_row(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 2_500)
    run = launch(project, rate_per_second=300)
    eventually("somebody is sent to", lambda: sent(run) > 0)

    run.refresh_from_db()
    control.cancel(run, by="user:alice")
    eventually("the run ends", lambda: swept_to_the_end(run))

    assert run.state == Run.State.CANCELLED
    assert run.accepted + run.skipped == 2_500
    assert run.skipped > 0
    assert_balanced(run, fcm)


def test_beat_starts_a_scheduled_run_and_nothing_leaves_before(
    project: Project, fcm: Fcm, beat: Workers
) -> None:
    make_people(project, 10)
    due = timezone.now() + timedelta(seconds=4)
    run = launch(project, schedule_kind="at", at=due, timezone="Asia/Seoul")
    eventually("the run ends", lambda: ended(run))

    assert run.started_at is not None
    assert run.started_at >= due
    assert min(record["at"] for record in fcm.witness()) >= due.timestamp()
    assert_balanced(run, fcm)


def test_a_run_that_is_due_between_two_sweeps_starts_at_its_time(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 10)
    due = timezone.now() + timedelta(seconds=3)
    run = launch(project, schedule_kind="at", at=due, timezone="Asia/Seoul")

    tasks.sweep.delay()
    eventually("the run ends without another sweep", lambda: ended(run))

    assert run.started_at is not None and run.started_at >= due
    assert_balanced(run, fcm)


def test_workers_keep_their_connections_and_replace_those_that_broke(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 3_000)

    def sent_by() -> set[int]:
        run = launch(project)
        eventually("the run ends", lambda: ended(run))
        assert_balanced(run, fcm)
        fcm.reset()
        with connection.cursor() as cursor:
            cursor.execute(OTHERS)
            return {pid for (pid,) in cursor.fetchall()}

    first = sent_by()
    assert first
    assert first <= sent_by(), "nobody let go of his"
    with connection.cursor() as cursor:
        cursor.execute(OTHERS.replace("SELECT pid", "SELECT pg_terminate_backend(pid)"))
    assert not sent_by() & first


OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


def test_an_emptied_redis_costs_time_and_nobody(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 3_000)
    run = launch(project, rate_per_second=500)
    eventually("somebody is sent to", lambda: sent(run) > 0)

    flush_ours()
    Run.objects.update(rate_per_second=None)

    eventually("the run ends", lambda: swept_to_the_end(run), seconds=60)
    assert run.accepted == 3_000
    assert_balanced(run, fcm)


@pytest.fixture
def fresh_workers(workers: Workers) -> Iterator[Workers]:
    """For a test that kills: the next one finds the workers back."""
    yield workers
    for name in ("bulk", "control"):
        if name not in workers.processes:
            workers.start(name)
    workers.wait_until_ready()


def test_a_killed_worker_loses_nobody_and_its_duplicates_are_bounded_and_marked(
    project: Project, fcm: Fcm, fresh_workers: Workers
) -> None:
    # Two children may leave 1,200 in doubt: of fewer people that is a storm, which asks a person.
    make_people(project, 8_000)
    fcm.change(latency_ms=300)
    run = launch(project)
    eventually("200 are sent to", lambda: sent(run) > 200)

    fresh_workers.kill("bulk")
    fcm.change(latency_ms=5)
    let_leases_lapse()
    fresh_workers.start("bulk")

    eventually("the run ends", lambda: swept_to_the_end(run), seconds=90)
    assert run.accepted == 8_000
    assert reports.recount(run) == sums.totals_of(run)
    received = Counter(record["id"] for record in fcm.witness())
    twice = {reference for reference, times in received.items() if times > 1}
    admitted = {f"{run.pk}:{seq}" for seq in resent_of(run)}
    assert twice <= admitted
    assert len(admitted) <= 2 * chunk.IN_FLIGHT * chunk.WINDOW, "two children's windows"


def resent_of(run: Run) -> list[int]:
    rows = Delivery.objects.filter(run_id=run.pk, resent=True)
    return list(rows.values_list("seq", flat=True))


def test_a_dead_workers_chunk_is_taken_when_its_lease_is_over_not_by_the_next_sweep(
    project: Project, fcm: Fcm, workers: Workers
) -> None:
    make_people(project, 10)
    run = make_run(project)
    assert claiming.claim(run.pk, 1, run.epoch, task_id=None), "and dies"
    run.chunks.update(lease_until=timezone.now() + chunk.LEASE / 2)

    call_command("sweep", "--once")

    eventually("the run ends", lambda: ended(run))
    assert run.chunks.get().attempt == 2
    assert_balanced(run, fcm)
